"""Accuracy, speed and memory of distributions over trees, beside other libraries. Prints Markdown.

Run it by `make bench`, or with --quick to see in minutes whether it works: few repetitions, so no numbers to
rely on. The other options are for the processes that it starts itself.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch
from supar.structs import MatrixTree
from supar.structs.fn import mst
from torch import Tensor
from torch_struct import DependencyCRF, NonProjectiveDependencyCRF
from ufal.chu_liu_edmonds import chu_liu_edmonds

import treetext
from treetext.trees import NonProjectiveTrees, ProjectiveTrees, max_spanning_tree
from treetext.trees.kernels import nonprojective_torch

THREADS = 2
TIME_LIMIT = 60  # seconds for a process that measures one row
IMPOSSIBLE = -1e32  # supar's score of what is forbidden
# Batch × n: how many times as fast as torch-struct it should be.
SPEED_ROWS = {"32x10": 2, "32x20": 2, "288x20": 2, "288x40": 1.5, "32x50": 1.5, "32x100": 1, "8x300": 1}
DECODING_LIMITS = {10: "", 30: "≤ 0.1", 100: "≤ 0.5"}  # n: milliseconds per tree

Step = Callable[[], object]
Scores = tuple[Tensor, Tensor]  # of arcs (batch, n, n) and of roots (batch, n)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repetitions")
    parser.add_argument("--row", metavar="BxN", help="speed for a batch of B problems of n nodes")
    parser.add_argument("--memory", metavar="N", type=int, help="memory for one problem of n nodes")
    parser.add_argument("--only", choices=STEPS, help="this library alone")
    parser.add_argument("--threads", type=int, default=THREADS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    warnings.filterwarnings("ignore", message=".*arg_constraints")  # torch-struct's, about itself
    if options.row:
        batch, n = map(int, options.row.split("x"))
        names = [options.only] if options.only else STEPS
        print(json.dumps(medians([STEPS[name](batch, n) for name in names], options.quick)))
    elif options.memory:
        print(json.dumps(measure_memory(options.memory, options.only)))
    else:
        report(options.quick)


def report(quick: bool) -> None:
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    print_header(quick)
    for n in (10, 20, 129, 300):
        our_step(NonProjectiveTrees, 8, n)()  # compiles the kernels, so that no row has to
    print_accuracy(2 if quick else 10)
    for print_section in (print_speed, print_projective, print_decoding, print_memory, print_peaked):
        print_section(quick)


def print_header(quick: bool) -> None:
    peers = ("torch", "numba", "torch-struct", "supar", "ufal.chu-liu-edmonds", "networkx")
    print("# Distributions over trees, measured by `make bench`\n")
    print(f"- {date.today()}{', quick: few repetitions' if quick else ''}")
    load = f"{THREADS} torch threads, load at the start {os.getloadavg()[0]:.1f}"
    print(f"- {field('/proc/cpuinfo', 'model name')}, {os.cpu_count()} cores, {load}")
    print(f"- treetext {treetext.__version__}, Python {platform.python_version()}")
    print("- " + ", ".join(f"{peer} {version(peer)}" for peer in peers))


def print_table_head(title: str, *columns: str) -> None:
    print(f"\n## {title}\n")
    print_row(*columns)
    print_row("---", *["---:"] * (len(columns) - 1))


def print_row(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |")


def print_accuracy(seeds: int) -> None:
    ways = [lambda *scores: NonProjectiveTrees(*scores).marginals, by_torch_struct, by_supar, by_inversion]
    methods = [partial(marginal_error, way) for way in ways]
    methods.insert(1, our_gradient_error)
    columns = "treetext", "treetext, gradient", "torch-struct", "supar", "inverse in float64"
    print_table_head(f"Error of marginals: single root, n = 20, worst of {seeds} seeds", "scores", *columns)
    for name, make in score_kinds(20):
        problems = [make(torch.Generator().manual_seed(seed)) for seed in range(seeds)]
        print_row(name, *(worst_error(method, problems) for method in methods))
    print("""
The largest absolute error of any marginal, from float32 scores; for the gradient of the marginals in a random
direction, relative to its largest entry (or to the least normal float32: at × 1000, gradients vanish). The truth is
treetext's computation for other devices, which shares no code with the one for the CPU: in float64 and in logarithms.
The tests compare both with mpmath.
""")


def score_kinds(n: int) -> Iterator[tuple[str, Callable[[torch.Generator], Scores]]]:
    def normal(generator: torch.Generator, scale: float = 1.0) -> Scores:
        draw = partial(torch.randn, generator=generator)
        return scale * draw(1, n, n), scale * draw(1, n)

    def pairs(generator: torch.Generator, attraction: float) -> Scores:
        arcs, roots = normal(generator)
        node = torch.arange(n)
        arcs[:, node, node ^ 1] += attraction
        return arcs, roots

    def relaxed(generator: torch.Generator, temperature: float) -> Scores:
        sample = NonProjectiveTrees(*normal(generator)).perturbed(1.0, temperature, generator)
        return sample.arcs, sample.roots

    for scale in (1, 10, 30, 100, 300, 1000):
        yield f"N(0, 1) × {scale}", partial(normal, scale=scale)
    for attraction in (10, 20, 40, 100, 1000):
        yield f"N(0, 1), pairs + {attraction}", partial(pairs, attraction=attraction)
    for temperature in (1, 0.1, 0.01):
        yield f"N(0, 1) + Gumbel noise, temperature {temperature}", partial(relaxed, temperature=temperature)
    spread = torch.linspace(-1000, 1000, n)[None]
    yield "N(0, 1), roots −1000 … 1000", lambda generator: (normal(generator)[0], spread)


def worst_error(method: Callable[[Tensor, Tensor], float], problems: list[Scores]) -> str:
    try:
        errors = [method(arcs, roots) for arcs, roots in problems]
    except (ArithmeticError, RuntimeError, ValueError) as error:
        return type(error).__name__.removeprefix("_")
    return "NaN" if np.isnan(errors).any() else f"{max(errors):.0e}"


def marginal_error(method: Callable[[Tensor, Tensor], Scores], arcs: Tensor, roots: Tensor) -> float:
    return distance(method(arcs, roots), truth(arcs, roots)[1:3])


def our_gradient_error(arcs: Tensor, roots: Tensor) -> float:
    generator = torch.Generator().manual_seed(1)
    direction = torch.randn(arcs.shape, generator=generator), torch.randn(roots.shape, generator=generator)
    scores = arcs.clone().requires_grad_(), roots.clone().requires_grad_()
    found = torch.autograd.grad(NonProjectiveTrees(*scores).marginals, scores, direction)
    exact = truth(arcs, roots)[3](*(d.double() for d in direction))  # the Jacobian is symmetric
    largest = max(e.abs().max().item() for e in exact)
    return distance(found, exact) / max(largest, torch.finfo(torch.float32).tiny)


def distance(found: Sequence[Tensor], exact: Sequence[Tensor]) -> float:
    errors = [(f.detach() - e).flatten() for f, e in zip(found, exact, strict=True)]
    return torch.cat(errors).abs().max().item()


def truth(arcs: Tensor, roots: Tensor) -> tuple[Tensor, Tensor, Tensor, Callable[[Tensor, Tensor], Scores]]:
    lengths = torch.tensor([roots.shape[-1]])
    return nonprojective_torch.marginals(arcs.double(), roots.double(), lengths, True)


def by_torch_struct(arcs: Tensor, roots: Tensor) -> Scores:
    p = NonProjectiveDependencyCRF(without_diagonal(arcs) + torch.diag_embed(roots)).marginals
    return without_diagonal(p), p.diagonal(dim1=-2, dim2=-1)


def by_supar(arcs: Tensor, roots: Tensor) -> Scores:
    p = MatrixTree(with_root_node(arcs, roots).requires_grad_(), multiroot=False).marginals
    return p[:, 1:, 1:].mT, p[:, 1:, 0]


def by_inversion(arcs: Tensor, roots: Tensor) -> Scores:
    """The formulas of Koo et al. (2007): the roots replace the first row of the Laplacian."""
    weights, root_weights = without_diagonal(arcs.double().exp()), roots.double().exp()
    laplacian = torch.diag_embed(weights.sum(1)) - weights
    laplacian[:, 0] = root_weights
    inverse = torch.linalg.inv(laplacian)
    into = weights * inverse.diagonal(dim1=-2, dim2=-1)[:, None]
    into[:, :, 0] = 0
    out_of = weights * inverse.mT
    out_of[:, 0] = 0
    return into - out_of, root_weights * inverse[:, :, 0]


def without_diagonal(matrix: Tensor) -> Tensor:
    return matrix.masked_fill(torch.eye(matrix.shape[-1], dtype=torch.bool), 0)


def with_root_node(arcs: Tensor, roots: Tensor) -> Tensor:
    """Scores [dependent, head], where the artificial root is 0."""
    batch, n = roots.shape
    scores = torch.full((batch, n + 1, n + 1), IMPOSSIBLE)
    scores[:, 1:, 1:] = arcs.mT
    scores.diagonal(dim1=-2, dim2=-1).fill_(IMPOSSIBLE)
    scores[:, 1:, 0] = roots
    return scores


def print_speed(quick: bool) -> None:
    title = "Non-projective marginals: ms forward and backward, single root"
    print_table_head(title, "batch × n", "treetext", "torch-struct", "ratio", "wanted")
    for row, wanted in SPEED_ROWS.items():
        ours, theirs, note = speeds(row, quick)
        shown = f"{theirs:.2f}{note}" if theirs else "hangs"
        ratio = f"{theirs / ours:.1f}" if theirs else ""
        print_row(row.replace("x", " × "), f"{ours:.2f}", shown, ratio, f"≥ {wanted}")
    print("\nThe median of runs in turns. Where torch-struct hangs, it does so inside `torch.inverse`.")


def speeds(row: str, quick: bool) -> tuple[float, float | None, str]:
    """Milliseconds of treetext and of torch-struct, and a remark on the latter."""
    options = ["--row", row, *["--quick"] * quick]
    both = run(*options)
    if both:
        return both[0], both[1], ""
    ours, theirs = run(*options, "--only", "treetext"), run(*options, "--only", "torch-struct", threads=1)
    return ours[0] if ours else float("nan"), theirs[0] if theirs else None, " (1 thread), hangs with 2"


def run(*options: str, threads: int = THREADS) -> list[float] | None:
    """What this file prints with these options, in a process of its own; None if that takes forever."""
    command = [sys.executable, __file__, *options, "--threads", str(threads)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=TIME_LIMIT, check=True)
    except subprocess.TimeoutExpired:
        return None
    return list(json.loads(done.stdout.splitlines()[-1]))  # MKL, too, prints


def medians(steps: list[Step], quick: bool, seconds: float = 5) -> list[float]:
    """The median milliseconds of each step, when they are taken in turns."""
    for step in steps:
        step()
    times: list[list[float]] = [[] for _ in steps]
    end = time.perf_counter() + (0.2 if quick else seconds)
    while time.perf_counter() < end or len(times[0]) < (2 if quick else 7):
        for step, taken in zip(steps, times, strict=True):
            start = time.perf_counter()
            step()
            taken.append(1000 * (time.perf_counter() - start))
    return [statistics.median(taken) for taken in times]


def our_step(kind: Callable[..., Any], batch: int, n: int, scale: float = 1.0) -> Step:
    """Forward and backward through the marginals."""
    arcs = (scale * torch.randn(batch, n, n)).requires_grad_()
    roots = (scale * torch.randn(batch, n)).requires_grad_()
    grad_arcs, grad_roots = torch.randn(batch, n, n), torch.randn(batch, n)

    def step() -> None:
        arcs.grad = roots.grad = None
        p = kind(arcs, roots).marginals
        torch.autograd.backward([p.arcs, p.roots], [grad_arcs, grad_roots])

    return step


def torch_struct_step(kind: Callable[..., Any], batch: int, n: int) -> Step:
    scores, grad = torch.randn(batch, n, n).requires_grad_(), torch.randn(batch, n, n)

    def step() -> None:
        scores.grad = None
        kind(scores, multiroot=False).marginals.backward(grad)

    return step


STEPS: dict[str, Callable[[int, int], Step]] = {
    "treetext": partial(our_step, NonProjectiveTrees),
    "torch-struct": partial(torch_struct_step, NonProjectiveDependencyCRF),
}


def print_projective(quick: bool) -> None:
    title = "Projective marginals: ms forward and backward, single root"
    print_table_head(title, "batch × n", "treetext", "torch-struct", "ratio", "wanted")
    for n in (20, 40):
        steps = [our_step(ProjectiveTrees, 32, n), torch_struct_step(DependencyCRF, 32, n)]
        ours, theirs = medians(steps, quick)
        print_row(f"32 × {n}", f"{ours:.2f}", f"{theirs:.2f}", f"{theirs / ours:.1f}", "≥ 2")


def print_peaked(quick: bool) -> None:
    print_table_head("Peaked scores: ms forward and backward at 288 × 20", "scores", "treetext")
    for scale in (1, 10, 30, 100, 1000):
        (ours,) = medians([our_step(NonProjectiveTrees, 288, 20, scale)], quick, seconds=2)
        print_row(f"N(0, 1) × {scale}", f"{ours:.2f}")


def print_decoding(quick: bool) -> None:
    peers = "supar", "ufal.chu-liu-edmonds", "networkx"
    print_table_head("Decoding: ms per tree", "n", "treetext", "wanted", *peers)
    for n, limit in DECODING_LIMITS.items():
        arcs, roots = torch.randn(256, n, n), torch.randn(256, n)
        (ours,) = medians([partial(max_spanning_tree, arcs, roots)], quick, seconds=2)
        theirs = peer_decoding_times(with_root_node(arcs[:16], roots[:16]), quick)
        print_row(n, f"{ours / len(arcs):.4f}", limit, *(f"{ms:.3f}" for ms in theirs))
    print("""
treetext and supar find the best tree with a single root, of 256 and of 16 problems at once.
ufal.chu-liu-edmonds and networkx allow several roots, and take one problem at a time.""")


def peer_decoding_times(scores: Tensor, quick: bool) -> list[float]:
    mask = torch.ones(scores.shape[:2], dtype=torch.bool)
    mask[:, 0] = False
    matrices = list(scores.double().numpy())
    graphs = [as_graph(matrix) for matrix in matrices[:2]]
    (supar,) = medians([lambda: mst(scores, mask)], quick, seconds=2)
    (ufal,) = medians([lambda: [chu_liu_edmonds(m) for m in matrices]], quick, seconds=2)
    (networkx,) = medians([lambda: [nx.maximum_spanning_arborescence(g) for g in graphs]], quick=True)  # slow
    return [supar / len(scores), ufal / len(matrices), networkx / len(graphs)]


def as_graph(matrix: np.ndarray) -> nx.DiGraph:
    graph = nx.DiGraph()
    arcs = np.ndenumerate(matrix)
    graph.add_weighted_edges_from((i, j, score) for (j, i), score in arcs if score > IMPOSSIBLE / 2)
    return graph


def print_memory(_: bool) -> None:
    title = "Memory of non-projective marginals: one problem, forward and backward"
    print_table_head(title, "n", *(f"{name}, {unit}" for name in STEPS for unit in ("MB", "bytes / n²")))
    for n in (100, 200, 400, 800):
        used = [run("--memory", str(n), "--only", name, threads=1) for name in STEPS]
        cells = [(f"{u[0] / 1e6:.1f}", f"{u[0] / n**2:.0f}") if u else ("hangs", "") for u in used]
        print_row(n, *cells[0], *cells[1])
    print("\nBy how much the resident memory of a fresh process grows at most, with 1 thread.")


def measure_memory(n: int, only: str) -> list[float]:
    for size in (50, 129) if n > 128 else (50,):  # beyond 128 nodes, treetext has another kernel to load
        STEPS[only](1, size)()
    step = STEPS[only](1, n)
    # Not ru_maxrss, which starts at the peak of the process that started this one.
    Path("/proc/self/clear_refs").write_text("5")  # the peak is now what is in use
    before = field("/proc/self/status", "VmRSS")
    step()
    peak = field("/proc/self/status", "VmHWM")
    return [1024.0 * (int(peak.removesuffix("kB")) - int(before.removesuffix("kB")))]


def field(path: str, name: str) -> str:
    """A field of what Linux tells about itself."""
    lines = Path(path).read_text().splitlines()
    return next(line.partition(":")[2].strip() for line in lines if line.startswith(name))


if __name__ == "__main__":
    main()
