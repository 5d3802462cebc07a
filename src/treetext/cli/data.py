"""`treetext recipes` and `treetext data`."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treetext.cli.common import (
    Bars,
    DataOption,
    JsonOption,
    SetOption,
    Split,
    load,
    load_data,
    note,
    open_data,
    progress,
    show,
    show_json,
    written,
)
from treetext.cli.common import table as new_table

if TYPE_CHECKING:
    from treetext.data import Corpus


def recipes(
    name: Annotated[str | None, typer.Argument(help="The recipe to print: its name, or a TOML file.")] = None,
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the recipes, or print one of them.

    A recipe is printed as TOML, with all its settings and what they mean. Unset ones are commented out.
    """
    from treetext.training import load_template, parse_overrides, recipe_names, to_toml, to_values

    overrides = parse_overrides(settings or [])
    if name is not None:
        recipe = load_template(name, overrides)
        if as_json:
            show_json(to_values(recipe))
        else:
            print(to_toml(recipe), end="")
        return
    templates = [load_template(name, overrides) for name in recipe_names()]
    if as_json:
        show_json([{"name": r.name, "about": r.about, "format": r.data.format} for r in templates])
        return
    table = new_table("recipe", "what")
    for recipe in templates:
        table.add_row(recipe.name, recipe.about)
    show(table)


def data(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A recipe, a format, or the directory of a model, whose data are split as in its training.",
            metavar="[RECIPE, FORMAT or MODEL]",
        ),
    ] = None,
    data: DataOption = None,
    settings: SetOption = None,
    split_out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the split of each text to this file, as CSV.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the formats, or describe a corpus.

    The description has the numbers of texts, sentences, words and classes, as in the paper.
    """
    from treetext.data import describe

    if name is None and data is None:
        _list_formats(as_json)
        return
    with progress() as bars:
        corpus = _corpus(name, data, settings, bars)
    if split_out is not None:
        _write_split(corpus, split_out)
    counts, notes = describe(corpus.encoded, corpus.rows), [*corpus.notes, *corpus.remarks]
    if as_json:
        splits = [part._asdict() for part in counts]
        words = len(corpus.encoded.lexicon)
        show_json(
            {
                "data": corpus.name,
                "fingerprint": corpus.fingerprint,
                "vocabulary": words,
                "splits": splits,
                "notes": notes,
            }
        )
        return
    for line in notes:
        note(line)
    numbers = ["texts", "sentences/text", "words/text", "without words"]
    table = new_table("split", *numbers, "classes", numbers=numbers)
    for part in counts:
        listed = ", ".join(f"{label} {count / part.documents:.1%}" for label, count in list(part.classes.items())[:10])
        table.add_row(
            part.split, f"{part.documents:,}", f"{part.sentences:.1f}", f"{part.words:.1f}", f"{part.empty:,}",
            f"{len(part.classes)}: {listed}" + ", …" * (len(part.classes) > 10),
        )  # fmt: skip
    show(table, f"\n{len(corpus.encoded.lexicon):,} different words; fingerprint {corpus.fingerprint[:16]}")


def _list_formats(as_json: bool) -> None:
    from treetext.data import corpus_formats, treebank_formats

    formats = {name: cls.about for name, cls in corpus_formats().items()}
    treebanks = {name: each.about for name, each in treebank_formats().items()}
    if as_json:
        show_json({**formats, "treebanks": treebanks})
        return
    table = new_table("format", "what it expects")
    for name, expects in formats.items():
        table.add_row(name, expects)
    trees = new_table("treebank", "what it expects")
    for name, expects in treebanks.items():
        trees.add_row(name, expects)
    show(table, "\nFormats of treebanks, for treetext agree:\n", trees)


def _corpus(name: str | None, data: str | None, settings: list[str] | None, bars: Bars) -> "Corpus":
    """The corpus of a format, of a recipe or of a model. Without a name, the ending of the file says the format."""
    from treetext.data import BadInput, corpus_formats, open_corpus, table_format
    from treetext.training import load_reader, needs_data, parse_overrides

    if name is None and data is not None:
        name = table_format(data)
    if name in corpus_formats():
        overrides = {**({} if data is None else {"data.path": data}), **parse_overrides(settings or [])}
        if needs_data({"data": {"format": name}}, overrides):
            raise BadInput(f"{name}: data.path: missing; expected the data by --data")
        return open_corpus(load_reader(name, overrides), bars.more)
    if (Path(str(name)) / "config.json").is_file():
        from treetext.models import load_model

        model = load_model(str(name))
        recipe = load_data(model, data, settings, Split.TEST, "--data")
        return open_data(model, recipe, Split.TEST.value, bars)[0]
    recipe = load(name, data, settings)
    return open_corpus(recipe.data, bars.more)


def _write_split(corpus: "Corpus", out: Path) -> None:
    """Write a row for each text, in the order of the texts: its number, its split, its label and where it is from."""
    split_of = {row: split for split, rows in corpus.rows.items() for row in rows.tolist()}
    with written(out) as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(["text", "split", "label", "where"])
        for row, split in sorted(split_of.items()):
            table.writerow([row + 1, split, corpus.encoded.label(row), corpus.encoded.where(row)])
