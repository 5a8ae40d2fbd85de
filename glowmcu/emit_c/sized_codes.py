"""The code of a layer at all sizes that a run may be given: whether one text can serve them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from glowmcu.emit_c.rendering import render
from glowmcu.emit_c.size_text import SizeText, Uneven, shape_of_text
from glowmcu.ir.kernel_code import ConstantArray, Field, KernelCode, Parameters
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass
from glowmcu.size_forms import OpenSize, size_form

#: Elements of an array that is made on the stack.
_MOST_LOCAL = 96
#: Numbers of a layer that are looked up by the size.
_MOST_TABLES = 4
#: What kernels of a layer have in common at all sizes.
_FIXED = ("function", "header", "template", "operands", "accumulates", "whole_operands",
          "operand_align")  # fmt: skip


@dataclass(frozen=True, eq=False)
class SizedArray:
    """What would be a small constant, but that its numbers depend on the size: a local array."""

    name: str
    data: Array

    def __str__(self) -> str:
        return f"{self.name}_here"


def evened(
    codes: Mapping[int, KernelCode], size: OpenSize, is_loops: bool
) -> dict[int, KernelCode | None]:
    """The codes of a layer by size, with the largest one's constants. Raises Uneven unless one text
    can serve all sizes.

    Of a kernel that `is_loops` and nothing else, the code of most sizes serves those, too, where
    loops fall together: they have none.
    """
    largest = codes[size.largest]
    kept = dict(codes)
    if is_loops:
        shape = _shape(largest)
        kept = {at: code for at, code in codes.items() if _shape(code) == shape}
    for at, code in kept.items():
        for name in _FIXED:
            if getattr(code, name) != getattr(largest, name):
                raise Uneven(f"another {name.replace('_', ' ')} at {size.symbol}={at}")
        if code.scratch_bytes > largest.scratch_bytes:
            raise Uneven(f"more scratch at {size.symbol}={at}")
    views = _together({at: tuple(code.view.values()) for at, code in kept.items()}, size)
    parameters = _together({at: code.parameters for at, code in kept.items()}, size)
    made: dict[int, KernelCode | None] = dict.fromkeys(codes)
    for at, code in kept.items():
        view = dict(zip(code.view, views[at], strict=True))
        made[at] = replace(code, view=view, parameters=parameters[at])
    texts = {at: trial_text(code) for at, code in made.items() if code and code.template}
    if largest.is_shared and len(set(texts.values())) > 1:
        raise Uneven("another function for each size")
    _expect_rules({at: code.parameters for at, code in made.items() if code}, size)
    trial = SizeText(size, "size", lambda array: array.name)
    if texts and not largest.is_shared:
        trial.text(texts)
    return made


def _expect_rules(by_size: Mapping[int, Parameters | None], size: OpenSize) -> None:
    """Raise Uneven where more numbers than a few would have to be looked up by the size."""
    tables = 0
    for values in _numbers(by_size, size.largest):
        tables += len(set(values.values())) > 1 and size_form(values) is None
    if tables > _MOST_TABLES:
        raise Uneven(f"{tables} numbers follow no rule")


def _numbers(by_size: Mapping[int, Parameters | None], largest: int) -> Iterator[dict[int, int]]:
    """Integers of a struct, each by size."""
    whole = by_size[largest]
    for number, item in enumerate(whole.fields if whole is not None else ()):
        values: dict[int, Any] = {
            at: one.fields[number].value for at, one in by_size.items() if one is not None
        }
        if isinstance(item.value, Parameters):
            yield from _numbers(values, largest)
        elif isinstance(item.value, int):
            yield values


def sharing(code: KernelCode, largest: KernelCode) -> KernelCode:
    """The code with constants of the largest size where those begin with its own: of many sizes one
    copy is kept.
    """
    if code.parameters is None or largest.parameters is None:
        return code
    pairs = zip(code.parameters.fields, largest.parameters.fields, strict=False)
    whole = {a.name: b.value for a, b in pairs}
    fields: list[Field] = []
    for item in code.parameters.fields:
        mine, other = item.value, whole.get(item.name)
        if isinstance(mine, ConstantArray) and isinstance(other, ConstantArray):
            mine = other if begins_with(other.data, mine.data) else mine
        fields.append(replace(item, value=mine))
    return replace(code, parameters=replace(code.parameters, fields=tuple(fields)))


def stored(code: KernelCode) -> KernelCode:
    """The code with null pointers for what are local arrays."""
    return replace(code, parameters=code.parameters and _without_local(code.parameters))


def _without_local(parameters: Parameters) -> Parameters:
    fields: list[Field] = []
    for item in parameters.fields:
        value: Any = item.value
        if isinstance(value, Parameters):
            value = _without_local(value)
        fields.append(replace(item, value=None if isinstance(value, SizedArray) else value))
    return replace(parameters, fields=tuple(fields))


def trial_text(code: KernelCode) -> str:
    """A function of a layer, with other names for constants."""

    def named(value: object) -> object:
        if isinstance(value, ConstantArray):
            return value.name
        return tuple(map(named, value)) if type(value) is tuple else value

    view = {key: named(value) for key, value in code.view.items()}
    return render(f"kernels/{code.template}", function="f", in_place=(), **view)


def _shape(code: KernelCode) -> object:
    """What is the same where only numbers differ."""
    fields = code.parameters.fields if code.parameters is not None else ()
    values = (*(item.value for item in fields), *code.view.values())
    arrays = [value.data.shape for value in values if isinstance(value, ConstantArray)]
    kinds = [type(value) for value in values]
    text = shape_of_text(trial_text(code)) if code.template else ()
    return code.function, arrays, kinds, text


def _together(values: Mapping[int, Any], size: OpenSize) -> dict[int, Any]:
    """Values by size, of which constants are the largest one's where those begin with them."""
    largest = values[size.largest]
    if any(type(value) is not type(largest) for value in values.values()):
        raise Uneven("a constant at some sizes only")
    if isinstance(largest, ConstantArray):
        return _arrays(values, largest)
    if isinstance(largest, Parameters):
        if any(value.struct != largest.struct for value in values.values()):
            raise Uneven("other parameters for each size")
        fields = _together(
            {at: tuple(item.value for item in one.fields) for at, one in values.items()}, size
        )
        return {
            at: replace(
                one,
                fields=tuple(
                    replace(item, value=value)
                    for item, value in zip(one.fields, fields[at], strict=True)
                ),
            )
            for at, one in values.items()
        }
    if type(largest) is not tuple or any(len(one) != len(largest) for one in values.values()):
        return dict(values)
    columns = [
        _together({at: one[number] for at, one in values.items()}, size)
        for number in range(len(largest))
    ]
    return {at: tuple(column[at] for column in columns) for at in values}


def _arrays(values: Mapping[int, ConstantArray], largest: ConstantArray) -> dict[int, Any]:
    """The largest for all, of which they are the beginning, or small arrays of their own."""
    if all(begins_with(largest.data, value.data) for value in values.values()):
        return dict.fromkeys(values, largest)
    is_small = largest.data.dtype == np.int32 and largest.data.size <= _MOST_LOCAL
    if is_small and all(value.data.shape == largest.data.shape for value in values.values()):
        flat = {at: value.data.ravel().tolist() for at, value in values.items()}
        if any(
            size_form({at: numbers[place] for at, numbers in flat.items()}) is None
            for place in range(largest.data.size)
        ):
            raise Uneven(f"{largest.name} that follow no rule")
        return {at: SizedArray(largest.name, value.data) for at, value in values.items()}
    raise Uneven(f"other {largest.name} for each size")


def begins_with(largest: Array, data: Array) -> bool:
    """Whether the bytes of `data` are the first of `largest`."""
    mine, whole = data.ravel(), largest.ravel()
    return data.dtype == largest.dtype and mine.tobytes() == whole[: mine.size].tobytes()
