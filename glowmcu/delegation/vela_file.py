"""What Vela writes: a `.tflite` whose custom operator `ethos-u` has the commands as its first
operand, what they read as its second and the memory that they work in as its third.

Where in that memory the other operands and the results lie is in the file's metadata.
Source: TensorFlow Lite Micro, micro/kernels/ethos_u/ethosu.cc and docs/memory_management.md.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
import tflite

from glowmcu.frontend.tflite.container import ModelRecord, damaged_file, read_container
from glowmcu.ir.operation import Array

_OPERATOR = "CUSTOM ethos-u"
_METADATA = b"OfflineMemoryAllocation"
#: Commands, what they read, memory, and fast memory, which is the same here.
_FIRST_INPUT = 4
_HEADER = b"COP1"


@dataclass(frozen=True)
class VelaRegion:
    """A region of one call: offsets in `scratch_bytes` by the names of its inputs and outputs."""

    commands: Array
    constants: Array
    scratch_bytes: int
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]


def left_on_core(data: bytes, file_name: str) -> list[str]:
    """Names of the results of operators that Vela left as they are. Raises GM101."""
    model = read_container(data, file_name)
    return [model.tensors[op.outputs[0]].name for op in model.operators if op.name != _OPERATOR]


def read_region(data: bytes, file_name: str) -> VelaRegion:
    """Raises GM101 for a damaged file, ValueError for one that is no single region."""
    model = read_container(data, file_name)
    if len(model.operators) != 1:
        raise ValueError(f"it has {len(model.operators)} operators in place of one")
    (op,) = model.operators
    if op.name != _OPERATOR or len(op.inputs) < _FIRST_INPUT:
        raise ValueError(f"it has the operator {op.name} of {len(op.inputs)} operands")
    commands, constants, scratch, fast = (model.tensors[at] for at in op.inputs[:_FIRST_INPUT])
    if scratch is not fast and int(prod(fast.shape)):
        raise ValueError("it works in two memories")
    with damaged_file(file_name, len(data)):
        offsets = _offsets(data, len(model.tensors))
    found = VelaRegion(
        _bytes(commands.data), _bytes(constants.data), int(prod(scratch.shape)),
        _places(model, op.inputs[_FIRST_INPUT:], offsets), _places(model, op.outputs, offsets),
    )  # fmt: skip
    if found.commands[:4].tobytes() != _HEADER or not found.constants.size:
        raise ValueError(f"its commands begin with {found.commands[:4].tobytes()!r}")
    return found


def _bytes(data: memoryview | None) -> Array:
    return np.frombuffer(data if data is not None else b"", np.uint8)


def _places(
    model: ModelRecord, numbers: tuple[int, ...], offsets: tuple[int, ...]
) -> dict[str, int]:
    places = {model.tensors[number].name: offsets[number] for number in numbers}
    for name, offset in places.items():
        if offset < 0:
            raise ValueError(f"tensor {name} has no place")
    return places


def _offsets(data: bytes, count: int) -> tuple[int, ...]:
    """By tensor: an int32 each, after a version, a number of subgraphs and that of tensors."""
    model = tflite.Model.GetRootAs(data, 0)
    for index in range(model.MetadataLength()):
        item = model.Metadata(index)
        if item.Name() == _METADATA and item.Buffer() < model.BuffersLength():
            stored = model.Buffers(item.Buffer()).DataAsNumpy().tobytes()
            _, _, tensors, *found = struct.unpack(f"<{len(stored) // 4}i", stored)
            if tensors == count == len(found):
                return tuple(found)
    raise ValueError("it says of no tensor where it lies")
