"""Operators that onnxruntime writes when it saves a model, by family; see `onnx_cases.py`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tests.frontend.onnx_damage import Case, c, w, x

_MICROSOFT = "com.microsoft"
_F, _I32 = "float32", "int32"


def ms(kind: str, *operands: Any, out: int = 1, **attributes: Any) -> Case:
    results = tuple(f"y{place}" for place in range(out))
    return Case(kind, operands, attributes, results, domain=_MICROSOFT)


def _bytes(*shape: int, dtype: str = "uint8") -> Any:
    """Weights as a file packs them."""
    numbers = np.arange(np.prod(shape)).reshape(shape) * 37 % 251
    return (numbers if dtype == "uint8" else numbers - 125).astype(dtype)


_BLOCKS = {"K": 20, "N": 3, "bits": 4, "block_size": 16}
_STEPS, _HIDDEN = 3, 2
_GATES = 4 * _HIDDEN


def _lstm(
    *scales: Any, directions: int = 1, peepholes: Any = None, **attributes: Any
) -> Case:  # fmt: skip
    """Sequences of two examples with three features; scales and zero points of both matrices."""
    matrices = [_bytes(directions, inputs, _GATES, dtype="int8") for inputs in (3, _HIDDEN)]
    operands = (x(_STEPS, 2, 3), *matrices, w(directions, 2 * _GATES), *[None] * 3, peepholes,
                *scales)  # fmt: skip
    return ms("DynamicQuantizeLSTM", *operands, out=3, hidden_size=_HIDDEN, **attributes)


RUNTIME: dict[str, tuple[Case, ...]] = {
    "fused": (
        ms("FusedConv", x(1, 4, 5), w(2, 4, 3), c([1, 2], _F), pads=[1, 0], activation="LeakyRelu",
            activation_params=[0.25]),
        ms("FusedConv", x(1, 1, 5), w(2, 1, 3), None, x(1, 2, 3), activation="Relu"),
        ms("FusedConv", x(1, 1, 5), w(2, 1, 3), activation="Clip", activation_params=[-1.0, 2.5]),
        ms("FusedGemm", x(2, 4), w(3, 4), c([1, 2, 3], _F), alpha=2.0, transB=1,
            activation="HardSigmoid", activation_alpha=0.25, activation_beta=0.75),
        ms("FusedGemm", x(2, 4), w(4, 3), activation="Selu", activation_alpha=1.5,
            activation_gamma=1.25),
        ms("FusedMatMul", x(2, 4, 3), x(2, 5, 3), transA=0, transB=1, alpha=0.5),
        ms("FusedMatMul", x(4, 2, 3), x(2, 4, 5), transA=1, transBatchA=1, transBatchB=0,
            alpha=1.0),
        ms("TransposeMatMul", x(4, 3), w(4, 5), transA=1, transB=0, alpha=2.0),
        ms("SkipLayerNormalization", x(2, 3, 4), x(2, 3, 4), c([1, 2, 3, 4], _F),
            c([5, 6, 7, 8], _F), x(4), epsilon=0.5),
        replace(
            ms("SkipLayerNormalization", x(2, 3, 4), x(1, 3, 4), c([1, 2, 3, 4], _F)),
            results=("y0", "", "", "y3"),
        ),
        ms("SkipSimplifiedLayerNormalization", x(2, 4), x(2, 4), x(4), c([5, 6, 7, 8], _F),
            epsilon=0.5),
        Case("SimplifiedLayerNormalization", (x(2, 3), x(3)), {"axis": -1, "epsilon": 0.5}),
        ms("Gelu", x(2, 3)), ms("BiasGelu", x(2, 3), c([1, 2, 3], _F)),
        ms("FastGelu", x(2, 3)), ms("FastGelu", x(2, 3), x(3)), ms("QuickGelu", x(2, 3), alpha=2.0),
    ),
    "rounded_weights": (
        ms("MatMulNBits", x(2, 20), _bytes(3, 2, 8), c(np.arange(1, 7) / 4, _F), accuracy_level=4,
            **_BLOCKS),
        ms("MatMulNBits", x(2, 20), _bytes(3, 2, 8), c(np.arange(1, 7) / 4, _F),
            c([0x37, 0x48, 0x59], "uint8"), None, x(3), **_BLOCKS),
        ms("MatMulNBits", x(20), _bytes(3, 2, 4), c(np.arange(1, 7) / 4, _F),
            c(np.arange(6) / 2, _F), **{**_BLOCKS, "bits": 2}),
        ms("MatMulNBits", x(2, 1), _bytes(3, 1, 8), c([1, 2, 4], _F), **{**_BLOCKS, "K": 1}),
        ms("MatMulNBits", x(1, 20), _bytes(3, 2, 16), c(np.arange(1, 7) / 4, _F),
            c(np.arange(6) + 125, "uint8"), **{**_BLOCKS, "bits": 8}),
        ms("DynamicQuantizeMatMul", x(2, 4), w(4, 3).astype("int8"), c([0.5, 0.25, 1], _F),
            c([0, 1, 2], "int8"), x(3)),
        ms("DynamicQuantizeMatMul", x(2, 4), w(4, 3).astype("uint8"), c(0.5, _F)),
        _lstm(c([0.5], _F), c([0], "int8"), c([0.25], _F), c([3], "int8"),
              peepholes=w(1, 3 * _HIDDEN)),
        _lstm(c([[0.5] * _GATES] * 2, _F), c([[1] * _GATES] * 2, "int8"), c([0.25, 0.5], _F),
            c([3, 4], "int8"), directions=2, direction="bidirectional"),
    ),
}  # fmt: skip
