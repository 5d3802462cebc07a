"""What the size and shape of the training data choose."""

import sys
from importlib.util import find_spec

import pytest

from tests.cli.running import refusal
from tests.training.small import Tripwire, noisy, reviews, tiny, weights, write_table
from treetext.data import BadInput, open_corpus
from treetext.models import load_model
from treetext.training import Interrupted, load_recipe, train
from treetext.training.sizes import CHOICES, Shape, sized

SMALL = {f"model.{name}": size for name, size in {"embedding": 8, "semantic": 5, "structure": 4, "hidden": 6}.items()}
LANGUAGES = {
    "en": "The food was cold and the service slow, so we left. They said that this was one of the best places.",
    "de": "Das Essen war kalt und die Bedienung langsam, also gingen wir. Es hieß, das sei eines der besten Lokale.",
    "fr": "La cuisine était froide et le service lent, alors on est partis. On dit que c'est un des meilleurs.",
    "es": "La comida estaba fría y el servicio era lento, así que nos fuimos. Dicen que es uno de los mejores.",
    "nl": "Het eten was koud en de bediening traag, dus we gingen weg. Of het een van de beste is, is de vraag.",
    "cs": "Jídlo bylo studené a obsluha pomalá, tak jsme odešli. Říká se, že to je jeden z nejlepších podniků.",
    "da": "Maden var kold, og betjeningen langsom, så vi gik. De siger, at det er for dyrt for det, man får her.",
    "ja": "料理 は 冷たく 、 サービス も 遅かった ので 、 店 を 出た 。 最高 の 店 の 一つ だ と 言われて いる 。",
}
installed = pytest.mark.skipif(
    not (find_spec("wordllama") and find_spec("tokenizers")), reason="needs pip install 'treetext[english]'"
)


def default(data, **more):
    """The default recipe of documents, small."""
    values = {f"data.{name}": value for name, value in data.items()}
    return load_recipe(
        "documents/default", {**values, **SMALL, **{k.replace("__", "."): value for k, value in more.items()}}
    )


def in_language(directory, language):
    rows = [(f"{LANGUAGES[language]} {i} {'xy'[i % 2]} .", "xy"[i % 2]) for i in range(20)]
    return reviews(directory, train=rows, dev=rows[:4], test=rows[4:8])


def value(recipe, key):
    values = recipe.model_dump(mode="json")
    for part in key.split("."):
        values = values[part]
    return values


def test_every_key_can_be_chosen_and_the_default_recipes_choose():
    for task in ("documents", "pairs"):
        recipe = load_recipe(f"{task}/default", {"data.path": "x"} | ({"data.second": "b"} if task == "pairs" else {}))
        assert recipe.auto
        assert set(recipe.auto) <= set(CHOICES)
    assert load_recipe("documents/both", {"data.path": "x"}).auto == []


@pytest.mark.parametrize("keys", [[key] for key in CHOICES] + [list(CHOICES), list(CHOICES)[::-1]], ids=len)
def test_the_line_says_what_was_chosen(tmp_path, keys):
    recipe = tiny(noisy(tmp_path), auto=keys)
    corpus = open_corpus(recipe.data)
    chosen, [line] = sized(recipe, corpus)
    words = corpus.encoded.sizes[corpus.whole("train")].sum() / 60
    values = ", ".join(f"{key} = {value(chosen, key)}" for key in CHOICES if key in keys)
    assert line == f"60 training texts of {words:.0f} words: {values}"
    assert chosen.auto == []
    same = load_recipe(recipe, {key: value(chosen, key) for key in keys})
    assert chosen == same, "nothing else has changed"


@pytest.mark.parametrize(
    ("texts", "words", "batch", "rate", "epochs"),
    [
        (100, 1_000, 16, 0.0, 30),  # never more
        (1_778, 480_000, 16, 0.0, 9),  # by steps
        (13_333, 293_000, 32, 0.0, 10),  # at least so many words
        (1_778, 110_000, 16, 1.0, 9),  # but by steps if vectors are tuned
        (500, 1_000_000, 16, 0.0, 5),  # at most so many words
        (22_222, 6_000_000, 32, 0.1, 4),  # never less
    ],
)
def test_epochs_by_steps_and_words(tmp_path, texts, words, batch, rate, epochs):
    recipe = tiny(noisy(tmp_path), training__batch_size=batch, training__vectors_rate=rate)
    assert CHOICES["training.epochs"](Shape(texts, words, 10, english=True), recipe) == epochs


@pytest.mark.parametrize(
    ("vectors", "texts", "words", "least"),
    [
        ("wordllama", 60, 600, 2),
        ("wordllama", 444, 69_000, 5),
        ("random", 444, 69_000, 2),
        ("random", 30_000, 10**6, 5),
    ],
)
def test_rare_words_are_left_out_of_enough_texts(tmp_path, vectors, texts, words, least):
    recipe = tiny(noisy(tmp_path), model__vocabulary__vectors=vectors)
    assert CHOICES["model.vocabulary.min_count"](Shape(texts, words, 10, english=True), recipe) == least


def test_overrides_win(tmp_path):
    recipe = default(noisy(tmp_path), training__epochs=3, model__vocabulary__vectors="random")
    assert not {"training.epochs", "model.vocabulary.vectors"} & set(recipe.auto)
    chosen, [line] = sized(recipe, open_corpus(recipe.data))
    assert (chosen.training.epochs, chosen.model.vocabulary.vectors) == (3, "random")
    assert "training.epochs" not in line
    assert "vocabulary.vectors" not in line
    for key, value in (
        ("vocabulary.vectors", "random"),  # its name in earlier versions
        ("model.vocabulary", {"vectors": "random"}),
    ):
        other = load_recipe("documents/default", {"data.path": "x", key: value})
        assert "model.vocabulary.vectors" not in other.auto
        assert "model.vocabulary.min_count" in other.auto
    back = load_recipe(recipe, {"auto": ["training.epochs"]})
    assert back.auto == ["training.epochs"], "what is asked for by name is chosen again"


def test_values_in_a_file_of_a_user_win(tmp_path):
    """A recipe that is based on the default one, and sets a value without naming `auto`."""
    path = tmp_path / "mine.toml"
    path.write_text('base = ["documents/default"]\n[data]\npath = "x"\n[training]\nepochs = 3\n')
    recipe = load_recipe(path)
    assert recipe.training.epochs == 3
    assert "training.epochs" not in recipe.auto
    assert recipe.auto, "the others are chosen as before"


def test_nothing_to_choose_is_not_mentioned(tmp_path):
    said = []
    train(tiny(noisy(tmp_path / "data"), training__epochs=1), tmp_path / "model", say=said.append)
    assert not any("training texts of" in line for line in said)


def test_a_model_keeps_what_was_chosen(tmp_path):
    """Its recipe trains the same model again, even by other rules of choice."""
    said, recipe = [], default(noisy(tmp_path / "data"), training__batch_size=30)
    first = train(recipe, tmp_path / "first", say=said.append)
    [line] = [line for line in said if "training texts of" in line]
    kept = load_recipe(load_model(tmp_path / "first").about["recipe"])
    assert kept.auto == []
    for key in recipe.auto:
        assert f"{key} = {value(kept, key)}" in line
    assert first.about["curve"][-1]["epoch"] == kept.training.epochs
    again = train(kept, tmp_path / "again", say=said.append)
    assert weights(again) == weights(first)
    assert (again.temperature, again.about["scores"]) == (first.temperature, first.about["scores"])


def test_resume(tmp_path, monkeypatch):
    recipe = default(noisy(tmp_path / "data"), training__batch_size=30)
    whole = train(recipe, tmp_path / "whole", say=[].append)
    monkeypatch.setattr(sys, "stderr", Tripwire("epoch   3:"))
    with pytest.raises(Interrupted):
        train(recipe, tmp_path / "model", say=[].append)
    with pytest.raises(BadInput, match="was started with auto = "):
        train(load_recipe(recipe, {"training.epochs": 9}), tmp_path / "model", resume=True)
    monkeypatch.setattr(sys, "stderr", Tripwire("no such line"))
    model = train(recipe, tmp_path / "model", resume=True, say=[].append)
    assert "epoch   2:" not in sys.stderr.lines
    assert weights(model) == weights(whole)
    assert model.temperature == whole.temperature


def test_unknown_keys_are_refused(tmp_path):
    path = write_table(tmp_path / "t.csv", [(f"tea {i}", "xy"[i % 2]) for i in range(40)])
    for wrong in ("model.hidden", "training.epoch"):
        said = refusal("train", "--data", path, "--out", tmp_path / "model", "--set", f'auto=["{wrong}"]')
        assert said == f"auto: {wrong!r}: not chosen by the data; expected some of {', '.join(CHOICES)}"
    assert not (tmp_path / "model").exists()


@installed
@pytest.mark.parametrize("language", LANGUAGES)
def test_pretrained_vectors_for_english_alone(tmp_path, language):
    recipe = default(in_language(tmp_path, language))
    chosen, [_] = sized(recipe, open_corpus(recipe.data))
    assert (chosen.model.vocabulary.vectors == "wordllama") == (language == "en")


@installed
def test_vectors_too_large_for_pretrained_ones(tmp_path):
    recipe = default(in_language(tmp_path, "en"), model__embedding=300)
    chosen, [_] = sized(recipe, open_corpus(recipe.data))
    assert chosen.model.vocabulary.vectors != "wordllama"


@pytest.mark.parametrize("language", ["en", "de"])
def test_without_wordllama(tmp_path, monkeypatch, language):
    """English texts are told what to install. Others, and vectors that the user has chosen, are not."""
    monkeypatch.setitem(sys.modules, "wordllama", None)  # as if it were not installed
    recipe = default(in_language(tmp_path, language))
    chosen, lines = sized(recipe, open_corpus(recipe.data))
    assert chosen.model.vocabulary.vectors == "random"
    hint = "texts in English: pip install 'treetext[english]' gives them pretrained word vectors"
    assert lines[1:] == [hint] * (language == "en")
    _, [_] = sized(load_recipe(recipe, {"model.vocabulary.vectors": "word2vec"}), open_corpus(recipe.data))
