"""What a user should know about an ONNX file besides what it computes."""

from __future__ import annotations

from typing import Any

import numpy as np

from glowmcu.frontend.known_inputs import batch_note
from glowmcu.frontend.onnx.container import (
    NodeRecord,
    OnnxRecord,
    element_of,
    read_onnx_container,
    tensor_data,
)
from glowmcu.frontend.onnx.dynamic_ranges import dynamic_products
from glowmcu.frontend.onnx.pair_notes import notes_on_pairs
from glowmcu.frontend.onnx.selected_rows import notes_on_selections
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.input_options import InputOptions

#: `double` among ONNX's element types.
_DOUBLE = 11
#: Operators of onnxruntime's with rounded weights alone.
_ROUNDED = ("DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "MatMulNBits")


def notes_on_onnx(
    data: bytes, file_name: str, options: InputOptions, quantizing: bool
) -> tuple[str, ...]:
    """Sentences on the file. Raises GM101, GM103."""
    model = read_onnx_container(data, file_name)
    sizes = {record.name: record.sizes for record in model.inputs}
    return (
        *batch_note(sizes, options, file_name),
        *_category_notes(model),
        *_class_notes(model),
        *_double_note(model),
        *_activations_note(model, quantizing),
        *_shrinking_note(model),
        *notes_on_pairs(model),
        *notes_on_selections(model),
    )


def _category_notes(model: OnnxRecord) -> tuple[str, ...]:
    """What inputs are that are strings in the file."""
    return tuple(
        f"input {item.name!r} is text in the file; here it is the number of a category, whose "
        "names are in the bundle's header"
        for item in model.inputs
        if item.type_name == "STRING"
    )


def _class_notes(model: OnnxRecord) -> tuple[str, ...]:
    """What outputs are that no tensor could hold: dictionaries of scores, names of classes."""
    maps = {op.outputs[0] for op in model.nodes if op.kind == "ZipMap" and op.outputs}
    dictionaries = [name for name in model.outputs if name in maps]
    texts = [name for name in model.outputs if model.output_types[name][1] == "STRING"]
    notes = [
        f"output {name!r} is a dictionary of scores by class in the file; here it is the scores "
        "themselves, in the order of the classes" for name in dictionaries
    ]  # fmt: skip
    return (
        *notes,
        *(f"output {name!r} is the name of a class in the file; here it is the index of the class, "
          "whose name is among the bundle's labels" for name in texts),
    )  # fmt: skip


def _double_note(model: OnnxRecord) -> tuple[str, ...]:
    """What is computed in where the file computes in double."""
    inputs = [item.name for item in model.inputs if item.type_name == "DOUBLE"]
    outputs = [name for name in model.outputs if model.output_types[name][1] == "DOUBLE"]
    inner = sum(element_of(item.data_type)[1] == "DOUBLE" for item in model.initializers.values())
    inner += sum(_makes_double(op) for op in model.nodes)
    named = ", ".join(repr(name[:120]) for name in (*inputs, *outputs))
    if not named and not inner:
        return ()
    border = f"; so {'is' if len(inputs + outputs) == 1 else 'are'} {named}" if named else ""
    return (f"the file computes in double, here all of it is float32{border}",)


def _makes_double(op: NodeRecord) -> bool:
    if op.kind == "Cast":
        return op.attributes.get("to") == _DOUBLE
    return op.kind == "Constant" and getattr(op.attributes.get("value"), "data_type", 0) == _DOUBLE


def _activations_note(model: OnnxRecord, quantizing: bool) -> tuple[str, ...]:
    """What becomes of a model whose weights only are quantized in the file."""
    count = len(dynamic_products(model)) + sum(op.kind in _ROUNDED for op in model.nodes)
    if not count:
        return ()
    layers = f"{count} layer{'s have' if count > 1 else ' has'}"
    if quantizing:
        return (
            f"{layers} weights that the file rounds, and these are what is quantized; the float "
            "model that it was made of may lose less",
        )
    return (
        f"{layers} rounded weights in the file, and activations that onnxruntime rounds as it runs "
        "or not at all; here activations are float and stay exact; int8 throughout, by samples, is "
        "smaller and faster: --samples DATA, or glowmcu profile",
    )


def _shrinking_note(model: OnnxRecord) -> tuple[str, ...]:
    """Which elements are the nearest where ONNX leaves that open."""
    if model.opsets.get("ai.onnx") != 10:
        return ()
    constants = {op.outputs[0]: op.attributes.get("value") for op in model.nodes
                 if op.kind == "Constant" and op.outputs}  # fmt: skip
    constants.update(model.initializers)
    resized = [op for op in model.nodes if op.kind == "Resize" and len(op.inputs) > 1]
    nearest = [op for op in resized if op.text("mode", "nearest") == "nearest"]
    count = sum(_shrinks_unevenly(model, constants.get(op.inputs[1])) for op in nearest)
    if not count:
        return ()
    return (
        f"{count} Resize of opset 10 shrink{'s' * (count == 1)} to nearest elements by no whole "
        "factor, and ONNX does not say which these are: here, as in onnxruntime, the ones behind, "
        "while PyTorch takes the ones before; an export with opset 11 or later says it",
    )


def _shrinks_unevenly(model: OnnxRecord, tensor: Any) -> bool:
    """Whether scales that the file holds are below 1, and no parts of it."""
    try:
        scales = tensor_data(tensor, model.folder).astype(np.float32)
    except Unsupported:  # computed, or refused where it is read
        return False
    shrinking = scales[(scales > 0) & (scales < 1)]
    return bool((np.float32(1) / shrinking % 1).any())
