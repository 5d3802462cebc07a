"""The score-function estimator: gradients for the scores of sampled trees (Williams 1992)."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from treetext.data.batches import Batch
from treetext.models import Model, Output
from treetext.trees import ROOT, Marginals, TreeDistribution


def score_function(model: Model, batch: Batch, output: Output) -> Float[Tensor, ""]:
    """A term whose gradient estimates that of the expected cross entropy with respect to the scores of the trees.

    It weights the log probability of a text's sampled trees by their cross entropy minus that of the most probable
    trees, which is the self-critical baseline (Rennie et al. 2017).
    """
    with torch.no_grad():
        best = model(batch, dict.fromkeys(model.sampled, TreeDistribution.straight_through))
        losses, baseline = (cross_entropy(x.logits, batch.labels, reduction="none") for x in (output, best))
    log_probs = torch.stack([_log_probs(batch, output, level) for level in model.sampled]).sum(0)
    return ((losses - baseline) * log_probs).mean()


def _log_probs(batch: Batch, output: Output, level: str) -> Float[Tensor, "B"]:
    """The log probability of the sampled trees of each text at a level."""
    log_probs = torch.cat([_log_prob(bucket.trees, bucket.marginals) for bucket in output.levels[level]])
    if level == "words":  # sum over the sentences of each text
        texts = []
        for sentences, counts in zip(batch.documents, batch.counts, strict=True):
            real = torch.arange(sentences.shape[1], device=counts.device) < counts[:, None]
            texts.append((log_probs[sentences] * real).sum(1))
        log_probs = torch.cat(texts)
    return log_probs[batch.document_order]


def _log_prob(trees: TreeDistribution | None, sample: Marginals | None) -> Float[Tensor, "b"]:
    assert trees is not None
    assert sample is not None
    return trees.log_prob(sample.arcs.argmax(-2).masked_fill(sample.roots == 1, ROOT))
