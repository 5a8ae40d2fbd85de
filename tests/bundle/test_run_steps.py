"""Runs in parts: any parts, in any number of arenas at once, give the bytes of one run."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.errors import GlowmcuError
from glowmcu.goals import Budgets, Goal
from glowmcu.interface_options import InterfaceOptions
from glowmcu.ir.cascade import Cascade
from glowmcu.ir.interpreter import run_graph
from glowmcu.manifest import Manifest, TensorEntry, read_manifest
from glowmcu.pipeline import compile_model
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.verification import random_inputs
from tests.bundle.models import OUTSIDE, model_bytes, options_of
from tests.bundle.test_use import build, run_program
from tests.memplan.spatial_models import SpatialModel, Window
from tests.support.check_model import expect_close, write_bundle

SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g1", "-O1")


def tall_image() -> bytes:
    """A pyramid of 300 rows: cascades count in two bytes, some stages wait for others."""
    model = SpatialModel(11)
    x = model.conv(model.input(300, 16, 3), 8, Window())
    x = model.conv(x, 16, Window((1, 1)))
    y = model.add(x, model.conv(x, 16, Window((3, 1), (1, 1), (3, 1))))
    return model.finish(model.conv(y, 2, Window((3, 3), (2, 2))))


NAMES = ("digits", "two_in_two_out", "float_borders", "one_element", "digits_outside",
         "right_outside", "tall_image")  # fmt: skip
NETWORKS = ("kws", "vww", "ic", "ad", "sww")


@cache
def compiled(name: str, goal: Goal) -> Compilation:
    data = tall_image() if name == "tall_image" else model_bytes(name)
    interface = InterfaceOptions(steps=True)
    inputs = options_of(name).inputs
    options = Options(name, core="cortex-m4", goal=goal, inputs=inputs, interface=interface)
    return compile_model(data, f"{name}.tflite", options)


def accessor(name: str, role: str, entry: TensorEntry) -> str:
    return "_".join(part for part in (name, role, entry.symbol) if part)


def outside_arguments(manifest: Manifest, turn: str) -> str:
    return "".join(f", outside_{entry.symbol}[{turn}]" for entry in manifest.external)


_MAIN = """#include <string.h>
#include "@name@.h"
#include "@name@_selftest.h"
static @macro@_ARENA(one);
static @macro@_ARENA(two);
static uint8_t *const arenas[2] = { one, two };
@memory@
static void fill(int which)
{
    memset(arenas[which], 0x5A, @macro@_ARENA_BYTES);
    @fill@
}
static int same(int which)
{
    return 1@same@;
}
static void keep(int which)
{
    @keep@
}
int main(void)
{
    fill(0);
    if (@whole@(one@first@) != 0) return 1;
    keep(0);
    fill(1);
    if (@whole@(two@second@) != 0) return 2;
    keep(1);
    for (int32_t n = 1; n <= @macro@_STEP_COUNT + 1; n += (n < 20) ? 1 : 1 + n / 3) {
        int32_t left = @macro@_STEP_COUNT;
        fill(0);
        if (@name@_begin(one) != 0) return 3;
        while (left > 0) {
            const int32_t now = @entry@(one@first@, n);
            if (now != (left > n ? left - n : 0)) return 4;
            left = now;
        }
        if (!same(0) || @entry@(one@first@, 1) != 0 || !same(0)) return 5;
    }
    for (int32_t n = 1; n <= 5; n += 2) {
        int32_t left[2] = { 1, 1 };
        fill(0);
        fill(1);
        @name@_begin(one);
        @name@_begin(two);
        while (left[0] > 0 || left[1] > 0) {
            left[0] = @entry@(one@first@, n);
            left[1] = @entry@(two@second@, 2 * n + 1);
        }
        if (left[0] != 0 || left[1] != 0 || !same(0) || !same(1)) return 6;
    }
    return 0;
}
"""


def program(manifest: Manifest) -> str:
    """Every number of steps a call, then two arenas in turns: 0, or the line that is wrong."""
    name, macro = manifest.name, manifest.name.upper()
    entry = f"{name}_run_steps{'_from' if manifest.external else ''}"
    whole = f"{name}_run{'_from' if manifest.external else ''}"
    args = [outside_arguments(manifest, f"{turn}") for turn in (0, 1)]
    fill, same, memory = "", "", ""
    for item in manifest.inputs:
        got = accessor(name, "input", item)
        place = f"outside_{item.symbol}[which]" if item.external else f"{got}(arenas[which])"
        if item.external:
            memory += f"GLOWMCU_ALIGNED(16) static int8_t {place[:-7]}[2][{item.bytes + 16 & ~15}];"
        value = "(float)value / 16.0f" if item.dtype == "float32" else "(int8_t)value"
        fill += (
            f"for (int i = 0; i < {got.upper()}_LENGTH; ++i) {{ const int value = "
            f"(i * 37 + which * 91 + 13 * (i / 7)) % 251 - 125; {place}[i] = {value}; }}\n"
        )
    for number, item in enumerate(manifest.outputs):
        got = accessor(name, "output", item)
        memory += f"static uint8_t wanted{number}[2][{item.bytes}];\n"
        same += f" && memcmp({got}(arenas[which]), wanted{number}[which], {item.bytes}) == 0"
    keep = "".join(
        f"memcpy(wanted{number}[which], {accessor(name, 'output', item)}(arenas[which]), "
        f"{item.bytes});\n"
        for number, item in enumerate(manifest.outputs)
    )
    names = {
        "name": name,
        "macro": macro,
        "entry": entry,
        "whole": whole,
        "memory": memory,
        "fill": fill,
        "same": same,
        "keep": keep,
        "first": args[0],
        "second": args[1],
    }
    return re.sub(r"@(\w+)@", lambda found: names[found[1]], _MAIN)


def check_on_host(name: str, goal: Goal, work: Path) -> None:
    bundle = write_bundle(compiled(name, goal), work / "bundle")
    done = build(work, program(read_manifest(bundle)), [bundle], SANITIZED)
    assert done.returncode == 0, done.stderr
    said = run_program(work)
    assert said.returncode == 0, said.stderr.decode()


@pytest.mark.parametrize("goal", Goal)
@pytest.mark.parametrize("name", ["digits", "tall_image", "digits_outside"])
def test_any_number_of_steps_a_call_gives_the_bytes_of_one_run(
    name: str, goal: Goal, tmp_path: Path
) -> None:
    check_on_host(name, goal, tmp_path)


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith(("dig", "tall"))])
def test_small_networks_of_every_interface_run_in_steps(name: str, tmp_path: Path) -> None:
    check_on_host(name, Goal.BALANCED, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("goal", [Goal.BALANCED, Goal.RAM])
@pytest.mark.parametrize("name", NETWORKS)
def test_real_networks_run_in_steps(name: str, goal: Goal, tmp_path: Path) -> None:
    check_on_host(name, goal, tmp_path)


def one_by_one(bundle: Path) -> Path:
    """The bundle with a `NAME_run` that does one step after the other."""
    manifest = read_manifest(bundle)
    name = manifest.name
    source = bundle / f"{name}.c"
    text = source.read_text(encoding="utf-8")
    head = f"int32_t {name}_run(void *arena)"
    assert text.count(head) == 1
    text = text.replace(head, f"static {head.replace('_run(', '_run_whole(')}")
    text += f"""
{head}
{{
    int32_t left;

    if ({name}_begin(arena) != 0) {{
        return {name}_run_whole(NULL);
    }}
    do {{
        left = {name}_run_steps(arena, 1);
    }} while (left > 0);
    return left;
}}
"""
    source.write_text(text, encoding="utf-8")
    return bundle


@pytest.mark.arm
@pytest.mark.parametrize("name", ["digits", "tall_image"])
@pytest.mark.parametrize("goal", [Goal.SPEED, Goal.RAM])
def test_a_modelled_core_gets_the_same_bytes_step_by_step(
    name: str, goal: Goal, tmp_path: Path
) -> None:
    compilation = compiled(name, goal)
    bundle = one_by_one(write_bundle(compilation, tmp_path / "bundle"))
    manifest = read_manifest(bundle)
    sets = [list(arrays) for arrays in random_inputs(manifest, 2, 3)]
    found = CortexM("cortex-m4", count=False).run(bundle, sets)
    for arrays, got in zip(sets, found, strict=True):
        for index, want in enumerate(run_graph(compilation.imported, arrays)):
            exact = manifest.outputs[index].exact
            expect_close(got.outputs[index], want, f"output {index}", exact)


def test_a_cascade_stops_between_rows() -> None:
    """Without, a watchdog would wait for most of a network that is planned for RAM."""
    compilation = compiled("tall_image", Goal.RAM)
    (cascade, *_) = [s for s in compilation.plan.program.steps if isinstance(s, Cascade)]
    (count,) = re.findall(r"STEP_COUNT (\d+)", compilation.files["tall_image.h"])
    assert len(cascade.stages) > 1
    assert int(count) == len(compilation.plan.program.steps) - 1 + len(cascade.order)


@pytest.mark.parametrize("goal", Goal)
@pytest.mark.parametrize("name", NAMES)
def test_no_buffer_takes_the_bytes_of_progress(name: str, goal: Goal) -> None:
    compilation = compiled(name, goal)
    program, manifest = compilation.plan.program, compilation.manifest
    place = manifest.buffers[-1]
    first, end = place.offset, place.offset + place.bytes
    assert place.name == "how far a run in steps is"
    assert first % 4 == 0
    assert end <= manifest.arena_bytes
    taken = {b: (program.offsets[b], program.offsets[b] + b.size_bytes) for b in program.lives}
    assert [b.name for b, (start, stop) in taken.items() if start < end and first < stop] == []


MISUSE = """#include <string.h>
#include "digits.h"
#include "digits_selftest.h"
#include "two_in_two_out.h"
static GLOWMCU_SHARED_ARENA(arena, DIGITS_ARENA_BYTES, TWO_IN_TWO_OUT_ARENA_BYTES);
static uint8_t before[sizeof arena];
static int refused(void)
{
    memcpy(before, arena, sizeof arena);
    return digits_run_steps(arena, 1) == GLOWMCU_NOT_BEGUN && !memcmp(before, arena, sizeof arena);
}
int main(void)
{
    static const int fills[] = { 0, 0xA5, 0xFF, 0x40, 0x5A };
    for (unsigned i = 0; i < sizeof fills / sizeof *fills; ++i) {
        memset(arena, fills[i], sizeof arena);
        if (!refused()) return 1; /* nobody has begun */
    }
    if (digits_begin(NULL) != GLOWMCU_BAD_ARENA || digits_begin(arena + 4) != GLOWMCU_BAD_ARENA) {
        return 2;
    }
    if (digits_run_steps(NULL, 1) != GLOWMCU_BAD_ARENA) return 3;
    if (digits_run_steps(arena + 8, 1) != GLOWMCU_BAD_ARENA) return 4;
    if (digits_begin(arena) != 0) return 5;
    if (digits_run_steps(arena, 0) != DIGITS_STEP_COUNT) return 6;
    if (digits_run_steps(arena, -7) != DIGITS_STEP_COUNT) return 7;
    if (digits_run_steps(arena, 2) != DIGITS_STEP_COUNT - 2) return 8;
    if (digits_run(arena) != 0 || !refused()) return 9; /* a run in the midst */
    digits_begin(arena);
    if (digits_run_steps(arena, 1) != DIGITS_STEP_COUNT - 1) return 10;
    if (two_in_two_out_begin(arena) != 0) return 11; /* another model takes the arena */
    if (two_in_two_out_run_steps(arena, 2147483647) != 0) return 12;
    if (DIGITS_AT == TWO_AT && !refused()) return 13;
    digits_begin(arena);
    digits_run_steps(arena, 3);
    digits_begin(arena); /* drops what was begun */
    if (digits_run_steps(arena, 2147483647) != 0) return 14;
    memcpy(before, arena, sizeof arena);
    if (digits_run_steps(arena, 1) != 0 || memcmp(before, arena, sizeof arena)) return 15;
    return digits_selftest(arena) != 0 ? 16 : 0;
}
"""


def test_misuse_is_harmless_and_told(tmp_path: Path) -> None:
    bundles = []
    flags = list(SANITIZED)
    for name, macro in (("digits", "DIGITS_AT"), ("two_in_two_out", "TWO_AT")):
        compilation = compiled(name, Goal.BALANCED)
        bundles.append(write_bundle(compilation, tmp_path / name))
        flags.append(f"-D{macro}={compilation.manifest.buffers[-1].offset}")
    done = build(tmp_path, MISUSE, bundles, flags)
    assert done.returncode == 0, done.stderr
    assert run_program(tmp_path).returncode == 0


def test_steps_that_do_not_return_leave_nothing_begun(tmp_path: Path) -> None:
    """An interrupt that takes over in the midst of a step must not go on with half of a layer."""
    bundle = write_bundle(compiled("digits", Goal.BALANCED), tmp_path / "digits")
    main = """#include "digits.h"
static DIGITS_ARENA(arena);
static int32_t inside = 1;
void interrupt(void);
void interrupt(void)
{
    inside = digits_run_steps(arena, 1);
}
int main(void)
{
    if (digits_begin(arena) != 0 || digits_run_steps(arena, 3) <= 0) return 1;
    return inside != GLOWMCU_NOT_BEGUN;
}
"""
    hook = tmp_path / "hook.h"
    hook.write_text(
        "void interrupt(void);\n"
        "#define GLOWMCU_STEP(index) do { if ((index) == 2) { interrupt(); } } while (0)\n"
    )
    done = build(tmp_path, main, [bundle], ["-include", str(hook)])
    assert done.returncode == 0, done.stderr
    assert run_program(tmp_path).returncode == 0


def test_nobody_pays_who_does_not_ask() -> None:
    options = Options("digits", core="cortex-m4")
    plain = compile_model(model_bytes("digits"), "digits.tflite", options)
    assert [file for file, text in plain.files.items() if "run_steps" in text] == []
    stepped = compiled("digits", Goal.BALANCED)
    assert 0 < stepped.manifest.arena_bytes - plain.manifest.arena_bytes <= 16


def test_the_arena_budget_includes_progress() -> None:
    free = compiled("digits", Goal.SPEED).manifest.arena_bytes
    least = compiled("digits", Goal.RAM).manifest.arena_bytes
    assert least < free
    options = Options("digits", core="cortex-m4", goal=Goal.SPEED, budgets=Budgets(None, free - 16),
                      interface=InterfaceOptions(steps=True))  # fmt: skip
    fitted = compile_model(model_bytes("digits"), "digits.tflite", options).manifest
    assert least <= fitted.arena_bytes <= free - 16


def test_a_streamed_input_and_steps_exclude_each_other() -> None:
    options = options_of("digits_rows")
    options = Options("digits", inputs=options.inputs, interface=InterfaceOptions(steps=True))
    with pytest.raises(GlowmcuError, match=r"GM626.*'pixels' is streamed"):
        compile_model(model_bytes("digits"), "digits.tflite", options)


def test_inputs_outside_are_part_of_the_tests() -> None:
    assert set(OUTSIDE) <= set(NAMES)
