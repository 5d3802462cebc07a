"""Generated documents in a small artificial language with known trees, which only endings and references show.

The grammar is in docs/hidden-trees.md. The properties in a document are drawn independently of its label. The label
decides only who has which property, and which sentence answers which. So by construction, a bag of words tells nothing
about the label. In the task agreement, the label does not change if every word is replaced by its opposite, so a bag
of words tells almost nothing.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import count, islice, product
from pathlib import Path
from random import Random
from typing import Annotated, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, field_validator, model_validator

from treetext.data.document import BadInput, Example, Settings
from treetext.data.readers.base import Reader, Split
from treetext.trees.tree import ROOT

GENDERS = ("a", "e", "i", "o", "u", "ai", "au", "ei", "eu", "oi", "ou", "ui")
RANKS = "tdksp"  # the first adjective of a noun, the second, …
SUBJECT, OBJECT = "n", "m"
ACTIVE, PASSIVE, ASKING = "is", "ist", "ke"
SUBORDINATE = "or"
REFERENCE = "ux"
MODIFIER = "al"

Share = Annotated[float, Field(ge=0, le=1)]
Range = tuple[int, int]


class HiddenTrees(Settings):
    """The settings of a generated corpus: its size, and the length, depth and difficulty of its documents."""

    train: int = Field(6000, ge=1, description="documents to train on")
    dev: int = Field(1000, ge=0, description="documents for development")
    test: int = Field(1000, ge=0, description="documents to test on")
    classes: int = Field(2, ge=2, le=20, description="labels, one for each property")
    task: Literal["root", "answered", "chain", "agreement"] = Field("root", description="what the label depends on")
    sentence_votes: int = Field(1, ge=1, le=1000, description="weight of an arc between sentences, in agreement")
    sentences: Range = Field((5, 7), description="sentences of a document, least and most")
    sentence_depth: int = Field(4, ge=2, description="largest height of a sentence tree")
    clauses: int = Field(1, ge=1, le=2, description="clauses of a sentence: 2 adds a subordinate one")
    adjectives: Range = Field((1, 2), description="adjectives of a noun, least and most")
    depth: int = Field(3, ge=3, le=8, description="height of a clause: from 4 on, adjectives are modified")
    passive: Share = Field(0.0, description="share of the clauses in the passive, where the object is the agent")
    genders: int = Field(10, ge=2, le=len(GENDERS), description="genders of nouns")
    stems: int = Field(4, ge=1, le=500, description="stems of each meaning; sets the size of the vocabulary")
    topics: int = Field(8, ge=2, le=1000, description="verbs that identify a sentence")
    crossing: Share = Field(0.5, description="share of free word orders; the others have no crossing arcs")
    seed: int = Field(0, ge=0, description="seed of the corpus")

    @field_validator("sentences", "adjectives")
    @classmethod
    def _check_range(cls, value: Range) -> Range:
        if not 1 <= value[0] <= value[1]:
            raise ValueError(f"expected the least and the most, from 1 up, as in [1, 2], not {list(value)}")
        return value

    @model_validator(mode="after")
    def _check_enough(self) -> Self:
        (fewest, most), nouns = self.sentences, 2 * self.clauses
        if self.adjectives[1] > len(RANKS):
            raise ValueError(f"adjectives: a noun has at most {len(RANKS)}, not {self.adjectives[1]}")
        if fewest * nouns < self.classes:
            raise ValueError(
                f"sentences: {self.classes} classes need at least {-(-self.classes // nouns)} sentences, "
                f"with a noun for each property, not {fewest}"
            )
        if self.task == "agreement":
            if self.classes != 2:
                raise ValueError(f"classes: the task agreement has 2, most arcs agree or do not, not {self.classes}")
            for name in ("stems", "topics"):  # so that each word has an opposite
                if getattr(self, name) % 2:
                    raise ValueError(f"{name}: the task agreement needs an even number, not {getattr(self, name)}")
        elif self.sentence_votes > 1:
            raise ValueError(f"sentence_votes: for the task agreement; with {self.task}, expected 1")
        if self.task == "answered" and fewest == 1:
            raise ValueError("sentences: the task answered needs at least 2, not 1")
        if self.topics < most:
            raise ValueError(f"topics: {most} sentences need at least {most} topics, not {self.topics}")
        if self.genders < nouns:
            raise ValueError(f"genders: {nouns} nouns in a sentence need as many genders, not {self.genders}")
        return self

    def vocabulary(self) -> list[str]:
        """All word forms of the language, in alphabetical order."""
        return sorted(Lexicon(self).forms())


class HiddenTreesReader(Reader):
    """A generated corpus."""

    about: ClassVar[str] = "no files: documents in an artificial language whose trees are known are generated"
    generated: ClassVar[bool] = True
    format: Literal["hidden-trees"] = "hidden-trees"
    hidden_trees: HiddenTrees = Field(default_factory=HiddenTrees, description="the generated corpus")

    def examples(self, labels: bool, notes: list[str]) -> Iterator[Split]:  # noqa: ARG002 (there is nothing to leave out)
        """The documents of all splits."""
        return generate(self.hidden_trees)

    def contents(self) -> Iterator[tuple[str, Path]]:
        """No files."""
        yield from ()

    @model_validator(mode="after")
    def _check_places(self) -> Self:
        for name in self.places:
            raise ValueError(f"{name}: hidden-trees are generated, not read; expected no {name}")
        return self


def generate(spec: HiddenTrees) -> Iterator[Split]:
    """The documents with their splits, labels and gold trees. No two documents have the same text.

    Each split has its own random generator, so the test set does not change when the training set grows.
    """
    lexicon, seen = Lexicon(spec), set[bytes]()
    for split, wanted in (("test", spec.test), ("dev", spec.dev), ("train", spec.train)):
        rng = Random(f"{spec.seed} {split}")
        labels: list[int] = []
        for number in range(1, wanted + 1):
            labels = labels or rng.sample(range(spec.classes), spec.classes)  # each class once, in random order
            label, where = labels.pop(), f"hidden-trees, {split} {number}"
            for _ in range(20):
                text, heads, sentence_heads = _document(spec, lexicon, label, rng)
                digest = blake2b("\n".join(map(" ".join, text)).encode(), digest_size=12).digest()
                if digest not in seen:
                    break
            else:
                raise BadInput(
                    f"{where}: the language has too few documents that differ; "
                    "expected fewer documents, or more stems, topics or sentences"
                )
            seen.add(digest)
            yield split, Example(text, f"p{label + 1}", where, heads, sentence_heads)


class _Document(NamedTuple):
    text: list[list[str]]
    heads: list[list[int]]
    sentence_heads: list[int]


class _Sentence(NamedTuple):
    words: list[str]
    heads: list[int]
    votes: int
    """The number of arcs that agree, minus the number of arcs that do not."""
    subject: int | None
    """The meaning of its subject."""


def _document(spec: HiddenTrees, lexicon: "Lexicon", label: int, rng: Random) -> _Document:
    size, nouns = rng.randint(*spec.sentences), 2 * spec.clauses
    # All properties are equally frequent, up to a remainder that does not depend on the label.
    cycle = rng.sample(range(spec.classes), spec.classes)
    properties = [cycle[i % spec.classes] for i in range(size * nouns)]  # in the order of the sentences
    topics = rng.sample(range(spec.topics), size)
    while True:
        heads, asking = _sentence_tree(size, spec.sentence_depth, rng), ROOT
        if spec.task == "agreement":
            properties = rng.choices(range(spec.classes), k=size * nouns)  # independent
            said = _sentences(spec, lexicon, heads, topics, properties, asking, rng)
            if _votes(heads, said, spec.sentence_votes) * (1, -1)[label] > 0:
                break
            continue
        rng.shuffle(properties)
        if spec.task != "root":
            asking = rng.randrange(spec.task == "answered", size)
        if _decided(spec, heads, asking, properties[::nouns]) == label:
            said = _sentences(spec, lexicon, heads, topics, properties, asking, rng)
            break
    order = _order(heads, spec.crossing, rng)
    text, word_heads = [said[i].words for i in order], [said[i].heads for i in order]
    return _Document(text, word_heads, _reordered(heads, order))


def _sentences(
    spec: HiddenTrees,
    lexicon: "Lexicon",
    heads: list[int],
    topics: list[int],
    properties: list[int],
    asking: int,
    rng: Random,
) -> list[_Sentence]:
    nouns, sentences = 2 * spec.clauses, []
    for i, head in enumerate(heads):
        answered = None if head == ROOT else topics[head]
        said = properties[nouns * i : nouns * (i + 1)]
        sentences.append(_sentence(spec, lexicon, said, topics[i], answered, i == asking, rng))
    return sentences


def _decided(spec: HiddenTrees, heads: list[int], asking: int, properties: list[int]) -> int:
    """The label that the properties of the sentences' agents give."""
    if spec.task == "root":
        return properties[0]
    if spec.task == "answered":
        return properties[heads[asking]]
    total, at = 0, asking
    while at != ROOT:
        total, at = total + properties[at], heads[at]
    return total % spec.classes


def _votes(heads: list[int], sentences: list[_Sentence], sentence_votes: int) -> int:
    """The number of arcs that agree, minus the others. An arc between sentences counts `sentence_votes` times."""
    arcs = [(sentences[head].subject, sentences[i].subject) for i, head in enumerate(heads) if head != ROOT]
    return sum(sentence.votes for sentence in sentences) + sentence_votes * sum(_vote(*arc) for arc in arcs)


def _vote(head: int | None, dependent: int | None) -> int:
    """1 if the ends of an arc agree (both even or both odd), -1 if not, 0 if one of them has no meaning."""
    if head is None or dependent is None:
        return 0
    return 1 if (head - dependent) % 2 == 0 else -1


def _sentence_tree(size: int, height: int, rng: Random) -> list[int]:
    """The heads of a random tree in which each sentence comes after the one that it answers."""
    heads, depths = [ROOT], [1]
    for _ in range(1, size):
        head = rng.choice([i for i, depth in enumerate(depths) if depth < height])
        heads.append(head)
        depths.append(depths[head] + 1)
    return heads


def _sentence(
    spec: HiddenTrees,
    lexicon: "Lexicon",
    properties: list[int],
    topic: int,
    answered: int | None,
    asks: bool,
    rng: Random,
) -> _Sentence:
    """A sentence in random word order, given the properties of the agent and the patient of each clause."""
    built = _Words(rng)
    built.add(lexicon.topics[topic], ROOT, topic)  # the verb; its ending is added below
    built.add(REFERENCE if answered is None else lexicon.references[answered], 0, answered)
    genders = iter(rng.sample(GENDERS[: spec.genders], len(properties)))
    for clause, mark in enumerate(("", SUBORDINATE)[: spec.clauses]):
        verb, voice = 0, PASSIVE if rng.random() < spec.passive else ACTIVE
        if mark:
            verb = built.draw(lexicon.verbs, voice + mark, 0)
        else:
            built.words[0] += voice + ASKING * asks
        agent_first = properties[2 * clause : 2 * clause + 2]
        said = agent_first if voice == ACTIVE else agent_first[::-1]
        for case, value in zip((SUBJECT, OBJECT), said, strict=True):
            gender = next(genders)
            noun = built.draw(lexicon.nouns[gender], gender + case + mark, verb)
            for rank in RANKS[: rng.randint(*spec.adjectives)]:
                negations = [rng.random() < 0.5 for _ in range(spec.depth - 3)]
                shown = (value - sum(negations)) % spec.classes
                above = built.draw(lexicon.adjectives[shown], gender + rank, noun, shown)
                for level, negates in enumerate(negations, start=1):
                    ending = gender + rank + MODIFIER * level
                    above = built.draw(lexicon.modifiers[negates], ending, above, int(negates))
    words, heads, meanings = built.words, built.heads, built.meanings
    votes = sum(_vote(meanings[head], meanings[i]) for i, head in enumerate(heads) if head != ROOT)
    order = _order(heads, spec.crossing, rng)
    return _Sentence([words[i] for i in order], _reordered(heads, order), votes, meanings[2])  # 2: the subject


class _Words:
    """The words of an unfinished sentence, each with its head and its meaning."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.words: list[str] = []
        self.heads: list[int] = []
        self.meanings: list[int | None] = []

    def add(self, word: str, head: int, meaning: int | None) -> int:
        """Add a word. Returns its position."""
        self.words.append(word)
        self.heads.append(head)
        self.meanings.append(meaning)
        return len(self.words) - 1

    def draw(self, stems: list[str], ending: str, head: int, meaning: int | None = None) -> int:
        """Add a word with a random stem (default meaning: the index of the stem). Returns its position."""
        stem = self.rng.choice(stems)
        return self.add(stem + ending, head, stems.index(stem) if meaning is None else meaning)


def _order(heads: Sequence[int], crossing: float, rng: Random) -> list[int]:
    """A random order of the nodes: with probability `crossing` any order, else one in which no arcs cross.

    In `heads`, each node must come after its head.
    """
    nodes = list(range(len(heads)))
    if rng.random() < crossing:
        rng.shuffle(nodes)
        return nodes
    parts = [[[node]] for node in nodes]  # for each node: itself and the subtrees of its dependents
    for node in reversed(nodes):
        rng.shuffle(parts[node])
        branch = [below for part in parts[node] for below in part]
        if heads[node] == ROOT:
            nodes = branch
        else:
            parts[heads[node]].append(branch)
    return nodes


def _reordered(heads: Sequence[int], order: Sequence[int]) -> list[int]:
    place = {node: position for position, node in enumerate(order)}
    return [place.get(heads[node], ROOT) for node in order]


class Lexicon:
    """The stems of the language. All have five letters; the rest of a word is its ending."""

    def __init__(self, spec: HiddenTrees) -> None:
        stems, some = _stems(), spec.stems
        self.spec = spec
        self.topics = list(islice(stems, spec.topics))
        self.references = [stem + REFERENCE for stem in self.topics]
        self.verbs = list(islice(stems, some))  # of subordinate clauses
        self.nouns = {gender: list(islice(stems, some)) for gender in GENDERS[: spec.genders]}
        self.adjectives = [list(islice(stems, some)) for _ in range(spec.classes)]
        self.modifiers = [list(islice(stems, some)) for _ in range(2)]  # those that affirm, those that negate

    def forms(self) -> Iterator[str]:
        """All words that can occur in a document."""
        spec = self.spec
        voices = [voice for voice, used in ((ACTIVE, spec.passive < 1), (PASSIVE, spec.passive > 0)) if used]
        marks, genders = ("", SUBORDINATE)[: spec.clauses], GENDERS[: spec.genders]
        endings = [gender + rank for gender, rank in product(genders, RANKS[: spec.adjectives[1]])]
        yield from (REFERENCE, *(self.references if spec.sentences[1] > 1 else ()))
        for voice in voices:
            yield from (stem + voice for stem in self.topics)
            if spec.task in ("answered", "chain"):
                yield from (stem + voice + ASKING for stem in self.topics)
            yield from (stem + voice + mark for mark in marks[1:] for stem in self.verbs)
        for gender, case, mark in product(genders, (SUBJECT, OBJECT), marks):
            yield from (stem + gender + case + mark for stem in self.nouns[gender])
        for ending in endings:
            yield from (stem + ending for stems in self.adjectives for stem in stems)
            for level in range(1, spec.depth - 2):
                yield from (stem + ending + MODIFIER * level for stems in self.modifiers for stem in stems)


def _stems() -> Iterator[str]:
    """The 43,200 stems of the form consonant, vowel, consonant, vowel, consonant, in a mixed order."""
    consonants, vowels = "bdgklmnprstv", "aeiou"
    for number in count(1):
        rest, stem = number * 12347 % 43200, ""  # coprime: neighbours look different, and no stem comes twice
        for letters in (consonants, vowels, consonants, vowels, consonants):
            rest, letter = divmod(rest, len(letters))
            stem += letters[letter]
        yield stem
