"""Trees and tables in the terminal."""

from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import Literal

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable

from treetext.models import Evidence, Parsed, Weights
from treetext.show.tables import Cell, Table
from treetext.show.text import printable, shortened
from treetext.trees import ROOT, Tree

UNLIMITED = 10_000  # columns, where no terminal sets a width
LEAST = 16  # columns for a label; a drawing with less room is drawn narrower
BOLD, DIM, COLOUR, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[0m"


def draw(
    tree: Tree,
    labels: Sequence[str],
    width: int | None = None,
    shares: Sequence[float] | None = None,
    color: bool = False,
) -> str:
    """A tree in box characters: one node a line, each below its parent.

    Within `width` columns, long labels end in … and deep trees are drawn narrower (default: no limit). `shares`, such
    as those of `head_shares`, follow the labels.

    >>> print(draw(Tree.from_heads([1, -1, 1, 2]), ["Trees", "grow", "slowly", "here"], shares=[0.9, 1.0, 0.75, 0.5]))
    grow (1.00)
    ├── Trees (0.90)
    └── slowly (0.75)
        └── here (0.50)
    """
    if len(labels) != len(tree):
        raise ValueError(f"labels: expected {len(tree)}, one for each node, got {len(labels)}")
    if shares is not None and len(shares) != len(tree):
        raise ValueError(f"shares: expected {len(tree)}, one for each node, got {len(shares)}")
    if width is not None and width < 1:
        raise ValueError(f"width: expected 1 column or more, got {width}")
    bend, corner, line, gap = "├── ", "└── ", "│   ", "    "
    if width is not None and 4 * (tree.height - 1) + LEAST > width:
        bend, corner, line, gap = "├ ", "└ ", "│ ", "  "
    lines: list[str] = []
    waiting = [(root, "", "") for root in reversed(tree.roots)]  # node, prefix of its line, prefix of its children
    while waiting:
        node, before, below = waiting.pop()
        share = "" if shares is None else f"({shares[node]:.2f})"
        lines.append(_line(before, printable(labels[node]), share, width, color, tree.heads[node] == ROOT))
        for child in reversed(tree.children[node]):
            last = child == tree.children[node][-1]
            waiting.append((child, below + (corner if last else bend), below + (gap if last else line)))
    return "\n".join(lines)


def draw_parsed(parsed: Parsed, width: int | None = None, color: bool = False) -> str:
    """The label, its n-grams, the tree over sentences and the trees over words, with the marginals of their arcs."""
    lead = f"{printable(parsed.label)} ({parsed.probability:.3f})"
    blocks = ["\n".join([f"{BOLD}{lead}{PLAIN}" if color else lead, *_evidence(parsed)])]
    texts = [printable(" ".join(sentence.words)) for sentence in parsed.sentences]
    if parsed.tree is not None and len(texts) > 1:
        numbered = [f"{i}. {text}" for i, text in enumerate(texts, start=1)]
        blocks.append(draw(parsed.tree, numbered, width, head_shares(parsed.tree, parsed.weights), color))
    for number, (text, sentence) in enumerate(zip(texts, parsed.sentences, strict=True), start=1):
        lines = [f"{number}. {text}"]
        if sentence.tree is not None:
            shares = head_shares(sentence.tree, sentence.weights)
            lines.append(draw(sentence.tree, sentence.words, width, shares, color))
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def draw_tables(tables: Iterable[Table], width: int | None = None, color: bool = False) -> str:
    """Each table with its title and its note.

    A table wider than `width` is drawn in parts below each other, each with the first column (default: no limit).
    """
    console = Console(
        file=StringIO(),
        force_terminal=color,
        width=width or UNLIMITED,
        height=25,  # with both width and height, rich asks no terminal
        highlight=False,
        markup=False,
    )
    lines: list[str] = []
    for table in tables:
        parts = [line for part in _parts(table, width) for line in ("", part)]
        with console.capture() as printed:
            console.print(f"\n{table.title}", *parts, f"\n{table.note}", sep="\n")
        lines += (line.rstrip() for line in printed.get().splitlines())
    return "\n".join(lines)


def head_shares(tree: Tree, weights: Weights | None) -> list[float] | None:
    """For each node, the marginal of the arc from its head or, for a root, of being the root."""
    if weights is None:
        return None
    return [
        float(weights.roots[node] if head == ROOT else weights.arcs[head, node]) for node, head in enumerate(tree.heads)
    ]


def _evidence(parsed: Parsed) -> Iterator[str]:
    """The n-grams for the label and those against it, each with its weight."""
    for way, sign in (("for", 1), ("against", -1)):
        some = [each for each in parsed.evidence if sign * each.weight > 0]
        if some:
            yield f"n-grams {way} {printable(parsed.label)}: {', '.join(map(_ngram, some))}"


def _ngram(each: Evidence) -> str:
    kind = "" if each.kind == "words" else f" ({each.kind})"
    return printable(f'"{each.ngram}"{kind} {each.weight:+.2f}')


def _parts(table: Table, width: int | None) -> Iterator[RichTable]:
    """The table or, if it is wider than `width`, groups of its columns."""
    cells = [[_text(name) for name in table.columns], *([_text(value) for value in row] for row in table.rows)]
    # Only headers may go on in the next line.
    widths = [max(map(cell_len, [*header.split(), *column])) for header, *column in zip(*cells, strict=True)]
    parts, used = [[0]], widths[0]
    for column, columns in enumerate(widths[1:], start=1):
        if width is not None and used + 2 + columns > width and len(parts[-1]) > 1:
            parts.append([0])
            used = widths[0]
        parts[-1].append(column)
        used += 2 + columns
    for part in parts:
        drawn = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for column in part:
            justify: Literal["left", "right"] = "right" if column else "left"
            drawn.add_column(cells[0][column], justify=justify, width=None if width is None else widths[column])
        for row in cells[1:]:
            drawn.add_row(*(row[column] for column in part))
        yield drawn


def _text(value: Cell) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else printable(str(value))


def _line(before: str, label: str, share: str, width: int | None, color: bool, root: bool) -> str:
    if width is not None:
        room = width - (len(share) + 1 if share else 0)
        most = max(0, room - min(LEAST, max(1, room // 2)))
        if len(before) > most:  # too deep to show all ancestors
            before = f"…{before[len(before) - most + 1 :]}" if most else ""
        label = shortened(label, max(1, room - len(before)))
    if color:
        before = f"{DIM}{before}{PLAIN}" if before else ""
        label = f"{BOLD}{label}{PLAIN}" if root else label
        share = f"{COLOUR}{share}{PLAIN}" if share else ""
    return f"{before}{label} {share}" if share else f"{before}{label}"
