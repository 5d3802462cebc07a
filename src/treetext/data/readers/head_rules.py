"""Head rules: convert constituency parses to dependency trees.

The rules are those of Collins (1999, Head-Driven Statistical Models for Natural Language Parsing, appendix A), after
Magerman (1995). Heads are syntactic: an auxiliary heads its verb, and a preposition heads its noun. Two rules are ours:
punctuation is a head only if there is nothing else, and the first child heads constituents whose labels the rules do
not know (ROOT, X, …).
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from treetext.trees.tree import ROOT, Tree

PUNCTUATION = frozenset([".", ",", ":", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP"])
"""The tags of punctuation."""

ESCAPED = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}", "``": '"', "''": '"'}
"""The escapes of the Penn Treebank for brackets and quotation marks."""


class _Rule(NamedTuple):
    from_left: bool
    """The side where the search starts. If no child has one of the labels, the first child on this side is the head."""
    labels: Sequence[str]
    """The labels of the head, most preferred first."""


def _left(labels: str) -> _Rule:
    return _Rule(True, labels.split())


def _right(labels: str) -> _Rule:
    return _Rule(False, labels.split())


RULES = {
    "ADJP": _left("NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": _right("RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": _right("CC RB IN"),
    "FRAG": _right(""),
    "INTJ": _left(""),
    "LST": _right("LS"),
    "NAC": _left("NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
    "PP": _right("IN TO VBG VBN RP FW"),
    "PRN": _left(""),
    "PRT": _right("RP"),
    "QP": _left("$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
    "RRC": _right("VP NP ADVP ADJP PP"),
    "S": _left("TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": _left("WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
    "SBARQ": _left("SQ S SINV SBARQ FRAG"),
    "SINV": _left("VBZ VBD VBP VB MD VP S SINV ADJP NP"),
    "SQ": _left("VBZ VBD VBP VB MD VP SQ"),
    "UCP": _right(""),
    "VP": _left("TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"),
    "WHADJP": _left("CC WRB JJ ADJP"),
    "WHADVP": _right("CC WRB"),
    "WHNP": _left("WDT WP WP$ WHADJP WHPP WHNP"),
    "WHPP": _right("IN TO FW"),
}
NOUN_PHRASES = ("NP", "NX")
NOUNS = ("NN", "NNP", "NNPS", "NNS", "NX", "POS", "JJR")


class Dependencies(NamedTuple):
    """The words of a parse, their tags and their dependency tree."""

    words: list[str]
    tags: list[str]
    tree: Tree


def dependencies(parse: str) -> Dependencies:
    """Convert a bracketed parse, in the format of the Penn Treebank, to a dependency tree.

    >>> dependencies("(ROOT (S (NP (DT A) (NN dog)) (VP (VBZ sleeps)) (. .)))").tree.heads
    (1, 2, -1, 2)
    """
    words, tags, heads = list[str](), list[str](), list[int]()
    open_ = [_Constituent()]  # the outermost is the whole text
    for match in re.finditer(r"[()]|[^() \t\r\n]+", parse):
        token, here = match.group(), f"character {match.start() + 1}"
        if token == "(":
            if open_[-1].word is not None:
                raise ValueError(f"{here}: a bracket opens after a word; expected a word or constituents, not both")
            open_.append(_Constituent())
        elif token == ")":
            if len(open_) == 1:
                raise ValueError(f"{here}: unmatched closing bracket; expected a ) for each (")
            done = open_.pop()
            if done.word is None and not done.children:
                raise ValueError(
                    f"{here}: brackets with neither a word nor constituents in them; expected (TAG word) or (LABEL …)"
                )
            open_[-1].children.append((done.label, done.word if done.word is not None else _join(done, heads)))
        elif len(open_) == 1:
            raise ValueError(f"{here}: {token!r} outside all brackets; expected (LABEL …)")
        elif not open_[-1].label and not open_[-1].children:
            open_[-1].label = _plain_label(token)
        elif open_[-1].word is None and not open_[-1].children:
            open_[-1].word = len(words)
            words.append(ESCAPED.get(token, token.replace("\\/", "/").replace("\\*", "*")))
            tags.append(open_[-1].label)
            heads.append(ROOT)
        else:
            raise ValueError(f"{here}: {token!r} after a word or a constituent; expected one word per tag")
    if len(open_) > 1:
        raise ValueError(f"{len(open_) - 1} of the brackets never close; expected a ) for each (")
    if len(open_[0].children) != 1:
        raise ValueError(f"{len(open_[0].children)} parses; expected one, as in (ROOT (S …))")
    return Dependencies(words, tags, Tree.from_heads(heads))


class _Constituent:
    def __init__(self) -> None:
        self.label = ""
        self.word: int | None = None
        self.children: list[tuple[str, int]] = []
        """The label and the head word of each child."""


def _join(constituent: _Constituent, heads: list[int]) -> int:
    """Attach the head words of all children to that of the head child, and return the latter."""
    children = constituent.children
    real = [i for i, (label, _) in enumerate(children) if label not in PUNCTUATION] or range(len(children))
    chosen = children[real[head_child(constituent.label, tuple(children[i][0] for i in real))]][1]
    for _, word in children:
        if word != chosen:
            heads[word] = chosen
    return chosen


@lru_cache(maxsize=10_000)  # a few productions make up most sentences
def head_child(label: str, children: tuple[str, ...]) -> int:
    """The index of the head among the children, which are given by their labels, without punctuation."""
    head = _noun_phrase_head(children) if label in NOUN_PHRASES else _ruled_head(RULES.get(label, _left("")), children)
    # In a coordination, the conjunct before the conjunction is the head.
    return head - 2 if head >= 2 and children[head - 1] == "CC" else head


def _ruled_head(rule: _Rule, children: Sequence[str]) -> int:
    order = range(len(children)) if rule.from_left else range(len(children) - 1, -1, -1)
    return next((i for label in rule.labels for i in order if children[i] == label), order[0])


def _noun_phrase_head(children: Sequence[str]) -> int:
    last = len(children) - 1
    if children[last] == "POS":
        return last
    backwards, forwards = range(last, -1, -1), range(last + 1)
    searches = (
        (backwards, NOUNS), (forwards, ("NP",)), (backwards, ("$", "ADJP", "PRN")), (backwards, ("CD",)),
        (backwards, ("JJ", "JJS", "RB", "QP")),
    )  # fmt: skip
    return next((i for order, wanted in searches for i in order if children[i] in wanted), last)


def _plain_label(label: str) -> str:
    """A label without functions and indices: NP for NP-SBJ-1, PRT for PRT|ADVP."""
    return label if label.startswith("-") else re.split("[-=|]", label)[0] or label
