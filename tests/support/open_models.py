"""Networks over a sequence whose length an ONNX file leaves open: `(1, T, 8)` in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]
FEATURES = 8
#: A node: operator, operands, result, attributes.
Step = tuple[str, list[str], str, dict[str, Any]]
Model = tuple[list[Step], dict[str, Array]]


def open_model(name: str) -> bytes:
    """The network of `MODELS` or `UNEVEN` as a file."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    helper = onnx.helper
    steps, constants = (MODELS | UNEVEN)[name]()
    nodes = [helper.make_node(kind, given, [made], **more) for kind, given, made, more in steps]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        name,
        [value("x", onnx.TensorProto.FLOAT, [1, "T", FEATURES])],
        [value("y", onnx.TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(np.asarray(data), key) for key, data in constants.items()],
    )
    opset = [helper.make_opsetid("", 17)]
    data: bytes = helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()
    return data


def sequence(length: int, seed: int = 0) -> Array:
    """An input of so many rows."""
    generator = np.random.default_rng((seed, length))
    return generator.normal(size=(1, length, FEATURES)).astype(np.float32)


def _w(*shape: int) -> Array:
    return np.random.default_rng(shape).normal(0, 0.3, shape).astype(np.float32)


def _i(*values: int) -> Array:
    return np.array(values, np.int64)


def _turned(given: str, made: str) -> Step:
    return ("Transpose", [given], made, {"perm": [0, 2, 1]})


def convolutions() -> Model:
    """Two of a stride, with padding."""
    steps: list[Step] = [
        _turned("x", "t"),
        ("Conv", ["t", "w", "b"], "a", {"strides": [2], "pads": [1, 1]}),
        ("Relu", ["a"], "r", {}),
        ("Conv", ["r", "w2"], "c", {"strides": [2], "pads": [2, 2]}),
        _turned("c", "y"),
    ]
    return steps, {"w": _w(12, 8, 3), "b": _w(12), "w2": _w(6, 12, 5)}


def channels_first() -> Model:
    """Two of a stride whose result keeps channels in front of the sequence."""
    steps: list[Step] = [
        _turned("x", "t"),
        ("Conv", ["t", "w", "b"], "a", {"strides": [2], "pads": [1, 1]}),
        ("Relu", ["a"], "r", {}),
        ("Conv", ["r", "w2"], "y", {"strides": [3], "pads": [2, 2]}),
    ]
    return steps, {"w": _w(12, 8, 3), "b": _w(12), "w2": _w(6, 12, 5)}


def causal() -> Model:
    """A depthwise and a pointwise convolution that see the past."""
    steps: list[Step] = [
        _turned("x", "t"),
        ("Conv", ["t", "w"], "a", {"pads": [4, 0], "group": FEATURES}),
        ("Conv", ["a", "w2", "b"], "c", {}),
        ("Relu", ["c"], "r", {}),
        _turned("r", "y"),
    ]
    return steps, {"w": _w(8, 1, 5), "w2": _w(10, 8, 1), "b": _w(10)}


def image() -> Model:
    """The sequence as rows of an image: 3x3 convolutions, depthwise too, and the mean of it."""
    steps: list[Step] = [
        ("Unsqueeze", ["x", "axis"], "u", {}),
        ("Conv", ["u", "w", "b"], "a", {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
        ("Relu", ["a"], "r", {}),
        ("Conv", ["r", "d"], "e", {"pads": [1, 1, 1, 1], "group": 8}),
        ("GlobalAveragePool", ["e"], "g", {}),
        ("Flatten", ["g"], "f", {}),
        ("Gemm", ["f", "w2", "b2"], "y", {}),
    ]
    constants = {"w": _w(8, 1, 3, 3), "b": _w(8), "d": _w(8, 1, 3, 3), "w2": _w(8, 4), "b2": _w(4)}
    return steps, {**constants, "axis": _i(1)}


def mean() -> Model:
    """What is the same for every row, then their mean."""
    steps: list[Step] = [
        ("MatMul", ["x", "w"], "a", {}),
        ("Relu", ["a"], "r", {}),
        ("ReduceMean", ["r"], "m", {"axes": [1], "keepdims": 0}),
        ("Gemm", ["m", "w2", "b2"], "y", {}),
    ]
    return steps, {"w": _w(8, 6), "w2": _w(6, 4), "b2": _w(4)}


def last() -> Model:
    """The last row decides."""
    steps: list[Step] = [
        ("MatMul", ["x", "w"], "a", {}),
        ("Tanh", ["a"], "r", {}),
        ("Slice", ["r", "from", "to", "axis"], "l", {}),
        ("Squeeze", ["l", "axis"], "q", {}),
        ("Gemm", ["q", "w2", "b2"], "y", {}),
    ]
    constants = {"w": _w(8, 6), "w2": _w(6, 4), "b2": _w(4)}
    return steps, {**constants, "from": _i(-1), "to": _i(2**31), "axis": _i(1)}


def attention() -> Model:
    """Every row looks at every row."""
    steps: list[Step] = [
        ("MatMul", ["x", "wq"], "q", {}),
        ("MatMul", ["x", "wk"], "k", {}),
        ("MatMul", ["x", "wv"], "v", {}),
        _turned("k", "kt"),
        ("MatMul", ["q", "kt"], "s", {}),
        ("Mul", ["s", "scale"], "s2", {}),
        ("Softmax", ["s2"], "p", {"axis": -1}),
        ("MatMul", ["p", "v"], "o", {}),
        ("Add", ["o", "x"], "y", {}),
    ]
    scale = np.float32(0.35)
    return steps, {"wq": _w(8, 8), "wk": _w(8, 8), "wv": _w(8, 8), "scale": scale}


def heads() -> Model:
    """Rows cut in parts, which change places."""
    steps: list[Step] = [
        ("MatMul", ["x", "w"], "a", {}),
        ("Reshape", ["a", "parts"], "h", {}),
        ("Transpose", ["h"], "t", {"perm": [0, 2, 1, 3]}),
        ("Softmax", ["t"], "p", {"axis": -1}),
        ("Transpose", ["p"], "b", {"perm": [0, 2, 1, 3]}),
        ("Reshape", ["b", "rows"], "y", {}),
    ]
    return steps, {"w": _w(8, 8), "parts": _i(0, -1, 2, 4), "rows": _i(0, -1, 8)}


def weighted() -> Model:
    """A softmax over the rows, and their sum by it."""
    steps: list[Step] = [
        ("MatMul", ["x", "w"], "a", {}),
        ("Softmax", ["a"], "p", {"axis": 1}),
        ("Mul", ["p", "x"], "m", {}),
        ("ReduceSum", ["m", "axis"], "y", {"keepdims": 0}),
    ]
    return steps, {"w": _w(8, 1), "axis": _i(1)}


def joined() -> Model:
    """A row before the others, and two results side by side and behind each other."""
    steps: list[Step] = [
        ("MatMul", ["x", "w"], "a", {}),
        ("Relu", ["a"], "r", {}),
        ("Tanh", ["a"], "h", {}),
        ("Concat", ["r", "h"], "side", {"axis": 2}),
        ("Concat", ["first", "side", "side"], "all", {"axis": 1}),
        ("MatMul", ["all", "w2"], "y", {}),
    ]
    return steps, {"w": _w(8, 3), "w2": _w(6, 5), "first": _w(1, 1, 6)}


def behind() -> Model:
    """Two results behind each other: one begins where the other ends."""
    steps: list[Step] = [
        ("MatMul", ["x", "w"], "a", {}),
        ("Relu", ["a"], "r", {}),
        ("Tanh", ["a"], "h", {}),
        ("Concat", ["r", "h"], "all", {"axis": 1}),
        ("MatMul", ["all", "w2"], "y", {}),
    ]
    return steps, {"w": _w(8, 4), "w2": _w(4, 5)}


def tail() -> Model:
    """The last row is what comes out."""
    steps: list[Step] = [
        ("MatMul", ["x", "w"], "a", {}),
        ("Relu", ["a"], "r", {}),
        ("Slice", ["r", "from", "to", "axis"], "y", {}),
    ]
    return steps, {"w": _w(8, 6), "from": _i(-1), "to": _i(2**31), "axis": _i(1)}


def filled() -> Model:
    """Rows of zeros where there are less than two: another network at a size of one."""
    steps: list[Step] = [
        ("Shape", ["x"], "s", {}),
        ("Gather", ["s", "one"], "n", {"axis": 0}),
        ("Sub", ["two", "n"], "d", {}),
        ("Max", ["d", "none"], "m", {}),
        ("Unsqueeze", ["m", "zero"], "m1", {}),
        ("Concat", ["before", "m1", "zero"], "pads", {"axis": 0}),
        ("Pad", ["x", "pads"], "p", {}),
        ("MatMul", ["p", "w"], "y", {}),
    ]
    constants = {"one": np.int64(1), "two": np.int64(2), "none": np.int64(0), "w": _w(8, 4)}
    return steps, {**constants, "zero": _i(0), "before": _i(0, 0, 0, 0)}


def positions() -> Model:
    """The beginning of a table is added to the rows, which are then normalized."""
    steps: list[Step] = [
        ("Shape", ["x"], "s", {}),
        ("Gather", ["s", "one"], "n", {"axis": 0}),
        ("Unsqueeze", ["n", "zero"], "n1", {}),
        ("Slice", ["table", "zero", "n1", "axis"], "p", {}),
        ("Add", ["x", "p"], "a", {}),
        ("LayerNormalization", ["a", "g", "b"], "y", {"axis": -1}),
    ]
    constants = {"table": _w(1, 300, 8), "g": _w(8), "b": _w(8), "one": np.int64(1)}
    return steps, {**constants, "zero": _i(0), "axis": _i(1)}


def _length() -> list[Step]:
    """How many rows there are, as `t`, and as `t1` of one element."""
    return [
        ("Shape", ["x"], "shape", {}),
        ("Gather", ["shape", "one"], "t", {"axis": 0}),
        ("Unsqueeze", ["t", "zero"], "t1", {}),
    ]


def masked() -> Model:
    """Every row looks at those before it: of the mask a smaller size has a corner."""
    steps: list[Step] = [
        *_length(),
        ("Concat", ["t1", "t1"], "square", {"axis": 0}),
        ("Expand", ["never", "square"], "all", {}),
        ("Trilu", ["all", "one"], "mask", {"upper": 1}),
        ("MatMul", ["x", "w"], "q", {}),
        _turned("x", "k"),
        ("MatMul", ["q", "k"], "s", {}),
        ("Add", ["s", "mask"], "m", {}),
        ("Softmax", ["m"], "p", {"axis": -1}),
        ("MatMul", ["p", "x"], "y", {}),
    ]
    never = np.float32(-30)
    return steps, {"w": _w(8, 8), "never": never, "one": np.int64(1), "zero": _i(0)}


def forbidden() -> Model:
    """Every row looks at those that a mask of columns leaves: a sum that broadcasts."""
    steps: list[Step] = [
        ("MatMul", ["x", "w1"], "counts", {}),
        ("Sigmoid", ["counts"], "kept", {}),
        _turned("kept", "columns"),
        ("MatMul", ["x", "w"], "q", {}),
        _turned("x", "k"),
        ("MatMul", ["q", "k"], "s", {}),
        ("Add", ["s", "columns"], "m", {}),
        ("Softmax", ["m"], "p", {"axis": -1}),
        ("MatMul", ["p", "x"], "y", {}),
    ]
    return steps, {"w": _w(8, 8), "w1": _w(8, 1)}


def mixed() -> Model:
    """Rows are mixed by a table, and another is added along the last axis."""
    steps: list[Step] = [
        *_length(),
        ("Concat", ["t1", "t1"], "square", {"axis": 0}),
        ("Slice", ["mixing", "begin", "square", "axes"], "part", {}),
        ("MatMul", ["part", "x"], "a", {}),
        _turned("a", "b"),
        ("Slice", ["table", "zero", "t1", "two"], "p", {}),
        ("Add", ["b", "p"], "c", {}),
        _turned("c", "y"),
    ]
    constants = {"mixing": _w(40, 40), "table": _w(1, 8, 40), "begin": _i(0, 0), "axes": _i(0, 1)}
    return steps, {**constants, "one": np.int64(1), "zero": _i(0), "two": _i(2)}


def ramp() -> Model:
    """Rows are scaled by where they are of all: no beginning of what is so at another size."""
    steps: list[Step] = [
        *_length(),
        ("Range", ["none", "t", "one"], "r", {}),
        ("Sub", ["t", "r"], "left", {}),
        ("Cast", ["left"], "real", {"to": 1}),
        ("Unsqueeze", ["real", "axes"], "rows", {}),
        ("Mul", ["x", "rows"], "y", {}),
    ]
    return steps, {"one": np.int64(1), "none": np.int64(0), "zero": _i(0), "axes": _i(0, 2)}


def pooled() -> Model:
    """Windows that reach over the end by turns."""
    steps: list[Step] = [
        _turned("x", "t"),
        ("MaxPool", ["t"], "p", {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}),
        ("GlobalAveragePool", ["p"], "g", {}),
        ("Flatten", ["g"], "f", {}),
        ("Gemm", ["f", "w", "b"], "y", {}),
    ]
    return steps, {"w": _w(8, 4), "b": _w(4)}


def padded() -> Model:
    """Rows of zeros before and behind, the sequence backwards, running sums."""
    steps: list[Step] = [
        ("Slice", ["x", "last", "before", "axis", "back"], "r", {}),
        ("Add", ["r", "x"], "a", {}),
        ("CumSum", ["a", "one"], "c", {}),
        ("Pad", ["c", "rows"], "p", {}),
        ("MatMul", ["p", "w"], "y", {}),
    ]
    constants = {"rows": _i(0, 2, 0, 0, 1, 0), "w": _w(8, 4), "one": np.int64(1)}
    return steps, {**constants, "last": _i(-1), "before": _i(-(2**31)), "axis": _i(1),
                   "back": _i(-1)}  # fmt: skip


def _recurrent(kind: str, gates: int) -> Model:
    steps: list[Step] = [
        ("Transpose", ["x"], "t", {"perm": [1, 0, 2]}),
        (kind, ["t", "w", "r", "b"], "h", {"hidden_size": 6}),
        ("Squeeze", ["h", "axis"], "q", {}),
        ("Transpose", ["q"], "y", {"perm": [1, 0, 2]}),
    ]
    rows = gates * 6
    return steps, {"w": _w(1, rows, 8), "r": _w(1, rows, 6), "b": _w(1, 2 * rows), "axis": _i(1)}


def lstm() -> Model:
    """As many steps as there are rows."""
    return _recurrent("LSTM", 4)


def gru() -> Model:
    """As many steps as there are rows."""
    return _recurrent("GRU", 3)


MODELS: dict[str, Callable[[], Model]] = {
    made.__name__: made
    for made in (convolutions, channels_first, causal, image, mean, last, attention, heads,
                 weighted, joined, behind, tail, positions, masked, forbidden, mixed, pooled,
                 padded, lstm, gru)
}  # fmt: skip
#: Those that are other networks at some sizes.
UNEVEN: dict[str, Callable[[], Model]] = {"filled": filled, "ramp": ramp}
