r"""Random symmetric graphs of any size, made on any device without sorting.

A configuration model. Row v of the adjacency owns :math:`d_v` of the M entries, in CSR order; an
entry p is paired with the entry :math:`\pi(p)`, and its column is the row that owns
:math:`\pi(p)`. With :math:`\pi = \varphi^{-1} \circ (\cdot \oplus 1) \circ \varphi` for a
pseudo-random bijection :math:`\varphi` of the entries, :math:`\pi` is its own inverse, so the
matrix is symmetric without one comparison: 3.2 billion entries take seconds on a GPU.

Repeated edges and self loops occur, as in every configuration model; each counts. Neighbours are
anywhere in memory and in no order within a row, which is the worst case for a product. A graph
with communities has nine of ten neighbours near by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from graphfilter.operators import Operator
from graphfilter.util.errors import ConfigError, check_count, check_name

Degrees = Literal["uniform", "power-law", "communities"]

EXPONENT = 2.2
CHUNK = 2**25
ROUNDS = 4
# Vertices of a community: numbered one after another.
IN_A_COMMUNITY = 500


@dataclass(frozen=True, eq=False)
class RandomGraph:
    """A symmetric adjacency with M entries of 1 (repeated ones add up), in CSR form.

    Shapes
    ------
    offsets : int64 (n + 1,);  columns : int32 (M,)
    """

    offsets: Tensor
    columns: Tensor

    @property
    def n(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_entries(self) -> int:
        return len(self.columns)

    @property
    def n_bytes(self) -> int:
        return self.offsets.nbytes + self.columns.nbytes

    def operator(self, dtype: torch.dtype = torch.float32) -> Operator:
        """Return its augmented normalised adjacency, on the device the graph is on."""
        return Operator.from_csr(
            self.offsets, self.columns, device=self.columns.device, dtype=dtype, check=False
        )


def make_graph(
    n: int,
    n_entries: int,
    degrees: Degrees = "uniform",
    *,
    seed: int = 0,
    device: torch.device | str = "cpu",
) -> RandomGraph:
    """Make a graph of n vertices and ``n_entries`` entries, each edge counting as two.

    Same seed, same device, same graph.
    """
    # Columns are int32.
    check_count("n", n, most=2**31 - 1)
    if check_count("n_entries", n_entries, most=2**63) % 2:
        raise ConfigError(f"n_entries must be even, two an edge; got {n_entries}.")
    check_name("degrees", degrees, get_args(Degrees))
    make = power_law_degrees if degrees == "power-law" else uniform_degrees
    counts = make(n, n_entries, seed, torch.device(device))
    offsets = torch.zeros(n + 1, dtype=torch.int64, device=device)
    torch.cumsum(counts, 0, out=offsets[1:])
    if degrees == "communities":
        return RandomGraph(offsets, _pair_up(offsets, counts, Communities(n, n_entries, seed)))
    return RandomGraph(offsets, _pair_up(offsets, counts, Pairs(n_entries, seed)))


def uniform_degrees(n: int, total: int, seed: int, device: torch.device) -> Tensor:
    """Return n equal degrees that add up to ``total``, to one."""
    degrees = torch.full((n,), total // n, dtype=torch.int64, device=device)
    degrees[: total % n] += 1
    return degrees


def power_law_degrees(n: int, total: int, seed: int, device: torch.device) -> Tensor:
    """Return degrees with the tail d^-2.2 of many real graphs that add up to ``total``.

    None is above a million or n / 100, whichever is less, unless the average asks for it.
    """
    generator = torch.Generator(device).manual_seed(seed)
    # Never zero, so that no weight is infinite.
    uniform = 1 - torch.rand(n, generator=generator, device=device, dtype=torch.float64)
    weights = uniform.pow_(-1 / (EXPONENT - 1))
    cap = float(max(min(1e6, n / 100), 2 * total / n))
    low, high = 0.0, cap
    for _ in range(60):
        scale = (low + high) / 2
        small = weights.mul(scale).clamp_(max=cap).sum().item() < total
        low, high = (scale, high) if small else (low, scale)
    # The sum of the capped weights is just below the total, that of the floors up to n below.
    degrees = weights.mul_(low).clamp_(max=cap).long()
    missing = total - int(degrees.sum())
    degrees += missing // n
    degrees[: missing % n] += 1
    return degrees


def row_of_entries(offsets: Tensor, counts: Tensor) -> Tensor:
    """Return the row of every entry, as int32 (M,)."""
    n, total = len(counts), int(offsets[-1])
    rows = torch.empty(total, dtype=torch.int32, device=offsets.device)
    step = max(1, n * CHUNK // max(total, 1))
    for start in range(0, n, step):
        stop = min(start + step, n)
        ids = torch.arange(start, stop, dtype=torch.int32, device=offsets.device)
        first, last = offsets[[start, stop]].tolist()
        rows[first:last] = ids.repeat_interleave(counts[start:stop], output_size=last - first)
    return rows


def _pair_up(offsets: Tensor, counts: Tensor, pairs: Callable[[Tensor], Tensor]) -> Tensor:
    rows = row_of_entries(offsets, counts)
    columns = torch.empty_like(rows)
    for entries in _chunks(len(rows), rows.device):
        start = int(entries[0])
        columns[start : start + len(entries)] = rows[pairs(entries)]
    return columns


class Pairs:
    """The partner of every one of an even number of entries: anywhere."""

    def __init__(self, size: int, seed: int) -> None:
        self.shuffle = Shuffle(size, seed)

    def __call__(self, entries: Tensor) -> Tensor:
        return self.shuffle.inverse(self.shuffle(entries).bitwise_xor_(1))


class Communities:
    """Partners within a block of neighbouring vertices, but for every tenth entry.

    The entries of ``IN_A_COMMUNITY`` vertices in a row, other than their tenth ones, are paired
    among each other; the tenth ones anywhere. Where the numbers do not divide, the last entries
    (fewer than two communities' and twenty) are one community more.
    """

    def __init__(self, n: int, n_entries: int, seed: int) -> None:
        self.tens = n_entries // 20 * 2
        # Near entries of a community, even, so that they can be paired.
        self.size = max(n_entries // n * IN_A_COMMUNITY * 9 // 20 * 2, 2)
        self.n_near = n_entries - self.tens
        self.whole = max(self.n_near // self.size - 1, 0) * self.size
        self.far, self.near, self.last = (
            Pairs(max(size, 2), seed + i)
            for i, size in enumerate((self.tens, self.size, self.n_near - self.whole))
        )

    def __call__(self, entries: Tensor) -> Tensor:
        ten, place = entries // 10, entries % 10
        is_far = (place == 9) & (ten < self.tens)
        number = torch.where(ten < self.tens, 9 * ten + place, entries - self.tens)
        first = torch.where(number < self.whole, number // self.size * self.size, self.whole)
        within = torch.where(is_far, 0, number - first)
        inside = number < self.whole
        near = first + torch.where(
            inside,
            self.near(torch.where(inside, within, 0)),
            self.last(torch.where(inside, 0, within)),
        )
        back = torch.where(near < 9 * self.tens, near // 9 * 10 + near % 9, near + self.tens)
        return torch.where(is_far, 10 * self.far(torch.where(is_far, ten, 0)) + 9, back)


def _chunks(total: int, device: torch.device) -> Iterator[Tensor]:
    for start in range(0, total, CHUNK):
        yield torch.arange(start, min(start + CHUNK, total), device=device)


class Shuffle:
    """A pseudo-random bijection of 0 … size - 1, computed entry by entry.

    A Feistel network on the next power of four; what falls outside is sent through again until
    it is inside (cycle walking), which keeps the map a bijection.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.size = size
        self.half = (max(size - 1, 1).bit_length() + 1) // 2
        generator = torch.Generator().manual_seed(seed)
        # Multipliers and halves are short enough for no product to leave 63 bits.
        draw = torch.randint(2**30, (ROUNDS, 3), generator=generator) | 1
        self.keys: list[tuple[int, int, int]] = [(a, b, c) for a, b, c in draw.tolist()]

    def __call__(self, x: Tensor) -> Tensor:
        """Return the images of ``x``, int64."""
        return self._walk(x, backwards=False)

    def inverse(self, x: Tensor) -> Tensor:
        """Return what the images ``x`` come from."""
        return self._walk(x, backwards=True)

    def _walk(self, x: Tensor, *, backwards: bool) -> Tensor:
        y = self._permute(x, backwards)
        outside = (y >= self.size).nonzero().squeeze(1)
        while len(outside):
            moved = self._permute(y[outside], backwards)
            y[outside] = moved
            outside = outside[moved >= self.size]
        return y

    def _permute(self, x: Tensor, backwards: bool) -> Tensor:
        mask = 2**self.half - 1
        high, low = x >> self.half, x & mask
        if backwards:
            for key in reversed(self.keys):
                high, low = low ^ self._mix(high, key), high
        else:
            for key in self.keys:
                high, low = low, high ^ self._mix(low, key)
        return (high << self.half).bitwise_or_(low)

    def _mix(self, x: Tensor, key: tuple[int, int, int]) -> Tensor:
        first, add, second = key
        y = (x + add).mul_(first).bitwise_and_(2**60 - 1)
        y.bitwise_xor_(y >> 29).bitwise_and_(2**31 - 1).mul_(second)
        return y.bitwise_xor_(y >> 17).bitwise_and_(2**self.half - 1)
