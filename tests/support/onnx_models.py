"""Small ONNX models for tests, and onnxruntime, asked what their outputs are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]
Operand = Array | tuple[str, str, tuple[int, ...]]
DEFAULT_OPSET = 18


class Nodes:
    """Operators and constants of a model, one behind the other; `add` and `number` name them."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        onnx = pytest.importorskip("onnx", reason="pip install onnx")
        name = f"v{len(self.nodes)}"
        self.nodes.append(onnx.helper.make_node(kind, inputs, [name], domain=domain, **attributes))
        return name

    def number(self, value: Any, dtype: str = "float32") -> str:
        onnx = pytest.importorskip("onnx", reason="pip install onnx")
        name = f"c{len(self.constants)}"
        self.constants.append(onnx.numpy_helper.from_array(np.array(value, dtype), name))
        return name


def onnx_model(
    kind: str,
    operands: Sequence[Operand | None],
    attributes: Mapping[str, Any] | None = None,
    outputs: int = 1,
    opset: int = DEFAULT_OPSET,
) -> bytes:
    """One operator. An operand is a constant array, an input `(name, dtype, shape)`, or left out.

    Results are called `y0`, `y1`, …; their types are inferred.
    """
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    helper = onnx.helper
    inputs, constants, names = [], [], []
    for position, operand in enumerate(operands):
        if operand is None:
            names.append("")
        elif isinstance(operand, tuple):
            name, dtype, shape = operand
            element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
            inputs.append(helper.make_tensor_value_info(name, element, shape))
            names.append(name)
        else:
            names.append(f"c{position}")
            constants.append(onnx.numpy_helper.from_array(operand, names[-1]))
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(kind, names, results, **(attributes or {}))
    values = [onnx.ValueInfoProto(name=name) for name in results]
    return finished(onnx, [node], inputs, values, constants, opset)


def finished(
    onnx: Any,
    nodes: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    constants: Sequence[Any],
    opset: int = DEFAULT_OPSET,
) -> bytes:
    """A model file of these parts, result types inferred."""
    graph = onnx.helper.make_graph(nodes, "main", inputs, outputs, constants)
    opsets = [onnx.helper.make_opsetid("", opset)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)
    inferred: bytes = onnx.shape_inference.infer_shapes(model).SerializeToString()
    return inferred


def skip_before_onnxruntime_1_24(what: str) -> None:
    """Skip where onnxruntime is 1.23, the last one for Python 3.10, which does `what`."""
    runtime = pytest.importorskip("onnxruntime", reason="pip install onnxruntime")
    if tuple(map(int, runtime.__version__.split(".")[:2])) < (1, 24):
        pytest.skip(f"onnxruntime 1.23 {what}")


def run_onnxruntime(data: bytes, inputs: Sequence[Array]) -> list[Array]:
    """Outputs in model order. Skips the test where onnxruntime is not installed.

    Operators one by one, as ONNX defines them: fused ones differ between processors, and those on
    integers saturate sums where there is no VNNI. Of what is so without being fused, ask
    `onnx_integers`.
    """
    runtime = pytest.importorskip("onnxruntime", reason="pip install onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    names = [item.name for item in session.get_inputs()]
    return list(session.run(None, dict(zip(names, inputs, strict=True))))


def run_reference(data: bytes, inputs: Sequence[Array]) -> list[Array]:
    """Outputs in model order, by ONNX's own evaluator in numpy: the same on every processor."""
    reference = pytest.importorskip("onnx.reference", reason="pip install onnx")
    evaluator = reference.ReferenceEvaluator(data)
    return list(evaluator.run(None, dict(zip(evaluator.input_names, inputs, strict=True))))
