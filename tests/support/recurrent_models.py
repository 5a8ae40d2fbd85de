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


def stacked_steps(kind: str, layers: int, steps: int, turned: bool = False) -> bytes:
    """Layers behind each other as PyTorch writes them: of each state one tensor for all layers,
    sliced and joined again; `turned`: the last layer's first. `x` is float32[steps, 1, 8].
    """
    random, hidden = np.random.default_rng(3), 8
    gates = {"GRU": 3, "LSTM": 4, "RNN": 1}[kind]
    pairs = [("h0", "hn")] + ([("c0", "cn")] if kind == "LSTM" else [])
    constants = {"first": np.array([0], np.int64)}
    nodes, value = [], "x"
    for layer in range(layers):
        constants |= {
            f"W{layer}": random.standard_normal((1, gates * hidden, 8)) / 4,
            f"R{layer}": random.standard_normal((1, gates * hidden, hidden)) / 4,
            f"from{layer}": np.array([layer], np.int64),
            f"to{layer}": np.array([layer + 1], np.int64),
        }
        for old, _ in pairs:
            bounds = [f"from{layer}", f"to{layer}", "first"]
            nodes.append(helper.make_node("Slice", [old, *bounds], [f"{old}_{layer}"]))
        given = [value, f"W{layer}", f"R{layer}", "", "", *(f"{old}_{layer}" for old, _ in pairs)]
        made = [f"y{layer}", *(f"{new}_{layer}" for _, new in pairs)]
        nodes.append(helper.make_node(kind, given, made, hidden_size=hidden))
        value = "y" if layer == layers - 1 else f"x{layer}"
        constants["one"] = np.array([1], np.int64)
        nodes.append(helper.make_node("Squeeze", [f"y{layer}", "one"], [value]))
    order = range(layers)[:: -1 if turned else 1]
    for _, new in pairs:
        parts = [f"{new}_{layer}" for layer in order]
        nodes.append(helper.make_node("Concat", parts, [new], axis=0))

    def info(name: str, *shape: int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    inputs = [info("x", steps, 1, 8), *(info(old, layers, 1, hidden) for old, _ in pairs)]
    outputs = [info("y", steps, 1, hidden), *(info(new, layers, 1, hidden) for _, new in pairs)]
    stored = [
        numpy_helper.from_array(data if data.dtype == np.int64 else data.astype(np.float32), name)
        for name, data in constants.items()
    ]
    graph = helper.make_graph(nodes, "stack", inputs, outputs, stored)
    opset = [helper.make_opsetid("", 17)]
    return bytes(helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString())
