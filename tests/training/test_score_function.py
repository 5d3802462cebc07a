"""The score-function estimator: its mean is the gradient of the expected loss, found by enumerating all trees."""

from itertools import product

import pytest
import torch
from torch.nn.functional import cross_entropy

from tests.training.small import reviews, tiny, weights
from tests.trees.brute import all_trees
from treetext.data import open_corpus
from treetext.training import new_model, train
from treetext.training.module import Loaders
from treetext.training.score_function import score_function
from treetext.trees import Marginals

SAMPLED = {"estimator": "sampled"}
SCORES = ("parent", "child", "bilinear", "root.")
"""The parameters of which the scores of trees are made."""


def trees_of(heads):
    return lambda trees: Marginals.of(torch.tensor(heads), trees.arcs.dtype)


@pytest.mark.parametrize("levels", [["words"], ["sentences"], ["words", "sentences"]])
def test_its_mean_is_the_gradient_of_the_expected_loss(tmp_path, levels):
    """With a text of two sentences of three words."""
    data = reviews(tmp_path, train=[("a b . c d .", "good"), ("b b . d d .", "bad")])
    recipe = tiny(data, training__batch_size=1, **{f"model__{level}": SAMPLED for level in levels})
    corpus = open_corpus(recipe.data)
    model = new_model(recipe, corpus).double().eval()
    for seed, parameter in enumerate(model.parameters()):
        parameter.data = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(seed)).double()
    assert model.sampled == levels
    batch = next(iter(Loaders(corpus, model, recipe).train_dataloader()))
    assert [words.shape for words in batch.words] == [(2, 3)]
    words, sentences = all_trees(3, False, True), all_trees(2, False, True)
    choices = {"words": list(product(words, words)), "sentences": [(heads,) for heads in sentences]}
    expected_loss, mean, total = 0.0, 0.0, 0.0
    for chosen in product(*(choices[level] for level in levels)):
        output = model(batch, {level: trees_of(heads) for level, heads in zip(levels, chosen, strict=True)})
        log_prob = sum(
            output.levels[level][0].trees.log_prob(torch.tensor(heads)).sum()
            for level, heads in zip(levels, chosen, strict=True)
        )
        total += float(log_prob.detach().exp())
        expected_loss += log_prob.exp() * cross_entropy(output.logits, batch.labels).detach()
        mean += log_prob.exp().detach() * score_function(model, batch, output)
    assert total == pytest.approx(1), "all trees"
    parameters = [each for level in levels for each in model.get_submodule(level).attention.named_parameters()]
    scores = [parameter for name, parameter in parameters if name.startswith(SCORES)]
    wanted, estimated = (torch.autograd.grad(value, scores, retain_graph=True) for value in (expected_loss, mean))
    for one, other in zip(wanted, estimated, strict=True):
        assert one.abs().max() > 1e-6
        torch.testing.assert_close(one, other)


@pytest.mark.filterwarnings("ignore")
def test_scores_learn_from_samples(tmp_path):
    recipe = tiny(reviews(tmp_path), model__words=SAMPLED, model__sentences=SAMPLED, training__epochs=2)
    model = train(recipe, tmp_path / "model")
    first = new_model(recipe, open_corpus(recipe.data))
    for level in ("words", "sentences"):
        name = f"{level}.attention.bilinear.weight"
        assert weights(model)[name] != weights(first)[name]
