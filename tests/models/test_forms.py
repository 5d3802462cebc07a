"""Structure vectors from the forms of words: against loops, and trees that know of nothing else."""

from typing import Any

import pytest
import torch
from pydantic import ValidationError

from tests.models.building import SIZES, grown
from tests.models.test_scores import scored
from treetext.models import DocumentClassifier, DocumentSettings, LevelSettings, PairClassifier, PairSettings
from treetext.models._forms import Forms, ending
from treetext.models._shrink import shrink
from treetext.text import Vocabulary

WORDS = ["<pad>", "<unk>", "the", "running", "walking", "gladly", "is", "sadly", "ng", "bright", "height", "a"]
TEXT = [["the", "running", "is", "bright"], ["a", "walking", "ng"], ["gladly"], ["sadly", "unknown"]]


def made(words: str = "endings", sentences: str = "words", **settings: Any) -> DocumentClassifier:
    levels = {"words": LevelSettings(structure_from=words), "sentences": LevelSettings(structure_from=sentences)}
    chosen = DocumentSettings(task="documents", **{**SIZES, **levels, **settings})
    model = grown(DocumentClassifier(chosen, Vocabulary(WORDS), ["bad", "good"]))
    return without_padding(model)


def without_padding(model: Any) -> Any:
    with torch.no_grad():
        for table in (model.word_forms, getattr(model, "sentence_forms", None)):
            if table is not None:
                table.table.weight[0] = 0
    return model.double()


def test_endings():
    assert [ending(word) for word in WORDS] == [
        "<pad>", "<unk>", "the", "-ng", "-ng", "-y", "is", "sadly", "ng", "-t", "-t", "a",
    ]  # fmt: skip


def test_words_with_the_same_ending_share_a_row():
    rows = Forms(Vocabulary(WORDS), 3, "endings", 1.0).rows.tolist()
    assert rows == [0, 1, 2, 3, 3, 4, 5, 6, 7, 8, 8, 9]
    assert Forms(Vocabulary(WORDS), 3, "words", 1.0).rows.tolist() == list(range(12))
    with pytest.raises(ValueError, match="source: expected words or endings, got 'stems'"):
        Forms(Vocabulary(WORDS), 3, "stems", 1.0)


@pytest.mark.parametrize("words", ["encoder", "words", "endings"])
@pytest.mark.parametrize("sentences", ["encoder", "words", "endings"])
@torch.no_grad()
def test_a_document_by_loops(words, sentences):
    model = made(words, sentences, layers=0)

    def rows(forms: Forms, sentence: list[str], source: str) -> torch.Tensor:
        order: list[str] = []
        for word in WORDS:
            form = ending(word) if source == "endings" else word
            order += [form] if form not in order else []
        known = [word if word in WORDS else "<unk>" for word in sentence]
        found = [order.index(ending(word) if source == "endings" else word) for word in known]
        return torch.stack([forms.table.weight[row] for row in found])

    vectors, structures = [], []
    for sentence in TEXT:
        ids = [WORDS.index(word) if word in WORDS else 1 for word in sentence]
        own = None if words == "encoder" else rows(model.word_forms, sentence, words).tanh()[None]
        vectors.append(model.words(model.embedding.weight[ids][None], structure=own).vectors[0])
        if sentences != "encoder":
            structures.append(sum(rows(model.sentence_forms, sentence, sentences)).tanh())
    own = torch.stack(structures)[None] if structures else None
    x = model.sentences(torch.stack(vectors)[None], structure=own).vectors[0]
    expected = model.classifier[-1].weight @ x + model.classifier[-1].bias
    torch.testing.assert_close(scored(model, [TEXT, TEXT[:2], TEXT[2:]]).logits[0], expected)


def test_trees_know_nothing_but_endings():
    """Words with the same ending have the same trees, whatever they mean; another ending has others."""
    model = made()
    one, other, third = (
        model.parse([[["the", word, "is", "bright"]]])[0].sentences[0] for word in ("running", "walking", "gladly")
    )
    assert (one.weights.arcs == other.weights.arcs).all()
    assert abs(one.weights.arcs - third.weights.arcs).max() > 1e-3
    by_words = made("words")
    one, other = (by_words.parse([[["the", word, "is"]]])[0].sentences[0] for word in ("running", "walking"))
    assert abs(one.weights.arcs - other.weights.arcs).max() > 1e-3


def test_every_table_learns():
    model = made().train()
    scored(model, [TEXT, TEXT[1:]]).logits.square().sum().backward()
    for forms in (model.word_forms, model.sentence_forms):
        gradient = forms.table.weight.grad
        assert gradient.isfinite().all()
        assert gradient[1:].abs().sum(1).count_nonzero() > 5
        assert not gradient[0].any()


def test_pairs_too(tmp_path):
    words = LevelSettings(structure_from="endings")
    chosen = PairSettings(task="pairs", **{**SIZES, "words": words})
    model = without_padding(grown(PairClassifier(chosen, Vocabulary(WORDS), ["no", "yes"])))
    running, walking = ([["the", word, "is"], ["a", word]] for word in ("running", "walking"))
    first, second = model.parse([running, walking])
    assert (first.sentences[0].weights.arcs == second.sentences[0].weights.arcs).all()
    assert first.prediction.probabilities != second.prediction.probabilities
    model.float().save_pretrained(tmp_path / "model")
    loaded = PairClassifier.from_pretrained(tmp_path / "model")
    assert loaded.predict([running]) == model.predict([running])


def test_a_smaller_vocabulary_keeps_its_forms():
    model = made()
    small = shrink(model, 7)
    text = [["the", "running", "is"], ["walking", "gladly"]]
    (large_parse,), (small_parse,) = model.parse([text]), small.parse([text])
    assert small_parse.prediction.probabilities == pytest.approx(large_parse.prediction.probabilities)
    assert [each.tree for each in small_parse.sentences] == [each.tree for each in large_parse.sentences]
    assert len(small.word_forms.table.weight) == 6
    assert len(small.sentence_forms.table.weight) == 7


def test_without_attention_there_is_nothing_to_find():
    with pytest.raises(ValidationError, match="structure_from: endings is for attention; got attention none"):
        LevelSettings(attention="none", structure_from="endings")


def test_a_level_says_what_it_lacks():
    model = made("endings", "encoder")
    with pytest.raises(ValueError, match="structure: expected structure vectors, got none"):
        model.words(torch.ones(1, 2, 6).double())
    with pytest.raises(ValueError, match="structure: expected none: the encoder makes them, got some"):
        model.sentences(torch.ones(1, 2, 8).double(), structure=torch.ones(1, 2, 6).double())
    with pytest.raises(ValueError, match="structure: expected shape"):
        model.words(torch.ones(1, 2, 6).double(), structure=torch.ones(1, 2, 5).double())
