"""What a selected kernel asks for becomes a run and its scratch memory."""

from __future__ import annotations

import pytest

from glowmcu.ir.kernel_code import RowCall, RowSupport
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.memplan.build_program import build_program
from tests.memplan.small_programs import Builder, Choice


@pytest.mark.parametrize(
    ("size_bytes", "holds_pointers", "type_"),
    [
        (1, False, TensorType((1,), ElementType.I8)), (7, True, TensorType((7,), ElementType.I8)),
        (8, False, TensorType((8,), ElementType.I8)), (8, True, TensorType((1,), ElementType.I64)),
        (12, True, TensorType((12,), ElementType.I8)), (24, True, TensorType((3,), ElementType.I64)),
        (0, True, None), (0, False, None),
    ],
)  # fmt: skip
def test_scratch_is_of_wide_words_where_it_holds_pointers_and_nothing_else_fits_in(
    size_bytes: int, holds_pointers: bool, type_: TensorType | None
) -> None:
    builder = Builder()
    graph = builder.graph(builder.mix(4, builder.input(4)))
    (node,) = graph.nodes
    choice = Choice((0,), size_bytes, "k", 2, holds_pointers)
    (run,) = build_program(graph, {node: choice}).runs
    assert (run.node, run.kernel, run.operand_align, run.positions) == (node, "k", 2, (0,))
    scratch = run.scratch
    assert (None if scratch is None else (scratch.name, scratch.type)) == (
        type_ and ("n0/scratch", type_)
    )


@pytest.mark.parametrize("with_rows", [False, True])
def test_runs_know_how_they_go_row_by_row_where_that_is_asked_for(with_rows: bool) -> None:
    builder = Builder()
    graph = builder.graph(builder.mix(4, builder.input(4)))
    rows = RowSupport(RowCall.RANGE, 4, ())
    (run,) = build_program(graph, {graph.nodes[0]: Choice((0,), rows=rows)}, with_rows).runs
    assert run.rows is (rows if with_rows else None)
