"""The files of this study: subsamples of real data sets, as a user's own files would be.

A seed draws the texts, of which eight ninths are for training and one ninth is for development. Test data are the same
for all sizes of a set. Changes of the default are compared on more training texts, which were not drawn.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from treetext.data import Example, find_reader, read_treebank

MOST_TEST = 2000
"""The most texts of a test set: an interval of about 2 points."""


class Source(NamedTuple):
    """A data set, and the numbers of texts that are drawn from it for training and development (None: all)."""

    read: Callable[[Path], dict[str, list[Example]]]
    """All texts by split: train, dev and test, or all."""
    sizes: Sequence[int | None]


def _corpus(format_name: str, **options: Any) -> Callable[[Path], dict[str, list[Example]]]:
    def read(path: Path) -> dict[str, list[Example]]:
        texts: dict[str, list[Example]] = {}
        place = next(path.glob("*.csv*"), path) if format_name == "csv" else path
        for split, example in find_reader(format_name)(path=str(place), format=format_name, **options).read():
            texts.setdefault(split, []).append(example)
        return texts

    return read


def _genres(path: Path) -> dict[str, list[Example]]:
    """The documents of GUM, each with its genre."""
    documents = read_treebank(str(path)).documents
    return {"all": [
        Example([sentence.words for sentence in document.sentences], document.name.split("_")[1])
        for document in documents
    ]}  # fmt: skip


SOURCES = {
    "yelp": Source(_corpus("csv", label="stars"), (500, 2000, None)),
    "aclImdb": Source(_corpus("aclimdb"), (500, 2000, None)),
    "csfd": Source(_corpus("csfd"), (500, 2000, None)),
    "convote": Source(_corpus("convote"), (500, None)),
    "gum": Source(_genres, (None,)),
    "snli": Source(_corpus("snli"), (5000, None)),
}


GRID = (("yelp", 500), ("yelp", 2000), ("csfd", 10_000), ("snli", 5000))
"""The sets on which changes of the default are compared."""


def set_name(source: str, size: int | None) -> str:
    """The name of a subsample."""
    return f"{source}-{size or 'all'}"


def make_set(data: Path, out: Path, source: str, size: int | None, seed: int) -> Path:
    """Write train.jsonl, dev.jsonl, test.jsonl and more.jsonl of a subsample, and return their directory."""
    folder = out / f"{set_name(source, size)}-{seed}"
    if (folder / "test.jsonl").exists():  # written last
        return folder
    texts = SOURCES[source].read(data / source)
    random = np.random.RandomState(seed)
    given = texts.get("test")
    if given is None:
        everything = [texts["all"][i] for i in np.random.RandomState(0).permutation(len(texts["all"]))]
        cut = min(MOST_TEST, len(everything) // 4)
        if cut < MOST_TEST:  # few texts: another test set for each seed
            everything = [everything[i] for i in random.permutation(len(everything))]
        given, pool = everything[:cut], everything[cut:]
    else:
        given = [given[i] for i in np.random.RandomState(0).permutation(len(given))[:MOST_TEST]]
        pool = texts["train"]
    if size is None and "dev" in texts:
        parts = {"train": pool, "dev": texts["dev"], "more": []}
    else:
        pool = [pool[i] for i in random.permutation(len(pool))]
        drawn, more = (pool[:size], pool[size:][:MOST_TEST]) if size else (pool, [])
        cut = round(len(drawn) / 9)
        parts = {"train": drawn[cut:], "dev": drawn[:cut], "more": more}
    folder.mkdir(parents=True, exist_ok=True)
    for name, examples in {**parts, "test": given}.items():
        with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            for example in examples:
                text: Any = {"text": example.text}
                if source == "snli":
                    text = {"premise": example.text[0], "hypothesis": example.text[1]}
                file.write(json.dumps({**text, "label": example.label}, ensure_ascii=False) + "\n")
    return folder
