"""Flip single bits of a bundle's constants and ask `<name>_check` whether it notices.

    python -m benchmarks.faults build/kws [--most 200000]

The bundle is built for this computer, its read-only data made writable, and every bit of every
object of its own is flipped, one at a time, or `--most` of them at equal distances.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from glowmcu.manifest import Manifest, read_manifest

_MAIN = """\
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "{name}.h"

int main(void)
{{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    unsigned long long address, bytes, stride, phase = 0;

    if ({name}_check() != 0) {{
        return 1;
    }}
    while (scanf("%llx %llu %llu", &address, &bytes, &stride) == 3) {{
        volatile uint8_t *const data = (volatile uint8_t *)(uintptr_t)address;
        const uintptr_t first = (uintptr_t)address & ~(page - 1);
        unsigned long long flips = 0, missed = 0;

        if (mprotect((void *)first, (uintptr_t)address + bytes - first, PROT_READ | PROT_WRITE)) {{
            return 2;
        }}
        for (; phase < 8 * bytes; phase += stride) {{
            data[phase / 8] ^= (uint8_t)(1u << (phase % 8));
            missed += ({name}_check() == 0);
            data[phase / 8] ^= (uint8_t)(1u << (phase % 8));
            ++flips;
        }}
        phase -= 8 * bytes;
        printf("%llu %llu\\n", flips, missed);
    }}
    return 0;
}}
"""


@dataclass(frozen=True)
class Flips:
    """Of one object of `size` bytes: how many bits were flipped, and how many went unnoticed."""

    symbol: str
    size: int
    flips: int
    missed: int


def flip_constants(bundle: Path, most: int = 0) -> list[Flips]:
    """Of every constant object in the bundle's own C; `most` flips in all, 0 for every bit."""
    manifest = read_manifest(bundle)
    with tempfile.TemporaryDirectory(prefix="glowmcu_faults_") as folder:
        program, objects = _build(bundle, manifest, Path(folder))
        places = _objects(program, objects)
        bits = 8 * sum(size for _, size in places.values())
        stride = max(1, -(-bits // most)) if most else 1
        lines = "".join(f"{at:x} {size} {stride}\n" for at, size in places.values())
        done = subprocess.run(
            [str(program)], input=lines, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, f"{manifest.name}: exit code {done.returncode} {done.stderr}"
    counts = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    return [
        Flips(symbol, places[symbol][1], flips, missed)
        for symbol, (flips, missed) in zip(places, counts, strict=True)
    ]


def _build(bundle: Path, manifest: Manifest, folder: Path) -> tuple[Path, list[Path]]:
    """A program without address randomization, and the objects of what a run needs."""
    (folder / "main.c").write_text(_MAIN.format(name=manifest.name), encoding="utf-8")
    flags = ["gcc", "-std=gnu99", "-O2", "-fno-pie", f"-I{bundle}"]
    objects = []
    for source in manifest.sources:
        if source != f"{manifest.name}_model.c":
            objects.append(folder / f"{source}.o")
            subprocess.run([*flags, "-c", str(bundle / source), "-o", str(objects[-1])], check=True)
    program = folder / "program"
    command = [*flags, "-no-pie", str(folder / "main.c"), *map(str, objects), "-o", str(program)]
    subprocess.run(command, check=True)
    return program, objects


def _objects(program: Path, objects: list[Path]) -> dict[str, tuple[int, int]]:
    """Read-only objects of `objects` by name: address in the program, size."""
    own = {name for path in objects for name, _, _ in _symbols(path)}
    return {name: (at, size) for name, at, size in _symbols(program) if name in own}


def _symbols(path: Path) -> list[tuple[str, int, int]]:
    listed = subprocess.run(["nm", "-S", str(path)], capture_output=True, text=True, check=True)
    rows = re.findall(r"^(\w+) (\w+) [rR] (\S+)$", listed.stdout, re.MULTILINE)
    return sorted((name, int(at, 16), int(size, 16)) for at, size, name in rows)


def main() -> None:
    """Print a line an object and the sum."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--most", type=int, default=0, help="flips in all; every bit without it")
    arguments = parser.parse_args()
    found = flip_constants(arguments.bundle, arguments.most)
    for item in found:
        if item.missed:
            print(f"{item.missed:8} of {item.flips:8} bits missed in {item.symbol} ({item.size} B)")
    flips, missed = sum(item.flips for item in found), sum(item.missed for item in found)
    print(f"{missed:8} of {flips:8} bits missed in {len(found)} objects")


if __name__ == "__main__":
    main()
