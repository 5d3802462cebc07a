"""Tables that are measured on data or on trained models: each leaves a file beside the results of the runs."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from treetext.corpora import describe
from treetext.reproduce._figures import WANTED, draw_figures, shown_figures
from treetext.reproduce._markdown import NOT_RUN, markdown
from treetext.reproduce._plan import PAIRS, SOURCES, SPEED, STATISTICS, Run
from treetext.reproduce._runs import Places, model_of, read, recipe_of, version_of, write
from treetext.reproduce._shipped import CANDIDATES, ship, shown_shipped
from treetext.reproduce._trees import (
    DOCUMENT_RUNS,
    SENTENCE_RUN,
    document_trees,
    sentence_trees,
    shown_documents,
    shown_tables,
)
from treetext.training import load_recipe, machine, new_model, open_corpus

Say = Callable[[str], object]
SPEED_RUNS = {kind: Run(f"snli/ours-{kind}", 1) for kind in PAIRS}


class Measure(NamedTuple):
    """How a table is got and shown, and of which models."""

    title: str
    runs: Sequence[Run]
    measure: Callable[[Places, dict[str, Any], Say], dict[str, Any]]
    """Takes what was found before too: of models that are not there any more, it may keep that."""
    shown: Callable[[Places], str]
    again: bool = False
    """Even where it is done: it takes little time, and leaves more than its file."""


def take(name: str, places: Places, say: Say) -> None:
    """Measure, unless that is done with all models that are there."""
    of = {run.name: version for run in MEASURES[name].runs if (version := version_of(run, places)) is not None}
    saved = _saved(name, places)
    before = saved or {"of": {}}
    if saved is None or not of.items() <= before["of"].items() or MEASURES[name].again:
        found = MEASURES[name].measure(places, before, say)
        write(places.results / f"{name}.json", {"of": before["of"] | of, **found, "machine": machine()})


def _saved(name: str, places: Places) -> dict[str, Any] | None:
    return read(places.results / f"{name}.json")


def _statistics(places: Places, _: dict[str, Any], say: Say) -> dict[str, Any]:
    found = {}
    for name, source in SOURCES.items():
        if source.path is None or not (places.data / source.path).exists():
            continue
        say(f"statistics of {source.title}")
        data = load_recipe(f"{name}/none", {"data.path": str(places.data / source.path)}).data
        corpus = open_corpus(data)
        everything = describe(corpus.encoded, corpus.rows)[-1]
        found[name] = {**everything._asdict(), "fingerprint": corpus.fingerprint}
    return found


def _statistics_shown(places: Places) -> str:
    found = _saved("statistics", places) or {}
    rows = []
    for name, source in SOURCES.items():
        if source.path is None:
            continue
        ours, cells = found.get(name), [NOT_RUN] * 4
        if ours:
            averages = (f"{ours[of]:.1f}" for of in ("sentences", "words"))
            cells = [str(len(ours["classes"])), f"{ours['documents']:,}", *averages]
        paper = [f" ({x})" for x in STATISTICS[name]] if name in STATISTICS else [""] * 4
        rows.append([source.title, *(cell + beside for cell, beside in zip(cells, paper, strict=True))])
    return markdown(["", "classes", "documents", "sentences a document", "words a document"], rows)


def _speed(places: Places, _: dict[str, Any], say: Say) -> dict[str, Any]:
    """Seconds for each test pair alone, the four models in turns."""
    recipes = {kind: recipe_of(run, places) for kind, run in SPEED_RUNS.items()}
    corpus = open_corpus(recipes["none"].data)
    trained = {kind: model for kind, run in SPEED_RUNS.items() if (model := model_of(run, places)) is not None}
    models = {kind: trained.get(kind) or new_model(recipe, corpus) for kind, recipe in recipes.items()}
    pairs = [corpus.encoded.document(row) for row in corpus.rows["test"].tolist()]
    say(f"{len(pairs):,} pairs, one at a time")
    seconds: dict[str, list[float]] = {kind: [] for kind in models}
    for model in models.values():
        model.predict(pairs[:20])
    for pair in pairs:
        for kind, model in models.items():
            start = time.perf_counter()
            model.predict([pair])
            seconds[kind].append(time.perf_counter() - start)
    found: dict[str, Any] = {
        kind: {"max": max(taken), "average": sum(taken) / len(taken), "trained": kind in trained}
        for kind, taken in seconds.items()
    }
    return {**found, "of": {SPEED_RUNS[kind].name: version_of(SPEED_RUNS[kind], places) for kind in trained}}


def _speed_shown(places: Places) -> str:
    found = _saved("snli-speed", places)
    rows = []
    for kind, title in PAIRS.items():
        slowest, average = SPEED[kind]
        paper = f"{average / SPEED['none'][1]:.2f}"
        if found is None:
            rows.append([title, *[NOT_RUN] * 3])
        else:
            mine = found[kind]
            ratio = mine["average"] / found["none"]["average"]
            rows.append([
                title, f"{mine['max']:.4f} ({slowest:.4f})", f"{mine['average']:.4f} ({average:.4f})",
                f"{ratio:.2f} ({paper})",
            ])  # fmt: skip
    header = ["", "seconds, slowest pair", "seconds, average", "average, relative to no attention"]
    return markdown(header, rows) + _speed_note(found)


def _speed_note(found: dict[str, Any] | None) -> str:
    """The machine, and which models were not trained."""
    if found is None:
        return ""
    said = [f"On {found['machine']['processor']}, {found['machine']['threads']} threads; the paper on a GPU."]
    untrained = [title for kind, title in PAIRS.items() if not found[kind]["trained"]]
    if untrained:
        said.append(f"Untrained: {'; '.join(untrained)}.")
    return f"\n{' '.join(said)}\n"


MEASURES = {
    "statistics": Measure("Data sets", (), _statistics, _statistics_shown),
    "sentence-trees": Measure(
        "Trees of words: SNLI's test sentences",
        [SENTENCE_RUN],
        sentence_trees,
        lambda places: shown_tables(_saved("sentence-trees", places)),
    ),
    "document-trees": Measure(
        "Trees of sentences: test documents",
        list(DOCUMENT_RUNS.values()),
        document_trees,
        lambda places: shown_documents(_saved("document-trees", places)),
    ),
    "figures": Measure(
        "Figures",
        [SENTENCE_RUN, *(DOCUMENT_RUNS[name] for name in WANTED)],
        draw_figures,
        lambda places: shown_figures(_saved("figures", places)),
    ),
    "snli-speed": Measure(
        "Speed: seconds an instance of SNLI's test set", list(SPEED_RUNS.values()), _speed, _speed_shown
    ),
    "shipped": Measure(
        "Models that ship",
        [run for runs in CANDIDATES.values() for run in runs],
        ship,
        lambda places: shown_shipped(_saved("shipped", places)),
        again=True,
    ),
}
