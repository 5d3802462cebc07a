"""The hierarchical attention network: what holds of every model, its size, and its mathematics word by word."""

import torch

from tests.models.model_test import ModelTest
from treetext.data import Vocabulary
from treetext.data.batches import Texts
from treetext.models.han import Han, HanSettings


class TestHan(ModelTest):
    model = Han
    settings = HanSettings(embedding=8, hidden=6, attention=5)


def test_parameters_as_published():
    """273K in the paper's table; 272,255 with one bias for each gate, where torch has two."""
    size = Han(HanSettings(), list("12345"), vocabulary=Vocabulary(["<pad>", "<unk>", "a"])).size
    assert abs(size / 272_255 - 1) < 0.01


def test_against_loops():
    torch.manual_seed(0)
    words = ["<pad>", "<unk>", *"abcdef"]
    model = Han(HanSettings(embedding=4, hidden=3, attention=5), ["n", "y"], vocabulary=Vocabulary(words))
    model.double().eval()
    documents = [[list("abc"), list("fe"), ["d"]], [list("fedcba")]]
    batch = model.batches(Texts.from_words(documents))([0, 1])
    for document, logits in zip(documents, model(batch).logits, strict=True):
        sentences = []
        for sentence in document:
            vectors = model.embedding.weight[model.vocabulary.ids(sentence)]
            sentences.append(attended(model.words, vectors))
        text = attended(model.sentences, torch.stack(sentences))
        linear = model.classifier[-1]
        torch.testing.assert_close(logits, linear.weight @ text + linear.bias)


def attended(level, vectors):
    """Σ_i a_i h_i, where a_i is in proportion to exp(u · tanh(W h_i + b)), one state after the other."""
    there, back = states(level.rightward, vectors), states(level.leftward, vectors.flip(0))[::-1]
    hidden = [torch.cat(both) for both in zip(there, back, strict=True)]
    weights = [(level.context.weight[0] @ torch.tanh(level.project(h))).exp() for h in hidden]
    return sum(w * h for w, h in zip(weights, hidden, strict=True)) / sum(weights)


def states(gru, vectors):
    """Of a GRU as torch defines it: reset, update and new gates."""
    h, outputs = torch.zeros(gru.hidden_size, dtype=vectors.dtype), []
    for x in vectors:
        (r, z, n), (hr, hz, hn) = (
            (gru.weight_ih_l0 @ x + gru.bias_ih_l0).chunk(3),
            (gru.weight_hh_l0 @ h + gru.bias_hh_l0).chunk(3),
        )
        update = torch.sigmoid(z + hz)
        h = (1 - update) * torch.tanh(n + torch.sigmoid(r + hr) * hn) + update * h
        outputs.append(h)
    return outputs
