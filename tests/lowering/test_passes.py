"""Every pass fires where it should, not where numbers would change, and keeps the meaning."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.text import print_graph
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.lowering import (
    fold_constants,
    fold_padding,
    merge_common_subexpressions,
    merge_concatenations,
    merge_transposes,
    passes,
    remove_dead_nodes,
    remove_identities,
    sink_transposes,
)
from glowmcu.ops.activation import Relu
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.elementwise import Add
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.lookup import Lookup, all_values
from glowmcu.ops.padding import Pad
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.ops.quantization import Dequantize, Requantize
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice, Split
from glowmcu.ops.tiling import Tile
from glowmcu.ops.transpose import Transpose
from tests.ir.graphs import GraphBuilder, int8, per_channel, random_arrays
from tests.lowering.check_text import check_text

Pass = Callable[[Graph], Graph]
TO_NCHW, TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)


def names(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes]


def expect_same_meaning(before: Graph, after: Graph) -> None:
    after.verify()
    assert [v.name for v in after.outputs] == [v.name for v in before.outputs]
    for seed in range(3):
        inputs = random_arrays(before.inputs, seed)
        for want, got in zip(run_graph(before, inputs), run_graph(after, inputs), strict=True):
            assert (got.dtype, got.shape) == (want.dtype, want.shape)
            assert got.tobytes() == want.tobytes()


def run(run_pass: Pass, graph: Graph) -> Graph:
    """The graph after a pass that must keep its meaning, and find nothing more when run again."""
    after = run_pass(graph)
    expect_same_meaning(graph, after)
    assert run_pass(after) is after
    return after


# --- constants and what is computed twice or never ----------------------------------------------


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


# --- identities and reshapes ---------------------------------------------------------------------

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


# --- transposes and concatenations ---------------------------------------------------------------


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


# --- padding -------------------------------------------------------------------------------------

SPATIAL = ((0, 0), (1, 2), (0, 3), (0, 0))


def convolution(b: GraphBuilder, x: Value, depthwise: bool = False) -> Value:
    channels = x.type.shape[3]
    shape = (1, 2, 3, channels) if depthwise else (4, 2, 3, channels)
    weights = per_channel(shape, 3 if depthwise else 0)
    data = np.random.default_rng(5).integers(-127, 128, shape).astype(np.int8)
    w = b.constant(data, weights.quantization, "w")
    bias = b.constant(np.arange(channels if depthwise else 4, dtype=np.int32))
    op = DepthwiseConv2D if depthwise else Conv2D
    return b.add(op((1, 2), (1, 1), (1, 0, 0, 1)), x, w, bias, like=int8(scale=8.0))


@pytest.mark.parametrize("depthwise", [False, True], ids=["conv_2d", "depthwise_conv_2d"])
def test_padding_with_the_zero_point_goes_into_a_convolution(depthwise: bool) -> None:
    b = GraphBuilder()
    x = b.input(int8(1, 5, 4, 3))
    padded = b.add(Pad(SPATIAL, -3), x)
    after = run(fold_padding.run, b.finish(convolution(b, padded, depthwise)))
    check_text(
        print_graph(after),
        """
        CHECK-NOT: glowmcu.pad
        CHECK: conv_2d"(%x,{{.*}}padding = array<i64: 2, 0, 2, 4>
        """,
    )


def test_padding_goes_when_all_its_readers_take_it() -> None:
    b = GraphBuilder()
    padded = b.add(Pad(SPATIAL, -3), b.input(int8(1, 5, 4, 3)))
    after = run(fold_padding.run, b.finish(convolution(b, padded), convolution(b, padded, True)))
    assert "pad" not in names(after)


def test_padding_with_the_least_value_goes_into_a_maximum() -> None:
    b = GraphBuilder()
    x = b.input(int8(1, 5, 4, 3))
    pad = Pad(((0, 0), (1, 0), (0, 1), (0, 0)), -128)
    after = run(fold_padding.run, b.finish(b.add(MaxPool2D((2, 2)), b.add(pad, x))))
    assert names(after) == ["max_pool_2d"]


NO_PADDING = {
    "another value": (Pad(SPATIAL, 0), "conv"),
    "channels": (Pad(((0, 0), (0, 0), (0, 0), (0, 1)), -3), "conv"),
    "batch": (Pad(((1, 0), (0, 0), (0, 0), (0, 0)), -3), "conv"),
    "average": (Pad(SPATIAL, -3), "average"),
    "zero point under a maximum": (Pad(SPATIAL, -3), "max"),
    "maximum of padding alone": (Pad(SPATIAL, -128), "max"),
    "another reader": (Pad(SPATIAL, -3), "both"),
    "padded output": (Pad(SPATIAL, -3), "output"),
}


@pytest.mark.parametrize(("pad", "reader"), NO_PADDING.values(), ids=NO_PADDING.keys())
def test_padding_stays_where_it_is_not_exact_or_no_gain(pad: Pad, reader: str) -> None:
    b = GraphBuilder()
    padded = b.add(pad, b.input(int8(1, 5, 4, 3)))
    pools = {"average": AveragePool2D((2, 2)), "max": MaxPool2D((2, 2))}
    if reader in pools:
        outputs = (b.add(pools[reader], padded),)
    else:
        outputs = (convolution(b, padded),)
        outputs += (b.add(Relu(), padded),) if reader == "both" else ()
        outputs += (padded,) if reader == "output" else ()
    graph = b.finish(*outputs)
    assert fold_padding.run(graph) is graph


# --- all of them ---------------------------------------------------------------------------------


@st.composite
def small_graphs(draw: st.DrawFn) -> Graph:
    """Up to a dozen operators that the passes know, on tensors of rank 3."""
    b = GraphBuilder()
    values = [b.input(int8(2, 1, 3)), b.input(int8(2, 1, 3), "y")]
    values.append(b.constant(np.arange(6, dtype=np.int8).reshape(2, 1, 3), int8().quantization))
    for _ in range(draw(st.integers(1, 12))):
        x = draw(st.sampled_from(values))
        values.append(draw(st.sampled_from(STEPS))(b, x, values, draw))
    outputs = draw(st.lists(st.sampled_from(values[3:]), min_size=1, max_size=3, unique=True))
    return b.finish(*outputs)


def _transposed(b: GraphBuilder, x: Value, _: list[Value], draw: st.DrawFn) -> Value:
    return b.add(Transpose(tuple(draw(st.permutations(range(x.type.rank))))), x)


def _reshaped(b: GraphBuilder, x: Value, _: list[Value], draw: st.DrawFn) -> Value:
    shape = draw(st.permutations(x.type.shape))
    return b.add(Reshape(tuple(shape)), x)


def _added(b: GraphBuilder, x: Value, values: list[Value], draw: st.DrawFn) -> Value:
    others = [value for value in values if value.type.shape == x.type.shape]
    return b.add(Add(), x, draw(st.sampled_from(others)))


def _joined(b: GraphBuilder, x: Value, values: list[Value], draw: st.DrawFn) -> Value:
    if x.type.element_count > 30:
        return b.add(Relu(), x)
    others = [value for value in values if value.type.shape == x.type.shape]
    return b.add(Concatenation(draw(st.integers(0, 2))), x, draw(st.sampled_from(others)))


def _sliced(b: GraphBuilder, x: Value, _: list[Value], draw: st.DrawFn) -> Value:
    size = tuple(draw(st.integers(max(1, length - 1), length)) for length in x.type.shape)
    return b.add(Slice((0, 0, 0), size, (1, 1, 1)), x)


def _table(b: GraphBuilder, x: Value, _: list[Value], draw: st.DrawFn) -> Value:
    table = all_values(ElementType.I8)
    return b.add(Lookup(draw(st.sampled_from([table, -table])).copy()), x)


def _relu(b: GraphBuilder, x: Value, _: list[Value], draw: st.DrawFn) -> Value:
    return b.add(Relu(), x)


STEPS = [_transposed, _reshaped, _added, _joined, _sliced, _table, _relu]


@pytest.mark.parametrize(("name", "run_pass"), passes.PASSES, ids=[n for n, _ in passes.PASSES])
@settings(max_examples=30)
@given(graph=small_graphs())
def test_a_pass_keeps_the_meaning_of_any_graph(name: str, run_pass: Pass, graph: Graph) -> None:
    expect_same_meaning(graph, run_pass(graph))


@settings(max_examples=60)
@given(graph=small_graphs())
def test_all_passes_together_keep_the_meaning_and_add_no_work(graph: Graph) -> None:
    after = passes.lower(graph)
    expect_same_meaning(graph, after)
    assert names(after).count("transpose") <= names(graph).count("transpose")


def test_an_observer_sees_the_graph_after_every_pass() -> None:
    b = GraphBuilder()
    seen: list[str] = []
    graph = b.finish(b.add(Relu(), b.input(int8(4))))
    after = passes.lower(graph, lambda name, graph: seen.append(name) or graph.verify())
    assert seen == [name for name, _ in passes.all_passes()]
    assert after.outputs[0].name == graph.outputs[0].name


def test_five_hundred_nodes_are_lowered_in_well_under_a_second_a_pass() -> None:
    b = GraphBuilder()
    x = y = b.input(int8(1, 4, 5, 6))
    for _ in range(100):
        turned = b.add(Transpose(TO_NCHW), y)
        y = b.add(Add(), b.add(Transpose(TO_NHWC), b.add(Relu(), turned)), x)
        y = b.add(Reshape((1, 4, 5, 6)), y)
    graph = b.finish(y)
    for name, run_pass in passes.PASSES:
        start = time.process_time()
        graph = run_pass(graph)
        assert time.process_time() - start < 0.5, name


# --- rewriting -----------------------------------------------------------------------------------


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


def test_unknown_place_of_a_plug_in_pass_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Entry:
        name, value = "acme", "acme:run"

        def load(self) -> object:
            def run_nothing(graph: Graph) -> Graph:
                return graph

            run_nothing.after = "fold_everything"  # type: ignore[attr-defined]
            return run_nothing

    monkeypatch.setattr(passes, "plugins", lambda group: [Entry()])
    with pytest.raises(GlowmcuError, match="'fold_everything', which is no pass"):
        passes.all_passes.__wrapped__()


def test_per_channel_constants_are_not_transposed() -> None:
    b = GraphBuilder()
    x = b.input(int8(2, 3))
    c = b.constant(np.zeros((3, 2), np.int8), Quantization((0.5, 0.25), (0, 0), 1))
    turned = b.add(Transpose((1, 0)), x)
    nodes = [*b.nodes, Node(Concatenation(0), (turned, c), (Value(int8(6, 2), "y"),))]
    graph = Graph("main", (x,), tuple(nodes), nodes[-1].outputs)
    assert sink_transposes.run(graph) is graph
