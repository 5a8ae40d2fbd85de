"""A node in C, as data: which function with which constants. Made by `kernels`, read by `emit_c`.

Calls look alike for all kernels:

    function([&params,] operands…, results…[, scratch][, first_row, end_row]);
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Any

from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass


class Coding(Enum):
    """How an array that is decoded to scratch is stored: see `glowmcu.ir.coding`."""

    COPY = "copy"
    NIBBLES = "nibbles"
    ENTROPY = "entropy"


@dataclass(frozen=True, eq=False)
class ConstantArray:
    """A constant of the bundle: `name` says what it is (`weights`, `bias`), data as C stores it.

    By a `coding` the data is that of an array of `unpacked_bytes`.
    """

    name: str
    data: Array
    comment: str = ""
    coding: Coding | None = None
    unpacked_bytes: int = 0


@dataclass(frozen=True)
class Field:
    """A member of a kernel's parameter struct, in the struct's order.

    None is a null pointer, `Parameters` a struct in the struct. `note` stands beside a number that
    does not say by itself what it is.
    """

    name: str
    value: int | float | ConstantArray | Parameters | None
    note: str = ""


@dataclass(frozen=True)
class Parameters:
    """The constant struct that describes one layer to a libjit function."""

    struct: str
    fields: tuple[Field, ...]

    @property
    def constants(self) -> tuple[ConstantArray, ...]:
        """Arrays that the fields point to."""
        arrays: list[ConstantArray] = []
        for item in self.fields:
            if isinstance(item.value, ConstantArray):
                arrays.append(item.value)
            elif isinstance(item.value, Parameters):
                arrays.extend(item.value.constants)
        return tuple(arrays)


@dataclass(frozen=True)
class Overlap:
    """Where result 0 may start while the kernel still reads an operand (in a whole-layer call).

    Safe is a result that starts `least_gap_bytes` or more below the operand (negative: it may even
    start above it), and one that shares no byte with it. None: only the latter. Exactly
    `only_gap_bytes` below is safe, too, if less than the former; 0 is in place.
    """

    least_gap_bytes: int | None
    only_gap_bytes: int | None = None

    def is_kept(self, gap_bytes: int) -> bool:
        """Whether a result that shares bytes may start so far below the operand."""
        if gap_bytes == self.only_gap_bytes:
            return True
        return self.least_gap_bytes is not None and gap_bytes >= self.least_gap_bytes


@dataclass(frozen=True)
class StagedWeights:
    """The array `field` of the parameters is copied to the scratch before the kernel is called,
    which reads it there: `size_bytes` up to `end_bytes`, and behind them the parameters that point
    to it. The kernel's own scratch has `own_bytes`. By a `coding` that is no copy the array of the
    parameters is what flash holds, `stored_bytes`, and is decoded. A copy that is `prefetched`
    begins while the step before runs.
    """

    field: str
    own_bytes: int
    size_bytes: int
    end_bytes: int
    coding: Coding = Coding.COPY
    stored_bytes: int = 0
    prefetched: bool = False

    @property
    def header(self) -> str:
        """The header of libjit with the function that copies or decodes at once."""
        kind = "" if self.coding is Coding.COPY else f"_{self.coding.value}"
        return f"glowmcu_stage{kind}.h"


@dataclass(frozen=True)
class PixelShuffle:
    """The function computes another image, `at_once` of its `rows` at a time, to the beginning of
    the scratch; its own scratch, `own_bytes`, is behind these `rows_bytes`. Its pixels are blocks
    of the result, `strides` pixels each, whose first lies `above` and `left` pixels outside of it.
    It reads rows of the input that begin `before` rows above its own.
    """

    rows: int
    at_once: int
    before: int
    strides: tuple[int, int]
    above: int
    left: int
    width: int
    rows_bytes: int
    own_bytes: int


@dataclass(frozen=True, eq=False)
class KernelCode:
    """A node in C.

    Either `function` of libjit header `header`, or a function rendered from
    `templates/kernels/<template>` with `view`: with `parameters` it is shared by all layers that
    name the same `function` (`glowmcu.ir.function_names`: equal ones mean equal text), without it
    is this layer's alone. `operands` are the node inputs
    that are passed as pointers: the rest is inside the constants. `rows` > 0: the function computes
    output rows `[first_row, end_row)` of `rows`; its pointers are to the first rows that these are
    made of (`Operation.input_rows`) and to row `first_row` of the result, so that no other rows
    need to exist. `accumulates`: `rows` are operand 0's instead; any split of them in ascending
    order is one run, in which the scratch is kept: row 0 begins it, the call that ends at `rows`
    writes the results. `batches` > 1: it is called once a batch item,
    with the item's part of each operand but all of the `whole_operands` (weights).
    `operand_align` is what the pointers must be multiples of, beyond their element's size.
    `overlaps` says for operands, by position, which bytes result 0 may share with them.
    `can_fail`: it returns a number, not 0 where the run has to stop.
    `shuffle`: the function computes blocks of pixels, which are then put where they belong.
    `weight_passes`: how often a call for all rows and batch items reads the largest array of the
    parameters from its beginning to its end; 0 if nobody has counted.
    """

    function: str
    operands: tuple[int, ...]
    header: str = ""
    parameters: Parameters | None = None
    template: str = ""
    view: Mapping[str, Any] = field(default_factory=dict)
    rows: int = 0
    accumulates: bool = False
    batches: int = 1
    whole_operands: tuple[int, ...] = ()
    scratch_bytes: int = 0
    operand_align: int = 1
    overlaps: Mapping[int, Overlap] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    weight_passes: float = 0.0
    staged: StagedWeights | None = None
    shuffle: PixelShuffle | None = None
    can_fail: bool = False

    @property
    def is_shared(self) -> bool:
        """Whether the function is rendered once for all layers that name it."""
        return bool(self.template) and self.parameters is not None

    @property
    def has_scratch(self) -> bool:
        """Whether the function takes a pointer to scratch."""
        own = self.scratch_bytes if self.staged is None else self.staged.own_bytes
        return own > 0

    @property
    def constants(self) -> tuple[ConstantArray, ...]:
        """Arrays that the parameters point to, or that the template names."""
        pointed = self.parameters.constants if self.parameters else ()
        named = tuple(value for value in self.view.values() if isinstance(value, ConstantArray))
        return pointed + named


class RowCall(Enum):
    """How a kernel is called for one row."""

    #: With `[y, y + 1)`: rows of the result.
    RANGE = "range"
    #: As the kernel of a tensor with one row.
    WHOLE = "whole"
    #: With `[y, y + 1)`: rows of the operand; the last one writes the result.
    ACCUMULATE = "accumulate"


@dataclass(frozen=True)
class RowRule:
    """Which of an operand's `rows` row y needs: `[y * stride - before, … + extent)`, clipped."""

    stride: int
    before: int
    extent: int
    rows: int

    def first(self, y: int) -> int:
        """The first of them."""
        return min(max(0, y * self.stride - self.before), self.rows)

    def end(self, y: int) -> int:
        """The row after the last of them."""
        return min(max(0, y * self.stride - self.before + self.extent), self.rows)

    @property
    def is_same_row(self) -> bool:
        """Row y needs row y alone."""
        return (self.stride, self.before, self.extent) == (1, 0, 1)


@dataclass(frozen=True)
class RowSupport:
    """How `kernel` computes row after row, in `turns` calls.

    `rules` are for its pointer operands, `overlaps` (by position) what one row of its result may
    share with one row of an operand.
    """

    call: RowCall
    turns: int
    rules: tuple[RowRule, ...]
    scratch_bytes: int = 0
    overlaps: Mapping[int, Overlap] = field(default_factory=dict)
    kernel: str = ""
