"""`treetext trees`: distributions over the trees of scored sentences."""

import json
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NoReturn

import typer

from treetext.cli.common import refuse


def trees(
    file: Annotated[Path, typer.Argument(help="A JSON or JSON Lines file; - for standard input.")] = Path("-"),
    projective: Annotated[
        bool, typer.Option("--projective", help="Only projective trees: without crossing arcs.")
    ] = False,
    multi_root: Annotated[bool, typer.Option("--multi-root", help="Allow several roots.")] = False,
    top: Annotated[int, typer.Option(min=1, metavar="K", help="How many of the best trees to show.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each sentence.")] = False,
) -> None:
    """Show the best trees, the marginals and the entropy of scored sentences.

    A sentence is an object {"arcs": [[...]], "roots": [...], "words": [...]}. arcs[i][j] is the score of word
    i as the parent of word j, roots[i] the score of word i as the root; -Infinity forbids an arc or a root. "words" is
    optional.
    """
    for where, sentence in _read(file):
        try:
            result = _result(sentence, projective, multi_root, top)
        except ValueError as error:
            _refuse(where, error)
        if as_json:
            print(json.dumps(result))
        else:
            _show(result)


class _Sentence(NamedTuple):
    words: list[str]
    arcs: list[list[float]]
    roots: list[float]


def _result(sentence: _Sentence, projective: bool, multi_root: bool, top: int) -> dict[str, Any]:
    """The object that `--json` prints."""
    import torch

    from treetext.trees import PAD, NonProjectiveTrees, ProjectiveTrees, Tree

    kind = ProjectiveTrees if projective else NonProjectiveTrees
    arcs, roots = (torch.tensor(scores, dtype=torch.float64) for scores in (sentence.arcs, sentence.roots))
    distribution = kind(arcs, roots, single_root=not multi_root)
    best = distribution.top(top)
    ranked = [
        (Tree.from_heads(heads, single_root=False), log_prob)
        for heads, log_prob in zip(best.heads.tolist(), best.log_probs.tolist(), strict=True)
        if PAD not in heads
    ]
    marginals = distribution.marginals
    return {
        "words": sentence.words,
        "log_partition": distribution.log_partition.item(),
        "entropy": distribution.entropy.item(),
        "trees": [
            {"heads": tree.heads, "log_prob": log_prob, "height": tree.height, "projective": tree.projective}
            for tree, log_prob in ranked
        ],
        "marginals": {"arcs": marginals.arcs.tolist(), "roots": marginals.roots.tolist()},
    }


def _show(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from treetext.show import draw
    from treetext.trees import Tree

    labels, arcs, roots = _labels(result["words"]), result["marginals"]["arcs"], result["marginals"]["roots"]
    console = Console(highlight=False)
    width = console.width if console.is_terminal else None
    console.print(Text(" ".join(labels), style="bold"))
    for rank, tree in enumerate(result["trees"], start=1):
        p, shape = math.exp(tree["log_prob"]), "projective" if tree["projective"] else "non-projective"
        console.print(f"\nTree {rank}: probability {p:.4f}, height {tree['height']}, {shape}")
        marginals = [roots[j] if head < 0 else arcs[head][j] for j, head in enumerate(tree["heads"])]
        drawn = draw(Tree.from_heads(tree["heads"], single_root=False), labels, width, marginals)
        console.print(Text(drawn), soft_wrap=True)

    table = Table("word", "root", "likeliest parents", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for j, label in enumerate(labels):
        parents = sorted(((row[j], i) for i, row in enumerate(arcs) if row[j] >= 0.005), reverse=True)[:4]
        listed = ", ".join(f"{labels[i]} {p:.2f}" for p, i in parents)
        table.add_row(Text(label), f"{roots[j]:.2f}", Text(listed))
    console.print(f"\nMarginals, over all trees (entropy {result['entropy']:.3f} nats)")
    console.print(table, "")


def _labels(words: list[str]) -> list[str]:
    """The words without control characters, numbered if repeated."""
    printable = ["".join(c if c.isprintable() else repr(c)[1:-1] for c in word) for word in words]
    return [f"{word}[{i}]" if printable.count(word) > 1 else word for i, word in enumerate(printable)]


def _read(file: Path) -> Iterator[tuple[str, _Sentence]]:
    """Each sentence of a file of JSON objects, with the line where it starts; an object may take several lines."""
    name = "standard input" if file == Path("-") else str(file)
    if file == Path("-") and sys.stdin.isatty():
        print("Reading from the keyboard; give a file or end with Ctrl-D.", file=sys.stderr)
    try:
        text = (sys.stdin.buffer.read() if file == Path("-") else file.read_bytes()).decode("utf-8-sig")
    except OSError as error:
        _refuse(name, f"{error.strerror}; expected a file of JSON objects, or - for standard input")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        _refuse(f"{name}, line {line}", "not UTF-8; expected JSON in UTF-8")
    decode = json.JSONDecoder(parse_int=float).raw_decode  # floats: an integer can be too large
    line, end, start = 1, 0, _next(text, 0)
    if start == len(text):
        _refuse(name, 'empty; expected objects like {"arcs": [[0, 1], [2, 0]], "roots": [1, 0]}')
    while start < len(text):
        line += text.count("\n", end, start)
        where = f"{name}, line {line}"
        try:
            value, end = decode(text, start)
            sentence = _sentence(value)
        except json.JSONDecodeError as error:
            _refuse(f"{name}, line {error.lineno}", f"not JSON: {error.msg} at column {error.colno}")
        except (ValueError, RecursionError) as error:
            _refuse(where, error)
        yield where, sentence
        line, start = line + text.count("\n", start, end), _next(text, end)


def _next(text: str, end: int) -> int:
    """The index of the next character that is not white space. A regular expression does not copy the text."""
    match = re.compile(r"\S").search(text, end)
    return match.start() if match else len(text)


def _sentence(value: Any) -> _Sentence:
    if not isinstance(value, dict):
        raise ValueError(f"expected an object with arcs and roots, got {_shown(value)}")
    for field in ("arcs", "roots"):
        if field not in value:
            raise ValueError(f"{field}: missing; expected an object with arcs and roots")
    arcs, roots = value["arcs"], value["roots"]
    if not isinstance(arcs, list) or not arcs:
        raise ValueError(f"arcs: expected a list of rows of scores, one for each word, got {_shown(arcs)}")
    n = len(arcs)
    for i, row in enumerate(arcs):
        _check_scores(f"arcs[{i}]", row, n)
    _check_scores("roots", roots, n)
    words = value.get("words", [str(i) for i in range(n)])
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError(f"words: expected a list of strings, got {_shown(words)}")
    if len(words) != n:
        raise ValueError(f"words: expected {n}, as many as arcs has rows, got {len(words)}")
    return _Sentence(words, arcs, roots)


def _check_scores(field: str, scores: Any, n: int) -> None:
    if not isinstance(scores, list):
        raise ValueError(f"{field}: expected a list of {n} scores, got {_shown(scores)}")
    if len(scores) != n:
        raise ValueError(f"{field}: expected {n} scores, as many as arcs has rows, got {len(scores)}")
    for j, score in enumerate(scores):
        if not isinstance(score, float) or not score < math.inf:
            raise ValueError(f"{field}[{j}]: expected a number, or -Infinity to forbid, got {_shown(score)}")


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def _refuse(where: str, problem: object) -> NoReturn:
    refuse(f"{where}: {problem}")
