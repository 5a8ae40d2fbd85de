"""How an ONNX file becomes a graph, whatever its operators are."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from glowmcu.custom_c import CustomFile
from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.frontend.onnx import container, reader
from glowmcu.frontend.onnx.container import element_of, read_onnx_container
from glowmcu.frontend.onnx.importer import load_importers
from glowmcu.frontend.read_model import read_model
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Value
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.types import ElementType, TensorType
from tests.support.check_model import check_model
from tests.support.onnx_models import onnx_model
from tests.support.onnx_parts import refused

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
F32, I32, I64 = ElementType.F32, ElementType.I32, ElementType.I64


def tensor(name: str, shape: Sequence[Any] | None, kind: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def model_of(
    nodes: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    **data: Any,
) -> bytes:
    weights = [numpy_helper.from_array(array, name) for name, array in data.items()]
    graph = helper.make_graph(list(nodes), "main", list(inputs), list(outputs), weights)
    opsets = [helper.make_opsetid("", 17)]
    return bytes(helper.make_model(graph, opset_imports=opsets).SerializeToString())


def refusal(data: bytes) -> GlowmcuError:
    with pytest.raises(GlowmcuError) as caught:
        read_model(data, "m.onnx")
    return caught.value


def test_nodes_may_stand_in_any_order() -> None:
    nodes = [
        helper.make_node("Reshape", ["turned", "shape"], ["y"]),
        helper.make_node("Transpose", ["x"], ["turned"]),
    ]
    shape = np.array([6], np.int64)
    check_model(model_of(nodes, [tensor("x", [2, 3])], [tensor("y", [6])], shape=shape), count=1)


def test_a_cycle_is_reported_as_a_missing_operand() -> None:
    nodes = [
        helper.make_node("Transpose", ["b"], ["a"]),
        helper.make_node("Transpose", ["a"], ["b"]),
    ]
    found = refusal(model_of(nodes, [tensor("x", [2, 3])], [tensor("b", [2, 3])]))
    assert found.exit_code is ExitCode.UNSUPPORTED
    assert "'b' is read before it is computed" in str(found)


def test_an_operator_without_an_importer_becomes_what_onnx_defines_it_by() -> None:
    assert ("ai.onnx", "MeanVarianceNormalization") not in load_importers()
    node = helper.make_node("MeanVarianceNormalization", ["x"], ["y"])
    data = model_of([node], [tensor("x", [2, 2, 3, 1])], [tensor("y", [2, 2, 3, 1])])

    def by_hand(_: bytes, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        (x,) = inputs
        axes = (0, 2, 3)  # the default, which the definition has to be given
        deviation = np.sqrt((x**2).mean(axes, keepdims=True) - x.mean(axes, keepdims=True) ** 2)
        return [(x - x.mean(axes, keepdims=True)) / (deviation + np.float32(1e-9))]

    check_model(data, oracle=by_hand, rtol=1e-4)


def test_an_operator_that_nothing_defines_is_refused_under_its_own_name() -> None:
    nodes = [
        helper.make_node("MeanVarianceNormalization", ["x"], ["m"]),
        helper.make_node("Det", ["m"], ["d"]),
    ]
    found = refusal(model_of(nodes, [tensor("x", [1, 1, 3, 3])], [tensor("d", [1, 1])]))
    assert [problem.code for problem in found.problems] == ["GM102"]
    assert "operator Det (opset 17) is not supported" in str(found)


def test_nothing_is_expanded_where_importers_are_not_named() -> None:
    node = helper.make_node("MeanVarianceNormalization", ["x"], ["y"])
    data = model_of([node], [tensor("x", [1, 1, 3, 3])], [tensor("y", [1, 1, 3, 3])])
    assert [op.kind for op in read_onnx_container(data, "m.onnx").nodes] == [node.op_type]


def test_an_output_of_a_type_that_does_not_exist_here_is_refused() -> None:
    node = helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.ones(2)))
    found = refusal(model_of([node], [tensor("x", [2])], [tensor("c", [2], INT64)]))
    assert "output 'c' is INT64, which cannot be computed as such; got float32" in str(found)


@pytest.mark.parametrize(("declared", "element", "has_classes", "is_taken"), [
    ("STRING", I64, True, True), ("STRING", I64, False, False), ("STRING", I32, True, False),
    ("STRING", F32, True, False), ("INT64", I32, True, False), ("INT32", I64, True, False),
    ("INT64", I64, False, True), ("UNDEFINED", F32, False, True),
])  # fmt: skip
def test_an_output_of_strings_is_the_number_of_a_class(
    declared: str, element: ElementType, has_classes: bool, is_taken: bool
) -> None:
    types = {"y": element_of(getattr(TensorProto, declared))}
    model = SimpleNamespace(output_types=types)
    state: Any = SimpleNamespace(model=model, class_indices={"y"} if has_classes else set())
    value = Value(TensorType((2,), element), "y")
    if is_taken:
        assert reader._output(state, "y", value) is value
    else:
        assert f"output 'y' is {declared}, which" in refused(reader._output, state, "y", value)


@pytest.mark.parametrize(("domain", "hint"), [
    ("", "the model has no custom operator"), ("ai.onnx.ml", "the model has no custom operator"),
    ("mine", "custom operators of the model: mine.Abs"),
])  # fmt: skip
def test_c_that_no_operator_means_is_told_what_is_there(domain: str, hint: str) -> None:
    node = helper.make_node("Abs", ["x"], ["y"], domain=domain)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    graph = helper.make_graph([node], "main", [tensor("x", [2])], [tensor("y", [2])])
    data = helper.make_model(graph, opset_imports=opsets).SerializeToString()
    double = CustomFile(
        "double.py", 'def f(x: "float32[N]") -> "y: float32[N]":\n    y[i] = x[i]\n'
    )
    known = {f"{domain}.Abs": double} if domain == "mine" else {}
    options = InputOptions(custom={**known, "Other": double})
    with pytest.raises(GlowmcuError) as caught:
        read_model(data, "m.onnx", options)
    (problem,) = (each for each in caught.value.problems if each.code == "GM764")
    assert "--custom Other=double.py" in problem.message
    assert problem.hint == hint


@pytest.mark.parametrize(("given", "result"), [
    ({}, [5, 9]), ({"by": 3.0}, [7, 13]), ({"plus": -1}, [3, 7]), ({"by": 1, "plus": 0}, [2, 4]),
])  # fmt: skip
def test_an_operator_that_the_user_defines_has_the_attributes_of_the_file(
    given: dict[str, Any], result: list[float]
) -> None:
    node = helper.make_node("Scaled", ["x"], ["y"], domain="mine", **given)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    graph = helper.make_graph([node], "main", [tensor("x", [2])], [tensor("y", [2])])
    data = helper.make_model(graph, opset_imports=opsets).SerializeToString()
    text = 'def f(x: "float32[N]", by: float = 2.0, plus: int = 1) -> "y: float32[N]":\n'
    scaled = CustomFile("scaled.py", f"{text}    y[i] = by * x[i] + plus\n")
    read = read_model(data, "m.onnx", InputOptions(custom={"Scaled": scaled}))
    assert run_graph(read, [np.float32([2, 4])])[0].tolist() == result


def test_a_model_in_training_mode_is_refused() -> None:
    node = helper.make_node("Dropout", ["x", "ratio", "training"], ["y"])
    data = model_of(
        [node], [tensor("x", [2])], [tensor("y", [2])],
        ratio=np.array(0.5, np.float32), training=np.array(True),
    )  # fmt: skip
    found = refusal(data)
    assert "Dropout: the model is in training mode" in str(found)
    assert "model.eval()" in str(found)


@pytest.mark.parametrize(("opset", "dtype"), [(7, "float32"), (9, "float32"), (10, "bool")])
def test_the_mask_of_dropout_has_the_type_of_its_opset(opset: int, dtype: str) -> None:
    data = onnx_model("Dropout", [("x", "float32", (1, 3))], outputs=2, opset=opset)
    _, mask = run_graph(read_model(data, "m.onnx"), [np.ones((1, 3), np.float32)])
    assert (mask.dtype, mask.tolist()) == (np.dtype(dtype), [[1, 1, 1]])


def test_an_input_without_elements_is_refused() -> None:
    node = helper.make_node("Transpose", ["x"], ["y"])
    found = refusal(model_of([node], [tensor("x", [2, 0])], [tensor("y", [0, 2])]))
    assert [problem.message for problem in found.problems] == [
        "input 'x' has no elements: its shape is (2, 0)",
        "output 'y' has no elements: its shape is (0, 2)",
    ]


def test_everything_unsupported_comes_at_once_with_the_nearest_names() -> None:
    nodes = [
        helper.make_node("Transposed", ["x"], ["a"], name="first"),
        helper.make_node("Reshaped", ["a"], ["b"]),
        helper.make_node("Frobnicate", ["b"], ["y"], domain="com.acme"),
    ]
    found = refusal(model_of(nodes, [tensor("x", [2])], [tensor("y", [2])]))
    assert len(found.problems) == 3
    assert 'm.onnx, node 0 "first"' in str(found)
    assert "nearest: Transpose" in str(found)
    assert "operator com.acme.Frobnicate (opset ?) is not supported" in str(found)


def square(*shape: int) -> Any:
    return tensor("x", shape)


def refused_operators(data: bytes) -> list[str]:
    return [problem.message.split(" (opset")[0] for problem in refusal(data).problems]


def test_what_stands_behind_a_refused_operator_is_looked_at_too() -> None:
    nodes = [
        helper.make_node("Det", ["x"], ["d"]),
        helper.make_node("NonZero", ["d"], ["places"]),  # has an importer, and cannot be computed
        helper.make_node("Relu", ["d"], ["y"]),
    ]
    data = model_of(nodes, [square(4, 3, 3)], [tensor("y", [4]), tensor("places", [1, "N"], INT64)])
    assert refused_operators(data) == [
        "operator Det",
        "NonZero needs its operand known at compile time",
    ]
    assert "--bind" not in str(refusal(data))


def test_results_of_foreign_operators_are_as_the_file_declares_them() -> None:
    nodes = [
        helper.make_node("Frobnicate", ["x"], ["f"], domain="com.acme"),
        helper.make_node("NonZero", ["f"], ["y"]),
    ]
    for declared, count in (([2, 3], 2), ([2, "N"], 1), (None, 1)):
        graph = helper.make_graph(
            nodes, "main", [square(2, 3)], [tensor("y", [2, "M"], INT64)],
            value_info=[tensor("f", declared)],
        )  # fmt: skip
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.acme", 1)]
        data = helper.make_model(graph, opset_imports=opsets).SerializeToString()
        assert len(refused_operators(data)) == count


def test_shapes_made_behind_a_refused_operator_are_no_fault_of_those_who_read_them() -> None:
    nodes = [
        helper.make_node("Foreign", ["x"], ["f"], domain="com.acme"),
        helper.make_node("Shape", ["f"], ["s"]),  # a constant as soon as Foreign is known
        helper.make_node("Expand", ["x", "s"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "main", [square(1, 3)], [tensor("y", [2, 3])],
        value_info=[tensor("s", [2], INT64)],
    )  # fmt: skip
    data = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    assert refused_operators(data.SerializeToString()) == ["operator com.acme.Foreign"]


def test_the_shape_behind_a_refused_operator_may_be_known_by_its_constants() -> None:
    nodes = [
        helper.make_node("RoiAlign", ["x", "regions", "places"], ["parts"]),
        helper.make_node("NonZero", ["parts"], ["y"]),
    ]
    for known, count in (({"regions": np.zeros((2, 4), np.float32)}, 2), ({}, 1)):
        regions = tensor("regions", ["N", 4])
        inputs = [tensor("x", [1, 1, 5, 5]), *([] if known else [regions])]
        weights = [
            numpy_helper.from_array(array, name)
            for name, array in {**known, "places": np.zeros(2, np.int64)}.items()
        ]
        graph = helper.make_graph(nodes, "main", inputs, [tensor("y", [4, "M"], INT64)], weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
        assert len(refused_operators(model.SerializeToString())) == count


def test_a_refused_operator_on_constants_might_have_been_one() -> None:
    nodes = [
        helper.make_node("Det", ["w"], ["d"]),
        helper.make_node("NonZero", ["d"], ["places"]),
        helper.make_node("Relu", ["x"], ["y"]),
    ]
    outputs = [tensor("y", [2]), tensor("places", [1, "N"], INT64)]
    data = model_of(nodes, [square(2)], outputs, w=np.eye(3, dtype=np.float32)[None])
    assert refused_operators(data) == ["operator Det"]


def test_all_unknown_operators_in_the_graphs_of_a_node_are_named() -> None:
    branches = {
        name: helper.make_graph(
            [
                helper.make_node(kinds[0], ["x"], ["a"]),
                helper.make_node(kinds[1], ["a"], ["b"]),
            ],
            name,
            [],
            [tensor("b", [2])],
        )
        for name, kinds in (("then_branch", ("One", "Two")), ("else_branch", ("Three", "Relu")))
    }
    node = helper.make_node("If", ["c"], ["y"], **branches)
    inputs = [square(2), tensor("c", [], TensorProto.BOOL)]
    (problem,) = refusal(model_of([node], inputs, [tensor("y", [2])])).problems
    assert problem.code == "GM102"
    for kind in ("One", "Two", "Three"):
        assert f"operator {kind} (opset 17) is not supported" in problem.message


def test_more_nodes_than_any_model_has_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "MAX_NODES", 2)
    for count in (2, 3):
        nodes = [helper.make_node("Abs", [f"t{i}"], [f"t{i + 1}"]) for i in range(count)]
        data = model_of(nodes, [tensor("t0", [2])], [tensor(f"t{count}", [2])])
        if count == 2:
            assert len(read_model(data, "m.onnx").nodes) == 2
        else:
            assert [problem.message for problem in refusal(data).problems] == [
                "the model has 3 nodes"
            ]


def test_a_file_that_is_no_protobuf_is_refused_with_the_parsers_words() -> None:
    (problem,) = refusal(b"\x08\x08 no model").problems
    assert problem.code == "GM101"
    assert problem.message.startswith("the file is damaged or no ONNX model: ")
    assert "parsing" in problem.message


def test_a_model_without_inputs_is_a_constant_that_compiles() -> None:
    node = helper.make_node("Constant", [], ["y"], value_floats=[1.0, 2.0])
    compilation = check_model(model_of([node], [], [tensor("y", [2])]), inputs=[[]])
    assert compilation.manifest.inputs == ()


def test_a_part_without_elements_inside_of_a_model_costs_nothing() -> None:
    nodes = [
        helper.make_node("Split", ["x", "sizes"], ["all", "nothing"], axis=1),
        helper.make_node("Concat", ["nothing", "all"], ["y"], axis=1),
    ]
    sizes = np.array([4, 0], np.int64)
    check_model(model_of(nodes, [tensor("x", [3, 4])], [tensor("y", [3, 4])], sizes=sizes), count=1)


@pytest.mark.parametrize(
    ("cause", "code", "text"),
    [
        (ValueError("no such size"), "GM101", "Relu is damaged: no such size"),
        (TypeError("a text"), "GM101", "Relu is damaged: a text"),
        (KeyError("k" * 300), "GM101", f"Relu is damaged: '{'k' * 199}"),
        (ZeroDivisionError("0"), "GM101", "Relu is damaged: 0"),
        (AttributeError("none"), "GM101", "Relu is damaged: none"),
        (MemoryError("b" * 300), "GM114", f"Relu needs more memory than there is: {'b' * 200}"),
    ],
    ids=lambda item: type(item).__name__ if isinstance(item, Exception) else "",
)
def test_what_an_operator_stumbles_over_is_said_of_its_node_and_of_no_other(
    cause: Exception, code: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(state: object, op: object) -> None:
        raise cause

    importers = {**load_importers(), ("ai.onnx", "Relu"): stumble}
    monkeypatch.setattr(reader, "load_importers", lambda: importers)
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="second"),
        helper.make_node("Relu", ["x"], ["c"], name="third"),
    ]
    found = refusal(model_of(nodes, [tensor("x", [2])], [tensor("b", [2]), tensor("c", [2])]))
    assert [(item.code, item.message) for item in found.problems] == [(code, text)] * 2
    assert [item.where for item in found.problems] == [
        f'm.onnx, node {index} "{name}"' for index, name in ((0, "first"), (2, "third"))
    ]


@pytest.mark.parametrize(
    ("attributes", "codes"),
    [({"axis": "one"}, ["GM101"]), ({"axis": 9}, ["GM106", "GM106"])],
    ids=["damaged", "refused"],
)
def test_nothing_is_said_of_what_reads_a_damaged_node(
    attributes: dict[str, Any], codes: list[str]
) -> None:
    """Not even where the file says of which type its result would be."""
    nodes = [
        helper.make_node("Softmax", ["x"], ["a"], **attributes),
        helper.make_node("Softmax", ["a"], ["y"], axis=9),
    ]
    data = model_of(nodes, [tensor("x", [2, 3])], [tensor("y", None)])
    model = onnx.load_model_from_string(data)
    model.graph.value_info.append(tensor("a", [2, 3]))
    assert [item.code for item in refusal(model.SerializeToString()).problems] == codes
