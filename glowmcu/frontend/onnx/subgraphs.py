"""Graphs in the attributes of a node, written out into the graph around it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from glowmcu.frontend.control_flow import expect_shallow
from glowmcu.frontend.control_flow_nodes import Inside, Place
from glowmcu.frontend.onnx.container import InputRecord, NodeRecord, OnnxRecord
from glowmcu.frontend.onnx.custom_c import importer_of
from glowmcu.frontend.onnx.importer import Import, load_importers
from glowmcu.frontend.onnx.nodes import in_order_of_use, unsupported_operator
from glowmcu.frontend.onnx.selected_rows import follow_rows
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType

#: What a name stands for: a tensor, or a sequence of them.
Bound = Value | Sequence[Value]
#: What a node that is damaged makes importers raise.
_DAMAGED = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError)


def write_out(
    state: Import,
    op: NodeRecord,
    graph: OnnxRecord,
    operands: Sequence[Bound],
    place: str,
    inside: Inside | None = None,
) -> list[Bound]:
    """The results of `graph` on `operands`; `place` goes before the names of what it makes.

    `inside`: a graph of its own that it goes to, in place of the one around.
    """
    inner = Import(graph, InputOptions(custom=state.custom), state, inside)
    inner.place = f"{state.place}{place}/"
    expect_shallow(inner.depth)
    inner.effort.spend(len(graph.nodes))
    if len(operands) != len(graph.inputs):
        raise Unsupported(
            "GM105", f"{op.kind} gives {len(operands)} operands to a graph of {len(graph.inputs)}"
        )
    for record, found in zip(graph.inputs, operands, strict=True):
        expect_declared(op, record, found)
        inner.give(record.name, found)
    with inner.builder.inside_of(f"node {op.index} {op.kind}"):
        import_nodes(inner, op)
    return [_result(inner, name) for name in graph.outputs]


def import_nodes(inner: Import, op: NodeRecord) -> None:
    """All nodes of a graph of `op`. Raises Unsupported naming all whose operator is not known, or
    the first that cannot be.
    """
    importers = load_importers()
    nodes = in_order_of_use(inner.model)
    unknown = [each for each in nodes if importer_of(each, inner.custom, importers) is None]
    if unknown:
        problems = [unsupported_operator(each, "", inner.model) for each in unknown]
        raise joined(
            Unsupported(item.code, f"{_place(op, each)}: {item.message}", item.hint)
            for each, item in zip(unknown, problems, strict=True)
        )
    for each in nodes:
        where = _place(op, each)
        function = importer_of(each, inner.custom, importers)
        assert function is not None
        try:
            follow_rows(inner, each)
            function(inner, each)
        except Unsupported as cause:
            message = f"{where}: {cause.message}"
            raise Unsupported(cause.code, message, cause.hint, cause.bind) from cause
        except MemoryError as cause:
            raise Unsupported("GM114", f"{where}: {str(cause)[:200]}") from cause
        except _DAMAGED as cause:
            raise Unsupported("GM101", f"{where} is damaged: {str(cause)[:200]}") from cause


def _place(op: NodeRecord, each: NodeRecord) -> str:
    return f"in a graph of {op.kind}, node {each.index} {each.kind}"


def joined(causes: Iterable[Unsupported]) -> Unsupported:
    """Several findings in one node's graphs, each said once."""
    first, *others = causes
    messages = dict.fromkeys([first.message, *(cause.message for cause in others)])
    return Unsupported(first.code, "; ".join(messages), first.hint, first.bind)


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


def tensors(op: NodeRecord, found: Sequence[Bound]) -> list[Value]:
    """What is decided while the model runs cannot be a sequence."""
    values = [value for value in found if isinstance(value, Value)]
    if len(values) != len(found):
        raise Unsupported(
            "GM105",
            f"{op.kind} {loop_name(op)[:120]!r} depends on data, and gives a sequence",
            "let it give tensors of one shape",
        )
    return values


def place_of(state: Import, op: NodeRecord, count: int, before: Sequence[str] = ()) -> Place:
    """Results are called as in the file, one that is left out by a number; `before` come first."""
    name = loop_name(op)
    names = [
        f"{state.place}{op.outputs[i]}" if i < len(op.outputs) and op.outputs[i] else f"{name}/{i}"
        for i in range(count)
    ]
    return Place(f"{op.kind} {name[:120]!r}", f"node {op.index} {op.kind}", (*before, *names))


def expect_condition(op: NodeRecord, condition: Value) -> None:
    """Raise Unsupported GM106 unless it is one boolean."""
    if condition.type.element is not ElementType.BOOL or condition.type.element_count != 1:
        raise Unsupported("GM106", f"{op.kind}: its condition is {condition.type}; expected a bool")


def loop_name(op: NodeRecord) -> str:
    """What messages and tensors call the operator."""
    return op.name or next((name for name in op.outputs if name), op.kind)


def bind_results(state: Import, op: NodeRecord, results: Sequence[Bound]) -> None:
    """The operator's results, of which some may be left out."""
    if len(results) < len(op.outputs):
        raise Unsupported(
            "GM105", f"{op.kind} has {len(op.outputs)} results, its graph {len(results)}"
        )
    for name, found in zip(op.outputs, results, strict=False):
        if name:
            state.give(name, found)
