"""The settings that all readers share, labels, and fingerprints."""

import pytest

from tests.data.readers.writing import examples, write, write_corpus
from treetext.data import BadInput, reader
from treetext.data.readers.hidden_trees import HiddenTrees


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"format": "csv", "path": "a", "pth": "b"}, "pth"),
        ({"format": "csv", "path": ""}, "path"),
        ({"format": "csv"}, "path: expected either it, or files for train, dev and test, got none"),
        (
            {"format": "csv", "path": "a", "train": "b"},
            "path: expected either it, or files for train, dev and test, got",
        ),
        ({"format": "convote"}, "path: expected it alone, a directory or archive of convote, got none"),
        ({"format": "convote", "path": "a", "test": "b"}, "path: expected it alone, a directory or archive of convote"),
        ({"format": "hub", "train": "a"}, "path: missing; expected the name of a data set on the hub"),
        ({"format": "hidden-trees", "path": "a"}, "path: hidden-trees are generated, not read; expected no path"),
        ({"format": "snli", "path": "a", "second": "b"}, "second: does not go with"),
        ({"format": "ss", "path": "a", "label": "b"}, "label: does not go with"),
        ({"format": "jsonl", "path": "a", "delimiter": ";"}, "delimiter: does not go with"),
        ({"format": "csv", "path": "a", "subset": "b"}, "subset: does not go with"),
        ({"format": "csv", "path": "a", "hidden_trees": {}}, "hidden_trees: does not go with"),
        ({"format": "csv", "path": "a", "delimiter": ", "}, "delimiter"),
        ({"format": "csv", "path": "a", "delimiter": '"'}, "delimiter"),
        (
            {"format": "csv", "path": "a", "split": (0.8, 0.1, 0.2)},
            "split: expected shares of train, dev and test that",
        ),
        (
            {"format": "csv", "path": "a", "split": (1.2, -0.1, -0.1)},
            "split: expected shares of train, dev and test that",
        ),
        ({"format": "csv", "path": "a", "dev_share": 1}, "dev_share"),
        ({"format": "csv", "path": "a", "folds": 1}, "folds"),
        ({"format": "csv", "path": "a", "folds": 5, "fold": 5}, "fold: expected 0 to 4, got 5"),
        ({"format": "csv", "path": "a", "fold": 1}, "fold: expected folds to say how many there are, got 1"),
        ({"format": "csv", "path": "a", "seed": -1}, "seed"),
        ({"format": "csv", "path": "a", "seed": 2**32}, "seed"),
        ({"format": "hidden-trees", "hidden_trees": {"tests": 3}}, "hidden_trees.tests"),
    ],
)
def test_bad_settings(settings, complaint):
    with pytest.raises(BadInput) as caught:
        reader(**settings)
    assert str(caught.value).startswith(f"{settings['format']}: {complaint}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["xls", "", None, "CSV"])
def test_an_unknown_format(name):
    with pytest.raises(BadInput, match=rf"^format: expected one of csv, jsonl, parquet, tsv, .*, got {name!r}$"):
        reader(name, path="a")


@pytest.mark.parametrize(
    "settings", [{"format": "hidden-trees"}, {"format": "csv", "path": "a", "folds": 10, "fold": 9}]
)
def test_settings_survive_being_saved(settings):
    data = reader(**settings)
    assert reader(**data.model_dump()) == data
    assert type(data).model_validate_json(data.model_dump_json()) == data


def test_hidden_trees_are_one_of_the_formats():
    data = reader("hidden-trees", hidden_trees=HiddenTrees(train=3, dev=2, test=1))
    found = list(data.read())
    assert sorted(split for split, _ in found) == ["dev", "dev", "test", "train", "train", "train"]
    assert all(example.label and example.heads and example.sentence_heads for _, example in found)


def test_fingerprint_is_of_bytes_and_of_what_bears_on_them(tmp_path):
    path, moved = (write(tmp_path / name, "text,label\ntea,x\n") for name in ("a.csv", "b.csv"))
    other = write(tmp_path / "c.csv", "text,label\ntea,y\n")
    data = reader("csv", path=path)
    same = [{}, {"path": moved}, {"seed": 3}, {"folds": 5, "fold": 2}, {"split": (0.5, 0.2, 0.3)}]
    assert len({data.model_copy(update=change).fingerprint() for change in same}) == 1
    changes = [{}, {"path": other}, {"lowercase": False}, {"language": "cs"}, {"tokenized": True}, {"label": "text"}]
    changes += [
        {"path": None, "train": path},
        {"path": None, "test": path},
        {"classes": {"x": "y"}},
        {"quoting": False},
    ]
    assert len({data.model_copy(update=change).fingerprint() for change in changes}) == len(changes)


FILES = {
    "teas.csv": "text,label\nHot tea.,good\nCold tea.,bad\n",
    "pairs.jsonl": '{"one": "Hot tea.", "two": "Tea.", "label": "yes"}\n',
    "teas/train.tsv": "text\tlabel\nHot tea.\tgood\n",
    "teas/test.tsv": "text\tlabel\nCold tea.\tbad\n",
    "snli/snli_1.0_dev.jsonl": '{"gold_label": "neutral", "sentence1": "Hot tea.", "sentence2": "Tea."}\n',
    "imdb/train/pos/0_9.txt": "Hot tea.",
    "imdb/test/neg/1_2.txt": "Cold tea.",
    "teas.ss": "u\t\tp\t\t5\t\thot tea . <sssss> more !\n",
}
OTHER_COLUMNS = {"text": "label", "label": "text", "delimiter": ";", "quoting": False}
OTHER_WORDS = {"classes": {"good": "1"}, "language": "cs", "lowercase": False, "tokenized": True, "seed": 3}
FINGERPRINTS = [
    ({"format": "csv", "path": "teas.csv"}, "7b886ffd53937d9f5ed1151816314ace979d7770ea19dfc1f9fc99f6de412630"),
    (
        {"format": "csv", "test": "teas.csv", **OTHER_COLUMNS, **OTHER_WORDS},
        "8a641410b77aefeae809315435c165a0fd4b99753080c9b6bb9f56f4fa9201a0",
    ),
    (
        {"format": "jsonl", "path": "pairs.jsonl", "text": "one", "second": "two"},
        "098d6bc7e9fb3f9b4fe6c9e63b5f1f43c7f6e448c373b74c55ab8f39289d436d",
    ),
    ({"format": "tsv", "path": "teas"}, "ee204314579d203691d8a0669d44087e6e6d2cd130c345ff7f0359af4be54ae0"),
    ({"format": "snli", "path": "snli"}, "745cf64f3e0c827468cf44f2fa188d95b28b42bcc6a8b6b77a64e3ebc6514712"),
    ({"format": "aclimdb", "path": "imdb"}, "79c11bad972a4345329672c78b3f09ed2f710df6cab4317c1577a4ffccbd4dee"),
    ({"format": "ss", "train": "teas.ss"}, "67c77a7e2792118120759c8915252a2bc212756c24a8e16a7fbdfaa05cbf37ec"),
    (
        {"format": "hidden-trees", "hidden_trees": {"train": 9, "seed": 1}},
        "d16380556833e2885a73c7c6e7e24af0f2b11fa610f7de3178d25f929de09797",
    ),
]


@pytest.mark.parametrize(("settings", "expected"), FINGERPRINTS, ids=lambda each: str(each)[:40])
def test_fingerprints_stay_as_they_were(tmp_path, settings, expected):
    """Published models name the fingerprint of their data: these are those of the first version."""
    write_corpus(tmp_path, FILES)
    places = {name: str(tmp_path / settings[name]) for name in ("path", "train", "test") if name in settings}
    assert reader(**{**settings, **places}).fingerprint() == expected


def test_the_same_files_have_another_fingerprint_with_their_parses(tmp_path):
    path = write_corpus(tmp_path, {"snli_1.0_dev.jsonl": FILES["snli/snli_1.0_dev.jsonl"]})
    assert reader("snli-parses", path=path).fingerprint() != reader("snli", path=path).fingerprint()


def test_fingerprint_of_a_corpus_of_many_files(tmp_path):
    files = {"train/pos/0_9.txt": "Tea.", "train/neg/1_1.txt": "No tea.", "README": "Hello."}
    first = reader("aclimdb", path=write_corpus(tmp_path / "a", files)).fingerprint()
    same = reader("aclimdb", path=write_corpus(tmp_path / "b", {**files, "README": "Bye."})).fingerprint()
    other = {("train/pos/0_8.txt" if "pos" in name else name): text for name, text in files.items()}
    assert first == same
    assert first != reader("aclimdb", path=write_corpus(tmp_path / "c", other)).fingerprint()


def test_fingerprint_of_the_embedded_corpus():
    prints = [reader("hidden-trees", hidden_trees=HiddenTrees(seed=seed)).fingerprint() for seed in (0, 0, 1)]
    assert prints[0] == prints[1] != prints[2]
    assert len(prints[0]) == 64


def test_notes_are_optional(tmp_path):
    path = write(tmp_path / "teas.csv", "text,label\n\ntea,x\n")
    assert len(examples(format="csv", path=path)) == 1
