"""DepthToSpace and SpaceToDepth."""

from __future__ import annotations

import math

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.types import Shape
from glowmcu.ops.shape import Reshape
from glowmcu.ops.space import DepthToSpace, SpaceToDepth
from glowmcu.ops.transpose import Transpose


@importer("SpaceToDepth")
def import_space_to_depth(state: Import, op: NodeRecord) -> None:
    """Depth in the order (by, bx, c), as NHWC has it, or (c, by, bx) with mode CRD."""
    image, block, by_channel = _operands(state, op)
    packed = state.add(op, SpaceToDepth(block), [image])
    if by_channel:
        packed = _reordered(state, op, packed, (block, block, -1), (2, 0, 1))
    state.from_nhwc(op, packed)


@importer("DepthToSpace")
def import_depth_to_space(state: Import, op: NodeRecord) -> None:
    """The inverse."""
    image, block, by_channel = _operands(state, op)
    if by_channel:
        image = _reordered(state, op, image, (-1, block, block), (1, 2, 0))
    state.from_nhwc(op, state.add(op, DepthToSpace(block), [image]))


def _operands(state: Import, op: NodeRecord) -> tuple[Value, int, bool]:
    """The NHWC image, the block's size, and whether the mode is CRD."""
    x, mode, block = state.value(op, 0), op.text("mode", "DCR"), op.integer("blocksize", 0)
    if mode not in ("DCR", "CRD"):
        raise Unsupported("GM105", f"{op.kind}: mode {mode!r} is neither DCR nor CRD")
    if x.type.rank != 4 or block < 1:
        raise Unsupported("GM106", f"{op.kind}: blocks of {block} of {x.type}")
    return state.to_nhwc(op, x), block, mode == "CRD"


def _reordered(
    state: Import, op: NodeRecord, image: Value, parts: Shape, order: tuple[int, int, int]
) -> Value:
    """Channels seen as `parts`, in another order."""
    n, height, width, depth = image.type.shape
    known = -math.prod(parts)
    if depth % known:
        raise Unsupported("GM106", f"{op.kind}: {depth} channels are no multiple of {known}")
    sizes = tuple(depth // known if size == -1 else size for size in parts)
    split = state.add(op, Reshape((n, height, width, *sizes)), [image])
    moved = state.add(op, Transpose((0, 1, 2, *(3 + axis for axis in order))), [split])
    return state.add(op, Reshape(image.type.shape), [moved])
