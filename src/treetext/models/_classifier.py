"""What all classifiers share: words in, labels and trees out; saving and loading."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import torch
from jaxtyping import Float, Float32
from torch import Tensor, nn

from treetext.models._results import Parsed, ParsedSentence, Prediction, Weights
from treetext.models._settings import ModelSettings
from treetext.nn import Chunks, Composed, Dropout, Level
from treetext.text import PAD, Batch, Tokenizer, Vocabulary, batch
from treetext.trees import Tree, TreeDistribution

Decoding = Literal["marginals", "log-marginals", "scores"]
Progress = Callable[[int], object]
"""Is told how many more texts are done."""
MOST_WORDS = 50_000  # in a batch of predictions, unless a single text has more


class Scored(NamedTuple):
    """Scores of the classes, and what each chunk of sentences and each group of documents became."""

    logits: Float[Tensor, "b classes"]
    words: list[Composed]
    sentences: list[Composed]


class Classifier(nn.Module):
    """The base of `DocumentClassifier` and `PairClassifier`.

    `labels` are the classes in the order of their scores; `prior` says how frequent each was in training, which is
    the prediction for a text without words. `about` says where the model comes from, for its card.
    """

    Settings: ClassVar[type[ModelSettings]]
    words: Level

    def __init__(
        self,
        settings: ModelSettings,
        vocabulary: Vocabulary,
        labels: Sequence[str],
        tokenizer: Tokenizer | None = None,
        *,
        prior: Sequence[float] | None = None,
        vectors: Float32[np.ndarray, "words size"] | None = None,
        about: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if len(labels) < 2 or len(set(labels)) < len(labels):
            raise ValueError(f"labels: expected two or more different classes, got {list(labels)}")
        self.settings, self.vocabulary, self.labels = settings, vocabulary, list(labels)
        self.tokenizer = tokenizer or Tokenizer()
        self.prior = [1 / len(labels)] * len(labels) if prior is None else list(prior)
        if len(self.prior) != len(labels):
            raise ValueError(f"prior: expected {len(labels)} probabilities, one for each label, got {len(self.prior)}")
        if vectors is not None and vectors.shape != (len(vocabulary), settings.embedding):
            expected = f"{len(vocabulary)} vectors of {settings.embedding} numbers"
            raise ValueError(f"vectors: expected {expected}, as vocabulary and settings say, got {vectors.shape}")
        self.about = about or {}
        # Sparse gradients: a step changes the vectors of the words in its batch alone.
        self.embedding = nn.Embedding(len(vocabulary), settings.embedding, padding_idx=PAD, sparse=True)
        self.dropout = Dropout(settings.dropout)
        with torch.no_grad():
            self.embedding.weight.normal_(0, 0.1)
            if vectors is not None:
                self.embedding.weight.copy_(torch.from_numpy(vectors))
            self.embedding.weight[PAD] = 0

    @abstractmethod
    def score(self, batch: Any, words: list[Composed] | None = None) -> Scored:
        """Scores of the classes for what `batch` gives; `words` are those of `words_in_context`, if at hand."""

    def words_in_context(self, batch: Any) -> list[Composed]:
        """What each chunk of sentences becomes."""
        return self.words.compose(*self.embedded(batch.sentences))

    @staticmethod
    @abstractmethod
    def batch(sentences: Batch) -> Any:
        """All tensors that `score` takes, the given ones of the sentences first."""

    @staticmethod
    @abstractmethod
    def is_whole(sentences: Any) -> Any:
        """Whether texts of so many sentences (a number, or an array of them) can be scored."""

    @abstractmethod
    def tokens(self, text: Any) -> list[list[str]]:
        """The sentences of a text, as words."""

    def forward(self, batch: Any) -> Float[Tensor, "b classes"]:
        """Scores of the classes."""
        return self.score(batch).logits

    def embedded(self, sentences: Batch) -> tuple[Float[Tensor, "p d"], Chunks]:
        """The vectors of all words, for `Level.compose`."""
        flat = self.dropout(self.embedding(torch.cat([ids.T.flatten() for ids in sentences.words])))
        return flat, Chunks.of([ids.shape for ids in sentences.words], sentences.lengths)

    @property
    def size(self) -> int:
        """How many parameters there are, without the word vectors."""
        return sum(p.numel() for name, p in self.named_parameters() if not name.startswith("embedding."))

    def predict(self, texts: Sequence[Any], batch_size: int = 32, progress: Progress | None = None) -> list[Prediction]:
        """The label of each text; a text without words gets that which was most frequent in training.

        A text is a string, a list of sentences, or a list of lists of words; to a `PairClassifier`, two sentences,
        each a string or a list of words.
        """
        tokens = self._tokens(texts)
        found = [self._prediction(self.prior)] * len(tokens)
        for rows, _, scored in self._scored(tokens, batch_size, progress):
            for row, probabilities in zip(rows, _probabilities(scored), strict=True):
                found[row] = self._prediction(probabilities)
        return found

    def parse(
        self,
        texts: Sequence[Any],
        decode: Decoding = "marginals",
        batch_size: int = 32,
        progress: Progress | None = None,
    ) -> list[Parsed]:
        """Labels, sentences, words, trees, and the weights behind the trees.

        A tree is the best by the sum of the `marginals` of its arcs (minimum Bayes risk), by the sum of their
        logarithms (`log-marginals`), or by the `scores` (the most probable tree).
        """
        if decode not in ("marginals", "log-marginals", "scores"):
            raise ValueError(f"decode: expected marginals, log-marginals or scores, got {decode!r}")
        tokens = self._tokens(texts)
        found = [
            Parsed(self._prediction(self.prior), [ParsedSentence(words, None, None) for words in sentences], None, None)
            for sentences in tokens
        ]
        for rows, tensors, scored in self._scored(tokens, batch_size, progress):
            word_trees = _trees(scored.words, tensors.sentences.lengths, decode)
            ordered = iter([word_trees[i] for i in tensors.sentences.order.tolist()])
            trees: list[tuple[Tree | None, Weights | None]] = [(None, None)] * len(rows)
            if scored.sentences:
                grouped = _trees(scored.sentences, tensors.counts, decode)
                trees = [grouped[i] for i in tensors.order.tolist()]
            for row, probabilities, tree in zip(rows, _probabilities(scored), trees, strict=True):
                sentences = [ParsedSentence(words, *next(ordered)) for words in tokens[row]]
                found[row] = Parsed(self._prediction(probabilities), sentences, *tree)
        return found

    def save_pretrained(self, directory: str | Path, *, replace: bool = False, half: bool = False) -> None:
        """Write the model to a directory, which appears when it is whole; `replace` one that is already a model.

        With `half`, the weights are rounded to half precision, which takes half the space; they load as float32.
        """
        from treetext.models._files import save  # which imports this module, as do those below

        save(self, Path(directory), replace, half)

    @classmethod
    def from_pretrained(cls, name: str | Path) -> Self:
        """The model of a directory or else, by that name, of those that ship with treetext or on the hub."""
        from treetext.models._files import load

        return load(cls, name)

    def push_to_hub(self, name: str, **options: Any) -> str:
        """Upload the model to the Hugging Face hub; `options` are those of ``huggingface_hub.upload_folder``."""
        from treetext.models._files import push

        return push(self, name, options)

    def _tokens(self, texts: Sequence[Any]) -> list[list[list[str]]]:
        if isinstance(texts, str):
            raise TypeError("texts: expected a list of texts, got a string")
        found = []
        for i, text in enumerate(texts):
            try:
                found.append(self.tokens(text))
            except (TypeError, ValueError) as error:
                raise type(error)(f"texts[{i}]: {error}") from None
        return found

    def _scored(
        self, tokens: list[list[list[str]]], batch_size: int, progress: Progress | None
    ) -> Iterator[tuple[list[int], Any, Scored]]:
        """Texts in batches of similar length: which these are, their tensors, and their scores."""
        if batch_size < 1:
            raise ValueError(f"batch_size: expected 1 or more, got {batch_size}")
        whole = [row for row, sentences in enumerate(tokens) if self.is_whole(len(sentences))]
        if progress:
            progress(len(tokens) - len(whole))
        training = self.training
        self.eval()
        try:
            for rows in _similar(whole, tokens, batch_size):
                documents = [self._ids(tokens[row]) for row in rows]
                tensors = self.batch(batch(documents, np.full(len(rows), -1), rows))
                tensors = moved(tensors, self.embedding.weight.device)
                with torch.inference_mode():
                    scored = self.score(tensors)
                yield rows, tensors, scored
                if progress:
                    progress(len(rows))
        finally:
            self.train(training)

    def _ids(self, sentences: list[list[str]]) -> tuple[np.ndarray, np.ndarray]:
        lengths = [len(sentence) for sentence in sentences]
        return np.array(self.vocabulary.ids(chain.from_iterable(sentences))), np.array(lengths)

    def _prediction(self, probabilities: Sequence[float]) -> Prediction:
        best = int(np.argmax(probabilities))
        return Prediction(self.labels[best], probabilities[best], dict(zip(self.labels, probabilities, strict=True)))


def moved(tensors: Any, device: torch.device) -> Any:
    """The same named tuples and lists, with all tensors on a device."""
    if isinstance(tensors, Tensor):
        return tensors.to(device)
    parts = [moved(part, device) for part in tensors]
    return type(tensors)(*parts) if isinstance(tensors, tuple) else parts


def are_sentences(text: Any) -> bool:
    """Whether this is a list of sentences, each a string or a list of words."""
    return isinstance(text, list | tuple) and all(
        isinstance(side, str) or (isinstance(side, list) and all(isinstance(word, str) for word in side))
        for side in text
    )


def _probabilities(scored: Scored) -> list[list[float]]:
    probabilities: list[list[float]] = scored.logits.double().softmax(-1).tolist()
    return probabilities


def _similar(rows: list[int], tokens: list[list[list[str]]], batch_size: int) -> Iterator[list[int]]:
    """Batches of texts with about as many sentences, and no more words than fit."""
    words = {row: sum(map(len, tokens[row])) for row in rows}
    found, held = list[int](), 0
    for row in sorted(rows, key=lambda row: (len(tokens[row]), words[row])):
        if found and (len(found) == batch_size or held + words[row] > MOST_WORDS):
            yield found
            found, held = [], 0
        found.append(row)
        held += words[row]
    if found:
        yield found


def _trees(
    composed: list[Composed], lengths: list[Tensor], decode: Decoding
) -> list[tuple[Tree | None, Weights | None]]:
    """For each sequence of all chunks, the tree, if its level has trees, and the weights, if it has attention."""
    found: list[tuple[Tree | None, Weights | None]] = []
    for chunk, sizes in zip(composed, lengths, strict=True):
        if chunk.marginals is None:
            found += [(None, None)] * len(sizes)
            continue
        trees: Sequence[Tree | None] = [None] * len(sizes) if chunk.trees is None else _decoded(chunk.trees, decode)
        arcs, roots = (x.float().cpu().numpy() for x in chunk.marginals)
        for i, n in enumerate(sizes.tolist()):
            found.append((trees[i], Weights(arcs[i, :n, :n].copy(), roots[i, :n].copy())))
    return found


def _decoded(trees: TreeDistribution, decode: Decoding) -> Sequence[Tree]:
    single_root = trees.single_root
    if decode == "log-marginals":
        arcs, roots = trees.marginals
        trees = type(trees)(arcs.log(), roots.log(), trees.lengths, single_root)
    heads = trees.mbr() if decode == "marginals" else trees.mode()
    return [Tree.from_heads(each, single_root) for each in heads]
