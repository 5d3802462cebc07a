"""Buckets: positions of several padded matrices as rows of one, in three orders."""

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from treetext.nn import Buckets
from treetext.nn.buckets import joined, permuted

SHAPES, LENGTHS = [(2, 4), (3, 2), (1, 1)], [torch.tensor([4, 3]), torch.tensor([2, 2, 1]), None]


def padded() -> list[Tensor]:
    """Vectors (b, n, 2) that name the bucket and the place of each position."""
    return [
        torch.tensor([[[100.0 * i + 10 * b + t, -1.0] for t in range(n)] for b in range(size)])
        for i, (size, n) in enumerate(SHAPES)
    ]


def sequence_major(parts: list[Tensor]) -> Tensor:
    return torch.cat([part.flatten(0, 1) for part in parts])


def time_major(parts: list[Tensor]) -> Tensor:
    return torch.cat([part.transpose(0, 1).flatten(0, 1) for part in parts])


def test_split() -> None:
    buckets = Buckets.of(SHAPES, LENGTHS)
    for found, part in zip(buckets.split(sequence_major(padded())), padded(), strict=True):
        assert torch.equal(found, part)
    for found, part in zip(buckets.split_time(time_major(padded())), padded(), strict=True):
        assert torch.equal(found, part.transpose(0, 1))


def test_one_bucket_is_split_without_a_copy() -> None:
    flat = torch.zeros(6, 2)
    [part] = Buckets.of([(2, 3)], [None]).split(flat)
    assert part.data_ptr() == flat.data_ptr()
    assert part.shape == (2, 3, 2)


def test_orders() -> None:
    otherwise, mirror, in_time = Buckets.of(SHAPES, LENGTHS).orders(torch.device("cpu"))
    by_sequence, by_time = sequence_major(padded()), time_major(padded())
    assert torch.equal(by_sequence[otherwise], by_time)
    assert torch.equal(by_time[in_time], by_sequence)
    reversed_parts = padded()
    for part, (size, n), lengths in zip(reversed_parts, SHAPES, LENGTHS, strict=True):
        for b, length in enumerate([n] * size if lengths is None else lengths.tolist()):
            part[b, :length] = part[b, :length].flip(0)  # padding stays where it is
    assert torch.equal(by_time[mirror], time_major(reversed_parts))
    assert torch.equal(mirror[mirror], torch.arange(len(mirror)))


def test_which_positions_are_real() -> None:
    first, second, third = Buckets.of(SHAPES, LENGTHS).real
    assert first.tolist() == [[True] * 4, [True, True, True, False]]
    assert second.tolist() == [[True, True], [True, True], [True, False]]
    assert third is None


def test_bad_lengths() -> None:
    with pytest.raises(ValueError, match="lengths: expected 1 to 2, got 3"):
        Buckets.of([(2, 4), (1, 2)], [None, torch.tensor([3])])
    with pytest.raises(ValueError, match=r"lengths: expected shape \(1,\), got \(2,\)"):
        Buckets.of([(2, 4), (1, 2)], [None, torch.tensor([1, 2])])
    with pytest.raises(TypeError, match=r"lengths: expected a tensor of integers, got torch\.bool"):
        Buckets.of([(1, 2)], [torch.tensor([True])])


def test_permuted_rows_and_their_gradients() -> None:
    x = torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    order = torch.tensor([3, 0, 4, 1, 2])
    assert torch.equal(permuted(x, order, order.argsort()), x[order])
    assert gradcheck(lambda x: permuted(x, order, order.argsort()).square(), x)


def test_joined() -> None:
    one, other = torch.zeros(2, 3), torch.ones(1, 3)
    assert joined([one]) is one
    assert torch.equal(joined([one, other]), torch.cat([one, other]))
