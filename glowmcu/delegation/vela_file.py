"""What Vela writes: a `.tflite` whose custom operator `ethos-u` has the commands as its first
operand, what they read as its second and the memory that they work in as its third.

Where in that memory the other operands and the results lie is in the file's metadata.
Source: TensorFlow Lite Micro, micro/kernels/ethos_u/ethosu.cc and docs/memory_management.md.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from math import prod

import numpy as np

from glowmcu.frontend.tflite.container import ModelRecord, damaged_file, read_container
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass

_OPERATOR = "CUSTOM ethos-u"
_METADATA = b"OfflineMemoryAllocation"
#: Commands, what they read, memory, and fast memory, which is the same here.
_FIRST_INPUT = 4
_HEADER = b"COP1"
#: Driver actions: a configuration of three words, and the stream of commands behind its own.
_CONFIG, _STREAM = 1, 2
#: Commands that set which region an operand, a result, weights or a transfer is in.
#: Source: ethos-u-core-driver, ethosu55_interface.h.
_REGIONS = (0x10F, 0x11F, 0x128, 0x129, 0x130, 0x131, 0x18F)
_INSIDE = 0x100


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
        _bytes(commands.data), _constants(constants.data), int(prod(scratch.shape)),
        _places(model, op.inputs[_FIRST_INPUT:], offsets), _places(model, op.outputs, offsets),
    )  # fmt: skip
    if found.commands[:4].tobytes() != _HEADER:
        raise ValueError(f"its commands begin with {found.commands[:4].tobytes()!r}")
    _expect_regions(found.commands)
    return found


def _expect_regions(commands: Array) -> None:
    """Raise ValueError for commands that address more than what the driver is given: constants,
    memory, and that again as fast memory.

    A word of 16 bits is what a command is, one of 16 its argument; those of 0x4000 and more have a
    word of 32 bits behind them. Memory inside of the device has a bit of its own.
    """
    words = np.frombuffer(commands[: commands.size & ~3].tobytes(), "<u4").tolist()
    at = 1
    while at < len(words) and words[at] & 0xFF != _STREAM:
        at += 3 if words[at] & 0xFF == _CONFIG else 1
    at += 1
    while at < len(words):
        code, argument = words[at] & 0xFFFF, words[at] >> 16
        if code in _REGIONS and not argument & _INSIDE and argument not in (0, 1, 2):
            raise ValueError(f"a command addresses region {argument}")
        at += 2 if code & 0x4000 else 1


def _bytes(data: memoryview | None) -> Array:
    return np.frombuffer(data if data is not None else b"", np.uint8)


def _constants(data: memoryview | None) -> Array:
    """Something, even of regions that read nothing."""
    found = _bytes(data)
    return found if found.size else np.zeros(16, np.uint8)


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
