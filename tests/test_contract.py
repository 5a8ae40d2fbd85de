"""What every kernel that takes row ranges promises: parts in any order are the whole, to the byte.

Each part gets no more input rows than it needs, and room for its own rows of the result. A step's
call is the C's, with the arena's buffers and the rows as arguments. A new kernel needs a sample.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.cores import core, core_names
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.graph import Graph, Node
from glowmcu.ir.operation import Constant, Operation, RowWindow, Signature
from glowmcu.ir.types import TensorType
from glowmcu.kernels.kernel import Kernel, Target, load_kernels, site_of
from glowmcu.ops.movement import Movement
from glowmcu.ops.update_slice import DynamicUpdateSlice
from glowmcu.pipeline import compile_model, reference_graph
from tests.ops import (
    test_convolution,
    test_pooling,
    test_real_layers,
    test_resize,
    test_transpose_conv,
    test_wide_layers,
)
from tests.support.forced_layers import compile_joined, computing_nodes
from tests.support.guarded import GuardedMemory, survives
from tests.support.int8_weights import Int8Weights
from tests.support.onnx_models import finished
from tests.support.row_kernels import RowKernel, row_kernels

Array = npt.NDArray[Any]


def float_model(kind: str) -> bytes:
    """A convolution of 3x2 with stride 2 on float32; both kinds have eight output channels."""
    generator = np.random.default_rng(2)
    shape = (1, 3, 2, 8) if kind == "DEPTHWISE_CONV_2D" else (8, 3, 2, 4)
    model = ModelBuilder()
    x = model.input("x", (2, 7, 6, 4), "float32")
    w = model.constant("w", generator.normal(size=shape).astype(np.float32))
    bias = model.constant("bias", generator.normal(size=8).astype(np.float32))
    y = model.tensor("y", (2, 4, 3, 8), "float32")
    options = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
    if kind == "DEPTHWISE_CONV_2D":
        options["depth_multiplier"] = 2
    model.op(kind, [x, w, bias], [y], options)
    model.output(y)
    return model.finish()


def norm_model() -> bytes:
    """A p-norm of padded windows, in NHWC: only ONNX has it, so transposes cancel on both sides."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    node = onnx.helper.make_node
    window = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [2, 1, 1, 0], "p": 3}
    nodes = [
        node("Transpose", ["x"], ["image"], perm=(0, 3, 1, 2)),
        node("LpPool", ["image"], ["norms"], **window),
        node("Transpose", ["norms"], ["y"], perm=(0, 2, 3, 1)),
    ]
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (2, 7, 6, 3))
    return finished(onnx, nodes, [x], [onnx.ValueInfoProto(name="y")], [])


#: Channels enough for kernels that take 8 or 16 at a time.
VECTOR_SAMPLES = {
    "taps near each other": (
        "DEPTHWISE_CONV_2D",
        test_convolution.Case((2, 9, 5, 8), 8, (3, 3), padding="VALID", out_scale=2.0),
    ),
    "two pixels apart": (
        "DEPTHWISE_CONV_2D",
        test_convolution.Case(
            (2, 7, 9, 8), 8, (3, 3), strides=(2, 2), padding="SAME", out_scale=2.0
        ),
    ),
    "1x1, sixteen channels, weights of four bits": (
        "CONV_2D",
        test_convolution.Case((2, 5, 3, 16), 8, (1, 1), out_scale=2.0, weights_type="int4"),
    ),
    "1x1, seven inputs, outputs from -128 on": (
        "CONV_2D",
        test_convolution.Case((2, 5, 3, 7), 9, (1, 1), out_zero_point=-128, out_scale=2.0),
    ),
    "nine rows, outputs from -128 on": (
        "DEPTHWISE_CONV_2D",
        test_convolution.Case(
            (2, 9, 7, 6), 6, (3, 3), padding="SAME", out_zero_point=-128, out_scale=2.0
        ),
    ),
    "seven rows of nine, outputs from -128 on": (
        "DEPTHWISE_CONV_2D",
        test_convolution.Case(
            (1, 7, 9, 4), 4, (3, 3), padding="SAME", out_zero_point=-128, out_scale=2.0
        ),
    ),
    "even size, stride 2, outputs from -128 on": (
        "DEPTHWISE_CONV_2D",
        test_convolution.Case(
            (1, 10, 6, 5), 5, (3, 3), (2, 2), padding="SAME", out_zero_point=-128, out_scale=2.0
        ),
    ),
    "thirty-two channels, stride 2": (
        "CONV_2D",
        test_convolution.Case((2, 6, 8, 32), 5, (3, 3), (2, 2), padding="SAME", out_scale=6.0),
    ),
    "twenty channels": (
        "DEPTHWISE_CONV_2D",
        test_convolution.Case((2, 7, 5, 20), 20, (3, 3), padding="SAME", out_scale=2.0),
    ),
    "patches of four rows": (
        "DEPTHWISE_CONV_2D",
        replace(
            test_convolution.Case((1, 7, 6, 20), 20, (3, 3), padding="SAME", out_scale=2.0),
            out_zero_point=-128,
            least_weight=-127,
        ),
    ),
    "weights of four bits": (
        "CONV_2D",
        test_convolution.Case(
            (2, 6, 5, 4), 9, (3, 3), padding="SAME", out_scale=2.0, weights_type="int4"
        ),
    ),
    "thirteen columns, stride 2": (
        "DEPTHWISE_CONV_2D",
        test_convolution.Case((1, 9, 25, 5), 5, (3, 3), (2, 2), padding="SAME", out_scale=2.0),
    ),
    "window of one column": (
        "DEPTHWISE_CONV_2D",
        test_convolution.Case((2, 9, 2, 7), 7, (4, 1), padding="SAME", out_scale=2.0),
    ),
    "window of one row": (
        "DEPTHWISE_CONV_2D",
        test_convolution.Case((1, 4, 9, 4), 4, (1, 5), (2, 1), padding="SAME", out_scale=2.0),
    ),
}
POOL_SAMPLES = (
    "odd size, same padding",
    "odd size, nine channels",
    "stride larger than the kernel",
    "batch of three",
)


@cache
def samples() -> dict[str, bytes]:
    """Models of one operator, at least one for each operator whose rows need rows of its input."""
    builders = {"real numbers": ModelBuilder, "int8 weights": Int8Weights}
    found = {
        f"{name}, {what}": test_real_layers.convolution_model(kind, case, True, builder)
        for name, (kind, case) in test_real_layers.ROW_SAMPLES.items()
        for what, builder in builders.items()
    }
    for kind in ("CONV_2D", "DEPTHWISE_CONV_2D"):
        for name, case in test_convolution.SPATIAL.items():
            found[f"{kind}, {name}"] = test_convolution.conv_model(kind, case)
        found[f"{kind}, real numbers"] = float_model(kind)
    for name in (
        "two groups", "groups and dilation", "seventeen channels", "1x1, stride 2",
        "one pixel, one channel", "one pixel, weights of four bits",
    ):  # fmt: skip
        case = test_convolution.CONV_CASES[name]
        found[f"CONV_2D, {name}"] = test_convolution.conv_model("CONV_2D", case)
    for name, (kind, case) in VECTOR_SAMPLES.items():
        found[f"{kind}, {name}"] = test_convolution.conv_model(kind, case)
    tiles = test_convolution.Case((2, 7, 9, 4), 5, (3, 3), padding="SAME", out_scale=2.0)
    found["CONV_2D, tiles"] = test_convolution.conv_model("CONV_2D", tiles)
    short = test_convolution.Case((1, 5, 9, 8), 8, (1, 1), out_scale=4.0, out_zero_point=-128)
    found["CONV_2D, short pixels"] = test_convolution.conv_model("CONV_2D", short)
    taps = test_convolution.Case((1, 7, 6, 9), 9, (5, 5), padding="SAME", out_scale=2.0)
    found["DEPTHWISE_CONV_2D, 5x5"] = test_convolution.conv_model("DEPTHWISE_CONV_2D", taps)
    for name, wide in test_wide_layers.ROW_SAMPLES.items():
        found[name] = test_wide_layers.layer_model(wide)
    for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        for name in POOL_SAMPLES:
            case = test_pooling.CASES[name]
            found[f"{kind}, {name}"] = test_pooling.pool_model(kind, case)
            real = test_pooling.pool_model(kind, case, dtype="float32")
            found[f"{kind}, {name}, real numbers"] = real
        words = test_pooling.Case((1, 7, 5, 8), (3, 3), (2, 2), "SAME")
        found[f"{kind}, eight channels"] = test_pooling.pool_model(kind, words)
        case = test_pooling.CASES["batch of three"]
        found[f"int16 {kind}"] = test_pooling.pool_model(kind, case, dtype="int16")
    found["MAX_POOL_2D, uint8"] = test_pooling.pool_model("MAX_POOL_2D", case, dtype="uint8")
    roots = test_pooling.pool_model("L2_POOL_2D", case, dtype="float32")
    found |= {"L2_POOL_2D": roots, "LpPool": norm_model()}
    for name in ("stride 2, same, odd result", "kernel smaller than the stride", "batch of two"):
        case = test_transpose_conv.CASES[name]
        found[f"TRANSPOSE_CONV, {name}"] = test_transpose_conv.transpose_conv_model(case)
        real = test_transpose_conv.transpose_conv_model(case, "float32")
        found[f"TRANSPOSE_CONV, {name}, real numbers"] = real
        rounded = test_transpose_conv.transpose_conv_model(case, "float32", True)
        found[f"TRANSPOSE_CONV, {name}, int8 weights"] = rounded
    for kind in test_resize.KINDS:
        for name, mode in test_resize.MODES.items():
            case = test_resize.CASES["larger one way, smaller the other"]
            found[f"{kind}, {name}"] = test_resize.resize_model(kind, case, mode)
            real = test_resize.resize_model(kind, case, mode, "float32")
            found[f"{kind}, {name}, real numbers"] = real
            wide = test_resize.resize_model(kind, case, mode, "int16")
            found[f"{kind}, {name}, int16"] = wide
    return found


def computing_node(graph: Graph) -> Node:
    """The only node that is more than a name for known or existing bytes."""
    (node,) = (
        node
        for node in graph.nodes
        if not isinstance(node.op, Constant) and not node.op.aliases(node.signature)
    )
    return node


@cache
def variants(sample: str) -> list[tuple[Kernel, str]]:
    """Variants that take row ranges and accept the sample, each with a core where it does."""
    graph = compile_model(samples()[sample], "m.onnx", Options("m")).graph
    node = computing_node(graph)
    site = site_of(graph, node)
    found = []
    for variant in load_kernels()[type(node.op)]:
        if variant.accumulates:
            continue
        fitting = (name for name in core_names() if variant.accepts(site, Target(core(name))))
        name = next(fitting, None)
        if name is not None and variant.generate(site, Target(core(name))).rows > 0:
            found.append((variant, name))
    return found


def test_every_variant_of_an_operator_with_row_windows_is_reached() -> None:
    reached = {variant.name for sample in samples() for variant, _ in variants(sample)}
    expected = {
        variant.name
        for operation, known in load_kernels().items()
        if operation.input_rows is not Operation.input_rows and not operation.elementwise
        # A row of these is a layer of its own.
        if not issubclass(operation, Movement | DynamicUpdateSlice)
        for variant in known
        # Those are in tests/test_accumulating.py and tests/ops/test_camera.py.
        if not variant.accumulates and operation.name != "camera_pixels"
        # Layers that learn are computed whole, and in tests/learning/test_fixed_point.py.
        if ".learnt" not in variant.name
    }
    assert expected - reached == set()


@dataclass(frozen=True)
class Library:
    """All samples of a kernel: the node of each, and its kernel; built at once."""

    compilation: Compilation
    nodes: dict[str, Node]
    kernels: dict[str, RowKernel]


LibraryOf = Callable[[Kernel, str], Library]


@pytest.fixture(scope="module")
def library_of(tmp_path_factory: pytest.TempPathFactory) -> LibraryOf:
    """The samples of a kernel on a core, compiled with no other choice than that kernel."""

    @cache
    def library_of(kernel: Kernel, core_name: str) -> Library:
        names = [sample for sample in samples() if (kernel, core_name) in variants(sample)]
        graphs = [reference_graph(samples()[name], "m.onnx") for name in names]
        done = compile_joined(graphs, kernel.name, core_name, simplified=True)
        nodes = dict[str, Node]()
        for name, result in zip(names, done.graph.results, strict=True):
            (nodes[name],) = computing_nodes(done, [result])
            assert done.selections[nodes[name]].kernel is kernel
        folder = tmp_path_factory.mktemp("library") / "rows"
        made = row_kernels(done, list(nodes.values()), folder)
        return Library(done, nodes, dict(zip(names, made, strict=True)))

    return library_of


def _splits(rows: int) -> list[list[tuple[int, int]]]:
    """Row ranges that cover all rows: uneven ones in both orders, and single rows from below."""
    edges = sorted({0, min(1, rows), min(3, rows), rows})
    uneven = list(pairwise(edges))
    singles = [(row, row + 1) for row in reversed(range(rows))]
    return [uneven, uneven[::-1], singles]


def _window(signature: Signature, op: Operation, first: int, end: int) -> slice:
    window = op.input_rows(signature, first, end)[0]
    assert isinstance(window, RowWindow)
    return slice(window.first, window.end)


@pytest.mark.parametrize("sample", samples())
def test_row_ranges_in_any_order_equal_the_whole(sample: str, library_of: LibraryOf) -> None:
    for variant, core_name in variants(sample):
        library = library_of(variant, core_name)
        compilation, node, kernel = (
            library.compilation, library.nodes[sample], library.kernels[sample],
        )  # fmt: skip
        inputs = _inputs(compilation, node)
        (meaning,) = node.op.evaluate(inputs, node.signature, compilation.graph.rounding)
        want = np.empty(meaning.shape, meaning.dtype)
        for item, out in zip(inputs[0], want, strict=True):
            kernel.run(item, out, 0, len(out))
        if not node.output.type.element.is_float:
            assert np.array_equal(want, meaning)
        for ranges in _splits(want.shape[1]):
            for item, out in zip(inputs[0], want, strict=True):
                _check_ranges(kernel, node, item, out, ranges)
        _check_reach(kernel, node, inputs[0][0], want[0])


def _inputs(compilation: Compilation, node: Node) -> list[Array]:
    """Random data for the first operand; the others are constants."""
    constants = [compilation.graph.constant_data(value) for value in node.inputs[1:]]
    x = _random(node.inputs[0].type, np.random.default_rng(5))
    return [x, *(data for data in constants if data is not None)]


def _random(type_: TensorType, generator: np.random.Generator) -> Array:
    if type_.element.is_float:
        return generator.normal(size=type_.shape).astype(np.float32)
    low, high = type_.element.limits
    return generator.integers(low, high + 1, type_.shape).astype(type_.element.numpy)


def _check_ranges(
    kernel: RowKernel, node: Node, x: Array, want: Array, ranges: list[tuple[int, int]]
) -> None:
    """Each call writes its rows, no others, from no input rows but those in the window."""
    generator = np.random.default_rng(6)
    out = want + 1 if want.dtype == np.float32 else ~want  # wrong everywhere
    expected = out.copy()
    for first, end in ranges:
        window = _window(node.signature, node.op, first, end)
        around = _random(node.inputs[0].type, generator)[0]
        rows = around[: max(window.stop - window.start, 0)]
        rows[...] = x[window]
        kernel.run(around, out[first:], first, end)
        expected[first:end] = want[first:end]
        assert np.array_equal(out, expected), f"rows {first} to {end} of {ranges}"
    assert np.array_equal(out, want)


def _check_reach(kernel: RowKernel, node: Node, x: Array, want: Array) -> None:
    """Single rows touch nothing around the rows that they are given, not even in vain."""
    if not hasattr(os, "fork"):
        return
    inputs, outputs = GuardedMemory(x.nbytes), GuardedMemory(want.nbytes)

    def run_all() -> None:
        for row in range(len(want)):
            window = _window(node.signature, node.op, row, row + 1)
            for at_end in (False, True):
                given = inputs.copy(x[window], at_end)
                out = outputs.copy(want[row : row + 1], at_end)
                out.view(np.uint8)[...] ^= 255
                kernel.run(given, out, row, row + 1)
                assert np.array_equal(out, want[row : row + 1])

    assert survives(run_all), "a row reads or writes outside the rows it is given"


@pytest.mark.parametrize("sample", ["CONV_2D, two groups", "MAX_POOL_2D, batch of three"])
def test_no_rows_write_nothing(sample: str, library_of: LibraryOf) -> None:
    library = library_of(*variants(sample)[0])
    node = library.nodes[sample]
    out = np.full(node.output.type.shape, 77, np.int8)
    library.kernels[sample].run(_inputs(library.compilation, node)[0][0], out, 1, 1)
    assert (out == 77).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a run that may die needs fork()")
def test_a_row_that_is_missing_is_noticed(library_of: LibraryOf) -> None:
    sample = "DEPTHWISE_CONV_2D, twenty channels"
    library = library_of(*variants(sample)[0])
    node, kernel = library.nodes[sample], library.kernels[sample]
    x, out = _inputs(library.compilation, node)[0][0], np.empty(node.output.type.shape[1:], np.int8)
    memory = GuardedMemory(x.nbytes)
    window = _window(node.signature, node.op, 2, 3)
    rows = x[window]
    assert survives(lambda: kernel.run(memory.copy(rows, True), out, 2, 3))
    assert not survives(lambda: kernel.run(memory.copy(rows[:-1], True), out, 2, 3))
