"""The table of data sets: numbers of classes, documents, sentences and words."""

from typing import Any

from studies.liu_lapata_2018.grid import GRID
from studies.liu_lapata_2018.published import STATISTICS
from studies.markdown import NOT_RUN, markdown
from studies.runs import Places, Say
from treetext.data import describe, open_corpus
from treetext.training import load_recipe


def count(places: Places, _: dict[str, Any], say: Say) -> dict[str, Any]:
    """Count the data sets that exist."""
    counts = {}
    for name, source in GRID.sources.items():
        if source.path is None or not (places.data / source.path).exists():
            continue
        say(f"statistics of {source.title}")
        cell = GRID.cells[f"{name}/none"]
        data = load_recipe(cell.values, {"data.path": str(places.data / source.path)}).data
        corpus = open_corpus(data)
        everything = describe(corpus.encoded, corpus.rows)[-1]
        counts[name] = {**everything._asdict(), "fingerprint": corpus.fingerprint}
    return counts


def shown_counts(saved: dict[str, Any] | None) -> str:
    """A table with a row for each data set, with the paper's figures in parentheses."""
    rows = []
    for name, source in GRID.sources.items():
        ours, cells = (saved or {}).get(name), [NOT_RUN] * 4
        if ours:
            averages = (f"{ours[of]:.1f}" for of in ("sentences", "words"))
            cells = [str(len(ours["classes"])), f"{ours['documents']:,}", *averages]
        paper = [f" ({x})" for x in STATISTICS[name]] if name in STATISTICS else [""] * 4
        rows.append([source.title, *(cell + beside for cell, beside in zip(cells, paper, strict=True))])
    return markdown(["", "classes", "documents", "sentences a document", "words a document"], rows)
