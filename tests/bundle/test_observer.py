"""Bundles made with --instrument and --dump-tensors: who is told what, and that silence is free."""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from glowmcu.board import find_board
from glowmcu.compilation import Compilation, Options
from glowmcu.cores import core
from glowmcu.goals import Goal
from glowmcu.input_options import InputOptions
from glowmcu.instrument import Instrument
from glowmcu.ir.interpreter import bind_inputs, step_graph
from glowmcu.ir.program import Cascade, Run
from glowmcu.pipeline import compile_model
from glowmcu.verify.firmware import firmware_view, write_firmware
from glowmcu.verify.firmware.port import Port
from glowmcu.verify.host_library import STRICT_FLAGS
from glowmcu.verify.qemu import QEMU
from glowmcu.verify.toolchain import build_elf, compile_object
from tests.bundle.models import model_bytes
from tests.bundle.test_compilers import CPP, STRICT, compile_each
from tests.conftest import REPO
from tests.memplan.streaming_models import MODELS as STREAMED
from tests.support.check_model import random_inputs, write_bundle

MAIN = Path(__file__).with_name("observing_main.c")
DOCUMENT = REPO / "docs" / "on_target.md"


@cache
def compiled(
    name: str, instrument: Instrument, goal: Goal = Goal.BALANCED, core: str = "cortex-m4"
) -> Compilation:
    data = STREAMED[name]() if name in STREAMED else model_bytes(name)
    options = Options("m", goal=goal, core=core, instrument=instrument)
    return compile_model(data, "m.tflite", options)


# --- on this computer ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Told:
    """One call of the observer; of tensors which result, from which byte on, and its bytes."""

    kind: str
    step: int
    result: int = 0
    first_byte: int = 0
    data: bytes = b""


def observed(
    compilation: Compilation, folder: Path, **pushed: str
) -> tuple[list[Told], list[np.ndarray]]:
    """What the observer was told in one run of random inputs, and these."""
    bundle = write_bundle(compilation, folder / "bundle")
    arrays = random_inputs(compilation, 1)[0]
    (given,) = compilation.manifest.inputs
    names = {
        "MODEL_H": '"m.h"',
        "STEPS": "m_steps",
        "ARENA": "M_ARENA",
        "RUN": "m_run",
        "OBSERVE": "m_observe",
        "INPUT_OFFSET": given.offset,
        **pushed,
    }
    defines = [f"-D{name}={value}" for name, value in names.items()]
    sources = [MAIN, *(bundle / source for source in compilation.manifest.sources)]
    program = folder / "program"
    command = ["gcc", *STRICT_FLAGS, *defines, "-fsanitize=address,undefined", f"-I{bundle}"]
    subprocess.run([*command, *map(str, sources), "-o", str(program)], check=True)
    done = subprocess.run(
        [str(program)], input=arrays[0].tobytes(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return list(parsed(done.stdout)), arrays


def parsed(log: bytes) -> list[Told]:
    told, at = [], 0
    while at < len(log):
        kind, (step,) = chr(log[at]), struct.unpack_from("=i", log, at + 1)
        at += 5
        if kind == "t":
            result, first, size = struct.unpack_from("=3I", log, at)
            told.append(Told(kind, step, result, first, log[at + 12 : at + 12 + size]))
            at += 12 + size
        else:
            told.append(Told(kind, step))
    return told


def assembled(told: list[Told]) -> Mapping[tuple[int, int], bytes]:
    """Tensors by step and number, rows put together; each byte is shown once."""
    tensors: dict[tuple[int, int], bytes] = {}
    for item in told:
        if item.kind == "t":
            before = tensors.get((item.step, item.result), b"")
            assert item.first_byte == len(before)
            tensors[item.step, item.result] = before + item.data
    return tensors


def expect_interpreted(
    compilation: Compilation, told: list[Told], arrays: list[np.ndarray]
) -> None:
    """Every tensor that a step makes was shown, each byte as it is meant.

    Of rows that nobody reads the last ones are never made.
    """
    values = bind_inputs(compilation.graph, arrays)
    by_node = dict(step_graph(compilation.graph, values))
    shown = assembled(told)
    program = compilation.plan.program
    whole = {step for step in program.steps if isinstance(step, Run)}
    assert {step for step, _ in shown} == set(range(len(program.runs)))
    for step, run in enumerate(program.runs):
        for number, want in enumerate(by_node[run.node]):
            found, where = shown[step, number], f"{run.node.name}, result {number}"
            assert want.tobytes()[: len(found)] == found, where
            row = want.nbytes // want.shape[1]
            assert len(found) >= (want.nbytes if run in whole else want.nbytes - row), where


CASES = [
    ("kws", Goal.BALANCED),
    ("digits", Goal.RAM),
    ("float_borders", Goal.BALANCED),
    ("global pooling", Goal.RAM),
    ("joined branches", Goal.RAM),
]


@pytest.mark.parametrize(
    ("name", "goal"), [pytest.param(*case, id=f"{case[0]}, {case[1].value}") for case in CASES]
)
def test_shown_tensors_are_those_of_the_interpreter(name: str, goal: Goal, tmp_path: Path) -> None:
    compilation = compiled(name, Instrument.TENSORS, goal)
    expect_interpreted(compilation, *observed(compilation, tmp_path))


def test_tensors_are_shown_while_the_input_is_pushed(tmp_path: Path) -> None:
    options = Options(
        "m",
        goal=Goal.RAM,
        core="cortex-m4",
        inputs=InputOptions(streamed=("x1",)),
        instrument=Instrument.TENSORS,
    )
    compilation = compile_model(STREAMED["separable, odd size"](), "m.tflite", options)
    pushed = {"PUSHED": "m_push_rows", "START": "m_start", "ROWS": "M_INPUT_ROWS"}
    expect_interpreted(compilation, *observed(compilation, tmp_path, **pushed))


def test_before_tensor_and_after_come_in_this_order_for_each_step_or_row(tmp_path: Path) -> None:
    compilation = compiled("global pooling", Instrument.TENSORS, Goal.RAM)
    steps = compilation.plan.program.steps
    assert any(isinstance(step, Cascade) for step in steps)
    told, _ = observed(compilation, tmp_path)
    kinds = "".join(item.kind for item in told)
    assert re.fullmatch("(bt?a)+", kinds)
    calls = re.findall("bt?a", kinds)
    firsts = [item.step for item in told if item.kind == "b"]
    assert len(firsts) == len(calls) > len(compilation.manifest.layers)
    assert list(dict.fromkeys(firsts)) == sorted(set(firsts))


def test_a_bundle_that_is_only_instrumented_shows_no_tensors(tmp_path: Path) -> None:
    compilation = compiled("digits", Instrument.STEPS)
    told, _ = observed(compilation, tmp_path)
    count = len(compilation.manifest.layers)
    assert [(item.kind, item.step) for item in told] == [
        (kind, step) for step in range(count) for kind in "ba"
    ]


# --- what it costs -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["digits", "global pooling"])
def test_nothing_is_left_of_it_without_the_option(name: str) -> None:
    files = compiled(name, Instrument.OFF, Goal.RAM).files
    text = "".join(files.values())
    for word in ("observe", "before_step", "after_step", "show_tensor", "INSTRUMENT"):
        assert word not in text
    assert "instrument" not in files["manifest.json"]


@pytest.mark.arm
@pytest.mark.parametrize("name", ["digits", "global pooling"])
def test_switched_off_at_build_time_the_object_is_that_of_a_bundle_without_it(
    name: str, tmp_path: Path
) -> None:
    plain = sections(compiled(name, Instrument.OFF, Goal.RAM), tmp_path / "plain", [])
    observed = compiled(name, Instrument.TENSORS, Goal.RAM)
    assert sections(observed, tmp_path / "off", ["-DM_INSTRUMENT=0"]) == plain
    assert sections(observed, tmp_path / "on", []) != plain


def sections(compilation: Compilation, folder: Path, flags: list[str]) -> dict[str, bytes]:
    """Content of everything in `m.c` that goes into a firmware."""
    bundle = write_bundle(compilation, folder)
    flags = ["-O2", "-ffunction-sections", "-fdata-sections", *flags]
    target = core("cortex-m4").flags
    made = compile_object(bundle / "m.c", [bundle], target, folder / "m.o", flags)
    with made.open("rb") as file:
        return {
            section.name: section.data()
            for section in ELFFile(file).iter_sections()
            if section["sh_flags"] & 2  # SHF_ALLOC
        }


# --- everywhere ----------------------------------------------------------------------------------

USER = """#include "m.h"
#include "glowmcu_profile.h"
extern glowmcu_profile profile;
extern glowmcu_cycles cycles[M_STEPS];
glowmcu_profile profile;
glowmcu_cycles cycles[M_STEPS];
void start(void);
void start(void)
{
    glowmcu_profile_start(&profile, m_steps, M_STEPS, cycles);
    m_observe(&profile.observer);
}
"""
COMPILERS = {
    "gcc": ["gcc", *STRICT, "-Wunused-macros"],
    "g++": ["g++", *CPP],
    "gcc, switched off": ["gcc", *STRICT, "-DM_INSTRUMENT=0"],
    **{
        f"gcc for {name}": ["arm-none-eabi-gcc", *core(name).flags, *STRICT]
        for name in ("cortex-m0plus", "cortex-m4", "cortex-m55")
    },
}


@pytest.mark.arm
@pytest.mark.parametrize("compiler", COMPILERS)
def test_an_instrumented_bundle_and_its_profile_compile_silently(
    compiler: str, tmp_path: Path
) -> None:
    bundle = write_bundle(compiled("two_in_two_out", Instrument.TENSORS), tmp_path)
    files = [bundle / "m.c"]
    if "off" not in compiler:
        (bundle / "user.c").write_text(USER, encoding="utf-8")
        files.append(bundle / "user.c")
    compile_each(COMPILERS[compiler], bundle, files)


# --- on a core -----------------------------------------------------------------------------------


def documented_profile() -> str:
    """The example of docs/on_target.md."""
    found = re.search(r"<!-- profile -->\n```c\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert found
    return found[1]


FIRMWARE = """\
#define GLOWMCU_CYCLES_BY_SYSTICK /* QEMU has no DWT */
#include "port.h"
#include "text.h"

static void report(const char *name, const char *kernel, uint32_t cycles, uint32_t macs)
{{
    port_print(name);
    port_print("|");
    port_print(kernel);
    text_number("|", cycles);
    text_number("|", macs);
    port_print("\\n");
}}

{example}
void systick_handler(void)
{{
}}

int main(void)
{{
    profile_kws();
    for (int i = 0; i < KWS_STEPS; ++i) {{
        text_number("calls ", cycles[i].calls);
        port_print("\\n");
    }}
    port_exit(0);
}}
"""


@pytest.mark.qemu
def test_the_documented_profile_counts_cycles_on_an_emulated_board(tmp_path: Path) -> None:
    options = Options("kws", core="cortex-m4", instrument=Instrument.STEPS)
    compilation = compile_model(model_bytes("kws"), "kws.tflite", options)
    lines = run_firmware(compilation, FIRMWARE.format(example=documented_profile()), tmp_path)
    layers = compilation.manifest.layers
    reports = [line.rsplit("|", 3) for line in lines if "|" in line]
    assert [kernel for _, kernel, _, _ in reports] == [layer.kernel for layer in layers]
    assert [int(macs) for *_, macs in reports] == [layer.macs for layer in layers]
    ticks = {layer.index: int(report[2]) for layer, report in zip(layers, reports, strict=True)}
    # A tick is 40 instructions of one nanosecond each at 25 MHz: 2.96 million in all.
    assert 1.2 < ticks[2] / ticks[1] < 5
    assert 0.8 < ticks[2] / ticks[4] < 1.25
    assert 60_000 < sum(ticks.values()) < 90_000
    assert [line for line in lines if line.startswith("calls")] == ["calls 1"] * len(layers)


def run_firmware(compilation: Compilation, main: str, folder: Path) -> list[str]:
    """Lines that a firmware of the bundle and `main` prints on QEMU's MPS2 with AN386."""
    bundle = write_bundle(compilation, folder / "bundle")
    board = find_board("mps2-an386")
    target = core(board.core)
    view = firmware_view(compilation.manifest, board, target)
    sources = write_firmware(view, Port(("port_semihosting.c",)), folder)
    (folder / "main.c").write_text(main, encoding="utf-8")
    sources += [bundle / name for name in compilation.manifest.sources]
    elf = build_elf(sources, [bundle, folder], target.flags, folder / "m.elf", folder / "link.ld")
    command = [
        *(QEMU, "-machine", "mps2-an386", "-kernel", str(elf), "-icount", "shift=0"),
        *("-semihosting-config", "enable=on,target=native", "-display", "none"),
        *("-monitor", "none", "-serial", "none"),
    ]
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()


def test_the_profile_needs_no_core_to_count_calls(tmp_path: Path) -> None:
    compilation = compiled("global pooling", Instrument.TENSORS, Goal.RAM)
    bundle = write_bundle(compilation, tmp_path / "bundle")
    main = """#define GLOWMCU_CYCLES_NOW() (fake_time += 7u)
#include <stdint.h>
#include <stdio.h>
static uint32_t fake_time;
#include "m.h"
#include "glowmcu_profile.h"
static M_ARENA(arena);
static glowmcu_cycles cycles[M_STEPS];
static glowmcu_profile profile;
int main(void)
{
    glowmcu_profile_start(&profile, m_steps, M_STEPS, cycles);
    profile.overhead = 3u;
    m_observe(&profile.observer);
    m_run(arena);
    for (int i = 0; i < M_STEPS; ++i) {
        printf("%u %u\\n", cycles[i].calls, cycles[i].cycles);
    }
    return 0;
}
"""
    (tmp_path / "main.c").write_text(main, encoding="utf-8")
    sources = [str(bundle / source) for source in compilation.manifest.sources]
    program = str(tmp_path / "program")
    command = ["gcc", *STRICT_FLAGS, f"-I{bundle}", str(tmp_path / "main.c"), *sources]
    subprocess.run([*command, "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    rows = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(rows) == len(compilation.manifest.layers)
    assert max(calls for calls, _ in rows) > 1
    assert all(cycles == calls * (7 - 3) for calls, cycles in rows)
