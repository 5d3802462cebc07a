"""Scores of a model on a split: accuracy, F1, confusions, log loss and calibration."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from treetext.data import Corpus, Progress, Reader, open_corpus
from treetext.evaluation.bootstrap import Interval, intervals
from treetext.evaluation.run import check_task, run
from treetext.models import Model

BINS = 15
"""The number of bins of the calibration error, as in Guo et al. (2017)."""


class ClassScores(NamedTuple):
    """The scores of one class. None where there is nothing to divide by."""

    label: str
    texts: int
    """The number of texts with this label."""
    predicted: int
    """The number of texts for which this label was predicted."""
    precision: float | None
    """The share of the texts with this prediction that have this label; None if it was never predicted."""
    recall: float | None
    """The share of the texts with this label that have this prediction; None if there is no such text."""
    f1: float | None
    """The harmonic mean of the two; 0 if no text is right, None if there is neither a text nor a prediction."""


class Confusion(NamedTuple):
    """Texts with one label for which another one was predicted."""

    label: str
    predicted: str
    texts: int
    share: float
    """The share of all texts with this label."""


class Bin(NamedTuple):
    """The texts whose highest probability is above `low` and at most `high`."""

    low: float
    high: float
    texts: int
    confidence: float | None
    """The mean highest probability; None if there are no texts."""
    accuracy: float | None


class Parts(NamedTuple):
    """The accuracies of the parts of a model alone, each with the other one switched off."""

    ngrams: float
    trees: float
    gain: Interval
    """The accuracy of the whole model minus that of its n-grams alone, with the interval of the paired differences."""


class Evaluation(NamedTuple):
    """The scores of a model on a split."""

    split: str
    """train, dev, test, or all if the corpus has no other texts."""
    documents: int
    empty: int
    """The number of texts without words, for which the most frequent class is predicted."""
    accuracy: float
    labels: list[str]
    confusion: list[list[int]]
    """At [i][j], the number of texts with label i for which label j was predicted."""
    log_loss: float
    """The mean of -log p(label), in nats. As in scikit-learn, probabilities below 2.2e-16 count as that."""
    reliability: list[Bin]
    """Texts by the highest probability that the model gives to a class, in 15 bins of equal width."""
    parts: Parts | None = None
    """The parts alone, if the model has n-grams beside its trees."""
    majority: float | None = None
    """The accuracy of always predicting the most frequent class of the training data, if it is known."""

    @property
    def classes(self) -> list[ClassScores]:
        """The scores of each class."""
        confusion = np.array(self.confusion)
        counts = np.stack([confusion.diagonal(), confusion.sum(1), confusion.sum(0)], 1).tolist()
        return [_class_scores(label, *each) for label, each in zip(self.labels, counts, strict=True)]

    @property
    def macro_f1(self) -> float:
        """The mean of F1 over the classes that have texts or predictions."""
        return float(np.mean([each.f1 for each in self.classes if each.f1 is not None]))

    @property
    def ece(self) -> float:
        """The expected calibration error (Guo et al. 2017, On Calibration of Modern Neural Networks).

        The mean over texts of the difference between the mean highest probability and the accuracy in their bin.
        """
        gaps = [each.texts * abs((each.confidence or 0) - (each.accuracy or 0)) for each in self.reliability]
        return sum(gaps) / self.documents

    @property
    def never_predicted(self) -> list[str]:
        """The classes that have texts, but that were never predicted."""
        return [each.label for each in self.classes if each.texts and not each.predicted]

    def missing(self) -> str:
        """The classes that were never predicted, in one line."""
        return first_labels(self.never_predicted)

    @property
    def confusions(self) -> list[Confusion]:
        """All pairs of a label and another prediction that have texts, the most frequent first."""
        texts = [sum(row) for row in self.confusion]
        pairs = [
            Confusion(self.labels[i], self.labels[j], count, count / texts[i])
            for i, row in enumerate(self.confusion)
            for j, count in enumerate(row)
            if count and i != j
        ]
        return sorted(pairs, key=lambda pair: -pair.texts)

    def summary(self) -> dict[str, Any]:
        """The scores of all classes together, and the classes that were never predicted."""
        names = ("accuracy", "macro_f1", "log_loss", "ece", "never_predicted")
        return {name: getattr(self, name) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """All scores as plain lists and dictionaries, for JSON."""
        return {
            **self._asdict(),
            **self.summary(),
            "classes": [each._asdict() for each in self.classes],
            "reliability": [each._asdict() for each in self.reliability],
            "parts": self.parts and {**self.parts._asdict(), "gain": self.parts.gain._asdict()},
        }


class Baseline(NamedTuple):
    """The accuracy of a baseline that was measured in training, or the reason why there is none."""

    accuracy: float | None
    reason: str = ""


class Seen(NamedTuple):
    """How many texts of a split were used in training, or None if that is not known."""

    texts: int | None
    remark: str = ""
    """What a reader of the scores should know about that, if anything."""


def evaluate(model: Model, data: Corpus | Reader, split: str = "test", progress: Progress | None = None) -> Evaluation:
    """The scores on all texts of a split, including those without words."""
    corpus = data if isinstance(data, Corpus) else open_corpus(data, progress)
    check_task(model, corpus)
    corpus.check_split(split)
    corpus.check_labels(model.labels, (split,))
    rows = corpus.rows[split]
    targets = corpus.targets(model.labels)[rows]
    empty = len(rows) - len(corpus.whole(split))
    shares, alone = _shares(model, corpus, split, progress)
    scores = score(corpus.part(split), model.labels, targets, shares, empty)
    majority = float((targets == np.argmax(model.prior)).mean())
    return scores._replace(parts=_parts(targets, shares, alone), majority=majority)


def first_labels(labels: Sequence[str], most: int = 10) -> str:
    """Labels in one line: the first ones, and the number of all others."""
    return ", ".join(labels[:most]) + (f" and {len(labels) - most:,} more" if len(labels) > most else "")


def score(
    split: str,
    labels: list[str],
    targets: Int[np.ndarray, "texts"],
    shares: Float[np.ndarray, "texts classes"],
    empty: int = 0,
) -> Evaluation:
    """The scores of predictions. `targets` has the class of each text, `shares` the probabilities of all classes."""
    predicted, right = shares.argmax(1), shares.argmax(1) == targets
    confusion = np.zeros((len(labels), len(labels)), int)
    np.add.at(confusion, (targets, predicted), 1)
    given = shares[np.arange(len(targets)), targets]
    return Evaluation(
        split=split,
        documents=len(targets),
        empty=empty,
        accuracy=float(right.mean()),
        labels=labels,
        confusion=confusion.tolist(),
        log_loss=float(-np.log(np.maximum(given, np.finfo(float).eps)).mean()),
        reliability=_reliability(shares.max(1), right),
    )


def probabilities(
    model: Model, corpus: Corpus, split: str, progress: Progress | None = None
) -> Float[np.ndarray, "texts classes"]:
    """The probability of each class for each text of a split. Texts without words get the prior."""
    return _shares(model, corpus, split, progress)[0]


def predictions(model: Model, corpus: Corpus, split: str, progress: Progress | None = None) -> Int[np.ndarray, "_"]:
    """The class of each text of a split, as an index into the labels. Texts without words get the prior's class."""
    classes: np.ndarray = probabilities(model, corpus, split, progress).argmax(1)
    return classes


def baseline(name: str, about: Mapping[str, Any], corpus: Corpus, split: str) -> Baseline:
    """The accuracy of a baseline on a split, if training has measured it on the same texts.

    `about` is that of the model; its ``baselines`` has accuracies by name ("majority", "bag of words") and split.
    """
    measured = (about.get("baselines") or {}).get(name)
    if not measured:
        return Baseline(None, "not measured in training")
    if (about.get("fingerprints") or {}).get(split) != corpus.split_fingerprint(split):
        return Baseline(None, "not measured on these texts")
    if measured.get(split) is None:
        return Baseline(None, f"not measured on {split}")
    return Baseline(float(measured[split]))


def seen(model: Model, corpus: Corpus, split: str) -> Seen:
    """How many texts of a split the model was trained on or, for test texts, chosen by."""
    if model.splits is None:
        unknown = "it is not known which of these texts the model was trained on"
        return Seen(None, "" if _same_data(model.about, corpus) else unknown)
    counts = corpus.seen(split, model.splits)
    known = sum(counts.values())
    if not known:
        return Seen(0)
    listed = ", ".join(f"{count:,} in {name}" for name, count in counts.items() if count)
    total = f"{known:,} of {len(corpus.rows[split]):,} texts"
    return Seen(known, f"{total} were used in training ({listed}): they say little about new texts")


def _same_data(about: Mapping[str, Any], corpus: Corpus) -> bool:
    """Whether a corpus has the data and the split of training. Its fingerprint does not depend on the split."""
    trained = (about.get("recipe") or {}).get("data") or {}
    now = corpus.data.model_dump(mode="json", exclude={"path", "train", "dev", "test"})
    same_split = all(trained.get(name) == value for name, value in now.items())
    return same_split and about.get("fingerprint") == corpus.fingerprint


def _shares(
    model: Model, corpus: Corpus, split: str, progress: Progress | None
) -> tuple[Float[np.ndarray, "texts classes"], dict[str, Float[np.ndarray, "texts classes"]]]:
    """The probability of each class for each text by the whole model, and by each of its parts alone.

    Texts without words get the prior, and so do texts of which a part says nothing.
    """
    prior = np.tile(np.array(model.prior, float), (len(corpus.rows[split]), 1))
    whole, alone = prior.copy(), dict[str, np.ndarray]()
    for texts, _, output in run(model, corpus, split, progress=progress):
        whole[texts] = output.logits.double().softmax(-1).cpu().numpy()
        for name, logits in output.parts.items():
            said = (logits != logits[:, :1]).any(1).cpu().numpy()
            shares = logits.double().softmax(-1).cpu().numpy()
            alone.setdefault(name, prior.copy())[np.array(texts)[said]] = shares[said]
    return whole, alone


def _parts(
    targets: Int[np.ndarray, "texts"], whole: Float[np.ndarray, "texts classes"], alone: Mapping[str, np.ndarray]
) -> Parts | None:
    if not alone.keys() >= {"n-grams", "trees"}:
        return None
    right, ngrams, trees = (each.argmax(1) == targets for each in (whole, alone["n-grams"], alone["trees"]))
    gained = right.astype(float) - ngrams
    [gain] = intervals(np.stack([gained, np.ones_like(gained)], -1)[:, None])
    return Parts(float(ngrams.mean()), float(trees.mean()), gain)


def _class_scores(label: str, right: int, texts: int, predicted: int) -> ClassScores:
    return ClassScores(
        label,
        texts,
        predicted,
        right / predicted if predicted else None,
        right / texts if texts else None,
        2 * right / (texts + predicted) if texts + predicted else None,
    )


def _reliability(confidence: Float[np.ndarray, "texts"], right: np.ndarray) -> list[Bin]:
    edges = np.linspace(0, 1, BINS + 1)
    places = np.digitize(confidence, edges[1:-1], right=True)
    bins = []
    for i in range(BINS):
        inside = places == i
        means = [float(each[inside].mean()) for each in (confidence, right)] if inside.any() else [None, None]
        bins.append(Bin(float(edges[i]), float(edges[i + 1]), int(inside.sum()), *means))
    return bins
