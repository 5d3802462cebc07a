"""Readers of the data sets of the paper, and of their like, as their publishers packed them."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from treetext.corpora._files import filled_lines, members, opened, whole
from treetext.corpora._tables import Columns, read_jsonl
from treetext.text import BadInput, Example

Split = tuple[str, Example]


class Corpus(NamedTuple):
    """A data set of many files, in a directory or in an archive."""

    wanted: re.Pattern[str]
    """What the path of each of its files looks like; other files are not its own."""
    expected: str
    read: Callable[[Sequence[Path], re.Pattern[str], list[str]], Iterator[Split]]


def _convote(files: Sequence[Path], wanted: re.Pattern[str], notes: list[str]) -> Iterator[Split]:
    """Debates: what one speaker said on one bill is one document, its segments in the order of the pages."""
    splits = {"training": "train", "development": "dev", "test": "test"}
    speeches: dict[tuple[str, str, str], list[tuple[str, str, str, str]]] = {}
    for match, where, stream in members(files, wanted):
        stage, folder, name = match.groups()
        if stage not in (None, "three"):
            continue
        parts = re.fullmatch(r"(\d+)_(\d+)_(\d+)_[A-Z][A-Z]([YN])\.txt(?:\.gz)?", name)
        if not parts:
            raise BadInput(f"{where}: expected a name like BILL_SPEAKER_PAGE_PMV.txt, where V is the vote, Y or N")
        bill, speaker, page, vote = parts.groups()
        speeches.setdefault((splits[folder], bill, speaker), []).append((page, vote, where, whole(stream, where)))
    if not speeches:
        raise BadInput(f"{files[0]}: expected {CORPORA['convote'].expected}")
    segments_read = sum(map(len, speeches.values()))
    notes.append(f"{segments_read} segments joined to {len(speeches)} documents, by bill and speaker")
    for (split, _, _), segments in sorted(speeches.items()):
        segments.sort()
        votes, where = {vote for _, vote, _, _ in segments}, segments[0][2]
        if len(votes) > 1:
            raise BadInput(f"{where}: its speaker votes both Y and N on one bill; expected one vote")
        # Published in words, with two spaces between sentences.
        sentences = [sentence.split() for *_, text in segments for sentence in re.split(r"\s{2,}|\n", text)]
        yield split, Example([words for words in sentences if words], votes.pop(), where)


def _aclimdb(files: Sequence[Path], wanted: re.Pattern[str], notes: list[str]) -> Iterator[Split]:
    """Film reviews, labelled with their ratings, 1 to 4 and 7 to 10; those without a rating are left out."""
    unrated = found = 0
    for match, where, stream in members(files, wanted):
        split, folder, name = match.groups()
        parts = re.fullmatch(r"\d+_(\d+)\.txt(?:\.gz)?", name)
        if not parts:
            raise BadInput(f"{where}: expected a name like ID_RATING.txt")
        found += 1
        if folder == "unsup":
            unrated += 1
        else:
            # The one piece of markup in these texts.
            yield split, Example(re.sub(r"<br\s*/?>", "\n", whole(stream, where)), parts[1], where)
    if not found:
        raise BadInput(f"{files[0]}: expected {CORPORA['aclimdb'].expected}")
    if unrated:
        notes.append(f"{unrated} reviews without a rating (unsup) left out")


def _csfd(files: Sequence[Path], wanted: re.Pattern[str], notes: list[str]) -> Iterator[Split]:
    """Czech film reviews, a line each: in a file a rating, after that rating, or in a file a class."""
    found = False
    for match, name, stream in members(files, wanted):
        label = match[1]
        for where, line in filled_lines(stream, name, notes):
            found = True
            if label.isdigit():
                rating, comma, line = line.partition(",")
                if not comma or rating.strip() != label:
                    raise BadInput(f"{where}: expected '{label} , text', since the file is called {label}")
            yield "all", Example(line.strip(), label, where)
    if not found:
        raise BadInput(f"{files[0]}: expected {CORPORA['csfd'].expected}, with a review a line")


CORPORA = {
    "convote": Corpus(
        re.compile(r"(?:data_stage_([a-z]+)/)?\b(training|development|test)_set/([^/.][^/]*)$"),
        "training_set, development_set and test_set with files like BILL_SPEAKER_PAGE_PMV.txt",
        _convote,
    ),
    "aclimdb": Corpus(
        re.compile(r"\b(train|test)/(pos|neg|unsup)/([^/.][^/]*)$"),
        "train/pos, train/neg, test/pos and test/neg with files like ID_RATING.txt",
        _aclimdb,
    ),
    "csfd": Corpus(
        re.compile(r"(?:^|/)(\d|positive|negative|neutral)\.txt(?:\.gz)?$"),
        "0.txt to 5.txt, or positive.txt, negative.txt and neutral.txt",
        _csfd,
    ),
}


def read_snli(path: Path, labels: bool, notes: list[str]) -> Iterator[Example]:
    """Sentence pairs; those on which the annotators did not agree ("-") are left out where labels are wanted."""
    undecided = 0
    for example in read_jsonl(path, Columns("sentence1", "sentence2", "gold_label" if labels else None), notes):
        if example.label == "-":
            undecided += 1
        else:
            yield example
    if undecided:
        notes.append(f"{path}: {undecided} pairs without a gold label ('-') left out")


def read_ss(path: Path, notes: list[str]) -> Iterator[Example]:
    """Reviews as Tang et al. (2015) published them: user, product, rating and the sentences, in words already."""
    with opened(path) as stream:
        for where, line in filled_lines(stream, path, notes):
            fields = line.split("\t\t")
            if len(fields) != 4:
                expected = "expected 4, user, product, rating and text, with two tabs in between"
                raise BadInput(f"{where}: {len(fields)} field{'s' * (len(fields) > 1)}; {expected}")
            yield Example(_sentences(fields[3], "<sssss>"), fields[2].strip() or None, where)


def read_split(path: Path, notes: list[str]) -> Iterator[Example]:
    """Documents in the format of the paper's own code: label<split1>sentence<split2>sentence, in words already."""
    with opened(path) as stream:
        for where, line in filled_lines(stream, path, notes):
            fields = line.split("<split1>")
            if len(fields) != 2:
                raise BadInput(f"{where}: {len(fields) - 1} times <split1>; expected it once, after the label")
            yield Example(_sentences(fields[1], "<split2>"), fields[0].strip() or None, where)


def _sentences(text: str, separator: str) -> list[list[str]]:
    return [words for sentence in text.split(separator) if (words := sentence.split())]
