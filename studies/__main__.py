"""``python -m studies``, from the root of a checkout: run tables, or print the recipe of a cell."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from treetext.cli import Commands, SetOption, note, refuse, show, stop, table

TABLES = (
    "documents", "snli", "statistics", "sentence-trees", "document-trees", "figures", "snli-speed", "shipped",
    "hidden-trees", "hidden-options",
)  # fmt: skip


class StudyCommands(Commands):
    """Commands. An argument that is not a command is a table to run."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the command `run`, unless the first argument is a command or --help."""
        if args and args[0] not in (*self.commands, "--help"):
            args = ["run", *args]
        rest: list[str] = super().parse_args(ctx, args)
        return rest


app = typer.Typer(
    cls=StudyCommands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Studies: python -m studies TABLE... runs tables, the same as python -m studies run TABLE...",
)


@app.command("run")
def run_tables(
    tables: Annotated[list[str], typer.Argument(metavar="TABLE...", help=f"{', '.join(TABLES)}; or all.")],
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The directory of all data sets (default: $TREETEXT_DATA, else data)."),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The directory of results (default: studies/STUDY/results)."),
    ] = None,
    models: Annotated[Path, typer.Option(metavar="DIR", help="The directory of trained models.")] = Path(
        "models/reproduced"
    ),
    shipped: Annotated[Path, typer.Option(metavar="DIR", help="The directory of shipped models.")] = Path(
        "src/treetext/models/shipped"
    ),
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page to write.")] = Path("docs/results.md"),
    only: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Only the run of this name, such as snli/simple.1, or runs whose names start with it."
        ),
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, metavar="N", help="Most seeds of each cell.")] = None,
    settings: SetOption = None,
    again: Annotated[bool, typer.Option("--again", help="Also train finished runs, again.")] = False,
    dry: Annotated[bool, typer.Option("--list", help="List the runs and their scores; train nothing.")] = False,
) -> None:
    """Run tables, and write the page of results.

    Finished runs are not repeated, and interrupted runs are resumed. Some tables take days: --list lists the runs,
    --only and --seeds select some. For trials, use --set with other directories.
    """
    from studies.catalogue import STUDIES, study_of
    from studies.page import page
    from studies.runs import Places, do, result_of
    from studies.study import Study, take
    from treetext.training import Interrupted, parse_overrides

    where, overrides = Path(data or os.environ.get("TREETEXT_DATA") or "data"), parse_overrides(settings or [])

    def places(study: Study) -> Places:
        return Places(where, results or study.results, models, overrides, shipped)

    def write_page() -> None:
        _write(out, page([(study, places(study)) for study in STUDIES]))

    studies = {name: study_of(name) for name in (TABLES if "all" in tables else tables)}
    runs = [(run, places(study)) for name, study in studies.items() for run in study.runs(name, only, seeds)]
    if not runs and any(study.runs(name) for name, study in studies.items()):
        refuse(f"--only {only}: no such run of {', '.join(studies)}; --list without --only lists all runs")
    if dry:
        for run, place in runs:
            result = result_of(run, place)
            scores = "not run" if result is None else f"dev {result['dev']:.4f}\ttest {result['test']:.4f}"
            print(f"{run.name}\t{scores}")
        return
    try:
        for i, (run, place) in enumerate(runs):
            result = do(run, place, note, again)
            scores = f"dev {100 * result['dev']:.1f}, test {100 * result['test']:.1f}"
            note(f"{i + 1} of {len(runs)}: {run.name}: {scores}")
            write_page()
        for name, study in studies.items():
            if name in study.measures:
                take(study, name, places(study), note)
    except Interrupted as stopped:
        stop(stopped)
    write_page()
    print(out)


@app.command("recipe")
def print_recipe(
    name: Annotated[
        str | None, typer.Argument(metavar="[CELL or RUN]", help="Such as debates/ours-both, or debates/ours-both.2.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The directory of all data sets, for the paths in the recipe."),
    ] = None,
    settings: SetOption = None,
) -> None:
    """List the cells of all studies with their published scores, or print one as a recipe.

    The recipe is for `treetext train FILE`. Without --data here, `treetext train` needs --data.
    """
    from studies.catalogue import STUDIES, find_run
    from studies.runs import Places, recipe_of
    from treetext.training import load_template, parse_overrides, to_toml

    if name is None:
        cells = table("cell", "published", "what", numbers=["published"])
        for study in STUDIES:
            for cell in study.grid.cells.values():
                cells.add_row(cell.name, "" if cell.published is None else str(cell.published), cell.values["about"])
        show(cells)
        return
    run, overrides = find_run(name), parse_overrides(settings or [])
    if data is None:
        print(to_toml(load_template(run.cell.values, {"seed": run.seed, **overrides})), end="")
    else:
        print(to_toml(recipe_of(run, Places(data, Path(), Path(), overrides))), end="")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(path.name + ".part")
    aside.write_text(text, encoding="utf-8")
    aside.replace(path)


if __name__ == "__main__":
    app(prog_name="python -m studies")
