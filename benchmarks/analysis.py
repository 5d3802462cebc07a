"""What it costs to analyse trees, beside the forward pass that they come from: `make bench-analysis` writes its output
to docs/analysis-speed.md.

10,000 documents of 10 sentences of about 17 words; models with trees of words and of sentences, of the paper's sizes.
Weights are random. At a low temperature, distributions are about as sharp as those of a trained model.
"""

import argparse
import os
import platform
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import numpy as np
import torch

from treetext.data import Vocabulary
from treetext.data.batches import DocumentIds, collate
from treetext.evaluation.figures import judge
from treetext.evaluation.induced import Gathered
from treetext.models import Ran, StructuredDocuments, StructuredDocumentsSettings

DOCUMENTS, SENTENCES, WORDS, VOCABULARY, BATCH = 10_000, 10, 17, 30_000, 32
CELLS = ("forward", "decoding", "entropies and margins", "statistics and intervals")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print_header(options.documents)
    print(f"| trees | temperature | {', s | '.join(CELLS)}, s | analysis / forward | wanted |")
    print("| --- |" + " ---: |" * (len(CELLS) + 3), flush=True)
    for kind in ("nonprojective", "projective"):
        for temperature in (1.0, 0.1):
            run(64, kind, temperature)  # compile
            seconds = run(options.documents, kind, temperature)
            cells = " | ".join(f"{seconds[cell]:.1f}" for cell in CELLS)
            ratio = sum(seconds[cell] for cell in CELLS[1:]) / seconds["forward"]
            print(f"| {kind} | {temperature} | {cells} | {ratio:.2f} | < 1 |", flush=True)
    print(
        "\nStatistics are all figures of `treetext analyse` for the model, for random trees, chains and stars, each"
        " with its interval by 1,000 resamples of the documents."
    )


def print_header(documents: int) -> None:
    info = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.split(":")[1].strip() for line in info if "model name" in line), "unknown")
    print("# Analysis: speed\n")
    print(f"- `python benchmarks/analysis.py{''.join(f' {each}' for each in sys.argv[1:])}`, {date.today()}")
    print(f"- {os.cpu_count()} × {cpu}, threads: {torch.get_num_threads()}, {platform.system()}")
    print(f"- Python {platform.python_version()}, torch {torch.__version__}")
    print(f"- {documents:,} documents of {SENTENCES} sentences of about {WORDS} words; models of the paper's sizes")
    print("\nWhat the trees of a model cost, beside its forward pass:\n")


@torch.inference_mode()
def run(documents: int, kind: str, temperature: float) -> dict[str, float]:
    """The seconds of each part."""
    seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def timed(what: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        seconds[what] += time.perf_counter() - start

    model = make_model(kind, temperature)
    random = np.random.default_rng(0)
    lengths = list(np.clip(random.gamma(2.5, WORDS / 2.5, (documents, SENTENCES)).astype(int), 1, 100))
    gathered = Gathered(["words", "sentences"], lengths, np.arange(documents))
    for start in range(0, documents, BATCH):
        some = np.arange(start, min(start + BATCH, documents))
        texts = [DocumentIds(random.integers(2, VOCABULARY, lengths[i].sum()), lengths[i]) for i in some]
        batch = collate(texts, np.zeros(len(some)), some)
        with timed("forward"):
            output = model(batch)
        with timed("decoding"):
            for bucket in output.levels["words"] + output.levels["sentences"]:
                bucket.trees.mbr()
        with timed("all decoding"):  # once more, and all else that is asked of a distribution
            gathered.add(Ran(some.tolist(), batch, output))
    seconds["entropies and margins"] = seconds["all decoding"] - seconds["decoding"]
    with timed("statistics and intervals"):
        for name, level in gathered.levels.items():
            judge({"model": level}, model.trees[name], None, documents)
    return seconds


def make_model(kind: str, temperature: float) -> StructuredDocuments:
    torch.manual_seed(0)
    level = {"attention": kind, "temperature": temperature}
    settings = StructuredDocumentsSettings.model_validate({"words": level, "sentences": level})
    words = ["<pad>", "<unk>", *(f"w{i}" for i in range(VOCABULARY - 2))]
    model = StructuredDocuments(settings, list("12345"), vocabulary=Vocabulary(words))
    with torch.no_grad():
        model.embedding.weight *= 10  # as long as trained vectors
    return model.eval()


if __name__ == "__main__":
    main()
