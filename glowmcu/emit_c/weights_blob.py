"""`--weights pointer`: all constants of a bundle in one blob that the application may exchange.

The blob has a header, the offsets of its members, and the members: arrays, and for every layer the
numbers of its parameters. Code finds members by their offsets, so that arrays may have other
lengths than those of the model that it was compiled from; parameters are in RAM, filled when a blob
is set. What else the code was made of is in the blob's layout number: a blob fits or is refused.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from glowmcu.emit_c.c_text import wrap_items
from glowmcu.emit_c.integrity import Checked, CheckedBytes, CheckedPointer
from glowmcu.emit_c.views import ArrayView
from glowmcu.ir.kernel_code import ConstantArray
from glowmcu.lazy_dataclass import dataclass

#: "GLOW", low byte first.
MAGIC = 0x574F4C47
_HEADER = struct.Struct("<4I")
_RECORD_BYTES = 16
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class Member:
    """An array of the blob; `name` is its symbol without the bundle's."""

    name: str
    array: ArrayView
    offset: int

    @property
    def image(self) -> bytes:
        """Its bytes, the low one of an element first."""
        data = self.array.data
        little = data.astype(data.dtype.newbyteorder("<"), copy=False).tobytes()
        return little or bytes(data.dtype.itemsize)  # an empty array has an element in C


@dataclass(frozen=True)
class Fill:
    """Parameters at C expression `to`: `bytes` of array `symbol` from byte `first` on; 0 is for a
    pointer to it.
    """

    to: str
    symbol: str
    first: int
    bytes: int


@dataclass(frozen=True)
class PlacedFill:
    """Parameters at C expression `to`: `bytes` of member `index` from byte `first` on; 0 is for a
    pointer to it. The member is called `name`.
    """

    to: str
    name: str
    index: int
    first: int
    bytes: int


@dataclass(frozen=True)
class BlobView:
    """What templates need of the blob; numbers are literals of C."""

    members: tuple[Member, ...]
    fills: tuple[PlacedFill, ...]
    align: int
    size_bytes: int
    magic: str
    layout: str
    crc: str
    #: Members that code names; others are reached through parameters alone.
    named: tuple[int, ...]

    @property
    def ram_bytes(self) -> int:
        """RAM of the parameters and of the pointer to the blob, where a pointer has four bytes."""
        return sum(fill.bytes or 4 for fill in self.fills) + 4

    @property
    def offsets(self) -> tuple[int, ...]:
        """Those of all members, and the end."""
        return (*(member.offset for member in self.members), self.size_bytes)

    @property
    def widths(self) -> str:
        """Bytes of an element of each member, by which the CRC-32 knows the low one."""
        widths = [f"{member.array.data.dtype.itemsize}u" for member in self.members]
        return wrap_items(widths, " " * 8)

    @property
    def intel_hex(self) -> str:
        """The blob from address 0 on, as flashing tools and objcopy read it."""
        return _intel_hex(self._image())

    def _image(self) -> bytes:
        words = (int(word.rstrip("u"), 0) for word in (self.magic, self.layout))
        crc = int(self.crc.rstrip("u"), 0)
        header = _HEADER.pack(*words, self.size_bytes, crc)
        return header + _checked_bytes(self.members, self.size_bytes)


def parameter_numbers(checked: Iterable[Checked]) -> ConstantArray:
    """The numbers of a struct, of which `checked` tells, as their bits."""
    data = b"".join(item.data for item in checked if isinstance(item, CheckedBytes))
    bits = np.frombuffer(data, "<i4").astype(np.int32)
    return ConstantArray("numbers", bits, "parameters of the layer, floats as their bits")


def parameter_fills(checked: Iterable[Checked], symbol: str) -> Iterator[Fill]:
    """How that struct is filled again, its numbers from the array `symbol`."""
    first = 0
    for item in checked:
        if isinstance(item, CheckedBytes):
            place = item.at.replace("(const volatile uint8_t *)", "(uint8_t *)")
            yield Fill(place, symbol, first, len(item.data))
            first += len(item.data)
        elif isinstance(item, CheckedPointer) and item.target != "NULL":
            yield Fill(item.member, item.target, 0, 0)


def blob_view(
    bundle_name: str,
    arrays: Sequence[ArrayView],
    fills: Sequence[Fill],
    code: Iterable[str],
    facts: object,
) -> BlobView:
    """The blob of `arrays`. `code` is all C that reads it, `facts` what else must stay the same."""
    code = tuple(code)
    words = {word for text in code for word in re.findall(r"\w+", text)}
    members, offset = [], _HEADER.size + 4 * (len(arrays) + 1)
    for array in arrays:
        offset = -(-offset // array.align) * array.align
        name = array.symbol.removeprefix(f"{bundle_name}_")
        member = Member(name, array, offset)
        members.append(member)
        offset += len(member.image)
    by_symbol = {member.array.symbol: index for index, member in enumerate(members)}
    align = max((array.align for array in arrays), default=4)
    size_bytes = -(-offset // align) * align
    kinds = [(member.name, member.array.c_type) for member in members]
    places = [(fill.to, fill.symbol, fill.first, fill.bytes) for fill in fills]
    text = json.dumps([kinds, places, [_COMMENT.sub("", item) for item in code], facts])
    crc = zlib.crc32(_checked_bytes(members, size_bytes))
    return BlobView(
        tuple(members),
        tuple(_placed(fill, members, by_symbol[fill.symbol]) for fill in fills),
        align,
        size_bytes,
        f"0x{MAGIC:08X}u",
        f"0x{zlib.crc32(text.encode()):08X}u",
        f"0x{crc:08X}u",
        tuple(index for index, array in enumerate(arrays) if array.symbol in words),
    )


def _placed(fill: Fill, members: Sequence[Member], index: int) -> PlacedFill:
    return PlacedFill(fill.to, members[index].name, index, fill.first, fill.bytes)


def _checked_bytes(members: Sequence[Member], size_bytes: int) -> bytes:
    """All behind the header: the offsets, and the members with zeros between them."""
    offsets = (*(member.offset for member in members), size_bytes)
    data = bytearray(struct.pack(f"<{len(offsets)}I", *offsets))
    for member in members:
        data += bytes(member.offset - _HEADER.size - len(data)) + member.image
    return bytes(data) + bytes(size_bytes - _HEADER.size - len(data))


def _intel_hex(data: bytes) -> str:
    """Records of 16 bytes. Source: Intel Hexadecimal Object File Format Specification, 1988."""
    lines = []
    for start in range(0, len(data), _RECORD_BYTES):
        if start % 0x10000 == 0:
            lines.append(_record(0, 4, (start >> 16).to_bytes(2, "big")))
        lines.append(_record(start & 0xFFFF, 0, data[start : start + _RECORD_BYTES]))
    return "\n".join([*lines, _record(0, 1, b"")]) + "\n"


def _record(address: int, kind: int, data: bytes) -> str:
    content = bytes([len(data)]) + address.to_bytes(2, "big") + bytes([kind]) + data
    return f":{content.hex().upper()}{-sum(content) & 0xFF:02X}"
