"""`treetext recipes` and `treetext data`."""

from typing import Annotated

import typer

from treetext.cli.common import DataOption, JsonOption, SetOption, load, note, progress, show, show_json
from treetext.cli.common import table as new_table


def recipes(
    name: Annotated[str | None, typer.Argument(help="The recipe to print: its name, or a TOML file.")] = None,
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the recipes, or print one of them.

    A recipe is printed as TOML, with all its settings.
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
    name: Annotated[str | None, typer.Argument(help="A recipe or a format.", metavar="[RECIPE or FORMAT]")] = None,
    data: DataOption = None,
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the formats, or describe a corpus.

    The description has the numbers of texts, sentences, words and classes, as in the paper.
    """
    from treetext.data import BadInput, corpus_formats, describe, open_corpus, treebank_formats
    from treetext.training import load_reader, needs_data, parse_overrides

    if name is None:
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
        return
    if name in corpus_formats():
        overrides = {**({} if data is None else {"data.path": data}), **parse_overrides(settings or [])}
        if needs_data({"data": {"format": name}}, overrides):
            raise BadInput(f"{name}: data.path: missing; expected the data by --data")
        source = load_reader(name, overrides)
    else:
        source = load(name, data, settings).data
    with progress() as bars:
        corpus = open_corpus(source, bars.more)
    counts = describe(corpus.encoded, corpus.rows)
    if as_json:
        splits = [part._asdict() for part in counts]
        words = len(corpus.encoded.lexicon)
        show_json(
            {
                "data": corpus.name,
                "fingerprint": corpus.fingerprint,
                "vocabulary": words,
                "splits": splits,
                "notes": corpus.notes,
            }
        )
        return
    for line in corpus.notes:
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
