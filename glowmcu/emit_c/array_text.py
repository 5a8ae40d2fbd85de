"""The elements of arrays as C prints them, piece by piece: constants are megabytes, their text is
six times as much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from glowmcu.emit_c.c_text import c_number, float_literal
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
    """The same in pieces of a number of rows; of integers no more than one is in memory."""
    flat = data.reshape(-1)
    if not flat.size:
        return
    if data.dtype == np.float32:
        items = [float_literal(float(value)) for value in flat]
    elif data.dtype == np.int64:
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
    """As many as weights are: numpy writes the digits, a number of whole rows at a time."""
    least, most = int(flat.min()), int(flat.max())
    width = max(len(str(least)), len(str(most)))
    is_small = least >= _LEAST_SMALL and most <= _MOST_SMALL
    per_line = _per_line(width)
    step = per_line * max(1, _AT_ONCE // per_line)
    for start in range(0, flat.size, step):
        part = flat[start : start + step]
        if is_small:
            cells = _small_cells(width)[part.astype(np.intp) - _LEAST_SMALL]
        else:
            cells = _digit_cells(part.astype(np.int64), width)
        yield b",\n" * bool(start) + _joined(cells, per_line)


@cache
def _small_cells(width: int) -> Array:
    """The cells of all integers of 8 bits; those that are wider than `width` are not asked for."""
    return _digit_cells(np.arange(_LEAST_SMALL, _MOST_SMALL + 1), width)


def _digit_cells(items: Array, width: int) -> Array:
    """A cell an integer: its digits, as text, and what follows them in a row."""
    count = len(items)
    cells = np.full((count, width + 2), ord(" "), np.uint8)
    cells[:, width] = ord(",")
    left, sign_at = np.abs(items), np.full(count, width - 1)
    for column in range(width - 1, -1, -1):
        shown = slice(None) if column == width - 1 else np.nonzero(left)[0]
        left[shown], digits = np.divmod(left[shown], 10)
        cells[:, column][shown] = digits + ord("0")
        sign_at[shown] = column - 1
    negative = np.nonzero(items < 0)[0]
    cells[negative, sign_at[negative]] = ord("-")
    return cells


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
