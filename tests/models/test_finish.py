"""The end of training: n-grams beside trees, their weights in the sum, and the temperature."""

import asyncio
import json

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from tests.models.building import SIZES, documents
from tests.models.toy import toy_corpus
from tests.serve.running import ask, running
from treetext.data import DOCUMENTS, PAIRS, BadInput
from treetext.data.batches import Texts
from treetext.evaluation import evaluate
from treetext.models import StructuredDocuments, StructuredPairs, load_model, save_model
from treetext.models.bag_of_words import BagOfWords, BagOfWordsPairs, BagOfWordsSettings
from treetext.models.logistic import TEMPERATURES, best_temperature, smoothed_loss
from treetext.models.wide import Wide, WideSettings
from treetext.serve import make_app

MODELS = {DOCUMENTS: StructuredDocuments, PAIRS: StructuredPairs}


@pytest.fixture(params=MODELS, ids=str)
def corpus(request, tmp_path):
    return toy_corpus(request.param, tmp_path / "toy")


def unfinished(corpus, **settings):
    """With random weights, as if training by gradients had just ended."""
    cls = MODELS[corpus.task]
    torch.manual_seed(0)
    vocabulary = {"min_count": 1, "vectors": "random"}
    return cls.for_corpus(cls.Settings(**{**SIZES, "vocabulary": vocabulary, **settings}), corpus).eval()


@pytest.fixture
def finished(corpus):
    model = unfinished(corpus, wide={})
    model.finish(corpus)
    return model


def outputs(model, corpus, split="dev"):
    """The logits of all texts, those of each part, and the labels."""
    ran = list(model.run(Texts.from_corpus(corpus, corpus.rows[split], model.labels)))
    parts = {name: torch.cat([each.output.parts[name] for each in ran]) for name in ran[0].output.parts}
    return torch.cat([each.output.logits for each in ran]), parts, torch.cat([each.batch.labels for each in ran])


def loss(logits, labels):
    return smoothed_loss(logits, labels)


def test_the_ngrams_come_last(corpus):
    said, model = [], unfinished(corpus, wide={})
    assert model.wide is None
    assert outputs(model, corpus)[1] == {}
    model.finish(corpus, say=said.append)
    assert model.wide is not None
    [line] = said
    shares = [float(part.split()[-1]) for part in line.partition("in the sum: ")[2].split(", ")]
    assert line.startswith(f"n-grams: {len(model.wide.ngrams):,} of ")
    assert sum(shares) == pytest.approx(1)
    assert set(outputs(model, corpus)[1]) == {"n-grams", "trees"}
    assert not model.wide.weight.requires_grad


def test_ngrams_of_words_are_the_bag_of_words(corpus):
    model = unfinished(corpus, wide={"characters": False})
    model.finish(corpus)
    system = BagOfWords if corpus.task == DOCUMENTS else BagOfWordsPairs
    alone = system.for_corpus(system.Settings(), corpus)
    alone.fit(corpus)
    assert model.wide.ngrams.names == alone.wide.ngrams.names
    assert torch.equal(model.wide.weight, alone.wide.weight)
    assert torch.equal(model.wide.bias, alone.wide.bias)
    _, parts, _ = outputs(model, corpus, "test")
    scale = model.wide.scales[0] / model.temperature
    torch.testing.assert_close(parts["n-grams"], scale * outputs(alone, corpus, "test")[0])
    assert parts["n-grams"].std() > 0.1


def test_class_weights_reach_all_that_is_chosen(corpus, finished):
    """The weights of n-grams, those of the parts, and the temperature."""
    model, weights = unfinished(corpus, wide={}), torch.tensor([50.0, 0.5, 0.5])
    model.finish(corpus, class_weights=weights)
    expected, _ = Wide.fitted(WideSettings(), corpus, corpus.classes, class_weights=weights)
    assert torch.equal(model.wide.weight, expected.weight)
    assert not torch.equal(model.wide.bias, finished.wide.bias)
    other = unfinished(corpus)
    other.wide = expected
    _, parts, labels = outputs(other, corpus)
    expected.balance(parts["n-grams"], parts["trees"], labels, weights)
    assert torch.equal(model.wide.scales, expected.scales)
    assert not torch.equal(model.wide.scales, finished.wide.scales)
    assert model.temperature == best_temperature(outputs(other, corpus)[0], labels, weights)


def test_the_trees_stay_as_they_were(corpus, finished):
    before = unfinished(corpus, wide={}).state_dict()
    assert {name for name in finished.state_dict() if not name.startswith("wide.")} == set(before)
    assert all(torch.equal(finished.state_dict()[name], before[name]) for name in before)


def test_the_whole_is_never_worse_than_a_part(corpus, finished):
    """By the log loss on dev data, whatever the temperature of a part alone."""
    logits, parts, labels = outputs(finished, corpus)
    alone = {**parts, "trees unweighted": outputs(unfinished(corpus), corpus)[0]}
    for name, part in alone.items():
        assert part.any()
        assert loss(logits, labels) <= min(loss(part / heat, labels) for heat in TEMPERATURES) + 0.01, name
    torch.testing.assert_close(parts["n-grams"] + parts["trees"], logits)


def test_the_temperature_has_the_least_loss(corpus):
    model = unfinished(corpus)
    model.finish(corpus)
    logits, _, labels = outputs(model, corpus)
    raw = logits * model.temperature
    assert model.temperature == best_temperature(raw, labels) != 1
    assert loss(logits, labels) < loss(raw, labels)
    before = model.temperature
    model.finish(corpus)
    assert model.temperature == before, "it is not of what it has divided"


def test_finishing_again_is_the_same(corpus, finished):
    before, heat = {name: value.clone() for name, value in finished.state_dict().items()}, finished.temperature
    finished.finish(corpus)
    assert finished.temperature == heat
    assert all(torch.equal(value, before[name]) for name, value in finished.state_dict().items())


def test_a_saved_model_is_the_same(corpus, finished, tmp_path):
    save_model(finished, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.temperature == finished.temperature
    for split in ("dev", "test"):
        mine, parts, _ = outputs(finished, corpus, split)
        theirs, other, _ = outputs(again, corpus, split)
        assert torch.equal(mine, theirs)
        assert all(torch.equal(parts[name], other[name]) for name in parts)
    texts = [corpus.encoded.document(row) for row in corpus.whole("test").tolist()]
    assert again.predict_tokens(texts) == finished.predict_tokens(texts)
    for one, other in zip(again.parse_tokens(texts), finished.parse_tokens(texts), strict=True):
        assert one.evidence == other.evidence
        assert one.to_dict() == other.to_dict()


def test_the_temperature_is_the_same_everywhere(tmp_path):
    """It changes probabilities, in `predict`, `parse`, `evaluate` and the server alike, and no label."""
    corpus = toy_corpus(DOCUMENTS, tmp_path / "toy")
    model = documents()
    texts = [corpus.encoded.document(row) for row in corpus.whole("test").tolist()]
    plain, [before] = model.predict_tokens(texts), [evaluate(model, corpus)]
    logits, _, labels = outputs(model, corpus, "test")
    model.temperature = 4.0
    save_model(model, tmp_path / "model")
    assert json.loads((tmp_path / "model" / "config.json").read_text())["temperature"] == 4.0
    warm = load_model(tmp_path / "model")
    assert warm.temperature == 4.0
    predicted, parsed = warm.predict_tokens(texts), warm.parse_tokens(texts)
    assert [each.label for each in predicted] == [each.label for each in plain]
    for one, other, cold in zip(predicted, parsed, plain, strict=True):
        assert one == other.prediction
        expected = torch.tensor(list(cold.probabilities.values())).log().div(4).softmax(-1)
        assert list(one.probabilities.values()) == pytest.approx(expected.tolist(), abs=1e-5)
        assert one.probability < cold.probability
    after = evaluate(warm, corpus)
    assert after.accuracy == before.accuracy
    whole = len(labels) * float(cross_entropy(logits / 4, labels)) - np.log(warm.prior[warm.labels.index("good")])
    assert after.log_loss == pytest.approx(whole / (len(labels) + 1), abs=1e-5), "the last text has no words"
    assert after.log_loss != pytest.approx(before.log_loss, abs=1e-3)
    typed = [" ".join(word for words in text for word in words) for text in texts]
    for found, expected in zip(asyncio.run(answers(warm, typed)), warm.predict(typed), strict=True):
        assert found["probabilities"] == pytest.approx(expected.probabilities, abs=1e-6)


async def answers(model, texts):
    async with running(make_app(model)) as app:
        answer = await ask(app, "POST", "/v1/predict", {"texts": texts})
        return answer.json()["predictions"]


@pytest.mark.parametrize("wrong", [0, -1, "warm"])
def test_a_wrong_temperature_is_refused(tmp_path, wrong):
    save_model(documents(), tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "temperature": wrong}))
    with pytest.raises(BadInput, match=r"config\.json: temperature: "):
        load_model(tmp_path / "model")


def test_models_of_other_kinds_have_a_temperature_too(tmp_path):
    corpus = toy_corpus(DOCUMENTS, tmp_path / "toy")
    model = BagOfWords.for_corpus(BagOfWordsSettings(strength=300.0), corpus)
    model.fit(corpus)
    model.finish(corpus)
    logits, _, labels = outputs(model, corpus)
    assert model.temperature == best_temperature(logits * model.temperature, labels)
