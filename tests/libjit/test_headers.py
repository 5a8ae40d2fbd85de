"""Headers of libjit get along with any others that one bundle can need."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from glowmcu.emit_c.contract import included_headers
from glowmcu.resources import resource_dir
from glowmcu.verify.host_library import STRICT_FLAGS, host_compiler
from tests.support.kernel_files import header_paths, include_flags, template_paths

#: Bodies for one instruction set: included by the header that says what they do.
_BODIES = ("_armv6m.h", "_armv7m.h")
HEADERS = [name for name in header_paths() if not name.endswith(_BODIES)]
#: Endings of headers for one kind of core, which need not meet.
KINDS = ("dsp", "mve", "nodsp", "riscv")
_UNUSED = ("-Wno-unused-function", "-fsyntax-only")


def kind_of(header: str) -> str:
    return next((kind for kind in KINDS if header.endswith(f"_{kind}.h")), "")


def check(tmp_path: Path, headers: list[str]) -> None:
    compiler = host_compiler() or pytest.skip("needs a C compiler")
    source = tmp_path / "headers.c"
    source.write_text("".join(f'#include "{header}"\n' for header in headers))
    command = [compiler, *STRICT_FLAGS, *_UNUSED, *include_flags(), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_all_headers_of_a_kind_of_core_can_be_included_together(kind: str, tmp_path: Path) -> None:
    check(tmp_path, [header for header in HEADERS if kind_of(header) in ("", kind)])


def test_a_mean_of_a_sum_compiles(tmp_path: Path) -> None:
    check(tmp_path, ["glowmcu_add.h", "glowmcu_reduce_sum_s8.h"])


#: A function that may become code of its own: not one that is always inlined.
FUNCTION = re.compile(
    r"(.*)\n((?:__attribute__\(\(no?\w+[^)]*\)\) |GLOWMCU_NAKED )?static (?!GLOWMCU_ALWAYS_INLINE)"
    r"[\w *{}]*?(?:glowmcu_\w+|{{ function }}\w*)\()"
)
#: What the application includes: its functions are inlined into the application's own code.
_OF_APPLICATIONS = ("glowmcu_base.h", "glowmcu_model.h", "glowmcu_quantize.h")
PLACEABLE = [
    *(header_paths()[name] for name in HEADERS if name not in _OF_APPLICATIONS),
    *template_paths(),
    resource_dir("templates") / "bundle" / "cascade.c.j2",
]


def unplaced(text: str) -> list[str]:
    """Functions that no `--place code` could move."""
    placed = "GLOWMCU_CODE", "GLOWMCU_CODE GLOWMCU_NEVER_INLINE"
    without_tags = re.sub(r"{%.*?%}", "", text)
    return [found[2] for found in FUNCTION.finditer(without_tags) if found[1] not in placed]


def test_every_function_can_be_put_into_another_section() -> None:
    for path in PLACEABLE:
        assert unplaced(path.read_text(encoding="utf-8")) == [], (
            f"{path.name}: write GLOWMCU_CODE on the line before each function"
        )
    assert unplaced("\nGLOWMCU_CODE\nstatic void glowmcu_a(void)\nstatic int *glowmcu_b(void)")


#: Rooms for one family of cores.
FAMILIES = ("dsp", "float", "helium", "nodsp", "riscv")
#: Which rooms a room's headers may include besides those of its own.
ROOMS = {
    "common": {"requantization"},
    "requantization": {"common"},
    "model": {"common"},
    "portable": {"common", "requantization"},
    **{family: {"common", "portable", "requantization"} for family in FAMILIES},
}


def test_headers_include_only_what_their_room_may() -> None:
    room = {
        name: path.relative_to(resource_dir("libjit")).parts[0]
        for name, path in header_paths().items()
    }
    assert set(room.values()) == set(ROOMS), "a new room: say what its headers may include"
    wrong = [
        f"{name} includes {included}"
        for name, path in header_paths().items()
        for included in included_headers(path.read_text(encoding="utf-8"))
        if room[included] not in ROOMS[room[name]] | {room[name]}
    ]
    assert wrong == []


#: In C that a core other than Arm's compiles: `x + (v >> 31)`, also by way of a function that adds.
ADDED_SIGN = re.compile(r"(?:\+|wrapping_add\(.*,|smmlar\(.*,) \(?[\w\[\].>-]+ >> 31\b")


def test_no_sum_has_a_sign_as_avr_gcc_16_misreads_it() -> None:
    texts = {path.name: path.read_text("utf-8") for path in header_paths().values()}
    texts |= {path.name: path.read_text("utf-8") for path in template_paths()}
    code = {name: re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL) for name, text in texts.items()}
    wrong = [name for name, text in code.items() if ADDED_SIGN.search(text)]
    assert wrong == [], "write glowmcu_sign(v) for v >> 31 in a sum"
    assert ADDED_SIGN.search("y = wrapping_add(x, sums[i] >> 31) >> 2;")
