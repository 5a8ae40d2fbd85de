"""The elements of arrays as C prints them, piece by piece: constants are megabytes, their text is
six times as much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np

from glowmcu.emit_c.c_text import c_number
from glowmcu.emit_c.number_cells import digit_cells, float_cells, float_width
from glowmcu.ir.operation import Array

_COLUMNS = 100
_INDENT = 4
#: Elements that are turned into text together.
_AT_ONCE = 1 << 13
#: Integers of 8 bits, signed or not.
_LEAST_SMALL, _MOST_SMALL = -128, 255


def array_rows(data: Array) -> str:
    """The elements as right-aligned rows of at most 100 columns, commas between."""
    return b"".join(row_pieces(data)).decode("ascii")


def row_pieces(data: Array) -> Iterator[bytes]:
    """The same in pieces of a number of rows, of which no more than one is in memory."""
    flat = data.reshape(-1)
    if not flat.size:
        return
    if data.dtype == np.float32:
        yield from _rows_of_cells(flat, max(map(float_width, _parts(flat))), float_cells)
        return
    if data.dtype == np.int64:
        items = [_int64_literal(int(value)) for value in flat]
    elif data.dtype in (np.uint32, np.uint64):
        items = [f"{int(value)}u{'ll' * (data.dtype == np.uint64)}" for value in flat]
    elif data.dtype == np.int32 and flat.min() == -(2**31):
        items = [c_number(value) for value in flat.tolist()]
    else:
        yield from _integer_rows(flat)
        return
    yield _rows(items, max(map(len, items))).encode("ascii")


def _integer_rows(flat: Array) -> Iterator[bytes]:
    least, most = int(flat.min()), int(flat.max())
    width = max(len(str(least)), len(str(most)))
    is_small = least >= _LEAST_SMALL and most <= _MOST_SMALL
    yield from _rows_of_cells(flat, width, _chosen_cells if is_small else _integer_cells)


def _rows_of_cells(
    flat: Array, width: int, cells_of: Callable[[Array, int], Array]
) -> Iterator[bytes]:
    """As many as weights are: numpy writes the digits, a number of whole rows at a time."""
    per_line = _per_line(width)
    for number, part in enumerate(_parts(flat, per_line)):
        yield b",\n" * bool(number) + _joined(cells_of(part, width), per_line)


def _parts(flat: Array, per_line: int = 1) -> Iterator[Array]:
    """Elements that are turned into text together: some number of lines."""
    step = per_line * max(1, _AT_ONCE // per_line)
    return (flat[start : start + step] for start in range(0, flat.size, step))


def _integer_cells(items: Array, width: int) -> Array:
    wide = items.astype(np.int64)
    return digit_cells(np.abs(wide), wide < 0, width)


def _chosen_cells(items: Array, width: int) -> Array:
    return _small_cells(width)[items.astype(np.intp) - _LEAST_SMALL]


@cache
def _small_cells(width: int) -> Array:
    """The cells of all integers of 8 bits; those that are wider than `width` are not asked for."""
    return _integer_cells(np.arange(_LEAST_SMALL, _MOST_SMALL + 1), width)


def _joined(cells: Array, per_line: int) -> bytes:
    """Cells as lines of `per_line`, as `_rows` has them."""
    count, cell_bytes = cells.shape
    lines = -(-count // per_line)
    rows = np.full((lines, _INDENT + per_line * cell_bytes), ord(" "), np.uint8)
    whole = count // per_line
    rows[:whole, _INDENT:] = cells[: whole * per_line].reshape(whole, per_line * cell_bytes)
    rest = cells[whole * per_line :].reshape(-1)
    if rest.size:
        rows[-1, _INDENT : _INDENT + rest.size] = rest
    rows[:, -1] = ord("\n")
    missing = lines * per_line - count
    return rows.tobytes()[: rows.size - missing * cell_bytes - 2]


def _per_line(width: int) -> int:
    return max(1, (_COLUMNS - _INDENT) // (width + 2))


def _rows(items: Sequence[str], width: int) -> str:
    per_line = _per_line(width)
    lines = [
        " " * _INDENT + ", ".join(item.rjust(width) for item in items[start : start + per_line])
        for start in range(0, len(items), per_line)
    ]
    return ",\n".join(lines)


def _int64_literal(value: int) -> str:
    return "(-9223372036854775807LL - 1)" if value == -(2**63) else f"{value}LL"
