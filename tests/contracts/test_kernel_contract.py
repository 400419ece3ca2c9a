"""Every kernel against the same products in dense float64."""

from __future__ import annotations

import importlib.util
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from graphfilter.data.datasets import make_karate
from graphfilter.data.graph import Graph
from graphfilter.filters import StackedFilter, apply_filters
from graphfilter.operators import Operator, kernels as choice, make_operator
from graphfilter.operators.kernels import make_kernel, native_kernel
from graphfilter.operators.kernels.native_kernel import NativeKernel, block_width, native_library
from graphfilter.operators.kernels.product_kernel import (
    FactoredMatrix,
    ProductKernel,
    Step,
    TorchKernel,
)
from graphfilter.operators.operator import NORMALISED
from graphfilter.operators.polynomial import Basis, apply_polynomial
from graphfilter.systems import Prepared, prepared

pytestmark = pytest.mark.gpu

WHERE = "cuda" if torch.cuda.is_available() else "cpu"
HAS_TRITON = importlib.util.find_spec("triton") is not None
MISSING = pytest.mark.skipif(not HAS_TRITON, reason="triton is not installed")
NOT_BUILT = pytest.mark.skipif(native_library() is None, reason="the CPU kernel was not built")
Maker = Callable[[FactoredMatrix, torch.dtype], ProductKernel]


def make_triton(matrix: FactoredMatrix, dtype: torch.dtype) -> ProductKernel:
    from graphfilter.operators.kernels.triton_kernel import TritonKernel

    return TritonKernel(matrix.to(WHERE), dtype)


CASES = [
    pytest.param(TorchKernel, torch.float64, 1e-12, id="torch-float64"),
    pytest.param(TorchKernel, torch.float32, 1e-5, id="torch-float32"),
    pytest.param(NativeKernel, torch.float32, 1e-5, id="native-float32", marks=NOT_BUILT),
    pytest.param(TorchKernel, torch.bfloat16, 2e-2, id="torch-bfloat16"),
    pytest.param(NativeKernel, torch.bfloat16, 2e-2, id="native-bfloat16", marks=NOT_BUILT),
    pytest.param(make_triton, torch.float32, 1e-5, id="triton-float32", marks=MISSING),
    pytest.param(make_triton, torch.bfloat16, 2e-2, id="triton-bfloat16", marks=MISSING),
]
kernels = pytest.mark.parametrize(("make", "dtype", "tolerance"), CASES)


# Small: without a GPU the Triton programs are interpreted, one per row, which takes its time.
def star_and_ring(n: int = 5) -> Graph:
    """A hub with a neighbour everywhere, a ring, and two isolated vertices."""
    hub = [[0, v] for v in range(1, n)]
    ring = [[v, v % (n - 1) + 1] for v in range(1, n)]
    return Graph.from_edges(hub + ring, n_vertices=n + 2)


def weighted() -> Graph:
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 4, (8, 2))
    return Graph.from_edges(edges, weights=rng.uniform(0.5, 2, 8), n_vertices=4)


GRAPHS = {"star_and_ring": star_and_ring, "weighted": weighted}


def matrix_of(kind: str, graph: Graph) -> FactoredMatrix:
    return make_operator(kind, graph).kernel.matrix


def columns(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def close(got: Tensor, expected: Tensor, tolerance: float) -> None:
    error = (got.cpu().double() - expected).abs().max() / expected.abs().max().clamp(min=1e-9)
    assert error <= tolerance


@kernels
@pytest.mark.parametrize("kind", NORMALISED)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("width", [1, 7, 192, 200])
def test_multiply(make: Maker, dtype, tolerance, kind: str, graph: str, width: int) -> None:
    matrix = matrix_of(kind, GRAPHS[graph]())
    kernel = make(matrix, dtype)
    n = matrix.shape[0]
    x, out = columns(n, width), columns(n, width, seed=1)
    expected = 1.5 * torch.from_numpy(matrix.to_scipy().toarray()) @ x - 0.5 * out
    got = out.to(kernel.matrix.device, dtype)
    kernel.multiply(x.to(got), out=got, scale=1.5, keep=-0.5)
    close(got, expected, tolerance)


@kernels
def test_what_is_not_kept_is_not_read(make: Maker, dtype, tolerance) -> None:
    matrix = matrix_of("laplacian", star_and_ring())
    kernel = make(matrix, dtype)
    x = columns(matrix.shape[0], 3).to(kernel.matrix.device, dtype)
    out = torch.full_like(x, float("nan"))
    assert kernel.multiply(x, out=out) is out
    assert out.isfinite().all()


@kernels
@pytest.mark.parametrize("groups", [1, 3])
def test_values_by_group_on_a_matrix_that_is_not_square(
    make: Maker, dtype, tolerance, groups: int
) -> None:
    matrix = sp.random_array((11, 6), density=0.4, rng=0).tocsr()
    kernel = make(FactoredMatrix.from_scipy(matrix), dtype)
    x, values = columns(6, groups * 5), columns(groups, matrix.nnz, seed=1)
    parts = [
        sp.csr_array((v.numpy(), matrix.indices, matrix.indptr), shape=matrix.shape) @ part.numpy()
        for v, part in zip(values, x.chunk(groups, 1), strict=True)
    ]
    expected = torch.from_numpy(np.concatenate(parts, axis=1))
    device = kernel.matrix.device
    got = torch.empty(11, groups * 5, device=device, dtype=dtype)
    kernel.multiply(x.to(got), out=got, values=values.to(got))
    close(got, expected, tolerance)


STEPS = {
    "powers": Basis.powers(),
    "chebyshev": Basis.chebyshev(-1.0, 1.0),
    "shifted": Basis.chebyshev(0.0, 2.0),
}


@kernels
@pytest.mark.parametrize(
    ("kind", "graph", "groups", "width", "basis", "degree"),
    [
        *((kind, graph, 3, 5, "shifted", 3) for kind in NORMALISED for graph in GRAPHS),
        *(("augmented_adjacency", "weighted", 3, 64, basis, 3) for basis in STEPS),
        ("laplacian", "weighted", 1, 80, "chebyshev", 3),
        ("laplacian", "weighted", 2, 200, "powers", 2),
        ("adjacency", "weighted", 40, 8, "chebyshev", 2),
        ("adjacency", "weighted", 3, 5, "powers", 0),
    ],
)
def test_recurrence(
    make: Maker, dtype, tolerance, kind: str, graph: str, groups: int, width: int, basis: str,
    degree: int,
) -> None:  # fmt: skip
    """The sum of all terms and the inner product of each, against dense float64."""
    matrix = matrix_of(kind, GRAPHS[graph]())
    kernel, dense = make(matrix, dtype), torch.from_numpy(matrix.to_scipy().toarray())
    n, device = len(dense), kernel.matrix.device
    x, other = (columns(n, groups, width, seed=s).to(dtype).double() for s in (0, 1))
    weights = columns(degree + 1, groups, seed=2)
    steps = STEPS[basis].steps(degree)
    terms = [x]
    for scale, skip, keep in steps:
        before = terms[-2] if len(terms) > 1 else torch.zeros_like(x)
        product = torch.einsum("ij,jgc->igc", dense, terms[-1])
        terms.append(scale * product + skip * terms[-1] + keep * before)
    expected = torch.stack([w[:, None] * t for w, t in zip(weights, terms, strict=True)]).sum(0)
    products = torch.stack([(term * other).sum((0, 2)) for term in terms])
    exact = torch.promote_types(dtype, torch.float32)
    given = x.to(device, dtype), weights.to(device, exact), steps
    total, dots = kernel.apply_recurrence(*given, other.to(device, dtype))
    close(total, expected.flatten(1), 3 * tolerance)
    assert dots is not None
    close(dots, products, 20 * tolerance)
    alone, nothing = kernel.apply_recurrence(*given)
    assert nothing is None
    torch.testing.assert_close(alone, total)


@NOT_BUILT
@pytest.mark.parametrize("basis", STEPS)
def test_a_compiled_walk_loses_no_more_digits_than_torch(basis: str) -> None:
    """Of 32 terms in float32, against float64; summed from its last term Chebyshev's would."""
    matrix = matrix_of("laplacian" if basis == "shifted" else "adjacency", make_karate())
    exact = TorchKernel(matrix, torch.float64)
    kernels = [make(matrix, torch.float32) for make in (NativeKernel, TorchKernel)]
    steps = STEPS[basis].steps(32)
    errors = []
    for seed in range(20):
        x, weights = (columns(*size, seed=seed).float() for size in ((34, 1, 16), (33, 1)))
        expected, _ = exact.apply_recurrence(x.double(), weights.double(), steps)
        found = [kernel.apply_recurrence(x, weights, steps)[0] for kernel in kernels]
        errors.append([float((got - expected).abs().max()) for got in found])
    own, peer = np.median(errors, axis=0)
    assert own <= 1.3 * peer


@NOT_BUILT
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_share_the_rows_of_the_compiled_kernel(threads: int, monkeypatch) -> None:
    """However the rows are divided, and with a hub that is most of the work."""
    monkeypatch.setattr(native_kernel, "threads_worth", lambda multiplications: threads)
    matrix = matrix_of("laplacian", star_and_ring(200))
    n = matrix.shape[0]
    x, weights = columns(n, 2, 8).float(), columns(5, 2, seed=1).float()
    steps = Basis.chebyshev(0.0, 2.0).steps(4)
    kernel, reference = NativeKernel(matrix, torch.float32), TorchKernel(matrix, torch.float32)
    for got, expected in zip(
        kernel.apply_recurrence(x, weights, steps, x),
        reference.apply_recurrence(x, weights, steps, x),
        strict=True,
    ):
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)
    flat = x.view(n, 16)
    got = kernel.multiply(flat, out=torch.empty_like(flat))
    torch.testing.assert_close(got, reference.multiply(flat, out=torch.empty_like(flat)))


@NOT_BUILT
@pytest.mark.parametrize("n", [3_000, 30_000])
def test_the_compiled_kernel_on_arrays_near_and_far(n: int) -> None:
    """Rows of large arrays are fetched before they are added, up to the end of the matrix."""
    matrix = matrix_of("adjacency", star_and_ring(n))
    kernel, reference = (make(matrix, torch.float32) for make in (NativeKernel, TorchKernel))
    x, weights = columns(n + 2, 1, 64).float(), columns(3, 1, seed=1).float()
    steps = Basis.powers().steps(2)
    got, expected = (k.apply_recurrence(x, weights, steps)[0] for k in (kernel, reference))
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)
    flat = x.view(n + 2, 64)
    got = kernel.multiply(flat, out=torch.empty_like(flat))
    expected = reference.multiply(flat, out=torch.empty_like(flat))
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)


@NOT_BUILT
@pytest.mark.parametrize("basis", STEPS)
@pytest.mark.parametrize(("groups", "width"), [(1, 64), (3, 33), (5, 7), (2, 40)])
def test_bits_of_a_walk_depend_neither_on_threads_nor_on_how_many_columns_walk_together(
    basis: str, groups: int, width: int, monkeypatch
) -> None:
    """Forward, and backward with its inner products; threads share columns, or rows."""
    monkeypatch.setattr(native_kernel, "CHUNK", 100)
    matrix = matrix_of("laplacian", star_and_ring(200))
    x, other = (columns(matrix.shape[0], groups, width, seed=s).float() for s in (0, 1))
    weights = columns(6, groups, seed=2).float()
    steps = STEPS[basis].steps(5)
    kernel, results = NativeKernel(matrix, torch.float32), []
    assert kernel.chunks[0] > 3
    for threads, last in ((1, 2**25), (2, 2**25), (3, 2**25), (3, 0)):
        monkeypatch.setattr(native_kernel, "threads_worth", lambda multiplications, n=threads: n)
        monkeypatch.setattr(native_kernel, "LAST_CACHE", last)
        for block in (groups * width + 15, 48, 16):
            monkeypatch.setattr(
                native_kernel, "block_width", lambda *sizes, at=block: at // 16 * 16
            )
            forward, nothing = kernel.apply_recurrence(x, weights, steps)
            assert nothing is None
            results.append((forward, *kernel.apply_recurrence(x, weights, steps, other)))
    for blocked in results[1:]:
        for got, at_once in zip(blocked, results[0], strict=True):
            assert torch.equal(got, at_once)


@NOT_BUILT
def test_threads_walk_with_columns_of_their_own_where_a_cache_holds_them(monkeypatch) -> None:
    monkeypatch.setattr(native_kernel, "threads_worth", lambda multiplications: 2)
    kernel = NativeKernel(matrix_of("adjacency", star_and_ring(200)), torch.float32)
    for last, division in ((2**25, (32, 2, 2)), (2**10, (64, 2, 1))):
        monkeypatch.setattr(native_kernel, "LAST_CACHE", last)
        assert kernel._division(64, 16, 4) == division
        assert kernel._division(16, 16, 4) == (16, 2, 1), "one block is not divided"
        assert kernel._division(64, 1, 4) == (64, 2, 1), "few terms"


@NOT_BUILT
def test_compiled_walk_is_not_cut_where_rows_are_gathered_from_nearby() -> None:
    ring = Graph.from_edges([[v, (v + 1) % 5000] for v in range(5000)])
    anywhere = Graph.from_edges(np.random.default_rng(0).integers(0, 5000, (5000, 2)))
    for graph, near in ((ring, True), (anywhere, False)):
        kernel = NativeKernel(matrix_of("adjacency", graph), torch.float32)
        assert kernel._gathers_nearby is near


def test_columns_walk_in_blocks_where_a_cache_holds_those_and_not_all(monkeypatch) -> None:
    assert block_width(2_000, 40_000, 64, 16) == 64, "all fit a core's own cache"
    assert block_width(20_000, 400_000, 64, 16) == 32
    assert block_width(20_000, 110_000, 64, 16) == 32
    assert block_width(60_000, 330_000, 64, 16) == 32
    assert block_width(100_000, 2_100_000, 64, 16) == 16
    assert block_width(100_000, 2_100_000, 16, 16) == 16
    assert block_width(100_000, 200_000, 64, 16) == 64, "a row is gathered twice"
    assert block_width(100_000, 2_100_000, 64, 1) == 64, "few terms"
    assert block_width(10_000_000, 210_000_000, 64, 16) == 64, "no block fits"


@NOT_BUILT
def test_the_compiled_kernel_runs_on_a_cpu_and_torch_where_it_was_not_built(monkeypatch) -> None:
    matrix = matrix_of("adjacency", make_karate())
    assert type(make_kernel(matrix, torch.float32)) is NativeKernel
    assert type(make_kernel(matrix, torch.float64)) is TorchKernel
    monkeypatch.setattr(native_kernel, "LIBRARY", native_kernel.LIBRARY.with_name("absent.so"))
    native_library.cache_clear()
    try:
        assert type(make_kernel(matrix, torch.float32)) is TorchKernel
    finally:
        native_library.cache_clear()


@MISSING
@pytest.mark.parametrize("kind", NORMALISED)
def test_long_rows_are_cut_into_pieces(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit of four entries the hub's 19 make five pieces, and nothing changes."""
    from graphfilter.operators.kernels import triton_kernel as module

    matrix = matrix_of(kind, star_and_ring(20))
    x = columns(matrix.shape[0], 2, 20).to(WHERE, torch.float32)
    weights = columns(3, 2, seed=1).to(WHERE, torch.float32)
    steps = [Step(1.0, 0.0, 0.0), Step(2.0, 0.5, -1.0)]
    results = []
    for longest in (4, 512):
        monkeypatch.setattr(module, "LONGEST", longest)
        kernel = make_triton(matrix, torch.float32)
        results.append(kernel.apply_recurrence(x, weights, steps, x))
    for cut, whole in zip(*results, strict=True):
        torch.testing.assert_close(cut, whole, rtol=1e-5, atol=1e-5)


def test_threads_that_ask_whether_triton_works_run_one_kernel(monkeypatch) -> None:
    asked: list[torch.device] = []

    @cache
    def runs_a_kernel(device: torch.device) -> bool:
        asked.append(device)
        time.sleep(0.1)
        return True

    monkeypatch.setattr(choice, "_runs_a_kernel", runs_a_kernel)
    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(choice.triton_works, [torch.device("cuda")] * 3))
    assert len(asked) == 1
    assert not choice.triton_works(torch.device("cpu"))


@MISSING
def test_triton_is_hashed_while_its_driver_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphfilter.operators.kernels import triton_kernel as module

    hashing, compiled = threading.Event(), threading.Event()
    done = []

    def key() -> None:
        hashing.set()
        assert compiled.wait(10)
        done.append(threading.current_thread() is not threading.main_thread())

    def target() -> None:
        assert hashing.wait(10)
        compiled.set()

    active = SimpleNamespace(get_current_target=target)
    monkeypatch.setattr(module, "cache", SimpleNamespace(triton_key=key))
    monkeypatch.setattr(module, "driver", SimpleNamespace(active=active))
    module.make_driver()
    assert done == [True]


def test_preparing_a_graph_for_a_gpu_begins_its_first_kernel(monkeypatch) -> None:
    asked: list[torch.device] = []
    began = threading.Event()

    def works(device: torch.device) -> bool:
        asked.append(device)
        began.set()
        return True

    monkeypatch.setattr(prepared, "triton_works", works)
    graph = Graph.from_edges([[0, 1]], features=np.eye(2))
    Prepared.of(graph)
    Prepared.of(graph, device="cuda")
    assert began.wait(10)
    assert asked == [torch.device("cuda")]


class Launches:
    """Takes the place of the Triton programs, and notes for what each would be compiled."""

    def __init__(self) -> None:
        self.seen: set[tuple[object, ...]] = set()

    def __getattr__(self, name: str) -> dict[tuple[int, ...], Callable[..., None]]:
        def launch(**given: object) -> None:
            told = ((key, self._compiled_for(key, given[key])) for key in sorted(given))
            self.seen.add((name, *told))

        return defaultdict(lambda: launch)

    @staticmethod
    def _compiled_for(name: str, value: object) -> object:
        """Return what Triton tells apart: all of a constant, of a number and a pointer little."""
        from graphfilter.operators.kernels import triton_programs

        if isinstance(value, Tensor):
            any_place = name in triton_programs._ANY_ALIGNMENT
            return value.dtype, any_place or value.data_ptr() % 16 == 0
        if name.isupper() or name == "num_warps":
            return value
        if isinstance(value, int) and name not in triton_programs._ANY_NUMBER:
            return value == 1, value % 16 == 0
        return type(value)


@MISSING
def test_kernels_are_compiled_once_for_graphs_and_runs_of_several_sizes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the number of vertices, of runs and of long rows: forward, backward, long rows."""
    from graphfilter.operators.kernels import triton_kernel as module

    launches = Launches()
    monkeypatch.setattr(module, "_programs", launches)
    monkeypatch.setattr(module, "LONGEST", 16)
    steps = [Step(1.0, 0.0, 0.0)] * 3
    for n, runs in [(14, 3), (15, 4), (40, 3)]:
        matrix = matrix_of("adjacency", star_and_ring(n))
        x = torch.zeros(matrix.shape[0], runs, 64, device=WHERE)
        for against in (None, x):
            make_triton(matrix, torch.float32).apply_recurrence(
                x, torch.zeros(4, runs, device=WHERE), steps, against
            )
    names = sorted(str(name) for name, *_ in launches.seen)
    assert names == ["finish_long_rows"] * 2 + ["rows_and_pieces"] * 2


@MISSING
def test_kernels_of_one_program_share_what_launches_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A C compiler makes that for each list of types, and None is a type of its own."""
    from graphfilter.operators.kernels import triton_kernel as module

    launches = Launches()
    monkeypatch.setattr(module, "_programs", launches)
    monkeypatch.setattr(module, "LONGEST", 16)
    for kind in NORMALISED:
        matrix = matrix_of(kind, star_and_ring(40))
        x = torch.zeros(matrix.shape[0], 2, 8, device=WHERE)
        kernel = make_triton(matrix, torch.float32)
        kernel.multiply(x.flatten(1), out=torch.zeros_like(x.flatten(1)))
        for against in (None, x):
            weights, steps = torch.zeros(3, 2, device=WHERE), [Step(1.0, 0.5, -1.0)] * 2
            kernel.apply_recurrence(x, weights, steps, against)
    assert launches.seen
    assert not any(kept is type(None) for _, *told in launches.seen for _, kept in told)  # pyright: ignore


@MISSING
def test_pieces_are_added_by_one_kernel_whatever_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many warps make a row depends on how many rows there are; few are long."""
    from graphfilter.operators.kernels import triton_kernel as module

    launches = Launches()
    monkeypatch.setattr(module, "_programs", launches)
    monkeypatch.setattr(module, "LONGEST", 16)
    for n in (40, 5000):
        x = torch.zeros(n + 2, 64, device=WHERE)
        kernel = make_triton(matrix_of("adjacency", star_and_ring(n)), torch.float32)
        kernel.multiply(x, out=torch.zeros_like(x))
    names = sorted(str(name) for name, *_ in launches.seen)
    assert names == ["finish_long_rows"] + ["rows_and_pieces"] * 2


@MISSING
@pytest.mark.parametrize("kind", NORMALISED)
def test_filters_side_by_side_through_the_fused_kernel(kind: str) -> None:
    """Three different filters, each on its own columns: output and gradients."""
    graph = star_and_ring()
    reference = make_operator(kind, graph, dtype=torch.float64)
    fused = make_operator(kind, graph, device=WHERE)
    fused.kernel = make_triton(fused.kernel.matrix, torch.float32)
    results = []
    for operator in (reference, fused):
        filters = [StackedFilter(5, "uniform", seed).to(operator.device) for seed in range(3)]
        x = columns(graph.n_vertices, 3 * 4).to(operator.device, operator.dtype).requires_grad_()
        y = apply_filters(filters, operator, x)
        scalars = [p for f in filters for p in f.parameters()]
        grads = torch.autograd.grad(y.square().sum(), [x, *scalars])
        results.append([y.detach(), *grads])
    for got, expected in zip(results[1], results[0], strict=True):
        close(got, expected.double(), 1e-4)


@MISSING
def test_columns_in_any_layout_through_the_fused_kernel() -> None:
    """Transposed columns and a transposed gradient give what contiguous ones do."""
    operator = make_operator("adjacency", star_and_ring(), device=WHERE)
    operator.kernel = make_triton(operator.kernel.matrix, torch.float32)
    x = columns(6, operator.n).to(WHERE, torch.float32).T
    torch.testing.assert_close(operator @ x, operator @ x.contiguous())
    weights = columns(4, seed=1).to(WHERE, torch.float32)
    results = []
    for each in (x, x.contiguous()):
        leaf = each.detach().requires_grad_()
        scalars = weights.clone().requires_grad_()
        y = apply_polynomial(operator, Basis.powers(), scalars, leaf)
        results.append(torch.autograd.grad(y, (leaf, scalars), x))
    for strided, plain in zip(*results, strict=True):
        torch.testing.assert_close(strided, plain)


@pytest.mark.parametrize("kind", NORMALISED)
def test_an_operator_of_tensors_is_that_of_the_graph(kind: str) -> None:
    graph = star_and_ring()
    made = Operator.from_csr(
        torch.from_numpy(graph.indptr.astype(np.int64)),
        torch.from_numpy(graph.indices.astype(np.int32)),
        kind=kind, dtype=torch.float64,
    )  # fmt: skip
    expected = make_operator(kind, graph, dtype=torch.float64)
    x = columns(graph.n_vertices, 3)
    torch.testing.assert_close(made @ x, expected @ x)
    assert (made.interval, made.kind, made.n) == (expected.interval, kind, graph.n_vertices)


@pytest.mark.parametrize("width", [1, 3])
def test_indices_of_64_bits_multiply_alike(width: int) -> None:
    """As those of a graph have with more than 2^31 entries, which no test has room for."""
    graph = star_and_ring()
    made = [
        Operator.from_csr(
            torch.from_numpy(graph.indptr.astype(np.int64)),
            torch.from_numpy(graph.indices.astype(index)),
        )
        for index in (np.int32, np.int64)
    ]
    x = columns(graph.n_vertices, width).float()
    torch.testing.assert_close(made[1] @ x, made[0] @ x)
    weights = torch.tensor([0.5, 0.2, 0.3])
    torch.testing.assert_close(
        *(apply_polynomial(operator, Basis.powers(), weights, x) for operator in reversed(made))
    )
