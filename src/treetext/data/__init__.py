"""Documents in, batches out: readers, tokens, encoded corpora, vocabularies and word vectors.

Only `treetext.data.batches` needs torch.
"""

from treetext.data.corpus import Corpus, open_corpus
from treetext.data.counts import SplitCounts, describe
from treetext.data.document import BadInput, Example, Progress, Settings, Text
from treetext.data.encoded import Encoded, EncodedWriter, encode
from treetext.data.extras import needs
from treetext.data.readers import (
    Reader,
    Treebank,
    corpus_formats,
    file_format,
    find_reader,
    formats_with,
    read_treebank,
    reader,
    table_format,
    treebank_formats,
)
from treetext.data.splits import split_rows
from treetext.data.tasks import DOCUMENTS, PAIRS, Task
from treetext.data.tokens import Tokenizer
from treetext.data.vectors import piece_vectors, read_vectors, word2vec
from treetext.data.vocabulary import Vocabulary

__all__ = [
    "DOCUMENTS",
    "PAIRS",
    "BadInput",
    "Corpus",
    "Encoded",
    "EncodedWriter",
    "Example",
    "Progress",
    "Reader",
    "Settings",
    "SplitCounts",
    "Task",
    "Text",
    "Tokenizer",
    "Treebank",
    "Vocabulary",
    "corpus_formats",
    "describe",
    "encode",
    "file_format",
    "find_reader",
    "formats_with",
    "needs",
    "open_corpus",
    "piece_vectors",
    "read_treebank",
    "read_vectors",
    "reader",
    "split_rows",
    "table_format",
    "treebank_formats",
    "word2vec",
]
