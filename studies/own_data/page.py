"""The page of this study: a table of accuracies, one of differences, and the costs."""

import functools
from collections.abc import Mapping
from statistics import mean, stdev
from typing import Any, NamedTuple

import numpy as np

from studies.markdown import NOT_RUN, markdown
from studies.own_data.sets import GRID, SOURCES, set_name
from studies.own_data.systems import CHANGES

ROWS = {
    "most frequent class": ("majority", "whole"),
    "tf-idf": ("tf-idf", "whole"),
    "bag of vectors": ("vectors", "whole"),
    "**default**": ("default", "whole"),
    "n-grams alone": ("default", "n-grams"),
    "trees alone": ("default", "trees"),
    "no trees": ("no-trees", "whole"),
}
"""The columns of the table: the system, and which of its parts."""
SAMPLES = 2000
INTRODUCTION = """\
# Own data: the default beside linear models

Subsamples of real data sets stand for users' own files. `python -m studies.own_data run --data DIR` draws them, \
trains all systems, and writes this page. Seeds draw the texts and the weights. Choices are made on dev data, a ninth \
of the texts. Test data are at most 2,000 texts, which are scored once for each model.

- **tf-idf**: scikit-learn's logistic regression on tf-idf of words, or of words and bigrams; for pairs, of each \
sentence, of what both have, and of what only one has. Length and strength are chosen on dev data (12 trials).
- **bag of vectors**: the mean of learnt vectors of words and bigrams, and a softmax (Joulin et al. 2017); 3 trials.
- **default**: `documents/default` or `pairs/default`, one trial. **n-grams alone** and **trees alone** are its two \
parts, which are trained apart. **no trees**: the default without attention.

Within a run, choices are made on dev data. The settings of the default recipes themselves were chosen in some 30 \
trials on the first seed of these sets, with test accuracies in view. So seed 1 is no held-out test of the default, \
and its lead over tf-idf may be too large.

Trials on other texts than test texts have changed two of these settings since: see `studies/own_data/README.md`.
"""

Results = Mapping[tuple[str, str], Mapping[str, Any]]
Rows = Mapping[int, Mapping[str, Any]]
"""The scores of a row on a set, by seed."""


def page(results: Results) -> str:
    """The whole page."""
    names = [set_name(source, size) for source, each in SOURCES.items() for size in each.sizes]
    return "\n".join([
        INTRODUCTION,
        "## Test accuracy\n\nIn percent: the mean and the standard deviation over seeds.\n",
        _scores(results, names, "accuracy"),
        _summary(results, names),
        "## Differences\n",
        "Points of the default above others, with 95% intervals of a paired bootstrap over test texts and seeds.\n",
        _differences(results, names),
        _in_vain(results, names, "n-grams alone", "The whole model is not significantly better than its n-grams alone"),
        _in_vain(results, names, "no trees", "It is not significantly better than the same model without trees"),
        "## What matters\n",
        "The accuracy of the trees alone, with one change of the default and seed 1, on 2,000 training texts that were"
        " not drawn. No test text is read. The default was still the one with all words, and 4 epochs for pairs.\n",
        _changes(results),
        "## Macro-F1\n",
        _scores(results, names, "macro_f1"),
        "## Cost\n",
        "Seconds of one CPU, with all trials and the scoring of the test texts, and the peak of memory in MB.\n",
        _costs(results, names),
    ])  # fmt: skip


def _rows(results: Results, name: str, system: str, part: str) -> Rows:
    """The scores of a row on a set, by seed."""
    found = {}
    for seed in range(1, 10):
        rows = results.get((f"{name}.{seed}", system), {}).get("rows", {})
        if part in rows:
            found[seed] = rows[part]
    return found


def _scores(results: Results, names: list[str], score: str) -> str:
    lines = []
    for name in names:
        cells = []
        for system, part in ROWS.values():
            values = [100 * row[score] for row in _rows(results, name, system, part).values()]
            deviation = f" ± {stdev(values):.1f}" if len(values) > 1 else ""
            cells.append(f"{mean(values):.1f}{deviation}" if values else NOT_RUN)
        seeds = len(_rows(results, name, "default", "whole"))
        lines.append([name, *cells, str(seeds)])
    return markdown(["set", *ROWS, "seeds"], lines)


def _summary(results: Results, names: list[str]) -> str:
    """The mean over all sets of the difference between the default and tf-idf."""
    gains = []
    for name in names:
        ours, theirs = (_rows(results, name, system, "whole") for system in ("default", "tf-idf"))
        shared = ours.keys() & theirs.keys()
        if shared:
            gains.append(100 * mean(ours[seed]["accuracy"] - theirs[seed]["accuracy"] for seed in shared))
    if not gains:
        return ""
    return (
        f"The default is {mean(gains):+.1f} points above tf-idf on the mean over {len(gains)} of {len(names)} sets, and"
        f" at or above it on {sum(gain >= 0 for gain in gains)} of them.\n"
    )


def _changes(results: Results) -> str:
    """The accuracy of the trees alone with each change, on each set of the grid."""
    names = [set_name(source, size) for source, size in GRID]
    lines = []
    for change, (title, _) in CHANGES.items():
        rows = [_rows(results, name, f"change-{change}", "whole").get(1) for name in names]
        lines.append([title, *(f"{100 * row['accuracy']:.1f}" if row else NOT_RUN for row in rows)])
    return markdown(["", *names], lines)


def _differences(results: Results, names: list[str]) -> str:
    others = [title for title in ROWS if title != "**default**"]
    lines = []
    for name in names:
        ours = _rows(results, name, "default", "whole")
        lines.append([name, *(_difference(ours, _rows(results, name, *ROWS[title])) for title in others)])
    return markdown(["default above", *others], lines)


def _in_vain(results: Results, names: list[str], other: str, claim: str) -> str:
    """Name the sets on which the default is not significantly better than another row."""
    gaps = {name: _gap(_rows(results, name, "default", "whole"), _rows(results, name, *ROWS[other])) for name in names}
    equal = [name for name, gap in gaps.items() if gap and gap.low <= 0]
    measured = sum(gap is not None for gap in gaps.values())
    return f"{claim} on {len(equal)} of {measured} sets{': ' * bool(equal)}{', '.join(equal)}.\n" if measured else ""


def _difference(ours: Rows, theirs: Rows) -> str:
    gap = _gap(ours, theirs)
    return f"{gap.points:+.1f} ({gap.low:+.1f} to {gap.high:+.1f})" if gap else NOT_RUN


class Gap(NamedTuple):
    """A mean difference in points, with its 95% interval."""

    points: float
    low: float
    high: float


@functools.cache
def _resampled(gaps: tuple[bytes, ...]) -> tuple[float, float]:
    """The interval of the mean, by a bootstrap over seeds and texts. Each gap is an array of int8, as bytes."""
    arrays, random = [np.frombuffer(gap, np.int8) for gap in gaps], np.random.default_rng(0)
    means = []
    for _ in range(SAMPLES):
        drawn = [arrays[i] for i in random.integers(len(arrays), size=len(arrays))]
        means.append(np.mean([100.0 * random.choice(gap, len(gap)).mean() for gap in drawn]))
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def _gap(ours: Rows, theirs: Rows) -> Gap | None:
    """How much better one row is than another, on the seeds that both have."""
    shared = sorted(ours.keys() & theirs.keys())
    if not shared:
        return None
    gaps = [_right(ours[seed]).astype(np.int8) - _right(theirs[seed]).astype(np.int8) for seed in shared]
    return Gap(float(np.mean([100.0 * gap.mean() for gap in gaps])), *_resampled(tuple(gap.tobytes() for gap in gaps)))


def _right(row: Mapping[str, Any]) -> np.ndarray:
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(row["right"]), np.uint8))
    return bits[: row["texts"]].astype(bool)


def _costs(results: Results, names: list[str]) -> str:
    systems = list(dict.fromkeys(system for system, _ in ROWS.values()))
    lines = []
    for name in names:
        cells = []
        for system in systems:
            runs = [results.get((f"{name}.{seed}", system), {}) for seed in range(1, 10)]
            measured = [run for run in runs if "cpu_seconds" in run]
            seconds, megabytes = (
                mean(run[cost] for run in measured) if measured else 0 for cost in ("cpu_seconds", "megabytes")
            )
            cells.append(f"{seconds:,.0f} s, {megabytes:,.0f} MB" if measured else NOT_RUN)
        lines.append([name, *cells])
    return markdown(["set", *systems], lines)
