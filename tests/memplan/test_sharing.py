"""Views of concatenations, results in place, explicit lifetimes: one fact a test."""

from __future__ import annotations

import dataclasses
from unittest import mock

import pytest

from glowmcu.ir.graph import VerificationError
from glowmcu.ir.program import Alloc, Dealloc, Instruction, Program, Run, View, ViewRole
from glowmcu.ir.types import ElementType
from glowmcu.ir.verify_program import verify_program
from glowmcu.memplan.instructions import arranged, insert_lifetimes
from glowmcu.memplan.planner import plan_memory
from glowmcu.memplan.reuse_in_place import reuse_in_place
from glowmcu.memplan.share_views import share_views
from tests.memplan.small_programs import Builder, Mingle


def roles(program: Program) -> list[tuple[str, str, int, str]]:
    return [
        (view.buffer.name, view.base.name, view.offset_bytes, view.role.value)
        for view in program.views.values()
    ]


def test_parts_of_a_concatenation_are_views_and_its_run_goes() -> None:
    builder = Builder()
    x = builder.input(4)
    joined = builder.join(builder.mix(3, x), builder.mix(5, x))
    shared = share_views(builder.program(builder.graph(joined)))
    assert roles(shared) == [("t0_0", "t2_0", 0, "part"), ("t1_0", "t2_0", 3, "part")]
    assert len(shared.runs) == 2


def test_a_concatenation_of_concatenations_is_one_buffer() -> None:
    builder = Builder()
    x = builder.input(4)
    inner = builder.join(builder.mix(4, x), builder.mix(4, x))
    outer = builder.join(inner, builder.mix(8, x))
    program = share_views(builder.program(builder.graph(outer)))
    assert len(program.runs) == 3
    assert [buffer.name for buffer in program.lives] == ["in0", outer.name]


def test_an_operand_joined_twice_is_in_place_once_at_most_and_the_copy_stays() -> None:
    builder = Builder()
    x = builder.input(4)
    a = builder.mix(4, x)
    first, second = builder.join(a, builder.mix(4, x)), builder.join(builder.mix(4, x), a)
    program = share_views(builder.program(builder.graph(first, second)))
    assert [view.base.name for view in program.views.values() if view.buffer.name == a.name] == [
        first.name
    ]
    assert second.name in [run.outputs[0].name for run in program.runs]
    verify_program(program)


def test_words_are_never_put_between_words() -> None:
    builder = Builder()
    x = builder.input(3, ElementType.I8)
    careful = builder.mix(5, x, align=4)
    joined = builder.join(builder.mix(3, x), careful)
    program = share_views(builder.program(builder.graph(joined)))
    assert ("t0_0", joined.name, 3, "part") not in roles(program)
    assert joined.name in [run.outputs[0].name for run in program.runs]


def test_words_that_a_kernel_reads_elsewhere_do_not_matter() -> None:
    builder = Builder()
    x = builder.input(4)
    other = builder.mix(4, x, align=4)
    joined = builder.join(builder.mix(3, x), builder.mix(5, x))
    program = share_views(builder.program(builder.graph(joined, other)))
    assert {buffer for buffer, *_ in roles(program)} == {"t1_0", "t2_0"}


def test_a_streamed_input_is_no_part_of_a_concatenation_but_others_are() -> None:
    builder = Builder()
    x, y = builder.input(4), builder.input(4)
    first, second = builder.join(x, builder.mix(4, x)), builder.join(builder.mix(4, y), y)
    program = builder.program_with_streamed_input(builder.graph(first, second), "in0")
    names = {(buffer, base) for buffer, base, *_ in roles(share_views(program))}
    assert names == {("t0_0", first.name), ("t2_0", second.name), ("in1", second.name)}


def test_a_concatenation_that_would_raise_the_peak_is_copied() -> None:
    builder = Builder()
    x = builder.input(4)
    early = builder.mix(4, x)
    high = builder.mix(200, builder.mix(200, early))
    joined = builder.join(early, builder.mix(100, high))
    program = builder.program(builder.graph(builder.mix(1, joined)))
    assert share_views(program) is program


def test_a_result_overwrites_an_operand_that_dies() -> None:
    builder = Builder()
    x = builder.input(8)
    out = builder.mingle(builder.mingle(builder.mix(8, x)))
    program = reuse_in_place(builder.program(builder.graph(out)))
    assert roles(program) == [
        ("t1_0", "t0_0", 0, "overwrite"), ("t2_0", "t1_0", 0, "overwrite"),
    ]  # fmt: skip


def test_a_result_overwrites_nothing_that_is_read_later_given_out_or_of_another_size() -> None:
    builder = Builder()
    x = builder.input(8)
    later = builder.mix(8, x)
    given = builder.mix(8, x)
    results = [builder.mingle(later), builder.mingle(given), builder.mix(4, later)]
    program = reuse_in_place(builder.program(builder.graph(*results, given)))
    assert roles(program) == []


def test_a_result_overwrites_no_operand_that_another_operand_reads_shifted() -> None:
    builder = Builder()
    x = builder.mix(6, builder.input(1))
    head, _ = builder.cut(x, 4, 2)
    _, tail = builder.cut(x, 2, 4)
    program = reuse_in_place(builder.program(builder.graph(builder.mingle(head, tail))))
    assert all(view.role is ViewRole.SLICE for view in program.views.values())


def test_the_verifier_refuses_a_run_in_place_that_its_operator_does_not_allow() -> None:
    builder = Builder()
    x = builder.input(8)
    program = builder.program(builder.graph(builder.mix(8, builder.mix(8, x))))
    first, second = (run.outputs[0] for run in program.runs)
    wrong = arranged(program, program.runs, [View(second, first, 0, ViewRole.OVERWRITE)])
    with pytest.raises(VerificationError, match="writes 't1_0' over 't0_0'"):
        verify_program(wrong)


def test_the_verifier_refuses_a_read_before_the_write() -> None:
    builder = Builder()
    x = builder.input(8)
    program = builder.program(builder.graph(builder.mix(8, builder.mix(8, x))))
    with pytest.raises(VerificationError, match="which is not or no longer there"):
        verify_program(program.with_instructions(program.instructions[::-1]))


def test_the_verifier_refuses_parts_that_overlap_or_leave_a_gap() -> None:
    builder = Builder()
    x = builder.input(4)
    joined = builder.join(builder.mix(3, x), builder.mix(5, x))
    program = share_views(builder.program(builder.graph(joined)))
    first, second = program.views.values()
    for offset, complaint in ((2, "overlap"), (4, "reach|bytes 4..9")):
        moved = dataclasses.replace(second, offset_bytes=offset)
        with pytest.raises(VerificationError, match=complaint):
            verify_program(arranged(program, program.runs, [first, moved]))
    with pytest.raises(VerificationError, match="leave bytes that nobody writes"):
        verify_program(arranged(program, program.runs[:1], [first]))


def lifetimes(instructions: tuple[Instruction, ...]) -> list[str]:
    names = {Alloc: "alloc", Dealloc: "dealloc"}
    return [
        f"run {item.node.name}"
        if isinstance(item, Run)
        else f"{names[type(item)]} {item.buffer.name}"
        for item in instructions
        if not isinstance(item, View)
    ]


def test_lifetimes_are_as_tight_as_the_uses() -> None:
    builder = Builder()
    x, unread = builder.input(4), builder.input(4)
    out = builder.mix(4, builder.mix(4, x, scratch=2))
    program = insert_lifetimes(builder.program(builder.graph(out)))
    assert unread
    assert lifetimes(program.instructions) == [
        "alloc in0", "alloc in1", "dealloc in1",
        "alloc t0_0", "alloc n0/scratch", "run n0", "dealloc in0", "dealloc n0/scratch",
        "alloc t1_0", "run n1", "dealloc t0_0",
    ]  # fmt: skip
    verify_program(program)


@pytest.mark.parametrize("missing", [Alloc, Dealloc])
def test_the_verifier_refuses_lifetimes_that_differ_from_the_uses(missing: type) -> None:
    builder = Builder()
    x = builder.input(4)
    program = insert_lifetimes(builder.program(builder.graph(builder.mix(4, builder.mix(4, x)))))
    victim = next(item for item in program.instructions if isinstance(item, missing))
    rest = [item for item in program.instructions if item is not victim]
    with pytest.raises(VerificationError, match=r"alloc and dealloc differ|never allocated"):
        verify_program(program.with_instructions(rest))


def test_bytes_are_aligned_for_who_points_at_them_and_for_nobody_else() -> None:
    builder = Builder()
    words, octets, other = builder.input(4, ElementType.I32), builder.input(8), builder.input(8)
    builder.mix(2, builder.cut(words, 1, 3)[0])
    out = builder.mix(2, builder.cut(octets, 5, 3)[1])
    program = builder.program(builder.graph(out, builder.mix(2, other, align=8)))
    roots = {buffer.name: buffer for buffer in program.lives}
    assert [program.required_align(roots[f"in{i}"]) for i in range(3)] == [4, 1, 8]


def test_of_twice_as_many_runs_twice_as_many_operands_are_looked_at_for_alignment() -> None:
    counts = []
    for width in (40, 80):
        builder = Builder()
        made = [builder.mingle(builder.mix(8, builder.input(8))) for _ in range(width)]
        program = builder.program(builder.graph(*made))
        with mock.patch.object(Program, "root", autospec=True, side_effect=Program.root) as roots:
            reuse_in_place(program)
        counts.append(roots.call_count)
    assert counts[1] <= 2 * counts[0]


def test_the_plan_says_what_each_pass_saved() -> None:
    builder = Builder()
    x = builder.input(8)
    joined = builder.join(builder.mingle(builder.mix(8, x)), builder.mix(8, x))
    plan = plan_memory(builder.program(builder.graph(joined)))
    reports = {report.name: report for report in plan.reports}
    assert list(reports) == ["share_views", "schedule", "reuse_in_place", "offsets"]
    assert reports["share_views"].note == "1 copies not made"
    assert reports["offsets"].after_bytes == plan.arena_bytes == plan.lower_bound_bytes
    assert plan.order_proved
    assert Mingle.name == "mingle"
