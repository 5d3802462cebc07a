"""The estimator: as scikit-learn's own tools use it, and by its checks, with numbers written as words."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import check_is_fitted, validate_data

from treetext.models import load_model, save_model
from treetext.sklearn import TreeTextClassifier
from treetext.training import load_recipe

TEXTS = [f"The {'fine' if i % 2 else 'dull'} film number {i}. I saw it." for i in range(40)]
LABELS = ["bad", "good"] * 20
PAIRS = [(f"Tea {i} is hot.", "Is it hot?" if i % 2 else "It is cold.") for i in range(40)]
SMALL = {
    "model.embedding": 8, "model.semantic": 4, "model.structure": 2, "model.hidden": 4, "model.wide": None,
    "model.vocabulary.vectors": "random", "training.epochs": 1,
}  # fmt: skip
BAG = "documents/bag-of-words"


@pytest.fixture(autouse=True)
def _cache(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("TREETEXT_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="module")
def trees():
    """A small model with trees."""
    return TreeTextClassifier(settings=SMALL).fit(TEXTS, LABELS)


def test_a_model_with_trees(trees, capsys):
    assert type(trees.model_).__name__ == "StructuredDocuments"
    assert trees.model_.about["documents"] == {"train": 36, "dev": 4, "test": 0}
    assert trees.classes_.tolist() == ["bad", "good"]
    assert trees.transform(TEXTS[:3]).shape == (3, trees.model_.vector_size)
    assert list(trees.get_feature_names_out())[:1] == ["treetextclassifier0"]
    assert np.allclose(trees.predict_proba(TEXTS).sum(1), 1)
    assert trees.score(TEXTS, LABELS) == np.mean(trees.predict(TEXTS) == LABELS)
    assert capsys.readouterr().err == ""


def test_pairs_are_recognised_by_the_shape_of_x(capsys):
    fitted = TreeTextClassifier(settings=SMALL, verbose=True).fit(pd.DataFrame(PAIRS), LABELS)
    assert type(fitted.model_).__name__ == "StructuredPairs"
    assert fitted.predict(np.array(PAIRS)).tolist() == fitted.predict(PAIRS).tolist()
    assert "2 classes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([10, 9] * 20, np.int64),
        ([True, False] * 20, np.bool_),
        ([2.0, 1.0] * 20, np.float64),
        (["b", "a"] * 20, np.str_),
        (pd.Series(pd.Categorical(["b", "a"] * 20)), np.object_),
    ],
)
def test_labels_keep_their_type_and_classes_are_sorted(labels, kind):
    fitted = TreeTextClassifier(BAG).fit(pd.Series(TEXTS), labels)
    assert fitted.classes_.tolist() == sorted(set(labels))
    assert fitted.classes_.dtype.type is kind
    assert fitted.predict(TEXTS).dtype == fitted.classes_.dtype
    assert fitted.predict(TEXTS).tolist() == list(labels)
    assert fitted.score(TEXTS, labels) == 1


def test_parameters_and_clones():
    recipe = load_recipe("documents/bag-of-words", {"data.path": "none.csv"})
    mine = TreeTextClassifier(recipe, seed=3, settings={"model.strength": 2.0})
    copy = clone(mine)
    assert copy.get_params() == mine.get_params()
    copy.set_params(dev_share=0.2, settings=None)
    fitted = copy.fit(TEXTS, LABELS)
    assert fitted.model_.about["documents"]["dev"] == 8
    assert (fitted.model_.about["seed"], mine.dev_share) == (3, 0.1)


def test_the_same_seed_gives_the_same_model(trees):
    again = clone(trees).fit(TEXTS, LABELS)
    other = clone(trees).set_params(seed=2).fit(TEXTS, LABELS)
    assert np.array_equal(again.predict_proba(TEXTS), trees.predict_proba(TEXTS))
    assert not np.array_equal(other.predict_proba(TEXTS), trees.predict_proba(TEXTS))


def test_the_model_is_saved_in_out_which_a_second_fit_replaces(tmp_path):
    mine = TreeTextClassifier(BAG, out=tmp_path / "model").fit(TEXTS, LABELS)
    assert load_model(tmp_path / "model").labels == ["bad", "good"]
    mine.fit(TEXTS, [1, 2] * 20)
    assert load_model(tmp_path / "model").labels == ["1", "2"]


def test_a_fitted_estimator_can_be_pickled_and_its_model_saved(trees, tmp_path):
    again = pickle.loads(pickle.dumps(trees))
    assert np.array_equal(again.predict_proba(TEXTS), trees.predict_proba(TEXTS))
    save_model(trees.model_, tmp_path / "model")
    assert load_model(tmp_path / "model").predict(TEXTS[:1]) == trees.model_.predict(TEXTS[:1])


def test_pipeline():
    upper = FunctionTransformer(lambda texts: [text.upper() for text in texts])
    assert make_pipeline(upper, TreeTextClassifier(BAG)).fit(TEXTS, LABELS).score(TEXTS, LABELS) == 1


def test_pipeline_of_vectors():
    steps = [("vectors", TreeTextClassifier(settings=SMALL)), ("regression", LogisticRegression())]
    whole = Pipeline(steps).fit(TEXTS, LABELS)
    assert set(whole.predict(TEXTS)) <= {"bad", "good"}


def test_cross_validation():
    assert cross_val_score(TreeTextClassifier(BAG), TEXTS, LABELS, cv=3).tolist() == [1, 1, 1]


def test_grid_search():
    grid = {"settings": [{"model.strength": 1e-9}, {"model.strength": 1.0}], "dev_share": [0.1]}
    search = GridSearchCV(TreeTextClassifier(BAG), grid, cv=2, scoring="neg_log_loss").fit(TEXTS, LABELS)
    assert search.best_params_["settings"] == {"model.strength": 1.0}
    assert search.predict(TEXTS[:2]).tolist() == ["bad", "good"]


@pytest.mark.parametrize(
    ("texts", "labels", "complaint"),
    [
        ([], [], "Found array with 0 sample"),
        ("a text", ["a"], "X: expected a list or an array of texts, got 'a text'"),
        ([*TEXTS[1:], None], LABELS, r"X\[39\]: missing \(NaN or None\); expected a string"),
        (pd.Series([*TEXTS[1:], None]), LABELS, r"X\[39\]: missing"),
        ([*TEXTS[1:], float("nan")], LABELS, r"X\[39\]: missing"),
        ([*TEXTS[1:], 5], LABELS, r"X\[39\]: 5; expected a string, or for all texts a pair of strings"),
        ([*PAIRS[1:], ("a",)], LABELS, r"X\[39\]: \('a',\); expected a string, or for all texts a pair"),
        (np.array([["a", "b", "c"]]), ["x"], r"X: expected texts, or two columns of sentences, got the shape \(1, 3\)"),
        (TEXTS, LABELS[1:], r"inconsistent numbers of samples: \[40, 39\]"),
        (TEXTS, ["same"] * 40, "y: 1 class in 40 labels; expected two or more classes"),
        (TEXTS, [*LABELS[1:], None], "y: Input contains NaN or None"),
        (TEXTS, [*range(39), float("nan")], "Input y contains NaN"),
        (TEXTS, np.linspace(0, 1, 40), "Unknown label type: continuous"),
        (TEXTS, None, "requires y to be passed, but the target y is None"),
        (TEXTS, ["a", "a "] * 20, "y: expected labels that differ in more than spaces"),
    ],
)
def test_refusals(texts, labels, complaint):
    with pytest.raises(ValueError, match=complaint):
        TreeTextClassifier(BAG).fit(texts, labels)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "transform"])
def test_before_fit(method):
    with pytest.raises(NotFittedError, match="This TreeTextClassifier instance is not fitted yet"):
        getattr(TreeTextClassifier(), method)(TEXTS)


def test_a_model_without_vectors_says_so():
    with pytest.raises(ValueError, match="a model without text vectors"):
        TreeTextClassifier(BAG).fit(TEXTS, LABELS).transform(TEXTS)


class Numbers(TreeTextClassifier):
    """The estimator with each row of numbers written as a text, so that scikit-learn's checks can run."""

    def fit(self, X, y):
        X, y = validate_data(self, X, y, dtype=None)
        return super().fit(self._written(X), y)

    def predict_proba(self, X):
        check_is_fitted(self)
        return super().predict_proba(self._written(validate_data(self, X, reset=False)))

    def transform(self, X):
        check_is_fitted(self)
        return super().transform(self._written(validate_data(self, X, reset=False)))

    def _written(self, X):
        return [" ".join(f"x{j}is{value:.1f}" for j, value in enumerate(row)) for row in X.astype(float)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string, tags.input_tags.one_d_array = True, False, False
        return tags


def test_no_check_of_scikit_learn_is_for_strings():
    with pytest.warns(match="Can't test estimator TreeTextClassifier which requires input"):
        names = [check.func.__name__ for _, check in estimator_checks_generator(TreeTextClassifier())]
    assert names == ["check_estimator_cloneable"]


FAILING = {"check_do_not_raise_errors_in_init_or_set_params": "the tests check the types of arguments at run time"}


def checks():
    """All checks of scikit-learn, with a model that has vectors; those of accuracy with one that learns at once."""
    for estimator in (Numbers(settings=SMALL), Numbers(BAG)):
        for each, check in estimator_checks_generator(estimator, expected_failed_checks=FAILING):
            name = check.func.__name__
            if (name == "check_classifiers_train") == (estimator.recipe == BAG):
                marks = [pytest.mark.xfail(reason=FAILING[name])] if name in FAILING else []
                yield pytest.param(each, check, id=name, marks=marks)


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_check(estimator, check):
    check(estimator)
