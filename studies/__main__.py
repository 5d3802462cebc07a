"""`treetext reproduce`."""

import os
from pathlib import Path
from typing import Annotated

import typer

from treetext.cli._common import SetOption, note, refuse, stop

TABLES = (
    "documents", "snli", "hidden-trees", "hidden-options", "statistics", "sentence-trees", "document-trees", "figures",
    "snli-speed", "shipped",
)  # fmt: skip


def reproduce(
    tables: Annotated[
        list[str],
        typer.Argument(metavar="TABLE...", help=f"{', '.join(TABLES)}; or all."),
    ],
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The directory of all data sets; TREETEXT_DATA unless told.")
    ] = None,
    results: Annotated[Path, typer.Option(metavar="DIR", help="Where the result of each run is kept.")] = Path(
        "results"
    ),
    models: Annotated[Path, typer.Option(metavar="DIR", help="Where the trained models go.")] = Path(
        "models/reproduced"
    ),
    shipped: Annotated[Path, typer.Option(metavar="DIR", help="Where the models that ship go.")] = Path(
        "src/treetext/models/shipped"
    ),
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page to write.")] = Path("docs/results.md"),
    only: Annotated[
        str | None, typer.Option(metavar="PREFIX", help="Only runs whose recipe starts so, as in debates/ours-.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, metavar="N", help="At most so many seeds of each.")] = None,
    settings: SetOption = None,
    dry: Annotated[bool, typer.Option("--list", help="List the runs, and which are done; train nothing.")] = False,
) -> None:
    """Run the paper's tables anew, and write the page of results.

    What is done is not done again; what was interrupted goes on. Some tables take days: --list tells what there is,
    --only and --seeds choose, and --set with directories of its own is for trials.
    """
    from treetext.reproduce import MEASURES, Places, do, page, result_of, take
    from treetext.reproduce import TABLES as RUNS
    from treetext.training import Interrupted, parse_overrides

    unknown = [name for name in tables if name not in (*TABLES, "all")]
    if unknown:
        refuse(f"{unknown[0]}: no such table; expected one of {', '.join(TABLES)}, or all")
    wanted = TABLES if "all" in tables else list(dict.fromkeys(tables))
    where = Path(data or os.environ.get("TREETEXT_DATA") or "data")
    places = Places(where, results, models, parse_overrides(settings or []), shipped)
    planned = [run for name in wanted if name in RUNS for run in RUNS[name].runs()]
    runs = [run for run in planned if run.recipe.startswith(only or "") and run.seed <= (seeds or run.seed)]
    if planned and not runs:
        refuse(f"--only {only}: no run of {', '.join(wanted)} starts so; --list without --only names all")
    if dry:
        for run in runs:
            found = result_of(run, places)
            print(
                f"{run.name}\t" + ("not run" if found is None else f"dev {found['dev']:.4f}\ttest {found['test']:.4f}")
            )
        return
    try:
        for i, run in enumerate(runs):
            found = do(run, places, note)
            note(f"{i + 1} of {len(runs)}: {run.name}: dev {100 * found['dev']:.1f}, test {100 * found['test']:.1f}")
            _write(out, page(places))
        for name in wanted:
            if name in MEASURES:
                take(name, places, note)
    except Interrupted as stopped:
        stop(stopped)
    _write(out, page(places))
    print(out)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(path.name + ".part")
    aside.write_text(text, encoding="utf-8")
    aside.replace(path)
