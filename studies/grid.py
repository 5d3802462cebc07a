"""Grids: the models that a study trains, as TOML files of data sources, tables, cells and layers of settings."""

import tomllib
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from treetext.data import BadInput


class Part(BaseModel):
    """A section of a grid file. Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(Part):
    """A data set, in the directory of all data sets."""

    title: str
    path: str | None = Field(None, description="path in that directory; none for generated data")
    note: str = Field(description="how it differs from the data of the paper")
    files: dict[str, str] = Field({}, description="settings of recipes whose values are files in that directory")
    gold: bool = Field(False, description="whether gold trees are known")


class Column(Part):
    """A column of a table: the cells whose names are a prefix followed by the name of a row."""

    title: str
    cells: str = Field(description="the prefix")
    published: str | None = Field(None, description="prefix of the cells with published scores, if it differs")


class Table(Part):
    """A table of accuracies."""

    title: str
    columns: list[Column]
    rows: dict[str, str] = Field(description="titles of the rows")
    seeds: dict[str, int] = Field({}, description="number of seeds for rows that use fewer than their cells have")


@dataclass(frozen=True, eq=False)
class Cell:
    """A recipe with its number of seeds and its published score."""

    name: str
    source: Source
    values: Mapping[str, Any]
    """The values of the recipe, except the seed and the path of the data."""
    seeds: int
    published: float | None


class Run(NamedTuple):
    """A model to train."""

    cell: Cell
    seed: int

    @property
    def name(self) -> str:
        """The name of its files."""
        return f"{self.cell.name}.{self.seed}"


@dataclass(frozen=True)
class Grid:
    """The data sources, tables and cells of a study."""

    folder: Path
    title: str
    sources: Mapping[str, Source]
    tables: Mapping[str, Table]
    cells: Mapping[str, Cell]

    def run(self, cell: str, seed: int = 1) -> Run:
        """The run of a cell with a seed."""
        return Run(self.cells[cell], seed)

    def column(self, table: str, column: Column) -> dict[str, list[Run]]:
        """The runs of a column of a table, by rows. Rows without runs are left out."""
        rows, most = self.tables[table].rows, self.tables[table].seeds
        runs = {}
        for name, cell in self.cells.items():
            row = name.removeprefix(column.cells)
            if name.startswith(column.cells) and row in rows and cell.seeds:
                seeds = min(cell.seeds, most.get(row, cell.seeds))
                runs[row] = [Run(cell, seed) for seed in range(1, seeds + 1)]
        return runs

    def runs(self, table: str) -> list[Run]:
        """All runs of a table. The first seed of every cell comes first, so columns are complete early."""
        columns = [self.column(table, column) for column in self.tables[table].columns]
        return sorted((run for rows in columns for runs in rows.values() for run in runs), key=lambda run: run.seed)

    def command(self, run: Run) -> str:
        """The command that trains the model of a run."""
        table = next(table for table in self.tables if run in self.runs(table))
        return command(table, run.name, data=run.cell.source.path is not None)


def command(table: str, only: str = "", data: bool = True) -> str:
    """The command that runs a table, or one run of it."""
    return f"make reproduce TABLE={table}" + f" ONLY={only}" * bool(only) + " DATA=DIR" * data


def load_grid(folder: Path) -> Grid:
    """Read ``grid.toml`` of a study and the files in ``cells``, which add cells, layers and rows."""
    values: dict[str, Any] = {}
    try:
        for path in (folder / "grid.toml", *sorted(folder.glob("cells/*.toml"))):
            _merge(values, tomllib.loads(path.read_text(encoding="utf-8")))
        file = _File.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise BadInput(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: {error}; expected a grid in TOML") from None
    return Grid(
        folder, file.title, file.sources, file.tables, {name: _cell(name, file, path) for name in file.cells}
    )  # fmt: skip


class _Cell(Part):
    layers: list[str]
    seeds: int = Field(0, ge=0)
    published: float | None = None


class _File(Part):
    title: str
    sources: dict[str, Source]
    tables: dict[str, Table]
    cells: dict[str, _Cell]
    layers: dict[str, dict[str, Any]]


def _cell(name: str, file: _File, path: Path) -> Cell:
    """A cell with its layers merged."""
    source, cell = name.partition("/")[0], file.cells[name]
    if source not in file.sources:
        raise BadInput(f"{path}: cells.{name}: no source {source!r}; expected one of {', '.join(file.sources)}")
    values: dict[str, Any] = {}
    about = []
    for layer in cell.layers:
        if layer not in file.layers:
            raise BadInput(f"{path}: cells.{name}: no layer {layer!r}; expected one of {', '.join(file.layers)}")
        settings = deepcopy(file.layers[layer])
        about.append(settings.pop("about", ""))
        _merge(values, settings)
    first, *rest = filter(None, [*about, "" if any(about) else name])
    said = f"{first}: {'; '.join(rest)}" if rest else first
    return Cell(name, file.sources[source], {"name": name, "about": said, **values}, cell.seeds, cell.published)


def _merge(values: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(values.get(key), dict):
            _merge(values[key], value)
        else:
            values[key] = value
