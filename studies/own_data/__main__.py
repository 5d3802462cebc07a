"""``python -m studies.own_data``, from the root of a checkout: run what is not done, and write the page."""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from studies.own_data.page import page
from studies.own_data.sets import GRID, SOURCES, make_set, set_name
from studies.own_data.systems import MAIN, SYSTEMS, Scored, Texts
from studies.runs import read, write
from treetext.cli import note
from treetext.training import machine

RESULTS = Path(__file__).parent / "results"
SEEDS = 3
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command("run")
def run_all(
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The directory of all data sets (default: $TREETEXT_DATA).")
    ] = None,
    only: Annotated[str, typer.Option(metavar="NAME", help="Only sets whose names start with this: yelp-500.")] = "",
    systems: Annotated[str, typer.Option(metavar="NAMES", help="Systems, with commas between.")] = ",".join(MAIN),
    seeds: Annotated[int, typer.Option(min=1, max=SEEDS, help="Most seeds.")] = SEEDS,
    again: Annotated[bool, typer.Option("--again", help="Also run what is done.")] = False,
    work: Annotated[Path, typer.Option(metavar="DIR", help="The directory of the files.")] = Path("models/own_data"),
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page to write.")] = Path("docs/own-data.md"),
) -> None:
    """Run the systems on all sets, each in a process of its own: all first seeds before all second ones.

    ``change-NAME`` is a change of the default, ``change`` all of them. They have sets of their own.
    """
    where = data or Path(os.environ.get("TREETEXT_DATA") or "data")
    every = [(source, size) for source, each in SOURCES.items() for size in each.sizes]
    if systems == "change":
        systems = ",".join(name for name in SYSTEMS if name.startswith("change"))
    sets = GRID if systems.startswith("change") else every
    for seed in range(1, seeds + 1):
        for source, size in sets:
            name = set_name(source, size)
            for system in systems.split(",") if name.startswith(only) else ():
                path = RESULTS / f"{name}.{seed}" / f"{system}.json"
                if path.exists() and not again:
                    continue
                folder = make_set(where, work, source, size, seed)
                call = [sys.executable, "-m", "studies.own_data", "one", system, str(folder), str(seed), str(path)]
                subprocess.run(call, check=True)
                rows = (read(path) or {})["rows"]
                scores = ", ".join(f"{part} {100 * row['accuracy']:.1f}" for part, row in rows.items())
                note(f"{name}, seed {seed}, {system}: {scores}")
                write_page(out)
    write_page(out)


@app.command("one")
def run_one(system: str, folder: Path, seed: int, out: Path) -> None:
    """Run a system on a set, and write its scores."""
    scored = SYSTEMS[system][1](folder, seed)
    seconds = time.process_time()  # of the CPU: other work on the machine does not count
    truth = Texts.of(folder / ("more.jsonl" if system.startswith("change") else "test.jsonl")).labels
    parts = scored if isinstance(scored, dict) else {"whole": scored}
    write(out, {
        "rows": {part: scores_of(each, truth) for part, each in parts.items()},
        "cpu_seconds": round(seconds, 1),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "machine": machine(),
    })  # fmt: skip


def scores_of(scored: Scored, truth: np.ndarray) -> dict[str, object]:
    """Accuracy, macro-F1 and which test texts are right, as hexadecimal digits, for paired comparisons."""
    from sklearn.metrics import f1_score

    right = np.array(scored.labels) == truth
    return {
        "accuracy": float(right.mean()),
        "macro_f1": float(f1_score(truth, scored.labels, average="macro", zero_division=0)),
        "dev": scored.dev,
        "chosen": scored.chosen,
        "texts": len(right),
        "right": np.packbits(right).tobytes().hex(),
    }


def write_page(out: Path) -> None:
    """Write the page of all results."""
    results = {
        (path.parent.name, path.stem): json.loads(path.read_text(encoding="utf-8")) for path in RESULTS.glob("*/*.json")
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    app(prog_name="python -m studies.own_data")
