"""Draws the figures of the documentation as SVG into ``docs/figures``: ``python docs/figures.py``."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from html import escape
from pathlib import Path

import torch

from treetext.trees import NonProjectiveTrees, Tree

FIGURES = Path(__file__).parent / "figures"
BLACK, GREY, TEAL, RED = "#222", "#888", "#00796b", "#c62828"
ARCS = [[0.0, 1.0, 0.0], [2.0, 0.0, 3.0], [0.0, 1.0, 0.0]]
"""The example of the mathematics page: at [i][j], the score of i as the parent of j."""
ROOTS = [0.0, 2.0, 0.0]


def main() -> None:
    """Draw all figures."""
    FIGURES.mkdir(exist_ok=True)
    for name, draw in DRAWINGS.items():
        (FIGURES / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")


class Drawing:
    """An SVG in the making."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width, self.height, self.title, self.parts = width, height, title, list[str]()

    def text(self, x: float, y: float, words: str, *, size: float = 14, anchor: str = "middle", **style: str) -> None:
        """A line of text; text between asterisks is italic."""
        runs = "".join(
            f'<tspan font-style="italic">{escape(run)}</tspan>' if i % 2 else escape(run)
            for i, run in enumerate(words.split("*"))
        )
        more = "".join(f' {key}="{value}"' for key, value in {"fill": BLACK, **style}.items())
        self.parts.append(f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}"{more}>{runs}</text>')

    def path(self, d: str, *, arrow: bool = False, color: str = BLACK, width: float = 1.3, more: str = "") -> None:
        """A line, with a head at its end if it is an arrow."""
        head = f' marker-end="url(#{color[1:]})"' if arrow else ""
        self.parts.append(f'<path d="{d}" fill="none" stroke="{color}" stroke-width="{width:g}"{head}{more}/>')

    def box(self, x: float, y: float, w: float, h: float, fill: str, stroke: str = "none", corner: float = 0) -> None:
        """A rectangle."""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="{corner:g}" fill="{fill}" stroke="{stroke}"/>'
        )

    def dot(self, x: float, y: float, r: float, fill: str, stroke: str = "none") -> None:
        """A circle."""
        self.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="{r:g}" fill="{fill}" stroke="{stroke}"/>')

    def svg(self) -> str:
        """All of it."""
        heads = "".join(
            f'<marker id="{color[1:]}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
            f' orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{color}"/></marker>'
            for color in (BLACK, GREY, TEAL, RED)
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}"'
            f' width="{self.width:g}" height="{self.height:g}" font-family="sans-serif" role="img">\n'
            f"<title>{escape(self.title)}</title>\n<defs>{heads}</defs>\n" + "\n".join(self.parts) + "\n</svg>\n"
        )


def all_trees(n: int) -> Iterator[tuple[int, ...]]:
    """The heads of every tree over n nodes with a single root."""
    for heads in itertools.product(range(-1, n), repeat=n):
        try:
            yield Tree.from_heads(heads).heads
        except ValueError:
            continue


def draw_tree(drawing: Drawing, heads: Sequence[int], names: Sequence[str], x: float, y: float, step: float) -> None:
    """Arcs from heads to dependents over names whose base line is y; a short arrow from above marks the root."""
    for node, (head, name) in enumerate(zip(heads, names, strict=True)):
        right = x + node * step
        drawing.text(right, y, name)
        if head < 0:
            drawing.path(f"M{right:g},{y - 58:g} V{y - 16:g}", arrow=True, color=TEAL, width=1.8)
            continue
        side = 5 if head < node else -5
        start, end, height = x + head * step + side, right - side, 11 + 13 * abs(head - node)
        drawing.path(
            f"M{start:g},{y - 16:g} C{start:g},{y - 16 - height:g} {end:g},{y - 16 - height:g} {end:g},{y - 16:g}",
            arrow=True,
        )


def nine_trees() -> Drawing:
    """All trees over three words, each with its score and its probability."""
    drawing = Drawing(620, 330, "The nine trees over three words, the most probable first")
    scores = {
        heads: sum(ROOTS[j] if head < 0 else ARCS[head][j] for j, head in enumerate(heads)) for heads in all_trees(3)
    }
    total = sum(map(math.exp, scores.values()))
    for i, (heads, score) in enumerate(sorted(scores.items(), key=lambda item: (-item[1], item[0]))):
        x, y = 60 + 205 * (i % 3), 75 + 105 * (i // 3)
        draw_tree(drawing, heads, "123", x, y, 45)
        drawing.text(x + 45, y + 22, f"score {score:g}: {math.exp(score) / total:.3f}", size=13, fill=GREY)
    return drawing


def marginals() -> Drawing:
    """Weights of arcs beside marginals, as matrices."""
    drawing = Drawing(620, 250, "Weights, and the marginals that follow from them; the columns of the latter sum to 1")
    found = NonProjectiveTrees(torch.tensor(ARCS).double(), torch.tensor(ROOTS).double()).marginals
    weights = [[math.exp(x) for x in ROOTS]] + [[math.exp(x) for x in row] for row in ARCS]
    shares = [found.roots.tolist(), *found.arcs.tolist()]
    for x, title, table, shade in (
        (80, "weights", weights, lambda value: value / math.exp(3)),
        (390, "marginals", shares, lambda value: value),
    ):
        drawing.text(x + 90, 20, title, size=15)
        for j in range(3):
            drawing.text(x + 30 + 60 * j, 45, f"{j + 1}", fill=GREY)
        for i, row in enumerate(table):
            drawing.text(x - 12, 75 + 45 * i, "root" if i == 0 else f"{i}", anchor="end", fill=GREY)
            for j, value in enumerate(row):
                empty = i == j + 1
                light = 255 - (0 if empty else round(150 * shade(value)))
                drawing.box(
                    x + 60 * j, 52 + 45 * i, 58, 42, f"rgb({light},{(light + 255) // 2},{(light + 255) // 2})", "#ccc"
                )
                drawing.text(x + 30 + 60 * j, 78 + 45 * i, "–" if empty else f"{value:.2f}")
    drawing.text(310, 148, "→", size=26, fill=GREY)
    return drawing


def attraction() -> Drawing:
    """P(2 is the parent of 3), by the inverse in float64 and by treetext, as 2 and 3 attract each other."""
    drawing = Drawing(620, 300, "The probability of an arc, as two words attract each other more and more")
    left, right, top, bottom, most = 70, 590, 30, 240, 80

    def place(power: float, p: float) -> tuple[float, float]:
        return left + (right - left) * power / most, bottom - (bottom - top) * min(p, 1.2) / 1.2

    for p in (0.0, 0.5, 1.0):
        _, y = place(0, p)
        drawing.path(f"M{left},{y:g} H{right}", color="#ccc" if p else BLACK, width=1)
        drawing.text(left - 10, y + 5, f"{p:g}", anchor="end", size=12, fill=GREY)
    for power in range(0, most + 1, 20):
        x, _ = place(power, 0)
        drawing.text(x, bottom + 20, f"{power}", size=12, fill=GREY)
    drawing.text(330, bottom + 45, "*k*, where 2 → 3 and 3 → 2 both have the weight 2 to the power of *k*", size=13)
    powers = range(0, most + 1, 2)
    exact = [place(power, float(_exact(attracting(power)))) for power in powers]
    drawing.path("M" + " L".join(f"{x:.1f},{y:.1f}" for x, y in exact), color=GREY, width=4, more=' opacity="0.5"')
    for power in powers:
        weights, roots = attracting(power)
        x, y = place(power, _inverse(weights, roots))
        drawing.path(f"M{x - 4:.1f},{y - 4:.1f} l8,8 m0,-8 l-8,8", color=RED, width=1.8)
        scores = torch.tensor(weights, dtype=torch.float64).log(), torch.tensor(roots, dtype=torch.float64).log()
        drawing.dot(x, place(power, NonProjectiveTrees(*scores).marginals.arcs[1, 2].item())[1], 2.6, TEAL)
    drawing.path("M130,205 h22", color=GREY, width=4, more=' opacity="0.5"')
    drawing.text(158, 210, "in fractions", anchor="start", size=13)
    drawing.dot(258, 205, 3, TEAL)
    drawing.text(268, 210, "treetext", anchor="start", size=13)
    drawing.path("M338,201 l8,8 m0,-8 l-8,8", color=RED, width=1.8)
    drawing.text(352, 210, "the inverse in float64 (top: singular)", anchor="start", size=13)
    return drawing


def attracting(power: int) -> tuple[list[list[float]], list[float]]:
    """Weights of arcs and roots, exact in floats, where the second and the third word attract each other."""
    strong = 2.0**power
    return [[0, 1.9, 1.3, 0.7], [0.6, 0, strong, 1.1], [1.7, strong, 0, 0.8], [1.2, 0.9, 2.3, 0]], [1.6, 0.9, 1.4, 0.7]


def _exact(problem: tuple[list[list[float]], list[float]]) -> Fraction:
    weights, roots = problem
    with_arc, total = Fraction(0), Fraction(0)
    for heads in all_trees(len(roots)):
        weight = Fraction(1)
        for j, head in enumerate(heads):
            weight *= Fraction(roots[j] if head < 0 else weights[head][j])
        total += weight
        with_arc += weight if heads[2] == 1 else 0
    return with_arc / total


def _inverse(weights: list[list[float]], roots: list[float]) -> float:
    """The paper's formula for the arc from node 1 to node 2, by Gauss-Jordan elimination with pivoting, in float64."""
    n = len(roots)
    matrix = [[-weights[i][j] if i != j else sum(weights[k][j] for k in range(n)) for j in range(n)] for i in range(n)]
    matrix[0] = list(roots)
    rows = [[*map(float, row), *(float(i == j) for j in range(n))] for i, row in enumerate(matrix)]
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        if rows[k][k] == 0:
            return math.inf
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(n):
            if i != k:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    return weights[1][2] * rows[2][n + 2] - weights[1][2] * rows[2][n + 1]


def elimination() -> Drawing:
    """A node before and after its elimination."""
    drawing = Drawing(620, 210, "To eliminate a node, put the ways through it in its place")

    def node(x: float, y: float, name: str) -> None:
        drawing.dot(x, y, 17, "white", BLACK)
        drawing.text(x, y + 5, f"*{name}*", size=16)

    node(60, 160, "j"), node(250, 160, "i"), node(155, 50, "k")
    drawing.path("M71,146 L142,65", arrow=True)
    drawing.path("M168,63 L238,145", arrow=True)
    drawing.path("M77,160 H231", arrow=True)
    drawing.text(92, 98, "*W*[*k*, *j*]", anchor="end")
    drawing.text(218, 98, "*W*[*i*, *k*]", anchor="start")
    drawing.text(155, 182, "*W*[*i*, *j*]")
    drawing.text(310, 110, "→", size=26, fill=GREY)
    node(365, 160, "j"), node(585, 160, "i")
    drawing.path("M382,160 H566", arrow=True)
    drawing.text(475, 145, "*W*[*i*, *j*] + *W*[*i*, *k*] *W*[*k*, *j*] / *p*")
    drawing.text(475, 60, "*p* = sum of *W*[*i*, *k*] over all *i* that are left", size=13, fill=GREY)
    return drawing


def layer() -> Drawing:
    """From the words of a sentence to a vector; and the same once more, from sentences to the document."""
    drawing = Drawing(640, 330, "One level of the model")
    steps: list[tuple[float, float, float, str, str]] = [
        (20, 140, 90, "vectors", "*u*"),
        (140, 140, 90, "encoder", "*h*"),
        (270, 70, 110, "semantic part", "*e*"),
        (270, 210, 110, "structure part", "*d*"),
        (415, 210, 90, "scores", "*f*, *f* ʳ"),
        (535, 210, 90, "marginals", "*a*, *a* ʳ"),
        (415, 70, 90, "attention", "*r*"),
        (535, 70, 90, "pooling", "*v*"),
    ]
    for x, y, width, name, symbol in steps:
        drawing.box(x, y, width, 56, "#e0f2f1" if y == 210 else "#f5f5f5", GREY, 6)
        drawing.text(x + width / 2, y + 23, name)
        drawing.text(x + width / 2, y + 44, symbol, fill=GREY)
    for arrow in (
        "M110,168 H137", "M230,158 C250,150 250,100 267,98", "M230,178 C250,186 250,236 267,238", "M380,98 H412",
        "M380,238 H412", "M505,238 H532", "M580,210 C580,165 460,175 460,129", "M505,98 H532",
    ):  # fmt: skip
        drawing.path(arrow, arrow=True)
    drawing.path("M580,68 C580,15 65,15 65,137", arrow=True, color=GREY, more=' stroke-dasharray="5 4"')
    drawing.text(330, 22, "the vectors of the sentences go through a second level like this one", size=13, fill=GREY)
    drawing.text(330, 305, "*e* says what a word means, *d* only where it stands in the tree", size=13, fill=GREY)
    return drawing


def references() -> Drawing:
    """Trees that know nothing of the text."""
    drawing = Drawing(640, 330, "Reference trees over six nodes, which know nothing of the text")
    trees: list[tuple[str, tuple[int, ...]]] = [
        ("right chain", (-1, 0, 1, 2, 3, 4)),
        ("left chain", (1, 2, 3, 4, 5, -1)),
        ("star from the first node", (-1, 0, 0, 0, 0, 0)),
        ("one of the 7,776 trees, at random", (3, 5, 0, -1, 0, 3)),
    ]
    for i, (name, heads) in enumerate(trees):
        tree, x, y = Tree.from_heads(heads), 50 + 325 * (i % 2), 95 + 165 * (i // 2)
        draw_tree(drawing, heads, "123456", x, y, 42)
        drawing.text(x + 105, y + 24, name)
        kind = "projective" if tree.projective else "not projective"
        facts = f"height {tree.height}, leaves {len(tree.leaves)} of 6, {kind}"
        drawing.text(x + 105, y + 43, facts, size=13, fill=GREY)
    return drawing


DRAWINGS: dict[str, Callable[[], Drawing]] = {
    "nine-trees": nine_trees,
    "marginals": marginals,
    "attraction": attraction,
    "elimination": elimination,
    "layer": layer,
    "references": references,
}

if __name__ == "__main__":
    main()
