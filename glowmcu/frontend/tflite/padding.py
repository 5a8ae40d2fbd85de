"""PAD, PADV2 and MIRROR_PAD."""

from __future__ import annotations

from glowmcu.frontend.tflite.axes import integer_list
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ir.types import ElementType
from glowmcu.ops.padding import MirrorPad, Pad, Paddings


@importer("PAD", "PADV2")
def import_pad(state: Import, op: OperatorRecord) -> None:
    """PAD fills with the real value 0, PADV2 with a constant in the result's quantization."""
    x = state.value(op, 0)
    state.emit(op, Pad(_paddings(state, op), _pad_value(state, op)), [x])


@importer("MIRROR_PAD")
def import_mirror_pad(state: Import, op: OperatorRecord) -> None:
    """REFLECT or SYMMETRIC."""
    mode = op.options(tflite.MirrorPadOptions).Mode()
    if mode not in (tflite.MirrorPadMode.REFLECT, tflite.MirrorPadMode.SYMMETRIC):
        raise Unsupported("GM105", f"mirror_pad: mode {mode} is neither REFLECT nor SYMMETRIC")
    edge_twice = mode == tflite.MirrorPadMode.SYMMETRIC
    state.emit(op, MirrorPad(_paddings(state, op), edge_twice), [state.value(op, 0)])


def _paddings(state: Import, op: OperatorRecord) -> Paddings:
    sizes = integer_list(state, op, 1, "its paddings")
    if len(sizes) % 2:
        raise Unsupported("GM106", f"{op.name.lower()}: expected pairs of paddings, got {sizes}")
    return tuple(zip(sizes[::2], sizes[1::2], strict=True))


def _pad_value(state: Import, op: OperatorRecord) -> int | float:
    out = state.output_type(op)
    if not state.has(op, 2):
        return out.zero_point if out.quantization is not None else 0
    data = state.constant(op, 2, "the value to pad with")
    type_ = state.value(op, 2).type
    if data.size != 1 or type_.element is not out.element:
        raise Unsupported("GM106", f"{op.name.lower()}: cannot pad {out} with {type_}")
    if out.element is ElementType.I8 and type_.quantization != out.quantization:
        raise Unsupported(
            "GM105",
            f"{op.name.lower()}: expected a value quantized as {out}, got {type_}",
            "re-export the model: the converter gives both the same scale and zero point",
        )
    value: int | float = data.reshape(-1)[0].item()
    return value
