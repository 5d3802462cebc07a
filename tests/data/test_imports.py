"""What is imported when: `treetext --help` answers at once."""

import subprocess
import sys

import pytest

SLOW = {"torch", "numba", "lightning", "spacy", "gensim", "datasets", "sklearn", "scipy"}


@pytest.mark.parametrize(
    "code",
    [
        "import treetext.data",
        "from treetext.data import corpus_formats, treebank_formats; corpus_formats(), treebank_formats()",
        "from treetext.data import reader; list(reader('hidden-trees', hidden_trees={'train': 1}).read())",
        "from treetext.data import Tokenizer; Tokenizer('cs')([['a']]), Tokenizer(tokenized=True)('a b')",
    ],
)
def test_nothing_slow_is_imported_before_it_is_used(code):
    program = f"import sys\n{code}\nprint({SLOW} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "set()\n"
