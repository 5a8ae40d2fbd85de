"""Float models as a converter's dynamic-range quantization writes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.tflite.writer_tables import TensorRef

Array = npt.NDArray[Any]


class Int8Weights(ModelBuilder):
    """Writes float constants of two axes and more as int8, a scale for each first index, or for
    each channel of a depthwise layer.
    """

    def constant(self, name: str, data: Array, *quantization: Any) -> TensorRef:
        if data.ndim < 2:
            return super().constant(name, data, *quantization)
        axis = 3 if data.ndim == 4 and data.shape[0] == 1 else 0
        others = tuple(other for other in range(data.ndim) if other != axis)
        scales = np.abs(data).max(axis=others, keepdims=True) / np.float32(127)
        codes = np.rint(data / scales)
        return super().constant(name, codes.astype(np.int8), scales.reshape(-1), 0, axis)
