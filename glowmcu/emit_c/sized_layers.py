"""Layers of which a size is given at run time, from what they are in C at each size."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from glowmcu.emit_c.c_text import wrap_items
from glowmcu.emit_c.constant_pool import ConstantPool
from glowmcu.emit_c.contract import libjit_closure
from glowmcu.emit_c.layer_text import LayerText, wrap_call
from glowmcu.emit_c.local_arrays import local_array_bytes
from glowmcu.emit_c.rendering import render
from glowmcu.emit_c.size_text import SizeText, Uneven, shape_of_text
from glowmcu.emit_c.views import StepView
from glowmcu.ir.kernel_code import ConstantArray, Field, KernelCode, Parameters
from glowmcu.ir.operation import Array
from glowmcu.ir.program import Buffer, Program
from glowmcu.size_forms import OpenSize, size_form

_STRUCT = re.compile(r"typedef struct (?:\w+ )?\{(.*?)\} (\w+);", re.DOTALL)
_MEMBER = re.compile(r"(\w+) (\w+);")
#: Of the stack: a number or pointer, an argument more, registers of a function around a call.
_WORD_BYTES, _ARGUMENT_BYTES, _SAVED_BYTES = 4, 8, 32
#: Elements of an array that is made on the stack.
_MOST_LOCAL = 96
#: Numbers of a layer that are looked up by the size.
_MOST_TABLES = 4
#: What kernels of a layer have in common at all sizes.
_FIXED = ("function", "header", "template", "operands", "accumulates", "whole_operands",
          "operand_align")  # fmt: skip


@dataclass(frozen=True, eq=False)
class SizedProgram:
    """A planned program at every size, with the kernels' code by step. `variable` holds the size
    in C. There is no
    code where that of the other sizes serves.
    """

    size: OpenSize
    variable: str
    programs: Mapping[int, Program] = field(repr=False)
    codes: Mapping[int, Sequence[KernelCode | None]] = field(repr=False)


@dataclass(frozen=True, eq=False)
class SizedArray:
    """What would be a small constant, but that its numbers depend on the size: a local array."""

    name: str
    data: Array

    def __str__(self) -> str:
        return f"{self.name}_here"


class SizedSteps:
    """Makes a program's steps serve all sizes. `symbols` are of buffers, by size."""

    def __init__(
        self,
        sized: SizedProgram,
        symbols: Mapping[int, Mapping[Buffer, str]],
        pool: ConstantPool,
    ) -> None:
        self._sized, self._symbols, self._pool = sized, symbols, pool

    def step(self, step: StepView) -> StepView:
        """`step` is that of the largest size."""
        sized, index = self._sized, step.index
        codes = {at: sized.codes[at][index] for at in sized.programs}
        largest = codes[sized.size.largest]
        assert largest is not None
        layers = {
            at: LayerText(
                program, self._symbols[at], self._pool, index, program.runs[index],
                codes[at] or largest, shows_offsets=True,
            )
            for at, program in sized.programs.items()
        }  # fmt: skip
        writer = SizeText(sized.size, sized.variable, lambda array: self._pool.symbol(array, index))
        own = {at: layer for at, layer in layers.items() if codes[at] is not None}
        call = writer.text({at: layer.call() for at, layer in layers.items()})
        return _sized_step(step, own, call.replace(" + 0", ""), writer)


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


def stored(code: KernelCode) -> KernelCode:
    """The code with null pointers for what are local arrays."""
    if code.parameters is None:
        return code
    fields: list[Field] = []
    for item in code.parameters.fields:
        value: Any = item.value
        fields.append(replace(item, value=None) if isinstance(value, SizedArray) else item)
    return replace(code, parameters=replace(code.parameters, fields=tuple(fields)))


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
    if all(_begins_with(largest, value) for value in values.values()):
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


def _begins_with(largest: ConstantArray, value: ConstantArray) -> bool:
    mine, whole = value.data.ravel(), largest.data.ravel()
    same_type = value.data.dtype == largest.data.dtype
    return same_type and mine.tobytes() == whole[: mine.size].tobytes()


def _sized_step(
    step: StepView, layers: Mapping[int, LayerText], call: str, writer: SizeText
) -> StepView:
    """`step`, which is that of the largest size, for all that have `layers`. Raises Uneven."""
    layer = layers[writer.size.largest]
    if layer.code.template and not layer.code.is_shared:
        return _own(step, layers, call, writer)
    if layer.code.parameters is None:
        return replace(step, call=call)
    parameters = {at: one.code.parameters for at, one in layers.items()}
    lines = list(_assignments("p", parameters, layer.code, writer))
    if not lines:
        return replace(step, call=call)
    return _with_parameters(step, layers, lines, writer)


def _local_array(values: Mapping[int, SizedArray], writer: SizeText) -> str:
    """C that makes the array for the size."""
    largest = values[writer.size.largest]
    flat = {at: value.data.ravel().tolist() for at, value in values.items()}
    numbers = [
        writer.number({at: numbers[place] for at, numbers in flat.items()})
        for place in range(largest.data.size)
    ]
    items = wrap_items(numbers, "        ")
    return f"    const int32_t {largest}[{largest.data.size}] = {{\n{items}\n    }};"


def _own(step: StepView, layers: Mapping[int, LayerText], call: str, writer: SizeText) -> StepView:
    """A function of the layer's own takes the size as its last argument."""
    texts = {at: one.definition() for at, one in layers.items()}
    definition = writer.text(texts)
    names = [
        key
        for key, value in layers[writer.size.largest].code.view.items()
        if isinstance(value, SizedArray)
    ]
    arrays = [
        _local_array({at: one.code.view[key] for at, one in layers.items()}, writer)
        for key in names
    ]
    if definition == texts[writer.size.largest] and not arrays:
        return replace(step, call=call)
    if arrays:
        head, body = definition.split("{\n", 1)
        definition = "\n".join([f"{head}{{", *arrays, "", body])
    name = layers[writer.size.largest].function
    return replace(
        step,
        definition=_more_arguments(definition, name, f"int32_t {writer.variable}"),
        call=_more_arguments(call, name, writer.variable),
        sized_bytes=_own_bytes(definition, writer.variable),
    )


def _more_arguments(text: str, function: str, argument: str) -> str:
    """The text with another last argument in the brackets behind the function's name."""
    start = text.index(f"{function}(") + len(function)
    depth = 0
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return f"{text[:place]}, {argument}{text[place:]}"
    raise AssertionError(f"{function} has no closing bracket")


def _assignments(
    place: str, by_size: Mapping[int, Parameters | None], code: KernelCode, writer: SizeText
) -> Iterator[str]:
    """C that sets the members which depend on the size."""
    largest = by_size[writer.size.largest]
    assert largest is not None
    types = _member_types(largest.struct, code)
    for number, item in enumerate(largest.fields):
        values: dict[int, Any] = {
            at: one.fields[number].value for at, one in by_size.items() if one is not None
        }
        if isinstance(item.value, Parameters):
            yield from _assignments(f"{place}.{item.name}", values, code, writer)
        elif isinstance(values[writer.size.largest], SizedArray):
            yield _local_array(values, writer).strip()
            yield f"{place}.{item.name} = {values[writer.size.largest]};"
        elif isinstance(item.value, (int, float)) and len(set(values.values())) > 1:
            text = writer.number({at: _plain(value) for at, value in values.items()})
            type_ = types[item.name]
            cast = "" if type_ in ("int32_t", "float") else f"({type_})"
            yield f"{place}.{item.name} = {cast}{text};"


def _plain(value: int | float) -> int | float:
    return int(value) if isinstance(value, (bool, np.integer)) else value


def _member_types(struct: str, code: KernelCode) -> dict[str, str]:
    """The C type of each member that is a single number."""
    headers = tuple(filter(None, (code.header, *code.view.get("headers", ()))))
    texts = list(libjit_closure(headers).values())
    if code.is_shared:
        texts.append(render(f"kernels/{code.template}", function=code.function, **code.view))
    for text in texts:
        for body, name in _STRUCT.findall(text):
            if name == struct:
                return {member: type_ for type_, member in _MEMBER.findall(body)}
    raise AssertionError(f"{struct} is in none of {', '.join(headers)}")


def _with_parameters(
    step: StepView, layers: Mapping[int, LayerText], lines: list[str], writer: SizeText
) -> StepView:
    """A function around the call, with a copy of the parameters in which the size is set.

    It has each pointer as an argument: where a function that is not inlined makes operand and
    result of one pointer, gcc 12 takes some for functions that write nothing.
    """
    layer = layers[writer.size.largest]
    name, parameters = f"k_{layer.label}", layer.code.parameters
    assert parameters is not None
    pointers = layer.pointers()
    names = [item.name for item in pointers]
    inner = writer.text(
        {at: one.call_of(one.function, ["&p"], names) for at, one in layers.items()}
    )
    declared = [*(item.declaration for item in pointers), f"int32_t {writer.variable}"]
    made = render(
        "bundle/sized_layer.c.j2", name=name, struct=parameters.struct, label=layer.label,
        variable=writer.variable, lines=lines, symbol=writer.size.symbol, call=inner,
        declared=", ".join(declared),
    ).rstrip()  # fmt: skip
    places = {at: [item.text for item in one.pointers()] for at, one in layers.items()}
    given = [
        writer.text({at: texts[number] for at, texts in places.items()}).replace(" + 0", "")
        for number in range(len(pointers))
    ]
    return replace(
        step,
        definition=f"{step.definition}\n\n{made}".strip(),
        call=wrap_call(name, [*given, writer.variable], 4),
        sized_bytes=_struct_bytes(parameters)
        + _SAVED_BYTES
        + local_array_bytes("\n".join(f"    {line}" for line in lines)),
    )


def _own_bytes(definition: str, variable: str) -> int:
    """What numbers take that were literals: an argument, and each that may be kept."""
    return _ARGUMENT_BYTES + _WORD_BYTES * len(re.findall(rf"\b{variable}\b", definition))


def _struct_bytes(parameters: Parameters) -> int:
    """On a core with pointers of four bytes."""
    return sum(
        _struct_bytes(item.value) if isinstance(item.value, Parameters) else _WORD_BYTES
        for item in parameters.fields
    )
