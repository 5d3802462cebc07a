"""The documents of a report: what its list needs of each, and the rest packed until it is opened."""

import base64
import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from treetext.models import Classifier, Parsed, ParsedSentence, Weights
from treetext.training import Corpus
from treetext.trees import ROOT, Tree

LIKELY = 3
"""How many heads of a node are kept, at most, by their marginals."""


class Document(NamedTuple):
    """A text that a model has parsed, with what is known of it."""

    parsed: Parsed
    label: str | None = None
    name: str = ""
    """Where it comes from."""
    gold: Sequence[Sequence[int]] | None = None
    """The gold heads of the words of each sentence."""
    gold_sentences: Sequence[int] | None = None
    """The gold heads of the sentences."""


def parsed_documents(
    model: Classifier, corpus: Corpus, rows: Iterable[int], progress: Callable[[int], object] | None = None
) -> list[Document]:
    """Rows of a corpus, parsed; those without words, or pairs with one side alone, have no trees."""
    rows, encoded = list(rows), corpus.encoded
    texts = [encoded.document(row) for row in rows]
    nothing = ["", ""] if model.settings.task == "pairs" else ""
    found = model.parse([text if model.is_whole(len(text)) else nothing for text in texts], progress=progress)
    documents = []
    for row, text, parsed in zip(rows, texts, found, strict=True):
        if not parsed.sentences:
            parsed = parsed._replace(sentences=[ParsedSentence(words, None, None) for words in text])
        heads, ends = encoded.heads(row), np.cumsum([0, *encoded.lengths(row)]).tolist()
        gold = None if heads is None else [heads[start:end].tolist() for start, end in pairwise(ends)]
        over = encoded.sentence_heads(row)
        documents.append(
            Document(parsed, encoded.label(row), encoded.where(row), gold, None if over is None else over.tolist())
        )
    return documents


def packed(documents: Sequence[Document], labels: Sequence[str], most_bytes: int) -> dict[str, Any]:
    """What the page reads: documents, in order, as many as there is room for."""
    index = {label: i for i, label in enumerate(labels)}
    listed: list[dict[str, Any]] = []
    contents: list[str] = []
    room = most_bytes
    for document in documents:
        entry = _entry(document, index)
        content = json.dumps(_content(document), ensure_ascii=False, separators=(",", ":"))
        text = base64.b64encode(zlib.compress(content.encode(), 9)).decode()
        room -= len(text) + len(json.dumps(entry))
        if room < 0:
            break
        listed.append(entry)
        contents.append(text)
    return {"labels": list(labels), "documents": listed, "packed": contents}


def is_projective(parsed: Parsed) -> bool | None:
    """Whether the tree over the sentences has no crossing arcs; without it, whether no tree over words has any."""
    if parsed.tree is not None:
        return parsed.tree.projective
    trees = [sentence.tree for sentence in parsed.sentences if sentence.tree is not None]
    return all(tree.projective for tree in trees) if trees else None


def likely_heads(weights: Weights) -> list[list[int]]:
    """For each node, its likeliest heads, each followed by its marginal in percent; none below one percent."""
    shares = np.rint(100 * np.vstack([weights.roots, weights.arcs])).astype(int)
    best = np.argsort(-shares, axis=0, kind="stable")[:LIKELY]
    return [
        [number for head in heads if share[head] > 0 for number in (head - 1 if head else ROOT, share[head])]
        for heads, share in zip(best.T.tolist(), shares.T.tolist(), strict=True)
    ]


def _entry(document: Document, index: dict[str, int]) -> dict[str, Any]:
    parsed = document.parsed
    start = " ".join(word for sentence in parsed.sentences[:3] for word in sentence.words[:40])
    return {
        "label": -1 if document.label is None else index[document.label],
        "predicted": index[parsed.label],
        "probability": round(100 * parsed.probability),
        "sentences": len(parsed.sentences),
        "words": sum(len(sentence.words) for sentence in parsed.sentences),
        "projective": is_projective(parsed),
        "start": start if len(start) <= 120 else f"{start[:119]}…",
        "name": document.name,
    }


def _content(document: Document) -> dict[str, Any]:
    parsed = document.parsed
    golds: Sequence[Sequence[int] | None] = document.gold or [None] * len(parsed.sentences)
    sentences = [
        {"words": "\n".join(sentence.words), **_tree(sentence.tree, sentence.weights, gold)}
        for sentence, gold in zip(parsed.sentences, golds, strict=True)
    ]
    return {**_tree(parsed.tree, parsed.weights, document.gold_sentences), "sentences": sentences}


def _tree(tree: Tree | None, weights: Weights | None, gold: Sequence[int] | None) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    if tree is not None:
        parts |= {"heads": tree.heads, "projective": tree.projective}
    if weights is not None:
        parts["likely"] = likely_heads(weights)
    if gold is not None:
        parts["gold"] = list(gold)
    return parts
