"""Streaming networks whose chunk has an open length T: what they remember has a fixed shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]
FEATURES, HIDDEN, RESULTS = 8, 12, 5
STREAMS = ("causal", "gru", "lstm")
#: With a state that is as long as the chunk.
GROWING = "growing"


def chunk(name: str, length: int, seed: int = 0) -> Array:
    """An input of so many frames."""
    shape = (length, 1, FEATURES) if name in ("gru", "lstm") else (1, FEATURES, length)
    return np.random.default_rng((seed, length)).normal(size=shape).astype(np.float32)


def states_of(name: str) -> list[Array]:
    """What a stream begins with."""
    if name == "causal":
        return [np.zeros((1, FEATURES, 2), np.float32)]
    return [np.zeros((1, 1, HIDDEN), np.float32)] * (2 if name == "lstm" else 1)


def open_stream(name: str) -> bytes:
    """The network as a file: `x` and states in, `y` and the next states out."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    helper, float_ = onnx.helper, onnx.TensorProto.FLOAT
    nodes, constants, shapes = _MADE[name]()
    kinds = [helper.make_node(kind, given, made, **more) for kind, given, made, more in nodes]
    values = {key: helper.make_tensor_value_info(key, float_, shape) for key, shape in shapes}
    outputs = [helper.make_tensor_value_info("y", float_, None)]
    graph = helper.make_graph(
        kinds, name, [value for key, value in values.items() if key not in _OUTPUTS],
        [*outputs, *(value for key, value in values.items() if key in _OUTPUTS)],
        [onnx.numpy_helper.from_array(data, key) for key, data in constants.items()],
    )  # fmt: skip
    opset = [helper.make_opsetid("", 17)]
    made = helper.make_model(graph, opset_imports=opset, ir_version=8)
    data: bytes = made.SerializeToString()
    return data


_OUTPUTS = ("cache_out", "hn", "cn")
Step = tuple[str, list[str], list[str], dict[str, Any]]
Shape = list[int | str]
Model = tuple[list[Step], dict[str, Array], list[tuple[str, Shape]]]


def _w(*shape: int) -> Array:
    return np.random.default_rng(shape).normal(0, 0.3, shape).astype(np.float32)


def _i(*values: int) -> Array:
    return np.array(values, np.int64)


def _causal() -> Model:
    """A convolution over the newest frames and two before them, which the cache keeps."""
    cache: Shape = [1, FEATURES, 2]
    nodes: list[Step] = [
        ("Concat", ["cache_in", "x"], ["all"], {"axis": 2}),
        ("Conv", ["all", "w", "b"], ["c"], {}),
        ("Relu", ["c"], ["r"], {}),
        ("Conv", ["r", "w2"], ["y"], {}),
        ("Slice", ["all", "from", "to", "axis"], ["cache_out"], {}),
    ]
    constants = {"w": _w(8, 8, 3), "b": _w(8), "w2": _w(RESULTS, 8, 1)}
    constants |= {"from": _i(-2), "to": _i(2**31), "axis": _i(2)}
    shapes = [("x", [1, FEATURES, "T"]), ("cache_in", cache), ("cache_out", cache)]
    return nodes, constants, shapes


def _recurrent(kind: str, gates: int, states: list[str], made: list[str]) -> Model:
    state: Shape = [1, 1, HIDDEN]
    nodes: list[Step] = [
        (kind, ["x", "w", "r", "b", "", *states], ["s", *made], {"hidden_size": HIDDEN}),
        ("Squeeze", ["s", "axis"], ["q"], {}),
        ("MatMul", ["q", "d"], ["y"], {}),
    ]
    constants = {"w": _w(1, gates * HIDDEN, 8), "r": _w(1, gates * HIDDEN, HIDDEN)}
    constants |= {"b": _w(1, 2 * gates * HIDDEN), "d": _w(HIDDEN, RESULTS), "axis": _i(1)}
    first: Shape = ["T", 1, FEATURES]
    return nodes, constants, [("x", first), *((key, state) for key in [*states, *made])]


def _gru() -> Model:
    return _recurrent("GRU", 3, ["h0"], ["hn"])


def _lstm() -> Model:
    return _recurrent("LSTM", 4, ["h0", "c0"], ["hn", "cn"])


def _growing() -> Model:
    """Differences to the chunk before."""
    nodes: list[Step] = [
        ("Sub", ["x", "cache_in"], ["d"], {}),
        ("Conv", ["d", "w"], ["y"], {}),
        ("Relu", ["x"], ["cache_out"], {}),
    ]
    shape: Shape = [1, FEATURES, "T"]
    shapes = [(name, shape) for name in ("x", "cache_in", "cache_out")]
    return nodes, {"w": _w(RESULTS, 8, 1)}, shapes


_MADE = {"causal": _causal, "gru": _gru, "lstm": _lstm, GROWING: _growing}
