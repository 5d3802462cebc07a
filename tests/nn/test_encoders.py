"""Encoders: against one cell at a time, on sentences by themselves."""

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import gradcheck

from treetext.nn import Affine, BiLSTM, Feedforward, Local

every_encoder = pytest.mark.parametrize("kind", [BiLSTM, Feedforward, Affine, Local])
D, K, S = 4, 3, 2


def vectors(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def test_bilstm_by_cells() -> None:
    encoder = BiLSTM(D, K, S).double()
    lengths = torch.tensor([5, 3, 1])
    x = vectors(3, 5, D, dtype=torch.float64)
    found = encoder(x, lengths)
    for b, n in enumerate(lengths.tolist()):
        there, back = (_by_cells(lstm, words) for lstm, words in _directions(encoder, x[b, :n]))
        back = back.flip(0)
        semantic = torch.cat([there[:, :K], back[:, :K]], 1)
        structure = torch.cat([there[:, K:], back[:, K:]], 1)
        torch.testing.assert_close(found.semantic[b, :n], semantic, rtol=0, atol=1e-12)
        torch.testing.assert_close(found.structure[b, :n], structure, rtol=0, atol=1e-12)


def _directions(encoder: BiLSTM, x: Tensor) -> list[tuple[nn.LSTM, Tensor]]:
    return [(encoder.rightward, x), (encoder.leftward, x.flip(0))]


def _by_cells(lstm: nn.LSTM, x: Tensor) -> Tensor:
    h, c = torch.zeros(2, K + S, dtype=x.dtype)
    out = []
    for word in x:
        gates = lstm.weight_ih_l0 @ word + lstm.bias_ih_l0 + lstm.weight_hh_l0 @ h + lstm.bias_hh_l0
        i, f, g, o = gates.chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        out.append(h)
    return torch.stack(out)


@pytest.mark.parametrize("kind", [Feedforward, Affine])
def test_feedforward_by_words(kind: type[Feedforward]) -> None:
    encoder = kind(D, K, S)
    x = vectors(2, 5, D)
    found = encoder(x, torch.tensor([5, 2]))
    y = x @ encoder.layer.weight.T + encoder.layer.bias
    y = y if kind is Affine else torch.tanh(y)
    torch.testing.assert_close(found.semantic, y[..., : 2 * K])
    torch.testing.assert_close(found.structure, y[..., 2 * K :])


def test_local_is_affine_words_and_a_bilstm_for_the_structure() -> None:
    encoder, x, lengths = Local(D, K, S), vectors(2, 5, D), torch.tensor([5, 2])
    found = encoder(x, lengths)
    torch.testing.assert_close(found.semantic, x @ encoder.words.layer.weight.T + encoder.words.layer.bias)
    assert torch.equal(found.structure, encoder.context(x, lengths).semantic)


@every_encoder
def test_padding_is_invisible(kind: type[BiLSTM | Feedforward]) -> None:
    encoder = kind(D, K, S)
    x, lengths = vectors(3, 6, D), torch.tensor([6, 4, 1])
    for garbage in (0.0, 1e4):
        for b, n in enumerate(lengths.tolist()):
            x[b, n:] = garbage
        leaf = x.clone().requires_grad_()
        found = encoder(leaf, lengths)
        for b, n in enumerate(lengths.tolist()):
            alone = encoder(x[b : b + 1, :n])
            for padded, whole in zip(found, alone, strict=True):
                torch.testing.assert_close(padded[b, :n], whole[0], rtol=0, atol=1e-6)
        sum(y[b, :n].sum() for y in found for b, n in enumerate(lengths.tolist())).backward()
        assert leaf.grad is not None
        for b, n in enumerate(lengths.tolist()):
            assert leaf.grad[b, :n].all()
            assert not leaf.grad[b, n:].any()


@every_encoder
def test_all_real_without_lengths(kind: type[BiLSTM | Feedforward]) -> None:
    encoder, x = kind(D, K, S), vectors(3, 6, D)
    for a, b in zip(encoder(x), encoder(x, torch.full((3,), 6)), strict=True):
        assert torch.equal(a, b)


@every_encoder
def test_gradients(kind: type[BiLSTM | Feedforward]) -> None:
    encoder = kind(2, 2, 1).double()
    names, parameters = zip(*encoder.named_parameters(), strict=True)
    x, lengths = vectors(2, 3, 2, dtype=torch.float64).requires_grad_(), torch.tensor([3, 2])

    def run(x: Tensor, *values: Tensor) -> tuple[Tensor, ...]:
        return tuple(torch.func.functional_call(encoder, dict(zip(names, values, strict=True)), (x, lengths)))

    assert gradcheck(run, (x, *parameters))


@every_encoder
@pytest.mark.parametrize("structure", [0, S])
def test_sizes(kind: type[BiLSTM | Feedforward], structure: int) -> None:
    encoder = kind(D, K, structure)
    found = encoder(vectors(2, 5, D), torch.tensor([5, 2]))
    assert (encoder.inputs, encoder.semantic, encoder.structure) == (D, 2 * K, 2 * structure)
    assert found.semantic.shape == (2, 5, 2 * K)
    assert found.structure.shape == (2, 5, 2 * structure)


def test_parameters() -> None:
    h = K + S
    one = {"weight_ih_l0": (4 * h, D), "weight_hh_l0": (4 * h, h), "bias_ih_l0": (4 * h,), "bias_hh_l0": (4 * h,)}
    encoder = BiLSTM(D, K, S)
    wanted = {f"{way}.{name}": shape for way in ("rightward", "leftward") for name, shape in one.items()}
    assert {name: tuple(p.shape) for name, p in encoder.named_parameters()} == wanted
    for lstm in (encoder.rightward, encoder.leftward):
        i, f, g, o = (lstm.bias_ih_l0 + lstm.bias_hh_l0).chunk(4)
        assert (f == 1).all()
        assert not torch.cat([i, g, o]).any()
    assert not torch.equal(encoder.rightward.weight_ih_l0, encoder.leftward.weight_ih_l0)
    assert {name for name, _ in Feedforward(D, K, S).named_parameters()} == {"layer.weight", "layer.bias"}


# Torch itself has no LSTM in float16 on most CPUs.
@pytest.mark.parametrize(
    ("kind", "dtype"), [(BiLSTM, torch.bfloat16), (Feedforward, torch.bfloat16), (Feedforward, torch.float16)]
)
def test_autocast(kind: type[BiLSTM | Feedforward], dtype: torch.dtype) -> None:
    encoder, x, lengths = kind(D, K, S), vectors(2, 5, D).requires_grad_(), torch.tensor([5, 2])
    full = encoder(x, lengths)
    with torch.autocast("cpu", dtype):
        mixed = encoder(x, lengths)
    mixed.semantic.float().sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    torch.testing.assert_close(mixed.semantic.float(), full.semantic, rtol=0, atol=0.05)


@every_encoder
def test_bad_arguments(kind: type[BiLSTM | Feedforward]) -> None:
    for sizes, message in [
        ((0, 1, 1), "inputs: expected a size of 1 or more, got 0"),
        ((1, 0, 1), "semantic: expected a size of 1 or more, got 0"),
        ((1, 1, -1), "structure: expected a size of 0 or more, got -1"),
    ]:
        with pytest.raises(ValueError, match=message):
            kind(*sizes)
    encoder = kind(D, K, S)
    for shape in [(2, 5, D + 1), (5, D), (2, 0, D)]:
        with pytest.raises(ValueError, match=r"x: expected shape \(b, n >= 1, 4\)"):
            encoder(vectors(*shape))


def test_bad_lengths() -> None:
    encoder, x = BiLSTM(D, K, S), vectors(2, 5, D)
    for lengths, got in (([0, 5], 0), ([2, 6], 6)):
        with pytest.raises(ValueError, match=f"lengths: expected 1 to 5, got {got}"):
            encoder(x, torch.tensor(lengths))
