"""The base class of all models: batches in, scores and trees out."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, overload

import numpy as np
import torch
from jaxtyping import Float, Float32, Int
from torch import Tensor, nn

from treetext.data import BadInput, Corpus, Progress, Task, Tokenizer
from treetext.data.batches import Batch, Batches, Texts, similar_lengths
from treetext.data.splits import Hashes
from treetext.models.logistic import best_temperature
from treetext.models.output import Output, Ran, TreeKind
from treetext.models.results import (
    Decoding,
    Parsed,
    ParsedSentence,
    Prediction,
    Vectors,
    check_decoding,
    decoded_level,
    sentence_vectors,
)
from treetext.models.settings import ModelSettings
from treetext.models.wide import Evidence
from treetext.nn import Replacement

MOST_WORDS = 50_000
Say = Callable[[str], object]
"""A callback that gets remarks for the user."""


class Model(nn.Module):
    """A classifier of texts.

    `labels` are the classes in the order of their scores. `prior` is the share of each class in training (default:
    uniform); it is the prediction for a text without words. `about` describes the origin of the model, for its card.
    """

    Settings: ClassVar[type[ModelSettings]]
    task: ClassVar[Task]
    by_gradients: ClassVar[bool] = True
    """Whether the model is trained by gradients. If not, `fit` trains it."""
    uses_gold: ClassVar[bool] = False
    """Whether `forward` reads the gold trees of a batch."""
    files: ClassVar[tuple[str, ...]] = ()
    """The files of a saved model in addition to its settings and weights: see `write_files`."""

    def __init__(
        self,
        settings: ModelSettings,
        labels: Sequence[str],
        tokenizer: Tokenizer | None = None,
        *,
        prior: Sequence[float] | None = None,
        about: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if len(labels) < 2 or len(set(labels)) < len(labels):
            raise ValueError(f"labels: expected two or more different classes, got {list(labels)}")
        self.settings, self.labels = settings, list(labels)
        self.tokenizer = tokenizer or Tokenizer()
        self.prior = [1 / len(labels)] * len(labels) if prior is None else list(prior)
        if len(self.prior) != len(labels):
            raise ValueError(f"prior: expected {len(labels)} probabilities, one for each label, got {len(self.prior)}")
        self.about = about or {}
        self.temperature = 1.0
        """It divides the logits of `run`, so that probabilities are calibrated: see `finish`."""
        self.splits: Hashes | None = None
        """The hashes of the texts that the model was trained and tested with, if they are known."""

    @abstractmethod
    def forward(
        self, batch: Batch, marginals: Mapping[str, Replacement] | None = None, reuse: Output | None = None
    ) -> Output:
        """The scores of the classes, and the outputs of the levels.

        `marginals` has functions that replace the marginals of a level's trees. `reuse` is an output for the same batch
        with the same marginals of words: a model may reuse its level of words instead of computing it again.
        """

    @classmethod
    def for_corpus(
        cls,
        settings: Any,
        corpus: Corpus,
        *,
        seed: int = 0,  # noqa: ARG003 (for models that draw other random numbers)
        progress: Progress | None = None,  # noqa: ARG003
        say: Say | None = None,  # noqa: ARG003
    ) -> Self:
        """An untrained model for the classes of a corpus. Weights come from torch's global generator."""
        return cls(settings, corpus.classes, corpus.tokenizer, prior=corpus.prior(corpus.classes))

    def fit(self, corpus: Corpus, progress: Progress | None = None) -> None:
        """Train on a corpus without gradients."""
        raise NotImplementedError(f"{type(self).__name__} is trained by gradients")

    def finish(
        self,
        corpus: Corpus,
        progress: Progress | None = None,  # noqa: ARG002 (for models that fit more)
        say: Say | None = None,  # noqa: ARG002
        class_weights: Float[Tensor, "classes"] | None = None,
    ) -> None:
        """After training, choose the temperature with the least log loss on dev data (Guo et al. 2017).

        `class_weights` has the weight of a text in the loss, for each class (default: 1).
        """
        self.temperature = 1.0
        texts = Texts.from_corpus(corpus, corpus.rows["dev"], self.labels)
        outputs = [(output.logits, batch.labels) for _, batch, output in self.run(texts)]
        logits, labels = (torch.cat(part) for part in zip(*outputs, strict=True))
        self.temperature = best_temperature(logits, labels, class_weights)

    @property
    def trees(self) -> dict[str, TreeKind]:
        """The levels (words, sentences) that have trees, and the kind of these trees."""
        return {}

    @property
    def sampled(self) -> list[str]:
        """The levels whose trees are sampled in training."""
        return []

    def anneal(self, progress: float) -> None:
        """Prepare a training step. `progress` is the share of the steps that are done."""

    @property
    def levels_with_trees(self) -> list[str]:
        """The levels that have trees."""
        return list(self.trees)

    @property
    def size(self) -> int:
        """The number of parameters, without word vectors."""
        return sum(parameter.numel() for parameter in self.parameters())

    def facts(self) -> dict[str, str]:
        """Facts by name, for the model card and reports."""
        return {"Parameters": f"{self.size:,}"}

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        return next((tensor.device for tensor in self.state_dict().values()), torch.device("cpu"))

    def word_ids(self, lexicon: Sequence[str]) -> Int[np.ndarray, "_"]:
        """The id of each word of a lexicon in batches of this model (default: its index)."""
        return np.arange(max(1, len(lexicon)))

    @property
    def known_words(self) -> Sequence[str]:
        """The words of the model's vocabulary, if it has one."""
        return ()

    def batches(self, texts: Texts, gold: bool = False) -> Batches:
        """The function that collates texts into batches for `forward`; `gold` includes gold trees in any case."""
        return Batches(texts, self.word_ids(texts.lexicon), gold or self.uses_gold)

    def evidence(self, sentences: list[list[str]], label: int) -> list[Evidence]:  # noqa: ARG002
        """The n-grams of a text that speak most for a label or against it, if the model knows n-grams.

        The words of the sentences are those that `read` gives.
        """
        return []

    def parts(self) -> dict[str, Any]:
        """The constructor's arguments for a model like this one, except settings, labels, tokenizer and prior."""
        return {}

    @property
    def saved_files(self) -> Sequence[str]:
        """The files that `write_files` writes: `files`, and those that only some models of this kind have."""
        return self.files

    def write_files(self, directory: Path) -> None:
        """Write all `saved_files` into a directory."""

    @classmethod
    def read_files(cls, directory: Path) -> dict[str, Any]:  # noqa: ARG003
        """Read the `parts` that `write_files` wrote."""
        return {}

    def untrained(self) -> Self:
        """The same model before training, with initial weights drawn by its seed and random word vectors."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(self.about.get("seed", 0)))
            fresh = type(self)(self.settings, self.labels, self.tokenizer, prior=self.prior, **self.parts())
        for tensor in self.state_dict().values():
            return fresh.to(tensor).eval()
        return fresh.eval()

    def tokens(self, text: Any) -> list[list[str]]:
        """The sentences of a text as lists of words, as typed. `read` gives what the model reads."""
        return self.task.tokens(text, self.tokenizer)

    def read(self, documents: Sequence[list[list[str]]]) -> Texts:
        """Tokenised texts as the model reads them: with words in lower case, if its tokenizer says so."""
        return Texts.from_words([self.tokenizer.read(sentences) for sentences in documents])

    def is_whole(self, document: list[list[str]]) -> bool:
        """Whether a tokenised text can be scored: a document with words, or a pair of two sentences with words."""
        return bool(self.task.is_whole(len(document)))

    def predict(self, texts: Sequence[Any], batch_size: int = 32, progress: Progress | None = None) -> list[Prediction]:
        """The label of each text. A text without words gets the most frequent label of the training data.

        A text is a string, a list of sentences, or a list of lists of words. For a model of pairs, it is a list or a
        tuple of two sentences, each a string or a list of words.
        """
        return self.predict_tokens(self._tokens(texts), batch_size, progress)

    def predict_tokens(
        self, documents: Sequence[list[list[str]]], batch_size: int = 32, progress: Progress | None = None
    ) -> list[Prediction]:
        """`predict` for texts that `tokens` has tokenised."""
        predictions = [self._prediction(self.prior)] * len(documents)
        for texts, _, output in self.run(self.read(documents), batch_size, progress=progress):
            for text, probabilities in zip(texts, _probabilities(output), strict=True):
                predictions[text] = self._prediction(probabilities)
        return predictions

    def parse(
        self,
        texts: Sequence[Any],
        decode: Decoding = "marginals",
        batch_size: int = 32,
        progress: Progress | None = None,
    ) -> list[Parsed]:
        """Label and parse texts: labels, sentences, words, trees, the marginals behind the trees, and n-grams.

        `decode` is what the decoded tree maximises over its arcs: the sum of the ``marginals`` (minimum Bayes risk),
        the sum of their logarithms (``log-marginals``), or the sum of the ``scores`` (the most probable tree).
        """
        return self.parse_tokens(self._tokens(texts), decode, batch_size, progress)

    def parse_tokens(
        self,
        documents: Sequence[list[list[str]]],
        decode: Decoding = "marginals",
        batch_size: int = 32,
        progress: Progress | None = None,
    ) -> list[Parsed]:
        """`parse` for texts that `tokens` has tokenised."""
        check_decoding(decode)
        parsed = [
            Parsed(self._prediction(self.prior), [ParsedSentence(words, None, None) for words in sentences], None, None)
            for sentences in documents
        ]
        for texts, batch, output in self.run(self.read(documents), batch_size, progress=progress):
            words = iter(decoded_level(output.levels.get("words"), batch.lengths, batch.order, decode))
            trees = decoded_level(output.levels.get("sentences"), batch.counts, batch.document_order, decode)
            for text, probabilities, tree in zip(texts, _probabilities(output), trees, strict=True):
                sentences = [ParsedSentence(sentence, *next(words)) for sentence in documents[text]]
                prediction = self._prediction(probabilities)
                label = self.labels.index(prediction.label)
                evidence = self.evidence(self.tokenizer.read(documents[text]), label)
                parsed[text] = Parsed(prediction, sentences, *tree, evidence)
        return parsed

    @overload
    def encode(
        self, texts: Sequence[Any], batch_size: int = ..., progress: Progress | None = ..., levels: Literal[False] = ...
    ) -> Float32[np.ndarray, "texts k"]: ...
    @overload
    def encode(
        self, texts: Sequence[Any], batch_size: int = ..., progress: Progress | None = ..., *, levels: Literal[True]
    ) -> list[Vectors]: ...
    def encode(
        self, texts: Sequence[Any], batch_size: int = 32, progress: Progress | None = None, levels: bool = False
    ) -> Any:
        """A vector for each text, composed of its words and sentences. A text without words gets zeros.

        The model classifies this vector; n-grams, if it knows any, also decide the label, but are not in the vector.
        With ``levels=True``, also the vectors of its sentences and words. Raises `BadInput` if the model has none.
        """
        run = self.encode_levels if levels else self.encode_tokens
        return run(self._tokens(texts), batch_size, progress)

    def encode_tokens(
        self, documents: Sequence[list[list[str]]], batch_size: int = 32, progress: Progress | None = None
    ) -> Float32[np.ndarray, "texts k"]:
        """`encode` for texts that `tokens` has tokenised."""
        vectors = np.zeros((len(documents), self._size("text")), np.float32)
        for texts, _, output in self.run(self.read(documents), batch_size, progress=progress):
            vectors[texts] = _vectors(output)
        return vectors

    def encode_levels(
        self, documents: Sequence[list[list[str]]], batch_size: int = 32, progress: Progress | None = None
    ) -> list[Vectors]:
        """`encode` with ``levels=True`` for texts that `tokens` has tokenised."""
        size, k = self._size("word"), self._size("text")
        vectors = [
            Vectors(
                np.zeros(k, np.float32),
                np.zeros((len(sentences), size), np.float32),
                [np.zeros((len(words), size), np.float32) for words in sentences],
            )
            for sentences in documents
        ]
        for texts, batch, output in self.run(self.read(documents), batch_size, progress=progress):
            pairs = iter(sentence_vectors(output.levels["words"], batch.lengths, batch.order))
            for text, vector in zip(texts, _vectors(output), strict=True):
                sentences, words = zip(*islice(pairs, len(documents[text])), strict=True)
                vectors[text] = Vectors(vector.copy(), np.stack(sentences), list(words))
        return vectors

    @property
    def vector_size(self) -> int | None:
        """The size of the vectors of texts, or None if the model has none."""
        return self._sizes["text"]

    def run(
        self,
        texts: Texts,
        batch_size: int = 32,
        *,
        most_words: int | None = MOST_WORDS,
        marginals: Mapping[str, Replacement] | None = None,
        progress: Progress | None = None,
        doing: str = "texts",
    ) -> Iterator[Ran]:
        """Run on all texts that have words, in batches of similar length, without gradients and without dropout.

        A batch has at most `most_words` words, unless a single text has more. `progress` is a callback that gets
        `doing` and the number of texts done. This is the only loop that runs a model outside of training.
        """
        if batch_size < 1:
            raise ValueError(f"batch_size: expected 1 or more, got {batch_size}")
        whole = np.flatnonzero(self.task.is_whole(texts.sentences))
        if progress:
            progress(doing, len(texts) - len(whole))
        collate, device, training = self.batches(texts), self.device, self.training
        self.eval()
        try:
            for some in similar_lengths(texts, whole, batch_size, most_words):
                batch = collate(some).to(device)
                with torch.inference_mode():
                    output: Output = self(batch, marginals)
                yield Ran(some, batch, output.divided(self.temperature))
                if progress:
                    progress(doing, len(some))
        finally:
            self.train(training)

    def _tokens(self, texts: Sequence[Any]) -> list[list[list[str]]]:
        if isinstance(texts, str):
            raise TypeError("texts: expected a list of texts, got a string")
        documents = []
        for i, text in enumerate(texts):
            try:
                documents.append(self.tokens(text))
            except (TypeError, BadInput) as error:
                raise type(error)(f"texts[{i}]: {error}") from None
        return documents

    @cached_property
    def _sizes(self) -> dict[str, int | None]:
        """The sizes of the vectors of texts and words (and sentences), by a run on the sample of the task."""
        [(_, _, output)] = self.run(self.read([self.task.sample.sentences]))
        level = output.levels.get("words")
        return {
            "text": None if output.texts is None else output.texts.shape[-1],
            "word": None if level is None else level[0].words.shape[-1],
        }

    def _size(self, what: str) -> int:
        size = self._sizes[what]
        if size is None:
            expected = f"expected one that has them, such as structured-{self.task}"
            raise BadInput(f"{self.settings.kind}: a model without {what} vectors; {expected}")
        return size

    def _prediction(self, probabilities: Sequence[float]) -> Prediction:
        best = int(np.argmax(probabilities))
        return Prediction(self.labels[best], probabilities[best], dict(zip(self.labels, probabilities, strict=True)))


def _probabilities(output: Output) -> list[list[float]]:
    probabilities: list[list[float]] = output.logits.double().softmax(-1).tolist()
    return probabilities


def _vectors(output: Output) -> Float32[np.ndarray, "texts k"]:
    assert output.texts is not None
    vectors: np.ndarray = output.texts.float().cpu().numpy()
    return vectors
