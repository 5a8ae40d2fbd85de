"""TFLM_DECODE of TensorFlow Lite Micro: constants that are stored compressed become dense ones.

Source: `micro/kernels/decode.cc`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from glowmcu.frontend.tflite.compressed_tensors import Compressed, decompressed
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.tensors import tensor_type
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array

_NOTHING = memoryview(b"")


@importer("CUSTOM TFLM_DECODE")
def import_decode(state: Import, op: OperatorRecord) -> None:
    """Two operands for each result: what is stored, and how."""
    if not op.outputs or len(op.inputs) != 2 * len(op.outputs):
        raise Unsupported(
            "GM106",
            f"TFLM_DECODE has {len(op.inputs)} operands and {len(op.outputs)} results; expected "
            "two operands for each result",
        )
    for position, index in enumerate(op.outputs):
        record = state.model.tensors[index]
        encoded = state.constant(op, 2 * position, "the compressed tensor")
        ancillary = state.constant(op, 2 * position + 1, "the tensor of metadata")
        # As a constant: it may have a scale for each channel.
        form = tensor_type(replace(record, data=_NOTHING, scales=(1.0,) * len(record.scales)))
        state.builder.afford(form.shape, form.element.size_bytes, "a compressed tensor")
        try:
            data = decompressed(Compressed(_bytes(encoded), _bytes(ancillary), form))
        except ValueError as cause:
            raise Unsupported("GM105", f"TFLM_DECODE: {record.name!r}: {cause}") from cause
        type_ = tensor_type(replace(record, data=memoryview(data.tobytes())))
        state.set_value(op, state.builder.add_known(Value(type_, record.name), data), position)


def _bytes(data: Array) -> npt.NDArray[np.uint8]:
    return np.frombuffer(data.tobytes(), np.uint8)
