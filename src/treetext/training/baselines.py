"""The baselines that every training is compared with, on the same texts."""

from treetext.data import Corpus, Progress
from treetext.evaluation import evaluate
from treetext.models import Model
from treetext.models.bag_of_words import BagOfWords, BagOfWordsPairs
from treetext.models.base import Say
from treetext.models.majority import Majority, MajorityPairs

BASELINES: dict[str, tuple[type[Model], ...]] = {
    "majority": (Majority, MajorityPairs),
    "bag of words": (BagOfWords, BagOfWordsPairs),
}


def measure_baselines(
    corpus: Corpus, progress: Progress | None = None, say: Say | None = None
) -> dict[str, dict[str, float]]:
    """Fit the majority class and a bag of words, and return their accuracies on dev and test data."""
    accuracies = {}
    for name, systems in BASELINES.items():
        cls = next(each for each in systems if each.task is corpus.task)
        model = cls.for_corpus(cls.Settings.model_validate({}), corpus)
        model.fit(corpus, progress)
        splits = [split for split in ("dev", "test") if len(corpus.rows[split])]
        accuracies[name] = {split: evaluate(model, corpus, split, progress).accuracy for split in splits}
    if say:
        say(f"bag of words: dev accuracy {100 * accuracies['bag of words']['dev']:.1f}")
    return accuracies
