"""Rules see the graph as it is, and the driver finds out rules that never end."""

from __future__ import annotations

import pytest

from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ops.activation import Relu
from glowmcu.ops.elementwise import Add
from tests.ir.graphs import GraphBuilder, int8
from tests.lowering.run_pass import names


def test_rules_that_undo_each_other_are_found_out() -> None:
    b = GraphBuilder()
    graph = b.finish(b.add(Relu(), b.input(int8(4)), name="again"))

    def again(context: Context, node: object) -> object:
        return context.replace_op(Relu())

    with pytest.raises(AssertionError, match="undo each other at relu 'again'"):
        rewrite(graph, again)  # type: ignore[arg-type]


def test_a_rule_sees_users_and_outputs_as_they_are_after_its_last_change() -> None:
    b = GraphBuilder()
    x = b.input(int8(4))
    left, right = b.add(Relu(), x), b.add(Relu(), x)
    graph = b.finish(b.add(Add(), left, right))
    readers: list[int] = []

    def merge(context: Context, node: object) -> object:
        readers.append(len(context.users(x)))
        if node.op.name == "relu" and len(context.users(x)) == 2:  # type: ignore[attr-defined]
            return [next(u.output for u in context.users(x) if u is not node)]
        return None

    after = rewrite(graph, merge)  # type: ignore[arg-type]
    assert names(after) == ["relu", "add"]
    assert readers[-1] == 1
    assert not any(value is x for value in after.outputs)


def test_a_graph_that_no_rule_changes_is_the_same_object() -> None:
    b = GraphBuilder()
    graph = b.finish(b.add(Relu(), b.input(int8(4))))
    assert rewrite(graph, lambda context, node: None) is graph
