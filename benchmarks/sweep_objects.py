"""Whether the layers of a sweep are the same machine code in two checkouts.

    python -m benchmarks.sweep --same-as ../another-checkout

Types, names and macros of the C may change without an instruction changing; a sweep of the one
text is then a sweep of the other. Every function by itself is compared, for the core and for this
computer: its bytes, and what it refers to by that one's bytes, not by its name. What a bundle has
beside kernels is not.

As a program it is run in either checkout, with that one's `benchmarks` and `glowmcu`: it reads
entries of `sweep.json` and prints a digest of each.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection

if TYPE_CHECKING:
    from benchmarks.sweep_page import Entry

_FLAGS = ("-std=c99", "-O2", "-fno-inline", "-fno-ipa-icf", "-c", "-w")
#: Of a bundle called `m`: its own functions, which are no kernels.
_BUNDLE = "m_"
_ARRAY = re.compile(r"=\{(.*?)\};")


def same_code(entries: Sequence[Entry], other: Path) -> list[Entry]:
    """The entries whose first layers are the same machine code in this checkout and in `other`."""
    here = Path(__file__).resolve().parents[1]
    with ThreadPoolExecutor(2) as pool:
        mine, others = pool.map(partial(_digests, entries), (here, other.resolve()))
    return [entry for entry, a, b in zip(entries, mine, others, strict=True) if a == b != ""]


def _digests(entries: Sequence[Entry], checkout: Path) -> list[str]:
    given = json.dumps([asdict(entry) for entry in entries])
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    done = subprocess.run(
        [sys.executable, __file__], input=given, env=environment, cwd=checkout,
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return list(json.loads(done.stdout))


def _digest(entry: Mapping[str, Any]) -> str:
    """Of the functions that the entry's first layers become; nothing if they cannot be built."""
    from benchmarks.random_layers import random_model
    from benchmarks.sweep_image import build_image
    from glowmcu.cores import core
    from glowmcu.errors import GlowmcuError
    from glowmcu.goals import Goal
    from glowmcu.verify.toolchain import find_gcc, library_flags, missing

    data = random_model(entry["family"], entry["seed"], entry["first"])
    try:
        random = np.random.default_rng(0)
        image = build_image(data, entry["core"], entry["variant"], Goal.BALANCED, random)
    except GlowmcuError:
        return ""
    flags = core(entry["core"]).flags
    gcc = find_gcc(flags)
    assert gcc is not None, missing(flags)
    commands = ((str(gcc), *flags, *(library_flags(gcc) or ())), ("gcc",))
    with tempfile.TemporaryDirectory() as folder:
        for name, text in image.files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        found = [line for command in commands for line in _functions(command, Path(folder))]
        found += _ARRAY.findall("".join(image.files["m_weights.c"].split()))
    return hashlib.sha256("\n".join(found).encode()).hexdigest()


def _functions(command: Sequence[str], folder: Path) -> list[str]:
    """What the compiler makes of the bundle's functions and tables, without their names."""
    compiled = folder / "m.o"
    subprocess.run(
        [*command, *_FLAGS, str(folder / "m.c"), "-I", str(folder), "-o", str(compiled)],
        check=True,
    )
    with compiled.open("rb") as file:
        elf = ELFFile(file)
        symbols = [symbol for symbol in _symbols(elf) if symbol["st_size"]]
        kept = [symbol for symbol in symbols if not symbol.name.startswith(_BUNDLE)]
        bytes_of = {symbol.name: _bytes(elf, symbol) for symbol in symbols}
        lines = [
            f"{bytes_of[symbol.name].hex()} {' '.join(_references(elf, symbol, bytes_of))}"
            for symbol in kept
        ]
    return sorted(lines)


def _symbols(elf: ELFFile) -> list[Any]:
    (table,) = (s for s in elf.iter_sections() if s.header["sh_type"] == "SHT_SYMTAB")
    return [
        symbol
        for symbol in table.iter_symbols()
        if symbol["st_info"]["type"] in ("STT_FUNC", "STT_OBJECT")
    ]


def _bytes(elf: ELFFile, symbol: Any) -> bytes:
    if not isinstance(symbol["st_shndx"], int):
        return b""
    start = symbol["st_value"] & ~1 if elf["e_machine"] == "EM_ARM" else symbol["st_value"]
    data: bytes = elf.get_section(symbol["st_shndx"]).data()[start : start + symbol["st_size"]]
    return data


def _references(elf: ELFFile, symbol: Any, bytes_of: Mapping[str, bytes]) -> Iterator[str]:
    """Relocations within the symbol: where, what kind, and of what."""
    (table,) = (s for s in elf.iter_sections() if s.header["sh_type"] == "SHT_SYMTAB")
    start = symbol["st_value"] & ~1 if elf["e_machine"] == "EM_ARM" else symbol["st_value"]
    for section in elf.iter_sections():
        is_its_own = section.header["sh_info"] == symbol["st_shndx"]
        if not isinstance(section, RelocationSection) or not is_its_own:
            continue
        for relocation in section.iter_relocations():
            offset = relocation["r_offset"] - start
            if not 0 <= offset < symbol["st_size"]:
                continue
            target = table.get_symbol(relocation["r_info_sym"])
            content = bytes_of.get(target.name)
            what = target.name if content is None else hashlib.sha256(content).hexdigest()
            addend = relocation["r_addend"] if relocation.is_RELA() else ""
            yield f"{offset}:{relocation['r_info_type']}:{what}:{addend}"


if __name__ == "__main__":
    sys.path[0] = os.environ["PYTHONPATH"]
    json.dump([_digest(entry) for entry in json.load(sys.stdin)], sys.stdout)
