"""What is taken for a pattern of ONNX nodes before they are imported, and which damage ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from glowmcu.frontend.onnx.container import NodeRecord, OnnxRecord
from glowmcu.frontend.onnx.dynamic_ranges import with_real_activations
from glowmcu.frontend.onnx.knn_imputer import _read
from glowmcu.frontend.onnx.pair_notes import notes_on_pairs
from glowmcu.frontend.onnx.scanned_distances import _are_distances, scanned_distances
from glowmcu.frontend.onnx.unsigned_pairs import with_signed_pairs
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType, TensorType
from tests.support.onnx_parts import given, node, onnx, record

Damage = tuple[str, OnnxRecord]


def numbered(nodes: Sequence[NodeRecord]) -> tuple[NodeRecord, ...]:
    return tuple(replace(op, index=index) for index, op in enumerate(nodes))


def damages(model: OnnxRecord) -> Iterator[Damage]:
    """Each with its name."""
    for place, op in enumerate(model.nodes):
        before, after = model.nodes[:place], model.nodes[place + 1 :]
        for what, other in _of_node(op):
            yield f"{op.kind} {what}", replace(model, nodes=(*before, other, *after))
        yield f"no {op.kind}", replace(model, nodes=numbered((*before, *after)))
        for name in op.outputs:
            reader = node([name], ["read"], kind="Neg")
            yield f"{name} read", replace(model, nodes=numbered((*model.nodes, reader)))
            yield f"{name} an output", replace(model, outputs=(*model.outputs, name))
    for name, tensor in model.initializers.items():
        others = {key: item for key, item in model.initializers.items() if key != name}
        yield f"{name} computed", replace(model, initializers=others)
        data = onnx.numpy_helper.to_array(tensor)
        arrays = {"an axis more": data[None], "flat": data.reshape(-1), "int32": data.astype("i4")}
        arrays |= {"one number": data.reshape(-1)[:1].reshape(()), "+ 1": data + data.dtype.type(1)}
        for what, array in arrays.items():
            changed = onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)
            yield f"{name} {what}", replace(model, initializers={**others, name: changed})


def _of_node(op: NodeRecord) -> Iterator[tuple[str, NodeRecord]]:
    yield "other", replace(op, kind="Other")
    yield "of others", replace(op, domain="mine")
    for place, name in enumerate(op.inputs):
        for other in ("", "else"):
            inputs = (*op.inputs[:place], other, *op.inputs[place + 1 :])
            yield f"of {other or 'nothing'} for {name}", replace(op, inputs=inputs)
    yield "turned", replace(op, inputs=op.inputs[::-1])
    yield "one operand less", replace(op, inputs=op.inputs[:-1])
    yield "no operands", replace(op, inputs=())
    yield "one operand more", replace(op, inputs=(*op.inputs, op.inputs[0] if op.inputs else "x"))
    yield "one result less", replace(op, outputs=op.outputs[:-1])
    yield "one result more", replace(op, outputs=(*op.outputs, "more"))
    for place, name in enumerate(op.outputs):
        outputs = (*op.outputs[:place], "other", *op.outputs[place + 1 :])
        yield f"other for {name}", replace(op, outputs=outputs)
    for name, value in op.attributes.items():
        rest = {key: item for key, item in op.attributes.items() if key != name}
        yield f"no {name}", replace(op, attributes=rest)
        if isinstance(value, int):
            for other in (value + 1, value - 1):
                yield f"{name}={other}", replace(op, attributes={**rest, name: other})


def report(name: str, found: Iterator[tuple[str, str]], whole: str) -> str:
    """Verdicts, each with the damages that come to it."""
    groups: dict[str, list[str]] = {whole: []}
    for label, verdict in found:
        groups.setdefault(verdict, []).append(label)
    lines = [f"  {verdict} <- {', '.join(labels)}" for verdict, labels in groups.items()]
    return "\n".join([f"{name} = {whole}", *lines, ""])


_DYNAMIC = [
    node(["x"], ["q", "s", "z"], kind="DynamicQuantizeLinear"),
    node(["q", "w", "z", "wz"], ["i"], kind="MatMulInteger"),
    node(["i"], ["f"], kind="Cast", to=1),
    node(["s", "ws"], ["m"], kind="Mul"),
    node(["f", "m"], ["y"], kind="Mul"),
]
_WEIGHTS = np.arange(12, dtype=np.int8).reshape(4, 3)
_PAIRS = [
    node(["x", "s", "z"], ["q"], kind="QuantizeLinear"),
    node(["q", "s", "z"], ["r"], kind="DequantizeLinear"),
    node(["w", "s"], ["v"], kind="DequantizeLinear"),
    node(["r", "s"], ["p"], kind="QuantizeLinear", output_dtype=4),
    node(["p", "s", ""], ["t"], kind="DequantizeLinear"),
    node(["t", "v"], ["y"], kind="Add"),
]


def _model(nodes: Sequence[NodeRecord], **data: Any) -> OnnxRecord:
    return record([given((2, 4))], ["y"], numbered(nodes), **data)


@dataclass(frozen=True)
class Pattern:
    """A model, and what makes another one of it."""

    model: OnnxRecord
    change: Callable[[OnnxRecord], OnnxRecord]

    def verdict(self, model: OnnxRecord) -> str:
        """What the other model is, by the nodes and numbers that changed."""
        changed = self.change(model)
        if changed.nodes == model.nodes and changed.initializers == model.initializers:
            return "it stays"
        nodes = [
            f"{op.kind}({' '.join(op.inputs)}){op.attributes or ''}"
            for op in changed.nodes
            if op not in model.nodes
        ]
        stored = [
            f"{name} from {onnx.numpy_helper.to_array(item).reshape(-1)[0]!r}"
            for name, item in changed.initializers.items()
            if item is not model.initializers.get(name)
        ]
        return "; ".join([*nodes, *stored])


PATTERNS = {
    "dynamic_ranges": Pattern(
        _model(_DYNAMIC, w=_WEIGHTS, wz=np.int8([1, 2, 3]), ws=np.float32([0.5, 0.25, 2])),
        with_real_activations,
    ),
    "dynamic_ranges_of_a_convolution": Pattern(
        _model(
            [
                _DYNAMIC[0], node(["q", "w", "z"], ["i"], kind="ConvInteger", group=2),
                *_DYNAMIC[2:],
            ],
            w=_WEIGHTS.reshape(4, 3, 1), ws=np.float32([0.5]),
        ),
        with_real_activations,
    ),
    "two_of_dynamic_ranges": Pattern(
        _model(
            [
                *_DYNAMIC[:-1], node(["f", "m"], ["g"], kind="Mul"),
                node(["q", "w", "z"], ["j"], kind="MatMulInteger"),
                node(["j"], ["k"], kind="Cast", to=1), node(["s", "ws"], ["n"], kind="Mul"),
                node(["k", "n"], ["h"], kind="Mul"), node(["g", "h"], ["y"], kind="Add"),
            ],
            w=_WEIGHTS, wz=np.int8([1, 2, 3]), ws=np.float32([0.5, 0.25, 2]),
        ),
        with_real_activations,
    ),
    "unsigned_pairs": Pattern(
        _model(_PAIRS, s=np.float32(0.5), z=np.uint16(40000), w=np.uint16([0, 40000])),
        with_signed_pairs,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PATTERNS)
def test_each_damage_of_a_pattern_has_its_verdict(
    name: str, golden: Callable[[str, str], None]
) -> None:
    pattern = PATTERNS[name]
    found = ((label, pattern.verdict(model)) for label, model in damages(pattern.model))
    golden(f"graphs/onnx/{name}.txt", report(name, found, pattern.verdict(pattern.model)))


_NOTED = [
    node(["x", "s", "z"], ["q"], kind="QuantizeLinear"),
    node(["q", "s", "z"], ["a"], kind="DequantizeLinear"),
    node(["x", "s", "n"], ["p"], kind="QuantizeLinear"),
    node(["p", "s", "n"], ["b"], kind="DequantizeLinear"),
    node(["w", "s"], ["v"], kind="DequantizeLinear"),
    node(["u", "s", "n"], ["t"], kind="DequantizeLinear"),
    node(["x", "s"], ["m"], kind="QuantizeLinear", output_dtype=5),
    node(["x", "s"], ["l"], kind="QuantizeLinear", output_dtype=4),
    node(["a", "b", "v", "t", "m", "l"], ["y"], kind="Sum"),
]


def test_each_damage_of_pairs_of_16_bits_has_its_notes(golden: Callable[[str, str], None]) -> None:
    """Where two numbers of a zero point differ, it is none; tensors count once."""
    model = _model(
        _NOTED, s=np.float32(0.5), z=np.uint16(40000), n=np.int16([3]), w=np.uint16([[0, 40000]]),
        u=np.int16([[1, 2], [3, 4]]),
    )  # fmt: skip

    def verdict(model: OnnxRecord) -> str:
        return " ".join(note.partition(";")[0] for note in notes_on_pairs(model)) or "nothing"

    found = [(label, verdict(changed)) for label, changed in damages(model)]
    found += [
        ("all twice", verdict(replace(model, nodes=(*model.nodes, *model.nodes)))),
        ("no nodes", verdict(replace(model, nodes=()))),
        ("the last four", verdict(replace(model, nodes=model.nodes[-4:]))),
        ("the first two", verdict(replace(model, nodes=model.nodes[:2]))),
        ("the middle", verdict(_model(model.nodes, n=np.int16(0), z=np.uint16(1 << 15)))),
        ("no numbers", verdict(_model(model.nodes, n=np.zeros(0, np.int16)))),
    ]
    golden("graphs/onnx/notes_on_pairs.txt", report("notes", iter(found), verdict(model)))


def _distances(axis: bool) -> OnnxRecord:
    """Of a row from all rows; the axis is an attribute, or a constant behind names."""
    reduction = node(["d", "axes"], ["sums"], kind="ReduceSumSquare", keepdims=0)
    constant = onnx.numpy_helper.from_array(np.array([-1]), "axes")
    by_constant = [node([], ["a"], kind="Constant", value=constant),
                   node(["a"], ["axes"], kind="Identity"), reduction]  # fmt: skip
    by_attribute = [replace(reduction, inputs=("d",), attributes={"axes": [1], "keepdims": 0})]
    nodes = [
        node(["rows"], ["kept"], kind="Identity"), node(["row"], ["one"], kind="Identity"),
        node(["rows", "one"], ["d"], kind="Sub"),
        *(by_constant if axis else by_attribute), node(["sums"], ["out"], kind="Identity"),
    ]  # fmt: skip
    return record([given(None, "rows"), given(None, "row")], ["kept", "out"], numbered(nodes))


def _taken(body: OnnxRecord) -> str:
    try:
        return "taken" if _are_distances(body) else "left"
    except IndexError:
        return "damaged"  # as the reader says


@pytest.mark.parametrize("is_constant", [False, True], ids=["attribute", "constant"])
def test_each_damage_of_a_body_of_distances_has_its_verdict(
    is_constant: bool, golden: Callable[[str, str], None]
) -> None:
    body = _distances(is_constant)
    name = f"scanned_distances_by_{'constant' if is_constant else 'attribute'}"
    found = [(label, _taken(model)) for label, model in damages(body)]
    for axes in ([0], [-1], [-2], [0, 1], []):
        last = body.nodes[-2]
        changed = replace(last, inputs=("d",), attributes={"axes": axes, "keepdims": 0})
        model = replace(body, nodes=(*body.nodes[:-2], changed, body.nodes[-1]))
        found.append((f"axes {axes}", _taken(model)))
    golden(f"graphs/onnx/{name}.txt", report(name, iter(found), _taken(body)))


def _slices(*shape: int, element: ElementType = ElementType.F32) -> Value:
    return Value(TensorType(shape, element), f"{element.name}{list(shape)}")


_OTHER_SCANS: dict[str, list[Any]] = {
    "carried": [
        [], [_slices(2, 3), _slices(2, 3)], [_slices(2, 4)], [_slices(3)], [_slices(2, 3, 1)],
        [_slices(2, 3, element=ElementType.I32)],
    ],
    "scanned": [
        [], [_slices(5, 3), _slices(5, 3)], [_slices(5, 1)], [_slices(5, 3, 1)],
        [_slices(5, 3, element=ElementType.I32)],
    ],
    "axes": [[1]], "backward": [(1,)], "output_backward": [(1,)],
    "output_axes": [(), (0, 0), (1,), (-1,)],
}  # fmt: skip


def test_each_damage_of_a_scan_of_distances_has_its_verdict(
    golden: Callable[[str, str], None],
) -> None:
    def add(_: NodeRecord, made: Operation, operands: list[Value]) -> Value:
        return Value(operands[0].type, f"{made.name}({', '.join(v.name for v in operands)})")

    def verdict(**changes: Any) -> str:
        parts = {
            "carried": [_slices(2, 3)], "scanned": [_slices(5, 3)], "axes": [0], "backward": (0,),
            "output_axes": (0,), "output_backward": (0,), "body": _distances(False),
        }  # fmt: skip
        scan: Any = SimpleNamespace(
            **{**parts, **changes}, op=node(), state=SimpleNamespace(add=add)
        )
        found = scanned_distances(scan)
        return "left" if found is None else " and ".join(value.name for value in found)

    found = [
        (f"{name} {' and '.join(str(getattr(each, 'name', each)) for each in other) or 'none'}",
         verdict(**{name: other}))
        for name, others in _OTHER_SCANS.items()
        for other in others
    ]  # fmt: skip
    others = _distances(False).nodes[1:]
    found.append(("no Identity", verdict(body=replace(_distances(False), nodes=others))))
    golden("graphs/onnx/scans_of_distances.txt", report("a Scan", iter(found), verdict()))


def _imputers() -> tuple[list[Any], dict[str, Any]]:
    """Two calls, of which the second reads what the first made, and their constants."""
    names = ["place0", "x", "distances", "", "mask", "", "", "", "fitted", "count"]
    calls = [SimpleNamespace(input=[*names], output=["first"])]
    calls.append(SimpleNamespace(input=["place1", "first", *names[2:]], output=["second"]))
    constants = {
        "place0": np.array([2]), "place1": np.array([0]), "mask": np.eye(3, 4, dtype=bool),
        "fitted": np.ones((3, 4), np.float32), "count": np.array([2]),
    }  # fmt: skip
    return calls, constants


_OTHER_IMPUTERS: dict[str, Any] = {
    "place1": [3, 4, -1, [0, 1]],
    "count": [0, 1, -1, [1, 2]],
    "mask": [np.zeros((3, 3), bool), np.zeros((3, 4), bool)],
    "fitted": [np.ones(3), np.ones((0, 4)), np.ones((3, 5))],
}


def test_each_damage_of_calls_of_an_imputer_has_its_verdict(
    golden: Callable[[str, str], None],
) -> None:
    def verdict(calls: list[Any], constants: dict[str, Any]) -> str:
        tensors = {
            name: onnx.numpy_helper.from_array(np.asarray(data), name)
            for name, data in constants.items()
        }
        found = _read(calls, tensors)
        if found is None:
            return "none"
        missing = int(found.missing.sum())
        return f"{found.columns} of {found.x}, {found.neighbours} of {missing} missing"

    calls, constants = _imputers()
    found = [("no call", verdict([], constants)), ("one call", verdict(calls[:1], constants))]
    for name in constants:
        rest = {key: item for key, item in constants.items() if key != name}
        found.append((f"{name} computed", verdict(calls, rest)))
        for data in _OTHER_IMPUTERS.get(name, ()):
            label = f"{name} of {np.shape(data)}" if np.ndim(data) > 1 else f"{name}={data}"
            found.append((label, verdict(calls, {**rest, name: np.array(data)})))
    for place, name in enumerate(calls[1].input):
        other = SimpleNamespace(input=[*calls[1].input], output=["second"])
        other.input[place] = "place0" if name.startswith("place") else "else"
        more = {**constants, "else": constants.get(name, np.array([1]))}
        found.append((f"{place} of another name", verdict([calls[0], other], more)))
    golden("graphs/onnx/imputers.txt", report("imputers", iter(found), verdict(calls, constants)))
