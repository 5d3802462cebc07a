"""Word vectors: trained on the corpus itself, or read from a file."""

import gzip
import io
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float32, Int
from safetensors.numpy import load_file

from treetext.data.document import BadInput
from treetext.data.extras import needs
from treetext.data.vocabulary import PAD_ID, SPECIAL

LONGEST = 10_000  # words of a sentence; gensim ignores the rest


def word2vec(
    sentences: Iterable[Sequence[str]],
    size: int,
    *,
    words: Sequence[str],
    skip_gram: bool = False,
    window: int = 5,
    min_count: int = 1,
    epochs: int = 5,
    seed: int = 0,
    progress: Callable[[int], object] | None = None,
) -> Float32[np.ndarray, "n {size}"]:
    """Train a vector for each of `words` with gensim's word2vec. The vector of "<pad>" is 0.

    `sentences` must be iterable many times: each sentence is read ``epochs + 1`` times. Only those of `words` that
    occur at least `min_count` times are trained; all other words are left out of the sentences. The rest of `words`
    get small random vectors. The same seed gives the same vectors. `progress` is a callback that gets the number of
    sentences read since its last call.
    """
    with needs("vectors"):
        from gensim.models import Word2Vec
        from gensim.utils import RULE_DEFAULT, RULE_DISCARD
    if iter(sentences) is sentences:
        raise TypeError("sentences: expected a list or the like, to be read many times, got an iterator")
    index = _index(words)
    model = Word2Vec(
        vector_size=size,
        window=window,
        min_count=min_count,
        sg=int(skip_gram),
        seed=seed,
        workers=1,  # with more, threads race
    )
    corpus = _Pieces(sentences, progress)
    model.build_vocab(corpus, trim_rule=lambda word, *_: RULE_DEFAULT if word in index else RULE_DISCARD)
    if len(model.wv):
        model.train(corpus, total_examples=model.corpus_count, epochs=epochs)
    vectors = np.random.default_rng(seed).normal(0, 0.1, (len(words), size)).astype(np.float32)
    vectors[[word == SPECIAL[PAD_ID] for word in words]] = 0
    vectors[[index[word] for word in model.wv.index_to_key]] = model.wv.vectors
    return vectors


def read_vectors(
    path: Path, words: Sequence[str], size: int | None = None
) -> tuple[Float32[np.ndarray, "n d"], Bool[np.ndarray, "n"]]:
    """The vectors of `words` in a file, and a mask of the words that the file has. Other words and "<pad>" get 0.

    Reads the text formats of GloVe, word2vec and fastText and the binary format of word2vec, plain or gzipped; the
    format is detected from the contents. The lookup is case-sensitive. If a file has a word twice, the first counts.
    """
    form = _form(path)
    if size not in (None, form.columns):
        raise BadInput(f"{path}: vectors of {form.columns} numbers; expected {size}, the size asked for")
    vectors, known = np.zeros((len(words), form.columns), np.float32), np.zeros(len(words), np.bool_)
    wanted, number, unit = _index(words), 0, "vector" if form.binary else "line"
    try:
        with _opened(path) as file:
            if form.promised is not None:
                file.readline()
                number += not form.binary
            for record in _records(file, form.columns) if form.binary else file:
                number += 1
                word, numbers = (_split_binary if form.binary else _split_text)(record, form.columns)
                if (i := wanted.pop(word.decode(), None)) is not None:
                    vectors[i], known[i] = _parsed(numbers, form.binary), True
    except ValueError as error:
        raise BadInput(f"{path}, {unit} {number}: {error}") from None
    except (EOFError, OSError, zlib.error) as error:
        raise BadInput(f"{path}, after {unit} {number}: {error}") from None
    count = number - (form.promised is not None and not form.binary)
    if form.promised not in (None, count):
        raise BadInput(f"{path}: {count} vectors; expected {form.promised}, as its first line says")
    return vectors, known


def piece_vectors(words: Sequence[str], size: int) -> tuple[Float32[np.ndarray, "n {size}"], Int[np.ndarray, "n"]]:
    """A vector for each of `words` by the package wordllama, and the number of word pieces of each.

    The vector of a word is the mean of those of its pieces. The first numbers of a vector are a good shorter vector
    (Kusupati et al. 2022, Matryoshka), so `size` may be anything up to 256. "<pad>" gets 0 and has no pieces.
    """
    with needs("english"):
        from tokenizers import Tokenizer as Pieces

        spec = find_spec("wordllama")
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError("no wordllama", name="wordllama")
    package = Path(spec.origin).parent
    # Not by the package itself: it looks for its own files on the network.
    table = load_file(package / "weights" / "l2_supercat_256.safetensors")["embedding.weight"].astype(np.float32)
    if size > table.shape[1]:
        raise BadInput(f"wordllama: vectors of {table.shape[1]} numbers; expected model.embedding of at most that")
    splitter = Pieces.from_file(str(package / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    vectors, counts = np.zeros((len(words), size), np.float32), np.zeros(len(words), np.int64)
    for i, pieces in enumerate(splitter.encode_batch(list(words), add_special_tokens=False)):
        if words[i] != SPECIAL[PAD_ID] and pieces.ids:
            vectors[i], counts[i] = table[pieces.ids, :size].mean(0), len(pieces.ids)
    return vectors, counts


class _Pieces:
    """Sentences for gensim, with long ones in pieces. Reports progress."""

    def __init__(self, sentences: Iterable[Sequence[str]], progress: Callable[[int], object] | None) -> None:
        self.sentences, self.progress = sentences, progress or (lambda _: None)

    def __iter__(self) -> Iterator[Sequence[str]]:
        unreported = 0
        for sentence in self.sentences:
            for start in range(0, len(sentence), LONGEST):
                yield sentence[start : start + LONGEST]
            unreported += 1
            if unreported == 1000:
                self.progress(unreported)
                unreported = 0
        self.progress(unreported)


def _index(words: Sequence[str]) -> dict[str, int]:
    return {word: i for i, word in enumerate(words) if word != SPECIAL[PAD_ID]}


class _Form(NamedTuple):
    """The format of a file, and the number of vectors in its header, if it has one."""

    promised: int | None
    columns: int
    binary: bool


def _form(path: Path) -> _Form:
    try:
        with _opened(path) as file:
            first, head = file.readline(1 << 20).rstrip(b" \r\n"), file.read(1 << 16)
    except (EOFError, OSError, zlib.error) as error:
        problem = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise BadInput(f"{path}: {problem}; expected a file of word vectors, plain or gzipped") from None
    fields = first.split(b" ")
    if len(fields) == 2 and all(field.isdigit() for field in fields):
        columns = int(fields[1])
        # In text, a number and its separator take at least two bytes, so these bytes are all of the first vector.
        numbers = head.partition(b" ")[2][: 2 * columns - 1]
        return _Form(
            int(fields[0]), columns, binary=any(byte not in b"\t" and not 32 <= byte < 127 for byte in numbers)
        )
    try:
        _parsed(b" ".join(fields[1:]), binary=False)
    except ValueError:
        fields = []
    if len(fields) < 2:
        expected = "a word and its numbers, or how many vectors of what size there are"
        raise BadInput(f"{path}, line 1: expected {expected}, got {first[:40].decode(errors='replace')!r}")
    return _Form(None, len(fields) - 1, binary=False)


def _split_text(line: bytes, columns: int) -> tuple[bytes, bytes]:
    """A word and its numbers as bytes. They are not parsed yet: most words of a file are not needed."""
    line = line.rstrip(b" \r\n")
    end = line.find(b" ")
    if (spaces := line.count(b" ")) != columns:
        word = line.rsplit(b" ", columns)[0]  # a few words of GloVe contain spaces
        end = len(word)
        if spaces < columns or not math.isnan(_number(word.split(b" ")[-1])):
            raise ValueError(f"{spaces} numbers; expected {columns}")
    return line[:end], line[end + 1 :]


def _split_binary(record: bytes, columns: int) -> tuple[bytes, bytes]:
    word, _, numbers = record.partition(b" ")
    if len(numbers) != 4 * columns:
        raise ValueError(f"the file ends within it; expected a word and {columns} numbers")
    return word.lstrip(b"\n"), numbers


def _records(file: io.BufferedReader, columns: int) -> Iterator[bytes]:
    """The records of a binary file: a word, a space and the bytes of its numbers."""
    data, start = b"", 0
    while True:
        space = data.find(b" ", start)
        end = space + 1 + 4 * columns
        if space >= 0 and end <= len(data):
            yield data[start:end]
            start = end
        elif more := file.read(1 << 20):
            data, start = data[start:] + more, 0
        else:
            break
    if data[start:].strip(b"\n"):
        yield data[start:]


def _parsed(numbers: bytes, binary: bool) -> Float32[np.ndarray, "d"]:
    fields = np.frombuffer(numbers, "<f4").tolist() if binary else numbers.split(b" ")
    try:
        values = list(map(float, fields))
    except ValueError:
        values = list(map(_number, fields))
    with np.errstate(over="ignore"):
        vector = np.array(values).astype(np.float32)
    finite = np.isfinite(vector)
    if not finite.all():
        field = fields[column := int(np.argmin(finite))]
        shown = field.decode(errors="replace") if isinstance(field, bytes) else field
        raise ValueError(f"number {column + 1} is {shown!r}; expected a finite number")
    return vector


def _number(field: bytes | float) -> float:
    """The number in a field, or NaN if it is not a number."""
    try:
        return float(field)
    except ValueError:
        return math.nan


@contextmanager
def _opened(path: Path) -> Iterator[io.BufferedReader]:
    with path.open("rb") as file:
        gzipped = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        yield io.BufferedReader(gzip.GzipFile(fileobj=file), 1 << 16) if gzipped else file
