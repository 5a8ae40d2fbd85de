"""Simplifying passes fire where they should, and not where the numbers would change."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.text import print_graph
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.lowering import (
    fold_constants,
    merge_common_subexpressions,
    merge_concatenations,
    merge_transposes,
    remove_dead_nodes,
    remove_identities,
    sink_transposes,
)
from glowmcu.ops.activation import Relu
from glowmcu.ops.elementwise import Add
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.lookup import Lookup, all_values
from glowmcu.ops.padding import Pad
from glowmcu.ops.quantization import Dequantize, Requantize
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice, Split
from glowmcu.ops.tiling import Tile
from glowmcu.ops.transpose import Transpose
from tests.ir.graphs import GraphBuilder, int8
from tests.lowering.check_text import check_text
from tests.lowering.run_pass import TO_NCHW, TO_NHWC, names, run


def test_nodes_that_nobody_reads_go() -> None:
    b = GraphBuilder()
    x = b.input(int8(4))
    b.add(Relu(), x, name="dead")
    b.constant(np.int8([1]))
    assert names(run(remove_dead_nodes.run, b.finish(b.add(Relu(), x)))) == ["relu"]


def test_a_node_of_constants_is_evaluated() -> None:
    b = GraphBuilder()
    x = b.input(int8(2, 3))
    c = b.constant(np.int8([[1, 2], [3, 4], [5, 6]]), int8().quantization)
    y = b.add(Add(), x, b.add(Transpose((1, 0)), c, name="turned"))
    after = run(fold_constants.run, b.finish(y))
    check_text(
        print_graph(after),
        """
        CHECK: %turned = "glowmcu.constant"() {data = dense<[[1, 3, 5], [2, 4, 6]]>
        CHECK-NOT: glowmcu.transpose
        CHECK: "glowmcu.add"(%x, %turned)
        """,
    )


def test_a_chain_of_constants_is_evaluated_to_its_end() -> None:
    b = GraphBuilder()
    x, c = b.input(int8(4)), b.constant(np.int8([9, 8, 7, 6]), int8().quantization)
    for _ in range(5):
        c = b.add(Relu(), c)
    assert names(run(fold_constants.run, b.finish(b.add(Add(), x, c)))) == ["constant", "add"]


def test_a_constant_is_not_blown_up() -> None:
    b = GraphBuilder()
    x, c = b.input(int8(1000)), b.constant(np.int8([7]), int8().quantization)
    large = b.add(Add(), x, b.add(Tile((1000,)), c))
    graph = b.finish(large)
    assert fold_constants.run(graph) is graph


def test_what_is_computed_twice_is_computed_once() -> None:
    b = GraphBuilder()
    x = b.input(int8(4))
    c1 = b.constant(np.int8([1, 2, 3, 4]), int8().quantization, "c1")
    c2 = b.constant(np.int8([1, 2, 3, 4]), int8().quantization, "c2")
    left, right = b.add(Add(), b.add(Relu(), x), c1), b.add(Add(), b.add(Relu(), x), c2)
    after = run(merge_common_subexpressions.run, b.finish(b.add(Add(), left, right)))
    assert names(after) == ["constant", "relu", "add", "add"]


@pytest.mark.parametrize("what", ["scale", "attribute", "output"])
def test_what_only_looks_the_same_stays(what: str) -> None:
    b = GraphBuilder()
    x = b.input(int8(4))
    if what == "attribute":
        left, right = b.add(Add((-5, 5)), x, x), b.add(Add((-5, 6)), x, x)
    else:
        other = int8(4, scale=0.25) if what == "scale" else None
        left, right = b.add(Relu(), x), b.add(Relu(), x, like=other)
    outputs = (left, right) if what == "output" else (b.add(Add(), left, right),)
    graph = b.finish(*outputs)
    assert merge_common_subexpressions.run(graph) is graph


IDENTITIES = {
    "reshape to the same shape": Reshape((1, 4, 1, 6)),
    "slice of everything": Slice((0, 0, 0, 0), (1, 4, 1, 6), (1, 1, 1, 1)),
    "transpose of nothing": Transpose((0, 1, 2, 3)),
    "transpose of axes of length 1": Transpose((2, 1, 0, 3)),
    "padding by nothing": Pad(((0, 0),) * 4, 5),
    "concatenation of one": Concatenation(2),
    "split into one": Split(1, (4,)),
    "tile once": Tile((1, 1, 1, 1)),
    "table of all values": Lookup(all_values(ElementType.I8)),
}


@pytest.mark.parametrize("op", IDENTITIES.values(), ids=IDENTITIES.keys())
def test_an_identity_goes(op: object) -> None:
    b = GraphBuilder()
    x = b.input(int8(1, 4, 1, 6))
    graph = b.finish(b.add(Relu(), b.add(op, x)))  # type: ignore[arg-type]
    assert names(run(remove_identities.run, graph)) == ["relu"]


def test_an_identity_that_is_an_output_keeps_its_name() -> None:
    b = GraphBuilder()
    x = b.input(int8(1, 4, 1, 6))
    relu = b.add(Relu(), x)
    graph = b.finish(b.add(IDENTITIES["slice of everything"], relu, name="scores"))
    after = run(remove_identities.run, graph)
    assert names(after) == ["relu", "reshape"]
    assert after.outputs[0].name == "scores"


def test_other_scales_make_a_reshape_that_is_no_identity() -> None:
    b = GraphBuilder()
    x = b.input(int8(4))
    other = b.add(Lookup(all_values(ElementType.I8)), x, like=int8(4, scale=0.125))
    after = run(remove_identities.run, b.finish(b.add(Requantize(), other, like=int8(4))))
    assert names(after) == ["reshape", "requantize"]


@pytest.mark.parametrize(
    "op",
    [
        Slice((0, 0, 0, 0), (1, 3, 1, 6), (1, 1, 1, 1)),
        Transpose((0, 3, 2, 1)),
        Pad(((0, 0), (0, 1), (0, 0), (0, 0)), 5),
        Split(1, (2, 2)),
        Lookup(all_values(ElementType.I8)[::-1].copy()),
    ],
    ids=["slice", "transpose", "pad", "split", "reversed table"],
)
def test_what_changes_bytes_stays(op: object) -> None:
    b = GraphBuilder()
    x = b.input(int8(1, 4, 1, 6))
    graph = b.finish(b.add(Relu(), b.add(op, x)))  # type: ignore[arg-type]
    assert remove_identities.run(graph) is graph


def test_reshapes_of_reshapes_become_one() -> None:
    b = GraphBuilder()
    x = b.input(int8(2, 3, 4))
    a = b.add(Reshape((6, 4)), x)
    c = b.add(Transpose((2, 0, 1)), b.add(Reshape((24, 1, 1)), a))
    after = run(remove_identities.run, b.finish(b.add(Reshape((4, 6)), c), b.add(Relu(), a)))
    reshapes = [node for node in after.nodes if node.op.name == "reshape"]
    assert names(after).count("reshape") == len(names(after)) - 1 == 2
    assert all(node.inputs == after.inputs for node in reshapes)


def test_transposes_that_cancel_go() -> None:
    b = GraphBuilder()
    x = b.input(int8(1, 4, 5, 6))
    y = b.add(Transpose(TO_NHWC), b.add(Transpose(TO_NCHW), x))
    assert names(run(merge_transposes.run, b.finish(b.add(Relu(), y)))) == ["relu"]


def test_two_transposes_become_one() -> None:
    b = GraphBuilder()
    x = b.input(int8(2, 3, 4))
    y = b.add(Transpose((1, 0, 2)), b.add(Transpose((2, 0, 1)), x))
    after = run(merge_transposes.run, b.finish(y))
    check_text(
        print_graph(after),
        """
        CHECK: "glowmcu.transpose"(%x) {permutation = array<i64: 0, 2, 1>}
        CHECK-NOT: glowmcu.transpose
        """,
    )


def test_a_transpose_that_others_read_is_not_computed_twice() -> None:
    b = GraphBuilder()
    x = b.input(int8(2, 3, 4))
    t = b.add(Transpose((2, 0, 1)), x)
    graph = b.finish(b.add(Transpose((1, 0, 2)), t), b.add(Relu(), t))
    assert merge_transposes.run(graph) is graph


def test_transposes_meet_below_what_is_element_wise() -> None:
    b = GraphBuilder()
    x, y = b.input(int8(1, 4, 5, 6)), b.input(int8(1, 4, 5, 6), "y")
    c = b.constant(np.int8([[[1]], [[2]], [[3]], [[4]], [[5]], [[6]]]), int8().quantization)
    added = b.add(Add(), b.add(Transpose(TO_NCHW), x), b.add(Transpose(TO_NCHW), y))
    shifted = b.add(Add((-90, 90)), b.add(Relu(), added), c)
    joined = b.add(Concatenation(1), shifted, b.add(Transpose(TO_NCHW), b.add(Relu(), y)))
    after = run(sink_transposes.run, b.finish(b.add(Relu(), b.add(Transpose(TO_NHWC), joined))))
    assert "transpose" not in names(after)
    check_text(
        print_graph(after),
        """
        CHECK: "glowmcu.constant"() {data = dense<[[[[1, 2, 3, 4, 5, 6]]]]>
        CHECK: "glowmcu.concatenation"{{.*}}axis = 3
        """,
    )


def test_a_transpose_that_meets_another_one_stays() -> None:
    b = GraphBuilder()
    x = b.input(int8(3, 3, 3))
    y = b.add(Add(), b.add(Transpose((1, 0, 2)), x), b.add(Transpose((0, 2, 1)), x))
    graph = b.finish(y)
    assert sink_transposes.run(graph) is graph


def test_a_transpose_does_not_move_to_larger_elements() -> None:
    b = GraphBuilder()
    x = b.input(int8(3, 4))
    real = TensorType((4, 3), ElementType.F32)
    graph = b.finish(b.add(Dequantize(), b.add(Transpose((1, 0)), x), like=real))
    assert sink_transposes.run(graph) is graph


def test_nested_concatenations_become_one() -> None:
    b = GraphBuilder()
    x = b.input(int8(2, 3))
    inner = b.add(Concatenation(1), x, b.add(Relu(), x))
    after = run(merge_concatenations.run, b.finish(b.add(Concatenation(1), x, inner, x)))
    assert names(after) == ["relu", "concatenation"]
    assert len(after.nodes[-1].inputs) == 4


def test_parts_without_elements_go() -> None:
    b = GraphBuilder()
    x, y, nothing = b.input(int8(2, 3)), b.input(int8(1, 3)), b.input(int8(0, 3))
    after = run(merge_concatenations.run, b.finish(b.add(Concatenation(0), x, nothing, y)))
    assert [value.type.shape for value in after.nodes[-1].inputs] == [(2, 3), (1, 3)]


@pytest.mark.parametrize("why", ["other axis", "read by others"])
def test_other_concatenations_stay(why: str) -> None:
    b = GraphBuilder()
    x = b.input(int8(3, 3))
    if why == "other axis":
        inner = b.add(Concatenation(0), x)
        graph = b.finish(b.add(Concatenation(1), inner, x))
    else:
        inner = b.add(Concatenation(1), x, x)
        graph = b.finish(b.add(Concatenation(1), inner, x), b.add(Relu(), inner))
    assert merge_concatenations.run(graph) is graph


def test_per_channel_constants_are_not_transposed() -> None:
    b = GraphBuilder()
    x = b.input(int8(2, 3))
    c = b.constant(np.zeros((3, 2), np.int8), Quantization((0.5, 0.25), (0, 0), 1))
    turned = b.add(Transpose((1, 0)), x)
    nodes = [*b.nodes, Node(Concatenation(0), (turned, c), (Value(int8(6, 2), "y"),))]
    graph = Graph("main", (x,), tuple(nodes), nodes[-1].outputs)
    assert sink_transposes.run(graph) is graph
