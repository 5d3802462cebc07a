"""Recipes and data so small that an epoch takes a tenth of a second."""

import csv
import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

from treetext.models import Model
from treetext.training import Recipe, load_recipe

SIZES = {"embedding": 8, "semantic": 5, "structure": 4, "hidden": 6}
VOCABULARY = {"min_count": 1, "vectors": "random"}
SMALL = {
    "name": "small",
    "training": {"optimizer": "adamw", "learning_rate": 0.03, "batch_size": 8, "epochs": 4, "clip": 5.0},
}


def tiny(data: dict[str, Any], task: str = "documents", **more: Any) -> Recipe:
    """A recipe for data, with sections after two underscores: ``training__epochs=2``."""
    model = {"kind": f"structured-{task}", **SIZES, "vocabulary": VOCABULARY}
    values = {**SMALL, "data": data, "model": model}
    return load_recipe(values, {key.replace("__", "."): value for key, value in more.items()})


def write_table(path: Path, rows: list[tuple[str, ...]], columns: tuple[str, ...] = ("text", "label")) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])
    return str(path)


def reviews(directory: Path, **splits: list[tuple[str, str]]) -> dict[str, Any]:
    """CSV files of the splits, as the [data] of a recipe; those not given are of a few good and bad reviews."""
    usual = [("a good film . really good .", "good"), ("a bad film . so bad .", "bad")] * 4
    directory.mkdir(parents=True, exist_ok=True)
    files = {
        split: write_table(directory / f"{split}.csv", splits.get(split, usual)) for split in ("train", "dev", "test")
    }
    return {"format": "csv", **files}


def noisy(directory: Path) -> dict[str, Any]:
    """Documents of 1 to 4 sentences, whose labels are hard to learn, so that epochs differ."""
    random = Random(0)
    splits = {}
    for split, size in (("train", 60), ("dev", 30), ("test", 20)):
        splits[split] = []
        for _ in range(size):
            label, text = random.choice(["bad", "good"]), []
            for _ in range(random.randint(1, 4)):
                kinds = [label if random.random() < 0.6 else "any" for _ in range(random.randint(1, 6))]
                text += [f"{kind}{random.randrange(9)}" for kind in kinds] + ["."]
            splits[split].append((" ".join(text), label if random.random() < 0.8 else "bad"))
    return reviews(directory, **splits)


def weights(model: Model) -> dict[str, bytes]:
    return {name: value.numpy().tobytes() for name, value in model.state_dict().items()}


class Tripwire:
    """A stderr that presses Ctrl-C when a line about an epoch is printed."""

    def __init__(self, trigger):
        self.trigger, self.lines = trigger, ""

    def write(self, text):
        self.lines += text
        if self.trigger in text:
            os.kill(os.getpid(), signal.SIGINT)
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return False


CHILD = """
import json, sys
from treetext.training import load_recipe, train
try:
    train(load_recipe(sys.argv[1]), sys.argv[2], devices=int(sys.argv[3]))
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


def child(recipe, out, devices=1, before=""):
    """A training in a process of its own, which may run something else first."""
    path = out.with_name(f"{out.name}.json")
    path.write_text(recipe.model_dump_json())
    script = out.with_name("child.py")
    script.write_text(
        "if __name__ == '__main__':\n" + "".join(f"    {line}\n" for line in (before + CHILD).splitlines())
    )
    arguments = [sys.executable, str(script), str(path), str(out), str(devices)]
    return subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
