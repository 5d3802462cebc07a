"""Classifiers that know nothing of order or trees: what a model must beat."""

import numpy as np

from treetext.training import Corpus


def majority(corpus: Corpus, split: str = "test") -> float:
    """The accuracy of always saying the class that is most frequent in the training data."""
    targets = corpus.targets(corpus.classes)
    return float(np.mean(targets[corpus.rows[split]] == np.bincount(targets[corpus.rows["train"]]).argmax()))


def bag_of_words(corpus: Corpus, split: str = "test") -> float:
    """The accuracy of a logistic regression on how often each word occurs, fitted to the training data."""
    from scipy.sparse import csr_array
    from sklearn.linear_model import LogisticRegression

    targets = corpus.targets(corpus.classes)

    def counts(rows: np.ndarray) -> csr_array:
        words = [corpus.encoded.words(row) for row in rows.tolist()]
        ends = np.cumsum([0, *map(len, words)])
        flat = np.concatenate([np.zeros(0, np.int32), *words])
        table = csr_array((np.ones(len(flat)), flat, ends), shape=(len(rows), len(corpus.encoded.lexicon)))
        table.sum_duplicates()
        return table

    train, rows = corpus.rows["train"], corpus.rows[split]
    classifier = LogisticRegression(max_iter=2000).fit(counts(train), targets[train])
    return float(np.mean(classifier.predict(counts(rows)) == targets[rows]))
