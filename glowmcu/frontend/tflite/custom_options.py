"""Options of custom operators: whole numbers by name, all that an operator has and no other."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.flexbuffer import read_numbers
from glowmcu.frontend.tflite.importer import Import, Unsupported
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType, TensorType

_TYPES = {
    tflite.TensorType.INT16: ElementType.I16,
    tflite.TensorType.INT32: ElementType.I32,
    tflite.TensorType.FLOAT32: ElementType.F32,
}


def whole_options(op: OperatorRecord, *names: str) -> dict[str, int]:
    """The options `names`. Raises GM128 for one that is missing, not whole or unknown.

    Names must be all that there are: TensorFlow Lite Micro counts options, in the order of their
    names, so that one more would make it read others.
    """
    found = read_numbers(op.custom_options)
    if sorted(found) != sorted(names):
        given = ", ".join(name[:40] for name in sorted(found)) or "none"
        raise Unsupported(
            "GM128",
            f"{op.name} has the options {given}; expected {', '.join(sorted(names)) or 'none'}",
            "was it written for another version of TensorFlow Lite Micro's signal library?",
        )
    whole = {name: value for name, value in found.items() if isinstance(value, int)}
    if len(whole) != len(found):
        odd = next(name for name in found if name not in whole)
        raise Unsupported("GM128", f"{op.name}: {odd} is {found[odd]!r}, not a whole number")
    return whole


def expect_stated_type(op: OperatorRecord, stated: int, x: Value) -> None:
    """GM128 unless the option `T` names the operand's type, by which TFLM chooses its kernel."""
    if _TYPES.get(stated) is not x.type.element:
        raise Unsupported("GM128", f"{op.name}: T is tensor type {stated}, its operand {x.type}")


def new_state(state: Import, op: OperatorRecord, what: str, type_: TensorType, fill: int) -> Value:
    """Something that the operator keeps from run to run; all of it begins as `fill`."""
    name = f"{state.model.tensors[op.outputs[0]].name}/{what}"
    state.builder.afford(type_.shape, type_.element.size_bytes, "a state")
    initial = np.full(type_.shape, fill, type_.element.numpy)
    return state.builder.add_state(name, type_, initial)
