import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from treetext.nn import POOLINGS, pool

every_kind = pytest.mark.parametrize("kind", POOLINGS)
LENGTHS = torch.tensor([4, 2, 1])


@pytest.fixture
def x() -> Tensor:
    return torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 3  # mostly below 0


@pytest.fixture
def roots() -> Tensor:
    return torch.rand(3, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def by_loops(x: Tensor, kind: str, roots: Tensor) -> Tensor:
    """One sequence."""
    if kind == "max":
        return torch.stack([max(row) for row in x.T])
    weights = {"mean": [1 / len(x)] * len(x), "sum": [1.0] * len(x), "root": roots.tolist()}[kind]
    return sum((weight * row for weight, row in zip(weights, x, strict=True)), torch.zeros(x.shape[1]))


def options(kind: str, roots: Tensor) -> tuple[str, Tensor | None]:
    return kind, roots if kind == "root" else None


@every_kind
@pytest.mark.parametrize("garbage", [0.0, 1e30, float("inf"), float("nan")])
def test_values_whatever_the_padding(kind: str, garbage: float, x: Tensor, roots: Tensor) -> None:
    for b, n in enumerate(LENGTHS.tolist()):
        x[b, n:] = garbage
    found = pool(x, LENGTHS, *options(kind, roots))
    for b, n in enumerate(LENGTHS.tolist()):
        torch.testing.assert_close(found[b], by_loops(x[b, :n], kind, roots[b, :n]))


@every_kind
def test_without_lengths(kind: str, x: Tensor, roots: Tensor) -> None:
    found = pool(x, None, *options(kind, roots))
    assert torch.equal(found, pool(x, torch.full((3,), 4), *options(kind, roots)))


@every_kind
def test_gradients(kind: str, x: Tensor, roots: Tensor) -> None:
    x, roots = x.requires_grad_(), roots.requires_grad_()
    assert gradcheck(lambda x, roots: pool(x, LENGTHS, *options(kind, roots)), (x, roots))
    pool(x, LENGTHS, *options(kind, roots)).sum().backward()
    assert x.grad is not None
    assert not x.grad[1, 2:].any()
    assert not x.grad[2, 1:].any()


@every_kind
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_dtype_stays(kind: str, dtype: torch.dtype, x: Tensor, roots: Tensor) -> None:
    assert pool(x.to(dtype), LENGTHS, *options(kind, roots.to(dtype))).dtype == dtype


def test_bad_arguments(x: Tensor, roots: Tensor) -> None:
    with pytest.raises(ValueError, match="kind: expected one of max, mean, sum, root, got 'min'"):
        pool(x, LENGTHS, "min")
    with pytest.raises(ValueError, match=r"x: expected shape \(b, n >= 1, k\), got \(3, 0, 5\)"):
        pool(x[:, :0])
    with pytest.raises(ValueError, match="lengths: expected 1 to 4, got 0"):
        pool(x, torch.tensor([4, 0, 1]))
    with pytest.raises(ValueError, match=r"roots: expected shape \(3, 4\) to pool by root, got none"):
        pool(x, LENGTHS, "root")
    with pytest.raises(ValueError, match=r"roots: expected shape \(3, 4\) to pool by root, got \(3, 3\)"):
        pool(x, LENGTHS, "root", roots[:, :3])
