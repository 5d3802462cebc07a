"""The results of models: labels with probabilities, trees, and vectors."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float32, Int
from torch import Tensor

from treetext.models.wide import Evidence
from treetext.nn import LevelOutput
from treetext.trees import Tree, TreeDistribution

Decoding = Literal["marginals", "log-marginals", "scores"]


class Prediction(NamedTuple):
    """The most probable label of a text."""

    label: str
    probability: float
    probabilities: dict[str, float]
    """The probabilities of all labels, in the order of the model's classes."""

    def top(self, k: int) -> "Prediction":
        """The same with only the `k` most probable labels (all, if there are fewer), the most probable one first."""
        ranked = sorted(self.probabilities.items(), key=lambda each: -each[1])
        return self._replace(probabilities=dict(ranked[:k]))


class Vectors(NamedTuple):
    """The vectors of a text at each level. Sentences and words are those of `Model.tokens`."""

    text: Float32[np.ndarray, "k"]
    sentences: Float32[np.ndarray, "sentences m"]
    """The vector of each sentence, composed of its own words only."""
    words: list[Float32[np.ndarray, "words m"]]
    """The vectors of the words of each sentence, in the context of that sentence."""


class Weights(NamedTuple):
    """The attention weights between the words (or sentences) of a sequence, for drawing and for analysis."""

    arcs: Float32[np.ndarray, "n n"]
    """At [i, j] the probability that i is the parent of j; with simple attention, the weight of i for j."""
    roots: Float32[np.ndarray, "n"]
    """The probability that i is the root."""


class ParsedSentence(NamedTuple):
    """The words of a sentence, and the tree over them if the model has trees over words."""

    words: list[str]
    tree: Tree | None
    weights: Weights | None


class Parsed(NamedTuple):
    """A text with its label, its sentences (two for a pair) and its trees."""

    prediction: Prediction
    sentences: list[ParsedSentence]
    tree: Tree | None
    """The tree over the sentences, if the model has one."""
    weights: Weights | None
    evidence: Sequence[Evidence] = ()
    """The n-grams that speak most for the label, and those against it, if the model knows n-grams."""

    @property
    def label(self) -> str:
        """The most probable label."""
        return self.prediction.label

    @property
    def probability(self) -> float:
        """The probability of the label."""
        return self.prediction.probability

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain lists and dictionaries, for JSON."""
        return {
            "label": self.label,
            "probability": self.probability,
            "probabilities": self.prediction.probabilities,
            "heads": self.tree and list(self.tree.heads),
            "weights": _plain(self.weights),
            "sentences": [
                {"words": s.words, "heads": s.tree and list(s.tree.heads), "weights": _plain(s.weights)}
                for s in self.sentences
            ],
            "evidence": [each._asdict() for each in self.evidence],
        }

    def to_conllu(self, name: str = "1") -> str:
        """The sentences in CoNLL-U format. A comment has the head of each sentence in its document."""
        blocks = []
        for i, sentence in enumerate(self.sentences):
            comments = [f"# newdoc id = {name}", f"# label = {self.label}"] if i == 0 else []
            comments += [f"# sent_id = {name}-{i + 1}", f"# text = {' '.join(sentence.words)}"]
            if self.tree:
                head = self.tree.heads[i]
                comments.append(f"# sent_head = {'root' if head < 0 else f'{name}-{head + 1}'}")
            blocks.append("\n".join([*comments, _rows(sentence)]))
        return "".join(blocks)


def _plain(weights: Weights | None) -> dict[str, Any] | None:
    return weights and {"arcs": weights.arcs.tolist(), "roots": weights.roots.tolist()}


def _rows(sentence: ParsedSentence) -> str:
    if sentence.tree:
        return sentence.tree.to_conllu(sentence.words)
    return "".join(f"{j}\t{word}" + "\t_" * 8 + "\n" for j, word in enumerate(sentence.words, start=1)) + "\n"


def check_decoding(decode: str) -> None:
    """Raise an error for an unknown way to decode."""
    if decode not in ("marginals", "log-marginals", "scores"):
        raise ValueError(f"decode: expected marginals, log-marginals or scores, got {decode!r}")


def decoded_level(
    level: list[LevelOutput] | None, lengths: list[Int[Tensor, "_"]], order: Int[Tensor, "_"], decode: Decoding
) -> list[tuple[Tree | None, Weights | None]]:
    """The tree (if the level has trees) and the weights (if it has attention) of each sequence of a level.

    `lengths` are the lengths in each bucket. `order` brings the sequences of all buckets into the order of the text.
    """
    if level is None:
        return [(None, None)] * len(order)
    parsed: list[tuple[Tree | None, Weights | None]] = []
    for bucket, sizes in zip(level, lengths, strict=True):
        if bucket.marginals is None:
            parsed += [(None, None)] * len(sizes)
            continue
        trees: Sequence[Tree | None] = [None] * len(sizes) if bucket.trees is None else _decoded(bucket.trees, decode)
        arcs, roots = (x.float().cpu().numpy() for x in bucket.marginals)
        for i, n in enumerate(sizes.tolist()):
            parsed.append((trees[i], Weights(arcs[i, :n, :n].copy(), roots[i, :n].copy())))
    return [parsed[i] for i in order.tolist()]


def sentence_vectors(
    level: list[LevelOutput], lengths: list[Int[Tensor, "_"]], order: Int[Tensor, "_"]
) -> list[tuple[Float32[np.ndarray, "m"], Float32[np.ndarray, "words m"]]]:
    """The vector of each sentence and those of its words, in the order of the text; arguments as of `decoded_level`."""
    vectors: list[tuple[np.ndarray, np.ndarray]] = []
    for bucket, sizes in zip(level, lengths, strict=True):
        sentences, words = (x.float().cpu().numpy() for x in (bucket.vectors, bucket.words))
        vectors += [(sentences[i].copy(), words[i, :n].copy()) for i, n in enumerate(sizes.tolist())]
    return [vectors[i] for i in order.tolist()]


def _decoded(trees: TreeDistribution, decode: Decoding) -> Sequence[Tree]:
    single_root = trees.single_root
    if decode == "log-marginals":
        arcs, roots = trees.marginals
        trees = type(trees)(arcs.log(), roots.log(), trees.lengths, single_root)
    heads = trees.mbr() if decode == "marginals" else trees.mode()
    return [Tree.from_heads(each, single_root) for each in heads]
