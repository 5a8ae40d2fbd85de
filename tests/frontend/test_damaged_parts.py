"""What parts of the ONNX front end that no file reaches alone make of each damage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.onnx import functions, refused
from glowmcu.frontend.onnx.container import InputRecord, OnnxRecord
from glowmcu.frontend.onnx.normalization_chains import find_chains
from glowmcu.frontend.onnx.pair_forms import Form, around_zero
from glowmcu.frontend.onnx.string_categories import Categories
from glowmcu.frontend.onnx.weights_of_pairs import PairConstants, centred
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Graph
from glowmcu.ir.types import ElementType, Quantization
from glowmcu.ops.activation import Neg
from glowmcu.ops.elementwise import Add, Mul, Sub
from glowmcu.ops.moments import MeanVarianceNormalization
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transpose import Transpose
from glowmcu.pipeline import reference_graph
from tests.frontend.graph_damage import Made
from tests.frontend.graph_damage import damages as damages_of_graph
from tests.frontend.test_damaged_records import damages, numbered, report
from tests.frontend.verdicts import refusal
from tests.support.onnx_parts import given, node, record

Golden = Callable[[str, str], None]


def chain(behind: bool = True, gain: Any = (2, -4, 1, 3), rows: int = 1) -> Graph:
    """A normalization of rows, a gain, an offset and axes; what reads it is float."""
    made = Made()
    x = made.input(rows, 3, 4)
    normal = made.op(MeanVarianceNormalization(), x)
    scaled = made.op(Mul(), normal, made.number(gain))
    moved = made.op(Sub(), made.op(Add(), made.number([1, 8, 0, -2]), scaled), made.number([16]))
    shaped = made.op(Transpose((0, 2, 1)), made.op(Reshape((rows, 4, 3)), moved))
    return made.done(*([made.op(Neg(), shaped), made.op(Neg(), normal)] if behind else [shaped]))


def chains_of(graph: Graph, **wanted: Form) -> str:
    """Its nodes, and the steps of what lies between two of them in parts of the greatest."""
    forms = {v: wanted[v.name] for n in graph.nodes for v in n.outputs if v.name in wanted}
    found = find_chains(graph, forms, PairConstants(graph))
    names = [node.output.name for node in graph.nodes if node in found.nodes]
    steps = [
        f"{value.name} {form.element.name} {form.quantization.scales[0] * 32767:.6g}"
        for value, form in sorted(found.forms.items(), key=lambda item: item[0].name)
    ]
    return f"{' '.join(names) or 'no chain'}, between: {' '.join(steps) or 'nothing'}"


def fine(numbers: float) -> Form:
    """int8 whose steps are four of int16 that reaches so far."""
    return Form(ElementType.I8, Quantization((4 * numbers / 32767,), (3,)))


def test_each_damage_of_a_chain_of_normalizations_has_its_verdict(golden: Golden) -> None:
    whole = chain()
    names = [node.output.name for node in whole.nodes if node.inputs]
    last, normal = names[5], names[0]
    found = []
    for step in (1.0, 0.999, 1000.0):
        forms = {last: fine(32 * step), normal: fine(2.0)}
        found.append((f"in steps of {step}", chains_of(whole, **forms)))
    for wide in (16.001 / 32767, 15.999 / 32767):
        forms = {last: around_zero(wide), normal: fine(2.0)}
        found.append((f"16 bits in steps of {wide:.6g}", chains_of(whole, **forms)))
    found.append(("without a pair", chains_of(whole)))
    for gain in (0.0, 0.25, np.zeros((0, 3, 4), np.float32)):
        other = chain(gain=gain, rows=1 if np.size(gain) else 0)
        found.append((f"a gain of {gain}", chains_of(other, **{last: fine(1000)})))
    found.append(("an output", chains_of(chain(False), **{last: fine(1000)})))
    forms = {last: fine(1000), normal: fine(1000)}
    found += [(label, chains_of(other, **forms)) for label, other in damages_of_graph(whole)]
    golden("graphs/onnx/chains.txt", report("chains", iter(found), chains_of(whole, **forms)))


def test_weights_around_zero_are_held_up_to_steps_half_as_wide_again(golden: Golden) -> None:
    lines = []
    for farthest in (127, 128, 129, -127, -128, -129, 190, 191, -190, -191):
        offsets = np.array([[farthest, 1, -1], [5, 127, -128]], np.float32)
        for axis in (0, 1):
            for scales in ((0.5,), (0.5, 0.25, 2.0)[: 2 + axis]):
                pair = Quantization(scales, (3,) * len(scales), axis if len(scales) > 1 else None)
                along = (-1, 1) if axis == 0 else (1, -1)
                real = offsets * np.array(scales, np.float32).reshape(
                    along if len(scales) > 1 else 1
                )
                found = centred(real, pair, axis)
                told = "none" if found is None else f"{found[0].tolist()} {found[1]}"
                lines.append(f"{farthest} axis {axis} of {len(scales)} scales: {told}\n")
    empty = centred(np.zeros((2, 0), np.float32), Quantization((0.5,), (3,)), 0)
    assert empty is not None
    assert (empty[0].shape, empty[1].scales) == ((2, 0), (0.5,))
    golden("graphs/onnx/centred_weights.txt", "".join(lines))


_ENCODED = [
    node(["x"], ["moved", ""], kind="Reshape"),
    node(["moved"], ["one_hot"], kind="OneHotEncoder", cats_strings=[b"b", b"a"], zeros=1),
    node(
        ["moved"], ["number"], kind="LabelEncoder", keys_strings=["c", b"a"], values_int64s=[1, 0]
    ),
    node(["one_hot", "number"], ["y"], kind="Concat"),
]


def categories_of(model: OnnxRecord) -> str:
    """The names, and what encoders of numbers then are."""
    found = Categories()
    for item in model.inputs:
        found.input(item)
    try:
        nodes = [found.read(op) for op in model.nodes]
    except Unsupported as cause:
        return refusal(cause)
    changed = [op for op, old in zip(nodes, model.nodes, strict=True) if op is not old]
    told = "; ".join(f"{op.kind} {sorted(op.attributes.items())}" for op in changed)
    return f"{' '.join(found.names)}: {told}"


def test_each_damage_of_encoders_of_strings_has_its_verdict(golden: Golden) -> None:
    strings = InputRecord("x", None, "STRING", (1, 2))
    model = record([strings, given((1,), "real")], ["y"], numbered(_ENCODED))
    found = [(label, categories_of(other)) for label, other in damages(model)]
    for kind in ("OneHotEncoder", "LabelEncoder"):
        for names, numbers in (([b"a"], [1]), ([], []), ([b"a", b"b", b"a"], [])):
            attributes: dict[str, Any] = {
                "OneHotEncoder": {"cats_strings": names, "cats_int64s": numbers},
                "LabelEncoder": {"keys_strings": names, "keys_int64s": numbers},
            }[kind]
            other = record([strings], ["y"], numbered([node(kind=kind, **attributes)]))
            found.append((f"{kind} of {names} and {numbers}", categories_of(other)))
    golden("graphs/onnx/categories.txt", report("encoders", iter(found), categories_of(model)))


def test_an_input_of_strings_has_numbers() -> None:
    found = Categories()
    read = found.input(InputRecord("x", None, "STRING", (1, 2)))
    assert (read.element, read.type_name) == (ElementType.I32, "STRING")
    real = given((1,), "real")
    assert found.input(real) is real


@pytest.mark.parametrize(
    ("sizes", "element", "is_known"),
    [
        ((2, 3), ElementType.F32, True), ((), ElementType.F32, True), ((0,), ElementType.F32, True),
        ((2, 3), None, False), (None, ElementType.F32, False), ((2, "N"), ElementType.F32, False),
        ((None, 3), ElementType.F32, False), ((-1, 3), ElementType.F32, False),
        ((2, -5), ElementType.F32, False), ((2**40, 2**40), ElementType.F32, False),
    ],
)  # fmt: skip
def test_a_declared_type_is_one_with_all_sizes(
    sizes: Any, element: ElementType | None, is_known: bool
) -> None:
    found = refused._declared(InputRecord("x", element, "any", sizes))
    assert (found is not None) is is_known
    assert found is None or (found.shape, found.element) == (sizes, element)
    assert refused._declared(None) is None


def model_of(bodies: dict[str, list[str]], main: list[str]) -> Any:
    """Functions by the operators that they call, and those of the graph."""

    def calls(names: list[str]) -> list[Any]:
        return [SimpleNamespace(domain="f" if n in bodies else "", op_type=n) for n in names]

    made = [SimpleNamespace(domain="f", name=n, node=calls(body)) for n, body in bodies.items()]
    return SimpleNamespace(functions=made, graph=SimpleNamespace(node=calls(main)))


def _counted() -> Iterator[tuple[str, int, Any]]:
    """Which limit, its least number that is enough, and the model."""
    nested = {"one": ["A", "B"], "two": ["one", "one", "C"], "three": ["two", "one"]}
    yield "_MAX_FUNCTIONS", 3, model_of(nested, ["A"])
    yield "MAX_NODES", 7, model_of(nested, ["A"])
    yield "MAX_NODES", 17, model_of(nested, ["three", "two", "one", "A", "one"])


def test_functions_make_no_more_nodes_than_any_model_has(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, least, model in _counted():
        with monkeypatch.context() as changed:
            changed.setattr(functions, limit, least)
            functions.check_functions(model, "m.onnx")
            changed.setattr(functions, limit, least - 1)
            with pytest.raises(GlowmcuError, match="GM101"):
                functions.check_functions(model, "m.onnx")
    for bodies in ({"one": ["one"]}, {"one": ["two"], "two": ["A", "one"], "three": ["A"]}):
        with pytest.raises(GlowmcuError, match="functions call themselves"):
            functions.check_functions(model_of(bodies, ["A"]), "m.onnx")
    functions.check_functions(model_of({}, ["A"]), "m.onnx")


@pytest.mark.parametrize("double", ["two inputs", "an input and a result", "two results"])
def test_two_tensors_of_one_name_are_said(double: str) -> None:
    """Which one is read? The first input was read by nobody."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    helper, real = onnx.helper, onnx.TensorProto.FLOAT
    x = helper.make_tensor_value_info("a", real, [1, 4])
    y = helper.make_tensor_value_info("c", real, [1, 4])
    nodes = [helper.make_node("Mul", ["a", "a"], ["c"])]
    if double == "an input and a result":
        nodes.insert(0, helper.make_node("Neg", ["a"], ["a"]))
    if double == "two results":
        nodes.append(helper.make_node("Neg", ["a"], ["c"]))
    graph = helper.make_graph(nodes, "g", [x, x] if double == "two inputs" else [x], [y])
    data = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    name = "c" if double == "two results" else "a"
    with pytest.raises(GlowmcuError, match=f"GM101.*2 tensors are called '{name}'"):
        reference_graph(data.SerializeToString(), "m.onnx")
