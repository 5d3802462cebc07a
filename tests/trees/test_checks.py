"""What is wrong with the arguments is said in one line that names the argument and the batch element."""

import inspect

import pytest
import torch

from treetext.trees import NonFiniteScores, NonProjectiveTrees, ProjectiveTrees, TreeDistribution, max_spanning_tree

Kind = type[TreeDistribution]

every_kind = pytest.mark.parametrize("kind", [NonProjectiveTrees, ProjectiveTrees])


def refusal(kind: Kind, *args: object) -> str:
    """The message with which a distribution refuses arguments (past the shape checks that only the tests have)."""
    trees = object.__new__(kind)
    with pytest.raises((ValueError, TypeError)) as caught:
        inspect.unwrap(kind.__init__)(trees, *args)
    message = str(caught.value)
    assert "\n" not in message
    return message


@every_kind
class TestScores:
    def test_not_tensors(self, kind: Kind) -> None:
        assert refusal(kind, [[0.0]], torch.zeros(1)) == "arcs: expected a floating-point tensor, got list"
        assert "roots: expected a floating-point tensor, got torch.int64" in refusal(
            kind, torch.zeros(2, 2), torch.zeros(2, dtype=torch.int64)
        )

    def test_shapes(self, kind: Kind) -> None:
        assert "arcs: expected shape (*batch, n, n) with n >= 1, got (2, 3)" in refusal(
            kind, torch.zeros(2, 3), torch.zeros(2)
        )
        assert "arcs: expected shape" in refusal(kind, torch.zeros(0, 0), torch.zeros(0))
        assert "arcs: expected shape" in refusal(kind, torch.zeros(3), torch.zeros(3))
        assert "roots: expected shape (4, 3) to go with arcs of shape (4, 3, 3), got (4, 2)" in refusal(
            kind, torch.zeros(4, 3, 3), torch.zeros(4, 2)
        )

    def test_devices_and_types(self, kind: Kind) -> None:
        arcs = torch.zeros(2, 2)
        assert "roots: expected torch.float32 on cpu as arcs is, got torch.float32 on meta" in refusal(
            kind, arcs, torch.zeros(2, device="meta")
        )
        assert "got torch.float64 on cpu" in refusal(kind, arcs, torch.zeros(2).double())
        assert "lengths: expected a tensor on cpu" in refusal(
            kind, arcs, torch.zeros(2), torch.tensor(2, device="meta")
        )

    @pytest.mark.parametrize("bad", [torch.nan, torch.inf])
    def test_values(self, kind: Kind, bad: float) -> None:
        arcs, roots = torch.zeros(2, 3, 4, 4), torch.zeros(2, 3, 4)
        arcs[1, 2, 0, 3] = bad
        assert refusal(kind, arcs, roots) == (
            f"arcs: batch element (1, 2) is {bad} at (0, 3), expected finite scores, or -inf for what is forbidden"
        )
        arcs[1, 2, 0, 3] = 0
        roots[0, 1, 2] = bad
        assert f"roots: batch element (0, 1) is {bad} at (2,)" in refusal(kind, arcs, roots)
        assert "arcs: the only element is nan at (0, 1)" in refusal(
            kind, torch.tensor([[0.0, torch.nan], [0.0, 0.0]]), torch.zeros(2)
        )

    @pytest.mark.parametrize("bad", [torch.nan, torch.inf])
    def test_non_finite_scores_have_an_error_of_their_own(self, kind: Kind, bad: float) -> None:
        for infer in (kind, max_spanning_tree):
            with pytest.raises(NonFiniteScores, match="expected finite scores"):
                infer(torch.full((2, 2), bad), torch.zeros(2))
        with pytest.raises(ValueError, match="lengths") as caught:
            kind(torch.zeros(2, 2), torch.zeros(2), torch.tensor(3))
        assert not isinstance(caught.value, NonFiniteScores)

    def test_sums_that_overflow_are_welcome(self, kind: Kind) -> None:
        trees = kind(torch.full((2, 2), 6e4, dtype=torch.float16), torch.full((2,), 6e4, dtype=torch.float16))
        assert trees.marginals.roots.tolist() == pytest.approx([0.5, 0.5])

    def test_lengths(self, kind: Kind) -> None:
        arcs, roots = torch.zeros(3, 4, 4), torch.zeros(3, 4)
        assert refusal(kind, arcs, roots, torch.tensor([4, 0, 2])) == (
            "lengths: batch element (1,) is 0, expected 1 to 4"
        )
        assert "batch element (2,) is 5, expected 1 to 4" in refusal(kind, arcs, roots, torch.tensor([4, 1, 5]))
        assert "lengths: expected shape (3,), got (2,)" in refusal(kind, arcs, roots, torch.tensor([4, 1]))
        assert "lengths: expected a tensor of integers, got torch.float32" in refusal(kind, arcs, roots, torch.ones(3))
        assert "lengths: expected a tensor of integers, got list" in refusal(kind, arcs, roots, [4, 4, 4])

    @pytest.mark.parametrize("single_root", [True, False])
    def test_no_tree_at_all(self, kind: Kind, single_root: bool) -> None:
        arcs, roots = torch.zeros(2, 3, 3), torch.zeros(2, 3)
        arcs[1], roots[1] = -torch.inf, -torch.inf
        trees = kind(arcs, roots, single_root=single_root)
        for ask in (
            lambda: trees.log_partition,
            lambda: trees.marginals,
            lambda: trees.entropy,
            lambda: trees.log_prob(torch.tensor([[-1, 0, 0]] * 2)),
            trees.mode,
            trees.mbr,
            lambda: trees.sample(2),
            lambda: trees.top(2),
        ):
            with pytest.raises(ValueError, match=r"arcs, roots: batch element \(1,\) has no tree"):
                ask()

    def test_counts(self, kind: Kind) -> None:
        trees = kind(torch.zeros(2, 2), torch.zeros(2))
        for ask in (trees.sample, trees.top):
            with pytest.raises(ValueError, match="k: expected 1 or more, got 0"):
                ask(0)

    def test_heads(self, kind: Kind) -> None:
        trees = kind(torch.zeros(2, 2), torch.zeros(2))
        with pytest.raises(ValueError, match=r"heads: expected shape \(2,\), got \(3,\)"):
            trees.log_prob(torch.tensor([-1, 0, 0]))

    def test_another_kind_of_distribution(self, kind: Kind) -> None:
        arcs, roots = torch.zeros(2, 2), torch.zeros(2)
        trees = kind(arcs, roots)
        with pytest.raises(
            ValueError, match=r"other: expected .* with single_root=True, got .* with single_root=False"
        ):
            trees.kl(kind(arcs, roots, single_root=False))
        other = ProjectiveTrees if kind is NonProjectiveTrees else NonProjectiveTrees
        with pytest.raises(ValueError, match=rf"other: expected {kind.__name__} .* got {other.__name__}"):
            trees.cross_entropy(other(arcs, roots))
        with pytest.raises(ValueError, match=r"other: expected shape \(2,\), got \(3,\)"):
            trees.cross_entropy(kind(torch.zeros(3, 3), torch.zeros(3)))
