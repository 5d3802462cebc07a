import doctest
import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from itertools import groupby
from pathlib import Path

import pytest
from pydantic import ValidationError

from treetext.data.readers.hidden_trees import HiddenTrees, Lexicon, generate
from treetext.trees import Tree

ROOT = -1
SPECS = {
    "default": {},
    "answered": {"task": "answered", "passive": 0.5},
    "chain": {"task": "chain", "classes": 3, "sentence_depth": 5},
    "deep": {"depth": 6, "passive": 1.0, "crossing": 1.0},
    "long": {"adjectives": (1, 5), "sentences": (2, 12), "topics": 12, "genders": 2},
    "clauses": {"clauses": 2, "passive": 0.5, "depth": 4, "task": "answered"},
    "agreement": {"task": "agreement", "clauses": 2, "depth": 4},
    "sentence votes": {"task": "agreement", "sentences": (2, 5), "sentence_votes": 9},
    "alone": {"task": "agreement", "sentences": (1, 1), "adjectives": (1, 1)},
    "tiny": {"stems": 1, "topics": 3, "sentences": (1, 3), "adjectives": (1, 1)},
}
specs = pytest.mark.parametrize("options", SPECS.values(), ids=SPECS.keys())


def documents(train=100, dev=0, test=0, **options):
    return [example for _, example in generate(HiddenTrees(train=train, dev=dev, test=test, **options))]


def words_of(examples):
    return [word for example in examples for sentence in example.text for word in sentence]


def split_word(word):
    """Stem and ending; the reference of a root sentence has no stem."""
    return ("", word) if word == "ux" else (word[:5], word[5:])


def parse_sentence(words):
    """Heads by the rules of docs/hidden-trees.md, from endings alone; each word must have just one possible head."""
    endings = [split_word(word)[1] for word in words]

    def only(pattern):
        [place] = [i for i, ending in enumerate(endings) if re.fullmatch(pattern, ending)]
        return place

    heads = []
    for ending in endings:
        if re.fullmatch("ist?(ke)?", ending):
            heads.append(ROOT)
        elif re.fullmatch("ux|ist?or|[aeiou]+[nm]", ending):
            heads.append(only("ist?(ke)?"))
        elif re.fullmatch("[aeiou]+[nm]or", ending):
            heads.append(only("ist?or"))
        elif ending.endswith("al"):
            heads.append(only(ending.removesuffix("al")))
        else:
            assert re.fullmatch("[aeiou]+[tdksp]", ending)
            heads.append(only(f"{ending[:-1]}[nm](or)?"))
    return heads


def main_verb(words):
    [verb] = [word for word in words if re.fullmatch("ist?(ke)?", split_word(word)[1])]
    return verb


def parse_document(sentences):
    """The sentence that each one refers to, by the stem of its main verb."""
    topics = [split_word(main_verb(sentence))[0] for sentence in sentences]
    assert len(set(topics)) == len(topics)
    heads = []
    for sentence in sentences:
        [reference] = [word for word in sentence if word.endswith("ux")]
        heads.append(topics.index(reference[:-2]) if reference != "ux" else ROOT)
    return heads


def agent_property(words, heads, lexicon, classes):
    """What is said of the agent of the main clause; all of its adjectives must agree on it."""
    endings = [split_word(word)[1] for word in words]
    case = "m" if endings[heads.index(ROOT)].startswith("ist") else "n"
    [agent] = [i for i, ending in enumerate(endings) if re.fullmatch(f"[aeiou]+{case}", ending)]
    said = set()
    for i in (i for i, head in enumerate(heads) if head == agent):
        [value] = [p for p, stems in enumerate(lexicon.adjectives) if words[i][:5] in stems]
        while i in heads:
            i = heads.index(i)
            value += words[i][:5] in lexicon.modifiers[1]
        said.add(value % classes)
    [value] = said
    return value


def meaning(word, lexicon):
    """The number of a stem among those of its kind, or that of its kind; none for what has no stem."""
    kinds = [lexicon.topics, lexicon.verbs, *lexicon.nouns.values()]
    found = [stems.index(word[:5]) for stems in kinds if word[:5] in stems]
    found += [
        i for kinds in (lexicon.adjectives, lexicon.modifiers) for i, stems in enumerate(kinds) if word[:5] in stems
    ]
    return found[0] if word != "ux" else None


def agreement(example, spec, lexicon):
    """Of all arcs, those whose ends are both even or both odd, less the others; those of sentences count more."""
    sentences = []
    for words in example.text:
        [subject] = [word for word in words if re.fullmatch("[aeiou]+n", split_word(word)[1])]
        sentences.append(meaning(subject, lexicon))
    texts = [([meaning(word, lexicon) for word in words], parse_sentence(words)) for words in example.text]
    total, counts = 0, [1] * len(texts) + [spec.sentence_votes]
    for (meanings, heads), count in zip([*texts, (sentences, parse_document(example.text))], counts, strict=True):
        ends = [(meanings[i], meanings[head]) for i, head in enumerate(heads) if head != ROOT]
        total += count * sum(1 if (x + y) % 2 == 0 else -1 for x, y in ends if x is not None and y is not None)
    return total


def label_of(example, spec):
    """The label, found out from the surface alone."""
    lexicon = Lexicon(spec)
    if spec.task == "agreement":
        total = agreement(example, spec, lexicon)
        assert total
        return int(total < 0)
    values = [agent_property(words, parse_sentence(words), lexicon, spec.classes) for words in example.text]
    heads = parse_document(example.text)
    asking = [i for i, words in enumerate(example.text) if main_verb(words).endswith("ke")]
    if spec.task == "root":
        assert not asking
        return values[heads.index(ROOT)]
    [node] = asking
    if spec.task == "answered":
        return values[heads[node]]
    total = 0
    while node != ROOT:
        total, node = total + values[node], heads[node]
    return total % spec.classes


@specs
def test_endings_and_references_alone_determine_the_gold_trees(options):
    for example in documents(**options):
        assert [parse_sentence(words) for words in example.text] == example.heads
        assert parse_document(example.text) == example.sentence_heads


@specs
def test_the_gold_trees_are_trees_of_the_depth_asked_for(options):
    spec = HiddenTrees(**options)
    heights = set()
    for example in documents(**options):
        assert {Tree.from_heads(heads).height for heads in example.heads} == {spec.depth + spec.clauses - 1}
        heights.add(Tree.from_heads(example.sentence_heads).height)
    assert max(heights) == min(spec.sentence_depth, spec.sentences[1])


@specs
def test_the_label_follows_from_the_trees(options):
    spec = HiddenTrees(**options)
    for example in documents(**options):
        assert example.label == f"p{label_of(example, spec) + 1}"


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_labels_are_exactly_balanced_in_each_split(classes):
    spec = HiddenTrees(train=20 * classes, dev=10 * classes, test=5 * classes, classes=classes)
    for split, size in (("train", 20), ("dev", 10), ("test", 5)):
        labels = Counter(example.label for name, example in generate(spec) if name == split)
        assert labels == {f"p{i + 1}": size for i in range(classes)}


def test_no_document_comes_twice_even_in_a_tiny_language():
    tiny = {"stems": 1, "topics": 2, "sentences": (2, 2), "adjectives": (1, 1), "genders": 2}
    examples = documents(train=700, dev=100, test=100, **tiny)
    texts = {str(example.text) for example in examples}
    assert len(texts) == 900


def test_a_language_with_too_few_documents_is_an_error():
    spec = HiddenTrees(stems=1, topics=2, sentences=(1, 1), adjectives=(1, 1), genders=2, crossing=0.0)
    with pytest.raises(ValueError, match=r"hidden-trees, \w+ \d+: the language has too few documents that differ"):
        for _ in generate(spec):
            pass


def corpus_digest(spec):
    return hashlib.sha256(json.dumps(list(generate(spec))).encode()).hexdigest()


def test_the_same_seed_gives_the_same_corpus_in_any_process():
    spec = HiddenTrees(train=50, dev=10, test=10, seed=7)
    code = (
        "import hashlib, json\n"
        "from treetext.data.readers.hidden_trees import HiddenTrees, generate\n"
        f"spec = HiddenTrees.model_validate_json({spec.model_dump_json()!r})\n"
        "print(hashlib.sha256(json.dumps(list(generate(spec))).encode()).hexdigest())"
    )
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == corpus_digest(spec)
    assert corpus_digest(spec.model_copy(update={"seed": 8})) != corpus_digest(spec)


def test_the_other_splits_stay_when_the_training_set_grows():
    few, many = (list(generate(HiddenTrees(train=train, dev=20, test=20))) for train in (30, 60))
    assert many[: len(few)] == few
    assert [split for split, _ in groupby(split for split, _ in many)] == ["test", "dev", "train"]


def test_where_names_split_and_number():
    assert [example.where for _, example in generate(HiddenTrees(train=2, dev=1, test=0))] == [
        "hidden-trees, dev 1",
        "hidden-trees, train 1",
        "hidden-trees, train 2",
    ]


def bag_of_words_accuracy(train, test, longest):
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    # Sentences end in a dot, so that no pair of words spans two of them unmarked.
    texts = [[" . ".join(map(" ".join, example.text)) for example in examples] for examples in (train, test)]
    labels = [[example.label for example in examples] for examples in (train, test)]
    bag = CountVectorizer(ngram_range=(1, longest), token_pattern=r"\S+", min_df=5)
    model = make_pipeline(bag, LogisticRegression(C=0.1, solver="liblinear"))
    return model.fit(texts[0], labels[0]).score(texts[1], labels[1])


@pytest.mark.parametrize(
    ("options", "longest"),
    [
        ({}, 1),
        ({}, 2),
        ({"crossing": 0.0, "passive": 0.5}, 1),
        ({"task": "answered", "clauses": 2}, 1),
        ({"task": "chain", "depth": 4}, 1),
        ({"task": "agreement"}, 1),
        ({"task": "agreement", "sentences": (1, 1), "adjectives": (1, 1)}, 1),
        ({"stems": 1, "adjectives": (1, 1), "sentences": (1, 2)}, 1),
    ],
    ids=str,
)
def test_the_bag_of_words_stays_near_chance(options, longest):
    examples = documents(train=3000, **options)
    assert bag_of_words_accuracy(examples[:2000], examples[2000:], longest) < 0.6


def test_a_higher_crossing_rate_gives_more_crossing_trees():
    shares = []
    for crossing in (0.0, 0.25, 0.5, 0.75, 1.0):
        examples = documents(train=400, crossing=crossing)
        words = [not Tree.from_heads(heads).projective for example in examples for heads in example.heads]
        sentences = [not Tree.from_heads(example.sentence_heads).projective for example in examples]
        shares.append((sum(words) / len(words), sum(sentences) / len(sentences)))
    assert shares[0] == (0, 0)
    for level in zip(*shares, strict=True):
        assert list(level) == sorted(set(level))
        assert level[-1] > 0.7


def test_a_free_order_tells_nothing():
    examples = documents(train=3000, sentences=(5, 5), crossing=1.0)
    places = Counter(example.sentence_heads.index(ROOT) for example in examples)
    assert all(500 < places[place] < 700 for place in range(5))


@specs
def test_the_vocabulary_lists_just_the_forms_that_occur(options):
    few = options | {"stems": 2 if options.get("task") == "agreement" else 1}
    vocabulary = HiddenTrees(**few).vocabulary()
    assert len(set(vocabulary)) == len(vocabulary)
    assert set(words_of(documents(train=500, **few))) == set(vocabulary)


def test_the_default_language_is_small():
    assert len(HiddenTrees().vocabulary()) == 9 + 8 + 10 * 4 * 2 + 2 * 4 * 10 * 2


def test_lengths_are_as_asked():
    for example in documents(sentences=(2, 4), adjectives=(1, 3)):
        assert 2 <= len(example.text) <= 4
        assert all(4 + 2 <= len(words) <= 4 + 6 for words in example.text)
    assert {len(words) for example in documents() for words in example.text} == {6, 7, 8}
    assert {len(example.text) for example in documents()} == {5, 6, 7}


def test_passive_is_a_share_of_the_clauses():
    words = words_of(documents(train=500, passive=0.3, clauses=2))
    verbs = [word for word in words if re.fullmatch("ist?(or)?", split_word(word)[1])]
    assert sum("ist" in split_word(word)[1] for word in verbs) / len(verbs) == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize(
    "options",
    [
        {"classes": 3},
        {"task": "answered"},
        {"task": "chain"},
        {"task": "agreement"},
        {"sentences": (5, 6)},
        {"sentence_depth": 2},
        {"clauses": 2},
        {"adjectives": (1, 3)},
        {"depth": 4},
        {"passive": 0.5},
        {"genders": 9},
        {"stems": 5},
        {"topics": 9},
        {"crossing": 0.4},
        {"seed": 1},
    ],
    ids=str,
)
def test_every_parameter_has_an_effect(options):
    assert [example.text for example in documents(**options)] != [example.text for example in documents()]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sentence": (2, 3)}, "sentence\n  Extra inputs are not permitted"),
        ({"train": 0}, "train\n  Input should be greater than or equal to 1"),
        ({"classes": 1}, "classes\n  Input should be greater than or equal to 2"),
        ({"crossing": 1.5}, "crossing\n  Input should be less than or equal to 1"),
        ({"crossing": float("nan")}, "crossing\n  Input should be"),
        ({"task": "leaf"}, "task\n  Input should be 'root', 'answered', 'chain' or 'agreement'"),
        ({"task": "agreement", "classes": 3}, "classes: the task agreement has 2, most arcs agree or do not, not 3"),
        ({"sentence_votes": 2}, "sentence_votes: for the task agreement; with root, expected 1"),
        ({"task": "agreement", "stems": 3}, "stems: the task agreement needs an even number, not 3"),
        ({"task": "agreement", "topics": 9}, "topics: the task agreement needs an even number, not 9"),
        ({"sentences": (7, 5)}, r"sentences\n.*the least and the most, from 1 up, as in \[1, 2\], not \[7, 5\]"),
        ({"adjectives": (0, 2)}, r"adjectives\n.*the least and the most, from 1 up, as in \[1, 2\], not \[0, 2\]"),
        ({"adjectives": (1, 6)}, "adjectives: a noun has at most 5, not 6"),
        ({"sentences": 5}, "sentences\n  Input should be a valid tuple"),
        ({"classes": 11}, "sentences: 11 classes need at least 6 sentences, with a noun for each property, not 5"),
        ({"task": "answered", "sentences": (1, 2)}, "sentences: the task answered needs at least 2, not 1"),
        ({"topics": 6}, "topics: 7 sentences need at least 7 topics, not 6"),
        ({"clauses": 2, "genders": 3}, "genders: 4 nouns in a sentence need as many genders, not 3"),
        ({"depth": 2}, "depth\n  Input should be greater than or equal to 3"),
        ({"seed": -1}, "seed\n  Input should be greater than or equal to 0"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValidationError, match=message):
        HiddenTrees(**options)


def test_parameters_survive_json_and_lists_do_for_ranges():
    spec = HiddenTrees(sentences=[3, 4], seed=2)
    assert HiddenTrees.model_validate_json(spec.model_dump_json()) == spec
    assert spec.sentences == (3, 4)


def test_the_examples_of_the_documentation_are_right():
    page = Path(__file__).parents[3] / "docs" / "hidden-trees.md"
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted > 3
    assert result.failed == 0
