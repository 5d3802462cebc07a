"""Speed and memory of training: `make bench-training` writes its output to docs/training-speed.md.

Everything that is compared is measured in turns, in one process, on the same batches: 32 documents of about 9
sentences of about 17 words, as in reviews of restaurants; 200-d word vectors, sizes 75 + 25, 30,000 words.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from treetext.data import Corpus, Encoded, Example, Tokenizer, Vocabulary, encode, reader
from treetext.data.batches import Batch, DocumentIds, collate
from treetext.data.readers.hidden_trees import HiddenTrees, generate
from treetext.models import StructuredDocuments, StructuredDocumentsSettings
from treetext.nn import Buckets
from treetext.training import Training, load_recipe
from treetext.training.optimizers import make_optimizer

THREADS = 2
DOCUMENTS, SENTENCES, WORDS, VOCABULARY = 32, 9, 17, 30_000
KINDS = ("none", "simple", "nonprojective", "projective")
CORPUS = 300_000  # documents of the memory test
STEPS = 300
Step = Callable[[], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20, help="for each comparison")
    parser.add_argument("--memory", metavar="DIR", type=Path, help="train on the corpus there and print the peak")
    parser.add_argument("--documents", type=int, default=CORPUS, help="of the memory test")
    options = parser.parse_args()
    torch.set_num_threads(THREADS)
    if options.memory:
        print(json.dumps(train_on(options.memory)))
        return
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    print_header()
    batches = [make_batch(seed) for seed in range(8)]
    print_speed(batches, options.seconds)
    print_parts(batches[0], options.seconds)
    print_encoding()
    print_memory(options.documents)


def print_header() -> None:
    print("# Training: speed and memory\n")
    info = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.split(":")[1].strip() for line in info if "model name" in line), "unknown")
    print(f"- `make bench-training`, {date.today()}")
    print(f"- {os.cpu_count()} × {cpu}, {THREADS} threads, {platform.system()}")
    print(f"- Python {platform.python_version()}, torch {torch.__version__}")


def print_table(title: str, *rows: tuple[object, ...]) -> None:
    print(f"\n## {title}\n")
    for i, row in enumerate(rows):
        print("| " + " | ".join(map(str, row)) + " |")
        if i == 0:
            print("| --- |" + " ---: |" * (len(row) - 1))


def make_document(random: np.random.Generator) -> DocumentIds:
    """Word ids, as frequent as words are (Zipf), and the lengths of the sentences."""
    sentences = 1 + random.poisson(SENTENCES - 1)
    lengths = np.clip(random.gamma(2.5, WORDS / 2.5, sentences).astype(int), 1, 100)
    ranks = np.exp(random.random(lengths.sum()) * np.log(VOCABULARY - 2))
    return DocumentIds(2 + ranks.astype(np.int64) % (VOCABULARY - 2), lengths)


def make_batch(seed: int) -> Batch:
    """Documents of similar length, as in training: the middle ones of many."""
    random = np.random.default_rng(seed)
    documents = sorted((make_document(random) for _ in range(640)), key=lambda document: len(document.lengths))
    start = int(random.integers(0, len(documents) - DOCUMENTS))
    some = documents[start : start + DOCUMENTS]
    return collate(some, random.integers(0, 5, DOCUMENTS), np.arange(DOCUMENTS))


def words_of(batches: list[Batch]) -> float:
    return statistics.mean(sum(int(lengths.sum()) for lengths in b.lengths) for b in batches)


def make_model(kind: str) -> StructuredDocuments:
    torch.manual_seed(0)
    level = {"attention": kind}
    settings = StructuredDocumentsSettings(words=level, sentences=level)  # type: ignore[arg-type]
    vocabulary = Vocabulary(["<pad>", "<unk>", *(f"w{i}" for i in range(VOCABULARY - 2))])
    return StructuredDocuments(settings, list("12345"), vocabulary=vocabulary)


def training_step(kind: str, batches: list[Batch]) -> Step:
    """A whole step: forward, backward, the paper's Adagrad with L2."""
    model = make_model(kind)
    optimizer = make_optimizer(model, Training())
    order = Cycle(batches)

    def step() -> None:
        batch = next(order)
        optimizer.zero_grad()
        cross_entropy(model(batch).logits, batch.labels).backward()
        optimizer.step()

    return step


class Cycle:
    def __init__(self, items: list[Any]) -> None:
        self.items, self.at = items, 0

    def __next__(self) -> Any:
        self.at += 1
        return self.items[self.at % len(self.items)]


def bare_step(batches: list[Batch], most: int | None, at_once: bool) -> Step:
    """Only torch's LSTMs of both levels, forward and backward; sentences in our buckets, or in buckets of `most`.

    Either forward through all buckets `at_once` and then backward, as in a model, or one bucket after the other.
    """
    torch.manual_seed(0)
    words = nn.LSTM(200, 100, bidirectional=True)
    sentences = nn.LSTM(150, 100, bidirectional=True)
    inputs = []
    for b in batches:
        lengths = torch.cat(b.lengths)  # longest first
        shapes = [ids.shape for ids in b.words]
        if most:
            shapes = [(len(some), int(some[0])) for some in lengths.split(most)]
        inputs.append(
            [(words, torch.randn(n, m, 200, requires_grad=True)) for m, n in shapes]
            + [(sentences, torch.randn(g.shape[1], g.shape[0], 150, requires_grad=True)) for g in b.documents]
        )
    order = Cycle(inputs)

    def step() -> None:
        pieces = next(order)
        for some in [pieces] if at_once else [[piece] for piece in pieces]:
            outputs = [lstm(x)[0] for lstm, x in some]
            torch.autograd.backward(outputs, [torch.ones_like(y) for y in outputs])
        for lstm in (words, sentences):
            lstm.zero_grad()

    return step


def medians(steps: dict[Any, Step], seconds: float) -> dict[Any, float]:
    """The median seconds of each step, when they are taken in turns."""
    for step in steps.values():
        for _ in range(3):
            step()
    times: dict[Any, list[float]] = {name: [] for name in steps}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[next(iter(times))]) < 8:
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in times.items()}


def print_speed(batches: list[Batch], seconds: float) -> None:
    bare = {
        f"bare LSTMs, {name}, {'all at once' if at_once else 'one by one'}": bare_step(batches, most, at_once)
        for name, most in (("our buckets", None), ("buckets of 64", 64), ("buckets of 128", 128))
        for at_once in (True, False)
    }
    steps = {**bare, **{f"training step, {kind}": training_step(kind, batches) for kind in KINDS}}
    found = medians(steps, 2 * seconds)
    words, best = words_of(batches), min(found[name] for name in bare)
    simple = found["training step, simple"]
    wanted = {"training step, nonprojective": ("≥ 0.55", "≤ 1.15")}
    rows = [
        (name, f"{1000 * taken:.1f}", f"{words / taken:,.0f}", f"{best / taken:.2f}", f"{taken / simple:.2f}",
         " and ".join(wanted.get(name, ()))) for name, taken in found.items()
    ]  # fmt: skip
    columns = ("", "ms", "words/s", "of the best bare LSTMs", "of the simple step", "wanted")
    print_table("Whole training steps, and the LSTMs in them alone", columns, *rows)
    positions = sum(ids.numel() for b in batches for ids in b.words)
    print(f"\nOf the word positions computed, {100 * (1 - words * len(batches) / positions):.1f}% are padding.")


def print_parts(b: Batch, seconds: float) -> None:
    """Each part alone, forward and backward, on what it gets in a step."""
    model = make_model("nonprojective")
    optimizer = make_optimizer(model, Training())
    with torch.no_grad():
        words, buckets = model.embedded(b)
        encoded = model.words.encoder.encode(words, buckets)
        composed = model.words.compose(words, buckets)
        sentences = torch.cat([part.vectors for part in composed])[torch.cat([g.T.flatten() for g in b.documents])]
        groups = Buckets.of([which.shape for which in b.documents], b.counts)
        encoded_sentences = model.sentences.encoder.encode(sentences, groups)
    cross_entropy(model(b).logits, b.labels).backward()

    def both_ways(function: Callable[[], Sequence[Tensor]]) -> Step:
        def step() -> None:
            outputs = function()
            torch.autograd.backward(outputs, [torch.ones_like(y) for y in outputs])

        return step

    for leaf in (words, *encoded, sentences, *encoded_sentences):
        leaf.requires_grad_()
    steps: dict[str, Step] = {
        "batch (ids to tensors)": lambda: batch_again(b),
        "embedding and dropout": both_ways(lambda: model.embedded(b)[:1]),
        "LSTMs of words": both_ways(lambda: model.words.encoder.encode(words, buckets)),
        "attention of words": both_ways(lambda: [x for x, _, _ in model.words.attention.attend(*encoded, buckets)]),
        "LSTMs of sentences": both_ways(lambda: model.sentences.encoder.encode(sentences, groups)),
        "attention of sentences": both_ways(
            lambda: [x for x, _, _ in model.sentences.attention.attend(*encoded_sentences, groups)]
        ),
        "optimiser": optimizer.step,
        "whole step": training_step("nonprojective", [b]),
    }
    found = medians(steps, seconds)
    whole = found["whole step"]
    rows = [(name, f"{1000 * taken:.1f}", f"{100 * taken / whole:.0f}%") for name, taken in found.items()]
    print_table("Where the time of a step goes (non-projective trees at both levels)", ("", "ms", "share"), *rows)
    print(
        "\nOf one batch. Each part is measured alone, forward and backward to its own inputs,"
        " so the parts need not add up to the whole."
    )


def batch_again(b: Batch) -> Batch:
    lengths = torch.cat(b.lengths)[b.order].numpy()
    documents, at = [], 0
    for count in torch.cat(b.counts)[b.document_order].tolist():
        n = lengths[at : at + count]
        documents.append(DocumentIds(np.ones(n.sum(), np.int64), n))
        at += count
    return collate(documents, b.labels, b.rows)


def texts(count: int) -> Iterator[tuple[str, Example]]:
    random = np.random.default_rng(0)
    words = [f"w{i}" for i in range(VOCABULARY)]
    made = []
    for _ in range(min(count, 5000)):
        ids, lengths, *_ = make_document(random)
        ends = np.cumsum(lengths)
        made.append([[words[i] for i in ids[end - n : end]] for n, end in zip(lengths, ends, strict=True)])
    for i in range(count):
        yield "train" if i % 100 else "dev", Example(made[i % len(made)], str(i % 5), f"text {i}")


def print_encoding() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows: list[tuple[object, ...]] = [("text", "words/s", "wanted")]
        tokenised = list(texts(10_000))
        raw = [(split, e._replace(text=". ".join(" ".join(s) for s in e.text))) for split, e in tokenised[:2000]]
        sources: list[tuple[str, Iterable[tuple[str, Example]], str]] = [
            ("tokenised", tokenised, "≥ 500,000"),
            ("raw, English rules", raw, ""),
            ("hidden trees, generated on the way", generate(HiddenTrees(train=5000, dev=0, test=0)), "≥ 33,000"),
        ]
        for name, examples, wanted in sources:
            start = time.perf_counter()
            encoded = encode(examples, Tokenizer(), Path(folder, "corpus.arrow"))
            taken = time.perf_counter() - start
            rows.append((name, f"{int(encoded.sizes.sum()) / taken:,.0f}", wanted))
    print_table("Tokenising and encoding a corpus", *rows)


def print_memory(documents: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        encoded = encode(texts(documents), Tokenizer(), Path(folder, "corpus.arrow"))
        words, size = int(encoded.sizes.sum()), Path(folder, "corpus.arrow").stat().st_size
        command = [sys.executable, __file__, "--memory", folder]
        found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.splitlines()[-1])
    print_table(
        "Memory of training on a large corpus",
        ("documents", "words", "file, GiB", "steps", "peak, GiB", "wanted"),
        (f"{documents:,}", f"{words:,}", f"{size / 2**30:.2f}", STEPS, f"{found['peak'] / 2**20:.2f}", "< 4"),
    )
    print("\nThe largest resident size of the process, which trains on batches from all over the corpus.")


def train_on(folder: Path) -> dict[str, float]:
    """Some steps, as `treetext train` takes them, on an encoded corpus."""
    from treetext.training.module import Loaders

    encoded = Encoded(folder / "corpus.arrow")
    splits = {name: np.flatnonzero(encoded.splits == i) for i, name in enumerate(encoded.split_names)}
    corpus = Corpus(reader("split", path="not read"), encoded, {"test": np.arange(0), **splits}, "", [])
    vocabulary = {"vectors": "random"}
    model_settings = {"kind": "structured-documents", "vocabulary": vocabulary}
    recipe = load_recipe({"data": {"format": "split", "path": "not read"}, "model": model_settings})
    model = StructuredDocuments.for_corpus(recipe.model, corpus)
    optimizer = make_optimizer(model, recipe.training)
    for i, batch in enumerate(Loaders(corpus, model, recipe).train_dataloader()):
        optimizer.zero_grad()
        cross_entropy(model(batch).logits, batch.labels).backward()
        optimizer.step()
        if i + 1 == STEPS:
            break
    return {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}


if __name__ == "__main__":
    main()
