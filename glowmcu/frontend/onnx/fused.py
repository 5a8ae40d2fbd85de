"""What onnxruntime writes when it saves a model that it has optimized: fused operators of its own.

Source: onnxruntime, docs/ContribOperators.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from glowmcu.frontend.onnx.composed import MICROSOFT, constant, run
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.types import Shape

#: Activations with the attributes that their parameters are, in order.
_ACTIVATIONS: dict[str, tuple[str, ...]] = {
    "Relu": (), "Sigmoid": (), "Tanh": (), "LeakyRelu": ("alpha",), "Elu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"), "Clip": ("min", "max"), "Softplus": (), "Softsign": (),
    "ThresholdedRelu": ("alpha",), "HardSwish": (), "Celu": ("alpha",),
    "Selu": ("alpha", "gamma"),
}  # fmt: skip
_QUICK_ALPHA = 1.702
#: The rank of a batch of sequences.
_SEQUENCES = 3


@importer("FusedConv", domain=MICROSOFT)
def import_fused_conv(state: Import, op: NodeRecord) -> None:
    """Conv, plus a fourth operand of the result's shape, then an activation."""
    first = op.outputs[0]
    result = run(state, op, "Conv", op.inputs[:3], f"{first}/conv", op.attributes)
    if state.has(op, 3):
        _expect_shape(op, state.value(op, 3), state.named_value(result).type.shape, "its addend")
        result = run(state, op, "Add", (result, op.inputs[3]), f"{first}/sum")
    numbers = op.attributes.get("activation_params") or ()
    expected = _parameters(op)
    if len(numbers) != len(expected):
        raise Unsupported(
            "GM106", f"{op.kind}: {len(numbers)} activation_params; expected {len(expected)}"
        )
    _activate(state, op, result, dict(zip(expected, map(float, numbers), strict=True)))


@importer("FusedGemm", domain=MICROSOFT)
def import_fused_gemm(state: Import, op: NodeRecord) -> None:
    """Gemm, then an activation, whose attributes have its name in front."""
    own = {name: value for name, value in op.attributes.items() if "activation" not in name}
    result = run(state, op, "Gemm", op.inputs[:3], f"{op.outputs[0]}/gemm", own)
    missing = [name for name in _parameters(op) if not op.has(f"activation_{name}")]
    if missing:
        raise Unsupported("GM106", f"{op.kind} lacks its activation_{missing[0]}")
    numbers = {name: op.number(f"activation_{name}", 0.0) for name in _parameters(op)}
    _activate(state, op, result, numbers)


def _parameters(op: NodeRecord) -> tuple[str, ...]:
    """Attributes of the activation that `op` names, if it names one."""
    kind = op.text("activation", "")
    if kind and kind not in _ACTIVATIONS:
        raise Unsupported("GM105", f"{op.kind}: activation {kind[:60]!r} is not known")
    return _ACTIVATIONS.get(kind, ())


def _activate(state: Import, op: NodeRecord, x: str, numbers: dict[str, float]) -> None:
    """Bind the operator's result: the activation that it names, of `x`."""
    kind = op.text("activation", "")
    if kind == "Clip" and state.opset >= 11:
        bounds = [
            constant(state, op, f"{op.outputs[0]}/{name}", np.array(value, np.float32))
            for name, value in numbers.items()
        ]
        run(state, op, kind, (x, *bounds), op.outputs[0])
    else:
        run(state, op, kind or "Identity", (x,), op.outputs[0], dict(numbers))


def _expect_shape(op: NodeRecord, value: Value, shape: Shape, what: str) -> None:
    """GM106 where an operand would have to broadcast, which onnxruntime does not do."""
    if value.type.shape != shape:
        raise Unsupported("GM106", f"{op.kind}: {what} is {value.type}; expected shape {shape}")


@importer("FusedMatMul", "TransposeMatMul", domain=MICROSOFT)
def import_fused_matmul(state: Import, op: NodeRecord) -> None:
    """MatMul of operands that are transposed first, times `alpha`."""
    first, alpha = op.outputs[0], op.number("alpha", 1.0)
    operands = tuple(_turned(state, op, position, side) for position, side in enumerate("AB"))
    product = run(state, op, "MatMul", operands, first if alpha == 1.0 else f"{first}/product")
    if alpha != 1.0:
        factor = constant(state, op, f"{first}/alpha", np.array(alpha, np.float32))
        run(state, op, "Mul", (product, factor), first)


def _turned(state: Import, op: NodeRecord, position: int, side: str) -> str:
    """An operand as the product takes it; `transBatch`: its first axis is that of its rows."""
    rank = state.value(op, position).type.rank
    if rank < 2:
        return op.inputs[position]
    order = list(range(rank))
    if op.integer(f"transBatch{side}", 0):
        order = [*range(1, rank - 1), 0, rank - 1]
    if op.integer(f"trans{side}", 0):
        order[-2:] = order[:-3:-1]
    if order == sorted(order):
        return op.inputs[position]
    name = f"{op.outputs[0]}/{side}"
    return run(state, op, "Transpose", (op.inputs[position],), name, {"perm": order})


@importer("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def import_skip_normalization(state: Import, op: NodeRecord) -> None:
    """The sum of two tensors and a bias, and its layer norm; Simplified leaves the mean in."""
    if any(op.outputs[1:3]):
        raise Unsupported("GM105", f"{op.kind}: mean and deviation are results of training only")
    simplified = op.kind.startswith("SkipSimplified")
    first, bias = op.outputs[0], 3 if simplified else 4
    _expect_skippable(state, op, bias)
    total = op.outputs[3] if len(op.outputs) > 3 and op.outputs[3] else f"{first}/sum"
    if state.has(op, bias):
        inner = run(state, op, "Add", op.inputs[:2], f"{first}/skipped")
        run(state, op, "Add", (inner, op.inputs[bias]), total)
    else:
        run(state, op, "Add", op.inputs[:2], total)
    factors = op.inputs[2:3] if simplified else op.inputs[2:4]
    kind = "RMSNormalization" if simplified else "LayerNormalization"
    attributes = {"axis": -1, "epsilon": op.number("epsilon", 1e-12)}
    run(state, op, kind, (total, *factors), first, attributes)


def _expect_skippable(state: Import, op: NodeRecord, bias: int) -> None:
    """GM106 for shapes that onnxruntime does not add: of sequences, one may be for the batch."""
    shape = state.value(op, 0).type.shape
    skip = state.value(op, 1)
    if len(shape) != _SEQUENCES or skip.type.shape not in ((1, *shape[1:]), shape[1:]):
        _expect_shape(op, skip, shape, "its skip")
    for position in range(2, bias + 1):
        if state.has(op, position):
            _expect_shape(op, state.value(op, position), shape[-1:], f"operand {position}")


@importer("SimplifiedLayerNormalization")
def import_simplified_normalization(state: Import, op: NodeRecord) -> None:
    """RMSNormalization under the name that onnxruntime had for it before."""
    run(state, op, "RMSNormalization", op.inputs[:2], op.outputs[0], op.attributes)


@importer("Gelu", "BiasGelu", "FastGelu", "QuickGelu", domain=MICROSOFT)
def import_gelu(state: Import, op: NodeRecord) -> None:
    """Gelu; Fast by tanh, Quick x * sigmoid(alpha * x); of the sum with a bias of the last axis."""
    x = op.inputs[0]
    if op.kind == "BiasGelu" or (op.kind == "FastGelu" and state.has(op, 1)):
        bias, shape = state.value(op, 1), state.value(op, 0).type.shape
        _expect_shape(op, bias, shape[-1:], "its bias")
        x = run(state, op, "Add", op.inputs[:2], f"{op.outputs[0]}/sum")
    if op.kind == "QuickGelu":
        run(state, op, "Swish", (x,), op.outputs[0], {"alpha": op.number("alpha", _QUICK_ALPHA)})
        return
    attributes: dict[str, Any] = {"approximate": "tanh" if op.kind == "FastGelu" else "none"}
    run(state, op, "Gelu", (x,), op.outputs[0], attributes)
