"""What models say of texts: labels with probabilities, and trees."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float32

from treetext.trees import Tree


class Prediction(NamedTuple):
    """The most probable label of a text."""

    label: str
    probability: float
    probabilities: dict[str, float]
    """Of all labels, in the order of the model's classes."""


class Weights(NamedTuple):
    """How much each word (or sentence) takes from which, for drawing and for analysis."""

    arcs: Float32[np.ndarray, "n n"]
    """At [i, j] the probability that i is the parent of j; with simple attention, the share that j takes from i."""
    roots: Float32[np.ndarray, "n"]
    """The probability that i is the root."""


class ParsedSentence(NamedTuple):
    """The words of a sentence, and the tree over them where the model has trees of words."""

    words: list[str]
    tree: Tree | None
    weights: Weights | None


class Parsed(NamedTuple):
    """A text with its label, its sentences and its trees; those of a pair are its two sentences."""

    prediction: Prediction
    sentences: list[ParsedSentence]
    tree: Tree | None
    """The tree over the sentences, where the model has one."""
    weights: Weights | None

    @property
    def label(self) -> str:
        """The most probable label."""
        return self.prediction.label

    @property
    def probability(self) -> float:
        """That of the label."""
        return self.prediction.probability

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain lists and dictionaries, for JSON."""
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
        }

    def to_conllu(self, name: str = "1") -> str:
        """Each sentence in CoNLL-U format, with the head of the sentence in its document as a comment."""
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
