"""Trees and marginals as SVG: plain values in, a string out."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any

from rich.cells import cell_len

from treetext.models import Weights
from treetext.show.terminal import head_shares
from treetext.show.text import printable, shortened
from treetext.trees import ROOT, Tree

INK, QUIET, ACCENT, PAPER = "#1b1e25", "#5a6070", "#2456c9", "#ffffff"
FONT = "system-ui, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"
ROW, LETTER = 30, 8.4  # height of a sentence and approximate width of a letter, in pixels
MOST = 320  # pixels for arcs
MOST_ASIDE = 12  # pixels from the end of an arc to the middle of its word
SHADE = 0.55  # opacity of a heat map cell of probability 1: its number stays readable
DISPLACY_LABEL = 'dy="1.25em" style="font-size: 0.8em; letter-spacing: 1px"'
LABEL = 'dy="-0.2em" style="font-size: 0.75em"'  # above the arc: letters would overlap below a short one


def sentence_arcs(words: Sequence[str], tree: Tree, weights: Weights | None = None) -> dict[str, Any]:
    """A sentence as displaCy's plain dictionary of words and arcs; with `weights`, arcs have a "share".

    >>> sentence_arcs(["Trees", "grow"], Tree.from_heads([1, -1]))["arcs"]
    [{'start': 0, 'end': 1, 'label': '', 'dir': 'left'}]
    """
    _check(len(tree), words, weights)
    shares = head_shares(tree, weights)
    arcs: list[dict[str, Any]] = []
    for head, node in tree.arcs:
        arc = {"start": min(head, node), "end": max(head, node), "label": "", "dir": "left" if node < head else "right"}
        arcs.append(arc | ({"label": f"{shares[node]:.2f}", "share": shares[node]} if shares else {}))
    return {
        "words": [{"text": word, "tag": "root" if tree.heads[i] == ROOT else ""} for i, word in enumerate(words)],
        "arcs": arcs,
    }


def sentence_svg(words: Sequence[str], tree: Tree, weights: Weights | None = None) -> str:
    """Arcs over the words of a sentence, drawn by displaCy; with `weights`, less likely arcs are paler."""
    return arcs_svg(sentence_arcs(words, tree, weights))


def arcs_svg(sentence: Mapping[str, Any]) -> str:
    """A drawing of displaCy's plain dictionary {"words": [...], "arcs": [...]}, for example from `sentence_arcs`."""
    from spacy.displacy.render import DependencyRenderer  # slow to import

    class Renderer(DependencyRenderer):
        def get_levels(self, arcs: list[dict[str, Any]]) -> dict[tuple[int, int, str], int]:
            return _levels(arcs)

        def get_arc(self, x_start: Any, y: Any, y_curve: Any, x_end: Any) -> str:
            return str(super().get_arc(min(x_start, x_end), y, y_curve, max(x_start, x_end)))

    texts = [printable(word["text"]) for word in sentence["words"]]
    # displaCy escapes texts, but neither tags nor labels.
    tags = [escape(printable(word.get("tag", ""))) for word in sentence["words"]]
    arcs = [{**arc, "label": escape(printable(arc["label"]))} for arc in sentence["arcs"]]
    words = [{"text": text, "tag": tag} for text, tag in zip(texts, tags, strict=True)]
    highest = max(_levels(arcs).values(), default=1)
    compact, distance = len(words) > 12, _distance(texts)
    # displaCy shortens an arc by a quarter of this for each level.
    spacing = round(min(8.0, MOST_ASIDE * 4 / highest), 2)
    direction = "rtl" if _is_right_to_left(texts) else "ltr"
    looks = {"distance": distance, "arrow_spacing": spacing, "compact": compact,
             "font": FONT, "color": INK, "bg": PAPER}  # fmt: skip
    drawn = Renderer(looks).render([{"words": words, "arcs": arcs, "settings": {"direction": direction}}]).strip()
    # Few browsers support side="right": labels would be upside down. So all lines go to the right.
    drawn = drawn.replace('side="right"', 'side="left"').replace(DISPLACY_LABEL, LABEL)
    # displaCy names its arrows by chance; the same sentence shall give the same file.
    name = hashlib.sha256(repr((words, arcs)).encode()).hexdigest()[:32]
    drawn = re.sub(r"(id=\"|#arrow-|arrow-)[0-9a-f]{32}-0", rf"\g<1>{name}-0", drawn)
    opacities = iter([_opacity(arc.get("share", 1.0)) for arc in arcs])
    drawn = re.sub('<g class="displacy-arrow">', lambda found: f'{found[0][:-1]} opacity="{next(opacities)}">', drawn)
    return _tightened(drawn, round(highest * distance / 3) - 16) if compact else drawn


def document_svg(texts: Sequence[str], tree: Tree, weights: Weights | None = None, width: int = 960) -> str:
    """Sentences below each other, with arcs beside them. Long sentences are cut; a tooltip has the whole text.

    With `weights`, less likely arcs are paler.
    """
    _check(len(tree), texts, weights)
    shares = head_shares(tree, weights) or [1.0] * len(tree)
    levels = arc_levels(tree)
    step = min(18.0, MOST / max(1, *levels.values(), 1))
    left = 56 + step * max(levels.values(), default=0)
    width = max(width, round(left) + 200)
    letters = int((width - left - 50) / LETTER)
    lines = []
    for node, head in enumerate(tree.heads):
        y = ROW * (node + 0.5)
        share = shares[node]
        if head == ROOT:
            line = f'M 40 {y} H {left - 6:.1f}"/><text x="34" y="{y + 4}" text-anchor="end">root</text'
        else:
            line = f'{_bracket(ROW * (head + 0.5), y, left, 8 + step * levels[head, node])}"/'
        told = f"{'root' if head == ROOT else f'{head + 1}'} → {node + 1}: {share:.2f}"
        lines.append(
            f'<g opacity="{_opacity(share)}" fill="{ACCENT}" font-size="12"><title>{told}</title>'
            f'<path fill="none" stroke="{ACCENT}" stroke-width="{1 + 1.4 * share:.2f}" d="{line}>'
            f'<path d="M {left:.1f} {y} l -7 -3.5 v 7 Z"/></g>'
        )
    for node, text in enumerate(map(printable, texts)):
        y = ROW * (node + 0.5) + 5
        lines.append(
            f'<g><title>{escape(text)}</title><text x="{left + 30:.1f}" y="{y}" text-anchor="end" fill="{QUIET}">'
            f'{node + 1}</text><text x="{left + 40:.1f}" y="{y}">{escape(shortened(text, letters))}</text></g>'
        )
    return _svg(width, ROW * len(tree), "Tree over sentences", lines)


def heat_map(weights: Weights, labels: Sequence[str]) -> str:
    """The marginals as a matrix: cell (i, j) is the probability that i is the head of j; the first row is the root."""
    n, cell = len(labels), 26
    _check(n, labels, weights)
    whole = [printable(label) for label in labels]
    names = [shortened(text, 24) for text in whole]
    left = top = round(20 + LETTER * max(map(cell_len, ["root", *names])))
    lines = []
    for i in range(-1, n):
        y = top + cell * (i + 1)
        name, head = ("root", "root") if i == ROOT else (names[i], whole[i])
        lines.append(f'<text x="{left - 8}" y="{y + 17}" text-anchor="end">{escape(name)}</text>')
        row = weights.roots if i == ROOT else weights.arcs[i]
        for j, share in enumerate(row.tolist()):
            told = f"<title>{escape(head)} → {escape(whole[j])}: {share:.3f}</title>"
            number = f"{100 * share:.0f}"
            lines.append(
                f'<g>{told}<rect x="{left + cell * j}" y="{y}" width="{cell - 1}" height="{cell - 1}" fill="{ACCENT}"'
                f' fill-opacity="{SHADE * (0.05 + 0.95 * share):.3f}"/>'
                + (
                    f'<text x="{left + cell * (j + 0.5) - 0.5}" y="{y + 17}" font-size="11" text-anchor="middle">'
                    f"{number}</text>"
                    if number != "0"
                    else ""
                )
                + "</g>"
            )
    for j, name in enumerate(names):
        x = left + cell * (j + 0.5) + 4
        lines.append(f'<text transform="translate({x} {top - 8}) rotate(-90)">{escape(name)}</text>')
    return _svg(left + cell * n + 8, top + cell * (n + 1) + 8, "Marginals: heads in rows, in percent", lines)


def arc_levels(tree: Tree) -> dict[tuple[int, int], int]:
    """The distance of each arc from the nodes, from 1: shorter arcs are nearer, and no two overlap.

    Arcs from one head to one side share a level.
    """
    together: dict[tuple[int, bool], list[int]] = {}
    for head, node in tree.arcs:
        together.setdefault((head, node > head), [head]).append(node)
    used = [0] * len(tree)
    levels: dict[tuple[int, int], int] = {}
    for (head, _), nodes in sorted(together.items(), key=lambda lane: max(lane[1]) - min(lane[1])):
        first, last = min(nodes), max(nodes)
        level = 1 + max(used[first:last])
        used[first:last] = [level] * (last - first)
        levels |= {(head, node): level for node in nodes[1:]}
    return levels


def _bracket(start: float, end: float, x: float, out: float) -> str:
    """A path with round corners, out to the left and back."""
    way = 1 if end > start else -1
    start += 5 * way
    bend = min(7.0, abs(end - start) / 2)
    return (
        f"M {x:.1f} {start} H {x - out + bend:.1f} Q {x - out:.1f} {start} {x - out:.1f} {start + way * bend}"
        f" V {end - way * bend} Q {x - out:.1f} {end} {x - out + bend:.1f} {end} H {x - 6:.1f}"
    )


def _levels(arcs: Sequence[Mapping[str, Any]]) -> dict[tuple[int, int, str], int]:
    """The level of each arc, shorter ones lower. displaCy orders arcs of the same length at random; this does not."""
    used = [0] * max((arc["end"] for arc in arcs), default=0)
    levels = {}
    for arc in sorted(arcs, key=lambda arc: (arc["end"] - arc["start"], arc["start"])):
        start, end = arc["start"], arc["end"]
        levels[start, end, str(arc["label"])] = level = 1 + max(used[start:end])
        used[start:end] = [level] * (end - start)
    return levels


def _tightened(drawn: str, empty: int) -> str:
    """A compact drawing of displaCy without the empty space above it."""
    size = re.search(r'width="(\d+)" height="([\d.]+)"', drawn)
    assert size  # displaCy's
    width, height = size[1], f"{float(size[2]) - empty:g}"
    drawn = drawn.replace(size[0], f'width="{width}" height="{height}" viewBox="0 {empty} {width} {height}"', 1)
    return drawn.replace(f"height: {size[2]}px", f"height: {height}px", 1)


def _distance(words: Sequence[str]) -> int:
    """The distance between the middles of words: the least at which no two words touch."""
    widths = [1.15 * LETTER * cell_len(word) for word in words]  # displaCy's letters are larger
    return round(max([80.0, *((first + second) / 2 + 16 for first, second in pairwise(widths))]))


def _opacity(share: float) -> str:
    """Even unlikely arcs stay visible."""
    return f"{0.3 + 0.7 * share:.2f}"


def _svg(width: int | float, height: int | float, label: str, lines: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        f' role="img" aria-label="{label}" font-family="{FONT}" font-size="14" fill="{INK}">'
        f'<rect width="100%" height="100%" fill="{PAPER}"/>{"".join(lines)}</svg>\n'
    )


def _check(size: int, labels: Sequence[str], weights: Weights | None) -> None:
    if len(labels) != size:
        raise ValueError(f"expected {size} texts, one for each node, got {len(labels)}")
    if weights is not None and weights.arcs.shape != (size, size):
        raise ValueError(f"weights: expected arcs of shape ({size}, {size}), got {weights.arcs.shape}")


def _is_right_to_left(texts: Sequence[str]) -> bool:
    letters = [letter for text in texts for letter in text if letter.isalpha()]
    return 2 * len(re.findall("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]", "".join(letters))) > len(letters)
