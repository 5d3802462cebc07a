"""`treetext recipes` and `treetext data`."""

from typing import TYPE_CHECKING, Annotated

import typer

from treetext.cli._common import DataOption, JsonOption, SetOption, load, note, progress, show, show_json
from treetext.cli._common import table as new_table

if TYPE_CHECKING:
    from treetext.training import Recipe

FORMATS = {
    "csv": "a file with a header, or a directory of train, dev and test files; columns text and label unless told",
    "tsv": "the same, with tabs between the columns",
    "jsonl": "a JSON object a line, with the fields text and label unless told; or a directory of such files",
    "parquet": "a Parquet file with the columns text and label unless told; or a directory of such files",
    "hub": "the name of a data set on the Hugging Face hub; downloads it",
    "hidden-trees": "no files: documents in an artificial language whose trees are known are generated",
    "convote": "Debates: the directory or archive of convote v1.1, as published",
    "snli": "the directory of snli_1.0_train.jsonl, _dev and _test; or one such file",
    "ss": "Yelp or IMDB of Tang et al. (2015): a file, or a directory of train, dev and test files, *.ss",
    "aclimdb": "the directory or archive aclImdb, with train/pos, train/neg, test/pos and test/neg",
    "csfd": "Czech film reviews: a directory or archive of positive, negative and neutral.txt, or of 0.txt to 5.txt",
    "split": "label<split1>sentence<split2>sentence, a document a line; a file, or a directory of such files",
}
"""What each format expects, in a line."""


def recipes(
    name: Annotated[str | None, typer.Argument(help="A recipe to print whole, by its name or as a TOML file.")] = None,
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the recipes, or print one of them.

    One recipe is printed whole, as TOML.
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
    found = [load_template(name, overrides) for name in recipe_names()]
    if as_json:
        show_json([{"name": r.name, "about": r.about, "format": r.data.format} for r in found])
        return
    table = new_table("recipe", "what")
    for recipe in found:
        table.add_row(recipe.name, recipe.about)
    show(table)


def data(
    name: Annotated[str | None, typer.Argument(help="A recipe or a format.", metavar="[RECIPE or FORMAT]")] = None,
    data: DataOption = None,
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the formats, or describe a corpus.

    Counts its texts, sentences, words and classes, as the paper does.
    """
    if name is None:
        if as_json:
            show_json(FORMATS)
            return
        table = new_table("format", "what it expects")
        for name, expects in FORMATS.items():
            table.add_row(name, expects)
        show(table)
        return
    from treetext.corpora import describe
    from treetext.training import open_corpus

    found = _of_format(name, data, settings) if name in FORMATS else load(name, data, settings)
    with progress() as bars:
        corpus = open_corpus(found.data, bars.more)
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


def _of_format(name: str, data: str | None, settings: list[str] | None) -> "Recipe":
    """A recipe that reads this format."""
    if name == "hidden-trees":
        return load("hidden-trees/both", data, settings)
    if name == "snli":  # pairs by itself, without columns
        return load("pairs/none", data, settings, {"data.format": "snli", "data.text": "text", "data.second": None})
    pairs = any(setting.startswith("data.second=") for setting in settings or [])
    return load("pairs/nonprojective" if pairs else "documents/both", data, [f"data.format={name}", *(settings or [])])
