"""Float models as a converter's dynamic-range quantization writes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.tflite.writer_tables import TensorRef

Array = npt.NDArray[Any]


class Int8Weights(ModelBuilder):
    """Writes float constants of two axes and more as int8, a scale for each first index."""

    def constant(self, name: str, data: Array, *quantization: Any) -> TensorRef:
        if data.ndim < 2:
            return super().constant(name, data, *quantization)
        scales = np.abs(data).max(axis=tuple(range(1, data.ndim))) / np.float32(127)
        codes = np.rint(data / scales.reshape(-1, *(1,) * (data.ndim - 1)))
        return super().constant(name, codes.astype(np.int8), scales, 0)
