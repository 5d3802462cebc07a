"""The models whose trees are compared: a model, the same model untrained, and other models."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Int

from treetext.data import BadInput, Corpus
from treetext.evaluation.references import REFERENCES
from treetext.models import Model
from treetext.nn import TREES

MODEL, UNTRAINED, GOLD = "model", "untrained", "gold"
LEVELS = ("words", "sentences")


def sources(model: Model, others: Mapping[str, Model] | None, untrained: Model | None) -> dict[str, Model]:
    """All models by their names in results."""
    if taken := {MODEL, UNTRAINED, GOLD, *REFERENCES} & set(others or {}):
        raise BadInput(f"others: {taken.pop()!r} is the name of something else; expected another name")
    return {MODEL: model, UNTRAINED: untrained or model.untrained(), **(others or {})}


def checked_levels(model: Model, among: Sequence[str] = LEVELS) -> list[str]:
    """The levels of a model that have trees. Raises `BadInput` if there are none."""
    levels = [level for level in model.levels_with_trees if level in among]
    if not levels:
        raise BadInput(f"the model has no trees of {' or '.join(among)}; expected {' or '.join(TREES)} attention")
    return levels


def check_levels(models: Mapping[str, Model], wanted: Sequence[str]) -> None:
    """Raise `BadInput` for a model that does not have trees at all levels that are compared."""
    for name, model in models.items():
        if missing := [level for level in wanted if level not in model.levels_with_trees]:
            raise BadInput(f"{name}: no trees of {' or '.join(missing)}; expected trees as those of the model")


def checked_targets(model: Model, corpus: Corpus, split: str) -> Int[np.ndarray, "rows"] | None:
    """The class of each text of a split, or None if there are no labels. Raises `BadInput` for unknown labels."""
    corpus.check_split(split)
    rows = corpus.rows[split]
    if not (corpus.encoded.labels[rows] >= 0).any():
        return None
    corpus.check_labels(model.labels, (split,))
    targets: Int[np.ndarray, rows] = corpus.targets(model.labels)[rows]
    return targets
