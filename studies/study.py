"""Studies: a grid of runs, and other measurements on data or on trained models."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from studies.grid import Grid, Run
from studies.runs import Places, Say, read, version_of, write
from treetext.training import machine


class Measure(NamedTuple):
    """A table of other figures than accuracies: how to measure and show it, and the runs whose models it needs."""

    title: str
    runs: Sequence[Run]
    measure: Callable[[Places, dict[str, Any], Say], dict[str, Any]]
    """A function that also gets the earlier results, so it can keep those of models that no longer exist."""
    shown: Callable[[dict[str, Any] | None], str]
    """A function that gets the results, if there are any, and returns Markdown."""
    again: bool = False
    """Whether to measure again even if it is done: for what takes little time and writes other files too."""


class Study(NamedTuple):
    """A grid of runs and other measurements."""

    grid: Grid
    measures: Mapping[str, Measure]

    @property
    def results(self) -> Path:
        """The directory of its results."""
        return self.grid.folder / "results"

    @property
    def names(self) -> list[str]:
        """The names of all its tables."""
        return [*self.grid.tables, *self.measures]

    def runs(self, table: str, only: str | None = None, seeds: int | None = None) -> list[Run]:
        """The runs of a table: the one called `only`, or all whose names start with it, with at most `seeds` seeds."""
        runs = self.grid.runs(table) if table in self.grid.tables else []
        runs = [run for run in runs if run.seed <= (seeds or run.seed)]
        exact = [run for run in runs if run.name == only]
        return exact or [run for run in runs if run.name.startswith(only or "")]


def measured(name: str, places: Places) -> dict[str, Any] | None:
    """The saved results of a table, or None."""
    return read(places.results / f"{name}.json")


def take(study: Study, name: str, places: Places, say: Say) -> None:
    """Measure a table, unless that is done for all models that exist."""
    measure = study.measures[name]
    of = {run.name: version for run in measure.runs if (version := version_of(run, places)) is not None}
    saved = measured(name, places)
    before = saved or {"of": {}}
    if saved is None or not of.items() <= before["of"].items() or measure.again:
        results = measure.measure(places, before, say)
        write(places.results / f"{name}.json", {"of": before["of"] | of, **results, "machine": machine()})
