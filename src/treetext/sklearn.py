"""A classifier of texts for scikit-learn: for pipelines, cross-validation and searches over settings."""

import io
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stderr
from pathlib import Path
from typing import Any, Self

import numpy as np
from jaxtyping import Float32, Float64
from numpy.typing import ArrayLike

from treetext.data import DOCUMENTS, PAIRS, needs

with needs("sklearn"):
    from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils import check_array, check_consistent_length, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted

__all__ = ["TreeTextClassifier"]


class TreeTextClassifier(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]  # scikit-learn has no types
    ClassifierMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """A classifier of texts by a recipe of treetext.

    `recipe` is a name, a file or a `Recipe`; ``"auto"`` is the default recipe for documents, or for pairs if X has
    pairs of strings. `settings` replaces values of the recipe by dotted keys: ``{"training.epochs": 4}``. `dev_share`
    is the share of the texts that choose the best epoch. `out` is a directory for the model, which `fit` replaces
    (default: the model is only in memory). With `verbose`, `fit` prints what it does to standard error.

    After `fit`, `model_` is the `Model`, and `classes_` are the labels in ascending order.
    """

    model_: Any
    classes_: Any

    def __init__(
        self,
        recipe: Any = "auto",
        *,
        seed: int = 1,
        dev_share: float = 0.1,
        settings: Mapping[str, Any] | None = None,
        out: str | Path | None = None,
        verbose: bool = False,
    ) -> None:
        self.recipe, self.seed, self.dev_share = recipe, seed, dev_share
        self.settings, self.out, self.verbose = settings, out, verbose

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Train a model. X has strings, or pairs of strings; y has their labels: strings, numbers or bools."""
        from treetext.training import Interrupted, train

        texts = _texts(X)
        classes, labels = _labels(y)
        check_consistent_length(texts, labels)
        settings = {
            "seed": self.seed,
            "data.split": [1 - self.dev_share, self.dev_share, 0.0],
            **(self.settings or {}),
        }
        recipe = _task(texts).recipe if isinstance(self.recipe, str) and self.recipe == "auto" else self.recipe
        quiet = nullcontext() if self.verbose else redirect_stderr(io.StringIO())
        with _folder(self.out) as out, quiet:
            try:
                self.model_ = train(recipe, out, set=settings, texts=texts, labels=labels, replace=True)
            except Interrupted:
                raise KeyboardInterrupt from None
        self.classes_ = classes
        return self

    def predict(self, X: Any) -> Any:
        """The most probable label of each text."""
        best = self.predict_proba(X).argmax(1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> Float64[np.ndarray, "texts classes"]:
        """The probability of each label, in the order of `classes_`."""
        check_is_fitted(self)
        predicted = self.model_.predict(_texts(X))
        names = [_name(label) for label in self.classes_]
        return np.array([[prediction.probabilities[name] for name in names] for prediction in predicted])

    def transform(self, X: Any) -> Float32[np.ndarray, "texts k"]:
        """A vector for each text, composed of its words and sentences."""
        check_is_fitted(self)
        vectors: np.ndarray = self.model_.encode(_texts(X))
        return vectors

    @property
    def _n_features_out(self) -> int | None:
        """The size of the vectors, for the names that scikit-learn gives to their columns."""
        size: int | None = self.model_.vector_size
        return size

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []
        return tags


@contextmanager
def _folder(out: str | Path | None) -> Iterator[Path]:
    if out is not None:
        yield Path(out)
        return
    with tempfile.TemporaryDirectory(prefix="treetext-") as folder:
        yield Path(folder)


def _texts(X: Any) -> list[Any]:
    """The texts as strings, or pairs of strings as lists."""
    shape = getattr(X, "shape", None)
    if isinstance(X, str | bytes | Mapping) or shape == () or not hasattr(X, "__iter__"):
        raise ValueError(f"X: expected a list or an array of texts, got {X!r:.60}")
    if shape is not None and (len(shape) > 2 or (len(shape) == 2 and shape[1] not in (1, 2))):
        raise ValueError(f"X: expected texts, or two columns of sentences, got the shape {tuple(shape)}")
    rows = np.asarray(X, dtype=object).tolist() if shape is not None else list(X)
    if shape is not None and len(shape) == 2 and shape[1] == 1:
        rows = [row for [row] in rows]
    if not rows:
        raise ValueError("Found array with 0 sample(s): X has no texts; expected at least one")
    pairs = not isinstance(rows[0], str)
    texts = []
    for i, row in enumerate(rows):
        sides = list(row) if pairs and isinstance(row, list | tuple | np.ndarray) and len(row) == 2 else [row]
        if not all(isinstance(side, str) for side in sides):
            expected = "a string, or for all texts a pair of strings"
            missing = any(side is None or side != side for side in sides)
            raise ValueError(f"X[{i}]: {'missing (NaN or None)' if missing else f'{row!r:.60}'}; expected {expected}")
        texts.append(list(map(str, sides)) if pairs else str(row))
    return texts


def _task(texts: list[Any]) -> Any:
    return DOCUMENTS if isinstance(texts[0], str) else PAIRS


def _labels(y: Any) -> tuple[Any, list[str]]:
    """The classes in ascending order, and the name of the label of each text in the model."""
    if y is None:
        raise ValueError("This classifier requires y to be passed, but the target y is None")
    values = check_array(y, ensure_2d=False, dtype=None, ensure_all_finite=True, input_name="y", ensure_min_samples=0)
    values = column_or_1d(values, warn=True)
    if values.dtype == object and any(value is None for value in values):
        raise ValueError("y: Input contains NaN or None; expected a label for each text")
    check_classification_targets(values)
    classes = np.unique(values)
    names = list(map(_name, classes))
    if len(names) < 2:
        raise ValueError(f"y: {len(names)} class in {len(values)} labels; expected two or more classes")
    if len(set(names)) < len(names) or "" in names or "nan" in map(str.lower, names):
        raise ValueError(f"y: expected labels that differ in more than spaces, and none empty or nan, got {names}")
    return classes, list(map(_name, values))


def _name(label: Any) -> str:
    """The name of a label in the model."""
    return str(label).strip()
