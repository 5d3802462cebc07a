"""Train a model with latent trees, score it, and show its trees. `make demo` runs this."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel
from rich.progress import Progress, TaskID
from rich.table import Table
from rich.text import Text

from treetext import load_model, train
from treetext.data import Corpus, open_corpus
from treetext.evaluation import analyse, evaluate, gold_recovery
from treetext.models import Model, find_model
from treetext.show import analysis_tables, draw, report
from treetext.training import Recipe, load_recipe
from treetext.trees import Tree

SPEECH = (
    "Mr. Speaker, I rise in opposition to this bill."
    " It would double the fares on every ferry to the islands."
    " The people who live there have no bridge and no other road."
    " A nurse from the harbor told me that she would pay a day's wage each week to get to work."
    " The majority did not hold one hearing on these costs."
    " This is a tax on those who can least afford it, and I urge my colleagues to vote no."
)
"""An invented speech."""

console = Console(highlight=False, width=None if sys.stdout.isatty() else 110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recipe", default="hidden-trees/both", help="the name of a recipe, or a TOML file")
    parser.add_argument("--cell", help="a cell of a study, instead of a recipe, such as debates/ours-both")
    parser.add_argument("--data", help="the path of the corpus, unless it is generated")
    parser.add_argument("--out", default="models/demo", help="where to save the model")
    options = parser.parse_args()

    source = cell_values(options.cell) if options.cell else options.recipe
    recipe = load_recipe(source, {"data.path": options.data} if options.data else {})
    console.rule(f"Training {recipe.name}")
    console.print(f"{recipe.about}\n")
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        tasks: dict[str, TaskID] = {}

        def progress(what: str, more: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=None)
            bar.advance(tasks[what], more)

        corpus = open_corpus(recipe.data, progress)
    train(recipe, options.out, replace=True)
    model = load_model(options.out)

    show_scores(model, corpus)
    if corpus.encoded.sentence_heads(int(corpus.rows["test"][0])) is not None:
        show_recovery(model, corpus)
    show_document(model, corpus)
    show_next(options.out, recipe, None if options.cell else options.recipe)
    write_report(model, corpus, Path(options.out) / "report.html")
    show_speech()


def cell_values(name: str) -> Mapping[str, Any]:
    from studies.catalogue import find_run  # not part of the package, so only in a checkout

    return find_run(name).cell.values


def show_scores(model: Model, corpus: Corpus) -> None:
    console.rule("Test accuracy, in percent")
    table = Table("classifier", "accuracy", box=None, pad_edge=False)
    for name, accuracy in (
        ("the most frequent class of the training data", baseline("majority", corpus)),
        ("bag of words and of neighbouring words", baseline("bag-of-words", corpus)),
        ("treetext, trees of words and sentences", model.about["scores"]["test"]),
    ):
        table.add_row(name, f"{100 * accuracy:5.1f}")
    console.print(table)
    console.print(
        f"\nThe best of {len(model.about['curve'])} epochs by dev accuracy"
        f" ({100 * model.about['scores']['dev']:.1f}) was epoch {model.about['epoch']}; seed {model.about['seed']}.\n"
    )


def baseline(kind: str, corpus: Corpus) -> float:
    """The test accuracy of a model that is not trained by gradients."""
    cls = find_model({"kind": kind})
    model = cls.for_corpus(cls.Settings(kind=kind), corpus)
    model.fit(corpus)
    return evaluate(model, corpus).accuracy


def show_recovery(model: Model, corpus: Corpus) -> None:
    """Compare the induced trees with the trees that the texts were generated from. Training uses only labels."""
    console.rule("Gold arcs in the induced trees of the test documents, in percent")
    trained = gold_recovery(model, corpus)
    untrained = gold_recovery(model.untrained(), corpus)
    table = Table("trees of", "", "right heads", "arcs, either direction", "right roots", box=None, pad_edge=False)
    for level in trained:
        for name, recovery in (
            ("this model", trained[level]["found"]),
            ("the same, untrained", untrained[level]["found"]),
            ("random trees, expected", trained[level]["chance"]),
        ):
            table.add_row(level, name, *(f"{100 * share:5.1f}" for share in recovery))
    console.print(table, "")


def show_document(model: Model, corpus: Corpus) -> None:
    """Show the first test document with five or more sentences."""
    rows = corpus.rows["test"]
    counts = corpus.encoded.sentence_counts[rows]
    row = int(rows[counts >= min(5, counts.max())][0])
    [parsed] = model.parse([corpus.encoded.document(row)])
    console.rule(f"One test document: label {corpus.encoded.label(row)}, predicted {parsed.label}"
                 f" (probability {parsed.probability:.2f})")  # fmt: skip
    shorten = 60 if corpus.encoded.sentence_heads(row) is None else 40
    names = [f"{i + 1} {_short(' '.join(s.words), shorten)}" for i, s in enumerate(parsed.sentences)]
    gold = corpus.encoded.sentence_heads(row)
    _side_by_side("sentences", parsed.tree, None if gold is None else Tree.from_heads(gold), names)
    words, start = corpus.encoded.heads(row), len(parsed.sentences[0].words)
    first = parsed.sentences[0]
    _side_by_side(
        "words of sentence 1", first.tree, None if words is None else Tree.from_heads(words[:start]), first.words
    )


def _side_by_side(what: str, induced: Tree | None, gold: Tree | None, names: list[str]) -> None:
    trees = [("induced", induced), ("gold", gold)]
    console.print(
        Columns([Panel(Text(draw(tree, names)), title=f"{what}, {kind}") for kind, tree in trees if tree is not None])
    )


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def show_next(out: str, recipe: Recipe, source: str | None) -> None:
    data = f" --data {recipe.data.path}" if recipe.data.path else ""
    other = "feedforward" if recipe.model.words.encoder == "bilstm" else "bilstm"
    change = f" --set model.words.encoder={other}"
    console.rule("What next")
    console.print(f"The model is in {out}; its card is {out}/README.md. Try:\n", soft_wrap=True)
    for command in (
        f".venv/bin/treetext evaluate {out}",
        f".venv/bin/treetext report {out}",
        f"echo 'Some text. More of it.' | .venv/bin/treetext parse {out} -",
        *([f".venv/bin/treetext train {source}{data}{change} --out models/{other}"] if source else []),
        ".venv/bin/treetext recipes",
    ):
        console.print(f"  {command}", soft_wrap=True)
    console.print()


def write_report(model: Model, corpus: Corpus, path: Path) -> None:
    """Write a page with scores, statistics and trees."""
    console.rule("Report")
    path.write_text(report(model, corpus, tables=analysis_tables(analyse(model, corpus))), encoding="utf-8")
    console.print(f"Scores, statistics and trees are in {path}. To see them, open in a browser:\n", soft_wrap=True)
    console.print(f"  {path.resolve().as_uri()}\n", soft_wrap=True)


def show_speech() -> None:
    """Show the trees of the shipped model of real speeches, which needs no training."""
    model = load_model("debates")
    [parsed] = model.parse([SPEECH])
    console.rule("An invented speech, parsed by the Debates model that ships with treetext")
    console.print(
        f"Will this member vote for the bill (Y) or against it (N)? {parsed.label}, with probability"
        f" {parsed.probability:.2f}. The full-size model has a test accuracy of"
        f" {100 * model.about['scores']['test']:.1f}%.\n",
        soft_wrap=True,
    )
    first = parsed.sentences[0]
    names = [f"{i + 1} {_short(' '.join(s.words), 80)}" for i, s in enumerate(parsed.sentences)]
    _side_by_side("sentences", parsed.tree, None, names)
    _side_by_side("words of sentence 1", first.tree, None, first.words)
    console.print("Try a text of your own:\n")
    console.print("  echo 'Some speech. More of it.' | .venv/bin/treetext parse --model debates --format drawing\n")


if __name__ == "__main__":
    main()
