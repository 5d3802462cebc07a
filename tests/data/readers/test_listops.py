"""Generated list operations: values by an evaluator of their own, gold trees, depths, and what is refused."""

import re
from collections import Counter
from statistics import median

import pytest

from treetext.data import BadInput, open_corpus, reader
from treetext.data.readers.listops import ListOps, generate
from treetext.trees import Tree

SMALL = {"train": 200, "dev": 50, "test": 50}


def evaluated(text):
    """The value by Python's own evaluation of the expression."""
    functions = {"MAX": max, "MIN": min, "MED": lambda *x: int(median(x)), "SUM": lambda *x: sum(x) % 10}
    code = re.sub(r"\[(\w+)", r"\1(", text).replace("]", ")")
    return eval(re.sub(r"(\d|\)) (?=\d|[A-Z])", r"\1, ", code), functions)


def nesting(tokens):
    depth = deepest = 0
    for token in tokens:
        depth += token.startswith("[") - (token == "]")
        deepest = max(deepest, depth)
    return deepest


@pytest.mark.parametrize(
    "options", [{}, {"operators": ["MAX", "MIN", "MED", "SUM"], "depths": [2, 8], "tokens": 120}], ids=["usual", "full"]
)
def test_values_depths_and_trees(options):
    spec = ListOps(**SMALL, **options)
    depths, texts = Counter(), set()
    for _, example in generate(spec):
        [tokens], [heads] = example.text, example.heads
        text = " ".join(tokens)
        assert example.label == str(evaluated(text))
        assert len(tokens) <= spec.tokens
        depths[nesting(tokens)] += 1
        texts.add(text)
        assert Tree.from_heads(heads).projective
        enclosing = list[int]()
        for place, (token, head) in enumerate(zip(tokens, heads, strict=True)):
            assert head == (enclosing[-1] if enclosing else -1)
            if token.startswith("["):
                enclosing.append(place)
            elif token == "]":
                enclosing.pop()
    assert len(texts) == 300, "all differ"
    assert set(depths) == set(spec.depths)
    assert max(depths.values()) - min(depths.values()) <= 3


def test_the_test_data_do_not_depend_on_the_others():
    one, other = (list(generate(ListOps(**{**SMALL, "train": size}))) for size in (10, 200))
    assert one[:100] == other[:100]
    assert one[:100] != list(generate(ListOps(**SMALL, seed=1)))[:100]


def test_a_corpus():
    corpus = open_corpus(reader("listops", listops=SMALL))
    assert {split: len(rows) for split, rows in corpus.rows.items()} == SMALL
    assert corpus.classes == [str(digit) for digit in range(10)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"listops": {"arguments": [3, 2]}}, "expected the least and the most, from 1 up, as in [2, 5], not [3, 2]"),
        ({"listops": {"depths": [20]}}, "tokens: a depth of 20 needs at least 61 tokens, not 50"),
        ({"path": "x"}, "path: listops are generated, not read; expected no path"),
    ],
)
def test_refusals(settings, message):
    with pytest.raises(BadInput) as error:
        reader("listops", **settings)
    assert message in str(error.value)


def test_too_few_expressions():
    spec = ListOps(train=400, dev=0, test=0, depths=[1], arguments=(2, 2))
    with pytest.raises(BadInput, match=r"listops, train 301: too few expressions of depth 1 have at most 50 tokens"):
        list(generate(spec))
