"""What an export of ours says beyond TOSA, read back: `glowmcu.node` and `glowmcu.graph`.

Nothing here is trusted: what cannot be read is as if it were not there, and what can is compared
with the operations that it stands for (`recognize.py`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tosa.records import GraphNote, Origin
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.operation import Operation, Rounding
from glowmcu.ir.text.fields import FieldError, FieldReader
from glowmcu.ir.text.graph_text import RULE_ERRORS
from glowmcu.ir.text.scanner import Scanner
from glowmcu.ir.text.type_text import parse_type
from glowmcu.ir.types import TensorType
from glowmcu.ops.registry import load_operations

_UNREADABLE = (*RULE_ERRORS, FieldError, GlowmcuError, KeyError, OverflowError)
#: Operations that one node may be.
_LONGEST = 1000
_LONGEST_NAME = 1000


def graph_note(found: object, file_name: str) -> GraphNote | None:
    """The function's attribute; None if there is none, or none that can be read."""
    if not isinstance(found, dict):
        return None
    try:
        states = tuple(_list(found["states"]))
        if not all(isinstance(data, np.ndarray) for data in states):
            return None
        return GraphNote(
            _text(found["name"]),
            Rounding(found["rounding"]),
            tuple(map(_text, _list(found["inputs"]))),
            _types(found["types"]),
            states,
            {_text(key): _text(text) for key, text in found["metadata"].items()},
        )
    except _UNREADABLE:
        return None


def origin_of(found: object) -> Origin | None:
    """An operation's attribute, as `graph_note`."""
    if not isinstance(found, dict):
        return None
    try:
        name, *names = map(_text, _list(found["names"]))
        inputs, outputs = _types(found["inputs"]), _types(found["outputs"])
        results, reads = names[: len(outputs)], names[len(outputs) :]
        node = Node(
            _operation(found["op"]),
            tuple(Value(type_, called) for type_, called in zip(inputs, reads, strict=True)),
            tuple(Value(type_, called) for type_, called in zip(outputs, results, strict=True)),
            name,
            _text(found["source"]),
        )
        operands, places = _numbers(found["operands"]), _numbers(found["results"])
        length = found["length"]
        fits = len(operands) == len(inputs) and len(places) == len(outputs) and places
        if type(length) is not int or not 0 < length <= _LONGEST or not fits:
            return None
        return Origin(length, operands, places, node)
    except _UNREADABLE:
        return None


def _operation(found: dict[str, Any]) -> Operation:
    reader = FieldReader(load_operations())
    attributes = {key: item for key, item in found.items() if key != "op"}
    return reader.build(reader.operation_class(found["op"]), attributes, found["op"])


def _types(found: object) -> tuple[TensorType, ...]:
    types = []
    for text in _list(found):
        scanner = Scanner(_text(text, 1 << 20), "a note")
        types.append(parse_type(scanner, {}))
        if scanner.position != len(scanner.text) or math.prod(types[-1].shape) > 1 << 31:
            raise ValueError(text)
    return tuple(types)


def _list(found: object) -> list[Any]:
    if not isinstance(found, list):
        raise TypeError(found)
    return found


def _text(found: object, longest: int = _LONGEST_NAME) -> str:
    if not isinstance(found, str) or len(found) > longest:
        raise TypeError(found)
    return found


def _numbers(found: object) -> tuple[int, ...]:
    numbers = _list(found)
    if not all(type(number) is int and 0 <= number < _LONGEST for number in numbers):
        raise TypeError(found)
    return tuple(numbers)
