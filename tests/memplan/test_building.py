"""What a selected kernel asks for becomes a run and its scratch memory."""

from __future__ import annotations

import pytest

from glowmcu.ir.kernel_code import RowCall, RowSupport
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.memplan.build_program import build_program
from tests.memplan.small_programs import Builder, Choice

I8, I64 = ElementType.I8, ElementType.I64


@pytest.mark.parametrize(
    ("size_bytes", "holds_pointers", "words"),
    [
        (1, False, (1, I8)), (7, True, (7, I8)), (8, False, (8, I8)), (8, True, (1, I64)),
        (12, True, (12, I8)), (24, True, (3, I64)), (0, True, None), (0, False, None),
    ],
)  # fmt: skip
def test_scratch_is_of_wide_words_where_it_holds_pointers_and_nothing_else_fits_in(
    size_bytes: int, holds_pointers: bool, words: tuple[int, ElementType] | None
) -> None:
    builder = Builder()
    graph = builder.graph(builder.mix(4, builder.input(4)))
    (node,) = graph.nodes
    choice = Choice((0,), size_bytes, "k", 2, holds_pointers)
    (run,) = build_program(graph, {node: choice}).runs
    assert (run.node, run.kernel, run.operand_align, run.positions) == (node, "k", 2, (0,))
    if words is None:
        assert run.scratch is None
        return
    count, element = words
    assert run.scratch is not None
    assert (run.scratch.name, run.scratch.type) == ("n0/scratch", TensorType((count,), element))


@pytest.mark.parametrize("with_rows", [False, True])
def test_runs_know_how_they_go_row_by_row_where_that_is_asked_for(with_rows: bool) -> None:
    builder = Builder()
    graph = builder.graph(builder.mix(4, builder.input(4)))
    rows = RowSupport(RowCall.RANGE, 4, ())
    (run,) = build_program(graph, {graph.nodes[0]: Choice((0,), rows=rows)}, with_rows).runs
    assert run.rows is (rows if with_rows else None)
