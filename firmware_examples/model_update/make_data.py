"""Data of the model update example.

Usage: make_data.py retrained digits_int8.tflite OUT.tflite
       make_data.py image FIRMWARE.elf OTHER.elf OUT.bin

`retrained` writes the next version of the model: it stands for one that was trained again. `image`
writes what is flashed of FIRMWARE: its model's header and constants. That is refused where OTHER,
which is in the field, does not have the same code.
"""

from __future__ import annotations

import struct
import sys
import zlib
from pathlib import Path

import numpy as np
from elftools.elf.elffile import ELFFile
from tflite.BuiltinOperator import BuiltinOperator
from tflite.Model import Model

#: As in model.h: magic, version, bytes of constants, their CRC, the CRC of the code.
HEADER = struct.Struct("<5I")
#: The class that the new version is less ready to see, and by how many accumulator steps.
CLASS, STEPS = 8, -2000


def retrained(source: Path, target: Path) -> None:
    """The same network with another bias in its last dense layer."""
    data = bytearray(source.read_bytes())
    model = Model.GetRootAs(data, 0)
    graph = model.Subgraphs(0)
    operators = [graph.Operators(i) for i in range(graph.OperatorsLength())]
    codes = [model.OperatorCodes(item.OpcodeIndex()).BuiltinCode() for item in operators]
    dense = operators[codes.index(BuiltinOperator.FULLY_CONNECTED)]
    bias = model.Buffers(graph.Tensors(dense.Inputs(2)).Buffer()).DataAsNumpy()
    bias.view(np.int32)[CLASS] += STEPS
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)


def section(elf: Path, name: str) -> bytes:
    """The content of a section of an ELF file."""
    with elf.open("rb") as file:
        content: bytes = ELFFile(file).get_section_by_name(name).data()
    return content


def image(source: Path, other: Path, target: Path) -> None:
    """The section `.model` with its header completed; the firmware checks the same figures."""
    code, model = section(source, ".text"), section(source, ".model")
    if section(other, ".text") != code:
        raise SystemExit(f"{source} needs other code than {other}: flash the whole firmware")
    magic, version, *_ = HEADER.unpack_from(model)
    constants = model[HEADER.size :]
    header = HEADER.pack(magic, version, len(constants), zlib.crc32(constants), zlib.crc32(code))
    target.write_bytes(header + constants)


if __name__ == "__main__":
    {"retrained": retrained, "image": image}[sys.argv[1]](*map(Path, sys.argv[2:]))
