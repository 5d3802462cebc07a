"""What it costs to analyse trees, beside the forward pass that they come from.

10,000 documents of 10 sentences of about 17 words; a model with trees of words and of sentences, of the paper's sizes.
Weights are random. At a low temperature, distributions are as sharp as those of a trained model.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from treetext.analysis._bootstrap import intervals
from treetext.analysis._induced import Gathered
from treetext.analysis._reference_trees import REFERENCES, reference_heads
from treetext.analysis._shapes import compare, count_shapes
from treetext.models import DocumentClassifier, DocumentSettings
from treetext.text import Vocabulary, batch

SENTENCES, WORDS, VOCABULARY, BATCH = 10, 17, 30_000, 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print("| temperature | forward | decoding | entropy and margins | statistics | analysis / forward |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for temperature in (1.0, 0.1):
        run(64, temperature)  # compile
        forward, *parts = run(options.documents, temperature)
        cells = [f"{seconds:.1f} s" for seconds in (forward, *parts)]
        print(f"| {temperature} | {' | '.join(cells)} | {sum(parts) / forward:.2f} |", flush=True)


@torch.inference_mode()
def run(documents: int, temperature: float) -> tuple[float, float, float, float]:
    """Seconds of the forward pass, of decoding, of entropies and margins, and of all statistics."""
    seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def timed(what: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        seconds[what] += time.perf_counter() - start

    model = make_model(temperature)
    random = np.random.default_rng(0)
    lengths = list(np.clip(random.gamma(2.5, WORDS / 2.5, (documents, SENTENCES)).astype(int), 1, 100))
    gathered = Gathered(["words", "sentences"], lengths, np.arange(documents))
    for start in range(0, documents, BATCH):
        some = np.arange(start, min(start + BATCH, documents))
        texts = [(random.integers(2, VOCABULARY, lengths[i].sum()), lengths[i]) for i in some]
        tensors = model.batch(batch(texts, np.zeros(len(some)), some))
        with timed("forward"):
            scored = model.score(tensors)
        with timed("decoding"):
            for chunk in scored.words + scored.sentences:
                chunk.trees.mbr()
        with timed("all decoding"):
            gathered.add(some, tensors, scored)
    with timed("statistics"):
        for level in gathered.levels.values():
            forest = level.forest
            counts = [count_shapes(forest, documents)]
            for name in REFERENCES:
                heads = reference_heads(name, forest.lengths)
                counts += [count_shapes(forest._replace(heads=heads), documents), compare(forest, heads, documents)]
            intervals(np.concatenate(counts, axis=1))
    decoding = seconds["decoding"]
    return seconds["forward"], decoding, seconds["all decoding"] - decoding, seconds["statistics"]


def make_model(temperature: float) -> DocumentClassifier:
    torch.manual_seed(0)
    level = {"temperature": temperature}
    settings = DocumentSettings.model_validate({"task": "documents", "words": level, "sentences": level})
    words = ["<pad>", "<unk>", *(f"w{i}" for i in range(VOCABULARY - 2))]
    model = DocumentClassifier(settings, Vocabulary(words), list("12345"))
    with torch.no_grad():
        model.embedding.weight *= 10  # as long as trained vectors
    return model.eval()


if __name__ == "__main__":
    main()
