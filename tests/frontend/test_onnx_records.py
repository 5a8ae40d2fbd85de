"""What an .onnx file holds as plain records: names, sizes, attributes, data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glowmcu import limits
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.onnx.container import (
    OnnxRecord,
    element_of,
    read_onnx_container,
    tensor_data,
)
from glowmcu.frontend.read_model import read_model
from glowmcu.ir.types import ElementType
from tests.support.onnx_parts import Sizes, given, node, record, refused

onnx = pytest.importorskip("onnx", reason="pip install onnx")
F32, I8, I64 = ElementType.F32, ElementType.I8, ElementType.I64


def test_attributes_are_of_the_type_that_is_asked_for() -> None:
    op = node(i=3, f=0.5, t=b"text", u="text", l=[1, 2], g=record())
    assert op.integer("i", 0) == 3
    assert op.integer("none", 7) == 7
    assert (op.number("f", 0.0), op.number("i", 0.0), op.number("none", 2.5)) == (0.5, 3.0, 2.5)
    assert (op.text("t", ""), op.text("u", ""), op.text("none", "no")) == ("text", "text", "no")
    assert (op.integers("l"), op.integers("none"), op.integers("none", (4,))) == (
        (1, 2),
        None,
        (4,),
    )
    assert op.graph("g") is op.attributes["g"]
    assert (op.has("i"), op.has("none")) == (True, False)
    wrong = "GM101 Foo: attribute {} has the wrong type"
    for call, name in (
        (lambda: op.integer("f", 0), "f"), (lambda: op.number("t", 0.0), "t"),
        (lambda: op.text("i", ""), "i"), (lambda: op.integers("i"), "i"),
        (lambda: op.graph("i"), "i"), (lambda: op.graph("none"), "none"),
    ):  # fmt: skip
        assert refused(call) == wrong.format(name)


def test_a_graph_captures_what_it_reads_and_does_not_make() -> None:
    inner = record(nodes=[node(["c", "d"], ["e"])], outputs=["e", "f"])
    graph = record(
        [given((1,), "a")], ["h", "a", "o"],
        [node(["a", "w", "x", ""], ["h"]), node(["x", "h"], ["k", "d"], body=inner)], w=[1.0],
    )  # fmt: skip
    assert graph.nodes[1].reads == ("x", "h", "c", "d", "f")
    assert graph.captures == ("x", "c", "f", "o")


@pytest.mark.parametrize(
    ("name", "element"),
    [("FLOAT", F32), ("INT8", I8), ("UINT8", ElementType.UI8), ("INT16", ElementType.I16),
     ("INT32", ElementType.I32), ("INT64", I64), ("BOOL", ElementType.BOOL), ("DOUBLE", F32),
     ("FLOAT16", F32), ("BFLOAT16", F32), ("STRING", None)],
)  # fmt: skip
def test_types_are_those_of_onnx(name: str, element: ElementType | None) -> None:
    assert element_of(getattr(onnx.TensorProto, name)) == (element, name)


def test_a_type_that_nobody_knows_is_called_by_its_number() -> None:
    assert element_of(999) == (None, "type 999")


def model(**changes: Any) -> Any:
    """A model of one Relu, with an initializer among its inputs as old files have it."""
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Add", ["x", "w"], ["y"], "add")], "main",
        [value("x", 1, changes.get("sizes", [2])), value("w", 1, [2])], [value("y", 1, [2])],
        [onnx.numpy_helper.from_array(np.float32([1, 2]), "w")],
    )  # fmt: skip
    opsets = [onnx.helper.make_opsetid("", changes.get("opset", 17))]
    return onnx.helper.make_model(graph, opset_imports=opsets)


def read(made: Any) -> OnnxRecord:
    return read_onnx_container(made.SerializeToString(), "m.onnx")


def test_an_initializer_is_no_input_though_old_files_say_so() -> None:
    found = read(model())
    assert [(item.name, item.sizes) for item in found.inputs] == [("x", (2,))]
    assert (found.outputs, list(found.initializers)) == (("y",), ["w"])
    assert found.opsets == {"ai.onnx": 17}
    assert found.output_types == {"y": (F32, "FLOAT")}
    (op,) = found.nodes
    assert (op.index, op.kind, op.domain, op.name) == (0, "Add", "ai.onnx", "add")
    assert (op.inputs, op.outputs) == (("x", "w"), ("y",))
    assert found.folder == Path("m.onnx").resolve().parent


@pytest.mark.parametrize(
    ("sizes", "found"),
    [([2, "N"], (2, "N")), ([None, 0], (None, 0)), ([-1], (None,)), ([-2], None),
     ([1] * 16, (1,) * 16), ([1] * 17, None), (None, None)],
    ids=str,
)  # fmt: skip
def test_sizes_are_numbers_symbols_or_open(sizes: Any, found: Sizes | None) -> None:
    made = model(sizes=sizes)
    if sizes is not None and found is None:
        with pytest.raises(GlowmcuError) as caught:
            read(made)
        assert caught.value.code == "GM101"
        return
    assert read(made).inputs[0].sizes == found


@pytest.mark.parametrize("opset", [4, 5])
def test_opsets_from_the_fifth_on_are_read(opset: int) -> None:
    if opset == 5:
        assert read(model(opset=opset)).opsets == {"ai.onnx": 5}
        return
    with pytest.raises(GlowmcuError) as caught:
        read(model(opset=opset))
    assert (caught.value.code, int(caught.value.exit_code)) == ("GM103", 3)


@pytest.mark.parametrize("part", ["node", "output"])
def test_a_file_without_nodes_or_outputs_is_no_model(part: str) -> None:
    made = model()
    made.graph.ClearField(part)
    with pytest.raises(GlowmcuError, match="it has no graph with nodes and outputs") as caught:
        read(made)
    assert caught.value.code == "GM101"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"data_type": 14}, "GM105 tensor 't' is COMPLEX64; supported: FLOAT, "),
        ({"dims": [-1]}, "GM105 tensor 't' has the shape (-1,)"),
        ({"dims": [1] * 17}, "GM105 tensor 't' has the shape (1, "),
        ({"dims": [1 << 40]}, "GM114 tensor 't' takes "),
        ({"dims": [0, 1 << 40]}, "GM114 tensor 't' takes "),
        ({"dims": [3]}, "GM105 tensor 't' is damaged: "),
        ({"dims": [2]}, ""), ({"dims": [1, 2]}, ""), ({"dims": [1] * 15 + [2]}, ""),
    ],
    ids=str,
)  # fmt: skip
def test_a_tensor_is_read_if_its_data_can_be_what_it_says(
    change: dict[str, Any], words: str
) -> None:
    tensor = onnx.numpy_helper.from_array(np.float32([1, 2]), "t")
    for name, value in change.items():
        if name == "dims":
            del tensor.dims[:]
            tensor.dims.extend(value)
        else:
            setattr(tensor, name, value)
    if words:
        assert refused(tensor_data, tensor, None).startswith(words)
        return
    data = tensor_data(tensor, None)
    assert (data.shape, data.reshape(-1).tolist()) == (tuple(change["dims"]), [1, 2])


def test_numbers_in_bfloat16_are_read_as_float32() -> None:
    tensor = onnx.helper.make_tensor("t", onnx.TensorProto.BFLOAT16, [3], [1.5, -2.0, 3.0e38])
    data = tensor_data(tensor, None)
    assert data.dtype == np.float32
    assert data[:2].tolist() == [1.5, -2.0]
    assert np.isclose(data[2], 3.0e38, rtol=2**-8)


@pytest.mark.parametrize("kind", [1, 3, 7, 11])
def test_a_tensor_may_say_that_it_has_as_many_bytes_as_are_allowed(kind: int) -> None:
    """float32, int8, int64, double: it is only then that its data lacks."""
    size = {1: 4, 3: 1, 7: 8, 11: 8}[kind]
    most = limits.file_bytes() // size
    for count, words in ((most, "GM105 tensor 't' is damaged: "), (most + 1, "GM114 tensor 't' ")):
        tensor = onnx.TensorProto(name="t", data_type=kind, dims=[count], raw_data=b"1")
        assert refused(tensor_data, tensor, None).startswith(words)


@pytest.mark.parametrize(
    ("cause", "what"),
    [(ValueError("a\n  reason"), "a reason"), (ValueError("x" * 201), "x" * 200),
     (ValueError(), "ValueError")],
    ids=["said", "said at length", "not said"],
)  # fmt: skip
def test_damage_is_told_in_a_few_words(
    cause: Exception, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: object) -> None:
        raise cause

    monkeypatch.setattr(onnx, "load_model_from_string", damaged)
    with pytest.raises(GlowmcuError) as caught:
        read(model())
    assert caught.value.code == "GM101"
    assert caught.value.problems[0].message == f"the file is damaged or no ONNX model: {what}"


def test_what_is_no_tensor_is_refused() -> None:
    assert refused(tensor_data, 3, None) == "GM101 an attribute that holds a tensor is a int"


def test_models_need_outputs_of_the_type_that_they_declare() -> None:
    made = model()
    made.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.INT32
    with pytest.raises(GlowmcuError, match="output 'y' is INT32, which cannot") as caught:
        read_model(made.SerializeToString(), "m.onnx")
    assert caught.value.code == "GM105"
    made.graph.output[0].ClearField("type")
    assert read_model(made.SerializeToString(), "m.onnx").outputs[0].type.element is F32
