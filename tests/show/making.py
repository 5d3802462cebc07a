"""Parsed documents, made up."""

import numpy as np

from treetext.evaluation import score
from treetext.models import Parsed, ParsedSentence, Prediction, Weights
from treetext.show import Document
from treetext.trees import Tree

NASTY = [
    ["<script>alert(1)</script>", "</script>", "<!--", '"quoted"', "'s", "&amp;", "<img", "src=x", "onerror=alert(1)>"],
    ["שלום", "עולם", "טוב"],
    ["👩‍👩‍👧‍👦", "😀", "漢字", "Čeština", "e\u0301"],
]  # fmt: skip
LABELS = ["<b>bad</b>", 'go"od']


def random_weights(chance, n):
    shares = chance.dirichlet(np.full(n + 1, 0.3), n).T.astype(np.float32)
    np.fill_diagonal(shares[1:], 0)
    shares /= shares.sum(0)
    return Weights(shares[1:], shares[0])


def random_tree(chance, n):
    """Not all equally likely, but any tree is possible."""
    order = chance.permutation(n)
    heads = np.full(n, -1)
    for place, node in enumerate(order[1:], start=1):
        heads[node] = order[chance.integers(place)]
    return Tree.from_heads(heads)


def parsed(sentences, chance=None, labels=LABELS, predicted=0, trees=True):
    """A text with random trees."""
    chance = chance or np.random.default_rng(0)
    shares = [0.9 if i == predicted else 0.1 / (len(labels) - 1) for i in range(len(labels))]
    prediction = Prediction(labels[predicted], 0.9, dict(zip(labels, shares, strict=True)))

    def over(n):
        return (random_tree(chance, n), random_weights(chance, n)) if trees and n else (None, None)

    parts = [ParsedSentence(words, *over(len(words))) for words in sentences]
    return Parsed(prediction, parts, *over(len(sentences)))


def documents(count, sentences, chance, labels=LABELS):
    """As many documents, of given sentences; every third is wrong."""
    return [
        Document(
            parsed(sentences(i), chance, labels, predicted=i % len(labels)),
            labels[(i + (i % 3 == 0)) % len(labels)],
            f"made up, number {i}",
        )
        for i in range(count)
    ]


def evaluation(documents, labels=LABELS):
    targets = np.array([labels.index(document.label) for document in documents])
    shares = [[document.parsed.prediction.probabilities[label] for label in labels] for document in documents]
    return score("test", list(labels), targets, np.array(shares))
