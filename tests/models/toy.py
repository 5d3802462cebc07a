"""A corpus of a few short texts, with gold trees, in which a single word tells the class."""

from pathlib import Path
from random import Random

import numpy as np

from treetext.data import Corpus, Example, Task, encode, reader, split_rows
from treetext.data.document import REDUCE, SHIFT

CUES = {"bad": 1, "good": 2, "so-so": 1}
"""The word of each class, which is its label, and how often it comes."""
OTHERS = ["the", "a", "dog", "cat", "film", "plot", "was", "is", "very", "not", "and", "it"]


def toy_corpus(task: Task, directory: Path) -> Corpus:
    """The classes have the shares 0.25, 0.5 and 0.25; the last text of the test data has no words."""
    data = reader("jsonl", path="toy.jsonl", **dict(zip(("text", "second"), task.columns, strict=False)))
    sizes = [n for n in (1, 2, 3, 4) if task.is_whole(n)]
    random = Random(0)
    labels = [label for label, times in CUES.items() for _ in range(times)]
    examples = [
        (split, _example(labels[i % len(labels)], random.choice(sizes), f"{split} {i}", random))
        for split, count in (("train", 48), ("dev", 12), ("test", 12))
        for i in range(count)
    ]
    examples.append(("test", Example([], "good", "test 12")))
    encoded = encode(examples, data.tokenizer, directory / "toy.arrow")
    return Corpus(data, encoded, split_rows(np.array(encoded.split_names)[encoded.splits], data), "toy", [])


def _example(label: str, size: int, where: str, random: Random) -> Example:
    """Heads are chains, parses are left-branching."""
    sentences = [random.choices(OTHERS, k=random.randint(1, 6)) for _ in range(size)]
    sentence = random.choice(sentences)
    sentence.insert(random.randint(0, len(sentence)), label)
    lengths = [len(words) for words in sentences]
    heads = [list(range(-1, n - 1)) for n in lengths]
    parses = [[SHIFT, *[SHIFT, REDUCE] * (n - 1)] for n in lengths]
    return Example(sentences, label, where, heads, list(range(-1, size - 1)), parses)
