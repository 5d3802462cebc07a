"""Words in, tensors out: tokens, sentences, vocabulary, word vectors, encoded corpora, batches."""

from treetext.text._batches import Batch, LengthBatches, batch, chunks
from treetext.text._encoded import Encoded, EncodedWriter, encode
from treetext.text._examples import BadInput, Example
from treetext.text._tokens import Tokenizer
from treetext.text._vectors import read_vectors, word2vec
from treetext.text._vocabulary import PAD, UNK, Vocabulary

__all__ = [
    "PAD",
    "UNK",
    "BadInput",
    "Batch",
    "Encoded",
    "EncodedWriter",
    "Example",
    "LengthBatches",
    "Tokenizer",
    "Vocabulary",
    "batch",
    "chunks",
    "encode",
    "read_vectors",
    "word2vec",
]
