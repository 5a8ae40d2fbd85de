"""Bits of an arena that flip between calls change outputs at worst: nothing outside is touched.

What entry points keep in the arena from call to call (counts of samples and rows, places in rings,
labels, progress, states) leads to addresses. A campaign on modelled cores flips bits in the midst
of runs (`benchmarks.fault_campaign`); here many flip, and AddressSanitizer looks.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import glowmcu
from tests.bundle.models import digits
from tests.conftest import REPO
from tests.support.open_models import open_model

_WAKE_WORD = REPO / "examples" / "wake_word"
_FLAGS = ("-std=c99", "-O0", "-g1", "-fsanitize=address,bounds", "-fno-sanitize-recover=bounds")
#: Entry points with arguments that draw what may differ from call to call.
_CALLS = {
    "run": "m_run(a{size})",
    "learn": "m_learn(a)",
    "push": "m_push(a, (const void *)data, draw() % 700u)",
    "push_rows": "m_push_rows(a, (const void *)data, (int32_t)(draw() % 4u))",
    "begin": "m_begin(a)",
    "run_steps": "m_run_steps(a, (int32_t)(draw() % 4u))",
    "reset": "m_reset(a)",
    "start": "m_start(a)",
}
_MAIN = """\
#include <stdlib.h>
#include <string.h>

#include "m.h"

static int64_t data[4096];
static uint64_t state = 88172645463325252u;

static uint32_t draw(void)
{{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 20);
}}

int main(void)
{{
    uint8_t *const a = malloc(M_ARENA_BYTES); /* aligned to 16 on 64-bit hosts */

    for (uint32_t i = 0; i < sizeof data; ++i) {{
        ((uint8_t *)data)[i] = (uint8_t)draw();
    }}
    memset(a, 0, M_ARENA_BYTES);
    (void){first};
    for (uint32_t i = 0; i < {count}u; ++i) {{
        for (uint32_t flips = draw() % 6u; flips > 0u; --flips) {{
            const uint32_t bit = draw() % (8u * M_ARENA_BYTES);
            a[bit / 8u] ^= (uint8_t)(1u << (bit % 8u));
        }}
        switch (draw() % {choices}u) {{
{cases}
        }}
        if (draw() % 8u == 0u) {{
            (void){first};
        }}
    }}
    free(a);
    return 0;
}}
"""


@dataclass(frozen=True)
class Kept:
    """A bundle with something in its arena from call to call."""

    options: Mapping[str, Any] = field(default_factory=dict)
    model: Callable[[], bytes | Path] = digits
    board: str = "nrf52"
    count: int = 1500


KINDS = {
    "a pipeline": Kept(model=lambda: _WAKE_WORD / "wake_word.toml"),
    "a sliding window": Kept(
        {"slide": {"features": 3}}, lambda: _WAKE_WORD / "wake_word_int8.tflite"
    ),
    "rows": Kept({"stream_inputs": ["pixels"], "optimize": "ram"}),
    "steps": Kept({"steps": True, "optimize": "ram"}),
    "learning": Kept({"train": "last=1"}),
    "learning in fixed point": Kept({"train": "last=1"}, board="rp2040", count=1000),
    "prototypes": Kept({"train": "prototypes=3"}),
    "neighbours": Kept({"train": "neighbours=3x4"}),
    "what is normal": Kept({"train": "normal"}),
    "an open size": Kept({"define": {"T": (1, 21)}}, partial(open_model, "attention")),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_bits_that_flip_in_the_arena_lead_nowhere_else(kind: str, tmp_path: Path) -> None:
    kept = KINDS[kind]
    folder = tmp_path / "m"
    glowmcu.compile(kept.model(), kept.board, folder, name="m", **kept.options)
    header = re.sub(r"/\*.*?\*/", "", (folder / "m.h").read_text("utf-8"), flags=re.DOTALL)
    size = ", 1 + (int32_t)(draw() % 21u)" if "m_run(void *arena, int32_t" in header else ""
    calls = {
        name: text.format(size=size) for name, text in _CALLS.items() if f" m_{name}(" in header
    }
    first = next(calls[name] for name in ("reset", "start", "begin", "run") if name in calls)
    cases = [f"case {n}: (void){text}; break;" for n, text in enumerate(calls.values())]
    program = tmp_path / "main.c"
    program.write_text(
        _MAIN.format(first=first, count=kept.count, choices=len(calls), cases="\n".join(cases))
    )
    sources = (program, folder / "m.c", folder / "m_weights.c")
    command = ("gcc", *_FLAGS, f"-I{folder}", *map(str, sources), "-o", str(tmp_path / "main"))
    subprocess.run(command, check=True, capture_output=True)
    done = subprocess.run(
        [str(tmp_path / "main")], capture_output=True, text=True, check=False, timeout=600,
        env={"ASAN_OPTIONS": "detect_leaks=0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[:2000]
