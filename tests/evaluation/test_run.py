"""The one loop over a corpus: every text with words once, in any batches the same, and only with models of its task."""

import numpy as np
import pytest
import torch

from tests.evaluation.conftest import make_model, pairs_model
from treetext.data import BadInput, open_corpus, reader
from treetext.evaluation import ablate, evaluate, gold_recovery, predictions, run
from treetext.evaluation.run import prior_classes


@pytest.fixture(scope="module")
def gaps(tmp_path_factory):
    """Texts of which every third has no words."""
    folder = tmp_path_factory.mktemp("gaps")
    rows = [f"{'w' * (i % 5 + 1)} b {i}. c d,{'xy'[i % 2]}" if i % 3 else ",y" for i in range(60)]
    (folder / "texts.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREETEXT_CACHE", str(folder))
        return open_corpus(reader("csv", path=str(folder / "texts.csv"), split=(0.4, 0.2, 0.4)))


def test_every_text_with_words_comes_once(gaps):
    model = make_model(gaps)
    for split, rows in gaps.rows.items():
        seen = [text for ran in run(model, gaps, split, batch_size=3) for text in ran.texts]
        assert len(seen) == len(set(seen))
        assert set(rows[seen]) == set(gaps.whole(split)) != set(rows), "indices into the rows of the split"


def test_labels_and_rows_are_those_of_the_split(gaps):
    model = make_model(gaps)
    for texts, batch, output in run(model, gaps, "dev"):
        rows = gaps.rows["dev"][texts]
        assert batch.rows.tolist() == rows.tolist()
        assert batch.labels.tolist() == gaps.targets(model.labels)[rows].tolist()
        assert output.logits.shape == (len(texts), 2)


@pytest.mark.parametrize("options", [{"batch_size": 1}, {"batch_size": 7}, {"most_words": 12}])
def test_batches_do_not_matter(gaps, options):
    model = make_model(gaps)

    def logits(**options):
        found = {}
        for texts, _, output in run(model, gaps, **options):
            found |= dict(zip(texts, output.logits.tolist(), strict=True))
        return [found[text] for text in sorted(found)]

    np.testing.assert_allclose(logits(**options), logits(), rtol=1e-4, atol=1e-5)


def test_at_most_so_many_words(gaps):
    for ran in run(make_model(gaps), gaps, most_words=12):
        assert gaps.encoded.sizes[gaps.rows["test"][ran.texts]].sum() <= 12


def test_progress_counts_all_texts(gaps):
    done = []
    list(run(make_model(gaps), gaps, progress=lambda *each: done.append(each), doing="something"))
    assert {what for what, _ in done} == {"something"}
    assert sum(n for _, n in done) == len(gaps.rows["test"]), "those without words included"


def test_neither_gradients_nor_dropout(gaps):
    model = make_model(gaps, dropout=0.9).train()
    for (_, _, one), (_, _, other) in zip(list(run(model, gaps)), list(run(model, gaps)), strict=True):
        assert torch.equal(one.logits, other.logits)
        assert not one.logits.requires_grad
    assert model.training, "as it was"


def test_texts_without_words_get_the_prior_s_class(gaps):
    model = make_model(gaps)
    model.prior = [0.1, 0.9]
    rows = gaps.rows["test"]
    assert prior_classes(model, gaps, "test").tolist() == [1] * len(rows)
    empty = ~np.isin(rows, gaps.whole("test"))
    assert predictions(model, gaps, "test")[empty].tolist() == [1] * empty.sum()


@pytest.mark.parametrize("measure", [evaluate, predictions, ablate, gold_recovery, run])
def test_a_model_of_another_task(hidden_trees, measure):
    """Such a model would score the documents that happen to have two sentences, and say nothing."""
    with pytest.raises(BadInput) as caught:
        measure(pairs_model(hidden_trees), hidden_trees, "test")
    problem = "model: a model of pairs, but hidden-trees has documents; expected a model of documents"
    assert str(caught.value) == problem
