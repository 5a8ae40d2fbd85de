"""ONNX networks of one step, whose states go in and come out: GRU and LSTM."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def recurrent_step(
    kind: str = "GRU",
    features: int = 8,
    hidden: int = 12,
    names: tuple[str, str] = ("h0", "hn"),
    seed: int = 0,
) -> bytes:
    """Inputs `x` float32[1, 1, features] and the states; outputs `y` and what states become."""
    random, gates = np.random.default_rng(seed), {"GRU": 3, "LSTM": 4}[kind]
    size = gates * hidden
    weights = {
        "W": random.standard_normal((1, size, features)) / np.sqrt(features),
        "R": random.standard_normal((1, size, hidden)) / np.sqrt(hidden),
        "B": random.standard_normal((1, 2 * size)) / 10,
    }
    constants = [
        numpy_helper.from_array(data.astype(np.float32), name) for name, data in weights.items()
    ]
    pairs = [names] if kind == "GRU" else [names, ("c0", "cn")]

    def info(name: str, *shape: int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    inputs = [info("x", 1, 1, features), *(info(name, 1, 1, hidden) for name, _ in pairs)]
    outputs = [info("y", 1, 1, 1, hidden), *(info(name, 1, 1, hidden) for _, name in pairs)]
    attributes = {"hidden_size": hidden}
    if kind == "GRU":
        attributes["linear_before_reset"] = 1
    node = helper.make_node(
        kind,
        ["x", "W", "R", "B", "", *(name for name, _ in pairs)],
        ["y", *(name for _, name in pairs)],
        **attributes,
    )
    graph = helper.make_graph([node], "step", inputs, outputs, constants)
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=9)
    return bytes(model.SerializeToString())


def smooth(steps: int, features: int, seed: int) -> np.ndarray:
    """float32[steps, 1, 1, features], each at most 1: random walks."""
    walk = np.cumsum(np.random.default_rng(seed).standard_normal((steps, 1, 1, features)), 0)
    return (walk / np.abs(walk).max(0)).astype(np.float32)
