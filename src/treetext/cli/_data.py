"""`treetext recipes` and `treetext data`."""

import json
from typing import TYPE_CHECKING, Annotated, Any

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

    The list has the scores of the paper; one recipe is printed whole, as TOML.
    """
    from treetext.training import recipe_names

    if name is not None:
        values = _values(_resolved(name, settings))
        if as_json:
            show_json(values)
        else:
            print("\n".join(_toml(values)))
        return
    found = [_resolved(name, settings) for name in recipe_names()]
    if as_json:
        show_json([{"name": r.name, "about": r.about, "paper": r.paper, "format": r.data.format} for r in found])
        return
    table = new_table("recipe", "the paper's score", "what", numbers=["the paper's score"])
    for recipe in found:
        table.add_row(recipe.name, "" if recipe.paper is None else f"{recipe.paper:.1f}", recipe.about)
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
    if name in ("hidden-trees", "snli"):
        return load({"hidden-trees": "hidden-trees/both", "snli": "snli/none"}[name], data, settings)
    pairs = any(setting.startswith("data.second=") for setting in settings or [])
    return load("pairs/nonprojective" if pairs else "documents/both", data, [f"data.format={name}", *(settings or [])])


def _resolved(name: str, settings: list[str] | None) -> "Recipe":
    """A recipe with everything but the place of its data, which only its user knows."""
    from treetext.text import BadInput
    from treetext.training import load_recipe, parse_overrides

    overrides = parse_overrides(settings or [])
    try:
        return load_recipe(name, overrides)
    except BadInput as error:
        try:
            return load_recipe(name, {"data.path": "PATH", **overrides})
        except BadInput:
            raise error from None


def _values(recipe: "Recipe") -> dict[str, Any]:
    """All values of a recipe, but for those that say nothing here."""
    values = recipe.model_dump(mode="json")
    if recipe.data.path == "PATH":
        del values["data"]["path"]
    if recipe.data.format != "hidden-trees":
        del values["data"]["hidden_trees"]
    return values


def _toml(values: dict[str, Any], section: str = "") -> list[str]:
    """Lines of TOML: a section's own values first, then the sections in it. What is None is left out."""
    sections = {key: value for key, value in values.items() if isinstance(value, dict)}
    own = [
        f"{_key(key)} = {_value(value)}" for key, value in values.items() if key not in sections and value is not None
    ]
    lines = ["", f"[{section}]", *own] if section else own
    for key, value in sections.items():
        lines += _toml(value, f"{section}.{_key(key)}" if section else _key(key))
    return lines


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() and key.isascii() else _value(key)


def _value(value: Any) -> str:
    """JSON writes strings, numbers, truth values and lists of them as TOML does, but for one control character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
