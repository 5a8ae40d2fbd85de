"""What a user should know about a `.tflite` file besides what it computes."""

from __future__ import annotations

import math

from glowmcu.frontend.formats import format_of_package
from glowmcu.frontend.known_inputs import batch_note
from glowmcu.frontend.tflite.container import ModelRecord, TensorRecord, read_container
from glowmcu.frontend.tflite.tensors import input_sizes
from glowmcu.input_options import InputOptions


def notes_on_tflite(
    data: bytes, file_name: str, options: InputOptions, quantizing: bool
) -> tuple[str, ...]:
    """Sentences on the file. Raises GM101, GM103."""
    model = read_container(data, file_name)
    batch = batch_note(input_sizes(model), options, file_name)
    return (
        *batch,
        *_signatures_note(model),
        *_weights_note(model, quantizing),
        *_relu6_note(model),
    )


def has_dynamic_ranges(data: bytes, file_name: str) -> bool:
    """Whether a `.tflite` file has integer weights of float layers, whose activations a runtime
    quantizes as it runs, or not at all. Raises GM101.
    """
    if format_of_package(data, file_name) is not None:
        return False
    records = _small_weights(read_container(data, file_name))
    return any("INT" in record.type_name for record in records)


def _signatures_note(model: ModelRecord) -> tuple[str, ...]:
    """Functions beside the one that is compiled: that of the first subgraph."""
    others = [name[:60] for name, subgraph in model.signatures if subgraph != 0]
    if not others:
        return ()
    first = [name[:60] for name, subgraph in model.signatures if subgraph == 0]
    more = f" and {len(others) - 3} more" if len(others) > 3 else ""
    return (
        f"the file has {len(model.signatures)} signatures, and this is "
        f"{repr(first[0]) if first else 'the first subgraph'}: {', '.join(map(repr, others[:3]))}"
        f"{more} {'are' if len(others) > 1 else 'is'} left out; a file of its own for each "
        "function is compiled",
    )


def _relu6_note(model: ModelRecord) -> tuple[str, ...]:
    """Limits at which the scale changes, where TensorFlow Lite Micro computes something else."""
    tensors = model.tensors
    found = [
        (op.index, after.name)
        for op in model.operators
        if op.name == "RELU6" and op.inputs[:1] and op.outputs[:1] and op.inputs[0] >= 0
        for before, after in [(tensors[op.inputs[0]], tensors[op.outputs[0]])]
        if before.type_name in ("INT8", "INT16")
        and (before.scales, before.zero_points) != (after.scales, after.zero_points)
    ]
    if not found:
        return ()
    index, name = found[0]
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return (
        f"RELU6 changes the scale (node {index} {name[:60]!r}{more}), and TensorFlow Lite Micro "
        "takes what is stored for the new scale as it is: so does the bundle, unless --rounding "
        "litert rescales, which LiteRT does and the layer means",
    )


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
        and (record.type_name == "FLOAT16" or (_has_scales(record) and "INT" in record.type_name))
        and record.type_name != "INT32"
    ]


def _has_scales(record: TensorRecord) -> bool:
    return bool(record.scales) or record.block_scales is not None


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
    blocks = [record for record in small if record.block_scales is not None]
    if blocks:
        in_blocks = 4 * sum(math.prod(record.shape) for record in blocks)
        return (
            f"the file holds {stored} B of weights as {kinds}; those with a scale for each block "
            f"of a row become {in_blocks} B of float32, and activations are float; int8 "
            "throughout, by samples, is smaller and faster: --samples DATA, or glowmcu profile",
        )
    return (
        f"the file holds {stored} B of weights as {kinds}, but activations are float and stay "
        "exact (LiteRT rounds them to int8 for some layers): int8 weights of layers stay "
        "int8 in flash and become float32 while a layer runs, but for recurrent and grouped ones, "
        "depthwise ones with several results a channel or fewer than four, and where "
        f"--optimize speed gains by more flash; all would be {real} B of float32; int8 throughout, "
        "by samples, is smaller and faster: --samples DATA, or glowmcu profile",
    )
