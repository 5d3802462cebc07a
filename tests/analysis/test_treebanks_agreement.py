import itertools
import json
import random

import numpy as np
import pytest
import torch

from tests.analysis.treebanks import gum, sentence, units, write
from treetext.analysis import agreement, read_treebank, untrained_model
from treetext.analysis._recovery import Pair, shares
from treetext.analysis._sameness import sameness
from treetext.models import DocumentClassifier, DocumentSettings, PairClassifier, PairSettings
from treetext.text import BadInput, Vocabulary
from treetext.trees import Tree

WORDS = ["rain", "snow", "wind", "hail", "sun", "falls", "melts", "blows", "stops", "shines", ".", ","]
SIZES = {"embedding": 8, "semantic": 6, "structure": 6, "hidden": 8}


def documents_model(words="nonprojective", sentences="nonprojective", **options):
    torch.manual_seed(3)
    settings = DocumentSettings(
        task="documents", words={"attention": words, **options}, sentences={"attention": sentences}, **SIZES
    )
    return sharp(DocumentClassifier(settings, Vocabulary.from_counts(dict.fromkeys(WORDS, 9), 1), ["no", "yes"]))


def pairs_model(words="nonprojective"):
    torch.manual_seed(3)
    settings = PairSettings(task="pairs", words={"attention": words}, **SIZES)
    return sharp(PairClassifier(settings, Vocabulary.from_counts(dict.fromkeys(WORDS, 9), 1), ["no", "yes"]))


def sharp(model):
    """With weights so large that its trees are all sorts."""
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(8)
    return model


def texts(count, seed=0):
    chance = random.Random(seed)
    return [[chance.choices(WORDS, k=chance.randint(1, 9)) for _ in range(chance.randint(1, 6))] for _ in range(count)]


def conllu(parsed):
    """What a model says, as a treebank."""
    return "".join(document.to_conllu(str(i)) for i, document in enumerate(parsed))


def gum_of(folder, parsed):
    """The same with the trees over sentences, each a discourse unit."""
    return gum(
        folder,
        {
            f"GUM_{i:02}": (
                document.to_conllu(),
                units(*((head + 1, j) for j, head in enumerate(document.tree.heads, start=1))),
            )
            for i, document in enumerate(parsed)
        },
    )


def random_tree(n, chance):
    order = chance.sample(range(n), n)
    heads = [-1] * n
    for i, node in enumerate(order[1:], start=1):
        heads[node] = order[chance.randrange(i)]
    return heads


def test_scores_are_those_of_recovery():
    chance = random.Random(1)
    sizes = [chance.randint(1, 8) for _ in range(60)]
    gold, found = ([random_tree(n, chance) for n in sizes] for _ in range(2))
    scores = sameness(gold, {"found": found}, [[True] * n for n in sizes], np.arange(60) // 3, resamples=200)
    expected = shares([Pair(*pair) for pair in zip(gold, found, strict=True)])
    assert [share.value for share in scores["found"]] == pytest.approx(list(expected["found"]))
    assert [share.value for share in scores["random"]] == pytest.approx(list(expected["chance"]))
    chain = shares([Pair(heads, range(-1, len(heads) - 1)) for heads in gold])["found"]
    assert [share.value for share in scores["right chain"]] == pytest.approx(list(chain))
    for each in itertools.chain.from_iterable(scores.values()):
        assert each.low <= each.value <= each.high


def test_scores_by_hand():
    #        a . b c: gold a <- c, "." <- c, b <- c; found a -> ".", c -> a, c -> b
    gold, found = [3, 3, 3, -1], [3, 0, 3, -1]
    all_, some = ([[True] * 4], [[True, False, True, True]])
    [scores, without] = (sameness([gold], {"x": [found]}, counted, np.array([0]))["x"] for counted in (all_, some))
    assert [share.value for share in scores] == pytest.approx([3 / 4, 2 / 3, 1])
    assert [share.value for share in without] == pytest.approx([1, 1, 1])
    assert scores.directed.low is None, "one document cannot be sampled from"
    turned = sameness([[-1, 0, 1]], {"x": [[1, -1, 1]]}, [[True] * 3], np.array([0]))["x"]
    assert [share.value for share in turned] == pytest.approx([1 / 3, 1, 0])


def test_nothing_to_compare():
    for gold, counted in (([[-1]], [[True]]), ([[-1, 0]], [[False, False]])):
        scores = sameness(gold, {"x": gold}, counted, np.array([0]))
        assert scores["x"].directed.value is None
        assert scores["random"].undirected.value is None


@pytest.mark.parametrize("kind", ["projective", "nonprojective"])
def test_a_models_own_trees_as_a_treebank(tmp_path, kind):
    model = documents_model(kind)
    parsed = model.parse(texts(12))
    found = agreement(model, read_treebank(write(tmp_path / "own.conllu", conllu(parsed))))
    assert set(found.levels) == {"words"}
    words = found.levels["words"]
    assert [share.value for share in words.scores["model"]] == [1, 1, 1]
    assert words.scores["random"].directed.value < 0.5
    assert [tree.found for tree in words.trees] == [s.tree for document in parsed for s in document.sentences]
    assert words.single == sum(len(s.words) == 1 for document in parsed for s in document.sentences) > 0


def test_trees_over_sentences(tmp_path):
    model = documents_model()
    parsed = model.parse(texts(12))
    found = agreement(model, read_treebank(gum_of(tmp_path, parsed)))
    assert set(found.levels) == {"words", "sentences"}
    for level in found.levels.values():
        assert [share.value for share in level.scores["model"]] == [1, 1, 1]
    assert [tree.found for tree in found.levels["sentences"].trees] == [document.tree for document in parsed]


def test_pairs_of_any_sentences(tmp_path):
    """Trees of a pair do not depend on the other sentence, so that an odd number of sentences can be compared."""
    model = pairs_model()
    sentences = [words for document in texts(9) for words in document][:21]
    trees = [model.parse([[words, ["sun"]]])[0].sentences[0].tree for words in sentences]
    path = write(tmp_path / "own.conllu", "".join(map(Tree.to_conllu, trees, sentences)))
    found = agreement(model, read_treebank(path))
    assert [tree.found for tree in found.levels["words"].trees] == trees
    assert found.levels["words"].scores["model"].directed.value == 1


def test_snli_table(tmp_path):
    pair = {
        "gold_label": "neutral",
        "sentence1_parse": "(S (NP (NN Rain)) (VP (VBZ falls)) (. .))",
        "sentence2_parse": "(NP (NP (NN rain)) (CC and) (NP (NN snow)))",
    }
    path = write(tmp_path / "own.jsonl", json.dumps(pair) + "\n")
    model = pairs_model()
    found = agreement(model, read_treebank(path))
    [scores, shapes] = found.tables()
    assert [tree.nodes for tree in found.levels["words"].trees] == [["Rain", "falls", "."], ["rain", "and", "snow"]]
    assert shapes.columns == ["", "the parser", "this model", "the paper's parser", "the paper's model"]
    cells = {row[0]: row[1:] for row in shapes.rows}
    assert cells["projective trees, %"][0] == 100
    assert cells["height"][0] == 2
    assert cells["height"][2:] == [8.99, 5.78]
    assert (cells["nodes at depth 1, %"][0], cells["nodes at depth 2, %"][0]) == (33.33, 66.67)
    same = round(100 * found.levels["words"].scores["model"].directed.value, 2)
    assert cells["same edges, %"] == [None, same, None, 38.7]
    assert scores.rows[0][:2] == ["this model", same]
    depths = [row[2] for row in shapes.rows if row[0].startswith("nodes")]
    assert sum(depths) == pytest.approx(100, abs=0.1)


def test_records_add_up(tmp_path):
    model, other = documents_model(), documents_model()
    with torch.no_grad():
        other.embedding.weight.mul_(-1)
    found = agreement(model, read_treebank(gum_of(tmp_path, other.parse(texts(12)))))
    records = list(found.records())
    for name, level in found.levels.items():
        mine = [record for record in records if record["level"] == name and len(record["nodes"]) > 1]
        counted, trees = sum(record["counted"] for record in mine), len(mine)
        values = [share.value for share in level.scores["model"]]
        sums = [sum(record[key] for record in mine) for key in ("directed", "undirected", "root")]
        assert values == pytest.approx([sums[0] / counted, sums[1] / (counted - trees), sums[2] / trees])
        assert 0 < values[0] < 1
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()


def test_punctuation_left_out(tmp_path):
    text = sentence("rain falls .", [2, 0, 2], tags=["NOUN", "VERB", "PUNCT"])
    treebank = read_treebank(write(tmp_path / "own.conllu", text + sentence("snow melts", [2, 0])))
    found = agreement(documents_model(), treebank, punctuation=False)
    assert [record["counted"] for record in found.records()] == [2, 2]
    assert found.levels["words"].scores["left chain"].directed.value == pytest.approx(3 / 4)
    assert agreement(documents_model(), treebank).levels["words"].scores["star"].directed.value == pytest.approx(0)


def test_words_that_a_model_does_not_take_for_words(tmp_path):
    """The words are those of the treebank, even where the model would cut, or see white space."""
    text = sentence("rain falls . snow", [2, 0, 2, 2]).replace("falls", "\u00a0").replace("snow", "don't")
    found = agreement(documents_model(), read_treebank(write(tmp_path / "own.conllu", text)))
    [tree] = found.levels["words"].trees
    assert tree.nodes == ["rain", "\u00a0", ".", "don't"]
    assert len(tree.found) == 4


def test_other_models(tmp_path):
    model = documents_model()
    treebank = read_treebank(gum_of(tmp_path, model.parse(texts(12))))
    found = agreement(model, treebank, others={"untrained": untrained_model(model)})
    assert list(found.levels["words"].scores)[:3] == ["model", "untrained", "random"]
    assert 0 < found.levels["words"].scores["untrained"].directed.value < 1
    with pytest.raises(BadInput, match=r"^other: no trees of sentences; expected trees as those of the model$"):
        agreement(model, treebank, others={"other": documents_model(sentences="simple")})


def test_many_documents_in_parts(tmp_path, monkeypatch):
    model = documents_model()
    treebank = read_treebank(gum_of(tmp_path, model.parse(texts(12))))
    whole = agreement(model, treebank)
    monkeypatch.setattr("treetext.analysis._treebank_agreement.AT_ONCE", 5)
    done = []
    assert agreement(model, treebank, progress=done.append).levels == whole.levels
    assert sum(done) == 12


def test_the_same_seed_gives_the_same_intervals(tmp_path):
    model = documents_model()
    other = documents_model()
    with torch.no_grad():
        other.embedding.weight.mul_(-1)
    treebank = read_treebank(gum_of(tmp_path, other.parse(texts(12))))
    [first, again, another] = (agreement(model, treebank, seed=seed).to_dict() for seed in (1, 1, 2))
    assert first == again != another


def test_models_without_such_trees(tmp_path):
    path = gum_of(tmp_path, documents_model().parse(texts(3)))
    documents, words = read_treebank(path), read_treebank(path / "dep")
    [note] = agreement(documents_model("none"), documents).notes
    assert note == "the model's attention over words is none: it has no such trees to compare"
    with pytest.raises(BadInput, match="model is one of pairs, which has none; expected a model of documents"):
        agreement(pairs_model(), documents)
    with pytest.raises(BadInput, match="no trees of words in the model: the model's attention over words is none; exp"):
        agreement(documents_model("none"), words)
    with pytest.raises(BadInput, match=r"no trees of words or sentences in the model: .* is simple, and .* is none"):
        agreement(documents_model("simple", "none"), documents)
    assert agreement(pairs_model(), words).levels["words"].scores["model"].directed.value > 0
