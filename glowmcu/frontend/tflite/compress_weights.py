"""Weights in the shortest form that TensorFlow Lite Micro's DECODE reads: indices into value
tables, values and a bit for each element where most are 0, or Huffman codes.

The formats are those of `compressed_tensors.py`, where their source is named.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from itertools import count

import numpy as np

from glowmcu.frontend.tflite.compressed_tensors import (
    HUFFMAN,
    LUT,
    METADATA_BYTES,
    MOST_BITS,
    PRUNING,
    VERSION,
    channel_of_each,
)
from glowmcu.ir.operation import Array
from glowmcu.ir.types import TensorType
from glowmcu.lazy_dataclass import dataclass

#: By how many bits a table of codes is looked up.
_LOOKED_UP_BITS = 6
#: Of a 16-bit entry: how far on the next table is, and where the count of bits stands.
_FAR, _COUNT_SHIFT, _FOUND = 0x7FF, 11, 0x8000


@dataclass(frozen=True)
class CompressedWeights:
    """DECODE's pair of operands."""

    encoded: bytes
    ancillary: bytes

    @property
    def size_bytes(self) -> int:
        """What both take in a file."""
        return len(self.encoded) + len(self.ancillary)


def compressed_weights(data: Array, type_: TensorType) -> CompressedWeights | None:
    """int8 `data` in its shortest form; None if no form is shorter than the data itself."""
    flat = data.reshape(-1)
    forms = [_by_table(flat, type_), _without_zeros(flat, type_), _as_codes(flat)]
    short = [form for form in forms if form is not None and form.size_bytes < flat.nbytes]
    return min(short, key=lambda form: form.size_bytes, default=None)


def _metadata(kind: int, *own: int) -> bytes:
    return bytes([kind, VERSION, 0, 0, VERSION, *own]).ljust(METADATA_BYTES, b"\0")


def _by_table(flat: Array, type_: TensorType) -> CompressedWeights | None:
    """One table of values for each channel."""
    channels = channel_of_each(type_)
    order = np.argsort(channels, kind="stable")
    rows = np.split(flat[order], np.flatnonzero(np.diff(channels[order])) + 1)
    tables = [np.unique(row) for row in rows]
    longest = max(len(table) for table in tables)
    width = max(1, (longest - 1).bit_length())
    if width > MOST_BITS:
        return None
    indices = np.empty(flat.size, np.uint8)
    indices[order] = np.concatenate(
        [np.searchsorted(table, row) for table, row in zip(tables, rows, strict=True)]
    )
    bits = np.unpackbits(indices[:, None], axis=1)[:, 8 - width :]
    values = b"".join(table.tobytes().ljust(longest, b"\0") for table in tables)
    return CompressedWeights(np.packbits(bits).tobytes(), _metadata(LUT, width, longest) + values)


def _without_zeros(flat: Array, type_: TensorType) -> CompressedWeights | None:
    if type_.quantization is not None and any(type_.quantization.zero_points):
        return None
    is_kept = flat != 0
    return CompressedWeights(
        np.packbits(is_kept).tobytes(), _metadata(PRUNING) + flat[is_kept].tobytes()
    )


# --- Huffman codes -----------------------------------------------------------------------------


def _as_codes(flat: Array) -> CompressedWeights | None:
    symbols, numbers = np.unique(flat, return_counts=True)
    if len(symbols) < 2:
        return None
    codes = _codes(dict(zip(symbols.tolist(), numbers.tolist(), strict=True)))
    table = _table(codes)
    if table is None:
        return None
    bits = np.frombuffer("".join(codes[int(each)] for each in flat).encode(), np.uint8) - ord("0")
    # Words are read, one more than the codes end in.
    encoded = np.packbits(bits).tobytes()
    encoded = encoded.ljust((len(encoded) + 3) // 4 * 4 + 4, b"\0")
    first = min(_LOOKED_UP_BITS, max(map(len, codes.values())))
    ancillary = _metadata(HUFFMAN, (first - 1) << 4) + np.array(table, "<u2").tobytes()
    return CompressedWeights(encoded, ancillary)


def _codes(numbers: Mapping[int, int]) -> dict[int, str]:
    """A prefix code: symbol to bits."""
    ties = count()
    heap = [(number, next(ties), {symbol: ""}) for symbol, number in sorted(numbers.items())]
    heapq.heapify(heap)
    while len(heap) > 1:
        (few, _, zeros), (more, _, ones) = heapq.heappop(heap), heapq.heappop(heap)
        joined = {symbol: f"0{code}" for symbol, code in zeros.items()}
        joined.update((symbol, f"1{code}") for symbol, code in ones.items())
        heapq.heappush(heap, (few + more, next(ties), joined))
    return heap[0][2]


def _table(codes: Mapping[int, str]) -> list[int] | None:
    """Tables behind one another; None if one is farther away than an entry can say."""
    table: list[int] = []
    todo: list[tuple[int | None, Sequence[tuple[str, int]]]]
    todo = [(None, [(code, symbol) for symbol, code in codes.items()])]
    for origin, rest in todo:
        bits = min(_LOOKED_UP_BITS, max(len(code) for code, _ in rest))
        base = len(table)
        if origin is not None:
            if base - origin > _FAR:
                return None
            table[origin] = (bits - 1) << _COUNT_SHIFT | (base - origin)
        table += [0] * (1 << bits)
        for code, symbol in rest:
            if len(code) <= bits:
                first = int(code, 2) << (bits - len(code))
                entry = _FOUND | len(code) << _COUNT_SHIFT | (symbol & 0xFF)
                table[base + first : base + first + (1 << (bits - len(code)))] = [entry] * (
                    1 << (bits - len(code))
                )
        longer: dict[str, list[tuple[str, int]]] = {}
        for code, symbol in rest:
            if len(code) > bits:
                longer.setdefault(code[:bits], []).append((code[bits:], symbol))
        todo += [(base + int(head, 2), tails) for head, tails in longer.items()]
    return table
