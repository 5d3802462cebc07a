"""The verdict in three sentences, from made-up figures and from models."""

import pytest
import torch

from tests.evaluation.conftest import make_model
from treetext.evaluation import FIGURES, Ablated, Agreement, Interval, LevelAnalysis, NearRoot, analyse
from treetext.evaluation.verdict import verdict

NONE = Interval(None)
NOTHING = Interval(0.0, -0.01, 0.01)
EIGHTH = Interval(0.125, 0.1, 0.15)
FEW = Interval(0.3, 0.2, 0.4)
MORE = Interval(0.1, 0.05, 0.15)


def ablation(uniform, shuffled=NOTHING, moved=1.0, changed=EIGHTH):
    """All levels first, as `ablate` gives them, then one level, which must not count."""
    other = Interval(0.9, 0.9, 0.9)
    return [
        Ablated("own", [], None, Interval(0.0, 0.0, 0.0), None, Interval(0.0, 0.0, 0.0)),
        Ablated("uniform", ["words", "sentences"], None, changed, None, uniform),
        Ablated("shuffled", ["words", "sentences"], None, changed, moved, shuffled),
        Ablated("uniform", ["words"], None, changed, None, other),
        Ablated("shuffled", ["words"], None, changed, 1.0, other),
    ]


def level(near=FEW, more=MORE, **figures):
    """Trees with figures of no trivial trees, unless others are given."""
    usual = {"entropy": Interval(0.4, 0.3, 0.5), "hub": Interval(0.1, 0.0, 0.2)}
    shares = {"left_chain": Interval(0.2, 0.1, 0.3), "right_chain": Interval(0.1, 0.0, 0.2), "star": NONE}
    shares |= {name: figures.pop(name) for name in shares if name in figures}
    found = {figure: (usual | figures).get(figure, NONE) for figure in FIGURES}
    same = [Agreement("model", name.replace("_", " "), share, NONE, NONE) for name, share in shares.items()]
    return LevelAnalysis(9, 90, 0, {"model": found}, same, NearRoot(near, NONE, more))


UNIFORM = "with uniform trees in place of the model's own, accuracy "
SHUFFLED = ", and with trees of another sequence of the same length, accuracy "


@pytest.mark.parametrize(
    ("uniform", "shuffled", "expected"),
    [
        (
            (0.031, 0.012, 0.05),
            (0.0, -0.01, 0.02),
            f"Trees matter for the label: {UNIFORM}falls by 3.1 points (95% interval 1.2 to 5.0){SHUFFLED}does not"
            " change (95% interval -1.0 to 2.0).",
        ),
        (
            (0.01, -0.01, 0.03),
            (0.02, 0.01, 0.03),
            f"Trees matter for the label: {UNIFORM}falls by 1.0 points (95% interval -1.0 to 3.0){SHUFFLED}falls by 2.0"
            " points (95% interval 1.0 to 3.0).",
        ),
        (
            (-0.01, -0.03, 0.02),
            (0.01, -0.01, 0.03),
            f"Trees do not matter measurably for the label: {UNIFORM}rises by 1.0 points (95% interval -2.0 to 3.0)"
            f"{SHUFFLED}falls by 1.0 points (95% interval -1.0 to 3.0).",
        ),
        (
            (-0.02, -0.03, -0.01),
            (0.01, -0.01, 0.03),
            f"Trees do harm to the label: {UNIFORM}rises by 2.0 points (95% interval 1.0 to 3.0){SHUFFLED}falls by 1.0"
            " points (95% interval -1.0 to 3.0).",
        ),
        (
            (0.02, None, None),
            (0.01, None, None),
            f"Whether trees matter for the label is open: {UNIFORM}falls by 2.0 points (no interval){SHUFFLED}falls by"
            " 1.0 points (no interval).",
        ),
    ],
)
def test_whether_trees_matter(uniform, shuffled, expected):
    found = verdict({"words": level()}, ablation(Interval(*uniform), Interval(*shuffled)))
    assert found[0] == expected
    assert len(found) == 3


def test_trees_that_matter_cannot_be_measured():
    assert verdict({"words": level()}, [])[0] == (
        "Whether trees matter for the label was not measured: there is no ablation."
    )
    [found, *_] = verdict({"words": level()}, ablation(None, None, moved=0.5))
    assert found == (
        "Whether trees matter for the label is open, because the texts have none: with uniform trees in place of the"
        " model's own, 12.5% (95% interval 10.0 to 15.0) of the labels change, and with trees of another sequence of"
        " the same length, which 50% of the sequences have, 12.5% (95% interval 10.0 to 15.0) of the labels change."
    )


@pytest.mark.parametrize(
    ("near", "more", "expected"),
    [
        ((0.8, 0.7, 0.9), (0.3, 0.2, 0.4), "Trees of words are flat: 80.0% (95% interval 70.0 to 90.0) of the words"),
        ((0.4, 0.3, 0.5), (0.3, 0.2, 0.4), "Trees of words are flatter than random trees, but not flat: 40.0% "),
        ((0.4, 0.3, 0.5), (0.0, -0.1, 0.1), "Trees of words are not flat: 40.0% "),
        ((0.8, 0.7, 0.9), (-0.1, -0.2, 0.0), "Trees of words are not flat: 80.0% "),
        ((0.6, 0.4, 0.8), (0.3, 0.2, 0.4), "Whether trees of words are flat is open: 60.0% "),
        ((0.8, 0.7, 0.9), (0.1, -0.1, 0.3), "Whether trees of words are flat is open: 80.0% "),
        ((None,), (None,), "Whether trees of words are flat was not measured: none has 4 words or more."),
    ],
)
def test_flat_trees(near, more, expected):
    found = verdict({"words": level(Interval(*near), Interval(*more))}, [])[1]
    assert found.startswith(expected)
    if more == (-0.1, -0.2, 0.0):
        assert found.endswith("hang from it, 10.0 points less than in random trees (95% interval 0.0 to 20.0).")


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        (
            {"entropy": Interval(0.95, 0.92, 0.98)},
            "Trees of words are vacuous: their entropy is 95.0% (95% interval 92.0 to 98.0) of its maximum.",
        ),
        (
            {"hub": Interval(0.7, 0.6, 0.8), "star": Interval(0.6, 0.55, 0.65)},
            "Trees of words are vacuous: in 70.0% (95% interval 60.0 to 80.0) of those with 4 words or more, all hang"
            " from one, and 60.0% (95% interval 55.0 to 65.0) of the heads are those of a star.",
        ),
        (
            {"right_chain": Interval(0.6, 0.4, 0.7)},
            "Whether trees of words are vacuous is open: 60.0% (95% interval 40.0 to 70.0) of the heads are those of a"
            " right chain.",
        ),
        (
            {},
            "Trees of words are not vacuous: their entropy is 40.0% (95% interval 30.0 to 50.0) of its maximum, and in"
            " 10.0% (95% interval 0.0 to 20.0) of those with 4 words or more, all hang from one, and 20.0% (95%"
            " interval 10.0 to 30.0) of the heads are those of a left chain.",
        ),
        (
            {"entropy": NONE, "hub": NONE, "left_chain": NONE, "right_chain": NONE},
            "Whether trees of words are vacuous was not measured: none has 2 words or more.",
        ),
    ],
)
def test_vacuous_trees(figures, expected):
    assert verdict({"words": level(**figures)}, [])[2] == expected


def test_two_levels_share_a_sentence():
    found = verdict({"words": level(Interval(0.8, 0.7, 0.9)), "sentences": level(more=NOTHING)}, [])
    assert len(found) == 3
    assert found[1].startswith("Trees of words are flat: ")
    assert (
        "; trees of sentences are not flat: 30.0% (95% interval 20.0 to 40.0) of the sentences are the root" in found[1]
    )
    assert "; trees of sentences are not vacuous: " in found[2]


def test_a_model_that_ignores_its_trees(hidden_trees):
    model = make_model(hidden_trees)
    with torch.no_grad():
        for each in (model.words, model.sentences):  # only a vector itself, none of its context, is left
            each.attention.combine.weight[:, each.attention.semantic :] = 0
    found = analyse(model, hidden_trees, resamples=50)
    assert found.verdict[0].startswith(f"Trees do not matter measurably for the label: {UNIFORM}does not change (95%")
    assert found.to_dict()["verdict"] == found.verdict


def test_a_model_with_uniform_trees_is_vacuous(hidden_trees):
    found = analyse(make_model(hidden_trees, scale=0.01), hidden_trees, resamples=50, ablation=False)
    assert found.verdict[2].startswith("Trees of words are vacuous: their entropy is 100.0% ")
    assert "; trees of sentences are vacuous: their entropy is 100.0% " in found.verdict[2]
