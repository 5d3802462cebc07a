"""Labelled texts in memory. They are kept as JSON Lines files, which all that reads files can read later."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treetext.data.document import BadInput, counted
from treetext.data.tasks import Task

Labelled = Any
"""A tuple (texts, labels), or a table with columns of both: a DataFrame, an Arrow table, or a dictionary of lists."""
INDEX = "__index_level_"
"""The start of the names that pyarrow gives to the index of a DataFrame."""


@dataclass(frozen=True)
class InMemory:
    """Texts in memory by their splits (all, for unsplit texts, or train, dev and test), and a folder for their copy."""

    folder: Path
    splits: Mapping[str, Labelled]

    @classmethod
    def of(
        cls, folder: Path, texts: Any = None, labels: Any = None, data: Any = None, dev: Any = None, test: Any = None
    ) -> "InMemory | None":
        """The texts of the arguments of `train`, or None if there are none."""
        if (texts is None) != (labels is None):
            raise BadInput(f"{'texts' if texts is None else 'labels'}: missing; expected both texts and labels")
        if data is not None and texts is not None:
            raise BadInput("data: expected either it, or texts and labels, got both")
        data = data if texts is None else (texts, labels)
        given = {name: part for name, part in {"train": data, "dev": dev, "test": test}.items() if part is not None}
        if given and "train" not in given:
            raise BadInput(f"{next(iter(given))}: expected also texts and labels to train on, or data")
        if len(given) == 1:
            given = {"all": data}
        return cls(folder, given) if given else None

    @property
    def settings(self) -> dict[str, str | None]:
        """The settings of a recipe that read the copy: its files, and its columns unless it is of a table."""
        places = {name: str((self.folder / f"{name}.jsonl").resolve()) for name in self.splits}
        if "all" in places:
            places["path"] = places.pop("all")
        chosen = ["path", "train", "dev", "test"]
        if all(isinstance(part, tuple) for part in self.splits.values()):
            chosen += ["text", "second", "label"]  # they are recognised
        return {"data.format": "jsonl", **{f"data.{name}": places.get(name) for name in chosen}}

    def write(self, task: Task) -> None:
        """Write the copy. `task` says whether the texts are documents or pairs."""
        tables = {name: _table(name, part, task) for name, part in self.splits.items()}
        self.folder.mkdir(parents=True, exist_ok=True)
        for old in self.folder.glob("*.jsonl"):
            old.unlink()
        for name, table in tables.items():
            with (self.folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
                for batch in table.to_batches(max_chunksize=1000):
                    file.writelines(
                        f"{json.dumps(row, ensure_ascii=False, default=str)}\n" for row in batch.to_pylist()
                    )


def _table(name: str, part: Labelled, task: Task) -> Any:
    """An Arrow table of some texts and labels."""
    import pyarrow

    if isinstance(part, tuple):
        return pyarrow.table(_columns(name, part, task))
    where = name.replace("train", "data").replace("all", "data")
    try:
        table = pyarrow.table(part)
    except (TypeError, ValueError, pyarrow.ArrowException) as error:
        expected = "expected a DataFrame, an Arrow table or a dictionary of columns of equal length"
        raise BadInput(f"{where}: {expected}: {_line(error)}") from None
    return table.select([column for column in table.column_names if not column.startswith(INDEX)])


def _columns(name: str, part: tuple[Any, ...], task: Task) -> dict[str, Any]:
    """The columns of texts and labels, each with its name in the task."""
    where = f"{name}: " if name in ("dev", "test") else ""
    if len(part) != 2:
        raise BadInput(f"{where}expected a tuple of texts and labels, got {counted(len(part), 'value')}")
    for what, values in zip(("texts", "labels"), part, strict=True):
        if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__"):
            raise BadInput(f"{where}{what}: expected a list, got {values!r:.60}")
    texts, labels = map(list, part)
    if len(texts) != len(labels) or not texts:
        numbers = f"{counted(len(texts), 'text')} and {counted(len(labels), 'label')}"
        raise BadInput(f"{where}{numbers}; expected as many of both, and some")
    given = _array(f"{where}labels", labels)
    if given.null_count:
        [missing, *_] = (i for i, there in enumerate(given.is_valid().to_pylist()) if not there)
        raise BadInput(f"{where}labels[{missing}]: missing; expected one for each text")
    if len(task.columns) == 1:
        sides = [texts]
    else:
        for i, text in enumerate(texts):
            if isinstance(text, str) or not hasattr(text, "__len__") or len(text) != 2:
                raise BadInput(f"{where}texts[{i}]: expected a pair of sentences, got {text!r:.60}")
        sides = [[text[side] for text in texts] for side in range(2)]
    arrays = [_array(f"{where}texts", side) for side in sides]
    return {**dict(zip(task.columns, arrays, strict=True)), "label": given}


def _array(where: str, values: list[Any]) -> Any:
    import pyarrow

    try:
        return pyarrow.array(values, from_pandas=True)  # NaN is a missing value
    except (TypeError, ValueError, pyarrow.ArrowException) as error:
        raise BadInput(f"{where}: expected values of one kind: {_line(error)}") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
