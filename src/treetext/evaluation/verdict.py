"""The verdict of an analysis in three sentences: do the trees matter, are they flat, are they vacuous?

A sentence decides only what a whole 95% interval decides; otherwise it says that the question is open.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from treetext.evaluation.ablation import Ablated
from treetext.evaluation.bootstrap import Interval
from treetext.evaluation.figures import LevelAnalysis
from treetext.evaluation.sources import MODEL

MOST = 0.5
"""Trees are flat or vacuous if more than this share of nodes, trees or heads is."""
NEAR_UNIFORM = 0.9
"""A distribution is vacuous if its entropy is more than this share of its maximum."""
TRIVIAL = ("left chain", "right chain", "star")


def verdict(levels: Mapping[str, LevelAnalysis], ablation: Sequence[Ablated]) -> list[str]:
    """Three sentences: do the trees matter for the label, are they flat, and are they vacuous?"""
    flat = "; ".join(_flat(name, level) for name, level in levels.items())
    vacuous = "; ".join(_vacuous(name, level) for name, level in levels.items())
    return [f"{clause[0].upper()}{clause[1:]}." for clause in (_matter(ablation), flat, vacuous)]


def _matter(ablation: Sequence[Ablated]) -> str:
    # The first trial of each kind replaces the trees of all levels.
    trials = {each.marginals: each for each in reversed(ablation) if each.marginals in ("uniform", "shuffled")}
    if not trials:
        return "whether trees matter for the label was not measured: there is no ablation"
    moved = trials["shuffled"].moved
    some = "" if moved is None or moved > 0.995 else f", which {100 * moved:.0f}% of the sequences have"
    names = {
        "uniform": "with uniform trees in place of the model's own",
        "shuffled": f"with trees of another sequence of the same length{some}",
    }
    lost = {name: interval for name in names if (interval := trials[name].lost) is not None}
    if not lost:
        changed = [f"{names[name]}, {_share(trials[name].changed)} of the labels change" for name in names]
        return f"whether trees matter for the label is open, because the texts have none: {', and '.join(changed)}"
    falls = ", and ".join(f"{names[name]}, {_fall(interval)}" for name, interval in lost.items())
    if any(low is None for _, low, _ in lost.values()):
        return f"whether trees matter for the label is open: {falls}"
    if any(low is not None and low > 0 for _, low, _ in lost.values()):
        return f"trees matter for the label: {falls}"
    if any(high is not None and high < 0 for _, _, high in lost.values()):
        return f"trees do harm to the label: {falls}"
    return f"trees do not matter measurably for the label: {falls}"


def _flat(name: str, level: LevelAnalysis) -> str:
    near = level.near_root
    if near is None or near.model.value is None:
        return f"whether trees of {name} are flat was not measured: none has 4 {name} or more"
    more = near.more.value or 0.0
    low, high = (near.more.low, near.more.high) if more >= 0 else _turned(near.more)
    measured = (
        f"{_share(near.model)} of the {name} are the root or hang from it, {100 * abs(more):.1f} points"
        f" {'more' if more >= 0 else 'less'} than in random trees{_bounds(low, high)}"
    )
    many, above = _exceeds(near.model, MOST), _exceeds(near.more, 0.0)
    if many and above:
        return f"trees of {name} are flat: {measured}"
    if many is False or above is False:
        flatter = "flatter than random trees, but " if above else ""
        return f"trees of {name} are {flatter}not flat: {measured}"
    return f"whether trees of {name} are flat is open: {measured}"


class _Sign(NamedTuple):
    """A sign that trees are vacuous: whether it is there, or None if that is open."""

    there: bool | None
    measured: str


def _vacuous(name: str, level: LevelAnalysis) -> str:
    signs = _signs(name, level)
    if not signs:
        return f"whether trees of {name} are vacuous was not measured: none has 2 {name} or more"
    if there := [sign.measured for sign in signs if sign.there]:
        return f"trees of {name} are vacuous: {', and '.join(there)}"
    if unknown := [sign.measured for sign in signs if sign.there is None]:
        return f"whether trees of {name} are vacuous is open: {', and '.join(unknown)}"
    return f"trees of {name} are not vacuous: {', and '.join(sign.measured for sign in signs)}"


def _signs(name: str, level: LevelAnalysis) -> list[_Sign]:
    figures, signs = level.figures[MODEL], list[_Sign]()
    if figures["entropy"].value is not None:
        told = f"their entropy is {_share(figures['entropy'])} of its maximum"
        signs.append(_Sign(_exceeds(figures["entropy"], NEAR_UNIFORM), told))
    if figures["hub"].value is not None:
        told = f"in {_share(figures['hub'])} of those with 4 {name} or more, all hang from one"
        signs.append(_Sign(_exceeds(figures["hub"], MOST), told))
    same = {each.second: each.heads for each in level.agreement if each.first == MODEL and each.second in TRIVIAL}
    if measured := {other: share for other, share in same.items() if share.value is not None}:
        nearest = max(measured, key=lambda other: measured[other].value or 0.0)
        told = f"{_share(measured[nearest])} of the heads are those of a {nearest}"
        signs.append(_Sign(_exceeds(measured[nearest], MOST), told))
    return signs


def _exceeds(interval: Interval, bound: float) -> bool | None:
    """Whether the whole interval is above a bound, or at most there; None if neither."""
    if interval.low is None or interval.high is None:
        return None
    return True if interval.low > bound else False if interval.high <= bound else None


def _share(interval: Interval) -> str:
    return f"{100 * (interval.value or 0.0):.1f}%{_bounds(interval.low, interval.high)}"


def _fall(lost: Interval) -> str:
    if not lost.value:
        return f"accuracy does not change{_bounds(lost.low, lost.high)}"
    falls = lost.value > 0
    low, high = (lost.low, lost.high) if falls else _turned(lost)
    return f"accuracy {'falls' if falls else 'rises'} by {100 * abs(lost.value):.1f} points{_bounds(low, high)}"


def _turned(interval: Interval) -> tuple[float | None, float | None]:
    """The bounds of the negative figure."""
    return None if interval.high is None else -interval.high, None if interval.low is None else -interval.low


def _bounds(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return " (no interval)"
    return f" (95% interval {100 * low + 0.0:.1f} to {100 * high + 0.0:.1f})"
