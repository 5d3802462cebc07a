"""Logistic regression on sparse features. Its regularisation is chosen on dev data and on held-out training data."""

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy, log_softmax, one_hot

if TYPE_CHECKING:
    from scipy.sparse import csr_array

STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""The strengths to choose from: inverse weights of the L2 penalty, as in scikit-learn."""
ITERATIONS = 60
"""The most iterations of L-BFGS for each strength. Each starts from the solution for the strength before."""
FEW = 5000
"""With at most so many texts, held-out training texts help to choose the strength."""
MANY = 5_000_000
"""With more weights, as for thousands of classes, no texts are held out, which would take hours, and L-BFGS remembers
fewer steps."""
SPARSE = 4
"""How many times as long a product with a number of a sparse matrix takes as with one of a dense matrix, about."""
DENSE = 0.05
"""The least share of texts that have a feature for its products to be computed as dense ones."""
BLOCK = 2048
"""The most features that are dense at once."""
TEMPERATURES: list[float] = [2.0 ** (i / 4) for i in range(-16, 17)]
"""The temperatures to choose from."""
FOLDS = 5
"""The number of folds of few texts."""


class Logistic(NamedTuple):
    """A linear classifier: the weight of each feature for each class, and the bias of each class."""

    weight: Float[Tensor, "features classes"]
    bias: Float[Tensor, "classes"]
    strength: float
    loss: float
    """The log loss on dev data or, with few texts, its mean with the loss on held-out training data."""


class Matrix(NamedTuple):
    """A matrix and its transpose: both are multiplied with in each step, and a sparse one is slow to transpose."""

    rows: Tensor
    columns: Tensor

    @classmethod
    def of(cls, x: "csr_array") -> "Matrix":
        """A sparse matrix."""
        return cls(_tensor(x), _tensor(x.T.tocsr()))


def fit_logistic(
    x: "csr_array",
    y: Int[np.ndarray, "texts"],
    classes: int,
    dev_x: "csr_array",
    dev_y: Int[np.ndarray, "dev"],
    strengths: Sequence[float] = STRENGTHS,
    class_weights: Float[Tensor, "classes"] | None = None,
) -> Logistic:
    """The regression with the least loss. The path of strengths ends where the loss rises.

    With few texts and weights, the loss is the mean of that on dev data and that on held-out folds of the training
    data: a small dev set alone decides little. `class_weights` has the weight of a text in all losses, for each class.
    """
    few = FOLDS <= len(y) <= FEW and x.shape[1] * classes <= MANY
    labels, dev_labels = torch.from_numpy(y).long(), torch.from_numpy(dev_y).long()
    # The span of the vectors of texts has fewer dimensions than there are features.
    in_span = few and len(y) ** 2 < SPARSE * x.nnz
    features, dev_features, factor = _in_span(x, dev_x) if in_span else (x, _tensor(dev_x), None)
    fold = np.random.default_rng(0).permutation(len(y)) % FOLDS if few else np.zeros(0, int)
    folds = [(np.flatnonzero(fold == k), np.flatnonzero(fold != k)) for k in np.unique(fold)]
    hot = one_hot(labels, classes).float()
    hot = hot if class_weights is None else hot * class_weights.to(hot)
    paths = [_path(_matrix(features[rest]), hot[rest], strengths) for _, rest in folds]
    best: Logistic | None = None
    for strength, solution in zip(strengths, _path(_matrix(features), hot, strengths), strict=True):
        losses = [_loss(solution.logits(dev_features), dev_labels, class_weights)]
        if few:
            held_out = torch.zeros(len(y), classes)
            for (held, _), path in zip(folds, paths, strict=True):
                held_out[held] = next(path).logits(_matrix(features[held]).rows)
            losses.append(_loss(held_out, labels, class_weights))
        loss = sum(losses) / len(losses)
        if best is not None and loss >= best.loss:
            break
        best = Logistic(*solution, strength, loss)
    assert best is not None
    if factor is not None:  # the weights of features are a combination of the vectors of texts
        mixed = torch.linalg.solve_triangular(factor.mT, best.weight.double(), upper=True)
        best = best._replace(weight=torch.from_numpy((x.T @ mixed.numpy()).astype(np.float32)))
    return best


def best_temperature(
    logits: Float[Tensor, "b classes"],
    labels: Int[Tensor, "b"],
    class_weights: Float[Tensor, "classes"] | None = None,
) -> float:
    """The temperature with the least `smoothed_loss` (Guo et al. 2017)."""
    losses = {heat: smoothed_loss(logits / heat, labels, class_weights) for heat in TEMPERATURES}
    return min(losses, key=losses.__getitem__)


def smoothed_loss(
    logits: Float[Tensor, "b classes"],
    labels: Int[Tensor, "b"],
    class_weights: Float[Tensor, "classes"] | None = None,
) -> float:
    """The log loss, with labels smoothed as by one more text that may have any label (Platt 1999).

    A few texts that are all labelled right would allow any certainty.
    """
    return _loss(logits, labels, class_weights, 1 / (len(labels) + 1))


def _loss(logits: Tensor, labels: Tensor, class_weights: Tensor | None, smoothing: float = 0.0) -> float:
    """The mean log loss. Each text has the weight of its class."""
    if class_weights is None:
        return float(cross_entropy(logits, labels, label_smoothing=smoothing))
    losses = cross_entropy(logits, labels, label_smoothing=smoothing, reduction="none")
    weights = class_weights.to(losses)[labels]
    return float((weights * losses).sum() / weights.sum())


class Solution(NamedTuple):
    """The weights and biases for a strength."""

    weight: Float[Tensor, "features classes"]
    bias: Float[Tensor, "classes"]

    def logits(self, features: Tensor) -> Float[Tensor, "texts classes"]:
        """The scores of the classes."""
        return features @ self.weight + self.bias


def _path(features: Matrix, hot: Tensor, strengths: Sequence[float]) -> Iterator[Solution]:
    """The solutions for rising strengths. Each minimises the sum of log losses + squared weights / (2 x strength).

    `hot` has the weight of each text, in the column of its class.
    """
    weight, bias = torch.zeros(features.rows.shape[1], hot.shape[1]), torch.log(hot.mean(0) + 1e-3)
    for strength in strengths:
        _solve(features, hot, weight, bias, 1 / (strength * len(hot)))
        yield Solution(weight.clone(), bias.clone())


def _solve(features: Matrix, hot: Tensor, weight: Tensor, bias: Tensor, penalty: float) -> None:
    """Minimise the mean log loss plus half the penalty times the squared weights, in place."""
    weights = hot.sum(1, keepdim=True)

    def closure() -> Tensor:
        scores = log_softmax(features.rows @ weight + bias, -1)
        rest = (weights * scores.exp() - hot) / len(hot)
        weight.grad, bias.grad = features.columns @ rest + penalty * weight, rest.sum(0)
        return (penalty / 2) * (weight * weight).sum() - (scores * hot).sum() / len(hot)

    solver: Any = torch.optim.LBFGS(
        [weight, bias],
        max_iter=ITERATIONS,
        history_size=10 if weight.numel() <= MANY else 4,
        tolerance_grad=1e-6,
        tolerance_change=1e-9,
        line_search_fn="strong_wolfe",
    )
    with torch.no_grad():
        solver.step(closure)


def _in_span(x: "csr_array", dev_x: "csr_array") -> tuple[Tensor, Tensor, Tensor]:
    """Texts and dev texts in an orthonormal basis of the span of the texts, and the Cholesky factor of X X'.

    The regression has the same solution there: weights orthogonal to all texts are 0.
    """
    products = _products(x, x)
    # Copies of a text make the products singular.
    factor = torch.linalg.cholesky(products + 1e-6 * products.diagonal().mean() * torch.eye(len(products)).double())
    dev = torch.linalg.solve_triangular(factor, _products(x, dev_x), upper=False).mT
    return factor.float(), dev.float().contiguous(), factor


def _products(x: "csr_array", other: "csr_array") -> Float[Tensor, "texts others"]:
    """The products of all pairs of rows: dense for frequent features, sparse for rare ones, as is fastest."""
    counts = np.bincount(x.indices, minlength=x.shape[1])
    frequent, rare = np.flatnonzero(counts > DENSE * x.shape[0]), np.flatnonzero(counts <= DENSE * x.shape[0])
    x, other = x.astype(np.float64), other.astype(np.float64)
    products = torch.from_numpy((x[:, rare] @ other[:, rare].T).toarray())
    for start in range(0, len(frequent), BLOCK):  # all at once would take gigabytes for long texts
        some = frequent[start : start + BLOCK]
        dense, others = (torch.from_numpy(part[:, some].toarray()) for part in (x, other))
        products += dense @ others.mT
    return products


def _matrix(features: Any) -> Matrix:
    return Matrix(features, features.mT) if isinstance(features, Tensor) else Matrix.of(features)


def _tensor(x: "csr_array") -> Tensor:
    """A sparse matrix as a tensor."""
    starts, columns = (torch.from_numpy(part.astype(np.int64)) for part in (x.indptr, x.indices))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch calls such tensors a beta
        return torch.sparse_csr_tensor(
            starts, columns, torch.from_numpy(x.data.astype(np.float32)), x.shape, check_invariants=False
        )
