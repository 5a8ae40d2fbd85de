"""A torch network as an ONNX file with fixed shapes, by either of torch's exporters."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx
import torch
from torch import nn

OPSET = 18  # the oldest that the newer exporter writes without a conversion


@dataclass(frozen=True)
class Interface:
    """Name and shape of a network's input, name of its output."""

    input_name: str
    shape: Sequence[int]
    output_name: str


def export_onnx(net: nn.Module, interface: Interface, *, dynamo: bool = True) -> bytes:
    """The `.onnx` file; `dynamo=False` takes the older, tracing exporter."""
    buffer = io.BytesIO()
    program = torch.onnx.export(
        net.eval(),
        (torch.zeros(*interface.shape),),
        None if dynamo else buffer,
        input_names=[interface.input_name],
        output_names=[interface.output_name],
        opset_version=OPSET,
        dynamo=dynamo,
        verbose=False,
    )
    if program is None:
        return buffer.getvalue()
    model = program.model_proto
    _strip_notes(model)
    return model.SerializeToString(deterministic=True)


def _strip_notes(model: onnx.ModelProto) -> None:
    """Takes out stack traces: they name files of the machine that exported."""
    graph = model.graph
    for item in (model, graph, *graph.node, *graph.input, *graph.output, *graph.value_info):
        del item.metadata_props[:]
        item.doc_string = ""


def onnx_scores(model: bytes, inputs: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """What onnxruntime answers to each sample: (samples, classes)."""
    import onnxruntime

    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return np.concatenate([session.run(None, {name: x[np.newaxis]})[0] for x in inputs])
