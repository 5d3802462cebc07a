"""Ways to run the command: in this process, which is fast, or in one of its own, as users do."""

import os
import subprocess
import sys

from typer.testing import CliRunner

from treetext.cli import app

SIZES = {
    "model.embedding": 16, "model.semantic": 8, "model.structure": 8, "model.hidden": 16, "training.epochs": 2,
}  # fmt: skip
CORPUS = {"data.hidden_trees.train": 60, "data.hidden_trees.dev": 20, "data.hidden_trees.test": 30}


def options(values):
    return [part for key, value in values.items() for part in ("--set", f"{key}={value}")]


SETTINGS = options(SIZES | CORPUS)
OWN_SETTINGS = options(SIZES | {"model.vocabulary.vectors": "random"})
PAIR_SETTINGS = OWN_SETTINGS


def invoke(*arguments, stdin="", code=0):
    """Run the command here; what it printed."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin, catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done


def refusal(*arguments, stdin="", code=2):
    """The one line by which the command refuses."""
    done = invoke(*arguments, stdin=stdin, code=code)
    [line] = [line for line in done.stderr.splitlines() if line.startswith("treetext: ")]
    assert done.stderr.endswith(f"{line}\n"), "the refusal is the last thing said"
    return line.removeprefix("treetext: ")


def command(*arguments):
    return [sys.executable, "-W", "error", "-m", "treetext", *map(str, arguments)]


def after(code, *arguments, **options):
    """Run the command in a process of its own that has run some code before, such as to break something."""
    whole = f"{code}\nfrom treetext.cli import app\napp({[str(argument) for argument in arguments]!r})"
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", whole], capture_output=True, env=environment(), timeout=120, **options
    )


def environment(**more):
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1", "NO_COLOR": "1", **more}


def run(*arguments, stdin=b"", **options):
    """Run the command in a process of its own."""
    return subprocess.run(
        command(*arguments), input=stdin, capture_output=True, env=environment(), timeout=120, **options
    )
