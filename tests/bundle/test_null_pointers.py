"""Every entry point of every kind of bundle refuses NULL for each pointer that it takes."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import glowmcu
from glowmcu.verify.host_library import STRICT_FLAGS
from tests.bundle.models import digits, rows_and_offsets, two_in_two_out
from tests.conftest import REPO
from tests.support.open_models import open_model

KINDS: dict[str, tuple[Callable[[], bytes | Path], Mapping[str, Any]]] = {
    "several inputs": (two_in_two_out, {}),
    "outside": (digits, {"outside_inputs": ["pixels"]}),
    "outside in steps": (two_in_two_out, {"outside_inputs": ["right"], "steps": True}),
    "rows": (rows_and_offsets, {"stream_inputs": ["lines"]}),
    "a pipeline": (lambda: REPO / "examples" / "wake_word" / "wake_word.toml", {}),
    "learning": (digits, {"train": "last=1"}),
    "an open size": (partial(open_model, "attention"), {"define": {"T": (1, 21)}}),
    "weights by pointer": (digits, {"weights": "pointer"}),
    "two cores": (digits, {"cores": 2}),
}
_FLAGS = (*STRICT_FLAGS, "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
#: What is returned for NULL in the place of a parameter; of any other it is GLOWMCU_BAD_INPUT.
_STATUS = {
    "arena": "GLOWMCU_BAD_ARENA",
    "weights": "GLOWMCU_BAD_WEIGHTS",
    "bytes": "GLOWMCU_BAD_PARAMETERS",
}
_MAIN = """\
#include "m.h"
#include "m_selftest.h"

static M_ARENA(arena);
GLOWMCU_ALIGNED(16) static uint8_t data[4096];

/* 0, or the number of the call that did not refuse. */
int main(void)
{
    (void)data;
%s
    return 0;
}
"""


def calls(header: str) -> list[str]:
    """C that begins what is to be begun, then a call for each pointer that is NULL."""
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    made = [f"(void)m_{name}(arena);" for name in ("reset", "begin") if f" m_{name}(" in code]
    for name, listed in re.findall(r"^(?:int32_t|void) (m_\w+)\(([^()]+)\);", code, re.MULTILINE):
        parameters = re.findall(r"(\*|\b)(\w+)(\[\w+\])?(?:,\s+|$)", listed)
        pointers = [at for at, (star, _, length) in enumerate(parameters) if star or length]
        usable = ["(void *)data" if at in pointers else "1" for at in range(len(parameters))]
        usable[0] = "arena"
        for at in pointers:
            call = f"{name}({', '.join([*usable[:at], 'NULL', *usable[at + 1 :]])})"
            status = _STATUS.get(parameters[at][1], "GLOWMCU_BAD_INPUT")
            refused = f"if ({call} != {status}) {{ return {len(made) + 1}; }}"
            made.append(f"{call};" if name == "m_start" else refused)
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_null_is_refused_for_each_pointer_of_each_entry_point(kind: str, tmp_path: Path) -> None:
    model, options = KINDS[kind]
    folder = tmp_path / "m"
    glowmcu.compile(model(), "rp2040", folder, name="m", **options)
    headers = (folder / "m.h", folder / "selftest" / "m_selftest.h")
    listed = calls("".join(header.read_text("utf-8") for header in headers))
    program = tmp_path / "main.c"
    program.write_text(_MAIN % "\n".join(f"    {line}" for line in listed), "utf-8")
    sources = ("m.c", "m_weights.c", "selftest/m_selftest.c")
    files = (str(program), *(str(folder / source) for source in sources))
    command = (
        "gcc",
        *_FLAGS,
        f"-I{folder}",
        f"-I{folder / 'selftest'}",
        *files,
        "-o",
        str(tmp_path / "main"),
    )
    subprocess.run(command, check=True)
    done = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, check=False)
    told = listed[done.returncode - 1] if 0 < done.returncode <= len(listed) else ""
    assert done.returncode == 0, f"{told}\n{done.stderr[:2000]}"
