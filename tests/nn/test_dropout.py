import pytest
import torch

from treetext.nn import Dropout


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_drops_and_scales(p: float) -> None:
    torch.manual_seed(0)
    x = torch.ones(401, 251)
    found = Dropout(p)(x)
    kept = found[found != 0]
    assert len(kept) / x.numel() == pytest.approx(1 - p, abs=0.01)
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - p)), rtol=1e-4, atol=0)


def test_elements_are_dropped_one_by_one() -> None:
    """Four elements share a random number, and must not share their fate."""
    torch.manual_seed(0)
    dropped = Dropout(0.5)(torch.ones(10_000, 4)) == 0
    joint = (dropped[:, 0] & dropped[:, 1]).float().mean()
    assert float(joint) == pytest.approx(0.25, abs=0.02)


def test_does_nothing_when_it_should_not() -> None:
    x = torch.randn(3, 4)
    assert torch.equal(Dropout(0.5).eval()(x), x)
    assert torch.equal(Dropout(0.0)(x), x)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_gradients_and_types(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = torch.ones(7, 3, dtype=dtype).requires_grad_()
    found = Dropout(0.4)(x)
    assert found.dtype == dtype
    found.sum().backward()
    assert torch.equal(x.grad, found.detach())


def test_the_seed_decides() -> None:
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(Dropout(0.5)(torch.ones(50)))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
