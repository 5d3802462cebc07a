"""Readers of published data sets: those of the paper, and similar ones, in their original files."""

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from treetext.data.document import REDUCE, SHIFT, BadInput, Example, counted
from treetext.data.readers.base import FileReader, Reader, Split
from treetext.data.readers.files import corpus_files, filled_lines, members, opened, whole
from treetext.data.readers.tables import Columns, example_of, jsonl_rows
from treetext.data.tasks import PAIRS, Task


class ArchiveReader(Reader):
    """A data set of many files, in a directory or in an archive."""

    wanted: ClassVar[re.Pattern[str]]
    """The pattern of the paths of its files. Other files are ignored."""
    expected: ClassVar[str]

    def examples(self, labels: bool, notes: list[str]) -> Iterator[Split]:  # noqa: ARG002 (they are in file names)
        """The texts of all files."""
        return self.read_files(corpus_files(str(self.path), self.wanted, self.expected), notes)

    def contents(self) -> Iterator[tuple[str, Path]]:
        """The files, each with its path within the data set."""
        for file in corpus_files(str(self.path), self.wanted, self.expected):
            match = self.wanted.search(file.as_posix())
            yield match[0] if match else "", file

    @abstractmethod
    def read_files(self, files: Sequence[Path], notes: list[str]) -> Iterator[Split]:
        """The texts of these files, or of the archive that holds them."""

    @model_validator(mode="after")
    def _check_places(self) -> Self:
        if list(self.places) != ["path"]:
            got = list(self.places) or "none"
            raise ValueError(f"path: expected it alone, a directory or archive of {self.format}, got {got}")
        return self


class Convote(ArchiveReader):
    """Debates in Congress (Thomas et al. 2006)."""

    about: ClassVar[str] = "Debates: the directory or archive of convote v1.1, as published"
    wanted = re.compile(r"(?:data_stage_([a-z]+)/)?\b(training|development|test)_set/([^/.][^/]*)$")
    expected = "training_set, development_set and test_set with files like BILL_SPEAKER_PAGE_PMV.txt"
    format: Literal["convote"] = "convote"

    def read_files(self, files: Sequence[Path], notes: list[str]) -> Iterator[Split]:
        """Debates. All segments of one speaker on one bill are one document, in the order of the pages."""
        splits = {"training": "train", "development": "dev", "test": "test"}
        speeches: dict[tuple[str, str, str], list[tuple[str, str, str, str]]] = {}
        for match, where, stream in members(files, self.wanted):
            stage, folder, name = match.groups()
            if stage not in (None, "three"):
                continue
            parts = re.fullmatch(r"(\d+)_(\d+)_(\d+)_[A-Z][A-Z]([YN])\.txt(?:\.gz)?", name)
            if not parts:
                raise BadInput(f"{where}: expected a name like BILL_SPEAKER_PAGE_PMV.txt, where V is the vote, Y or N")
            bill, speaker, page, vote = parts.groups()
            speeches.setdefault((splits[folder], bill, speaker), []).append((page, vote, where, whole(stream, where)))
        if not speeches:
            raise BadInput(f"{files[0]}: expected {self.expected}")
        segments_read = sum(map(len, speeches.values()))
        notes.append(f"{segments_read} segments joined to {len(speeches)} documents, by bill and speaker")
        for (split, _, _), segments in sorted(speeches.items()):
            segments.sort()
            votes, where = {vote for _, vote, _, _ in segments}, segments[0][2]
            if len(votes) > 1:
                raise BadInput(f"{where}: its speaker votes both Y and N on one bill; expected one vote")
            # The texts are tokenised, with two spaces between sentences.
            sentences = [sentence.split() for *_, text in segments for sentence in re.split(r"\s{2,}|\n", text)]
            yield split, Example([words for words in sentences if words], votes.pop(), where)


class AclImdb(ArchiveReader):
    """Film reviews (Maas et al. 2011)."""

    about: ClassVar[str] = "the directory or archive aclImdb, with train/pos, train/neg, test/pos and test/neg"
    wanted = re.compile(r"\b(train|test)/(pos|neg|unsup)/([^/.][^/]*)$")
    expected = "train/pos, train/neg, test/pos and test/neg with files like ID_RATING.txt"
    format: Literal["aclimdb"] = "aclimdb"

    def read_files(self, files: Sequence[Path], notes: list[str]) -> Iterator[Split]:
        """Film reviews, labelled with their ratings: 1 to 4 and 7 to 10. Reviews without a rating are left out."""
        unrated = reviews = 0
        for match, where, stream in members(files, self.wanted):
            split, folder, name = match.groups()
            parts = re.fullmatch(r"\d+_(\d+)\.txt(?:\.gz)?", name)
            if not parts:
                raise BadInput(f"{where}: expected a name like ID_RATING.txt")
            reviews += 1
            if folder == "unsup":
                unrated += 1
            else:
                # Line breaks are the only markup in these texts.
                yield split, Example(re.sub(r"<br\s*/?>", "\n", whole(stream, where)), parts[1], where)
        if not reviews:
            raise BadInput(f"{files[0]}: expected {self.expected}")
        if unrated:
            notes.append(f"{unrated} reviews without a rating (unsup) left out")


class Csfd(ArchiveReader):
    """Czech film reviews (Brychcín and Habernal 2013)."""

    about: ClassVar[str] = (
        "Czech film reviews: a directory or archive of positive, negative and neutral.txt, or of 0.txt to 5.txt"
    )
    wanted = re.compile(r"(?:^|/)(\d|positive|negative|neutral)\.txt(?:\.gz)?$")
    expected = "0.txt to 5.txt, or positive.txt, negative.txt and neutral.txt"
    format: Literal["csfd"] = "csfd"

    def read_files(self, files: Sequence[Path], notes: list[str]) -> Iterator[Split]:
        """Czech film reviews, one per line, with a file per rating or per class. A rating also starts each line."""
        filled = False
        for match, name, stream in members(files, self.wanted):
            label = match[1]
            for where, line in filled_lines(stream, name, notes):
                filled = True
                if label.isdigit():
                    rating, comma, line = line.partition(",")
                    if not comma or rating.strip() != label:
                        raise BadInput(f"{where}: expected '{label} , text', since the file is called {label}")
                yield "all", Example(line.strip(), label, where)
        if not filled:
            raise BadInput(f"{files[0]}: expected {self.expected}, with a review a line")


class Snli(FileReader):
    """Sentence pairs (Bowman et al. 2015)."""

    about: ClassVar[str] = "the directory of snli_1.0_train.jsonl, _dev and _test; or one such file"
    ending: ClassVar[str] = ".jsonl"
    format: Literal["snli"] = "snli"

    @property
    def task(self) -> Task:
        """Pairs."""
        return PAIRS

    @property
    def columns(self) -> tuple[str, str]:
        """The columns of the sentences."""
        return ("sentence1", "sentence2")

    def read_file(self, file: Path, labels: bool, notes: list[str]) -> Iterator[Example]:
        """The pairs of a file."""
        return read_snli(file, Columns(*self.columns, "gold_label" if labels else None), notes)


class SnliParses(Snli):
    """The same pairs, with the words and transitions of their binary parses."""

    about: ClassVar[str] = "the same files as snli: words and binary parses from sentence1_binary_parse and sentence2_…"
    format: Literal["snli-parses"] = "snli-parses"  # type: ignore[assignment]

    def read_file(self, file: Path, labels: bool, notes: list[str]) -> Iterator[Example]:
        """The pairs of a file, with their parses."""
        names = ("sentence1_binary_parse", "sentence2_binary_parse")
        return map(_parsed, read_snli(file, Columns(*names, "gold_label" if labels else None), notes))


class Tang(FileReader):
    """Reviews as published by Tang et al. (2015): user, product, rating and tokenised sentences."""

    about: ClassVar[str] = "Yelp or IMDB of Tang et al. (2015): a file, or a directory of train, dev and test *.ss"
    ending: ClassVar[str] = ".ss"
    format: Literal["ss"] = "ss"

    def read_file(self, file: Path, labels: bool, notes: list[str]) -> Iterator[Example]:  # noqa: ARG002
        """The reviews of a file."""
        with opened(file) as stream:
            for where, line in filled_lines(stream, file, notes):
                fields = line.split("\t\t")
                if len(fields) != 4:
                    expected = "expected 4, user, product, rating and text, with two tabs in between"
                    raise BadInput(f"{where}: {counted(len(fields), 'field')}; {expected}")
                yield Example(_sentences(fields[3], "<sssss>"), fields[2].strip() or None, where)


class LiuLapata(FileReader):
    """Documents in the format of the paper's code: label<split1>sentence<split2>sentence, tokenised."""

    about: ClassVar[str] = (
        "label<split1>sentence<split2>sentence, a document a line; a file, or a directory of such files"
    )
    ending: ClassVar[str] = ""
    format: Literal["split"] = "split"

    def read_file(self, file: Path, labels: bool, notes: list[str]) -> Iterator[Example]:  # noqa: ARG002
        """The documents of a file."""
        with opened(file) as stream:
            for where, line in filled_lines(stream, file, notes):
                fields = line.split("<split1>")
                if len(fields) != 2:
                    raise BadInput(f"{where}: {len(fields) - 1} times <split1>; expected it once, after the label")
                yield Example(_sentences(fields[1], "<split2>"), fields[0].strip() or None, where)


def read_snli(path: Path, columns: Columns, notes: list[str]) -> Iterator[Example]:
    """The sentence pairs of a file. If labels are read, pairs without a gold label ("-") are left out."""
    undecided = 0
    for where, row in jsonl_rows(path, columns, notes):
        example = example_of(row, columns, where)
        if example.label == "-":
            undecided += 1
        else:
            yield example
    if undecided:
        notes.append(f"{path}: {undecided} pairs without a gold label ('-') left out")


def _parsed(example: Example) -> Example:
    """The same pair, with words and transitions instead of parses such as ``( ( A dog ) sleeps )``."""
    words, parses = list[list[str]](), list[list[int]]()
    for parse in example.text:
        if not isinstance(parse, str):
            raise BadInput(f"{example.where}: expected binary parses as strings")
        tokens = [token for token in re.findall(r"[^ \t\r\n]+", parse) if token != "("]  # a word may hold other spaces
        words.append([token for token in tokens if token != ")"])
        if tokens:  # a sentence without words is dropped
            parses.append([REDUCE if token == ")" else SHIFT for token in tokens])
    return example._replace(text=words, parses=parses)


def _sentences(text: str, separator: str) -> list[list[str]]:
    return [words for sentence in text.split(separator) if (words := sentence.split())]
