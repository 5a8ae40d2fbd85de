"""Seeds for ONNX mutants: small models that between them use many operators and all containers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT8, INT64 = TensorProto.FLOAT, TensorProto.INT8, TensorProto.INT64


def _tensor(name: str, shape: Sequence[Any] | None, kind: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def _model(
    nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any], functions: Any = (),
    domains: Sequence[str] = (), **data: Any,
) -> bytes:  # fmt: skip
    weights = [numpy_helper.from_array(array, name) for name, array in data.items()]
    graph = helper.make_graph(list(nodes), "main", list(inputs), list(outputs), weights)
    opsets = [helper.make_opsetid("", 17), *(helper.make_opsetid(name, 1) for name in domains)]
    made = helper.make_model(graph, opset_imports=opsets, functions=list(functions))
    return bytes(made.SerializeToString())


def convolutions() -> bytes:
    """Images: convolution, pooling, a dense layer."""
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], strides=[2, 1], pads=[1, 0, 0, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], ceil_mode=1),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "d"], ["y"], transB=1, alpha=0.5),
    ]
    generator = np.random.default_rng(0)
    w = generator.normal(size=(3, 2, 3, 3)).astype(np.float32)
    d = generator.normal(size=(4, 36)).astype(np.float32)
    inputs, outputs = [_tensor("x", [1, 2, 6, 8])], [_tensor("y", [1, 4])]
    return _model(nodes, inputs, outputs, w=w, b=np.ones(3, np.float32), d=d)


def shapes() -> bytes:
    """Shape arithmetic in constants, slices, joins and reductions."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "one"], ["n"]),
        helper.make_node("Concat", ["minus", "n"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["m"]),
        helper.make_node("Slice", ["m", "starts", "ends", "axes", "steps"], ["part"]),
        helper.make_node("Pad", ["part", "pads"], ["padded"]),
        helper.make_node("Tile", ["padded", "repeats"], ["tiled"]),
        helper.make_node("ReduceMean", ["tiled"], ["y"], axes=[0], keepdims=0),
    ]
    ints = {
        "one": [1], "minus": [-1], "starts": [-1], "ends": [-4], "axes": [1], "steps": [-2],
        "pads": [1, 0, 0, 2], "repeats": [2, 3],
    }  # fmt: skip
    data = {name: np.array(values, np.int64) for name, values in ints.items()}
    return _model(nodes, [_tensor("x", [2, 4, 3])], [_tensor("y", None)], **data)


def functions() -> bytes:
    """A function of the model's own, and one that ONNX defines by others."""
    body = [
        helper.make_node("Add", ["a", "a"], ["twice"]),
        helper.make_node("Mul", ["twice", "a"], ["out"]),
    ]
    imports = [helper.make_opsetid("", 17)]
    own = helper.make_function("own", "Twice", ["a"], ["out"], body, imports)
    nodes = [
        helper.make_node("Twice", ["x"], ["t"], domain="own"),
        helper.make_node("MeanVarianceNormalization", ["t"], ["y"], axes=[0, 1]),
    ]
    inputs, outputs = [_tensor("x", [3, 4])], [_tensor("y", [3, 4])]
    return _model(nodes, inputs, outputs, [own], ["own"])


def control_flow() -> bytes:
    """A loop that collects, a branch inside of it, and a scan."""
    flag, i64 = TensorProto.BOOL, INT64
    branches = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node(kind, ["sum", "x"], [name])], name, [], [_tensor(name, [2, 3])]
        )
        for name, kind in (("then", "Mul"), ("else", "Sub"))
    }
    trip = [
        helper.make_node("Add", ["carried", "x"], ["sum"]),
        helper.make_node("ReduceMax", ["sum"], ["most"], keepdims=0),
        helper.make_node("Less", ["most", "limit"], ["is_small"]),
        helper.make_node("If", ["is_small"], ["next"], **branches),
        helper.make_node("Identity", ["go"], ["go_on"]),
    ]
    inputs = [_tensor("i", [], i64), _tensor("go", [], flag), _tensor("carried", [2, 3])]
    outputs = [_tensor("go_on", [], flag), _tensor("next", [2, 3]), _tensor("most", [])]
    row = helper.make_graph(
        [helper.make_node("Add", ["s", "r"], ["t"]), helper.make_node("Neg", ["t"], ["u"])],
        "row", [_tensor("s", [3]), _tensor("r", [3])], [_tensor("t", [3]), _tensor("u", [3])],
    )  # fmt: skip
    nodes = [
        helper.make_node("Loop", ["n", "", "x"], ["y", "rows"],
                         body=helper.make_graph(trip, "trip", inputs, outputs)),
        helper.make_node("Scan", ["zeros", "y"], ["last", "z"], body=row, num_scan_inputs=1),
    ]  # fmt: skip
    results = [_tensor(name, None) for name in ("rows", "last", "z")]
    data = {"n": np.array(30, np.int64), "limit": np.float32(9), "zeros": np.zeros(3, np.float32)}
    return _model(nodes, [_tensor("x", [2, 3])], results, **data)


def latin_names() -> bytes:
    """Names, sizes and properties in Latin-1, which protobuf takes for strings as well."""
    body = [helper.make_node("Add", ["a~", "a~"], ["b~"], "o~")]
    own = helper.make_function("~", "T~", ["a~"], ["b~"], body, [helper.make_opsetid("", 17)])
    nodes = [
        helper.make_node("T~", ["x~"], ["t~"], "n~", domain="~"),
        helper.make_node("Gemm", ["t~", "w~"], ["y~"], "m~", doc_string="~"),
    ]
    inputs, outputs = [_tensor("x~", [1, 4])], [_tensor("y~", ["s~", 2])]
    w = np.ones((4, 2), np.float32)
    model = onnx.load_model_from_string(_model(nodes, inputs, outputs, [own], ["~"], **{"w~": w}))
    model.producer_name = "~"
    model.graph.value_info.append(_tensor("t~", ["s~", 4]))
    helper.set_model_props(model, {"p~": "~"})
    return bytes(model.SerializeToString()).replace(b"~", b"\xe4")


ONNX_MODELS: dict[str, Callable[[], bytes]] = {
    "control_flow": control_flow,
    "convolutions": convolutions,
    "functions": functions,
    "latin_names": latin_names,
    "shapes": shapes,
}
