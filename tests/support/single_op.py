"""A model of one operator, from shapes and constants: what most operator tests need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from glowmcu.frontend.tflite.writer import ModelBuilder


@dataclass(frozen=True)
class Tensor:
    """A computed tensor. int8, uint8 and int16 are quantized unless `scale` is None."""

    shape: tuple[int, ...]
    dtype: str = "int8"
    scale: float | None = 0.5
    zero_point: int = -3

    @property
    def quantization(self) -> tuple[float | None, int]:
        if self.dtype == "int8":
            return self.scale, self.zero_point
        return (self.scale, 0) if self.dtype == "int16" else (None, 0)


Operand = Tensor | npt.NDArray[Any]


def single_op_model(
    kind: str,
    operands: Sequence[Operand],
    results: Sequence[Tensor],
    options: Mapping[str, Any] | None = None,
    version: int | None = None,
) -> bytes:
    """Operands in order: tensors become inputs, arrays constants. Every result is an output."""
    model = ModelBuilder()
    refs = []
    for i, operand in enumerate(operands):
        if isinstance(operand, np.ndarray):
            quantization = (0.5, -3) if operand.dtype == np.int8 else (None, 0)
            refs.append(model.constant(f"c{i}", operand, *quantization))
        else:
            refs.append(model.input(f"x{i}", operand.shape, operand.dtype, *operand.quantization))
    outs = [
        model.tensor(f"y{i}", result.shape, result.dtype, *result.quantization)
        for i, result in enumerate(results)
    ]
    model.op(kind, refs, outs, dict(options or {}), version=version)
    for out in outs:
        model.output(out)
    return model.finish()


def ints(*values: int) -> npt.NDArray[np.int32]:
    """A constant vector."""
    return np.array(values, np.int32)
