"""GridSample."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType
from glowmcu.ops.activation import Abs
from glowmcu.ops.comparison import LessEqual, Select
from glowmcu.ops.division import FloorMod
from glowmcu.ops.elementwise import Add, Sub
from glowmcu.ops.grid_sampling import GridSample

#: What opset 16 called it, and opset 20 calls it.
_IS_LINEAR = {"bilinear": True, "linear": True, "nearest": False}
_IS_BORDER = {"zeros": False, "border": True, "reflection": True}


@importer("GridSample")
def import_grid_sample(state: Import, op: NodeRecord) -> None:
    """Images at places that are computed; volumes and cubic are refused."""
    mode, padding = op.text("mode", "linear"), op.text("padding_mode", "zeros")
    if mode not in _IS_LINEAR or padding not in _IS_BORDER:
        raise Unsupported(
            "GM105",
            f"GridSample: mode {mode[:60]!r} with padding {padding[:60]!r} is not supported",
            "modes are linear and nearest, paddings zeros, border and reflection",
        )
    x, grid = state.value(op, 0), state.value(op, 1)
    if x.type.rank != 4:
        raise Unsupported("GM105", f"GridSample of {x.type}; expected an image of rank 4")
    if padding == "reflection":
        grid = _reflected(state, op, grid)
    operation = GridSample(_IS_LINEAR[mode], _IS_BORDER[padding], op.flag("align_corners"))
    state.from_nhwc(op, state.add(op, operation, [state.to_nhwc(op, x), grid]))


def _reflected(state: Import, op: NodeRecord, grid: Value) -> Value:
    """Places outside of -1 to 1 as those that they are the image of: 1 - |(x + 1) mod 4 - 2|."""
    one, two, four = (state.add_constant(np.array(n, np.float32), "number") for n in (1, 2, 4))
    turns = state.add(op, FloorMod(), [state.add(op, Add(), [grid, one]), four])
    size = state.add(op, Abs(), [state.add(op, Sub(), [turns, two])])
    is_inside = state.add(
        op, LessEqual(), [state.add(op, Abs(), [grid]), one], ElementType.BOOL
    )  # fmt: skip
    folded = state.add(op, Sub(), [one, size])
    return state.add(op, Select(), [is_inside, grid, folded], ElementType.F32)
