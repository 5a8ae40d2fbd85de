"""The instruction IR's text: parsing gives an equivalent program back."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.goals import Goal
from glowmcu.ir.cascade import Cascade, RowRun, Stage
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.kernel_code import Overlap, RowCall, RowRule, RowSupport
from glowmcu.ir.operation import Rounding
from glowmcu.ir.program import Alloc, Buffer, Dealloc, Program, Run, View
from glowmcu.ir.text import parse_program, print_program
from glowmcu.ir.text.cascade_records import RowRunRecord
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ir.verify_program import verify_program
from glowmcu.ops.activation import Relu
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.pooling import MaxPool2D
from glowmcu.ops.registry import load_operations
from glowmcu.ops.shape import Reshape
from glowmcu.pipeline import compile_model
from tests.ir.graphs import int8
from tests.ir.test_graph_text import MODELS, tool

OPERATIONS = load_operations()


def small_program(planned: bool = True) -> Program:
    """Alloc, a kernel call with scratch and a flash operand, a view, a second reader of a value."""
    x = Buffer("x", int8(1, 4))
    weights = Buffer("w", int8(8, 4), np.arange(32, dtype=np.int8).reshape(8, 4))
    y, flat, z = Buffer("y", int8(1, 8)), Buffer("y", int8(2, 4)), Buffer("z", int8(2, 8))
    scratch = Buffer("s", TensorType((16,), ElementType.I8))
    vx, vy, vflat = Value(int8(1, 4), "x"), Value(int8(1, 8), "y#1"), Value(int8(2, 4), "x")
    vw, vb = Value(int8(8, 4), "w"), Value(TensorType((8,), ElementType.I32), "b")
    first = Node(FullyConnected((0, 5)), (vx, vw, vb), (vy,), "first", "operator 0")
    last = Node(FullyConnected(), (vflat, vw, vb), (Value(int8(2, 8), "z"),), "last")
    assert Reshape((2, 4)).infer([vy.type]) == (vflat.type.shape,)
    instructions = (
        Alloc(y),
        Alloc(scratch),
        Run(first, "k1", (x, weights), (y,), scratch, (0, 1)),
        Dealloc(scratch),
        View(flat, y),
        Alloc(z),
        Run(last, "k2", (flat,), (z,), None, (0,), 4),
        Dealloc(y),
    )
    offsets = {x: 0, y: 8, z: 16, scratch: 32} if planned else {}
    return Program("main", (x,), (z,), instructions, offsets)


@pytest.mark.parametrize("planned", [False, True])
def test_a_printed_program_parses_back(planned: bool) -> None:
    program = small_program(planned)
    text = print_program(program)
    again = parse_program(text, OPERATIONS)
    assert print_program(again) == text
    assert [type(item) for item in again.instructions] == [
        type(item) for item in program.instructions
    ]
    places = {buffer.name: offset for buffer, offset in again.offsets.items()}
    assert places == {buffer.name: offset for buffer, offset in program.offsets.items()}
    for old, new in zip(program.runs, again.runs, strict=True):
        assert (new.node.op, new.node.signature) == (old.node.op, old.node.signature)
        assert [v.name for v in new.node.inputs] == [v.name for v in old.node.inputs]
        assert (new.kernel, new.positions, new.operand_align) == (
            old.kernel,
            old.positions,
            old.operand_align,
        )


def test_kept_inputs_are_printed_and_parsed_back() -> None:
    program = small_program()
    assert "glowmcu.kept" not in print_program(program)
    text = print_program(dataclasses.replace(program, kept=program.inputs))
    assert '"glowmcu.kept"(%x) {access = ["@in"]}' in text
    assert [buffer.name for buffer in parse_program(text, OPERATIONS).kept] == ["x"]


def test_values_that_several_runs_name_are_one_object_again() -> None:
    first, last = parse_program(print_program(small_program()), OPERATIONS).runs
    assert first.node.inputs[1] is last.node.inputs[1]
    assert first.node.inputs[0].name == last.node.inputs[0].name == "x"
    assert first.node.inputs[0] is not last.node.inputs[0]


def test_text_marks_what_is_read_written_and_both() -> None:
    lines = print_program(small_program()).splitlines()
    run = next(line for line in lines if "glowmcu.run" in line)
    assert run.strip().startswith(
        '"glowmcu.run"(%x, %w, %y, %s) {access = ["@in", "@in", "@out", "@inout"], kernel = "k1"'
    )
    view = next(line for line in lines if "glowmcu.view" in line)
    assert '"glowmcu.view"(%y_2, %y) {access = ["@out", "@in"], offset_bytes = 0 : i64' in view


@pytest.mark.parametrize(
    ("name", "goal"), [*((name, Goal.BALANCED) for name in MODELS), ("kws", Goal.RAM)]
)
def test_a_real_program_round_trips(name: str, goal: Goal, shared_dir: Path) -> None:
    data = (shared_dir / "models" / f"{name}_int8.tflite").read_bytes()
    options = Options("m", goal=goal, core="cortex-m4", rounding=Rounding.DOUBLE)
    program = compile_model(data, name, options).plan.program
    assert any(isinstance(step, Cascade) for step in program.steps) == (goal is Goal.RAM)
    sidecar: dict[str, Any] = {}
    text = print_program(program, sidecar)
    again = parse_program(text, OPERATIONS, sidecar)
    assert print_program(again, {}) == text
    assert list(again.offsets.values()) == list(program.offsets.values())
    assert [again.offset(b) for b in again.outputs] == [program.offset(b) for b in program.outputs]


def streamed_program() -> Program:
    """A cascade with a ring, a single row and scratch, behind a run that overlaps its operand."""
    x, y = Buffer("x", int8(1, 6, 2, 4)), Buffer("y", int8(1, 6, 2, 4))
    ring, row = Buffer("ring", int8(1, 3, 2, 4)), Buffer("row", int8(1, 1, 2, 4))
    z, scratch = Buffer("z", int8(1, 4, 2, 4)), Buffer("s", TensorType((16,), ElementType.I8))
    image, less = Value(int8(1, 6, 2, 4), "v"), Value(int8(1, 4, 2, 4), "v")
    relu = Node(Relu(), (image,), (Value(int8(1, 6, 2, 4), "r"),), "relu")
    pool = Node(MaxPool2D((3, 1)), (image,), (less,), "pool")
    same, window = RowRule(1, 0, 1, 6), RowRule(1, 0, 3, 6)
    rows = RowSupport(RowCall.WHOLE, 6, (same,), 16, {0: Overlap(None, 0)})
    overlaps = {0: Overlap(-4)}
    first = Run(relu, "k1", (x,), (y,), None, (0,), 1, overlaps, rows)
    passing = RowRun(Run(relu, "k1", (y,), (row,), scratch, (0,), rows=rows), rows.call, (same,))
    keeping = RowRun(Run(relu, "k1", (row,), (ring,), None, (0,), 4), RowCall.WHOLE, (same,))
    pooling = RowRun(Run(pool, "k2", (ring,), (z,), None, (0,)), RowCall.RANGE, (window,))
    cascade = Cascade(
        (Stage((passing, keeping), 6), Stage((pooling,), 4)),
        (0, 0, 0, 1, 0, 1, 0, 1, 0, 1),
        (y,),
        (z,),
        {ring: 0},
        {(row, ring): ((-24, -16), (-8, 8)), (scratch, row): ()},
        {y: Overlap(16)},
    )
    offsets = {x: 8, y: 0, ring: 128, row: 192, scratch: 200, z: 64}
    return Program("main", (x,), (z,), (first, cascade), offsets)


def test_a_printed_cascade_parses_back() -> None:
    program = streamed_program()
    text = print_program(program)
    again = parse_program(text, OPERATIONS)
    assert print_program(again) == text
    (run, old), (run_again, new) = program.steps, again.steps
    assert isinstance(run, Run)
    assert isinstance(run_again, Run)
    assert (run_again.overlaps, run_again.rows) == (run.overlaps, run.rows)
    assert isinstance(old, Cascade)
    assert isinstance(new, Cascade)
    assert [buffer.name for buffer in new.operands] == [buffer.name for buffer in old.operands]
    assert new.order == old.order
    assert by_name(new) == by_name(old)
    verify_program(again, 256)


def by_name(cascade: Cascade) -> list[object]:
    """What a cascade says, with buffers by their names."""
    return [
        {buffer.name: stage for buffer, stage in cascade.rings.items()},
        {(a.name, b.name): gaps for (a, b), gaps in cascade.forbidden_offsets.items()},
        {buffer.name: rule for buffer, rule in cascade.overlaps.items()},
        [
            (stage.rows, item.call, item.rules, item.run.kernel, item.run.operand_align)
            for stage in cascade.stages
            for item in stage.runs
        ],
        [[buffer.name for buffer in run.operands] for run in cascade.runs],
        [(run.positions, run.rows, run.overlaps) for run in cascade.runs],
    ]


def test_the_text_of_a_cascade_leaves_out_no_field_of_its_kernels() -> None:
    known = {field.name for field in dataclasses.fields(RowRunRecord)}
    wanted = {field.name for kind in (Run, RowRun) for field in dataclasses.fields(kind)}
    # Kernels of a cascade are not divided between cores, and their weights do not come early.
    assert known == wanted - {"run", "division", "prefetches"}


STREAMED = print_program(streamed_program())
BAD_CASCADES = [
    ("no such stage", "order = array<i64: 0, 0", "order = array<i64: 0, 7", "no stage 7"),
    ("no such buffer", "inputs = array<i64: 0>", "inputs = array<i64: 9>", "none at position 9"),
    ("no rule", "rules = [{stride = 1 : i64, before = 0 : i64, extent = 3 : i64, rows = 6 : i64}]",
     "rules = []", "one rule for each input"),
    ("no stages", "stages = [", "stages = [], stagez = [", "no attribute 'stagez'"),
    ("key is no number", 'rings = {"4"', 'rings = {"two"', "a dictionary by number"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [row[1:] for row in BAD_CASCADES],
    ids=[row[0] for row in BAD_CASCADES],
)
def test_wrong_text_of_a_cascade_is_refused(old: str, new: str, message: str) -> None:
    assert old in STREAMED
    with pytest.raises(GlowmcuError, match=message):
        parse_program(STREAMED.replace(old, new, 1), OPERATIONS)


TEXT = print_program(small_program())
BAD = [
    ("unknown instruction", '"glowmcu.alloc"', '"glowmcu.malloc"', "GM211", "no instruction"),
    ("unknown attribute", "kernel = ", "kernal = ", "GM212", "did you mean 'kernel'"),
    ("missing attribute", 'kernel = "k1", ', "", "GM213", "lacks attribute 'kernel'"),
    ("no node", "node = {", "nod = {", "GM213", "lacks attribute 'node'"),
    ("offset is text", "offset_bytes = 8 : i64", 'offset_bytes = "8"', "GM214", "an integer or"),
    ("unknown role", '"slice"', '"slize"', "GM214", "one of slice"),
    ("unknown buffer", "(%x, %w", "(%x, %v", "GM216", "%v is not defined"),
    ("buffer twice", "%w = ", "%x = ", "GM216", "%x is defined twice"),
    ("view of nothing", "(%y_2, %y)", "(%y_2)", "GM216", "1 values have 2 types"),
    ("access order", '["@in", "@in", "@out"', '["@in", "@out", "@in"', "GM218", "access must be"),
    ("signature", 'operands = ["x", "w", "b"]', 'operands = ["x"]', "GM218", "miss its signature"),
    ("memref differs", "-> (memref<1x4xi8>)", "-> (memref<4xi8>)", "GM218", "expected one result"),
]


@pytest.mark.parametrize(
    ("old", "new", "code", "message"), [row[1:] for row in BAD], ids=[row[0] for row in BAD]
)
def test_wrong_text_is_refused_with_its_line(old: str, new: str, code: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(GlowmcuError) as caught:
        parse_program(TEXT.replace(old, new, 1), OPERATIONS, name="p.mlir")
    assert caught.value.code == code, caught.value
    assert message in str(caught.value)
    assert "--> p.mlir, line " in str(caught.value)


@pytest.mark.parametrize("reader", ["iree-opt", "xdsl-opt"])
def test_mlir_tools_read_a_program(reader: str, tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    for text, name, count in ((TEXT, "run", 2), (STREAMED, "cascade", 1)):
        path.write_text(text, encoding="utf-8")
        command = [tool(reader), "--allow-unregistered-dialect", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:2000]
        assert done.stdout.count(f"glowmcu.{name}") == count
