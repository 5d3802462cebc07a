"""Non-projective marginals in torch operations, for devices other than the CPU.

Leave-one-out elimination in logarithms (Grassmann, Taksar and Heyman 1985; `leave_one_out` has the equations). Each
step eliminates a node in all problems and all blocks of a level at once, so there are N - 1 steps. N is the number of
nodes rounded up to a power of two. The added nodes have the root as their only possible head, with log weight 0, so
log Z stays the same. Matrices are [b, i, j], with N + 1 rows (the root, then each node as a head) and N columns.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.autograd import forward_ad

NOTHING = -1e30  # the logarithm of a weight that counts as 0; unlike -inf, it has derivatives


def marginals(
    arcs: Tensor, roots: Tensor, lengths: Tensor, single_root: bool
) -> tuple[Tensor, Tensor, Tensor, Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]]:
    """Log Z (float64), the marginals, and a function that differentiates the marginals along a direction."""
    n = arcs.shape[-1]
    real = _real(lengths, n)
    weights, log_scale, floor = _scaled(_matrix(arcs, roots, real, NOTHING), real, lengths, single_root)
    ways, log_sum = _ways(weights)
    log_z = log_sum + log_scale
    log_z = log_z.masked_fill(log_z < floor, -torch.inf)
    probabilities = torch.softmax(ways, 1) * real

    def derivative(d_arcs: Tensor, d_roots: Tensor) -> tuple[Tensor, Tensor]:
        direction = _matrix(d_arcs, d_roots, real, 0.0)
        with forward_ad.dual_level():
            dual, _ = _ways(forward_ad.make_dual(weights, direction))  # type: ignore[no-untyped-call]
            slopes = forward_ad.unpack_dual(dual).tangent  # type: ignore[no-untyped-call]
        # P' = P (slope - mean slope). Slopes relative to the likeliest head keep the digits of tiny derivatives.
        slopes = slopes - slopes.gather(1, probabilities.argmax(1, keepdim=True))
        slopes = slopes.masked_fill(probabilities == 0, 0)
        return _unmatrix(probabilities * (slopes - (probabilities * slopes).sum(1, keepdim=True)), arcs)

    return (log_z, *_unmatrix(probabilities, arcs), derivative)


def _real(lengths: Tensor, n: int) -> Tensor:
    """Which entries of the matrices are arcs or roots, not padding or the diagonal: (B, N + 1, N)."""
    position = torch.arange(1 << (n - 1).bit_length(), device=lengths.device)
    node = position < lengths[:, None]
    arc = node[:, :, None] & node[:, None, :] & (position[:, None] != position)
    return torch.cat([node[:, None], arc], 1)


def _matrix(arcs: Tensor, roots: Tensor, real: Tensor, otherwise: float) -> Tensor:
    pad = real.shape[-1] - arcs.shape[-1]
    nodes = torch.nn.functional.pad(arcs.double(), (0, pad, 0, pad))
    root = torch.nn.functional.pad(roots.double(), (0, pad))
    return torch.where(real, torch.cat([root[:, None], nodes], 1), otherwise).clamp(min=NOTHING)


def _unmatrix(matrix: Tensor, arcs: Tensor) -> tuple[Tensor, Tensor]:
    n = arcs.shape[-1]
    return matrix[:, 1 : n + 1, :n].to(arcs.dtype), matrix[:, 0, :n].to(arcs.dtype)


def _scaled(weights: Tensor, real: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Divide each column by its best weight, and enforce a single root by a penalty on all roots.

    The penalty (`price`) is so large that trees with several roots have no weight, even together. Also returns the
    logarithm of all divisors, and a lower bound of log Z: log Z is below it only if there is no tree.
    """
    best = weights[:, 1:].amax(1) if single_root else weights.amax(1)
    best = best.masked_fill(best <= NOTHING / 2, 0)
    weights = (weights - best[:, None]).clamp(min=NOTHING)
    log_scale = best.sum(1)
    allowed = weights > NOTHING / 2
    spread = weights.abs().masked_fill(~allowed, 0).amax((1, 2))
    reach = lengths * ((lengths + 1.0).log() + 2 * spread)
    price = reach + 750 if single_root else torch.zeros_like(reach)
    root = (weights[:, :1] - price[:, None, None]).clamp(min=NOTHING).where(real[:, :1], 0)
    return torch.cat([root, weights[:, 1:]], 1), log_scale + price, log_scale - reach - 1


def _ways(weights: Tensor) -> tuple[Tensor, Tensor]:
    """Log W[i, j] U[i, j] (B, N + 1, N), whose softmax over i is the probability of i → j; and log Z (B,)."""
    batch, _, n = weights.shape
    matrix, log_sum = weights, weights.new_zeros(batch)
    levels: list[list[Tensor]] = []
    m = n
    while m > 1:  # eliminate the second half of each block and, in a rolled copy of it, the first half
        m //= 2
        rolled = torch.cat([matrix[:, :1], matrix[:, 1:].roll(m, 1)], 1).roll(m, 2)
        matrix = torch.cat([matrix, rolled])
        levels.append([])
        for k in range(2 * m - 1, m - 1, -1):
            column, row = matrix[:, : k + 1, k], matrix[:, k + 1, None, :k]
            total = column.logsumexp(1, keepdim=True)
            levels[-1].append(column - total)
            log_sum = log_sum + total[:batch, 0]
            matrix = torch.logaddexp(matrix[:, : k + 1, :k], levels[-1][-1][:, :, None] + row)
    u = torch.full_like(matrix[:, :1], NOTHING)  # U[j, j] = 0; then back substitution, from narrow blocks to wide ones
    for columns in reversed(levels):
        for column in reversed(columns):
            ways = torch.cat([column[:, :1, None].expand(-1, 1, m), column[:, 1:, None] + u], 1)
            u = torch.cat([u, ways.logsumexp(1, keepdim=True)], 1)
        first, second = u.chunk(2)
        u = torch.cat([first, second.roll(m, 1)], 2)
        m *= 2
    ways = weights + torch.cat([torch.zeros_like(u[:, :1]), u], 1)
    return ways, log_sum + ways[:, :, 0].logsumexp(1)
