"""Attention: against the paper's equations as plain loops, with the marginals found by enumerating all trees."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from tests.trees.brute import Enumeration
from treetext.nn import KINDS, Attention
from treetext.trees import Marginals, NonProjectiveTrees, ProjectiveTrees, TreeDistribution

TREES = {"projective": ProjectiveTrees, "nonprojective": NonProjectiveTrees}
K, S = 5, 3

every_kind = pytest.mark.parametrize("kind", KINDS)
every_attention = pytest.mark.parametrize("kind", ["simple", "projective", "nonprojective"])
every_update = pytest.mark.parametrize("options", [{}, {"gated": True}, {"activation": "product"}], ids=str)
every_tree = pytest.mark.parametrize("kind", list(TREES))


def vectors(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def layer(kind: str, dtype: torch.dtype = torch.float64, **options: Any) -> Attention:
    """With all parameters random, biases too."""
    attention = Attention(K, S, kind, **options).to(dtype)
    for seed, parameter in enumerate(attention.parameters()):
        parameter.data = vectors(*parameter.shape, seed=100 + seed, dtype=dtype)
    return attention


def weights_by_loops(attention: Attention, d: Tensor) -> tuple[Tensor, Tensor]:
    """What to take from which for one sentence: (n, n) and (n,)."""
    n = len(d)
    p = dict(attention.named_parameters())
    f = torch.zeros(n, n, dtype=torch.float64)
    for i in range(n):
        for j in range(n):
            t_p = torch.tanh(p["parent.weight"] @ d[i] + p["parent.bias"])
            t_c = torch.tanh(p["child.weight"] @ d[j] + p["child.bias"])
            f[i, j] = t_p @ p["bilinear.weight"] @ t_c / attention.temperature
    if attention.kind == "simple":
        a = torch.stack([f[:, j].exp() / f[:, j].exp().sum() for j in range(n)], 1)
        return a, torch.zeros(n, dtype=torch.float64)
    if attention.fixed_root:
        roots = torch.tensor([0.0] + [-torch.inf] * (n - 1)).double()
    else:
        roots = torch.stack([p["root.weight"][0] @ d[i] for i in range(n)]) / attention.temperature
    both = Enumeration(TREES[attention.kind], f, roots, attention.single_root).marginals
    return both[:n], both[n]


def by_loops(attention: Attention, e: Tensor, d: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The paper's equations for one sentence, as often as there are rounds."""
    a, a_root = weights_by_loops(attention, d)
    h = e
    for _ in range(int(attention.rounds)):
        h = round_by_loops(attention, e, h, a, a_root)
    return h, a, a_root


def round_by_loops(attention: Attention, e: Tensor, h: Tensor, a: Tensor, a_root: Tensor) -> Tensor:
    n = len(e)
    updated = []
    for i in range(n):
        parts = [e[i]]
        if attention.with_parents:
            parts.append(sum((a[k, i] * h[k] for k in range(n)), torch.zeros(K)))
            if attention.kind in TREES:
                parts[1] = parts[1] + a_root[i] * attention.root_vector
        if attention.with_children:
            parts.append(sum((a[i, k] * h[k] for k in range(n)), torch.zeros(K)))
        if attention.activation == "product":
            updated.append(e[i] + (attention.own.weight @ e[i]) * (attention.combine.weight @ torch.cat(parts[1:])))
            continue
        r = attention.combine.weight @ torch.cat(parts)
        r = torch.tanh(r) if attention.activation == "tanh" else torch.where(r > 0, r, 0.01 * r)
        updated.append(e[i] + attention.gate * r if attention.gated else r)
    return torch.stack(updated)


@every_attention
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"children": False},
        {"parents": False},
        {"rounds": 3},
        {"rounds": 2, "parents": False, "activation": "leaky_relu"},
        {"rounds": 2, "gated": True},
        {"rounds": 3, "activation": "product"},
        {"root": "first"},
        {"activation": "leaky_relu"},
        {"single_root": False},
        {"temperature": 2.5},
        {"gated": True},
        {"activation": "product"},
        {"children": False, "activation": "product"},
    ],
    ids=lambda options: "-".join(map(str, options)) or "default",
)
def test_equations(kind: str, options: dict[str, Any]) -> None:
    attention = layer(kind, **options)
    lengths = torch.tensor([1, 2, 3, 4])
    e, d = vectors(4, 4, K), vectors(4, 4, S, seed=1)
    found, marginals, _ = attention(e, d, lengths)
    assert marginals is not None
    for b, n in enumerate(lengths.tolist()):
        r, a, a_root = by_loops(attention, e[b, :n], d[b, :n])
        torch.testing.assert_close(found[b, :n], r, rtol=0, atol=1e-9)
        torch.testing.assert_close(marginals.arcs[b, :n, :n], a, rtol=0, atol=1e-9)
        torch.testing.assert_close(marginals.roots[b, :n], a_root, rtol=0, atol=1e-9)
        assert not marginals.arcs[b, n:].any()
        assert not marginals.arcs[b, :, n:].any()
        assert not marginals.roots[b, n:].any()


@every_tree
def test_with_products_words_meet_along_arcs_alone(kind: str) -> None:
    """With the trees as they are, the sum over words has no part to which two words contribute without an arc."""
    attention = layer(kind, activation="product", children=False)
    tree = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]).double()  # 0 is the head of 1; 0, 2: roots
    marginals = Marginals(tree[None], torch.tensor([[1.0, 0.0, 1.0]]).double())
    e, d = vectors(1, 3, K).requires_grad_(), vectors(1, 3, S, seed=1)
    hessian = torch.autograd.functional.hessian(lambda e: attention(e, d, None, lambda _: marginals)[0].sum(), e)
    hessian = hessian[0, :, :, 0]
    met = hessian.abs().sum((1, 3)) > 1e-9
    assert met.tolist() == [[False, True, False], [True, False, False], [False, False, False]]


@every_tree
@every_update
@pytest.mark.parametrize("children", [True, False])
def test_other_marginals(kind: str, options: dict[str, Any], children: bool) -> None:
    """They are used, and returned, in place of the trees' own; the trees stay as they are."""
    attention = layer(kind, children=children, **options)
    e, d, lengths = vectors(2, 4, K), vectors(2, 4, S, seed=1), torch.tensor([4, 3])
    own, before, trees = attention(e, d, lengths)
    assert before is not None
    seen = []

    def other(given: TreeDistribution) -> Marginals:
        seen.append(given)
        return Marginals(given.marginals.arcs.mT, given.marginals.roots.flip(-1))

    found, after, same = attention(e, d, lengths, other)
    assert seen == [same]
    assert torch.equal(same.arcs, trees.arcs)
    assert after is not None
    assert torch.equal(after.arcs, before.arcs.mT)
    assert torch.equal(after.roots, before.roots.flip(-1))
    assert not torch.allclose(found[:, :3], own[:, :3])
    again, _, _ = attention(e, d, lengths, lambda trees: trees.marginals)
    assert torch.equal(again, own)
    assert torch.equal(attention(e, d, lengths)[0], own), "once only"


@pytest.mark.parametrize("kind", ["none", "simple"])
def test_without_trees_there_are_no_marginals_to_replace(kind: str) -> None:
    def never(_: TreeDistribution) -> Marginals:
        raise AssertionError

    attention, e, d = layer(kind), vectors(2, 4, K), vectors(2, 4, S, seed=1)
    assert torch.equal(attention(e, d, None, never)[0], attention(e, d)[0])


def test_products_have_no_gate() -> None:
    with pytest.raises(ValueError, match="gated: expected False with the activation product"):
        Attention(K, S, activation="product", gated=True)


@every_kind
def test_a_gate_is_shut_at_first(kind: str) -> None:
    attention = Attention(K, S, kind, gated=True).double()
    e, d = vectors(2, 4, K), vectors(2, 4, S, seed=1)
    found = attention(e, d)[0]
    assert torch.equal(found, e)
    if kind != "none":
        found.sum().backward()
        assert attention.gate.grad.all()


@every_kind
@every_update
def test_padding_is_invisible(kind: str, options: dict[str, Any]) -> None:
    attention = layer(kind, torch.float32, **options)
    e, d = vectors(3, 9, K, dtype=torch.float32), vectors(3, 9, S, seed=1, dtype=torch.float32)
    lengths = torch.tensor([9, 4, 1])
    results = []
    for garbage in (0.0, 1e4):
        for b, n in enumerate(lengths.tolist()):
            e[b, n:], d[b, n:] = garbage, -garbage
        e_leaf, d_leaf = e.clone().requires_grad_(), d.clone().requires_grad_()
        attention.zero_grad()
        found = attention(e_leaf, d_leaf, lengths)[0]
        sum(found[b, :n].square().sum() for b, n in enumerate(lengths.tolist())).backward()
        grads = [x.grad for x in (e_leaf, d_leaf, *attention.parameters()) if x.grad is not None]
        assert all(grad.isfinite().all() for grad in grads)
        results.append([found, *grads])
        for b, n in enumerate(lengths.tolist()):
            alone = attention(e[b : b + 1, :n], d[b : b + 1, :n])[0][0]
            torch.testing.assert_close(found[b, :n], alone, rtol=0, atol=1e-6)
            for grad in grads[: 1 if kind == "none" else 2]:
                assert not grad[b, n:].any()
    for b, n in enumerate(lengths.tolist()):
        torch.testing.assert_close(results[0][0][b, :n], results[1][0][b, :n], rtol=0, atol=1e-6)
    for first, second in zip(results[0][1:], results[1][1:], strict=True):
        torch.testing.assert_close(first, second, rtol=1e-5, atol=1e-5)


@every_attention
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"activation": "leaky_relu"},
        {"gated": True},
        {"activation": "product"},
        {"rounds": 3, "parents": False},
        {"root": "first", "rounds": 2},
    ],
    ids=str,
)
def test_gradients(kind: str, options: dict[str, Any]) -> None:
    attention = layer(kind, **options)
    names, parameters = zip(*attention.named_parameters(), strict=True)
    e, d, lengths = vectors(2, 4, K).requires_grad_(), vectors(2, 4, S, seed=1).requires_grad_(), torch.tensor([4, 2])
    real = torch.arange(4) < lengths[:, None]

    def run(e: Tensor, d: Tensor, *values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        found, marginals, _ = torch.func.functional_call(
            attention, dict(zip(names, values, strict=True)), (e, d, lengths)
        )
        return found[real], marginals.arcs, marginals.roots

    assert gradcheck(run, (e, d, *parameters))


def test_none_does_nothing() -> None:
    e = vectors(2, 4, K)
    found, marginals, trees = layer("none")(e, vectors(2, 4, 0))
    assert torch.equal(found, e)
    assert marginals is None
    assert trees is None
    assert not list(Attention(K, 0, "none").parameters())


def test_parameters() -> None:
    shapes = {kind: {name: tuple(p.shape) for name, p in Attention(K, S, kind).named_parameters()} for kind in KINDS}
    scoring = {
        "parent.weight": (S, S),
        "parent.bias": (S,),
        "child.weight": (S, S),
        "child.bias": (S,),
        "bilinear.weight": (S, S),
    }
    root = {"root.weight": (1, S), "root_vector": (K,)}
    assert shapes["none"] == {}
    assert shapes["simple"] == scoring | {"combine.weight": (K, 2 * K)}
    assert shapes["projective"] == shapes["nonprojective"] == scoring | root | {"combine.weight": (K, 3 * K)}
    assert Attention(K, S, children=False).combine.weight.shape == (K, 2 * K)
    assert Attention(K, S, gated=True).gate.shape == (K,)
    product = Attention(K, S, activation="product")
    assert (product.own.weight.shape, product.combine.weight.shape) == ((K, K), (K, 2 * K))


@every_kind
def test_the_seed_decides(kind: str) -> None:
    states = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        states.append(list(Attention(K, S, kind).state_dict().items()))
    assert all(torch.equal(a, b) for (_, a), (_, b) in zip(states[0], states[1], strict=True))
    for (name, a), (_, b) in zip(states[0], states[2], strict=True):
        assert torch.equal(a, b) == name.endswith("bias")


@every_tree
@pytest.mark.parametrize("single_root", [True, False])
def test_trees(kind: str, single_root: bool) -> None:
    attention = layer(kind, single_root=single_root)
    e, d, lengths = vectors(2, 4, K), vectors(2, 4, S, seed=1), torch.tensor([4, 3])
    trees = attention.trees(d, lengths)
    assert type(trees) is TREES[kind]
    assert trees.single_root == single_root
    _, marginals, own = attention(e, d, lengths)
    assert marginals is not None
    assert type(own) is TREES[kind]
    assert torch.equal(own.arcs, trees.arcs)
    assert torch.equal(own.roots, trees.roots)
    assert own.single_root == single_root
    assert torch.equal(trees.marginals.arcs, marginals.arcs)
    assert torch.equal(trees.marginals.roots, marginals.roots)
    roots = marginals.roots.sum(-1)
    torch.testing.assert_close(marginals.arcs.sum((1, 2)) + roots, lengths.double())
    assert torch.allclose(roots, torch.ones(2, dtype=torch.float64)) == single_root


@every_attention
def test_temperature_sharpens(kind: str) -> None:
    e, d = vectors(1, 4, K), vectors(1, 4, S, seed=1)
    largest = []
    for temperature in (1e-4, 1.0, 100.0):
        marginals = layer(kind, temperature=temperature)(e, d)[1]
        assert marginals is not None
        largest.append(float(torch.cat([marginals.arcs, marginals.roots[:, None]], 1).amax(1).mean().detach()))
    assert largest[0] > 0.99
    assert largest[0] > largest[1] > largest[2]


@every_kind
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@every_update
def test_half_precision(kind: str, dtype: torch.dtype, options: dict[str, Any]) -> None:
    attention = layer(kind, torch.float32, **options)
    e, d = vectors(2, 4, K, dtype=torch.float32), vectors(2, 4, S, seed=1, dtype=torch.float32)
    lengths = torch.tensor([4, 2])
    full = attention(e, d, lengths)[0]
    with torch.autocast("cpu", dtype):
        mixed = attention(e.requires_grad_(), d, lengths)[0]
    mixed[:, :2].float().sum().backward()
    assert e.grad is not None
    assert e.grad.isfinite().all()
    halved = attention.to(dtype)(e.detach().to(dtype), d.to(dtype), lengths)[0]
    assert halved.dtype == dtype
    for found in (mixed, halved):
        torch.testing.assert_close(found[:, :2].float(), full[:, :2], rtol=0, atol=0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "tree"}, "kind: expected one of none, simple, projective, nonprojective, got 'tree'"),
        ({"activation": "relu"}, "activation: expected one of tanh, leaky_relu, product, got 'relu'"),
        ({"semantic": 0}, "semantic: expected a size of 1 or more, got 0"),
        ({"structure": 0}, "structure: expected a size of 1 or more, got 0"),
        ({"structure": -1, "kind": "none"}, "structure: expected a size of 0 or more, got -1"),
        ({"parents": False, "children": False}, "parents, children: expected at least one of them, got False for both"),
        ({"rounds": 0}, "rounds: expected 1 or more, or 'height', got 0"),
        ({"rounds": "deep"}, "rounds: expected one of height, got 'deep'"),
        ({"root": "last"}, "root: expected one of any, first, got 'last'"),
        (
            {"estimator": "hard"},
            "estimator: expected one of marginals, perturbed, straight_through, sampled, got 'hard'",
        ),
        ({"evaluation": "best"}, "evaluation: expected one of marginals, tree, got 'best'"),
        ({"noise": [1.0, -1.0]}, "noise: expected a number of 0 or more, or several, got [1.0, -1.0]"),
        ({"noise": []}, "noise: expected a number of 0 or more, or several, got []"),
        ({"relaxation": 0.0}, "relaxation: expected a number of more than 0, or several, got 0.0"),
        ({"temperature": 0.0}, "temperature: expected a number above 0, got 0.0"),
        ({"temperature": float("nan")}, "temperature: expected a number above 0, got nan"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011
        Attention(**{"semantic": K, "structure": S, **options})
    assert str(error.value) == message


@every_attention
def test_bad_tensors(kind: str) -> None:
    attention, e, d = layer(kind), vectors(2, 4, K), vectors(2, 4, S)
    with pytest.raises(ValueError, match=r"semantic: expected shape \(b, n >= 1, 5\), got \(2, 4, 6\)"):
        attention(vectors(2, 4, 6), d)
    with pytest.raises(ValueError, match=r"structure: expected shape \(2, 4, 3\), got \(2, 4, 2\)"):
        attention(e, vectors(2, 4, 2))
    with pytest.raises(ValueError, match=r"structure: expected shape \(2, 4, 3\), got \(2, 5, 3\)"):
        attention(e, vectors(2, 5, S))
    for lengths in ([0, 4], [1, 5]):
        with pytest.raises(ValueError, match=r"lengths: .*expected 1 to 4"):
            attention(e, d, torch.tensor(lengths))
    with pytest.raises(ValueError, match=r"lengths: expected shape \(2,\), got \(3,\)"):
        attention(e, d, torch.tensor([1, 2, 3]))
    with pytest.raises(TypeError, match=r"lengths: expected a tensor of integers, got torch\.float32"):
        attention(e, d, torch.tensor([1.0, 2.0]))


@pytest.mark.parametrize("kind", ["none", "simple"])
def test_no_trees_to_give(kind: str) -> None:
    with pytest.raises(ValueError, match=f"trees: expected a kind with trees .*, got '{kind}'"):
        layer(kind).trees(vectors(2, 4, S))
