"""The page of results: our figures, the published figures, and the commands that reproduce them."""

from collections.abc import Iterator, Sequence
from typing import Any

from studies.grid import Column, Run, Table, command
from studies.markdown import NOT_RUN, difference, markdown, spread
from studies.runs import Places, result_of
from studies.study import Study, measured

INTRODUCTION = """\
# Results

Every table is made by `make reproduce TABLE=NAME DATA=DIR` in a checkout of treetext, where DIR holds the data sets. \
A cell has the mean and the standard deviation over seeds of test accuracies in percent, the number of seeds, and in \
parentheses the published figure. Epochs are chosen on dev data; the test data are scored once per model.

The name of a run is that of its cell in the grid and its seed, as in `debates/ours-both.1`.

- `make reproduce TABLE=documents LIST=1` lists the runs of a table.
- `make reproduce TABLE=documents ONLY=debates/ours-both.1 DATA=DIR AGAIN=1` trains one run again and replaces its \
result; without `AGAIN=1`, only runs without a result are trained.
- `.venv/bin/python -m studies recipe debates/ours-both.1 --data DIR > run.toml` writes the recipe of a run. \
`treetext train run.toml` trains the same model from it, and does not touch the results.
"""
GAINS = """
Points gained, with 95% intervals (Welch 1947) over seeds. An interval that contains 0 means that the two rows do not \
differ significantly. The intervals do not cover other test data.

"""


def page(studies: Sequence[tuple[Study, Places]]) -> str:
    """All tables of all studies, in Markdown."""
    parts = [INTRODUCTION]
    for study, places in studies:
        parts += _study(study, places)
    return "\n".join(parts).rstrip() + "\n"


def _study(study: Study, places: Places) -> Iterator[str]:
    grid = study.grid
    yield f"\n## {grid.title}\n\nThe data:\n"
    yield from (f"- **{source.title}**: {source.note}." for source in grid.sources.values())
    for name, table in grid.tables.items():
        runs = grid.runs(name)
        read = any(run.cell.source.path for run in runs)
        yield f"\n### {table.title}\n\n`{command(name, data=read)}`\n"
        columns = [(column, grid.column(name, column)) for column in table.columns]
        yield _table(study, table, columns, places) + _differences(table, columns, places)
        if any(run.cell.source.gold for run in runs):
            yield _recovery(table, columns, places)
        yield _runs(runs, places)
    for name, measure in study.measures.items():
        yield f"\n### {measure.title}\n\n`{command(name)}`\n"
        yield measure.shown(measured(name, places))


Columns = list[tuple[Column, dict[str, list[Run]]]]


def _table(study: Study, table: Table, columns: Columns, places: Places) -> str:
    header = ["", *(column.title for column in table.columns), "parameters"]
    rows = []
    for row, title in table.rows.items():
        cells = []
        sizes = set()
        for column, runs in columns:
            results = _results(runs.get(row, []), places)
            sizes |= {str(result["parameters"]) for result in results}
            published = study.grid.cells.get(f"{column.published or column.cells}{row}")
            beside = f" ({published.published:.1f})" if published and published.published is not None else ""
            cells.append(spread([100 * result["test"] for result in results]) + beside)
        rows.append([title, *cells, " / ".join(f"{int(size):,}" for size in sorted(sizes)) or NOT_RUN])
    return markdown(header, rows)


def _differences(table: Table, columns: Columns, places: Places) -> str:
    """The gain of each kind of attention over no attention and over simple attention."""
    rows = []
    for column, runs in columns:
        scores = {row: [100 * result["test"] for result in _results(each, places)] for row, each in runs.items()}
        for row, ours in scores.items():
            kind, _, encoder = row.partition("-")
            bases = [f"{base}-{encoder}".strip("-") for base in ("none", "simple")]
            if kind == "none" or bases[0] not in scores:
                continue
            cells = ["–" if base == row else difference(ours, scores[base]) for base in bases]
            rows.append([f"{column.title}: {table.rows[row]}", *cells])
    return GAINS + markdown(["", "against no attention", "against simple attention"], rows) if rows else ""


def _recovery(table: Table, columns: Columns, places: Places) -> str:
    """The shares of gold heads, arcs and roots in the induced trees."""
    rows = []
    for row, title in table.rows.items():
        runs = [run for _, each in columns for run in each.get(row, [])]
        recoveries = [result["recovery"] for result in _results(runs, places) if result["recovery"]]
        for level in recoveries[0] if recoveries else ():
            cells = [
                spread([100 * each[level]["found"][of] for each in recoveries])
                + f" (chance {100 * recoveries[0][level]['chance'][of]:.1f})"
                for of in ("heads", "arcs", "roots")
            ]
            rows.append([f"{title}: {level}", *cells])
    return "\nGold arcs in the induced trees, in percent:\n\n" + markdown(
        ["", "right heads", "arcs, either direction", "right roots"], rows
    )


def _runs(runs: list[Run], places: Places) -> str:
    """A table with a row for each finished run."""
    rows = []
    for run in runs:
        result = result_of(run, places)
        if result is not None:
            rows.append([
                f"`{run.name}`",
                f"{100 * result['dev']:.1f}",
                f"{100 * result['test']:.1f}",
                f"{result['epoch']} of {result['epochs']}",
                f"{result['seconds']:.0f}",
            ])  # fmt: skip
    if not rows:
        return ""
    header = ["run", "dev", "test", "best epoch", "seconds"]
    return f"\n#### Runs: {len(rows)}\n\n" + markdown(header, sorted(rows))


def _results(runs: list[Run], places: Places) -> list[dict[str, Any]]:
    return [result for run in runs if (result := result_of(run, places)) is not None]
