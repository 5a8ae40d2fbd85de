"""Functions of an ONNX file, and operators that ONNX defines by functions, become their bodies."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from glowmcu.errors import error

MAX_NODES = 100_000
#: Functions that consist of functions, and a bound on what they make of a hostile file.
_MAX_EXPANSIONS = 4
_MAX_FUNCTIONS = 1_000
_MAX_NODES_TO_EXPAND = 2_000


def check_functions(model: Any, file_name: str) -> None:
    """Raise GM101 if functions call themselves, or would make more nodes than any model has."""
    bodies = {
        (item.domain, item.name): [(op.domain, op.op_type) for op in item.node]
        for item in model.functions
    }
    size = sum(map(len, bodies.values()))
    if len(bodies) > _MAX_FUNCTIONS or size > MAX_NODES:
        raise error("GM101", f"the model has {len(bodies)} functions of {size} nodes", file_name)
    counts: dict[tuple[str, str], int] = {}
    todo = dict(bodies)
    while todo:
        ready = [name for name, body in todo.items() if not any(call in todo for call in body)]
        if not ready:
            raise error("GM101", "the model's functions call themselves", file_name)
        for name in ready:
            counts[name] = sum(counts.get(call, 1) for call in todo.pop(name))
    total = sum(counts.get((op.domain, op.op_type), 1) for op in model.graph.node)
    if total > MAX_NODES:
        raise error("GM101", f"the model's functions make {total} nodes", file_name)


def inline_functions(model: Any) -> Any:
    """The model with the bodies of its own functions, also of those in another opset than its."""
    import onnx.inliner

    model = onnx.inliner.inline_local_functions(model)
    left = {(item.domain, item.name) for item in model.functions}
    if any((op.domain, op.op_type) in left for op in all_nodes(model.graph, onnx)):
        try:
            return onnx.inliner.inline_local_functions(model, convert_version=True)
        except Exception:  # noqa: BLE001 - an operator that no converter knows: it is named later
            return model
    return model


def expand_functions(model: Any, supported: Collection[tuple[str, str]]) -> Any:
    """Attention, losses and the like become the simpler operators that define them."""
    import onnx.inliner

    for _ in range(_MAX_EXPANSIONS):
        nodes = list(all_nodes(model.graph, onnx))
        unknown = {
            (op.domain, op.op_type)
            for op in nodes
            if (op.domain or "ai.onnx", op.op_type) not in supported
        }
        count = len(nodes)
        if not unknown or count > _MAX_NODES_TO_EXPAND:
            break
        for op in nodes:
            if (op.domain, op.op_type) in unknown:
                _spell_out_defaults(op, model, onnx)
        try:
            model = onnx.inliner.inline_selected_functions(
                model, sorted(unknown), inline_schema_functions=True
            )
        except Exception:  # noqa: BLE001 - an old onnx package, or a body that needs more types
            break
        if len(list(all_nodes(model.graph, onnx))) == count:
            break
    return model


def all_nodes(graph: Any, onnx: Any) -> Iterator[Any]:
    """Those of a graph, and of the graphs in their attributes."""
    for op in graph.node:
        yield op
        for attribute in op.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from all_nodes(attribute.g, onnx)


def _spell_out_defaults(op: Any, model: Any, onnx: Any) -> None:
    """Give `op` the attributes that it leaves to their defaults: the inliner forgets those."""
    versions = {item.domain: int(item.version) for item in model.opset_import}
    try:
        schema = onnx.defs.get_schema(op.op_type, versions[op.domain], op.domain)
    except (KeyError, onnx.defs.SchemaError):
        return
    given = {attribute.name for attribute in op.attribute}
    for name, attribute in sorted(schema.attributes.items()):
        if name not in given and attribute.default_value.name:
            op.attribute.append(attribute.default_value)
