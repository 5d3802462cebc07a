"""Recognises the columns of a table, those of the text and of the label, by their names or by what is in them."""

import re
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from treetext.data.document import BadInput
from treetext.data.tasks import Task

TEXTS = {
    "text", "texts", "review", "reviews", "sentence", "comment", "comments", "body", "content", "message", "post",
    "document", "tweet", "description", "abstract", "article", "paragraph", "passage", "utterance", "question", "query",
    "sms", "email", "speech", "plot", "summary", "transcript", "feedback",
}  # fmt: skip
LABELS = {
    "label", "labels", "class", "classes", "category", "categories", "sentiment", "star", "stars", "rating", "ratings",
    "overall", "score", "target", "y", "topic", "intent", "emotion", "polarity", "verdict", "outcome", "tag", "grade",
    "genre",
}  # fmt: skip
PAIRED = {"premise": "hypothesis", "claim": "evidence", "query": "document"}
NUMBERED = re.compile(r"(text|sentence|sent|question|document|doc|phrase|string|s|q)_?([1a])")
OTHERS = {
    "id", "ids", "index", "idx", "uuid", "guid", "url", "link", "date", "time", "timestamp", "split", "fold",
    "partition",
}  # fmt: skip
"""Names of columns that are neither text nor label, whatever is in them."""
WORDS = re.compile(r"[^\W\d_]\W*\s\W*[^\W\d_]|[^\W\d_\x00-\x7f]{2}")
"""Two words, or two letters of a script that may not separate words."""
MOST_CLASSES = 50
SHORT, LONG = 30, 60
"""The most characters of a name with a usual word in it, and of any name that is not taken for a text."""


class Column(NamedTuple):
    """A column of the first rows of a table, without missing values."""

    name: str
    values: list[Any]

    @property
    def parts(self) -> list[str]:
        """The words in the name, in lower case."""
        spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.name.strip())
        return [part for part in re.split(r"[\W_]+", spaced.lower()) if part] or [""]

    @property
    def holds_strings(self) -> bool:
        """Whether this may be a column of texts: strings or lists, not all of them numbers."""
        strings = [value for value in self.values if isinstance(value, str | list)]
        return len(strings) == len(self.values) and not all(_is_number(value) for value in strings)

    @property
    def holds_texts(self) -> bool:
        """Whether most values have several words."""
        return sum(map(_has_words, self.values)) > len(self.values) / 2

    @property
    def holds_words(self) -> bool:
        """Whether most values have letters and no digits."""
        return sum(str(value).isalpha() or _has_words(value) for value in self.values) > len(self.values) / 2

    @property
    def length(self) -> float:
        """The mean number of characters."""
        return fmean(len(str(value)) for value in self.values) if self.values else 0.0

    @property
    def distinct(self) -> int:
        """The number of different values."""
        return len({str(value).strip() for value in self.values})

    @property
    def repeats(self) -> bool:
        """Whether this may be a column of labels: strings or numbers that repeat, as far as so few rows can tell."""
        scalar = all(isinstance(value, str | int | float) for value in self.values)
        return scalar and (len(self.values) < 10 or self.distinct <= len(self.values) / 2)


def recognise(
    where: str,
    rows: Sequence[Mapping[str, Any]],
    given: Mapping[str, str | None],
    task: Task | None = None,
    labels: bool = True,
) -> dict[str, str | None]:
    """The columns of the text, of the second sentence (of pairs) and of the label, by the first rows of a table.

    Columns that are `given` stay. `task` says whether the table has documents or pairs (default: the names of the
    columns say so). Raises `BadInput` if several columns, or none, may be the one.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: Column(name, [value for row in rows if _is_there(value := row.get(name))]) for name in names}
    text, second, label = (given[name] for name in ("text", "second", "label"))
    if text is None:
        free = [column for name, column in columns.items() if name not in (second, label)]
        pair = None if second is not None else _pair(where, free, task)
        text, second = pair or (_text(where, free, task), second)
    if label is None and labels:
        label = _label(where, [column for name, column in columns.items() if name not in (text, second)])
        if given["text"] is None:
            _check_header(where, columns[text], columns[label])
    return {"text": text, "second": second, "label": label}


def _pair(where: str, columns: list[Column], task: Task | None) -> tuple[str, str] | None:
    """The two columns of a pair; None for documents."""
    wanted = len(task.columns) if task else None
    by_name = {"_".join(column.parts): column.name for column in columns}
    if wanted == 1 or (wanted is None and "text" in by_name):
        return None
    pairs = [(by_name[one], by_name[two]) for one, two in PAIRED.items() if one in by_name and two in by_name]
    for name in by_name:
        if match := NUMBERED.fullmatch(name):
            other = name[:-1] + {"1": "2", "a": "b"}[match[2]]
            pairs += [(by_name[name], by_name[other])] if other in by_name else []
    texts = [column.name for column in columns if column.holds_texts and column.parts[-1] not in OTHERS]
    if len(pairs) == 1:
        return pairs[0]
    if wanted == 2 and not pairs and len(texts) == 2:
        return texts[0], texts[1]
    if wanted == 2 or pairs:
        listed = _listed([name for pair in pairs for name in pair] or [column.name for column in columns])
        expected = "expected --set data.text=… and --set data.second=…"
        raise BadInput(f"{where}: which columns have the two sentences? {expected}, among {listed}")
    return None


def _text(where: str, columns: list[Column], task: Task | None) -> str:
    """The column of the text. Of several that may be it, the one that is at least twice as long as any other."""
    strings = [column for column in columns if column.holds_strings and column.parts[-1] not in OTHERS | LABELS]
    candidates = (
        _named(columns, "text", TEXTS, lambda column: column.holds_strings)
        or [column for column in strings if column.holds_texts]
        or [column for column in strings if column.holds_words and not (column.repeats and len(strings) > 1)]
    )
    longest = sorted(candidates, key=lambda column: column.length)
    if len(longest) == 1 or (longest and longest[-1].length >= 2 * longest[-2].length):
        return longest[-1].name
    pairs = "" if task else ", for pairs also data.second"
    raise _unclear(where, "text", [column.name for column in candidates], columns, pairs)


def _label(where: str, columns: list[Column]) -> str:
    """The column of the label."""
    candidates = _named(columns, "label", LABELS, lambda column: column.repeats)
    if not candidates:
        few = [column for column in columns if column.repeats and column.parts[-1] not in OTHERS]
        few = [column for column in few if column.distinct <= MOST_CLASSES]
        candidates = [column for column in few if column.distinct > 1] or few
    if len(candidates) == 1:
        return candidates[0].name
    raise _unclear(where, "label", [column.name for column in candidates], columns)


def _check_header(where: str, text: Column, label: Column) -> None:
    """Raise `BadInput` if the names of the columns look like a text and its label. A question may be a long name."""
    usual = not LABELS.isdisjoint(label.parts) or (len(text.name) <= SHORT and not TEXTS.isdisjoint(text.parts))
    is_label = label.name in {str(value).strip() for value in label.values}
    if not usual and ((is_label and _has_words(text.name)) or (len(text.name) > LONG and "?" not in text.name)):
        names = [name if len(name) <= SHORT else f"{name[:SHORT]}…" for name in (text.name, label.name)]
        expected = f"expected names such as text and label, or --set data.label=… if {names[1]!r} is one"
        raise BadInput(f"{where}: it seems to have no header: {_listed(names)} look like data; {expected}")


def _named(columns: list[Column], best: str, usual: set[str], fits: Callable[[Column], bool]) -> list[Column]:
    """The columns with a usual name: the best name, else a usual one, else a name that ends with a usual one."""
    if exact := [column for column in columns if column.name == best]:
        return exact
    whole = [column for column in columns if "_".join(column.parts) in usual and fits(column)]
    return whole or [column for column in columns if column.parts[-1] in usual and fits(column)]


def _unclear(where: str, what: str, candidates: list[str], columns: list[Column], more: str = "") -> BadInput:
    if candidates:
        problem = f"{_listed(candidates)} may each be the {what}"
        return BadInput(f"{where}: {problem}; expected one of them by --set data.{what}=…{more}")
    listed = _listed([column.name for column in columns]) or "none"
    expected = f"expected its name by --set data.{what}=…, among {listed}"
    return BadInput(f"{where}: no column looks like the {what}; {expected}")


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:30])) + ", …" * (len(names) > 30)


def _is_there(value: Any) -> bool:
    return value is not None and value != "" and value == value  # NaN is not equal to itself


def _is_number(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[+\d.,:/\s-]+", value) is not None


def _has_words(value: Any) -> bool:
    return bool(WORDS.search(value[:1000])) if isinstance(value, str) else isinstance(value, list) and len(value) > 0
