"""Types of what a refused node would have given, so that the nodes behind it are looked at, too.

A model is read to the end whatever stands in its way, and its user sees everything at once. The
file may declare these types, as exporters do. Of operators that have no importer, ONNX's own shape
inference knows them; it is not asked for others, which are refused for what is odd about them: of
some equations of Einsum it never comes back.
"""

from __future__ import annotations

from typing import Any

from glowmcu.frontend.graph_builder import check_tensor_size
from glowmcu.frontend.onnx.container import InputRecord, NodeRecord, OnnxRecord, element_of
from glowmcu.frontend.onnx.importer import Import
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.types import TensorType

#: Shapes, axes and the like; larger operands decide no shape.
_FEW = 64


def stand_in_for_results(state: Import, op: NodeRecord, has_importer: bool) -> None:
    """Give every result of the refused `op` that has a known type a value of that type.

    None to what is computed of constants alone, and no integers where an operand has no type: such
    a result might be a constant, which other operators ask for.
    """
    operands = [state.bound(name) or _initializer(state, name) for name in op.reads if name]
    known = [isinstance(value, Value) and value in state.builder.known for value in operands]
    if operands and all(known):
        return
    inferred = {} if None in operands or has_importer else _inferred(state, op)
    for name in filter(None, op.outputs):
        type_ = inferred.get(name) or _declared(state.model.declared.get(name))
        is_shape = None in operands and type_ is not None and not type_.element.is_float
        if type_ is not None and not is_shape:
            state.give(name, state.builder.stand_in(type_, name))


def _initializer(state: Import, name: str) -> Value | None:
    try:
        return state.named_value(name)
    except (Unsupported, ValueError, TypeError, LookupError, ArithmeticError, MemoryError):
        return None


def _declared(record: InputRecord | None) -> TensorType | None:
    """A type of the file, if it is one of the IR with all sizes."""
    if record is None or record.element is None or record.sizes is None:
        return None
    sizes = tuple(size for size in record.sizes if isinstance(size, int))
    if len(sizes) != len(record.sizes) or any(size < 0 for size in sizes):
        return None
    try:
        check_tensor_size(sizes, record.element.size_bytes, "a result")
    except Unsupported:
        return None
    return TensorType(sizes, record.element)


def _inferred(state: Import, op: NodeRecord) -> dict[str, TensorType]:
    """Types of the results by name, as far as ONNX infers them from those of the operands."""
    import onnx
    from onnx import shape_inference

    if any(isinstance(item, OnnxRecord) for item in op.attributes.values()):
        return {}
    domain = "" if op.domain == "ai.onnx" else op.domain
    types: dict[str, Any] = {}
    data: dict[str, Any] = {}
    for name in filter(None, op.inputs):
        value = state.bound(name)
        if not isinstance(value, Value):
            return {}
        number = onnx.helper.np_dtype_to_tensor_dtype(value.type.element.numpy)
        types[name] = onnx.helper.make_tensor_type_proto(number, value.type.shape)
        known = state.builder.known.get(value)
        if known is not None and known.size <= _FEW:
            data[name] = onnx.numpy_helper.from_array(known, name)
    try:
        schema = onnx.defs.get_schema(op.kind, state.model.opsets.get(op.domain, 1), domain)
        node = onnx.helper.make_node(
            op.kind, op.inputs, op.outputs, op.name, domain=domain or None, **op.attributes
        )
        found = shape_inference.infer_node_outputs(schema, node, types, data)
    except Exception:  # noqa: BLE001 - an unknown operator, or operands that do not fit it
        return {}
    records = {name: _record(name, item.tensor_type) for name, item in found.items()}
    inferred = {name: _declared(record) for name, record in records.items()}
    return {name: type_ for name, type_ in inferred.items() if type_ is not None}


def _record(name: str, tensor: Any) -> InputRecord:
    element, type_name = element_of(tensor.elem_type)
    sizes = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
    return InputRecord(name, element, type_name, tuple(sizes) if tensor.HasField("shape") else None)
