"""Broken variants of a good ONNX model: its messages are changed, not its bytes.

Protobuf prefixes everything with its length, so that most changed bytes end at the parser. What
lies behind it is reached by files that are sound as protobuf and wrong as models.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import onnx

from tests.support.mutate import mutations

EXTREME_INTS = (0, 1, -1, 2, 3, 7, 65536, 2**31 - 1, 2**31, -(2**31), 2**40, 2**63 - 1, -(2**63))
EXTREME_FLOATS = (0.0, -1.0, 1e38, -1e38, float("inf"), float("nan"))
Mutator = Callable[[Any, random.Random], None]


def onnx_mutations(data: bytes, count: int, seed: int) -> Iterator[bytes]:
    """`count` variants of `data`, each third one of its bytes. Deterministic in all arguments."""
    of_bytes = mutations(data, count, seed)
    for index, mutant in enumerate(of_bytes):
        yield mutant if index % 3 == 0 else _of_messages(data, index, seed)


def _of_messages(data: bytes, index: int, seed: int) -> bytes:
    rng = random.Random(f"{seed}/onnx/{index}")
    while True:
        model = onnx.load_model_from_string(data)
        for mutator in rng.sample(MUTATORS, rng.choice((1, 1, 2, 3))):
            mutator(model, rng)
        made = bytes(model.SerializeToString())
        if made != data:
            return made


def _nodes(model: Any) -> list[Any]:
    return [*model.graph.node, *(node for item in model.functions for node in item.node)]


def _names(model: Any) -> list[str]:
    made = [name for node in _nodes(model) for name in (*node.input, *node.output)]
    names = [*made, *(item.name for item in model.graph.initializer), ""]
    return [name for name in names if isinstance(name, str)]  # bytes: protobuf writes no such


def change_attribute(model: Any, rng: random.Random) -> None:
    """A number of an attribute becomes an extreme one, or a list longer or shorter."""
    attributes = [item for node in _nodes(model) for item in node.attribute]
    if not attributes:
        return
    item = rng.choice(attributes)
    if item.ints and rng.random() < 0.6:
        item.ints[rng.randrange(len(item.ints))] = rng.choice(EXTREME_INTS)
    elif item.ints and rng.random() < 0.5:
        del item.ints[-1]
    elif item.ints:
        item.ints.append(rng.choice(EXTREME_INTS))
    elif item.type == onnx.AttributeProto.FLOAT:
        item.f = rng.choice(EXTREME_FLOATS)
    else:
        item.i = rng.choice(EXTREME_INTS)


def rename_attribute(model: Any, rng: random.Random) -> None:
    """An attribute is another one, of the wrong type, or gone."""
    nodes = [node for node in _nodes(model) if node.attribute]
    if not nodes:
        return
    node = rng.choice(nodes)
    item = rng.choice(list(node.attribute))
    match rng.randrange(3):
        case 0:
            item.name = rng.choice([other.name for n in nodes for other in n.attribute])
        case 1:
            item.type = rng.choice((1, 2, 3, 4, 6, 7, 8))
        case _:
            node.attribute.remove(item)


def change_operand(model: Any, rng: random.Random) -> None:
    """An operand or result has another name, or is left out, or there is one more."""
    node = rng.choice(_nodes(model))
    names = rng.choice((node.input, node.output))
    match rng.randrange(3):
        case 0 if names:
            names[rng.randrange(len(names))] = rng.choice(_names(model))
        case 1 if names:
            del names[rng.randrange(len(names))]
        case _:
            names.append(rng.choice(_names(model)))


def change_operator(model: Any, rng: random.Random) -> None:
    """A node computes what another one does, is there twice, or is gone."""
    nodes = _nodes(model)
    node = rng.choice(nodes)
    match rng.randrange(4):
        case 0:
            model.graph.node.append(node)
        case 1 if len(model.graph.node) > 1:
            del model.graph.node[rng.randrange(len(model.graph.node))]
        case _:
            node.op_type = rng.choice([*(other.op_type for other in nodes), *_KINDS])


def change_size(model: Any, rng: random.Random) -> None:
    """A size of an input, an output or a constant."""
    values = [*model.graph.input, *model.graph.output]
    dims = [dim for value in values for dim in value.type.tensor_type.shape.dim]
    constants = [item for item in model.graph.initializer if item.dims]
    if constants and rng.random() < 0.5:
        item = rng.choice(constants)
        item.dims[rng.randrange(len(item.dims))] = rng.choice(EXTREME_INTS)
    elif dims:
        rng.choice(dims).dim_value = rng.choice(EXTREME_INTS)


def change_data(model: Any, rng: random.Random) -> None:
    """Bytes of a constant: extreme numbers where it holds a shape; or fewer of them."""
    if not model.graph.initializer:
        return
    item = rng.choice(list(model.graph.initializer))
    raw = bytearray(item.raw_data)
    if not raw or rng.random() < 0.2:
        item.raw_data = bytes(raw[: len(raw) // 2])
        return
    number = rng.choice(EXTREME_INTS).to_bytes(8, "little", signed=True)
    start = 8 * rng.randrange(max(len(raw) // 8, 1))
    raw[start : start + 8] = number[: len(raw) - start]
    item.raw_data = bytes(raw)


def change_type(model: Any, rng: random.Random) -> None:
    """An element type, of a constant or an input."""
    items = list(model.graph.initializer)
    if items and rng.random() < 0.5:
        rng.choice(items).data_type = rng.randrange(24)
    else:
        rng.choice(list(model.graph.input)).type.tensor_type.elem_type = rng.randrange(24)


def change_version(model: Any, rng: random.Random) -> None:
    """The opset, so that attributes are looked for among operands and the other way round."""
    item = rng.choice(list(model.opset_import))
    item.version = rng.choice((0, 1, 5, 7, 9, 11, 13, 18, 21, 10**6))


MUTATORS: tuple[Mutator, ...] = (
    change_attribute,
    change_data,
    change_operand,
    change_operator,
    change_size,
    change_type,
    change_version,
    rename_attribute,
)
_KINDS = (
    *("Add", "Where", "Resize", "LSTM", "Softmax", "TopK", "QuantizeLinear", "ConstantOfShape"),
    *("Attention", "If", "SequenceAt", "OneHot", "Range", "Einsum"),
)
