"""What to read and how to split it: the ``[data]`` section of a recipe."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from jaxtyping import Int
from pydantic import BaseModel, ConfigDict, Field, model_validator

from treetext.corpora._files import corpus_files, existing, reading, split_files
from treetext.corpora._published import CORPORA, read_snli, read_split, read_ss
from treetext.corpora._tables import Columns, hub_splits, read_csv, read_hub, read_jsonl, read_parquet
from treetext.corpora.hidden_trees import HiddenTrees, generate
from treetext.text import BadInput, Example

ENDINGS = {
    "snli": ".jsonl",
    "ss": ".ss",
    "split": "",
    "csv": ".csv",
    "tsv": ".tsv",
    "jsonl": ".jsonl",
    "parquet": ".parquet",
}
"""What the files are called, of the formats that have a file or more for each split."""
TABLES = ("csv", "tsv", "jsonl", "parquet", "hub")
USES = {
    "text": TABLES,
    "second": TABLES,
    "label": TABLES,
    "delimiter": ("csv", "tsv"),
    "quoting": ("csv", "tsv"),
    "subset": ("hub",),
}
"""The formats that a setting is for, where it is not for all."""

Name = Annotated[str, Field(min_length=1)]


class Data(BaseModel):
    """A corpus: where it is, what its columns are called, how its text is cut into words, how it is split."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    format: Literal[
        "hidden-trees", "convote", "snli", "ss", "csv", "tsv", "jsonl", "parquet", "hub", "aclimdb", "csfd", "split"
    ]
    path: Name | None = Field(None, description="a file, a directory, an archive, or a name on the hub")
    train: Name | None = Field(None, description="the file to train on, instead of path; on the hub, a split of path")
    dev: Name | None = Field(None, description="the same for development")
    test: Name | None = Field(None, description="the same for testing")
    subset: Name | None = Field(None, description="the part of a data set of the hub, where it has several")

    text: str = Field("text", description="the column of the text")
    second: str | None = Field(None, description="the column of the other sentence, for pairs")
    label: str = Field("label", description="the column of the label")
    delimiter: str | None = Field(None, pattern=r'^[^"\r\n]$', description="between columns; by the format if none")
    quoting: bool = Field(True, description="whether a CSV or TSV file has fields in double quotes")
    classes: dict[str, str] | None = Field(None, description="new names of all labels; several may share one")

    language: str = Field("en", description="whose rules cut raw text into words and sentences")
    lowercase: bool = True
    tokenized: bool = Field(False, description="whether raw text has its words apart already, and a sentence a line")

    split: tuple[float, float, float] = Field((0.8, 0.1, 0.1), description="shares of train, dev and test, if unsplit")
    dev_share: float = Field(0.1, ge=0, lt=1, description="share of train that becomes dev, where none is given")
    folds: int | None = Field(None, ge=2, description="k for k-fold cross-validation of unsplit data")
    fold: int = Field(0, ge=0, description="which of the folds is the test set, from 0")
    seed: int = Field(0, ge=0, lt=2**32, description="of the split, not of training")

    hidden_trees: HiddenTrees = Field(default_factory=HiddenTrees, description="the embedded corpus")

    @property
    def pairs(self) -> bool:
        """Whether a row is a pair of sentences, not a document."""
        return self.format == "snli" or self.second is not None

    @model_validator(mode="after")
    def _check_places(self) -> Self:
        given = [name for name in ("path", "train", "dev", "test") if getattr(self, name) is not None]
        if self.format == "hidden-trees" and given:
            raise ValueError(f"{given[0]}: hidden-trees are generated, not read; expected no {given[0]}")
        if self.format == "hub" and self.path is None:
            raise ValueError("path: missing; expected the name of a data set on the hub")
        if self.format in CORPORA and given != ["path"]:
            raise ValueError(f"path: expected it alone, a directory or archive of {self.format}, got {given or 'none'}")
        if self.format in ENDINGS and (not given or ("path" in given and given != ["path"])):
            raise ValueError(f"path: expected either it, or files for train, dev and test, got {given or 'none'}")
        return self

    @model_validator(mode="after")
    def _check_uses(self) -> Self:
        for name, formats in USES.items():
            if self.format not in formats and getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"{name}: does not go with {self.format}; expected it only for {', '.join(formats)}")
        return self

    @model_validator(mode="after")
    def _check_split(self) -> Self:
        if min(self.split) < 0 or abs(sum(self.split) - 1) > 1e-6:
            raise ValueError(f"split: expected shares of train, dev and test that add up to 1, got {list(self.split)}")
        if self.fold >= (self.folds or 1):
            expected = f"expected 0 to {self.folds - 1}" if self.folds else "expected folds to say how many there are"
            raise ValueError(f"fold: {expected}, got {self.fold}")
        return self


def read(data: Data, notes: list[str] | None = None, labels: bool = True) -> Iterator[tuple[str, Example]]:
    """Each text with its split: train, dev, test, or all for what `split_rows` is to split.

    A line on everything that is left out goes to `notes`. With ``labels=False``, labels are not looked at.
    """
    for part, example in _examples(data, labels, [] if notes is None else notes):
        label = example.label
        if not labels:
            label = None
        elif label is None:
            raise BadInput(f"{example.where}: no label; expected one for each text")
        elif data.classes is not None:
            if label not in data.classes:
                known = ", ".join(map(repr, data.classes))
                raise BadInput(f"{example.where}: label {label!r} is not among the classes; expected one of {known}")
            label = data.classes[label]
        yield part, example._replace(label=label)


def fingerprint(data: Data) -> str:
    """A hash of what `read` gives: of the bytes of all files, and of the settings that bear on text and labels.

    It is the same wherever the files are, and however they are split afterwards. Of generated texts, it is a hash of
    the settings: another version of treetext may make other texts of them.
    """
    names = {"format", "subset", "text", "second", "label", "delimiter", "quoting", "classes"}
    names |= {"language", "lowercase", "tokenized"}
    names |= {"hidden_trees"} if data.format == "hidden-trees" else set()
    names |= {"train", "dev", "test"} if data.format == "hub" else set()
    settings = data.model_dump(mode="json", include=names)
    contents = [(name, _digest(file)) for name, file in _contents(data)]
    return hashlib.sha256(json.dumps([settings, contents], sort_keys=True).encode()).hexdigest()


def split_rows(splits: Sequence[str] | np.ndarray, data: Data) -> dict[str, Int[np.ndarray, "_"]]:
    """The rows of train, dev and test, in ascending order, given the split that `read` gave for each row.

    Unsplit rows are split at random by the seed, into shares or, with `folds`, such that each is in the test set of
    one fold. What has a training but no development set gives up a share of the former. Same seed, same split.
    """
    given = np.asarray(splits, dtype=str)
    rows = {name: np.flatnonzero(given == name) for name in ("train", "dev", "test")}
    unsplit = np.flatnonzero(given == "all")
    if sum(map(len, rows.values())) + len(unsplit) != len(given):
        unknown = sorted(set(given.tolist()) - {"all", *rows})
        raise ValueError(f"splits: expected train, dev, test or all, got {', '.join(unknown)}")
    # The numbers of this older generator are promised to stay the same in all versions of NumPy.
    shuffled = np.random.RandomState(data.seed).permutation(unsplit)
    if data.folds is not None:
        if len(unsplit) != len(given):
            raise ValueError("folds: the data come split into train, dev and test; expected data that are not")
        if len(unsplit) < data.folds:
            raise ValueError(f"folds: {data.folds} folds of {len(unsplit)} rows; expected at most one fold a row")
        parts = np.array_split(shuffled, data.folds)
        rest = np.concatenate(parts[: data.fold] + parts[data.fold + 1 :])
        rows["train"], rows["dev"], rows["test"] = *_dev(rest, data), parts[data.fold]
    elif len(unsplit):
        ends = np.rint(np.cumsum(data.split[:2]) * len(unsplit)).astype(int)
        for name, part in zip(rows, np.split(shuffled, ends), strict=True):
            rows[name] = np.concatenate([rows[name], part])
    elif len(rows["train"]) and not len(rows["dev"]):
        rows["train"], rows["dev"] = _dev(rows["train"], data)
    return {name: np.sort(part) for name, part in rows.items()}


def _dev(train: Int[np.ndarray, "_"], data: Data) -> tuple[Int[np.ndarray, "_"], Int[np.ndarray, "_"]]:
    """What remains to train on, and a share of it for development."""
    shuffled = np.random.RandomState(data.seed).permutation(train)
    size = round(data.dev_share * len(train))
    return shuffled[size:], shuffled[:size]


def _examples(data: Data, labels: bool, notes: list[str]) -> Iterator[tuple[str, Example]]:
    columns = Columns(data.text, data.second, data.label if labels else None)
    if data.format == "hidden-trees":
        yield from generate(data.hidden_trees)
    elif data.format in CORPORA:
        corpus = CORPORA[data.format]
        yield from corpus.read(corpus_files(str(data.path), corpus.wanted, corpus.expected), corpus.wanted, notes)
    elif data.format == "hub":
        for name, rows in _hub(data, notes).items():
            yield from _filled(name, f"{data.path}, {name}", read_hub(str(data.path), rows, columns))
    else:
        for name, file in _files(data, notes):
            yield from _filled(name, str(file), _rows(data, file, columns, labels, notes))


def _rows(data: Data, file: Path, columns: Columns, labels: bool, notes: list[str]) -> Iterator[Example]:
    match data.format:
        case "snli":
            return read_snli(file, labels, notes)
        case "ss":
            return read_ss(file, notes)
        case "split":
            return read_split(file, notes)
        case "jsonl":
            return read_jsonl(file, columns, notes)
        case "parquet":
            return read_parquet(file, columns)
        case _:
            delimiter = data.delimiter or {"csv": ",", "tsv": "\t"}[data.format]
            return read_csv(file, columns, delimiter, data.quoting, notes)


def _filled(name: str, where: str, examples: Iterator[Example]) -> Iterator[tuple[str, Example]]:
    example = None
    for example in examples:
        yield name, example
    if example is None:
        raise BadInput(f"{where}: empty; expected at least one text")


def _files(data: Data, notes: list[str]) -> list[tuple[str, Path]]:
    if data.path is not None:
        return split_files(data.path, ENDINGS[data.format], notes)
    named = {"train": data.train, "dev": data.dev, "test": data.test}
    files = [(name, existing(path)) for name, path in named.items() if path is not None]
    for _, file in files:
        if file.is_dir():
            raise BadInput(f"{file}: a directory; expected a file")
    return files


def _hub(data: Data, notes: list[str]) -> dict[str, Any]:
    named = {"train": data.train, "dev": data.dev, "test": data.test}
    given = {name: theirs for name, theirs in named.items() if theirs is not None}
    return hub_splits(str(data.path), data.subset, given, notes)


def _contents(data: Data) -> Iterator[tuple[str, Path]]:
    """The files that `read` reads, each with what its name tells: its split or, in a corpus of many, its place."""
    if data.format in CORPORA:
        corpus = CORPORA[data.format]
        for file in corpus_files(str(data.path), corpus.wanted, corpus.expected):
            match = corpus.wanted.search(file.as_posix())
            yield match[0] if match else "", file
    elif data.format == "hub":
        for name, rows in _hub(data, []).items():
            yield from ((name, Path(file["filename"])) for file in rows.cache_files)
    elif data.format != "hidden-trees":
        yield from _files(data, [])


def _digest(file: Path) -> str:
    with reading(file), file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
