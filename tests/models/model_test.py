"""What holds of every model. The test of a system inherits it:

class TestHan(ModelTest):
    model = Han
    settings = HanSettings(embedding=8, hidden=6)
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from huggingface_hub import metadata_load
from torch.nn.functional import cross_entropy, pad

from tests.models.building import grown
from tests.models.toy import toy_corpus
from treetext.data import BadInput, Corpus
from treetext.data.batches import Batch, Texts
from treetext.models import Model, ModelSettings, Parsed, Weights, find_model, load_model, models, save_model
from treetext.trees import PAD, Marginals, Tree, TreeDistribution


class ModelTest:
    """A subclass gives the model and small settings; what the model cannot do, it says below."""

    model: ClassVar[type[Model]]
    settings: ClassVar[ModelSettings]
    learns: ClassVar[float] = 0.95
    """The share of the toy texts that the model labels right after training, at least."""
    steps: ClassVar[int] = 200
    """The steps of training by gradients that this takes at most, each on all texts."""
    has_weights: ClassVar[bool] = True
    """Whether training changes weights."""

    @pytest.fixture
    def corpus(self, tmp_path: Path) -> Corpus:
        return toy_corpus(self.model.task, tmp_path / "toy")

    @pytest.fixture
    def fresh(self, corpus: Corpus) -> Model:
        torch.manual_seed(7)
        made = self.model.for_corpus(self.settings, corpus, seed=7).eval()
        made.about = {"recipe_name": "toy", "seed": 7}
        return made

    @pytest.fixture
    def trained(self, fresh: Model, corpus: Corpus) -> Model:
        return train(fresh, corpus, self.steps)

    @pytest.fixture
    def drawn(self, fresh: Model, corpus: Corpus) -> Model:
        """With weights so large that nothing is nearly even; as trained, where weights are not to be drawn."""
        return grown(fresh, 0.5) if self.model.by_gradients else train(fresh, corpus, self.steps)

    @pytest.fixture
    def texts(self, corpus: Corpus) -> list[list[list[str]]]:
        """Tokenised texts, two of them with unknown words and with a long sentence."""
        rows = corpus.whole("test")
        known = [corpus.encoded.document(row) for row in rows.tolist()]
        strange = [["unheard", "of"] for _ in known[0]]
        long = [[*known[1][0], *known[2][0] * 12], *known[1][1:]]
        return [*known, strange, long]

    # Settings and construction

    def test_the_registry_finds_it(self) -> None:
        values = self.settings.model_dump(mode="json")
        assert models()[self.settings.kind] is self.model
        assert find_model(values) is self.model
        assert self.model.Settings.model_validate(values) == self.settings

    def test_is_made_for_a_corpus(self, fresh: Model, corpus: Corpus) -> None:
        assert type(fresh) is self.model
        assert fresh.settings == self.settings
        assert fresh.labels == corpus.classes == ["bad", "good", "so-so"]
        assert fresh.prior == corpus.prior(corpus.classes) == [0.25, 0.5, 0.25]
        assert vars(fresh.tokenizer) == vars(corpus.tokenizer)
        assert set(fresh.known_words) <= {*corpus.encoded.lexicon, "<pad>", "<unk>"}
        assert len(fresh.word_ids(corpus.encoded.lexicon)) == len(corpus.encoded.lexicon)
        assert fresh.device == torch.device("cpu")
        assert fresh.size >= 0
        assert all(isinstance(fact, str) for fact in fresh.facts().values())

    def test_the_seed_decides(self, fresh: Model, corpus: Corpus) -> None:
        torch.manual_seed(7)
        again = self.model.for_corpus(self.settings, corpus, seed=7)
        assert_same_bits(again, fresh)

    # Training

    def test_every_parameter_gets_a_gradient(self, drawn: Model, corpus: Corpus) -> None:
        if not self.model.by_gradients:
            assert not any(parameter.requires_grad for parameter in drawn.parameters())
            return
        batch = toy_batch(drawn.train(), corpus)
        cross_entropy(drawn(batch).logits, batch.labels).backward()
        for name, gradient in gradients(drawn).items():
            assert gradient.isfinite().all(), name
            assert gradient.any(), name
        with pytest.raises(NotImplementedError, match=f"{self.model.__name__} is trained by gradients"):
            drawn.fit(corpus)

    def test_learns_a_toy_set(self, trained: Model, corpus: Corpus) -> None:
        rows = corpus.whole("train").tolist()
        predicted = trained.predict_tokens([corpus.encoded.document(row) for row in rows])
        right = [corpus.encoded.label(row) == each.label for row, each in zip(rows, predicted, strict=True)]
        assert np.mean(right) >= self.learns

    def test_untrained_differs(self, trained: Model, texts: Any) -> None:
        state = torch.random.get_rng_state()
        fresh = trained.untrained()
        assert torch.equal(torch.random.get_rng_state(), state)
        assert type(fresh) is self.model
        assert not fresh.training
        for name in ("settings", "labels", "prior", "device", "size", "known_words"):
            assert getattr(fresh, name) == getattr(trained, name)
        assert_same_bits(fresh, trained.untrained())
        differs = fresh.predict_tokens(texts) != trained.predict_tokens(texts)
        assert differs == self.has_weights
        assert {v.dtype for v in trained.double().untrained().state_dict().values()} <= {torch.float64}

    # Batches

    def test_gives_an_output(self, drawn: Model, corpus: Corpus) -> None:
        batch = toy_batch(drawn, corpus)
        output = drawn(batch)
        assert output.logits.shape == (len(batch.labels), len(drawn.labels))
        assert output.logits.isfinite().all()
        assert output.texts is None or len(output.texts) == len(batch.labels)
        assert set(drawn.trees) <= set(output.levels) <= {"words", "sentences"}
        assert drawn.levels_with_trees == list(drawn.trees)
        for level, lengths in (("words", batch.lengths), ("sentences", batch.counts)):
            for bucket, n in zip(output.levels.get(level, ()), lengths, strict=level in output.levels):
                assert len(bucket.vectors) == len(bucket.words) == len(n)
                assert (bucket.trees is not None) == (level in drawn.trees)

    @pytest.mark.parametrize("double", [False, True])
    def test_the_same_alone_as_in_any_batch(self, drawn: Model, texts: Any, double: bool) -> None:
        tolerance = 1e-10 if double else 2e-5
        model = drawn.double() if double else drawn
        alone = [model.parse_tokens([text])[0] for text in texts]
        for order in (range(len(texts)), range(len(texts) - 1, -1, -1)):
            for batch_size in (1, 3, len(texts)):
                together = model.parse_tokens([texts[i] for i in order], batch_size=batch_size)
                for i, found in zip(order, together, strict=True):
                    assert [sentence.words for sentence in found.sentences] == texts[i]
                    assert_same_parse(found, alone[i], tolerance)

    def test_padding_is_invisible(self, drawn: Model, corpus: Corpus) -> None:
        """To the scores and to the gradients."""
        model = drawn.double()
        batch = toy_batch(model, corpus)
        results = []
        for each in (batch, widened(batch)):
            model.zero_grad()
            logits = model(each).logits
            if model.by_gradients:
                cross_entropy(logits, batch.labels).backward()
            results.append({"logits": logits.detach(), **gradients(model)})
        torch.testing.assert_close(results[0], results[1], rtol=1e-9, atol=1e-9)

    def test_other_marginals(self, drawn: Model, corpus: Corpus) -> None:
        """Replaced at one level, the others keep their own; words are reused where they are the same."""
        model = drawn.double()
        batch = toy_batch(model, corpus)
        with torch.no_grad():
            own = model(batch)
            ignored = dict.fromkeys({"words", "sentences"} - set(model.trees), uniform)
            assert torch.equal(model(batch, ignored).logits, own.logits)
            for level in model.trees:
                found = model(batch, {level: uniform})
                assert not torch.allclose(found.logits, own.logits)
                for name in model.trees:
                    for bucket in found.levels[name]:
                        expected = uniform(bucket.trees) if name == level else bucket.trees.marginals
                        torch.testing.assert_close(tuple(bucket.marginals), tuple(expected))
                same_words = own if level != "words" else found
                again = model(batch, {level: uniform}, same_words)
                torch.testing.assert_close(again.logits, found.logits)
                assert again.levels["words"] is same_words.levels["words"]

    # Texts

    def test_predicts_as_it_predicts_tokens_and_parses(self, drawn: Model) -> None:
        raw = [drawn.task.sample.text] * 2
        tokens = [drawn.tokens(text) for text in raw]
        assert tokens[0] == drawn.task.sample.sentences
        predicted = drawn.predict(raw)
        assert predicted == drawn.predict_tokens(tokens)
        assert predicted == [parsed.prediction for parsed in drawn.parse(raw)]
        assert predicted == [parsed.prediction for parsed in drawn.parse_tokens(tokens)]
        assert list(predicted[0].probabilities) == drawn.labels
        assert sum(predicted[0].probabilities.values()) == pytest.approx(1)

    def test_a_text_without_words_gets_the_prior(self, drawn: Model) -> None:
        empty = drawn.task.from_line("", "here")
        first, second = drawn.predict([empty, drawn.task.sample.text])
        assert (first.label, first.probability) == ("good", 0.5)
        assert list(first.probabilities.values()) == drawn.prior
        assert second.probabilities == pytest.approx(drawn.predict([drawn.task.sample.text])[0].probabilities, abs=1e-6)
        [parsed] = drawn.parse([empty])
        assert (parsed.prediction, parsed.sentences, parsed.tree, parsed.weights) == (first, [], None, None)
        assert not parsed.evidence

    def test_tells_the_ngrams_of_the_label(self, drawn: Model, texts: Any) -> None:
        """Those of the words that it reads; none without n-grams."""
        typed = [[[word.upper() for word in words] for words in text] for text in texts]
        for parsed, text in zip(drawn.parse_tokens(typed), texts, strict=True):
            label = drawn.labels.index(parsed.label)
            expected = drawn.evidence(text, label) if drawn.tokenizer.lowercase else parsed.evidence
            assert list(parsed.evidence) == expected
            assert parsed.to_dict()["evidence"] == [each._asdict() for each in parsed.evidence]

    # Vectors

    def test_encodes_alone_as_in_any_batch(self, drawn: Model, texts: Any) -> None:
        model = drawn.double()
        empty = model.task.from_line("", "here")
        if model.vector_size is None:
            for levels in (False, True):
                with pytest.raises(BadInput, match=r"^[a-z-]+: a model without (text|word) vectors; expected one"):
                    model.encode([empty], levels=levels)
            return
        [ran] = model.run(Texts.from_words(texts), len(texts))
        expected = np.zeros((len(texts), model.vector_size))
        expected[ran.texts] = ran.output.texts.numpy()
        assert (expected != 0).any(1).all()
        for order in (range(len(texts)), range(len(texts) - 1, -1, -1)):
            for batch_size in (1, 3, len(texts)):
                vectors = model.encode_tokens([texts[i] for i in order], batch_size)
                assert vectors.dtype == np.float32
                np.testing.assert_allclose(vectors, expected[list(order)], atol=1e-6)
        raw = [empty, model.task.sample.text]
        vectors = model.encode(raw)
        assert vectors.shape == (2, model.vector_size)
        assert not vectors[0].any()
        assert np.array_equal(vectors, model.encode_tokens([model.tokens(text) for text in raw]))
        assert model.encode([empty]).shape == (1, model.vector_size)
        assert model.encode([]).shape == (0, model.vector_size)

    def test_encodes_sentences_and_words(self, drawn: Model, texts: Any) -> None:
        model = drawn.double()
        [ran] = model.run(Texts.from_words(texts), len(texts))
        if ran.output.texts is None or "words" not in ran.output.levels:
            with pytest.raises(BadInput, match=r"^[a-z-]+: a model without (text|word) vectors; expected one"):
                model.encode([], levels=True)
            return
        sentences = torch.cat([bucket.vectors for bucket in ran.output.levels["words"]])[ran.batch.order]
        words = [
            vectors[:n]
            for bucket, lengths in zip(ran.output.levels["words"], ran.batch.lengths, strict=True)
            for vectors, n in zip(bucket.words, lengths.tolist(), strict=True)
        ]
        words = [words[i] for i in ran.batch.order.tolist()]
        encoded = model.encode_levels(texts, 2)
        for text, vector in zip(ran.texts, ran.output.texts.float(), strict=True):
            found = encoded[text]
            np.testing.assert_allclose(found.text, vector, atol=1e-6)
            assert {found.text.dtype, found.sentences.dtype, *(each.dtype for each in found.words)} == {
                np.dtype("float32")
            }
            assert [len(each) for each in found.words] == [len(sentence) for sentence in texts[text]]
            for sentence, each in zip(found.sentences, found.words, strict=True):
                np.testing.assert_allclose(sentence, sentences[0].float(), atol=1e-6)
                np.testing.assert_allclose(each, words.pop(0).float(), atol=1e-6)
                sentences = sentences[1:]
        assert not words
        sample, empty = model.encode([model.task.sample.text, model.task.from_line("", "here")], levels=True)
        assert len(sample.words[0]) == len(model.tokens(model.task.sample.text)[0])
        assert (empty.text.shape, empty.sentences.shape, empty.words) == (
            (model.vector_size,), (0, sentences.shape[1]), []
        )  # fmt: skip
        assert not empty.text.any()

    # Files

    @pytest.mark.parametrize("double", [False, True])
    def test_saves_and_loads_the_same_bits(self, drawn: Model, texts: Any, tmp_path: Path, double: bool) -> None:
        model = drawn.double() if double else drawn
        save_model(model, tmp_path / "a")
        found = load_model(tmp_path / "a")
        assert type(found) is self.model
        assert not found.training
        for name in ("settings", "labels", "prior", "about", "known_words"):
            assert getattr(found, name) == getattr(model, name)
        assert vars(found.tokenizer) == vars(model.tokenizer)
        assert_same_bits(found, model)
        assert found.predict_tokens(texts) == model.predict_tokens(texts)
        save_model(found, tmp_path / "b")
        assert contents(tmp_path / "b") == contents(tmp_path / "a")
        assert set(contents(tmp_path / "a")) == {"config.json", "model.safetensors", "README.md", *model.saved_files}

    def test_saves_in_half_precision(self, drawn: Model, texts: Any, tmp_path: Path) -> None:
        save_model(drawn, tmp_path / "half", half=True)
        found = load_model(tmp_path / "half")
        assert {values.dtype for values in found.state_dict().values()} <= {torch.float32}
        for mine, theirs in zip(drawn.predict_tokens(texts), found.predict_tokens(texts), strict=True):
            assert theirs.probabilities == pytest.approx(mine.probabilities, abs=0.05)

    def test_writes_a_model_card(self, drawn: Model, tmp_path: Path) -> None:
        save_model(drawn, tmp_path / "model")
        header = metadata_load(tmp_path / "model" / "README.md")
        assert (header["library_name"], header["language"]) == ("treetext", "en")
        card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
        for expected in (
            f"# {self.model.__name__}, a model by treetext",
            "one of 3 labels (`bad`, `good`, `so-so`)",
            "| Recipe | toy |",
            "| Seed | 7 |",
            *(f"| {name} | {fact} |" for name, fact in drawn.facts().items()),
        ):
            assert expected in card
        assert ("dependency trees" in card) == bool(drawn.trees)
        code, printed = card.split("```python\n")[1].split("```")[0], list[Any]()
        exec(code.replace("this/directory", str(tmp_path / "model")), {"print": lambda *values: printed.append(values)})
        assert printed[0][0] in drawn.labels


def train(model: Model, corpus: Corpus, steps: int) -> Model:
    """By the model's own `fit`; or by gradients, without dropout, until the model knows the texts."""
    if not model.by_gradients:
        model.fit(corpus)
        return model.eval()
    optimizer = torch.optim.Adam(model.parameters(), 0.03)
    batch, loss, step = toy_batch(model, corpus), math.inf, 0
    while loss > 0.05 and step < steps:
        optimizer.zero_grad()
        objective = cross_entropy(model(batch).logits, batch.labels)
        objective.backward()
        for parameter in model.parameters():
            parameter.grad = parameter.grad if parameter.grad is None else parameter.grad.to_dense()
        optimizer.step()
        loss, step = float(objective.detach()), step + 1
    return model.eval()


def toy_batch(model: Model, corpus: Corpus) -> Batch:
    """All texts to train on."""
    rows = corpus.whole("train")
    return model.batches(Texts.from_corpus(corpus, rows, corpus.classes))(range(len(rows)))


def widened(batch: Batch) -> Batch:
    """The same with more padding."""

    def wider(parts: list[Any] | None, columns: int, value: int) -> list[Any] | None:
        return None if parts is None else [pad(part, (0, columns), value=value) for part in parts]

    gold = batch.gold
    if gold is not None:
        words, sentences, parses = gold
        gold = gold._replace(
            words=wider(words, 3, PAD), sentences=wider(sentences, 2, PAD), parses=wider(parses, 6, PAD)
        )
    return batch._replace(words=wider(batch.words, 3, 0), documents=wider(batch.documents, 2, 0), gold=gold)


def gradients(model: Model) -> dict[str, torch.Tensor]:
    """Those of all parameters that have some to get."""
    found = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert None not in found.values(), found
    return {name: gradient.to_dense().clone() for name, gradient in found.items()}


def uniform(trees: TreeDistribution) -> Marginals:
    """The marginals where all trees are equally likely."""
    scores = torch.zeros_like(trees.arcs), torch.zeros_like(trees.roots)
    return type(trees)(*scores, trees.lengths, trees.single_root).marginals


def contents(directory: Path) -> dict[str, bytes]:
    """The files of a directory."""
    return {file.name: file.read_bytes() for file in directory.iterdir()}


def assert_same_bits(found: Model, expected: Model) -> None:
    """The same weights, of the same types."""
    mine, theirs = found.state_dict(), expected.state_dict()
    assert list(mine) == list(theirs)
    for name, values in mine.items():
        assert values.dtype == theirs[name].dtype, name
        assert torch.equal(values, theirs[name]), name


def assert_same_parse(found: Parsed, expected: Parsed, tolerance: float) -> None:
    """Probabilities and weights, and trees that are equally good (where two are, rounding chooses)."""
    assert list(found.prediction.probabilities) == list(expected.prediction.probabilities)
    assert found.prediction.probabilities == pytest.approx(expected.prediction.probabilities, abs=tolerance)
    parts: Sequence[Any] = [(found, expected), *zip(found.sentences, expected.sentences, strict=True)]
    for mine, theirs in parts:
        assert (mine.weights is None) == (theirs.weights is None)
        if mine.weights is not None:
            for x, y in zip(mine.weights, theirs.weights, strict=True):
                np.testing.assert_allclose(x, y, rtol=0, atol=max(tolerance, 1e-6))
        assert (mine.tree is None) == (theirs.tree is None)
        if mine.tree is not None:
            assert _value(mine.tree, theirs.weights) == pytest.approx(_value(theirs.tree, theirs.weights), abs=1e-5)


def _value(tree: Tree, weights: Weights) -> float:
    """The sum of the marginals of a tree."""
    return sum(float(weights.roots[j] if i < 0 else weights.arcs[i, j]) for j, i in enumerate(tree.heads))
