"""The page of results: our figures beside the paper's, with the command behind each."""

from typing import Any

from treetext.reproduce._markdown import NOT_RUN, difference, markdown, spread
from treetext.reproduce._measures import MEASURES
from treetext.reproduce._plan import SOURCES, TABLES, Run, Table
from treetext.reproduce._runs import Places, result_of
from treetext.training import load_recipe


def page(places: Places) -> str:
    """All tables, in Markdown."""
    parts = [
        "# Results\n",
        "Every table of the paper, made by `treetext reproduce TABLE --data DIR`, where DIR holds the data sets. A cell"
        " has the mean and the standard deviation over seeds of test accuracies in percent, the number of seeds, and in"
        " parentheses the paper's figure. Epochs are chosen on dev data; the test data are scored once per model.\n",
        "The data:\n",
        *(f"- **{source.title}**: {source.note}." for source in SOURCES.values()),
    ]
    for name, table in TABLES.items():
        parts.append(f"\n## {table.title}\n\n`treetext reproduce {name}`\n")
        parts.append(_table(table, places) + _differences(table, places))
        if name.startswith("hidden"):
            parts.append(_recovery(table, places))
        parts.append(_commands(table, places))
    for name, measure in MEASURES.items():
        parts.append(f"\n## {measure.title}\n\n`treetext reproduce {name}`\n")
        parts.append(measure.shown(places))
    return "\n".join(parts).rstrip() + "\n"


def _table(table: Table, places: Places) -> str:
    header = ["", *(_column(prefix) for prefix in table.columns), "parameters"]
    rows = []
    for row, title in table.rows.items():
        cells = [_cell(prefix, row, counts.get(row, 0), places) for prefix, counts in table.columns.items()]
        sizes = {
            str(result["parameters"]) for prefix in table.columns for result in _results(table, prefix, row, places)
        }
        rows.append([title, *cells, " / ".join(f"{int(size):,}" for size in sorted(sizes)) or NOT_RUN])
    return markdown(header, rows)


def _differences(table: Table, places: Places) -> str:
    """What attention adds, and what trees add to it."""
    rows = []
    for prefix, counts in table.columns.items():
        scores = {row: [100 * r["test"] for r in _found(prefix, row, n, places)] for row, n in counts.items()}
        for row, ours in scores.items():
            kind, _, encoder = row.partition("-")
            bases = [f"{base}-{encoder}".strip("-") for base in ("none", "simple")]
            if kind == "none" or bases[0] not in scores:
                continue
            cells = ["–" if base == row else difference(ours, scores[base]) for base in bases]
            rows.append([f"{_column(prefix)}: {table.rows[row]}", *cells])
    if not rows:
        return ""
    return (
        "\nPoints gained, with 95% intervals (Welch 1947) over seeds. An interval with 0 inside does not tell two rows"
        " apart; and none of them says how it would be with other test data.\n\n"
    ) + markdown(["", "against no attention", "against simple attention"], rows)


def _column(prefix: str) -> str:
    data, _, rest = prefix.partition("/")
    recipe = {"hidden-trees": ""}.get(data, ", our recipe" if rest else ", the paper's recipe")
    return SOURCES[data].title + recipe


def _cell(prefix: str, row: str, seeds: int, places: Places) -> str:
    paper = _paper(f"{prefix.removesuffix('ours-')}{row}")
    beside = "" if paper is None else f" ({paper:.1f})"
    found = [100 * result["test"] for result in _found(prefix, row, seeds, places)]
    return f"{spread(found)}{beside}" if found else f"{NOT_RUN}{beside}"


def _found(prefix: str, row: str, seeds: int, places: Places) -> list[dict[str, Any]]:
    runs = (Run(f"{prefix}{row}", seed) for seed in range(1, seeds + 1))
    return [result for run in runs if (result := result_of(run, places)) is not None]


def _results(table: Table, prefix: str, row: str, places: Places) -> list[dict[str, Any]]:
    return _found(prefix, row, table.columns[prefix].get(row, 0), places)


def _paper(recipe: str) -> float | None:
    try:
        return load_recipe(recipe, {"data.path": "."}).paper
    except ValueError:  # generated data, or a variant that the paper does not have
        return None


def _recovery(table: Table, places: Places) -> str:
    """Gold arcs in the induced trees."""
    rows = []
    [prefix] = table.columns
    for row, title in table.rows.items():
        found = [r["recovery"] for r in _results(table, prefix, row, places) if r["recovery"]]
        for level in found[0] if found else ():
            cells = [
                spread([100 * each[level]["found"][of] for each in found])
                + f" (chance {100 * found[0][level]['chance'][of]:.1f})"
                for of in ("heads", "arcs", "roots")
            ]
            rows.append([f"{title}: {level}", *cells])
    return "\nGold arcs in the induced trees, in percent:\n\n" + markdown(
        ["", "right heads", "arcs, either direction", "right roots"], rows
    )


def _commands(table: Table, places: Places) -> str:
    """A command for each run that is done, with what it gave."""
    rows = []
    for run in table.runs():
        result = result_of(run, places)
        if result is not None:
            rows.append([
                f"`{run.command}`",
                f"{100 * result['dev']:.1f}",
                f"{100 * result['test']:.1f}",
                f"{result['epoch']} of {result['epochs']}",
                f"{result['seconds']:.0f}",
            ])  # fmt: skip
    if not rows:
        return ""
    header = ["command", "dev", "test", "best epoch", "seconds"]
    return f"\n### Runs: {len(rows)}\n\n" + markdown(header, sorted(rows))
