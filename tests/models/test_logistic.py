"""Logistic regression: against scikit-learn with the same penalty."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, random_array
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from torch.nn.functional import cross_entropy

from treetext.models import logistic
from treetext.models.logistic import FOLDS, STRENGTHS, TEMPERATURES, best_temperature, fit_logistic
from treetext.training.objectives import balanced_weights


def problem(classes, texts=90, features=200, density=0.3, seed=0):
    """Sparse features whose labels a linear model knows in part, and those of dev texts."""
    random = np.random.default_rng(seed)
    x = csr_array(random_array((texts + 40, features), density=density, rng=random, dtype=np.float32))
    weight = random.normal(size=(features, classes)).astype(np.float32)
    scores = x @ weight
    y = np.argmax(scores - scores.mean(0) + random.gumbel(size=scores.shape), 1)
    return x[:texts], y[:texts], classes, x[texts:], y[texts:]


def regression(x, y, classes, strength, class_weight=None):
    """The same by scikit-learn, which penalises only one of two columns of weights for two classes."""
    fitted = LogisticRegression(
        C=strength * (2 if classes == 2 else 1), max_iter=5000, tol=1e-8, class_weight=class_weight
    )
    return fitted.fit(x.astype(np.float64), y)


def in_span(monkeypatch, yes):
    """Compute in the span of the texts, or with the sparse features."""
    monkeypatch.setattr(logistic, "SPARSE", 10**6 if yes else 0)


@pytest.mark.parametrize("span", [True, False])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("strength", [0.1, 3.0])
def test_as_scikit_learn(monkeypatch, span, classes, strength):
    in_span(monkeypatch, span)
    x, y, _, dev_x, dev_y = problem(classes)
    found = fit_logistic(x, y, classes, dev_x, dev_y, [strength])
    theirs = regression(x, y, classes, strength)
    for some in (x, dev_x):
        mine = (torch.from_numpy(some @ found.weight.numpy()) + found.bias).softmax(-1)
        np.testing.assert_allclose(mine, theirs.predict_proba(some), atol=2e-3)
    assert found.strength == strength
    assert found.weight.shape == (x.shape[1], classes)
    torch.testing.assert_close(found.weight.sum(1), torch.zeros(x.shape[1]), atol=1e-3, rtol=0)


@pytest.mark.parametrize("few", [True, False])
def test_both_paths_have_the_same_solution(monkeypatch, few):
    x, y, classes, dev_x, dev_y = problem(3)
    if not few:
        monkeypatch.setattr(logistic, "FEW", 10)
    results = []
    for span in (True, False):
        in_span(monkeypatch, span)
        results.append(fit_logistic(x, y, classes, dev_x, dev_y))
    one, other = results
    assert one.strength == other.strength
    assert one.loss == pytest.approx(other.loss, abs=1e-3)
    torch.testing.assert_close(one.weight, other.weight, atol=0.02, rtol=0.02)


def weighted_problem():
    """Three classes, of which one is rare, and balanced weights of all."""
    x, y, classes, dev_x, dev_y = problem(3, texts=300)
    kept = np.flatnonzero((y != 0) | (np.arange(len(y)) % 5 == 0))
    weights = balanced_weights(y[kept], classes)
    assert weights[0] > 3 * weights[1]
    return x[kept], y[kept], classes, dev_x, dev_y, weights


@pytest.mark.parametrize("span", [True, False])
@pytest.mark.parametrize("strength", [0.1, 3.0])
def test_class_weights_as_in_scikit_learn(monkeypatch, span, strength):
    in_span(monkeypatch, span)
    x, y, classes, dev_x, dev_y, weights = weighted_problem()
    found = fit_logistic(x, y, classes, dev_x, dev_y, [strength], weights)
    theirs = regression(x, y, classes, strength, "balanced")
    for some in (x, dev_x):
        mine = (torch.from_numpy(some @ found.weight.numpy()) + found.bias).softmax(-1)
        np.testing.assert_allclose(mine, theirs.predict_proba(some), atol=2e-3)
    apart = regression(x, y, classes, strength).predict_proba(dev_x) - theirs.predict_proba(dev_x)
    assert abs(apart).max() > 0.1, "without weights, it is another one"


def test_the_gradient_of_the_weighted_loss_is_0():
    """Of the sum of the weighted log losses and the penalty, by automatic differentiation."""
    x, y, classes, dev_x, dev_y, weights = weighted_problem()
    found = fit_logistic(x, y, classes, dev_x, dev_y, [1.0], weights)
    weight, bias = (part.double().requires_grad_() for part in (found.weight, found.bias))
    losses = cross_entropy(torch.from_numpy(x.toarray()).double() @ weight + bias, torch.from_numpy(y), weights,
                           reduction="sum")  # fmt: skip
    (losses + weight.square().sum() / 2).backward()
    for gradient in (weight.grad, bias.grad):
        assert gradient.abs().max() < 1e-2
    plain = fit_logistic(x, y, classes, dev_x, dev_y, [1.0])
    assert (plain.bias - found.bias).abs().max() > 0.3


@pytest.mark.parametrize("few", [True, False])
def test_the_loss_is_weighted(monkeypatch, few):
    monkeypatch.setattr(logistic, "FEW", 5000 if few else 10)
    x, y, classes, dev_x, dev_y, weights = weighted_problem()
    found = fit_logistic(x, y, classes, dev_x, dev_y, [3.0], weights)
    given = dict(enumerate(weights.tolist()))
    shares = regression(x, y, classes, 3.0, given).predict_proba(dev_x)
    on_dev = log_loss(dev_y, shares, sample_weight=weights.numpy()[dev_y])
    held_out, fold = np.zeros((len(y), classes)), np.random.default_rng(0).permutation(len(y)) % FOLDS
    for k in range(FOLDS):
        held_out[fold == k] = regression(x[fold != k], y[fold != k], classes, 3.0, given).predict_proba(x[fold == k])
    expected = (on_dev + log_loss(y, held_out, sample_weight=weights.numpy()[y])) / 2 if few else on_dev
    assert found.loss == pytest.approx(expected, abs=5e-3)
    assert abs(on_dev - log_loss(dev_y, shares)) > 0.02, "the weights make a difference"


def test_equal_weights_are_none():
    x, y, classes, dev_x, dev_y = problem(3)
    one, other = (fit_logistic(x, y, classes, dev_x, dev_y, class_weights=w) for w in (None, torch.ones(3)))
    assert torch.equal(one.weight, other.weight)
    assert one.loss == pytest.approx(other.loss)


def test_the_temperature_of_weighted_texts():
    """As if there were as many copies of a text as it weighs."""
    generator = torch.Generator().manual_seed(0)
    logits, labels = 2 * torch.randn(500, 2, generator=generator), torch.arange(500) % 2
    logits[labels == 1, 1] += 3  # right mostly for this class
    copies = torch.cat([torch.arange(500), *[torch.nonzero(labels == 1)[:, 0]] * 7])
    weighted = best_temperature(logits, labels, torch.tensor([1.0, 8.0]))
    assert weighted == best_temperature(logits[copies], labels[copies]) != best_temperature(logits, labels)


@pytest.mark.parametrize("span", [True, False])
@pytest.mark.parametrize("few", [True, False])
def test_the_loss_is_of_other_texts(monkeypatch, span, few):
    """Of dev texts; with few training texts, also of those that a regression on the other folds has not seen."""
    in_span(monkeypatch, span)
    monkeypatch.setattr(logistic, "FEW", 5000 if few else 10)
    x, y, classes, dev_x, dev_y = problem(3)
    found = fit_logistic(x, y, classes, dev_x, dev_y, [3.0])
    on_dev = log_loss(dev_y, regression(x, y, classes, 3.0).predict_proba(dev_x))
    held_out = np.zeros((len(y), classes))
    fold = np.random.default_rng(0).permutation(len(y)) % FOLDS
    for k in range(FOLDS):
        held_out[fold == k] = regression(x[fold != k], y[fold != k], classes, 3.0).predict_proba(x[fold == k])
    expected = (on_dev + log_loss(y, held_out)) / 2 if few else on_dev
    assert found.loss == pytest.approx(expected, abs=2e-3)
    assert abs(on_dev - log_loss(y, held_out)) > 0.02, "the two differ"


def test_many_weights_have_the_same_solution(monkeypatch):
    """Only the choice of the strength takes a short cut: it is on dev texts alone."""
    x, y, classes, dev_x, dev_y = problem(3)
    one = fit_logistic(x, y, classes, dev_x, dev_y, [3.0])
    monkeypatch.setattr(logistic, "MANY", 100)
    other = fit_logistic(x, y, classes, dev_x, dev_y, [3.0])
    torch.testing.assert_close(other.weight, one.weight, atol=0.02, rtol=0.02)
    logits = torch.from_numpy(dev_x @ other.weight.numpy()) + other.bias
    assert other.loss == pytest.approx(float(cross_entropy(logits, torch.from_numpy(dev_y))), abs=1e-5)


def test_the_strength_has_the_least_loss(monkeypatch):
    """On dev texts with many training texts, of dev and held-out texts with few."""
    x, y, classes, dev_x, dev_y = problem(3)
    for few in (True, False):
        monkeypatch.setattr(logistic, "FEW", 5000 if few else 10)
        best = fit_logistic(x, y, classes, dev_x, dev_y)
        losses = {strength: fit_logistic(x, y, classes, dev_x, dev_y, [strength]).loss for strength in STRENGTHS}
        assert best.strength == min(losses, key=losses.__getitem__)
        assert best.loss == pytest.approx(losses[best.strength], abs=2e-3)
    assert STRENGTHS[0] < best.strength < STRENGTHS[-1], "there is something to choose"


def test_the_same_twice():
    one, other = (fit_logistic(*problem(3)) for _ in range(2))
    assert torch.equal(one.weight, other.weight)
    assert one.loss == other.loss


def test_texts_in_another_order():
    x, y, classes, dev_x, dev_y = problem(3)
    order = np.random.default_rng(1).permutation(len(y))
    one = fit_logistic(x, y, classes, dev_x, dev_y, [1.0])
    other = fit_logistic(x[order], y[order], classes, dev_x, dev_y, [1.0])
    torch.testing.assert_close(other.weight, one.weight, atol=2e-3, rtol=0)


def test_features_that_no_text_has_weigh_nothing():
    x, y, classes, dev_x, dev_y = problem(3)
    wider = [csr_array((part.data, part.indices, part.indptr), (part.shape[0], 250)) for part in (x, dev_x)]
    found = fit_logistic(wider[0], y, classes, wider[1], dev_y, [1.0])
    assert not found.weight[200:].any()
    torch.testing.assert_close(found.weight[:200], fit_logistic(x, y, classes, dev_x, dev_y, [1.0]).weight)


@pytest.mark.parametrize("span", [True, False])
def test_many_equal_texts(monkeypatch, span):
    """The products of texts with each other are singular."""
    in_span(monkeypatch, span)
    x, y, classes, dev_x, dev_y = problem(3, texts=20)
    some = np.random.default_rng(0).integers(0, 20, 300)
    found = fit_logistic(x[some], y[some], classes, dev_x, dev_y, [0.3])
    theirs = regression(x[some], y[some], classes, 0.3)
    mine = (torch.from_numpy(dev_x @ found.weight.numpy()) + found.bias).softmax(-1)
    np.testing.assert_allclose(mine, theirs.predict_proba(dev_x), atol=5e-3)


def test_no_features_leave_the_shares_of_the_classes():
    """As where no n-gram occurs in two texts."""
    y = np.array([0, 1, 1, 1] * 5)
    found = fit_logistic(csr_array((20, 0), dtype=np.float32), y, 2, csr_array((4, 0), dtype=np.float32), y[:4])
    assert found.weight.shape == (0, 2)
    torch.testing.assert_close(found.bias.softmax(-1), torch.tensor([0.25, 0.75]), atol=1e-3, rtol=0)


@pytest.mark.parametrize("heat", TEMPERATURES[4:-4:6])
def test_the_best_temperature(heat):
    """That of the scores that the labels were drawn by; no other has a smaller loss."""
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(20_000, 3, generator=generator)
    labels = torch.multinomial(logits.softmax(-1), 1, generator=generator)[:, 0]
    best = best_temperature(logits * heat, labels)
    assert best == pytest.approx(heat, rel=0.2)
    assert cross_entropy(logits * heat / best, labels) <= min(
        cross_entropy(logits * heat / each, labels) for each in TEMPERATURES
    )
    assert best_temperature(logits, (-logits).argmax(-1)) == TEMPERATURES[-1], "scores that are wrong count least"


def test_a_few_right_texts_prove_no_certainty():
    """The share of wrong texts may be 1 of 6, with 4 right ones (Laplace)."""
    logits, labels = torch.tensor([[3.0, 0.0]] * 4), torch.zeros(4, dtype=torch.long)
    [sure, _] = (logits[0] / best_temperature(logits, labels)).softmax(-1).tolist()
    assert 0.8 < sure < 0.95
    many = logits.repeat(500, 1), labels.repeat(500)
    assert best_temperature(*many) < best_temperature(logits, labels)


def test_products_of_texts_in_blocks_of_features(monkeypatch):
    in_span(monkeypatch, True)
    x, y, classes, dev_x, dev_y = problem(3)
    whole = fit_logistic(x, y, classes, dev_x, dev_y, [1.0])
    monkeypatch.setattr(logistic, "BLOCK", 7)
    torch.testing.assert_close(fit_logistic(x, y, classes, dev_x, dev_y, [1.0]).weight, whole.weight)
