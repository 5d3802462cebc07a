"""A study: a grid of runs, and what is measured on data or on trained models."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from studies.grid import Grid, Run
from studies.runs import Places, Say, read, version_of, write
from treetext.training import machine


class Measure(NamedTuple):
    """A table that is no table of accuracies: how it is measured and shown, and on which models."""

    title: str
    runs: Sequence[Run]
    measure: Callable[[Places, dict[str, Any], Say], dict[str, Any]]
    """Gets what was measured before, too: it may keep what it has of models that are gone."""
    shown: Callable[[dict[str, Any] | None], str]
    """Markdown of what was measured, if anything was."""
    again: bool = False
    """Even where it is done: it takes little time, and leaves more than its file."""


class Study(NamedTuple):
    """All that there is to run, to measure and to show."""

    grid: Grid
    measures: Mapping[str, Measure]

    @property
    def results(self) -> Path:
        """Where its results are kept."""
        return self.grid.folder / "results"

    @property
    def names(self) -> list[str]:
        """All its tables."""
        return [*self.grid.tables, *self.measures]

    def runs(self, table: str, only: str | None = None, seeds: int | None = None) -> list[Run]:
        """The runs of a table: of these, the one called `only` or else those that start so, with the first seeds."""
        runs = self.grid.runs(table) if table in self.grid.tables else []
        runs = [run for run in runs if run.seed <= (seeds or run.seed)]
        exact = [run for run in runs if run.name == only]
        return exact or [run for run in runs if run.name.startswith(only or "")]


def measured(name: str, places: Places) -> dict[str, Any] | None:
    """What was measured for a table, if anything was."""
    return read(places.results / f"{name}.json")


def take(study: Study, name: str, places: Places, say: Say) -> None:
    """Measure, unless that is done with all models that are there."""
    measure = study.measures[name]
    of = {run.name: version for run in measure.runs if (version := version_of(run, places)) is not None}
    saved = measured(name, places)
    before = saved or {"of": {}}
    if saved is None or not of.items() <= before["of"].items() or measure.again:
        found = measure.measure(places, before, say)
        write(places.results / f"{name}.json", {"of": before["of"] | of, **found, "machine": machine()})
