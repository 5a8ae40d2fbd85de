"""DSP kernels on a core that issues two instructions at a time: same results, fewer cycles."""

from __future__ import annotations

import subprocess
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from glowmcu.cores import core
from glowmcu.kernels.dsp.order.blocks import ordered
from glowmcu.kernels.dsp.order.dual_issue import as_it_is, best_order
from glowmcu.kernels.dsp.order.instructions import FLAGS, Instruction, read_line
from glowmcu.kernels.dsp.order.macros import expanded
from glowmcu.kernels.kernel import Target
from glowmcu.resources import resource_dir
from glowmcu.verify.toolchain import find_gcc
from tests.kernels import (
    test_chunks_dsp,
    test_column_dsp,
    test_compact_dsp,
    test_conv_2d_rows_dsp,
    test_depthwise_dsp,
    test_depthwise_planes_dsp,
    test_depthwise_row_dsp,
    test_few_inputs_dsp,
    test_fully_connected_direct_dsp,
    test_fully_connected_dsp,
    test_fully_connected_nibbles_dsp,
    test_pointwise_dsp,
    test_straight_dsp,
    test_winograd_dsp,
)
from tests.kernels.test_pointwise_dsp import layer
from tests.ops.test_convolution import Case, conv_model
from tests.ops.test_matmul import Dense, dense_model
from tests.support.forced_variant import check_forced, compile_forced

M4, M7 = (Target(core(name)) for name in ("cortex-m4", "cortex-m7"))

GROUPS: dict[str, Any] = {
    "chunks": test_chunks_dsp.PACKED_LAYERS,
    "chunks, spaced": test_chunks_dsp.SHARED_LAYERS,
    "column": test_column_dsp.LAYERS,
    "compact": test_compact_dsp.SHIFTED_LAYERS,
    "compact, proved": test_compact_dsp.PROVABLE_LAYERS,
    "rows": test_conv_2d_rows_dsp.LAYERS,
    **test_depthwise_dsp.SHAPE_LAYERS,
    **{f"{name}, numbers": found for name, found in test_depthwise_dsp.NUMBER_LAYERS.items()},
    "planes, straight": test_depthwise_planes_dsp.STRAIGHT_LAYERS,
    "planes": test_depthwise_planes_dsp.LOOPED_LAYERS,
    "row": test_depthwise_row_dsp.SHAPE_LAYERS,
    "row, numbers": test_depthwise_row_dsp.NUMBER_LAYERS,
    "few inputs": test_few_inputs_dsp.SHAPE_LAYERS,
    "few inputs, numbers": test_few_inputs_dsp.NUMBER_LAYERS,
    "direct": test_fully_connected_direct_dsp.LAYERS,
    "nibbles": test_fully_connected_nibbles_dsp.LAYERS,
    "fully connected": test_fully_connected_dsp.LAYERS,
    "pointwise": test_pointwise_dsp.SHAPE_LAYERS,
    "pointwise, numbers": test_pointwise_dsp.NUMBER_LAYERS,
    "pointwise, rows": test_pointwise_dsp.ROW_LAYERS,
    "straight": test_straight_dsp.LAYERS,
    "winograd": test_winograd_dsp.LAYERS,
}


@pytest.mark.arm
@pytest.mark.parametrize("group", GROUPS)
def test_every_layer_is_computed_as_it_is_meant_in_another_order(group: str) -> None:
    GROUPS[group].elsewhere("cortex-m7").check_all_on_core()


def pixels(count: int, depth: int) -> bytes:
    return conv_model("CONV_2D", floor(layer((1, count, count, depth), depth)))


def window(depth: int) -> bytes:
    return conv_model("CONV_2D", floor(windows((1, 8, 8, depth))))


def depthwise(depth: int) -> bytes:
    return conv_model("DEPTHWISE_CONV_2D", floor(windows((1, 16, 16, depth))))


def windows(shape: tuple[int, int, int, int]) -> Case:
    return Case(shape, shape[3], (3, 3), padding="SAME", least_weight=-127, out_scale=4.0)


def floor(case: Case) -> Case:
    """With outputs that one line of integers gives, as behind a RELU."""
    return replace(case, out_zero_point=-128)


#: Products of a layer, and the most cycles for each with all that is around them: 4 % more than it
#: takes. In the order of a Cortex-M4 each took more by a sixth (depthwise) to two fifths.
LIMITS = {
    "conv_2d.straight_dsp": (pixels(8, 64), 8 * 8 * 64 * 64, 0.59),
    "conv_2d.pointwise_dsp": (pixels(8, 64), 8 * 8 * 64 * 64, 0.61),
    "conv_2d.few_inputs_dsp": (pixels(16, 8), 16 * 16 * 8 * 8, 1.05),
    "conv_2d.rows_dsp": (window(16), 8 * 8 * 16 * 16 * 9, 0.60),
    "conv_2d.winograd_dsp": (window(16), 8 * 8 * 16 * 16 * 9, 0.42),
    "fully_connected.direct_dsp": (dense_model(Dense(1, 256, 64)), 256 * 64, 0.63),
    "depthwise_conv_2d.lines_dsp": (depthwise(16), 16 * 16 * 16 * 9, 1.51),
}


@pytest.mark.arm
@pytest.mark.parametrize("variant", LIMITS)
def test_the_order_is_worth_its_cycles(variant: str) -> None:
    data, products, most = LIMITS[variant]
    cycles = check_forced(data, variant, "cortex-m7", counts_cycles=True).cycles
    assert cycles is not None
    assert cycles / products <= most


def test_a_core_that_issues_one_at_a_time_keeps_the_order() -> None:
    lines = ("ldr r2, [r0]", "smlad r6, r2, r4, r6", "ldr r3, [r0, #4]", "smlad r7, r3, r4, r7")
    assert ordered(lines, M4) == lines
    assert ordered(lines, M7) != lines
    assert Counter(ordered(lines, M7)) == Counter(lines)


def test_labels_branches_and_conditional_instructions_stay_between_the_same_lines() -> None:
    lines = (
        *("ldr r2, [r0]", "sxtb16 r3, r2", "adds r4, #1", "3: /* here */", "ldr r5, [r0, #4]"),
        *("cmp r5, #0", "it eq", "moveq r5, r4", "add r0, r0, #8", "str r5, [r1]", "bne 3b"),
    )
    found = ordered(lines, M7)
    fixed = ("3: /* here */", "it eq", "moveq r5, r4", "bne 3b")
    places = [found.index(line) for line in fixed]
    assert places == [lines.index(line) for line in fixed]


def test_lines_that_are_entered_keep_what_is_before_and_behind_them() -> None:
    lines = ("ldr r3, [r1]", "ldr r5, [r1, #4]", "ldr r4, [r0, #8]", "smlad r6, r3, r5, r6")
    assert ordered(lines, M7, fixed="ldr r4, [r0, ").index(lines[2]) == 2


def test_repeated_lines_are_written_out_where_nothing_enters_between_them() -> None:
    lines = (".irp i, 1, 2", "ldr r2, [r0, #8 * \\i]", "smlad r6, r2, r4, r6", ".endr")
    found = ordered(lines, M7, unrolled=True)
    assert Counter(found) == Counter(
        ("ldr r2, [r0, #8 * 1]", "ldr r2, [r0, #8 * 2]", *("smlad r6, r2, r4, r6",) * 2)
    )


BLOCKS = {
    "an operand after its load": ("ldr r2, [r0]", "smlad r6, r2, r4, r6"),
    "a load after the last use": ("smlad r6, r2, r4, r6", "ldr r2, [r0]"),
    "the later of two values": ("mov r2, r3", "mov r2, r4"),
    "a base that moves": ("ldr r2, [r0], #4", "ldr r3, [r0]"),
    "a list with a base that moves": ("ldm r1!, {r2-r4}", "ldr r5, [r1]"),
    "a load after a store that it may see": ("strb r2, [r1]", "ldr r3, [r4]"),
    "a store after a load of the same": ("ldr r3, [r4]", "strb r2, [r1]"),
    "the same word of the frame": ("str r2, [sp, #8]", "ldr r3, [sp, #8]"),
    "flags that only some instructions set": ("cmp r2, r3", "lsls r4, r4, #1"),
    "flags of the last": ("adds r2, #1", "cmp r4, r5"),
    "a half of a register": ("movw r8, #1", "movt r8, #2"),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_what_depends_on_another_stays_behind_it(name: str) -> None:
    first, second = map(known, BLOCKS[name])
    slow = known("smmul r11, r11, r12")
    for block in ([first, second], [first, second, slow], [slow, first, second]):
        places = best_order(block).places
        assert places.index(block.index(first)) < places.index(block.index(second))


def test_a_load_of_constants_passes_a_store() -> None:
    lines = ("smmul r2, r2, r5", "strb r2, [r0]", "ldr r3, [r1]", "smlad r6, r3, r4, r6")
    block = [known(line) for line in lines]
    assert best_order(block).places == (0, 1, 2, 3)
    behind = best_order(block, apart=("r1",)).places
    assert behind.index(2) < behind.index(1)


def include_flags() -> list[str]:
    folders = sorted({path.parent for path in resource_dir("libjit").rglob("*.h")})
    return [f"-I{folder}" for folder in folders]


def known(line: str) -> Instruction:
    found = read_line(line)
    assert found is not None
    return found


def test_no_order_is_slower_than_the_one_that_is_written() -> None:
    lines = [f"smlad r{6 + i % 4}, r2, r{3 + i % 2}, r{6 + i % 4}" for i in range(12)]
    block = [known(line) for line in ("ldr r2, [r0]", "ldr r3, [r1]", *lines, "ldr r4, [r1, #4]")]
    assert best_order(block).cycles <= as_it_is(block).cycles


UNKNOWN = (
    *("b 1f", "it ne", "movne r2, r3", "ldr pc, [sp]", "vmov s0, r1", "push {r4}", ".irp x, 1"),
    *("3:", "umaal r2, r3, r4, r5"),
)


@pytest.mark.parametrize("line", UNKNOWN)
def test_nothing_passes_what_is_not_known(line: str) -> None:
    assert read_line(line) is None


def test_both_operands_of_a_short_form_are_read() -> None:
    assert {register for register, _ in known("add r1, r5").reads} == {"r1", "r5"}
    assert {register for register, _ in known("asrs r4, r10").reads} == {"r4", "r10"}
    assert known("subs r2, #1").writes == ("r2", FLAGS)


@pytest.mark.arm
def test_macros_expand_to_what_the_preprocessor_makes_of_them() -> None:
    gcc = find_gcc()
    assert gcc is not None
    (selection,) = compile_forced(window(16), "conv_2d.rows_dsp", "cortex-m4").selections.values()
    calls = [call for calls in selection.code.view["statements"] for call in calls]
    header = "glowmcu_pixel_pairs.h"
    text = f'#define GLOWMCU_HAS_DSP 1\n#include "{header}"\nSTART {" ".join(calls)}\n'
    done = subprocess.run(
        [str(gcc), "-mcpu=cortex-m4", "-E", "-P", *include_flags(), "-x", "c", "-"],
        input=text, capture_output=True, text=True, check=True,
    )  # fmt: skip
    strings = done.stdout.split("START")[-1]
    lines = "".join(part for part in strings.split('"')[1::2]).replace("\\t", "").split("\\n")
    assert expanded(header, calls) == tuple(line.strip() for line in lines if line.strip())
