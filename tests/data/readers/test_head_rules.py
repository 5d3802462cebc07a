import re

import pytest

from treetext.data.readers.head_rules import dependencies, head_child

SENTENCES = {
    "auxiliaries head verbs, prepositions nouns": (
        "(ROOT (S (NP (DT The) (JJ small) (NN bird)) (VP (VBZ is) (VP (VBG singing)"
        " (PP (IN in) (NP (DT a) (NN tree))))) (. .)))",
        "The small bird is singing in a tree .",
        [2, 2, 3, -1, 3, 4, 7, 5, 3],
    ),
    "the first of two": ("(NP (NN bread) (CC and) (NN butter))", "bread and butter", [-1, 0, 0]),
    "of three, that before the conjunction": (
        "(NP (NN tea) (, ,) (NN milk) (CC and) (NN sugar))",
        "tea , milk and sugar",
        [2, 2, -1, 2, 2],
    ),
    "the first noun phrase": ("(NP (NP (NN tea)) (PP (IN with) (NP (NN milk))))", "tea with milk", [-1, 0, 1]),
    "conjoined verb phrases": (
        "(S (NP (PRP We)) (VP (VP (VBP sing)) (CC or) (VP (VBP dance))))",
        "We sing or dance",
        [1, -1, 1, 1],
    ),
    "possessives end their noun phrase": (
        "(NP (NP (DT the) (NN cat) (POS 's)) (NN tail))",
        "the cat 's tail",
        [2, 2, 3, -1],
    ),
    "the last noun of a compound": ("(NP (DT a) (NN paper) (NN boat))", "a paper boat", [2, 2, -1]),
    "numbers": ("(NP (QP (RB about) (CD ten)) (NNS men))", "about ten men", [2, 0, -1]),
    "a relative pronoun heads its clause": (
        "(NP (NP (NN toy)) (SBAR (WHNP (WDT that)) (S (VP (VBZ works)))))",
        "toy that works",
        [-1, 0, 1],
    ),
    "a question": (
        "(SBARQ (WHADVP (WRB Where)) (SQ (VBZ is) (NP (DT the) (NN key))) (. ?))",
        "Where is the key ?",
        [1, -1, 3, 1, 1],
    ),
    "to heads its verb": ("(VP (TO to) (VP (VB go) (ADVP (RB home))))", "to go home", [-1, 0, 1]),
    "adjectives before adverbs": ("(ADJP (RB very) (JJ tall))", "very tall", [1, -1]),
    "adverbs from the right": ("(ADVP (RB only) (RB here))", "only here", [1, -1]),
    "nothing but punctuation": ("(FRAG (. !) (. ?))", "! ?", [1, -1]),
    "punctuation is no head beside a word": ("(X (: --) (NN stop))", "-- stop", [1, -1]),
    "unknown labels": ("(X (NN one) (NN two))", "one two", [-1, 0]),
    "functions and indices do not matter": ("(NP-SBJ-1 (NP=2 (NN one)) (PRT|ADVP (RB up)))", "one up", [-1, 0]),
    "no label at the top": ("( (S (NP (NN rain)) (VP (VBZ falls))))", "rain falls", [1, -1]),
    "brackets and quotation marks": (
        "(NP (-LRB- -LRB-) (`` ``) (NN a\\/b) ('' '') (-RRB- -RRB-))",
        '( " a/b " )',
        [2, 2, -1, 2, 2],
    ),
    "one word": ("(ROOT (NN rain))", "rain", [-1]),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_heads_by_hand(name):
    parse, words, heads = SENTENCES[name]
    found = dependencies(parse)
    assert found.words == words.split()
    assert list(found.tree.heads) == heads
    assert found.tree.projective, "constituents are contiguous, and so are what their heads dominate"


@pytest.mark.parametrize(
    ("label", "children", "head"),
    [
        ("NP", "DT JJ NN", 2),
        ("NP", "DT NN POS", 2),
        ("NP", "NP SBAR", 0),
        ("NP", "DT CD", 1),
        ("NP", "DT JJ", 1),
        ("NP", "$ CD", 0),
        ("NP", "PRP", 0),
        ("NP", "DT", 0),
        ("NX", "JJ NN", 1),
        ("VP", "VBD NP PP", 0),
        ("VP", "ADVP VBZ", 1),
        ("VP", "MD RB VP", 0),
        ("PP", "RB IN NP", 1),
        ("PP", "IN IN NP", 1),  # searched from the right
        ("PP", "NP ADVP", 1),
        ("S", "NP VP", 1),
        ("S", "S CC S", 0),
        ("S", "NP ADJP", 1),
        ("SBAR", "IN S", 0),
        ("SINV", "VBZ NP VP", 0),
        ("WHNP", "WP$ NN", 0),
        ("UCP", "NP CC ADJP", 0),
        ("QP", "IN CD", 0),
    ],
)
def test_head_children(label, children, head):
    assert head_child(label, tuple(children.split())) == head


@pytest.mark.parametrize(
    ("parse", "message"),
    [
        ("", "0 parses; expected one, as in (ROOT (S …))"),
        ("(NN a) (NN b)", "2 parses"),
        ("(S (NN a)", "1 of the brackets never close; expected a ) for each ("),
        ("(S (NN a)))", "character 11: unmatched closing bracket; expected a ) for each ("),
        (
            "(S ())",
            "character 5: brackets with neither a word nor constituents in them; expected (TAG word) or (LABEL …)",
        ),
        ("(S (NN))", "character 7: brackets with neither"),
        ("word", "character 1: 'word' outside all brackets"),
        ("(S (NN a b))", "character 10: 'b' after a word or a constituent"),
        ("(S (NN a) b)", "character 11: 'b' after a word or a constituent"),
        ("(NN a (NN b))", "character 7: a bracket opens after a word"),
    ],
)
def test_broken_brackets(parse, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        dependencies(parse)


def test_deep_brackets():
    deep = 20_000
    assert dependencies("(S " * deep + "(NN end)" + ")" * deep).tree.heads == (-1,)
