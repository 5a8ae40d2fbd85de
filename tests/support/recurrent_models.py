"""ONNX networks of one step, whose states go in and come out: GRU and LSTM."""

from __future__ import annotations

from typing import Any

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


def recurrent_sequence(
    kind: str,
    steps: int,
    features: int = 32,
    hidden: int = 64,
    batch: int = 1,
    seed: int = 0,
    states: bool = False,
    lengths: tuple[int, ...] | None = (),
    **attributes: Any,
) -> bytes:
    """Input `x` of several steps, outputs `y` and `hn`; all states where they are inputs (`h0` and
    `c0`, what they become is `hn` and `cn`). `lengths` of the sequences; None makes them an input.
    """
    random, gates = np.random.default_rng(seed), {"RNN": 1, "GRU": 3, "LSTM": 4}[kind]
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    rows, first = gates * hidden, bool(attributes.get("layout"))
    weights = {
        "W": random.standard_normal((directions, rows, features)) / np.sqrt(features),
        "R": random.standard_normal((directions, rows, hidden)) / np.sqrt(hidden),
        "B": random.standard_normal((directions, 2 * rows)) / 10,
    }
    constants = [
        numpy_helper.from_array(data.astype(np.float32), name) for name, data in weights.items()
    ]

    def info(name: str, *shape: int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    state = (batch, directions, hidden) if first else (directions, batch, hidden)
    sequence = (batch, steps, directions) if first else (steps, directions, batch)
    names = ["hn", "cn"] if kind == "LSTM" else ["hn"]
    given = [f"{name[0]}0" for name in names] if states else []
    inputs = [info("x", *((batch, steps) if first else (steps, batch)), features)]
    inputs += [info(name, *state) for name in given]
    shown = names if states else names[:1]
    outputs = [info("y", *sequence, hidden), *(info(name, *state) for name in shown)]
    if lengths is None:
        inputs.append(helper.make_tensor_value_info("lengths", TensorProto.INT32, (batch,)))
    elif lengths:
        constants.append(numpy_helper.from_array(np.array(lengths, np.int32), "lengths"))
    optional = ["" if lengths == () else "lengths", *given]
    node = helper.make_node(
        kind, ["x", "W", "R", "B", *optional], ["y", *names],
        hidden_size=hidden, **attributes,
    )  # fmt: skip
    graph = helper.make_graph([node], "sequence", inputs, outputs, constants)
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=9)
    return bytes(model.SerializeToString())


def smooth_sequence(
    steps: int, features: int, seed: int, batch: int = 1, batch_first: bool = False
) -> np.ndarray:
    """float32 input of `recurrent_sequence`: random walks, each at most 1."""
    walks = [smooth(steps, features, 100 * seed + item)[:, 0, 0] for item in range(batch)]
    return np.ascontiguousarray(np.stack(walks, 0 if batch_first else 1))
