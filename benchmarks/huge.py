"""Full-batch training steps on a graph of the size of ogbn-papers100M, on one GPU.

    python benchmarks/huge.py --device cuda    111 million vertices, 3.2 billion entries
    python benchmarks/huge.py --small          20,000 vertices, on the CPU
    python benchmarks/huge.py --check          gradients against plain autograd, in float64

A step is exact: no sampling, no stale values. It trains a FilterNetwork without dropout (K = 16, 64
features, 64 hidden columns, 172 classes, 1 % of the vertices labelled): encoder, filter, head,
cross entropy, backward, Adam. Columns are stored in bfloat16 on a GPU and summed in float32; the
weights are float32. The filter runs through graphfilter.operators.polynomial in memory that does
not depend on K; encoder and head run in chunks of rows with their gradients written out, so that
beside the features nothing of the size of the graph is held but what is named in ``planned_bytes``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from graphfilter.filters import StackedFilter
from graphfilter.models import FilterNetwork
from graphfilter.operators import Operator
from graphfilter.training import TrainConfig
from graphfilter.util.errors import ConfigError, GraphFilterError
from graphfilter.util.pictures import COLOURS, GREY
from graphs import RandomGraph, make_graph
from harness import (
    Record,
    Timing,
    main,
    markdown,
    option_parser,
    seconds_of,
    show_seconds,
    stage,
    three_digits,
)
from pictures import make_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = {
    "cuda": (111_059_956, 3_228_124_712),
    "cpu": (200_000, 6_000_000),
    "small": (20_000, 600_000),
}
N_FEATURES, HIDDEN, N_CLASSES, N_LAYERS = 64, 64, 172, 16
LABELLED = 0.01
CHUNK_ROWS = 2**20
GOAL_SECONDS, GOAL_BYTES = 8.0, 110e9
GB = 1e9


class Problem:
    """A graph's operator, features on all vertices and classes of a few."""

    def __init__(self, graph: RandomGraph, dtype: torch.dtype, seed: int = 0) -> None:
        device = graph.columns.device
        generator = torch.Generator(device).manual_seed(seed)
        self.operator: Operator = graph.operator(dtype)
        self.x = torch.empty(graph.n, N_FEATURES, dtype=dtype, device=device)
        for part in row_chunks(graph.n):
            self.x[part].normal_(generator=generator)
        n_labelled = max(1, round(LABELLED * graph.n))
        drawn = torch.randint(graph.n, (n_labelled,), generator=generator, device=device)
        self.rows = drawn.unique()
        # Something to learn: the class is the largest of random mixtures of the features.
        mixture = torch.randn(N_FEATURES, N_CLASSES, generator=generator, device=device)
        self.labels = torch.cat(
            [(self.x[part].float() @ mixture).argmax(1) for part in self.rows.split(CHUNK_ROWS)]
        )


class ExactStep:
    """One full-batch training step of a FilterNetwork without dropout, in chunks of rows.

    Holds the hidden layer H_0; the filter's output and then the gradient there share one more
    buffer of that size.
    """

    def __init__(self, network: FilterNetwork, problem: Problem) -> None:
        self.network = network
        self.problem = problem
        self.hidden = torch.empty(
            len(problem.x), HIDDEN, dtype=problem.x.dtype, device=problem.x.device
        )
        config = TrainConfig()
        assert network.encoder is not None
        layers = [*network.encoder.parameters(), *network.head.parameters()]
        groups = [
            {"params": network.filter_parameters(), "lr": config.filter_learning_rate},
            {"params": layers, "lr": config.learning_rate},
        ]
        self.optimizer = torch.optim.Adam(groups, weight_decay=config.weight_decay)

    def __call__(self) -> Tensor:
        """Take a step and return the loss before it."""
        loss = self.gradients()
        self.optimizer.step()
        return loss

    def gradients(self) -> Tensor:
        """Set the gradient of every parameter and return the loss."""
        self._encode()
        hidden = self.hidden.detach().requires_grad_()
        scalars = self.network.filter_parameters()
        with torch.enable_grad():
            y = self.network.filter(self.problem.operator, hidden)
        loss = self._head(y.detach())
        # y now holds the gradient at itself: the filter's backward pass needs its input only.
        grad_hidden, *grads = torch.autograd.grad(y, [hidden, *scalars], y.detach())
        for scalar, grad in zip(scalars, grads, strict=True):
            scalar.grad = grad
        self._encoder_gradients(grad_hidden)
        return loss

    @torch.no_grad()
    def _encode(self) -> None:
        """Write H_0 = relu(X W + b)."""
        x, encoder = self.problem.x, self.network.encoder
        assert encoder is not None
        weight, bias = encoder.weight.to(x.dtype), encoder.bias.to(x.dtype)
        for part in row_chunks(len(x)):
            torch.addmm(bias, x[part], weight, out=self.hidden[part]).relu_()

    @torch.no_grad()
    def _head(self, y: Tensor) -> Tensor:
        """Return the loss, set the head's gradients, and overwrite ``y`` with the one at y."""
        weight, bias = self.network.head.weight, self.network.head.bias
        rows, labels = self.problem.rows, self.problem.labels
        weight.grad, bias.grad = torch.zeros_like(weight), torch.zeros_like(bias)
        loss = torch.zeros((), dtype=weight.dtype, device=y.device)
        at_rows = y.new_empty(len(rows), HIDDEN)
        for part in row_chunks(len(rows)):
            h = y[rows[part]].to(weight.dtype)
            log_p = torch.addmm(bias, h, weight).log_softmax(1)
            truth = labels[part, None]
            loss -= log_p.gather(1, truth).sum()
            grad = log_p.exp_().scatter_add_(1, truth, -log_p.new_ones(truth.shape))
            weight.grad.addmm_(h.T, grad)
            bias.grad += grad.sum(0)
            at_rows[part] = (grad @ weight.T).div_(len(rows)).to(y.dtype)
        weight.grad /= len(rows)
        bias.grad /= len(rows)
        y.zero_().index_copy_(0, rows, at_rows)
        return loss / len(rows)

    @torch.no_grad()
    def _encoder_gradients(self, grad_hidden: Tensor) -> None:
        encoder = self.network.encoder
        assert encoder is not None
        weight, bias = encoder.weight, encoder.bias
        weight.grad, bias.grad = torch.zeros_like(weight), torch.zeros_like(bias)
        for part in row_chunks(len(grad_hidden)):
            grad = grad_hidden[part].to(weight.dtype).mul_(self.hidden[part] > 0)
            weight.grad.addmm_(self.problem.x[part].to(weight.dtype).T, grad)
            bias.grad += grad.sum(0)


def row_chunks(n: int) -> Iterator[slice]:
    """Cut n rows into slices."""
    for start in range(0, n, CHUNK_ROWS):
        yield slice(start, min(start + CHUNK_ROWS, n))


def make_network(seed: int = 0) -> FilterNetwork:
    """Make the network that is trained."""
    generator = torch.Generator().manual_seed(seed)
    return FilterNetwork(
        N_FEATURES,
        N_CLASSES,
        StackedFilter(N_LAYERS),
        hidden_size=HIDDEN,
        dropout=0.0,
        generator=generator,
    )


def planned_bytes(n: int, n_entries: int, dtype: torch.dtype) -> dict[str, int]:
    """Return what a step should hold at its peak, in the filter's backward pass."""
    buffer = n * HIDDEN * dtype.itemsize
    return {
        "graph": 8 * (n + 1) + 4 * n_entries,
        "degrees and scales": 40 * n,
        "features": n * N_FEATURES * dtype.itemsize,
        "hidden layer": buffer,
        "output, then its gradient": buffer,
        "the walk's three buffers": 3 * buffer,
    }


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Take a few steps and measure their time and the peak of memory."""
    n, n_entries = SIZES["small" if options.small else device.type]
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    plan = planned_bytes(n, n_entries, dtype)
    print(f"planned peak: {three_digits(sum(plan.values()) / GB)} GB", flush=True)
    with stage(f"making {n:,} vertices, {n_entries:,} entries"):
        graph = make_graph(n, n_entries, "power-law", device=device)
    with stage("features and labels"):
        problem = Problem(graph, dtype)
    step = ExactStep(make_network().to(device), problem)
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
    losses: list[Tensor] = []
    seconds = []
    for i in range(4):
        with stage(f"step {i + 1} of 4"):
            seconds.append(seconds_of(lambda: losses.append(step()), device))
    peak = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None
    return {
        "n_vertices": n,
        "n_entries": n_entries,
        "largest_degree": int(graph.offsets.diff().max()),
        "n_labelled": len(problem.rows),
        "storage": str(dtype).removeprefix("torch."),
        "planned_bytes": plan,
        "peak_bytes": peak,
        "step": Timing.of(seconds[1:]).to_json(),
        "losses": [loss.item() for loss in losses],
    }


def check(device: torch.device) -> dict[str, float]:
    """Return the largest relative difference of every gradient from plain autograd, in float64.

    The reference multiplies by the dense matrix, layer by layer.
    """
    graph = make_graph(300, 3_000, "power-law", device=device)
    problem = Problem(graph, torch.float64)
    network = make_network().double().to(device)
    ExactStep(network, problem).gradients()
    ours = {name: p.grad for name, p in network.named_parameters()}
    network.zero_grad()
    dense = torch.from_numpy(problem.operator.matrix.toarray()).to(device)
    encoder, stacked, head = network.encoder, network.filter, network.head
    assert encoder is not None
    assert isinstance(stacked, StackedFilter)
    start = h = (problem.x @ encoder.weight + encoder.bias).relu()
    for alpha, beta in zip(stacked.alpha, stacked.beta, strict=True):
        h = alpha * (dense @ h) + beta * start
    logits = h @ head.weight + head.bias
    torch.nn.functional.cross_entropy(logits[problem.rows], problem.labels).backward()
    differences = {}
    for name, parameter in network.named_parameters():
        mine, wanted = ours[name], parameter.grad
        assert mine is not None
        assert wanted is not None
        differences[name] = ((mine - wanted).abs().max() / wanted.abs().max()).item()
    return differences


def run_or_check(options: argparse.Namespace, device: torch.device) -> Record:
    """Check the gradients, and measure unless only the check was asked for."""
    differences = check(device)
    if max(differences.values()) > 1e-9:
        raise GraphFilterError(
            f"the gradients must equal autograd's; their relative differences are {differences}. "
            "This is a bug: please report it."
        )
    if options.check and options.out:
        raise ConfigError("--check measures nothing; leave out --out.")
    measured: Record = {} if options.check else run(options, device)
    return {"gradient_differences": differences, **measured}


def table(record: Record) -> str:
    """Show time, memory and losses."""
    worst = max(record["gradient_differences"].values())
    checked = f"Gradients at small size, against autograd in float64: within {worst:.0e}."
    if "step" not in record:
        return checked
    planned = sum(record["planned_bytes"].values()) / GB
    peak = record["peak_bytes"]
    rows = [
        ["a step", f"**{show_seconds(record['step'])}**", f"≤ {GOAL_SECONDS:g} s"],
        ["peak memory, planned", f"{three_digits(planned)} GB", ""],
    ]
    if peak is not None:
        rows.append(["measured", f"**{peak / GB:,.1f} GB**", f"≤ {GOAL_BYTES / GB:g} GB"])
    losses = ", ".join(f"{loss:.3f}" for loss in record["losses"])
    rows.append(["loss, step by step", losses, ""])
    about = (
        f"{record['n_vertices']:,} vertices, {record['n_entries']:,} entries, the largest degree "
        f"{record['largest_degree']:,}, {record['n_labelled']:,} labelled; {HIDDEN} columns stored "
        f"in {record['storage']}, K = {N_LAYERS}."
    )
    return f"{about}\n\n{markdown(['', 'measured', 'goal'], rows)}\n\n{checked}"


def draw(record: Record) -> Figure:
    """Draw what fills the memory, part by part."""
    figure, (axes,) = make_figure(9, 2.6)
    start = 0.0
    for i, (name, size) in enumerate(record["planned_bytes"].items()):
        axes.barh(0, size / GB, left=start, color=COLOURS[i], edgecolor="white", label=name)
        start += size / GB
    if record["peak_bytes"] is not None:
        axes.axvline(record["peak_bytes"] / GB, color="black", label="measured peak")
        axes.axvline(GOAL_BYTES / GB, color=GREY, linestyle="dashed", label="goal")
    axes.set_yticks([])
    axes.set_xlabel("GB")
    axes.set_title("What a full-batch step holds at its peak")
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


if __name__ == "__main__":
    parser = option_parser(__doc__)
    parser.add_argument("--check", action="store_true", help="only check the gradients")
    main("huge", parser, run_or_check, table)
