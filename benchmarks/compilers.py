"""The C of random bundles under this computer's compilers: gcc and clang, optimization, sanitizers.

    python -m benchmarks.compilers [--bundles N] [--first SEED] [--core CORE] [--arm64]

Every build runs the bundle's self test, those for Arm64 in QEMU. The arena is no better aligned
than the header demands and ends where the heap block does; for MemorySanitizer it holds nothing but
what was written.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.random_bundles import CORES, random_bundle
from glowmcu.manifest import read_manifest
from glowmcu.verify.host_library import STRICT_FLAGS
from tests.support.check_model import write_bundle

_UNDEFINED = (
    "-fsanitize=address,undefined,float-cast-overflow,float-divide-by-zero,alignment",
    "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g1",
)  # fmt: skip
#: What the self test fills the arena with must not count as written.
_POISON = """#include <string.h>
#include <sanitizer/msan_interface.h>
#define memset(at, value, bytes) __msan_allocated_memory((at), (bytes))
"""


@dataclass(frozen=True)
class Build:
    """A compiler and its flags."""

    compiler: str
    flags: tuple[str, ...]
    poisons: bool = False
    emulator: str = ""  # of another processor
    library: str = ""  # the compiler whose C library this one takes

    @property
    def name(self) -> str:
        """As a person would call it."""
        return " ".join((self.compiler, *(f for f in self.flags if not f.startswith("-g"))))


PLAIN = tuple(Build(cc, (o,)) for cc in ("gcc", "clang") for o in ("-O0", "-O2", "-O3", "-Os"))
SANITIZED = (
    Build("gcc", ("-O1", *_UNDEFINED)),
    Build("clang", ("-O1", *_UNDEFINED)),
    Build(
        "clang",
        (
            "-O1",
            "-fsanitize=memory",
            "-fsanitize-memory-track-origins",
            "-fno-sanitize-recover=all",
            "-g1",
        ),
        poisons=True,
    ),
)
#: Optimizers that take what the standard leaves undefined at its word.
DARING = (
    Build("gcc", ("-O3", "-flto", "-march=native", "-fstrict-aliasing")),
    Build("clang", ("-O3", "-march=native", "-fstrict-aliasing")),
)
#: Another processor that hosts have: `char` has no sign, products and sums are fused where C lets
#: them be, NaN becomes 0 and not the smallest integer.
ARM64 = (
    *(
        Build("aarch64-linux-gnu-gcc", ("-static", *flags), emulator="qemu-aarch64")
        for flags in (("-O0",), ("-O2",), ("-O3", "-mcpu=neoverse-n1"), ("-Os",))
    ),
    Build(
        "clang",
        ("--target=aarch64-linux-gnu", "-static", "-O2"),
        emulator="qemu-aarch64",
        library="aarch64-linux-gnu-gcc",
    ),
)


def main_text(bundle: Path) -> str:
    """A program whose arena is aligned as much as it must be, and not more."""
    manifest = read_manifest(bundle)
    prefix, name = manifest.name.upper(), manifest.name
    places = [("arena", f"{prefix}_ARENA_ALIGN", f"{prefix}_ARENA_BYTES")]
    for entry in manifest.external:
        symbol = f"input_{entry.symbol}".strip("_")
        macro = f"{prefix}_{symbol.upper()}"
        places.append((symbol, f"{macro}_ALIGN", f"{macro}_BYTES"))
    lines = [
        f"    void *{symbol}_block = NULL;\n"
        f"    if (posix_memalign(&{symbol}_block, 2 * {align}, {align} + {size}) != 0) {{\n"
        f"        return 2;\n    }}\n"
        f"    void *{symbol} = (char *){symbol}_block + {align};\n"
        for symbol, align, size in places
    ]
    freed = "".join(f"    free({symbol}_block);\n" for symbol, _, _ in places)
    call = f"{name}_selftest({', '.join(symbol for symbol, _, _ in places)})"
    return (
        f"#define _POSIX_C_SOURCE 200809L\n"
        f'#include <stdio.h>\n#include <stdlib.h>\n#include "{name}_selftest.h"\n'
        "int main(void)\n{\n"
        + "".join(lines)
        + f'    const long wrong = (long){call};\n    printf("%ld\\n", wrong);\n'
        + freed
        + "    return wrong != 0;\n}\n"
    )


def failure(bundle: Path, build: Build, work: Path) -> str:
    """What the compiler or the program said, the empty string where the self test passes."""
    manifest = read_manifest(bundle)
    (work / "main.c").write_text(main_text(bundle), encoding="utf-8")
    (work / "poison.h").write_text(_POISON, encoding="utf-8")
    selftest = bundle / "selftest" / f"{manifest.name}_selftest.c"
    files = [*(bundle / source for source in manifest.sources), work / "main.c"]
    include = ["-I", str(bundle), "-I", str(bundle / "selftest")]
    command = [build.compiler, *build.flags, *include]
    poison = ["-include", str(work / "poison.h")] if build.poisons else []
    objects = [*map(str, files), str(work / "selftest.o")]
    steps = [
        [*command, *poison, "-c", str(selftest), "-o", str(work / "selftest.o")],
        [*command, *STRICT_FLAGS, *objects, "-o", str(work / "run")],
        [*filter(None, [build.emulator]), str(work / "run")],
    ]
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False, timeout=600)
        if done.returncode != 0:
            said = done.stderr or f"ended with {done.returncode}, wrong bytes: {done.stdout}"
            return f"{build.name}: {said[:3000]}"
    return ""


def available(builds: Sequence[Build]) -> list[Build]:
    """Those whose compiler is installed, its library's and the emulator."""
    programs = {build: (build.compiler, build.emulator, build.library) for build in builds}
    return [b for b, needed in programs.items() if all(map(shutil.which, filter(None, needed)))]


def failures(seed: int, builds: Sequence[Build], core: str | None = None) -> Iterator[str]:
    """What went wrong with the random bundle of that number."""
    drawn = random_bundle(seed, core)
    with tempfile.TemporaryDirectory() as folder:
        bundle = write_bundle(drawn.compilation, Path(folder) / "net")
        for build in available(builds):
            said = failure(bundle, build, Path(folder))
            if said:
                yield f"{drawn.text}: {said}"


def main() -> None:
    """Draw, build, run and say what failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compilers")
    parser.add_argument("--bundles", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--core", choices=CORES)
    parser.add_argument("--sanitized", action="store_true", help="only under sanitizers")
    parser.add_argument("--arm64", action="store_true", help="only for Arm64, emulated")
    given = parser.parse_args()
    builds = SANITIZED if given.sanitized else (*PLAIN, *SANITIZED, *DARING)
    builds = ARM64 if given.arm64 else builds
    wrong = 0
    for seed in range(given.first, given.first + given.bundles):
        for text in failures(seed, builds, given.core):
            wrong += 1
            print(text, flush=True)
    print(f"{given.bundles} bundles, {len(available(builds))} builds each: {wrong} failed")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
