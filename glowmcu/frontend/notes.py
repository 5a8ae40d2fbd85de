"""What a user should know about a model file besides what it computes: read from its records."""

from __future__ import annotations

import math
from collections.abc import Mapping

from glowmcu.asked_in_python import in_python, is_in_memory
from glowmcu.frontend.formats import format_of_package
from glowmcu.frontend.known_inputs import Sizes, open_batches
from glowmcu.frontend.onnx.container import NodeRecord, OnnxRecord, element_of, read_onnx_container
from glowmcu.frontend.onnx.dynamic_ranges import dynamic_products
from glowmcu.frontend.onnx.pair_notes import notes_on_pairs
from glowmcu.frontend.open_shapes import shape_option
from glowmcu.frontend.read_model import is_onnx
from glowmcu.frontend.tflite.container import ModelRecord, TensorRecord, read_container
from glowmcu.frontend.tflite.tensors import input_sizes
from glowmcu.input_options import InputOptions

#: `double` among ONNX's element types.
_DOUBLE = 11
#: Operators of onnxruntime's with rounded weights alone.
_ROUNDED = ("DynamicQuantizeLSTM", "MatMulNBits")


def notes_on_file(
    data: bytes, file_name: str, options: InputOptions | None = None, quantizing: bool = False
) -> tuple[str, ...]:
    """Sentences for whoever compiles, inspects or profiles the model; `quantizing` says that float
    layers are going to be int8. Raises GM101, GM103.
    """
    options = options or InputOptions()
    if format_of_package(data, file_name) is not None:
        return ()
    if is_onnx(data, file_name):
        onnx = read_onnx_container(data, file_name)
        sizes = {record.name: record.sizes for record in onnx.inputs}
        notes = (
            *_batch_note(sizes, options, file_name),
            *_category_notes(onnx),
            *_class_notes(onnx),
            *_double_note(onnx),
            *_activations_note(onnx, quantizing),
            *notes_on_pairs(onnx),
        )
    else:
        model = read_container(data, file_name)
        notes = _batch_note(input_sizes(model), options, file_name)
        notes += _weights_note(model, quantizing)
    return tuple(map(in_python, notes)) if is_in_memory(file_name) else notes


def _batch_note(
    inputs: Mapping[str, Sizes | None], options: InputOptions, file_name: str
) -> tuple[str, ...]:
    """Which inputs have a batch of 1 that the file leaves open."""
    shapes = open_batches(inputs, options)
    if not shapes:
        return ()
    texts = {name: "x".join(map(str, shape)) for name, shape in shapes.items()}
    listed = ", ".join(f"{name} is {text}" for name, text in texts.items())
    option = shape_option(*next(iter(shapes.items())))
    what = "model" if is_in_memory(file_name) else "file"
    return (
        f"the {what} leaves the batch open: it is 1 ({listed}); {option} says so, or another size",
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


def has_dynamic_ranges(data: bytes, file_name: str) -> bool:
    """Whether a `.tflite` file has integer weights of float layers, whose activations a runtime
    quantizes as it runs, or not at all. Raises GM101.
    """
    if format_of_package(data, file_name) is not None:
        return False
    records = _small_weights(read_container(data, file_name))
    return any("INT" in record.type_name for record in records)


def _small_weights(model: ModelRecord) -> list[TensorRecord]:
    """Weights that the file stores smaller than float32 for float layers: a converter's
    dynamic-range or float16 quantization.
    """
    read = {
        index
        for op in model.operators
        if all(model.tensors[output].type_name == "FLOAT32" for output in op.outputs)
        for index in op.inputs
        if index >= 0
    }
    records = [model.tensors[index] for index in sorted(read)]
    return [
        record
        for record in records
        if record.data is not None
        and (record.type_name == "FLOAT16" or (record.scales and "INT" in record.type_name))
        and record.type_name != "INT32"
    ]


def _weights_note(model: ModelRecord, quantizing: bool) -> tuple[str, ...]:
    """Bytes of weights that the file stores smaller than float32 for float layers."""
    small = _small_weights(model)
    if not small:
        return ()
    stored = sum(len(record.data or b"") for record in small)
    real = 4 * sum(math.prod(record.shape) for record in small)
    kinds = " and ".join(sorted({record.type_name.lower() for record in small}))
    if quantizing:
        return (
            f"{stored} B of weights are rounded to {kinds} in the file, and these are what is "
            "quantized; the float model that it was made of may lose less",
        )
    return (
        f"the file holds {stored} B of weights as {kinds}, but activations are float and stay "
        "exact (LiteRT rounds them to int8 for some layers): int8 weights of CONV_2D and "
        "FULLY_CONNECTED stay int8 in flash and become float32 while a layer runs, but where "
        f"--optimize speed gains by more flash; all would be {real} B of float32; int8 throughout, "
        "by samples, is smaller and faster: --samples DATA, or glowmcu profile",
    )
