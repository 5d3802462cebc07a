"""`treetext agree`."""

import json
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from treetext.cli._analyse import _cell
from treetext.cli._common import JsonOption, note, progress, show, show_json
from treetext.cli._common import table as new_table
from treetext.cli._texts import Model, _opened
from treetext.cli._train import Split


class Format(StrEnum):
    """What a treebank is."""

    CONLLU = "conllu"
    SNLI = "snli"
    GUM = "gum"


def agree(
    model: Model,
    treebank: Annotated[str, typer.Argument(help="A file, a directory or an archive with trees to compare with.")],
    kind: Annotated[
        Format | None, typer.Option("--format", help="What TREEBANK is; unless told, what its files seem to be.")
    ] = None,
    split: Annotated[Split, typer.Option(help="Of a directory of train, dev and test files.")] = Split.TEST,
    punctuation: Annotated[
        bool, typer.Option("--punctuation/--no-punctuation", help="Whether heads of punctuation count.")
    ] = True,
    untrained: Annotated[
        bool, typer.Option("--untrained/--no-untrained", help="Compare with the same model before training.")
    ] = True,
    as_json: JsonOption = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write each tree beside its reference: a line of JSON.")
    ] = None,
) -> None:
    """Compare a model's trees with those of a treebank.

    conllu: trees of words, as of Universal Dependencies. snli: the parses in the files of SNLI, by head rules. gum:
    trees of words and, from discourse relations, of sentences. The words are those of the treebank.
    """
    from treetext.analysis import agreement, read_treebank, untrained_model
    from treetext.models import load_model

    loaded = load_model(model)
    found = read_treebank(treebank, kind.value if kind else None, split)
    others = {"untrained": untrained_model(loaded)} if untrained else {}
    with progress() as bars, _opened(out) if out else nullcontext() as stream:
        result = agreement(
            loaded, found, punctuation=punctuation, others=others, progress=lambda done: bars.more("texts", done)
        )
        if stream:
            stream.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in result.records())
    if as_json:
        show_json({"model": model, **result.to_dict()})
        return
    for line in result.notes:
        note(line)
    for title, columns, rows, remark in result.tables():
        table = new_table(*columns, numbers=columns[1:])
        for row in rows:
            table.add_row(*map(_cell, row))
        show(f"\n{title}\n", table, f"\n{remark}")
