"""A Scan that takes squared distances of all its slices is one operator.

skl2onnx writes nearest neighbours, Gaussian processes and outlier factors so: one trip a row of the
training data, each of three nodes with buffers of their own.
"""

from __future__ import annotations

from glowmcu.frontend.onnx.container import NodeRecord, OnnxRecord, tensor_data
from glowmcu.frontend.onnx.written_loops import ScanSlices
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType
from glowmcu.ops.distances import SquaredDistances
from glowmcu.ops.transpose import Transpose


def scanned_distances(scan: ScanSlices) -> list[Value] | None:
    """Both results of the Scan, whose body gives the rows that it carries on and their squared
    distances from its slice; None for any other.
    """
    operands = (*scan.carried, *scan.scanned)
    if not len(scan.carried) == len(scan.scanned) == len(scan.output_axes) == 1:
        return None
    ways = (*scan.axes, *scan.backward, *scan.output_axes, *scan.output_backward)
    if any(ways) or any(value.type.rank != 2 for value in operands):
        return None
    rows, slices = operands
    is_real = all(value.type.element is ElementType.F32 for value in operands)
    if not is_real or rows.type.shape[1] != slices.type.shape[1] or not _are_distances(scan.body):
        return None
    distances = scan.state.add(scan.op, SquaredDistances(), [rows, slices])
    return [rows, scan.state.add(scan.op, Transpose((1, 0)), [distances])]


def _are_distances(body: OnnxRecord) -> bool:
    """Whether it sums the squares of (rows - slice) along the last axis."""
    known = [node for node in body.nodes if node.domain == "ai.onnx"]
    made_by = {name: node for node in known for name in node.outputs}
    rows, slice_ = (item.name for item in body.inputs[:2])
    carried, distances = (_behind_identities(name, made_by) for name in body.outputs[:2])
    total = made_by.get(distances)
    if carried != rows or total is None or total.kind != "ReduceSumSquare":
        return False
    if total.flag("keepdims", True) or _axes(total, body, made_by) not in ((1,), (-1,)):
        return False
    difference = made_by.get(_behind_identities(total.inputs[0], made_by))
    if difference is None or difference.kind != "Sub" or len(difference.inputs) != 2:
        return False
    return {_behind_identities(name, made_by) for name in difference.inputs} == {rows, slice_}


def _behind_identities(name: str, made_by: dict[str, NodeRecord]) -> str:
    for _ in range(len(made_by)):
        node = made_by.get(name)
        if node is None or node.kind != "Identity" or len(node.inputs) != 1:
            break
        name = node.inputs[0]
    return name


def _axes(op: NodeRecord, body: OnnxRecord, made_by: dict[str, NodeRecord]) -> tuple[int, ...]:
    """The axes of a reduction, an attribute or a constant of the body; none for any other."""
    if len(op.inputs) < 2 or not op.inputs[1]:
        return op.integers("axes") or ()
    name = _behind_identities(op.inputs[1], made_by)
    tensor = body.initializers.get(name)
    maker = made_by.get(name)
    if tensor is None and maker is not None and maker.kind == "Constant":
        tensor = maker.attributes.get("value")
    if tensor is None:
        return ()
    return tuple(int(axis) for axis in tensor_data(tensor, body.folder).reshape(-1))
