"""Constants as TensorFlow Lite Micro's DECODE reads them: indices into value tables, Huffman codes,
or the values that pruning left, beside a bit for each element.

A tensor of bytes and an ancillary one, which begins with 16 bytes of metadata: the format, its
version, and what the format needs. Bits go from the most significant of a byte to the least.

Source: TensorFlow Lite Micro's `micro/compression/decode.py` and `micro/kernels/decode_state*.cc`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from glowmcu.ir.operation import Array
from glowmcu.ir.types import TensorType
from glowmcu.lazy_dataclass import dataclass

METADATA_BYTES = 16
LUT, HUFFMAN, PRUNING = 0, 1, 2
#: Of DECODE's metadata, and of each format's own.
VERSION = 1
#: The widest index: three bits of the metadata say how wide it is.
MOST_BITS = 7
_Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Compressed:
    """A tensor of `type_` as DECODE's pair of operands has it."""

    encoded: _Bytes
    ancillary: _Bytes
    type_: TensorType

    @property
    def parameters(self) -> _Bytes:
        """The bytes of metadata that the format defines."""
        return self.ancillary[4:METADATA_BYTES]

    @property
    def payload(self) -> bytes:
        """What follows the metadata: value tables, trees or values."""
        return self.ancillary[METADATA_BYTES:].tobytes()

    def values(self, count: int) -> Array:
        """The first `count` elements behind the metadata. Raises ValueError if there are fewer."""
        dtype = np.dtype(self.type_.element.numpy).newbyteorder("<")
        found = len(self.payload) // dtype.itemsize
        if found < count:
            raise ValueError(f"{count} values are read behind the metadata, and {found} are there")
        return np.frombuffer(self.payload, dtype, count).astype(self.type_.element.numpy)

    def bits(self, count: int) -> _Bytes:
        """The first `count` bits. Raises ValueError if there are fewer."""
        if self.encoded.size * 8 < count:
            raise ValueError(f"{count} bits are read, and {self.encoded.size * 8} are there")
        return np.unpackbits(self.encoded, count=count)


def decompressed(given: Compressed) -> Array:
    """The dense tensor. Raises ValueError for what contradicts itself or is no known format."""
    if given.ancillary.size < METADATA_BYTES:
        raise ValueError(f"{given.ancillary.size} bytes of metadata; expected {METADATA_BYTES}")
    kind, version = (int(each) for each in given.ancillary[:2])
    if version != VERSION:
        raise ValueError(f"metadata of version {version}; expected {VERSION}")
    decode = _FORMATS.get(kind)
    if decode is None:
        raise ValueError(
            f"format {kind}; expected {LUT} (value tables), {HUFFMAN} (Huffman) or {PRUNING} "
            "(pruning)"
        )
    own = int(given.parameters[0])
    if own != VERSION:
        raise ValueError(f"format {kind} of version {own}; expected {VERSION}")
    return decode(given).reshape(given.type_.shape)


def channel_of_each(type_: TensorType) -> npt.NDArray[np.int64]:
    """Which channel each element belongs to, in order. Raises ValueError for an axis in between."""
    count = 1 if type_.quantization is None else len(type_.quantization.scales)
    axis = None if type_.quantization is None else type_.quantization.axis
    if count == 1 or axis is None:
        return np.zeros(type_.element_count, np.int64)
    if axis not in (0, type_.rank - 1):
        raise ValueError(f"axis {axis} of {type_.rank} has the channels; expected first or last")
    shape = [1] * type_.rank
    shape[axis] = count
    return np.broadcast_to(np.arange(count).reshape(shape), type_.shape).flatten()


def _looked_up(given: Compressed) -> Array:
    width, stride = int(given.parameters[1]) & MOST_BITS, int(given.parameters[2])
    if width == 0:
        raise ValueError("indices are 0 bits wide; expected 1 to 7")
    bits = given.bits(given.type_.element_count * width).reshape(-1, width)
    places = np.packbits(bits, axis=1).reshape(-1).astype(np.int64) >> (8 - width)
    places += channel_of_each(given.type_) * stride
    return np.take(given.values(int(places.max(initial=-1)) + 1), places)


def _pruned(given: Compressed) -> Array:
    is_kept = given.bits(given.type_.element_count).astype(bool)
    channels, stored = channel_of_each(given.type_), given.type_.quantization
    points = np.zeros(1, np.int64) if stored is None else np.array(stored.zero_points)
    if given.type_.element.numpy != np.int8 and points.any():
        raise ValueError("pruned elements of other types than int8 have a zero point that is not 0")
    dense = points[channels % points.size].astype(given.type_.element.numpy)
    dense[is_kept] = given.values(int(is_kept.sum()))
    return dense


def _from_codes(given: Compressed) -> Array:
    """Huffman codes, with tables as Xtensa's libraries have them.

    A table is looked up by the next bits. An entry with its highest bit set is a symbol, and says
    how many of the last bits belong to it; any other says how far on the next table is, and by how
    many bits it is looked up.
    """
    is_wide = bool(given.parameters[1] & 1)
    dtype = np.dtype(given.type_.element.numpy)
    if dtype not in ([np.int8, np.int16] if is_wide else [np.int8]):
        raise ValueError(f"Huffman codes of {dtype}; expected int8, or int16 by a table of 32 bits")
    entry = np.dtype("<u4" if is_wide else "<u2")
    table = np.frombuffer(given.payload, entry, len(given.payload) // entry.itemsize).tolist()
    codes = _Codes(given.encoded, table, entry.itemsize * 8, int(given.parameters[1] >> 4) + 1)
    symbols = np.fromiter((codes.next() for _ in range(given.type_.element_count)), np.uint32)
    return symbols.astype(f"u{dtype.itemsize}").view(dtype)


class _Codes:
    """Symbols of a stream of bits, one after the other."""

    def __init__(self, encoded: _Bytes, table: list[int], entry_bits: int, first: int) -> None:
        # Tables are looked up by more bits than the last codes have.
        self._stream = encoded.tobytes() + bytes(4)
        self._bits = encoded.size * 8
        self._table, self._first = table, first
        self._found, self._count_shift = 1 << (entry_bits - 1), entry_bits - 5
        self._at = 0

    def next(self) -> int:
        """The next symbol, unmasked. Raises ValueError past the end of the bits or the table."""
        at, read, table = self._at, self._first, 0
        entry = self._entry(table + self._peek(at, read))
        while not entry & self._found:
            table += self._peek(at, read) + (entry & ((1 << self._count_shift) - 1))
            at, read = at + read, self._count(entry) + 1
            entry = self._entry(table + self._peek(at, read))
        end = at + min(read, self._count(entry))
        if not self._at < end <= self._bits:
            raise ValueError(f"a code from bit {self._at} of {self._bits} ends at bit {end}")
        self._at = end
        return entry

    def _count(self, entry: int) -> int:
        return entry >> self._count_shift & 15

    def _entry(self, place: int) -> int:
        if place >= len(self._table):
            raise ValueError(f"entry {place} is read of a table of {len(self._table)}")
        return self._table[place]

    def _peek(self, at: int, count: int) -> int:
        """`count` bits from bit `at`, 16 at most. Raises ValueError far behind the end."""
        byte, bit = divmod(at, 8)
        if byte + 4 > len(self._stream):
            raise ValueError(f"bit {at} of {self._bits} is read")
        window = int.from_bytes(self._stream[byte : byte + 4], "big")
        return window >> (32 - bit - count) & ((1 << count) - 1)


_FORMATS: Mapping[int, Callable[[Compressed], Array]] = {
    LUT: _looked_up,
    HUFFMAN: _from_codes,
    PRUNING: _pruned,
}
