"""Bytes of code that a bundle adds to a firmware, for little: what every compilation asks.

Only the file with the code is compiled. Its constants, which take a compiler far longer, are
symbols far from the code, and room for them is left in front of the C library: so a linker for
RISC-V makes instructions as short as it would otherwise, and no shorter.
"""

from __future__ import annotations

import re
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path

from glowmcu.verify.toolchain import (
    PLACED_SECTION,
    TEXT_SECTION,
    build_elf,
    compile_object,
    size_script,
)

_CONSTANT = re.compile(r"\bextern const \w+ (\w+)\[")
#: Not near the code, and no address that a short instruction holds.
_CONSTANTS_AT = 0x08800000
#: ELF of 32 bits, low byte first: where its section headers begin, their size, number, names.
_HEADER = struct.Struct("<32xI10xHHH")
#: Of a section header: offset of the name, offset and size of what the section holds.
_SECTION = struct.Struct("<I12xII16x")


def text_sizes(
    folder: Path,
    name: str,
    core_flags: Sequence[str],
    entries: Sequence[str],
    constant_bytes: int,
    code_sections: Sequence[str] = (),
) -> tuple[int, tuple[int, ...]]:
    """What `entries` reach of the bundle `name` in `folder`: bytes of code in all, and of them
    those in each of `code_sections`. `constant_bytes` are its weights'. Raises as `build_elf`.
    """
    with tempfile.TemporaryDirectory(prefix="glowmcu_size_") as scratch:
        script, code = Path(scratch, "size.ld"), Path(scratch, "code.bundle.o")
        header = (folder / f"{name}_weights.h").read_text(encoding="utf-8")
        constants = "".join(
            f"{symbol} = {_CONSTANTS_AT};\n" for symbol in _CONSTANT.findall(header)
        )
        rest = size_script(entries, code_sections, constant_bytes)
        script.write_text(constants + rest, encoding="utf-8")
        compile_object(folder / f"{name}.c", [folder], core_flags, code)
        elf = build_elf([code], (), core_flags, Path(scratch, "size.elf"), script)
        sizes = section_sizes(elf.read_bytes())
    placed = tuple(sizes.get(f"{PLACED_SECTION}{at}", 0) for at in range(len(code_sections)))
    return sizes.get(TEXT_SECTION, 0) + sum(placed), placed


def section_sizes(elf: bytes) -> dict[str, int]:
    """Bytes of each section of a 32-bit ELF, which our own linker run has just written."""
    start, entry_bytes, count, names_index = _HEADER.unpack_from(elf)
    sections = [_SECTION.unpack_from(elf, start + at * entry_bytes) for at in range(count)]
    _, names_at, names_bytes = sections[names_index]
    names = elf[names_at : names_at + names_bytes]
    return {names[at : names.index(0, at)].decode(): size for at, _, size in sections}
