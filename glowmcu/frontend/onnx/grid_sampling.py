"""GridSample."""

from __future__ import annotations

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ops.grid_sampling import GridSample

#: What opset 16 called it, and opset 20 calls it.
_IS_LINEAR = {"bilinear": True, "linear": True, "nearest": False}
_IS_BORDER = {"zeros": False, "border": True}


@importer("GridSample")
def import_grid_sample(state: Import, op: NodeRecord) -> None:
    """Images at places that are computed; volumes, cubic and reflection are refused."""
    mode, padding = op.text("mode", "linear"), op.text("padding_mode", "zeros")
    if mode not in _IS_LINEAR or padding not in _IS_BORDER:
        raise Unsupported(
            "GM105",
            f"GridSample: mode {mode[:60]!r} with padding {padding[:60]!r} is not supported",
            "modes are linear and nearest, paddings zeros and border",
        )
    x, grid = state.value(op, 0), state.value(op, 1)
    if x.type.rank != 4:
        raise Unsupported("GM105", f"GridSample of {x.type}; expected an image of rank 4")
    operation = GridSample(_IS_LINEAR[mode], _IS_BORDER[padding], op.flag("align_corners"))
    state.from_nhwc(op, state.add(op, operation, [state.to_nhwc(op, x), grid]))
