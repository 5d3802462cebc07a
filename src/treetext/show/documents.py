"""The documents of a report: a short entry of each for the list, and the rest compressed until it is opened."""

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float32, Int

from treetext.data import Corpus, Progress
from treetext.models import Model, Parsed, ParsedSentence, Weights

KEPT = (None, 8, 3, 2, 1)
"""How many heads of a word keep their marginals in a report: all, or fewer to save room."""


class Document(NamedTuple):
    """A text that a model has parsed, with its gold label and gold trees if known."""

    parsed: Parsed
    label: str | None = None
    name: str = ""
    """The source of the text."""
    gold: Sequence[Sequence[int]] | None = None
    """The gold heads of the words of each sentence."""
    gold_sentences: Sequence[int] | None = None
    """The gold heads of the sentences."""


class Packed(NamedTuple):
    """Documents as the page reads them: the first ones, as many as fit."""

    entries: list[dict[str, Any]]
    """One row of the list for each document."""
    contents: list[str]
    """The compressed trees of each document."""
    kept: int | None
    """How many heads of a word have marginals: the likeliest ones; None for all."""


def parsed_documents(
    model: Model, corpus: Corpus, rows: Iterable[int], progress: Progress | None = None
) -> list[Document]:
    """Rows of a corpus, parsed. Texts without words and pairs with an empty side have no trees."""
    rows, encoded = list(rows), corpus.encoded
    documents = []
    for row, parsed in zip(
        rows, model.parse_tokens([encoded.document(row) for row in rows], progress=progress), strict=True
    ):
        heads, ends = encoded.heads(row), np.cumsum([0, *encoded.lengths(row)]).tolist()
        gold = None if heads is None else [heads[start:end].tolist() for start, end in pairwise(ends)]
        over = encoded.sentence_heads(row)
        gold_sentences = None if over is None else over.tolist()
        documents.append(Document(parsed, encoded.label(row), _name(encoded.where(row)), gold, gold_sentences))
    return documents


def packed(documents: Sequence[Document], labels: Sequence[str], most_bytes: int) -> Packed:
    """All documents within `most_bytes`: with fewer marginals if needed, then with fewer documents."""
    entries = [_entry(document, labels) for document in documents]
    for kept in KEPT:
        contents, room = list[str](), most_bytes
        for entry, document in zip(entries, documents, strict=True):
            content = json.dumps(_content(document, kept), ensure_ascii=False, separators=(",", ":"))
            text = base64.b64encode(zlib.compress(content.encode())).decode()
            room -= len(json.dumps(entry).replace("<", "\\u003c")) + len(text) + 4  # with quotes and commas
            if room < 0:
                break
            contents.append(text)
        if len(contents) == len(documents):
            break
    return Packed(entries[: len(contents)], contents, kept)


def is_projective(parsed: Parsed) -> bool | None:
    """Whether the tree over sentences is projective or, without one, all trees over words; None without trees."""
    if parsed.tree is not None:
        return parsed.tree.projective
    trees = [sentence.tree for sentence in parsed.sentences if sentence.tree is not None]
    return all(tree.projective for tree in trees) if trees else None


def percents(weights: Weights, kept: int | None) -> Int[np.ndarray, "heads n"]:
    """The marginals in percent, the root in the first row; all but the `kept` largest of each column are 0."""
    shares: Float32[np.ndarray, "heads n"] = np.vstack([weights.roots, weights.arcs])
    if kept is not None and kept < len(shares):
        ranks = np.argsort(np.argsort(-shares, axis=0, kind="stable"), axis=0)
        shares = np.where(ranks < kept, shares, 0)
    found: Int[np.ndarray, "heads n"] = np.rint(100 * shares).astype(int)
    return found


def _name(where: str) -> str:
    """The source of a text without the folders of this machine, since reports are shared."""
    file, comma, rest = where.partition(", ")
    return f"{Path(file).name}{comma}{rest}"


def _entry(document: Document, labels: Sequence[str]) -> dict[str, Any]:
    parsed = document.parsed
    start = " ".join(word for sentence in parsed.sentences[:3] for word in sentence.words[:40])
    return {
        "label": -1 if document.label is None else labels.index(document.label),
        "predicted": labels.index(parsed.label),
        "probability": round(100 * parsed.probability),
        "sentences": len(parsed.sentences),
        "words": sum(len(sentence.words) for sentence in parsed.sentences),
        "projective": is_projective(parsed),
        "start": start if len(start) <= 120 else f"{start[:119]}…",
        "name": document.name,
    }


def _content(document: Document, kept: int | None) -> dict[str, Any]:
    """Like `Parsed.to_dict`, but without the label, with marginals in percent and with gold trees."""
    parsed = document.parsed
    golds: Sequence[Sequence[int] | None] = document.gold or [None] * len(parsed.sentences)
    sentences = [
        {"words": sentence.words, **_tree(sentence, gold, kept)}
        for sentence, gold in zip(parsed.sentences, golds, strict=True)
    ]
    evidence = [{**each._asdict(), "weight": round(each.weight, 3)} for each in parsed.evidence]
    ngrams = {"evidence": evidence} if evidence else {}
    return {**_tree(parsed, document.gold_sentences, None), "sentences": sentences, **ngrams}


def _tree(part: Parsed | ParsedSentence, gold: Sequence[int] | None, kept: int | None) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    if part.tree is not None:
        parts["heads"] = part.tree.heads
    if part.weights is not None:
        roots, *arcs = percents(part.weights, kept).tolist()
        parts["weights"] = {"arcs": arcs, "roots": roots}
    if gold is not None:
        parts["gold"] = list(gold)
    return parts
