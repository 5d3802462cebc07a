"""Tokenisation: splits text into sentences and words, with spaCy's rules for many languages."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from treetext.data.document import BadInput, Settings, Text, counted

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc


class Limits(Settings):
    """The most words and sentences of a text. The rest of a longer text is left out."""

    words: int | None = Field(None, ge=1)
    sentences: int | None = Field(None, ge=1)
    each: bool = False
    """Whether each sentence has its own limit of words: that of a pair, which needs both of its sentences."""

    def cut(self, sentences: list[list[str]]) -> list[list[str]]:
        """The start of a text, within the limits."""
        if self.each:
            return [words[: self.words] for words in sentences]
        kept, left = list[list[str]](), self.words
        for words in sentences[: self.sentences]:
            if left == 0:
                break
            kept.append(words[:left])
            left = None if left is None else left - len(kept[-1])
        return kept

    def __str__(self) -> str:
        parts = [counted(self.words, "word") + " in a sentence" * self.each] if self.words else []
        parts += [counted(self.sentences, "sentence")] if self.sentences and not self.each else []
        return " or ".join(parts)

    def remark(self, where: str, beyond: int, texts: int) -> str:
        """What to tell the user about texts that were cut."""
        return f"{where}: {beyond:,} of {counted(texts, 'text')} with more than {self}: the rest of each is left out"


class Tokenizer:
    """Splits raw text into sentences and words. Given sentences, and given words, stay as they are.

    `language` is a code such as "en" or "cs", for any language that spaCy has rules for ("xx" for others). With
    ``tokenized=True``, white space separates the words of raw text, and line breaks separate its sentences. Words that
    are only white space are dropped, and so are sentences without words: an empty document is an empty list. A text
    beyond the `limits` is cut.
    """

    def __init__(
        self, language: str = "en", lowercase: bool = True, tokenized: bool = False, limits: Limits | None = None
    ) -> None:
        if language not in (known := _languages()):
            raise BadInput(f"language: expected one of {', '.join(known)} (xx for any other), got {language!r}")
        self.language, self.lowercase, self.tokenized = language, lowercase, tokenized
        self.limits = limits or Limits()

    def __call__(self, text: Text) -> list[list[str]]:
        """The sentences of a text, as lists of words that models read."""
        return self.read(self.split(text))

    def split(self, text: Text) -> list[list[str]]:
        """The same with the words as typed."""
        return self.limits.cut(self.whole(text))

    def whole(self, text: Text) -> list[list[str]]:
        """The same without limits."""
        if isinstance(text, str):
            sentences: Iterable[list[str]] = self._sentences(text)
        else:
            sentences = (self._words(sentence) if isinstance(sentence, str) else sentence for sentence in text)
        kept = ([word for word in sentence if word and not word.isspace()] for sentence in sentences)
        return [words for words in kept if words]

    def read(self, sentences: Sequence[list[str]]) -> list[list[str]]:
        """The words that models read: in lower case if `lowercase` is set."""
        return [list(map(str.lower, words)) for words in sentences] if self.lowercase else list(sentences)

    def many(self, texts: Iterable[Text]) -> Iterator[list[list[str]]]:
        """Tokenise a stream of texts."""
        return map(self, texts)

    @property
    def by_rules(self) -> bool:
        """Whether spaCy's rules split raw text into words. Some languages, such as Chinese, have their own tokenizers.

        The rules take quadratic time in the number of characters without white space in between.
        """
        return not self.tokenized and hasattr(self._nlp.tokenizer, "prefix_search")

    def memory_zone(self) -> AbstractContextManager[object]:
        """A context manager. At its end, spaCy forgets the words that it saw inside; outside, it keeps every word."""
        return nullcontext() if self.tokenized else self._nlp.memory_zone()

    def warm_up(self, words: Iterable[str]) -> None:
        """Tokenise frequent words once, outside of a memory zone; spaCy then splits them about five times faster."""
        if self.by_rules:
            for word in words:
                self([word, word.capitalize()])

    def _sentences(self, text: str) -> Iterable[list[str]]:
        if self.tokenized:
            return [line.split() for line in text.split("\n")]
        doc = self._nlp.get_pipe("sentencizer")(self._doc(text))
        words = [token.text for token in doc]
        starts = [i for i, token in enumerate(doc) if token.is_sent_start]
        return [words[start:end] for start, end in pairwise([*starts, len(words)])]

    def _words(self, sentence: str) -> list[str]:
        return sentence.split() if self.tokenized else [token.text for token in self._doc(sentence)]

    def _doc(self, text: str) -> "Doc":
        check_unicode(text, "text")
        return self._nlp.tokenizer(text)

    @cached_property
    def _nlp(self) -> "Language":
        import spacy

        try:
            nlp = spacy.blank(self.language)
        except ImportError as error:  # Japanese, for example, needs another library
            problem = " ".join(str(error).split())
            raise BadInput(f"language: {self.language!r} needs a package that is not installed: {problem}") from None
        nlp.add_pipe("sentencizer")
        return nlp


def check_unicode(text: str, where: str) -> None:
    """Raise `BadInput` for half a surrogate pair, which cannot be encoded; JSON escapes and file names may have one."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        problem = f"{text[error.start]!a} (character {error.start + 1}) is half a surrogate pair"
        raise BadInput(f"{where}: {problem}; expected text of whole characters") from None


def _languages() -> list[str]:
    """The codes of spaCy's languages. This does not import spaCy, which takes a second."""
    spacy = find_spec("spacy")
    roots = (spacy and spacy.submodule_search_locations) or []
    return sorted(file.parent.name for root in roots for file in Path(root, "lang").glob("*/__init__.py"))
