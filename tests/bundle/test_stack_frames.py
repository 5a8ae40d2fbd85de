"""What is said of the stack of functions that are assembly is what their instructions take."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.random_layers import random_model
from benchmarks.stack_samples import linked, sample
from benchmarks.stack_walk import StackWalk
from benchmarks.sweep_page import stored
from glowmcu.compilation import Options
from glowmcu.cores import core
from glowmcu.emit_c.assembly_text import frame_bytes
from glowmcu.emit_c.naked_frames import naked_frames
from glowmcu.pipeline import compile_model
from glowmcu.verify.toolchain import compile_object
from tests.bundle.models import digits
from tests.support.check_model import write_bundle
from tests.support.kernel_files import header_paths, template_paths

CORES = ("cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m55")
_LINE = re.compile(r"(\S+):\d+:\d+:(\w+)\t(\d+)\tstatic")


def test_every_function_of_assembly_says_what_it_takes_of_the_stack() -> None:
    said = r"/\* stack: (\d+|{{ [^}]+ }}) bytes \*/\nGLOWMCU_CODE\n"
    for path in (*header_paths().values(), *template_paths()):
        text = path.read_text(encoding="utf-8")
        naked = re.findall(r"^GLOWMCU_NAKED", text, re.MULTILINE)
        assert len(re.findall(said + "GLOWMCU_NAKED", text)) == len(naked), path.name
    assert naked_frames({"a.c": "int x;\nGLOWMCU_CODE\nGLOWMCU_NAKED static void f("}) == ""


@pytest.mark.parametrize(
    ("lines", "size"),
    [
        (["push {r4-r11, lr}", "sub sp, #28", "add r0, r1", "add sp, #28"], 64),
        (["push {r0, r4, lr}", "vpush {d8-d15}", "1:", "pop {r0, r4, pc}"], 76),
        (["bx lr"], 0),
    ],
)
def test_a_frame_is_what_is_pushed_and_reserved(lines: list[str], size: int) -> None:
    assert frame_bytes(lines) == size


def wrong_frames(found: StackWalk, usage: str) -> tuple[int, list[str]]:
    """How many functions of the `.su` lines the program has, and which take more or less."""
    told: dict[str, set[int]] = {}
    for line in usage.splitlines():
        match = _LINE.fullmatch(line)
        assert match is not None, line
        told.setdefault(match[2], set()).add(int(match[3]))
    present = {name: sizes for name, sizes in told.items() if found.has(name)}
    wrong = [name for name, sizes in present.items() if found.frame(name).own_bytes not in sizes]
    return len(present), sorted(wrong)


@pytest.mark.arm
@pytest.mark.parametrize("core_name", CORES)
def test_frames_beside_a_bundle_are_those_of_its_machine_code(
    core_name: str, tmp_path: Path
) -> None:
    compilation = compile_model(digits(), "digits.tflite", Options("digits", core=core_name))
    folder = write_bundle(compilation, tmp_path)
    usage = (folder / "digits_assembly.su").read_text(encoding="utf-8")
    sources = [folder / "digits.c", folder / "digits_weights.c"]
    found = linked(sources, folder, core_name, ("digits_run",))
    present, wrong = wrong_frames(found, usage)
    assert present > 0
    assert wrong == []
    spoiled = re.sub(r"\t\d+\t", "\t4\t", usage)
    assert wrong_frames(found, spoiled)[1] != []


@pytest.mark.arm
@pytest.mark.parametrize("core_name", CORES)
def test_functions_beside_a_bundle_are_where_the_compiler_sees_them(
    core_name: str, tmp_path: Path
) -> None:
    compilation = compile_model(digits(), "digits.tflite", Options("digits", core=core_name))
    folder = write_bundle(compilation, tmp_path)
    flags = ["-fstack-usage"]
    compile_object(folder / "digits.c", [folder], core(core_name).flags, folder / "d.o", flags)
    place = re.compile(r"([^/\n]+:\d+:\d+:(\w+))\t")
    seen = place.findall((folder / "d.su").read_text(encoding="utf-8"))
    usage = place.findall((folder / "digits_assembly.su").read_text(encoding="utf-8"))
    naked = {name for _, name in usage}
    common = {row for row in seen if row[1] in naked}  # without the variants of other cores
    assert common
    assert common - {*usage} == set()


@pytest.mark.arm
@pytest.mark.slow
def test_frames_of_every_variant_are_those_of_the_machine_code(tmp_path: Path) -> None:
    checked = 0
    for number, entry in enumerate(stored()):
        if entry.core not in CORES or entry.core == "cortex-m3":  # the M0+ has its kernels
            continue
        data = random_model(entry.family, entry.seed, entry.first[:2])
        made = sample(data, entry.core, entry.variant)
        if "GLOWMCU_NAKED static" not in made.files["m.c"]:
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        for name, text in made.files.items():
            if "/" not in name:
                (folder / name).write_text(text, encoding="utf-8")
        found = linked([folder / "m.c", folder / "m_weights.c"], folder, entry.core, ("m_run",))
        usage = made.files["m_assembly.su"]
        present, wrong = wrong_frames(found, usage)
        assert wrong == [], (entry.core, entry.variant)
        checked += present
    assert checked >= 30


@pytest.mark.arm
@pytest.mark.riscv
@pytest.mark.parametrize("core_name", [*CORES, "hazard3", "rv32imc"])
def test_the_walk_finds_the_frames_that_the_compiler_reports(
    core_name: str, tmp_path: Path
) -> None:
    compilation = compile_model(digits(), "digits.tflite", Options("digits", core=core_name))
    folder = write_bundle(compilation, tmp_path)
    made = folder / "digits.o"
    flags = core(core_name).flags
    compile_object(folder / "digits.c", [folder], flags, made, ["-fstack-usage"])
    reported = dict(
        re.findall(r":(\w[\w.]*)\t(\d+)\t", (folder / "digits.su").read_text(encoding="utf-8"))
    )
    assembly = folder / "digits_assembly.su"
    naked = set(re.findall(r":(\w+)\t", assembly.read_text() if assembly.is_file() else ""))
    found = linked([folder / "digits.c", folder / "digits_weights.c"], folder, core_name,
                   ("digits_run", "digits_infer", "digits_check"))  # fmt: skip
    # gcc leaves the number of a clone out: f.constprop is f.constprop.0.
    symbols = {
        symbol: int(size)
        for name, size in reported.items()
        for symbol in (name, f"{name}.0")
        if found.has(symbol) and name not in naked
    }
    assert "digits_run" in symbols
    assert len(symbols) >= 4  # much is inlined
    for symbol, size in symbols.items():
        assert found.frame(symbol).own_bytes == size, symbol


_ROWS = """
void fill(void *to, int at);
void go(void *to, int at);
__asm__(".text\\n.option norvc\\n.globl fill\\n.type fill,@function\\nfill:\\n"
    "addi sp,sp,-16\\nbeq a1,zero,1f\\nauipc t0,0\\nadd t0,t0,a1\\n{jump}\\n"
    "1: addi sp,sp,-32\\naddi sp,sp,32\\n{end}\\nret\\n.size fill,.-fill\\n");
void go(void *to, int at) {{ fill(to, at); }}
"""
#: Into rows that return to behind the jump, and into those that end the function.
_JUMPS = {
    "call": ("mv t1,ra\\njalr ra,28(t0)\\nmv ra,t1\\naddi sp,sp,16\\nret", ""),
    "jump": ("jalr zero,12(t0)", "addi sp,sp,16"),
}


@pytest.mark.riscv
@pytest.mark.parametrize("kind", _JUMPS)
def test_a_jump_into_rows_of_code_stays_in_its_function(kind: str, tmp_path: Path) -> None:
    jump, end = _JUMPS[kind]
    source = tmp_path / "rows.c"
    source.write_text(_ROWS.format(jump=jump, end=end), encoding="utf-8")
    frame = linked([source], tmp_path, "rv32imc", ("go",)).frame("fill")
    assert (frame.own_bytes, frame.calls) == (48, frozenset())
