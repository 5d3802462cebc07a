"""The systems that are compared: linear models, a bag of vectors, and the default recipes, also without their parts."""

import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from treetext.data import open_corpus
from treetext.evaluation import run
from treetext.training import load_recipe, train

NGRAMS = (1, 2)
STRENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
RATES = (3e-3, 1e-2, 3e-2)
BUCKETS = 1 << 17


class Scored(NamedTuple):
    """The predictions of a system for all test texts, its dev accuracy, and what it chose on dev data."""

    labels: list[str]
    dev: float
    chosen: dict[str, Any]


class Texts(NamedTuple):
    """The texts of a split as bags of n-grams, one for each text and length of n-grams, and their labels."""

    texts: list[Any]
    labels: np.ndarray

    @classmethod
    def of(cls, path: Path) -> "Texts":
        """Read a file of a set."""
        with path.open(encoding="utf-8", newline="\n") as file:
            rows = [json.loads(line) for line in file]
        texts = [(row["premise"], row["hypothesis"]) if "premise" in row else _joined(row["text"]) for row in rows]
        return cls(texts, np.array([row["label"] for row in rows]))

    def grams(self, longest: int) -> Iterator[Counter[str]]:
        """The n-grams of each text up to a length. Those of pairs say whether one sentence has them or both."""
        for text in self.texts:
            if isinstance(text, str):
                yield Counter(_grams(text, longest))
            else:
                first, second = (_grams(_joined(side), longest) for side in text)
                one, two = set(first), set(second)
                kinds = {"1": first, "2": second, "=": one & two, "<": one - two, ">": two - one}
                yield Counter(f"{kind} {gram}" for kind, grams in kinds.items() for gram in grams)


def majority(folder: Path, _: int) -> Scored:
    """The most frequent class."""
    train_y, dev, test = (Texts.of(folder / f"{split}.jsonl") for split in ("train", "dev", "test"))
    [(label, _)] = Counter(train_y.labels.tolist()).most_common(1)
    return Scored([label] * len(test.labels), float(np.mean(dev.labels == label)), {})


def tf_idf(folder: Path, _: int) -> Scored:
    """scikit-learn's logistic regression on tf-idf. The strength and the length of n-grams are chosen on dev data."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    parts = {split: Texts.of(folder / f"{split}.jsonl") for split in ("train", "dev", "test")}
    best: Scored | None = None
    for longest in NGRAMS:
        features = make_pipeline(DictVectorizer(dtype=np.float32), TfidfTransformer(sublinear_tf=True))
        x = {"train": features.fit_transform(parts["train"].grams(longest))}
        x |= {split: features.transform(parts[split].grams(longest)) for split in ("dev", "test")}
        regression = LogisticRegression(max_iter=300, warm_start=True)
        for strength in STRENGTHS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it says that it has not converged after 300 iterations
                regression.set_params(C=strength).fit(x["train"], parts["train"].labels)
            dev = float(regression.score(x["dev"], parts["dev"].labels))
            if best is None or dev > best.dev:
                best = Scored(regression.predict(x["test"]).tolist(), dev, {"n-grams": longest, "strength": strength})
    assert best is not None
    return best


def bag_of_vectors(folder: Path, seed: int) -> Scored:
    """The mean of learnt vectors of words and bigrams, and a softmax (Joulin et al. 2017); its rate by dev accuracy."""
    parts = {split: Texts.of(folder / f"{split}.jsonl") for split in ("train", "dev", "test")}
    classes = sorted(set(parts["train"].labels.tolist()))
    known = {gram for grams in parts["train"].grams(1) for gram in grams}
    index = {gram: i for i, gram in enumerate(sorted(known))}

    def ids(part: Texts) -> list[Tensor]:
        return [torch.tensor([*_ids(grams, index)] or [0]) for grams in part.grams(2)]

    bags = {split: ids(part) for split, part in parts.items()}
    targets = {
        split: torch.tensor([classes.index(y) if y in classes else -1 for y in part.labels.tolist()])
        for split, part in parts.items()
    }
    best: Scored | None = None
    for rate in RATES:
        torch.manual_seed(seed)
        vectors = nn.EmbeddingBag(len(index) + BUCKETS, 50, sparse=True)
        nn.init.uniform_(vectors.weight, -0.02, 0.02)
        last = nn.Linear(50, len(classes))
        optimizers = [torch.optim.SparseAdam(vectors.parameters(), rate), torch.optim.Adam(last.parameters(), rate)]
        for _ in range(10):
            for some in torch.split(torch.randperm(len(bags["train"])), 32):
                loss = cross_entropy(last(vectors(*_flat(bags["train"], some))), targets["train"][some])
                loss.backward()  # type: ignore[no-untyped-call]
                for optimizer in optimizers:
                    optimizer.step()
                    optimizer.zero_grad()
        with torch.no_grad():
            found = {
                split: torch.cat([
                    last(vectors(*_flat(bags[split], some))).argmax(-1)
                    for some in torch.split(torch.arange(len(bags[split])), 512)
                ])
                for split in ("dev", "test")
            }  # fmt: skip
        dev = float((found["dev"] == targets["dev"]).double().mean())
        if best is None or dev > best.dev:
            best = Scored([classes[i] for i in found["test"].tolist()], dev, {"rate": rate})
    assert best is not None
    return best


def default(
    folder: Path, seed: int, settings: Mapping[str, Any] | None = None, test: str = "test.jsonl"
) -> dict[str, Scored]:
    """The default recipe, and each of its two parts alone."""
    files = {"train": "train.jsonl", "dev": "dev.jsonl", "test": test}
    places = {f"data.{split}": str(folder / file) for split, file in files.items()}
    values = {"data.format": "jsonl", **places, "seed": seed, "training.baselines": False, **(settings or {})}
    recipe = load_recipe("pairs/default" if _has_pairs(folder) else "documents/default", values)
    with TemporaryDirectory() as out:
        model = train(recipe, Path(out) / "model")
    corpus = open_corpus(load_recipe(model.about["recipe"]).data)
    scored = {}
    chosen = {key: _value(model.about["recipe"], key) for key in recipe.auto}
    prior = int(np.argmax(model.prior))
    found: dict[str, dict[str, Any]] = {"dev": {}, "test": {}}
    for split, parts in found.items():
        for texts, _, output in run(model, corpus, split):
            for part, logits in {"whole": output.logits, **output.parts}.items():
                parts.setdefault(part, np.full(len(corpus.rows[split]), prior))  # also where a text has no words
                parts[part][texts] = logits.argmax(-1).cpu().numpy()
    targets = corpus.targets(model.labels)[corpus.rows["dev"]]
    for part, choices in found["test"].items():
        labels = [model.labels[i] for i in choices]
        scored[part] = Scored(labels, float(np.mean(found["dev"][part] == targets)), chosen)
    return scored


def without_trees(folder: Path, seed: int) -> dict[str, Scored]:
    """The default recipe without attention: bi-LSTMs (or a feedforward layer) and pooling only."""
    none: dict[str, Any] = {"model.structure": 0, "model.words.attention": "none"}
    if not _has_pairs(folder):
        none["model.sentences.attention"] = "none"
    return {"whole": default(folder, seed, none)["whole"]}


CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "none": ("the default", {}),
    "word2vec": (
        "word2vec of the training texts",
        {"model.vocabulary.vectors": "word2vec", "training.vectors_rate": 1.0},
    ),
    "random": ("random vectors", {"model.vocabulary.vectors": "random", "training.vectors_rate": 1.0}),
    "tuned": ("pretrained vectors, tuned", {"training.vectors_rate": 1.0}),
    "rare": ("no words that occur less than 6 times", {"model.vocabulary.min_count": 6}),
    "epochs": ("10 epochs, whatever the size", {"training.epochs": 10}),
    "best": ("the best epoch by dev accuracy", {"training.keep": "best"}),
    "constant": ("a constant rate", {"training.schedule": "constant", "training.warmup": 0.0}),
    "slow": ("a rate of 5e-4", {"training.learning_rate": 5e-4}),
    "small": ("vectors of a deviation of 0.1", {"model.vocabulary.deviation": 0.1}),
    "dropout": ("dropout of 0.5", {"model.dropout": 0.5}),
    "mean": ("means over words, not maxima", {"model.words.pooling": "mean"}),
    "feedforward": ("words without bi-LSTM", {"model.words.encoder": "feedforward"}),
}
"""Changes of the default, with their titles: what it had before, or might have instead."""


def changed(name: str) -> Callable[[Path, int], dict[str, Scored]]:
    """The trees of the default with one of the changes. They are scored on other texts than test texts."""
    return lambda folder, seed: default(folder, seed, CHANGES[name][1] | {"model.wide": None}, "more.jsonl")


MAIN = ("majority", "tf-idf", "vectors", "default", "no-trees")
SYSTEMS: dict[str, tuple[str, Callable[[Path, int], Scored | dict[str, Scored]]]] = {
    "majority": ("most frequent class", majority),
    "tf-idf": ("tf-idf, logistic regression", tf_idf),
    "vectors": ("bag of vectors", bag_of_vectors),
    "default": ("default", default),
    "no-trees": ("default without trees", without_trees),
    **{f"change-{name}": (title, changed(name)) for name, (title, _) in CHANGES.items()},
}
"""The systems by name, with a title. A system may score several rows at once."""


def _has_pairs(folder: Path) -> bool:
    with (folder / "train.jsonl").open(encoding="utf-8") as file:
        return "premise" in json.loads(file.readline())


def _joined(text: Any) -> str:
    return text if isinstance(text, str) else " ".join(map(_joined, text))


def _grams(text: str, longest: int) -> list[str]:
    words = re.findall(r"\w+|[^\w\s]", text.lower())
    return [" ".join(words[i : i + n]) for n in range(1, longest + 1) for i in range(len(words) - n + 1)]


def _ids(grams: Counter[str], index: Mapping[str, int]) -> Iterator[int]:
    """The ids of words, and of the buckets of other n-grams."""
    for gram, count in grams.items():
        i = index.get(gram)
        if i is None and " " in gram:
            i = len(index) + hash_of(gram) % BUCKETS
        if i is not None:
            yield from [i] * count


def hash_of(gram: str) -> int:
    """A hash that is the same in all processes (FNV-1a)."""
    value = 2166136261
    for byte in gram.encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value


def _flat(bags: list[Tensor], some: Tensor) -> tuple[Tensor, Tensor]:
    chosen = [bags[i] for i in some.tolist()]
    sizes = torch.tensor([0, *map(len, chosen[:-1])])
    return torch.cat(chosen), sizes.cumsum(0)


def _value(values: Mapping[str, Any], key: str) -> Any:
    for part in key.split("."):
        values = values[part]
    return values
