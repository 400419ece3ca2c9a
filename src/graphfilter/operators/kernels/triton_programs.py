"""The fused products on a GPU, written in Triton; ``triton_kernel`` launches them.

One program makes one row of the output: it gathers the rows of its neighbours, sums them in
float32 registers and finishes with everything else that needs this row (scaling, skip, the running
sum of the filter and the inner product its gradient needs), so that nothing is read twice. A row
with many neighbours would keep one program busy long after the others: it is cut into pieces
that write partial sums, which :func:`finish_long_rows` adds up in a fixed order, so that the same
input gives the same bits.
"""

from __future__ import annotations

# Triton's language is not Python's: the parameters of a program are pointers and numbers of no
# Python type, and Triton reads annotations of its own kind.
# pyright: reportMissingParameterType=false, reportUnknownParameterType=false
# pyright: reportUntypedFunctionDecorator=false
import triton
import triton.language as tl

# Triton compiles a program anew where a number is 1 or a multiple of 16, and where a pointer is
# aligned or not. Of these it does not: no load is wider for it, and compiling takes a while.
_ANY_NUMBER = ("value_stride", "n_dots", "n_pieces", "n_groups")
_ANY_ALIGNMENT = ("weights",)


@triton.jit
def _columns_of(
    block, group_width, n_groups,
    WIDE: tl.constexpr, PARTS: tl.constexpr, GROUPS: tl.constexpr, FILLED: tl.constexpr,
):  # fmt: skip
    """Choose the columns a program makes: a part of one group, or several whole ones.

    Returns the group of each, its place among all columns, and whether it exists.
    """
    lane = tl.arange(0, GROUPS * WIDE)
    group = (block // PARTS) * GROUPS + lane // WIDE
    if FILLED:
        # The same places, written so that the compiler sees neighbours and loads four at a time.
        return group, block * (GROUPS * WIDE) + lane, group < n_groups
    place = (block % PARTS) * WIDE + lane % WIDE
    return group, group * group_width + place, (place < group_width) & (group < n_groups)


@triton.jit
def _gather(
    x, columns, values, scales, start, end, places, inside, width,
    HAS_VALUES: tl.constexpr, HAS_SCALES: tl.constexpr, ENTRIES: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Sum the rows of x that the entries from start to end name, at these places."""
    total = tl.zeros([ENTRIES, WIDE], tl.float32)
    entry = start + tl.arange(0, ENTRIES)
    present = entry < end
    column = tl.load(columns + entry, mask=present, other=0)
    for _ in range(start, end, ENTRIES):
        # Which rows come next is asked for before these are: a row's address is known in time.
        coming = entry + ENTRIES
        there = coming < end
        following = tl.load(columns + coming, mask=there, other=0)
        row = tl.load(
            x + column.to(tl.int64)[:, None] * width + places[None, :],
            mask=present[:, None] & inside[None, :],
            other=0.0,
        ).to(tl.float32)
        if HAS_VALUES:
            row *= tl.load(values + entry, mask=present, other=0.0).to(tl.float32)[:, None]
        if HAS_SCALES:
            row *= tl.load(scales + column, mask=present, other=0.0)[:, None]
        total += row
        entry, present, column = coming, there, following
    return tl.sum(total, 0)


@triton.jit
def _finish(
    gathered, row, block, group, x, out, total, against, dots, weights, row_scales, diagonal,
    dot_scales, scale, skip, keep, places, inside, width, n_dots, n_groups,
    HAS_ROW: tl.constexpr, HAS_DIAGONAL: tl.constexpr, HAS_SKIP: tl.constexpr,
    HAS_KEEP: tl.constexpr, HAS_TOTAL: tl.constexpr, HAS_AGAINST: tl.constexpr,
    HAS_DOT_SCALE: tl.constexpr,
    WIDE: tl.constexpr, PARTS: tl.constexpr, GROUPS: tl.constexpr,
):  # fmt: skip
    """Turn the gathered sum of a row into the row of the output, and do all that needs it."""
    place = row * width + places
    if HAS_ROW:
        gathered *= tl.load(row_scales + row)
    if HAS_DIAGONAL:
        gathered += tl.load(diagonal + row) * tl.load(x + place, mask=inside, other=0.0).to(
            tl.float32
        )
    made = scale * gathered
    if HAS_SKIP:
        made += skip * tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    if HAS_KEEP:
        made += keep * tl.load(out + place, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + place, made.to(out.dtype.element_ty), mask=inside)
    if HAS_TOTAL:
        so_far = tl.load(total + place, mask=inside, other=0.0).to(tl.float32)
        so_far += tl.load(weights + group, mask=group < n_groups, other=0.0) * made
        tl.store(total + place, so_far.to(total.dtype.element_ty), mask=inside)
    if HAS_AGAINST:
        other = tl.load(against + place, mask=inside, other=0.0).to(tl.float32)
        dot = tl.sum(tl.reshape(tl.where(inside, made * other, 0.0), [GROUPS, WIDE]), 1)
        if HAS_DOT_SCALE:
            dot *= tl.load(dot_scales + row)
        number = (block // PARTS) * GROUPS + tl.arange(0, GROUPS)
        place = (number * PARTS + block % PARTS).to(tl.int64) * n_dots + row
        tl.store(dots + place, dot, mask=number < n_groups)


@triton.jit(do_not_specialize=_ANY_NUMBER, do_not_specialize_on_alignment=_ANY_ALIGNMENT)
def rows_and_pieces(
    x, out, total, against, dots, weights, partial, offsets, piece_starts, piece_ends, columns,
    values, column_scales, row_scales, diagonal, dot_scales, scale, skip, keep, value_stride,
    n_dots, n_pieces, longest, group_width, n_groups, width,
    HAS_VALUES: tl.constexpr, HAS_SCALES: tl.constexpr, HAS_ROW: tl.constexpr,
    HAS_DIAGONAL: tl.constexpr, HAS_SKIP: tl.constexpr, HAS_KEEP: tl.constexpr,
    HAS_TOTAL: tl.constexpr, HAS_AGAINST: tl.constexpr, HAS_DOT_SCALE: tl.constexpr,
    ENTRIES: tl.constexpr, WIDE: tl.constexpr, PARTS: tl.constexpr, GROUPS: tl.constexpr,
    FILLED: tl.constexpr,
):  # fmt: skip
    """Make every row of at most ``longest`` entries: one program per row and column part.

    Before them, so that they start first, one per piece of a longer row, which it sums into its
    place among the partial sums (pieces, width).
    """
    number = tl.program_id(0).to(tl.int64)
    block = tl.program_id(1)
    group, places, inside = _columns_of(block, group_width, n_groups, WIDE, PARTS, GROUPS, FILLED)
    if HAS_VALUES:
        values += (block // PARTS).to(tl.int64) * value_stride
    row = number - n_pieces
    is_piece = number < n_pieces
    if is_piece:
        start = tl.load(piece_starts + number)
        end = tl.load(piece_ends + number)
    else:
        start = tl.load(offsets + row)
        end = tl.load(offsets + row + 1)
    if end - start <= longest:
        gathered = _gather(
            x, columns, values, column_scales, start, end,
            places, inside, width, HAS_VALUES, HAS_SCALES, ENTRIES, GROUPS * WIDE,
        )  # fmt: skip
        if is_piece:
            tl.store(partial + number * width + places, gathered, mask=inside)
        else:
            _finish(
                gathered, row, block, group, x, out, total, against, dots, weights, row_scales,
                diagonal, dot_scales, scale, skip, keep, places, inside, width, n_dots,
                n_groups, HAS_ROW, HAS_DIAGONAL, HAS_SKIP, HAS_KEEP, HAS_TOTAL, HAS_AGAINST,
                HAS_DOT_SCALE, WIDE, PARTS, GROUPS,
            )  # fmt: skip


@triton.jit(do_not_specialize=_ANY_NUMBER, do_not_specialize_on_alignment=_ANY_ALIGNMENT)
def finish_long_rows(
    x, out, total, against, dots, weights, partial, long_rows, first_pieces, row_scales,
    diagonal, dot_scales, scale, skip, keep, n_dots, group_width, n_groups, width,
    HAS_ROW: tl.constexpr, HAS_DIAGONAL: tl.constexpr, HAS_SKIP: tl.constexpr,
    HAS_KEEP: tl.constexpr, HAS_TOTAL: tl.constexpr, HAS_AGAINST: tl.constexpr,
    HAS_DOT_SCALE: tl.constexpr,
    ENTRIES: tl.constexpr, WIDE: tl.constexpr, PARTS: tl.constexpr, GROUPS: tl.constexpr,
    FILLED: tl.constexpr,
):  # fmt: skip
    """Add the pieces of each long row and finish it."""
    number = tl.program_id(0)
    block = tl.program_id(1)
    group, places, inside = _columns_of(block, group_width, n_groups, WIDE, PARTS, GROUPS, FILLED)
    row = tl.load(long_rows + number)
    end = tl.load(first_pieces + number + 1)
    sums = tl.zeros([ENTRIES, GROUPS * WIDE], tl.float32)
    for first in range(tl.load(first_pieces + number), end, ENTRIES):
        piece = first + tl.arange(0, ENTRIES)
        sums += tl.load(
            partial + piece.to(tl.int64)[:, None] * width + places[None, :],
            mask=(piece < end)[:, None] & inside[None, :],
            other=0.0,
        )
    _finish(
        tl.sum(sums, 0), row, block, group, x, out, total, against, dots, weights, row_scales,
        diagonal, dot_scales, scale, skip, keep, places, inside, width, n_dots, n_groups,
        HAS_ROW, HAS_DIAGONAL, HAS_SKIP, HAS_KEEP, HAS_TOTAL, HAS_AGAINST, HAS_DOT_SCALE,
        WIDE, PARTS, GROUPS,
    )  # fmt: skip
