"""Graphs in the attributes of a node, written out into the graph around it."""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.frontend.control_flow import expect_shallow
from glowmcu.frontend.onnx.container import InputRecord, NodeRecord, OnnxRecord
from glowmcu.frontend.onnx.importer import Import, load_importers
from glowmcu.frontend.onnx.nodes import in_order_of_use, unsupported_operator
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Value

#: What a name stands for: a tensor, or a sequence of them.
Bound = Value | Sequence[Value]
#: What a node that is damaged makes importers raise.
_DAMAGED = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError)


def write_out(
    state: Import, op: NodeRecord, graph: OnnxRecord, operands: Sequence[Bound], place: str
) -> list[Bound]:
    """The results of `graph` on `operands`; `place` goes before the names of what it makes."""
    inner = Import(graph, InputOptions(), state)
    inner.place = f"{state.place}{place}/"
    expect_shallow(inner.depth)
    if len(operands) != len(graph.inputs):
        raise Unsupported(
            "GM105", f"{op.kind} gives {len(operands)} operands to a graph of {len(graph.inputs)}"
        )
    for record, found in zip(graph.inputs, operands, strict=True):
        expect_declared(op, record, found)
        inner.give(record.name, found)
    import_nodes(inner, op)
    return [_result(inner, name) for name in graph.outputs]


def import_nodes(inner: Import, op: NodeRecord) -> None:
    """All nodes of a graph of `op`. Raises Unsupported naming the first that cannot be."""
    importers = load_importers()
    for each in in_order_of_use(inner.model):
        where = f"in a graph of {op.kind}, node {each.index} {each.kind}"
        function = importers.get((each.domain, each.kind))
        if function is None:
            problem = unsupported_operator(each, "", inner.model)
            raise Unsupported(problem.code, f"{where}: {problem.message}", problem.hint)
        try:
            function(inner, each)
        except Unsupported as cause:
            message = f"{where}: {cause.message}"
            raise Unsupported(cause.code, message, cause.hint, cause.bind) from cause
        except MemoryError as cause:
            raise Unsupported("GM114", f"{where}: {str(cause)[:200]}") from cause
        except _DAMAGED as cause:
            raise Unsupported("GM101", f"{where} is damaged: {str(cause)[:200]}") from cause


def expect_declared(op: NodeRecord, record: InputRecord, found: Bound) -> None:
    """GM106 unless an input of a graph is as it declares it, where it declares anything."""
    if not isinstance(found, Value) or record.type_name == "UNDEFINED":
        return
    if record.element is not found.type.element:
        raise Unsupported(
            "GM106",
            f"{op.kind}: input {record.name[:120]!r} of its graph is {record.type_name}, "
            f"and is given {found.type}",
        )


def _result(inner: Import, name: str) -> Bound:
    found = inner.bound(name)
    return inner.named_value(name) if found is None else found
