"""Bytes that a bundle's code and its layers' parameters add to a firmware: for little, since every
compilation asks.

Only the file with the code is compiled. The weights, which take a compiler far longer, are
symbols far from the code, and room for them is left in front of the C library: so a linker for
RISC-V makes instructions as short as it would otherwise, and no shorter.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path

from glowmcu.user_cache import user_cache
from glowmcu.verify.toolchain import (
    CONSTANTS_SECTION,
    PLACED_SECTION,
    TEXT_SECTION,
    build_elf,
    compile_flags,
    compile_object,
    find_gcc,
    size_script,
)

_CONSTANT = re.compile(r"\bextern const \w+ (\w+)[\[;]")
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
    """What `entries` reach of the bundle `name` in `folder`: bytes of code and layers' parameters
    in all, and of them those in each of `code_sections`. `constant_bytes` are its weights'. Raises
    as `build_elf`.

    Asked again about the same C, as after a training that changed constants alone, the answer is
    that in the user's cache.
    """
    script = _script(folder, name, entries, constant_bytes, code_sections)
    known, key = user_cache("code_sizes", ""), _key(folder, name, core_flags, script)
    answer = known.load(key) if known is not None else None
    sizes = json.loads(answer) if answer is not None else None
    if sizes is None:
        sizes = _measured(folder, name, core_flags, script)
        if known is not None:
            known.store(key, json.dumps(sizes).encode())
    placed = tuple(sizes.get(f"{PLACED_SECTION}{at}", 0) for at in range(len(code_sections)))
    return sizes.get(TEXT_SECTION, 0) + sizes.get(CONSTANTS_SECTION, 0) + sum(placed), placed


def _script(
    folder: Path,
    name: str,
    entries: Sequence[str],
    constant_bytes: int,
    code_sections: Sequence[str],
) -> str:
    header = (folder / f"{name}_weights.h").read_text(encoding="utf-8")
    constants = "".join(f"{symbol} = {_CONSTANTS_AT};\n" for symbol in _CONSTANT.findall(header))
    return constants + size_script(entries, code_sections, constant_bytes)


def _key(folder: Path, name: str, core_flags: Sequence[str], script: str) -> str:
    """A digest of what the sizes depend on: the C, the flags, the cross compiler, the script."""
    gcc = find_gcc(core_flags)
    made_by = (str(gcc), gcc.stat().st_size, gcc.stat().st_mtime_ns) if gcc is not None else ()
    flags = compile_flags((), core_flags)
    digest = hashlib.sha256(json.dumps([name, flags, script, made_by]).encode())
    for file in sorted([*folder.glob("*.h"), folder / f"{name}.c"]):
        content = file.read_bytes()
        digest.update(f"{file.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _measured(folder: Path, name: str, core_flags: Sequence[str], script: str) -> dict[str, int]:
    """Bytes by section."""
    with tempfile.TemporaryDirectory(prefix="glowmcu_size_") as scratch:
        script_file, code = Path(scratch, "size.ld"), Path(scratch, "code.bundle.o")
        script_file.write_text(script, encoding="utf-8")
        compile_object(folder / f"{name}.c", [folder], core_flags, code)
        elf = build_elf([code], (), core_flags, Path(scratch, "size.elf"), script_file)
        return section_sizes(elf.read_bytes())


def section_sizes(elf: bytes) -> dict[str, int]:
    """Bytes of each section of a 32-bit ELF, which our own linker run has just written."""
    start, entry_bytes, count, names_index = _HEADER.unpack_from(elf)
    sections = [_SECTION.unpack_from(elf, start + at * entry_bytes) for at in range(count)]
    _, names_at, names_bytes = sections[names_index]
    names = elf[names_at : names_at + names_bytes]
    return {names[at : names.index(0, at)].decode(): size for at, _, size in sections}
