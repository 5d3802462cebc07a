"""What n-grams and trees contribute to the accuracy of a model."""

import numpy as np
import pytest

from tests.models.building import documents, documents_with_ngrams
from tests.models.toy import toy_corpus
from treetext.data import DOCUMENTS
from treetext.data.batches import Texts
from treetext.evaluation import Interval, evaluate
from treetext.show import points


@pytest.fixture
def corpus(tmp_path):
    return toy_corpus(DOCUMENTS, tmp_path / "toy")


def right(model, corpus, part):
    """Whether each text is labelled right by the logits of a part; a text without words gets the prior."""
    rows = corpus.rows["test"]
    predicted = np.full(len(rows), int(np.argmax(model.prior)))
    for texts, _, output in model.run(Texts.from_corpus(corpus, rows)):
        predicted[texts] = (output.logits if part == "all" else output.parts[part]).argmax(-1)
    return predicted == corpus.targets(model.labels)[rows]


def test_each_part_alone(corpus):
    model = documents_with_ngrams()
    model.prior = [0.2, 0.5, 0.3]
    found = evaluate(model, corpus)
    whole, ngrams, trees = (right(model, corpus, part) for part in ("all", "n-grams", "trees"))
    assert len({whole.mean(), ngrams.mean(), trees.mean()}) > 1, "they differ"
    assert found.accuracy == whole.mean()
    assert (found.parts.ngrams, found.parts.trees) == (ngrams.mean(), trees.mean())
    gain = found.parts.gain
    assert gain.value == pytest.approx(whole.mean() - ngrams.mean())
    assert gain.low <= gain.value <= gain.high
    assert found.to_dict()["parts"]["gain"] == {"value": gain.value, "low": gain.low, "high": gain.high}


def test_the_interval_is_of_paired_differences(corpus):
    """Where the trees change nothing, it is a point, however few texts there are."""
    model = documents_with_ngrams()
    for parameter in model.parameters():
        parameter.data.zero_()
    found = evaluate(model, corpus)
    assert found.parts.gain == Interval(0.0, 0.0, 0.0)
    assert found.parts.ngrams == found.accuracy
    assert found.parts.trees == evaluate_prior(model, corpus), "trees that say nothing predict the prior"


def evaluate_prior(model, corpus):
    return float((corpus.targets(model.labels)[corpus.rows["test"]] == int(np.argmax(model.prior))).mean())


def test_other_models_have_no_parts(corpus):
    found = evaluate(documents(), corpus)
    assert found.parts is None
    assert found.to_dict()["parts"] is None


def test_points():
    assert points(Interval(0.0123, -0.004, 0.0281)) == "+1.2 points (95% interval -0.4 to +2.8)"
    assert points(Interval(-0.5)) == "-50.0 points"
    assert points(Interval(None)) == "–"
