"""Agreement of models with treebanks."""

import json
import random

import pytest
import torch

from tests.data.readers.treebanks import gum, sentence, units, write
from tests.evaluation.brute import same_as
from treetext.data import BadInput, Vocabulary, read_treebank
from treetext.evaluation import FIGURES, REFERENCES, agreement, tree_statistics
from treetext.models import (
    StructuredDocuments,
    StructuredDocumentsSettings,
    StructuredPairs,
    StructuredPairsSettings,
)
from treetext.trees import Tree

WORDS = ["rain", "snow", "wind", "hail", "sun", "falls", "melts", "blows", "stops", "shines", ".", ","]
SIZES = {"embedding": 8, "semantic": 6, "structure": 6, "hidden": 8}


def documents_model(words="nonprojective", sentences="nonprojective", **options):
    torch.manual_seed(3)
    settings = StructuredDocumentsSettings(
        words={"attention": words, **options}, sentences={"attention": sentences}, **SIZES
    )
    return sharp(StructuredDocuments(settings, ["no", "yes"], vocabulary=vocabulary()))


def pairs_model(words="nonprojective"):
    torch.manual_seed(3)
    settings = StructuredPairsSettings(words={"attention": words}, **SIZES)
    return sharp(StructuredPairs(settings, ["no", "yes"], vocabulary=vocabulary()))


def vocabulary():
    return Vocabulary.from_counts(dict.fromkeys(WORDS, 9), 1)


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


def other_trees(model):
    """The trees of a model that says something else of the same texts."""
    other = type(model)(model.settings, model.labels, vocabulary=model.vocabulary)
    other.load_state_dict(model.state_dict())
    with torch.no_grad():
        other.embedding.weight.mul_(-1)
    return other.parse(texts(12))


def of_gold(level, source="model"):
    return [level.figures[source][f"gold_{name}"].value for name in ("heads", "arcs", "roots")]


def heads(found, level):
    return [list(tree.heads) for tree in found.trees if tree.level == level]


def test_agreement_by_another_way(tmp_path):
    model = documents_model()
    gold = other_trees(model)
    found = agreement(model, read_treebank(gum_of(tmp_path, gold)), resamples=200)
    parsed, untrained = (one.parse(texts(12)) for one in (model, model.untrained()))
    for name, level in found.levels.items():
        reference, own, fresh = (trees_of(some, name) for some in (gold, parsed, untrained))
        assert of_gold(level) == pytest.approx(same_as(reference, own))
        assert of_gold(level, "untrained") == pytest.approx(same_as(reference, fresh))
        chains = [range(-1, len(each) - 1) for each in reference]
        assert of_gold(level, "right chain") == pytest.approx(same_as(reference, chains))
        assert of_gold(level, "gold") == [1, 1, 1]
        assert heads(found, name) == [list(each) for each in own]
        assert list(level.figures) == ["model", "untrained", *REFERENCES, "gold"]
        shapes = tree_statistics([Tree.from_heads(each) for each in reference])
        assert level.figures["gold"]["height"].value == pytest.approx(shapes.height)
        for figures in level.figures.values():
            assert set(figures) == set(FIGURES)
            for value, low, high in (figures["gold_heads"], figures["height"]):
                assert low <= value <= high


def trees_of(parsed, level):
    if level == "sentences":
        return [document.tree.heads for document in parsed]
    return [s.tree.heads for document in parsed for s in document.sentences]


@pytest.mark.parametrize("kind", ["projective", "nonprojective"])
def test_a_models_own_trees_as_a_treebank(tmp_path, kind):
    model = documents_model(kind)
    parsed = model.parse(texts(12))
    found = agreement(model, read_treebank(write(tmp_path / "own.conllu", conllu(parsed))))
    [words] = found.levels.values()
    assert of_gold(words) == [1, 1, 1]
    assert of_gold(words, "random")[0] < 0.5
    assert heads(found, "words") == [list(s.tree.heads) for document in parsed for s in document.sentences]
    assert words.single == sum(len(s.words) == 1 for document in parsed for s in document.sentences) > 0
    assert words.figures["random"]["projective"].value < 1 or kind == "projective"


def test_nothing_to_compare(tmp_path):
    """Trees of one word cannot but agree, and one document cannot be drawn from."""
    alone = agreement(documents_model(), read_treebank(write(tmp_path / "own.conllu", sentence("rain", [0]))))
    assert of_gold(alone.levels["words"]) == [None] * 3
    marks = sentence("? !", [2, 0], tags=["PUNCT", "PUNCT"])
    found = agreement(documents_model(), read_treebank(write(tmp_path / "own.conllu", marks)), punctuation=False)
    share, arcs, roots = (found.levels["words"].figures["model"][f"gold_{name}"] for name in ("heads", "arcs", "roots"))
    assert share == arcs == (None, None, None)
    assert roots[1:] == (None, None)
    assert roots.value in (0, 1)


def test_pairs_of_any_sentences(tmp_path):
    """Trees of a pair do not depend on the other sentence, so that an odd number of sentences can be compared."""
    model = pairs_model()
    sentences = [words for document in texts(9) for words in document][:21]
    trees = [model.parse([[words, ["sun"]]])[0].sentences[0].tree for words in sentences]
    path = write(tmp_path / "own.conllu", "".join(map(Tree.to_conllu, trees, sentences)))
    found = agreement(model, read_treebank(path))
    assert heads(found, "words") == [list(tree.heads) for tree in trees]
    assert of_gold(found.levels["words"]) == [1, 1, 1]
    assert (found.levels["words"].trees, found.levels["words"].nodes) == (21, sum(map(len, sentences)))


def test_snli(tmp_path):
    pair = {
        "gold_label": "neutral",
        "sentence1_parse": "(S (NP (NN Rain)) (VP (VBZ falls)) (. .))",
        "sentence2_parse": "(NP (NP (NN rain)) (CC and) (NP (NN snow)))",
    }
    path = write(tmp_path / "own.jsonl", json.dumps(pair) + "\n")
    model = pairs_model()
    found = agreement(model, read_treebank(path))
    assert [tree.nodes for tree in found.trees] == [["Rain", "falls", "."], ["rain", "and", "snow"]]
    gold, own = (found.levels["words"].figures[source] for source in ("gold", "model"))
    assert [gold[figure].value for figure in ("projective", "height", "gold_heads")] == [1, 2, 1]
    assert [gold[f"depth_{depth}"].value for depth in (1, 2)] == pytest.approx([1 / 3, 2 / 3])
    depths = [own[figure].value for figure in (*(f"depth_{depth}" for depth in range(1, 7)), "deeper")]
    assert sum(depths) == pytest.approx(1)


def test_records_add_up(tmp_path):
    model = documents_model()
    found = agreement(model, read_treebank(gum_of(tmp_path, other_trees(model))))
    records = [tree.record() for tree in found.trees]
    assert json.loads(json.dumps(records)) == records
    for name, level in found.levels.items():
        mine = [record for record in records if record["level"] == name and len(record["nodes"]) > 1]
        counted, trees = sum(record["counted"] for record in mine), len(mine)
        sums = [sum(record[key] for record in mine) for key in ("same_heads", "same_arcs", "same_root")]
        assert of_gold(level) == pytest.approx([sums[0] / counted, sums[1] / (counted - trees), sums[2] / trees])
        assert 0 < of_gold(level)[0] < 1
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()


def test_punctuation_left_out(tmp_path):
    text = sentence("rain falls .", [2, 0, 2], tags=["NOUN", "VERB", "PUNCT"])
    treebank = read_treebank(write(tmp_path / "own.conllu", text + sentence("snow melts", [2, 0])))
    found = agreement(documents_model(), treebank, punctuation=False)
    assert found.notes == ["own.conllu: heads of punctuation are not counted"]
    assert [tree.record()["counted"] for tree in found.trees] == [2, 2]
    assert of_gold(found.levels["words"], "left chain") == [3 / 4, 2 / 2, 1 / 2]  # its last node is the root
    assert of_gold(agreement(documents_model(), treebank).levels["words"], "left chain") == [3 / 5, 3 / 3, 1 / 2]


def test_words_that_a_model_does_not_take_for_words(tmp_path):
    """The words are those of the treebank, even where the model would cut, or see white space."""
    text = sentence("rain falls . snow", [2, 0, 2, 2]).replace("falls", "\u00a0").replace("snow", "don't")
    found = agreement(documents_model(), read_treebank(write(tmp_path / "own.conllu", text)))
    [tree] = found.trees
    assert tree.nodes == ["rain", "\u00a0", ".", "don't"]
    assert len(tree.heads) == 4
    [own] = documents_model().parse([[["rain", "_", ".", "other"]]])
    assert tree.heads == own.sentences[0].tree.heads, "words that it does not know are all the same to it"


def test_capital_letters(tmp_path):
    """As the model's tokenizer has them."""
    path = write(tmp_path / "own.conllu", sentence("RAIN Falls here", [2, 0, 2]))
    model = documents_model()
    [own] = model.parse(["rain falls here"])
    assert agreement(model, read_treebank(path)).trees[0].heads == own.sentences[0].tree.heads


def test_other_models(tmp_path):
    model, other = documents_model(), documents_model()
    with torch.no_grad():
        other.embedding.weight.mul_(-1)
    treebank = read_treebank(gum_of(tmp_path, other.parse(texts(12))))
    found = agreement(model, treebank, others={"other": other})
    for level in found.levels.values():
        assert list(level.figures)[:4] == ["model", "untrained", "other", "random"]
        assert of_gold(level, "other") == [1, 1, 1]
        [same] = [each for each in level.agreement if (each.first, each.second) == ("model", "other")]
        assert [share.value for share in same[2:]] == of_gold(level)
    with pytest.raises(BadInput, match=r"^other: no trees of sentences; expected trees as those of the model$"):
        agreement(model, treebank, others={"other": documents_model(sentences="simple")})
    with pytest.raises(ValueError, match="'star' is the name of something else"):
        agreement(model, treebank, others={"star": other})


def test_progress(tmp_path):
    model, done = documents_model(), []
    agreement(model, read_treebank(gum_of(tmp_path, model.parse(texts(12)))), progress=lambda *each: done.append(each))
    assert sum(n for _, n in done) == 2 * 12, "also those of the untrained model"


def test_the_same_seed_gives_the_same_intervals(tmp_path):
    model = documents_model()
    treebank = read_treebank(gum_of(tmp_path, other_trees(model)))
    [first, again, another] = (agreement(model, treebank, seed=seed).to_dict() for seed in (1, 1, 2))
    assert first == again != another


def test_models_without_such_trees(tmp_path):
    path = gum_of(tmp_path, documents_model().parse(texts(3)))
    documents, words = read_treebank(path), read_treebank(path / "dep")
    [note] = agreement(documents_model("none"), documents).notes
    assert note.endswith(": the model has no trees of words to compare")
    without = "the model has no trees of {}; expected projective or nonprojective attention$"
    with pytest.raises(BadInput, match="^" + without.format("words")):
        agreement(documents_model("none"), words)
    with pytest.raises(BadInput, match="^" + without.format("words or sentences")):
        agreement(documents_model("simple", "none"), documents)
    assert set(agreement(pairs_model(), words).levels) == {"words"}
    mixed = agreement(pairs_model(), documents)
    assert mixed.levels == agreement(pairs_model(), words).levels, "grouped into pairs in any way"
    assert mixed.notes[-1].endswith(": the model has no trees of sentences to compare")
