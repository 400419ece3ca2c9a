"""Products on a GPU by the fused Triton programs of ``triton_programs``.

They run for float32 and bfloat16 on CUDA wherever Triton works; cuSPARSE, by torch, otherwise.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor
from triton.runtime import cache, driver

from graphfilter.operators.kernels import triton_programs
from graphfilter.operators.kernels.product_kernel import FactoredMatrix, ProductKernel, Step, Sums

# Jitted functions are launched by a subscript, which type checkers do not know of.
_programs: Any = triton_programs

# Rows of more entries than this are cut into pieces of this many.
LONGEST = 256
# Most columns of one program, and the bytes each of its warps has under way at a time. Of what was
# tried on an H200 (64 to 256 columns, 4 to 32 entries, 1 to 8 warps) no choice is the fastest on
# small graphs and large ones, one run and ten; this one is near the best on all.
WIDEST = 128
BYTES_AT_A_TIME = 2048


class TritonKernel(ProductKernel):
    r"""See :class:`~graphfilter.operators.kernels.ProductKernel`; float32 and bfloat16 on CUDA.

    A recurrence runs on :math:`u = S x`, where :math:`P = \mathrm{diag}(d) \pm S A S` becomes
    :math:`\mathrm{diag}(d) \pm S^2 A`: one scale per row instead of one per neighbour.
    """

    def __init__(self, matrix: FactoredMatrix, dtype: torch.dtype) -> None:
        super().__init__(matrix, dtype)
        self._pieces = _Pieces(matrix.offsets)
        self._values = None if matrix.values is None else matrix.values.float().contiguous()
        self._diagonal = None if matrix.diagonal is None else matrix.diagonal.float()
        self._scale = self._row_scale = self._squared_scale = self._unscale = None
        if matrix.scale is not None:
            scale = matrix.scale.double()
            self._scale = scale.float()
            self._row_scale = (matrix.sign * scale).float()
            self._squared_scale = (matrix.sign * scale.square()).float()
            self._unscale = scale.reciprocal().float()

    def _multiply(
        self, x: Tensor, out: Tensor, scale: float, keep: float, values: Tensor | None
    ) -> None:
        groups = 1 if values is None else len(values)
        self._launch(
            x, out.view(len(out), groups, -1), self._values if values is None else values,
            scale=scale, keep=keep, column_scale=self._scale, row_scale=self._row_scale,
        )  # fmt: skip

    def _to_scaled(self, x: Tensor) -> Tensor:
        if self._scale is None:
            return super()._to_scaled(x)
        # In one pass, also where x is stored in half precision and the scale is not.
        made = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        return torch.mul(x, self._scale[:, None, None], out=made)

    def _from_scaled(self, y: Tensor) -> Tensor:
        return y if self._unscale is None else y.mul_(self._unscale[:, None, None])

    def _advance(self, current: Tensor, previous: Tensor, step: Step, sums: Sums) -> None:
        scale, skip, keep = step
        dots = self._launch(
            current, previous, self._values, scale=scale, skip=skip, keep=keep,
            row_scale=self._squared_scale, total=sums.total, weights=sums.weights,
            against=sums.against,
        )  # fmt: skip
        if sums.products is not None and dots is not None:
            torch.sum(dots, (1, 2), out=sums.products)

    def _launch(
        self,
        x: Tensor,
        out: Tensor,
        values: Tensor | None,
        *,
        scale: float,
        keep: float,
        skip: float = 0.0,
        column_scale: Tensor | None = None,
        row_scale: Tensor | None = None,
        total: Tensor | None = None,
        weights: Tensor | None = None,
        against: Tensor | None = None,
    ) -> Tensor | None:
        """Run the programs; return the inner products by group, part and row, where asked for."""
        n, groups, group_width = out.shape
        by_group = values is not None and values.ndim == 2 and groups > 1
        wide, together = _tile(group_width, 1 if by_group else groups)
        parts = -(-group_width // wide)
        programs = -(-groups // together) * parts
        warps, row_bytes = _warps(n * programs), together * wide * x.element_size()
        dots = None
        if against is not None:
            dots = torch.empty(groups, parts, n, dtype=torch.float32, device=out.device)
        own = self._unscale if against is not None else None
        finishing: dict[str, Any] = {
            "x": x, "out": out, "total": total, "against": against, "dots": dots,
            "weights": weights, "row_scales": row_scale, "diagonal": self._diagonal,
            "dot_scales": own, "scale": scale, "skip": skip, "keep": keep, "n_dots": n,
        }  # fmt: skip
        gathering: dict[str, Any] = {
            "columns": self.matrix.columns, "values": values, "column_scales": column_scale,
            "value_stride": len(self.matrix.columns) if by_group else 0,
            "HAS_VALUES": values is not None, "HAS_SCALES": column_scale is not None,
        }  # fmt: skip
        flags: dict[str, Any] = {
            "HAS_ROW": row_scale is not None, "HAS_DIAGONAL": self._diagonal is not None,
            "HAS_SKIP": skip != 0, "HAS_KEEP": keep != 0, "HAS_TOTAL": total is not None,
            "HAS_AGAINST": against is not None, "HAS_DOT_SCALE": own is not None,
        }  # fmt: skip
        sizes: dict[str, Any] = {
            "group_width": group_width, "n_groups": groups, "width": groups * group_width,
            "WIDE": wide, "PARTS": parts, "GROUPS": together, "FILLED": group_width == parts * wide,
            "ENTRIES": warps * min(max(BYTES_AT_A_TIME // row_bytes, 4), 32),
            "num_warps": warps,
        }  # fmt: skip
        # Programs do not read what stands for an array that is not there. Without it their
        # arguments would have other types, and for each a C compiler makes what launches them.
        for given in (finishing, gathering):
            given.update({name: out for name, value in given.items() if value is None})
        # Triton launches on the current device, whatever device its arguments lie on.
        with torch.cuda.device(out.device) if out.is_cuda else nullcontext():
            self._run(programs, finishing, gathering, flags, sizes)
        return dots

    def _run(
        self,
        programs: int,
        finishing: dict[str, Any],
        gathering: dict[str, Any],
        flags: dict[str, Any],
        sizes: dict[str, Any],
    ) -> None:
        """Launch the programs: rows as they are and long ones in pieces, then the latter's sums."""
        out, pieces = finishing["out"], self._pieces
        if not len(out):
            return
        partial = torch.empty(
            len(pieces.starts), sizes["width"], dtype=torch.float32, device=out.device
        )
        _programs.rows_and_pieces[(len(pieces.starts) + len(out), programs)](
            offsets=self.matrix.offsets, longest=LONGEST, n_pieces=len(pieces.starts),
            partial=partial, piece_starts=pieces.starts, piece_ends=pieces.ends,
            **finishing, **gathering, **flags, **sizes,
        )  # fmt: skip
        if pieces.n_rows:
            _programs.finish_long_rows[(pieces.n_rows, programs)](
                partial=partial, long_rows=pieces.rows, first_pieces=pieces.first,
                **finishing, **flags, **sizes | {"ENTRIES": 32, "num_warps": 4},
            )  # fmt: skip


def make_driver() -> None:
    """Compile Triton's driver, and meanwhile hash Triton itself: its first kernel needs both."""
    # Older versions have it elsewhere, and hash when they compile.
    with ThreadPoolExecutor(1) as pool:
        hashed = pool.submit(getattr(cache, "triton_key", str))
        driver.active.get_current_target()
        hashed.result()


class _Pieces:
    """Where the rows of more than ``LONGEST`` entries are cut."""

    def __init__(self, offsets: Tensor) -> None:
        lengths = offsets.diff()
        self.rows = (lengths > LONGEST).nonzero()[:, 0]
        self.n_rows = len(self.rows)
        counts = (lengths[self.rows] + LONGEST - 1) // LONGEST
        self.first = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        number = torch.repeat_interleave(torch.arange(self.n_rows, device=offsets.device), counts)
        place = torch.arange(len(number), device=offsets.device) - self.first[number]
        # In the type of the offsets: programs read both from the same place.
        self.starts = offsets[self.rows[number]] + (place * LONGEST).to(offsets.dtype)
        self.ends = torch.minimum(self.starts + LONGEST, offsets[self.rows[number] + 1])


def _power_of_two(number: int) -> int:
    return 1 << max(number - 1, 0).bit_length()


def _tile(group_width: int, groups: int) -> tuple[int, int]:
    """Choose the columns of a group, and the groups, that one program makes."""
    if group_width > WIDEST:
        # In equal parts where a power of two divides it.
        return min(max(group_width & -group_width, 64), WIDEST), 1
    wide = max(_power_of_two(group_width), 8)
    return wide, min(WIDEST // wide, _power_of_two(groups))


def _warps(n_programs: int) -> int:
    """Choose the warps of a program: among few programs the longest row decides, and shares it."""
    return 4 if n_programs < 2**12 else 2 if n_programs < 2**13 else 1
