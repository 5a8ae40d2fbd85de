"""`<name>_check`: which constants its CRC-32 covers, in which order, and what it must be.

Arrays and tables of libjit go in whole. Of a layer's parameter struct the runs of numbers go in;
pointers, which a linker decides, are compared one by one. Every number in a struct is four bytes.
Functions that a kernel's struct of a type `..._parts` names are compared, too.
A loop goes over each list, of constants and of pointers: calls would take three times the flash.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from glowmcu.emit_c.c_text import wrap_items
from glowmcu.ir.kernel_code import ConstantArray, Parameters
from glowmcu.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from glowmcu.emit_c.views import ArrayView

_NUMBER_BYTES = 4
#: Of flash that the check itself takes, with the table of its CRC: 205 to 235 on any core.
_CHECK_BYTES = 220
#: An address and a size, or two addresses.
_ENTRY_BYTES = 8
_TABLE = re.compile(
    r"^static const u?int(\d+)_t (glowmcu_\w+)\[\d+\] = \{(.*?)\};", re.M | re.DOTALL
)


#: A kernel's functions by member, in a struct outside of functions.
_PARTS = re.compile(r"^static const (glowmcu_\w+_parts) (\w+) = \{(.*?)\};", re.M | re.DOTALL)
_PART = re.compile(r"/\* (\w+) \*/ (\w+)")


@dataclass(frozen=True)
class CheckedBytes:
    """`data` at C expression `at`, elements of `width` bytes, low byte first in `data`."""

    at: str
    width: int
    data: bytes | memoryview


@dataclass(frozen=True)
class CheckedPointer:
    """A member that must point to `target`."""

    member: str
    target: str


@dataclass(frozen=True)
class CheckedParts:
    """A struct at `at` whose members must be these functions: no pointers to data."""

    at: str
    struct: str
    functions: tuple[tuple[str, str], ...]


Checked = CheckedBytes | CheckedPointer | CheckedParts


@dataclass(frozen=True)
class ConstantView:
    """Of the list of constants: `bytes` at C expression `at`, of elements of `width` bytes."""

    at: str
    bytes: int
    width: int


@dataclass(frozen=True)
class IntegrityView:
    """What `<name>_check` looks at, and the CRC-32 after all constants in order."""

    constants: tuple[ConstantView, ...]
    pointers: tuple[CheckedPointer, ...]
    parts: tuple[CheckedParts, ...]
    crc: str

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look at."""
        return not (self.constants or self.pointers or self.parts)

    @property
    def widths(self) -> str:
        """Bytes of an element of each of the constants."""
        return wrap_items([f"{item.width}u" for item in self.constants], " " * 8)

    @property
    def bytes(self) -> int:
        """Of constants in all."""
        return sum(item.bytes for item in self.constants)

    @property
    def flash_bytes(self) -> int:
        """About what the check takes, its lists included, on a core with addresses of 32 bits."""
        return _CHECK_BYTES + _ENTRY_BYTES * (len(self.constants) + len(self.pointers))


def checked_parameters(
    name: str, parameters: Parameters, symbol: Callable[[ConstantArray], str]
) -> Iterator[Checked]:
    """What to check of the struct `name`."""
    for (_, outer, is_number), group in groupby(_members(parameters), key=_run_key):
        members = list(group)
        if is_number:
            first = f"{outer}{members[0].name}"
            place = f"(const volatile uint8_t *)&{name} + offsetof({parameters.struct}, {first})"
            yield CheckedBytes(place, _NUMBER_BYTES, b"".join(_number(m.value) for m in members))
            continue
        for member in members:
            target = "NULL" if member.value is None else symbol(_array(member.value))
            yield CheckedPointer(f"&{name}.{outer}{member.name}", target)


@dataclass(frozen=True)
class _Member:
    """A number or a pointer; `outer` is the path of the struct that it is in, which is the
    `visit`th: a struct with pointers may begin and end with padding.
    """

    visit: int
    outer: str
    name: str
    value: int | float | ConstantArray | None


def _run_key(member: _Member) -> tuple[int, str, bool]:
    return member.visit, member.outer, isinstance(member.value, int | float)


def _members(parameters: Parameters) -> list[_Member]:
    found: list[_Member] = []
    visits = 0

    def visit(inner: Parameters, outer: str) -> None:
        nonlocal visits
        for item in inner.fields:
            if isinstance(item.value, Parameters):
                visits += 1
                visit(item.value, f"{outer}{item.name}.")
                visits += 1
            else:
                found.append(_Member(visits, outer, item.name, item.value))

    visit(parameters, "")
    return found


def _array(value: int | float | ConstantArray | None) -> ConstantArray:
    assert isinstance(value, ConstantArray)
    return value


def _number(value: int | float | ConstantArray | None) -> bytes:
    assert isinstance(value, int | float)
    if isinstance(value, float):
        return struct.pack("<f", value)
    return struct.pack("<I", int(value) & 0xFFFFFFFF)


def is_parameter(item: Checked) -> bool:
    """Whether it is of a layer's parameters, `p_3`."""
    at = item.member if isinstance(item, CheckedPointer) else item.at
    return re.search(r"&p_\d", at) is not None


def checked_array(symbol: str, constant: ConstantArray | ArrayView) -> CheckedBytes:
    """All elements of an array."""
    data = constant.data
    little = np.ascontiguousarray(data, data.dtype.newbyteorder("<"))
    return CheckedBytes(symbol, data.dtype.itemsize, little.reshape(-1).view(np.uint8).data)


def checked_tables(header: str) -> Iterator[CheckedBytes]:
    """The tables of a libjit header that stand outside of functions."""
    for bits, symbol, values in _TABLE.findall(header):
        numbers = [int(item.rstrip("u"), 0) for item in re.findall(r"-?\w+", values)]
        mask = (1 << int(bits)) - 1
        width = int(bits) // 8
        data = b"".join((number & mask).to_bytes(width, "little") for number in numbers)
        yield CheckedBytes(symbol, width, data)


def checked_parts(functions: Iterable[str]) -> Iterator[CheckedParts]:
    """The functions that structs beside kernels' C name."""
    for text in functions:
        for struct_name, symbol, members in _PARTS.findall(text):
            yield CheckedParts(symbol, struct_name, tuple(_PART.findall(members)))


def integrity_view(items: Iterable[Checked]) -> IntegrityView:
    """The lists in order, and what the CRC is in the end."""
    everything = tuple(items)
    arrays = [item for item in everything if isinstance(item, CheckedBytes) and item.data]
    crc = 0
    for item in arrays:
        crc = zlib.crc32(item.data, crc)
    return IntegrityView(
        tuple(ConstantView(item.at, len(item.data), item.width) for item in arrays),
        tuple(item for item in everything if isinstance(item, CheckedPointer)),
        tuple(item for item in everything if isinstance(item, CheckedParts)),
        f"0x{crc:08X}u",
    )
