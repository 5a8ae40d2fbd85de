"""Layers of which a size is given at run time, from what they are in C at each size."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from glowmcu.emit_c.c_text import wrap_call, wrap_items
from glowmcu.emit_c.constant_pool import ConstantPool
from glowmcu.emit_c.contract import libjit_closure
from glowmcu.emit_c.layer_text import LayerText
from glowmcu.emit_c.local_arrays import local_array_bytes
from glowmcu.emit_c.rendering import render
from glowmcu.emit_c.size_text import SizeText
from glowmcu.emit_c.sized_codes import SizedArray
from glowmcu.emit_c.views import StepView
from glowmcu.ir.kernel_code import KernelCode, Parameters
from glowmcu.ir.program import Buffer, Program
from glowmcu.lazy_dataclass import dataclass
from glowmcu.size_forms import OpenSize

_STRUCT = re.compile(r"typedef struct (?:\w+ )?\{(.*?)\} (\w+);", re.DOTALL)
_MEMBER = re.compile(r"(\w+) (\w+);")
#: Of the stack: a number or pointer, an argument more, registers of a function around a call.
_WORD_BYTES, _ARGUMENT_BYTES, _SAVED_BYTES = 4, 8, 32


@dataclass(frozen=True, eq=False)
class SizedProgram:
    """A planned program at every size, with the kernels' code by step: none if that of the other
    sizes serves. `variable` holds the size in C.
    """

    size: OpenSize
    variable: str
    programs: Mapping[int, Program] = field(repr=False)
    codes: Mapping[int, Sequence[KernelCode | None]] = field(repr=False)


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
