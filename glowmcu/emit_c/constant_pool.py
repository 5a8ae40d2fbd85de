"""Constants of a bundle: equal arrays are stored once, each with a name that says what it is.

Their order is that of the layers that read them, in each region.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from glowmcu.emit_c.c_text import c_identifier, comment_text
from glowmcu.emit_c.placement_text import section_of
from glowmcu.emit_c.shared_functions import SharedFunctions
from glowmcu.emit_c.views import ArrayView
from glowmcu.interface_options import Weights
from glowmcu.ir.constant_kinds import ConstantKind, constant_kind
from glowmcu.ir.kernel_code import ConstantArray
from glowmcu.ir.types import element_type_of
from glowmcu.lazy_dataclass import dataclass

#: Kernels read bytes of constants as words; an element as wide as it is.
_LEAST_ALIGN = 4
#: Characters of an external name that C99 (5.2.4.1) promises to tell apart; of a tensor's name so
#: many are kept in any case.
_SIGNIFICANT, _LEAST = 31, 8


@dataclass(frozen=True)
class ConstantPart:
    """Of a step's constants: bytes in flash of one kind and coding ("" for none), and decoded."""

    kind: str
    coding: str
    bytes: int = 0
    unpacked_bytes: int = 0


class ConstantPool:
    """Arrays in order of first use; `size_bytes` is what they take. `regions` says by step where
    they go: that of the first step that reads them.

    See `read_by_device` for what a region of an accelerator reads. `functions` are those that
    layers share: who writes a layer asks here for all names of the bundle.
    """

    def __init__(
        self,
        bundle_name: str,
        regions: Sequence[str] = (),
        weights: Weights = Weights.LINKED,
        functions: SharedFunctions | None = None,
    ) -> None:
        self.bundle_name = bundle_name
        self.weights = weights
        self.functions = functions or SharedFunctions()
        self._region_of_step = regions
        self._regions: dict[str, str] = {}
        self._symbols: dict[tuple[object, ...], str] = {}
        self._arrays: dict[str, ConstantArray] = {}
        self.size_bytes = 0
        self._of_step: dict[int, list[ConstantArray]] = {}
        self._unless, self._least_align = "", 1
        self._absent: dict[str, str] = {}
        self._align: dict[str, int] = {}

    def symbol(self, constant: ConstantArray, step: int, inner: str = "") -> str:
        """The C name of `constant`, which step `step` reads, there the layer `inner` of a body."""
        content = hashlib.sha256(np.ascontiguousarray(constant.data).data).digest()
        key: tuple[object, ...] = constant.data.dtype.str, content
        if self.weights is Weights.POINTER:  # what is equal in this model need not be in the next
            key = (*key, step, inner, constant.name)
        if key not in self._symbols:
            symbol = self._new_symbol(c_identifier(constant.name) or "constant", step)
            self._symbols[key] = symbol
            self._arrays[symbol] = constant
            self._regions[symbol] = self._region_of_step[step] if self._region_of_step else ""
            self._absent[symbol] = self._unless
            if not self._unless:
                self._count(constant, step)
        found = self._symbols[key]
        self._align[found] = max(self._align.get(found, 1), self._least_align)
        if self._absent[found] and self._absent[found] != self._unless:
            self._absent[found] = ""
            self._count(constant, step)
        return found

    def _new_symbol(self, word: str, step: int) -> str:
        """A name that differs from the others' in what every linker looks at, if the bundle's own
        name leaves room for that.
        """
        prefix = f"{self.bundle_name}_w{step}_"
        room = max(_SIGNIFICANT - len(prefix), _LEAST)
        tail, number = word, 1
        while (symbol := prefix + tail[-room:].strip("_")) in self._arrays:
            number += 1
            tail = f"{word}_{number}"
        return symbol

    @contextmanager
    def read_by_device(self, align: int, unless: str = "") -> Iterator[None]:
        """What is asked for meanwhile lies at multiples of `align`. With `unless` it is there only
        where that macro is not defined, if nobody else reads it; such arrays count nothing.
        """
        self._unless, self._least_align = unless, align
        try:
            yield
        finally:
            self._unless, self._least_align = "", 1

    def _count(self, constant: ConstantArray, step: int) -> None:
        """In flash for this step."""
        self.size_bytes += int(constant.data.nbytes)
        self._of_step.setdefault(step, []).append(constant)

    def parts(self, step: int) -> tuple[ConstantPart, ...]:
        """Of the arrays that this step is the first to read, by kind in the order of kinds."""
        found: dict[tuple[str, str], ConstantPart] = {}
        for array in self._of_step.get(step, ()):
            key = constant_kind(array.name).value, array.coding.value if array.coding else ""
            known = found.get(key, ConstantPart(*key))
            size = int(array.data.nbytes)
            found[key] = ConstantPart(
                *key, known.bytes + size, known.unpacked_bytes + (array.unpacked_bytes or size)
            )
        order = [kind.value for kind in ConstantKind]
        return tuple(sorted(found.values(), key=lambda part: order.index(part.kind)))

    def linked(self, symbol: str) -> str:
        """Where the constant is in the firmware, an address that a linker knows."""
        if self.weights is Weights.LINKED:
            return symbol
        return f"{self.bundle_name}_weights.{symbol.removeprefix(f'{self.bundle_name}_')}"

    def arrays(self) -> Iterable[tuple[str, ConstantArray]]:
        """Those that are there in any case and not empty, with their C names, in the order of
        `views`.
        """
        return (
            (symbol, array)
            for symbol, array in self._arrays.items()
            if array.data.size and not self._absent[symbol]
        )

    def views(self) -> tuple[ArrayView, ...]:
        """What the weights file prints. C has no empty arrays, so an empty one gets an element."""
        return tuple(
            replace(
                array_view(symbol, constant, self._regions[symbol], self._macro(symbol)),
                align=max(_align_of(constant), self._align[symbol]),
                unless=self._absent[symbol],
            )
            for symbol, constant in self._arrays.items()
        )

    def _macro(self, symbol: str) -> str:
        region = self._regions[symbol]
        if not region:
            return f"{self.bundle_name.upper()}_WEIGHTS_SECTION"
        return section_of(self.bundle_name, "weights", region).macro


def array_view(
    symbol: str, constant: ConstantArray, region: str = "", section_macro: str = ""
) -> ArrayView:
    """The array as C prints it."""
    data = constant.data
    shape = "x".join(map(str, data.shape)) or "1"
    comment = f"{data.dtype}[{shape}]{f'  {constant.comment}' if constant.comment else ''}"
    return ArrayView(
        symbol,
        element_type_of(data.dtype).c_name,
        max(int(data.size), 1),
        data,
        comment_text(comment),
        int(data.nbytes),
        _align_of(constant),
        section_macro,
        region,
    )


def _align_of(constant: ConstantArray) -> int:
    return max(_LEAST_ALIGN, constant.data.itemsize)
