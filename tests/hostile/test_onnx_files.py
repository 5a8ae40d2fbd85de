"""Broken and hostile .onnx files: compiled or refused, in bounded time and memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.onnx.container import read_properties, tensor_data
from glowmcu.pipeline import compile_model
from tests.hostile.test_mutants import run_worker

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from tests.hostile.onnx_models import ONNX_MODELS  # noqa: E402

#: `python -m benchmarks.fuzz` goes on by the million.
EACH = 250


def graph_of(nodes: list[Any], weights: list[Any], **sizes: list[Any]) -> bytes:
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, sizes.get("x", [2, 3]))]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "main", inputs, outputs, weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    return bytes(made.SerializeToString())


def refusal(data: bytes, file_name: str = "m.onnx") -> str:
    with pytest.raises(GlowmcuError) as caught:
        compile_model(data, file_name, Options("m"))
    return str(caught.value)


@pytest.mark.parametrize("name", sorted(ONNX_MODELS))
def test_the_unbroken_onnx_model_compiles(name: str) -> None:
    compile_model(ONNX_MODELS[name](), f"{name}.onnx", Options(name))


@pytest.mark.parametrize("name", sorted(ONNX_MODELS))
def test_mutants_of_an_onnx_model_are_compiled_or_refused(name: str, tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    model.write_bytes(ONNX_MODELS[name]())
    verdicts = run_worker(model, EACH, 5000)
    assert not verdicts.bad, "\n".join(verdicts.bad[:3])
    # Mutants that all fail at the first check would prove nothing.
    assert verdicts.counts["compiled"] >= EACH // 50, verdicts.counts
    assert len(verdicts.counts) >= 4, verdicts.counts


@pytest.mark.parametrize("name", sorted(ONNX_MODELS))
def test_every_beginning_of_an_onnx_model_is_refused(name: str) -> None:
    data = ONNX_MODELS[name]()
    for length in range(0, len(data) - 1, 7):
        with pytest.raises(GlowmcuError):
            compile_model(data[:length], "cut.onnx", Options("cut"))


# --- names ---------------------------------------------------------------------------------------


def test_names_that_are_no_unicode_show_their_bytes() -> None:
    made = compile_model(ONNX_MODELS["latin_names"](), "m.onnx", Options("m"))
    assert [item.name for item in made.manifest.inputs] == [r"x\xe4"]
    assert [item.name for item in made.manifest.outputs] == [r"y\xe4"]


@pytest.mark.parametrize("sizes", [[None, None, 3], [None, "T", 3], None])
def test_an_open_shape_of_a_name_that_is_no_unicode_is_told(sizes: Any) -> None:
    node = helper.make_node("Relu", ["x"], ["y"])
    data = graph_of([node], [], x=sizes).replace(b"x", b"\xe4")
    shape = "(1, 1)" if sizes is None else "(1, 1, 3)"
    assert rf"input_shapes={{'\\xe4': {shape}}}" in refusal(data)


def test_names_that_differ_in_a_byte_that_is_no_unicode_stay_two() -> None:
    weights = numpy_helper.from_array(np.ones((2, 3), np.float32), "w")
    data = graph_of([helper.make_node("Add", ["x", "w"], ["y"])], [weights])
    latin = data.replace(b"\1x", b"\1\xe4").replace(b"\1w", b"\1\xf6")
    made = compile_model(latin, "m.onnx", Options("m"))
    assert [item.name for item in made.manifest.inputs] == [r"\xe4"]


def test_class_names_that_are_no_unicode_are_read() -> None:
    names = {"classlabels_strings": [b"gr\xfcn", b"rot"], "coefficients": [1.0, -1.0, 0.5]}
    node = helper.make_node(
        "LinearClassifier", ["x"], ["label", "y"], domain="ai.onnx.ml", post_transform="SOFTMAX",
        intercepts=[0.0], **names,
    )  # fmt: skip
    assert read_properties(graph_of([node], []), "m.onnx")[1] == [[r"gr\xfcn", "rot"]]


# --- data in other files -------------------------------------------------------------------------


def with_external_data(location: str, **entries: str) -> bytes:
    weights = numpy_helper.from_array(np.ones((3, 2), np.float32), "w")
    weights.ClearField("raw_data")
    weights.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        weights.external_data.add(key=key, value=value)
    return graph_of([helper.make_node("Gemm", ["x", "w"], ["y"])], [weights])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model's folder with its data file, and a secret beside the folder."""
    inside = tmp_path / "models"
    inside.mkdir()
    (inside / "w.bin").write_bytes(np.ones(6, np.float32).tobytes())
    (tmp_path / "secret").write_bytes(b"s" * 24)
    (inside / "link").symlink_to(tmp_path / "secret")
    return inside


def test_data_beside_the_model_is_read(folder: Path) -> None:
    compile_model(with_external_data("w.bin"), str(folder / "m.onnx"), Options("m"))


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool"]
)
def test_data_beside_the_model_is_read_in_every_type_that_a_model_may_hold(
    dtype: str, folder: Path
) -> None:
    numbers = np.array([[1, 0, 2], [3, 1, 0]]).astype(dtype)
    (folder / "w.bin").write_bytes(b"12345" + numbers.tobytes())
    tensor = numpy_helper.from_array(numbers, "w")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "w.bin"), ("offset", "5")):
        tensor.external_data.add(key=key, value=value)
    found = tensor_data(tensor, folder)
    assert found.dtype == numbers.dtype
    assert np.array_equal(found, numbers)


@pytest.mark.parametrize(
    "location",
    ["../secret", "/etc/hostname", "link", "x/../../secret", "", ".", "../models"],
    ids=["above", "absolute", "by a link", "above by a detour", "none", "itself", "folder"],
)
def test_data_outside_of_the_models_folder_is_never_read(folder: Path, location: str) -> None:
    text = refusal(with_external_data(location), str(folder / "m.onnx"))
    assert "GM105" in text
    assert "ssss" not in text


@pytest.mark.parametrize(
    "entries",
    [{"offset": "-24"}, {"offset": "999999999999999999999"}, {"offset": "x"}, {"offset": "4"}],
    ids=["negative", "huge", "no number", "too near to the end"],
)
def test_an_offset_that_is_wrong_is_refused(folder: Path, entries: dict[str, str]) -> None:
    text = refusal(with_external_data("w.bin", **entries), str(folder / "m.onnx"))
    assert "GM105" in text


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_the_place_of_data_does_not_hang(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert "GM105" in refusal(with_external_data("pipe"), str(folder / "m.onnx"))


# --- sizes and depth -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sizes",
    [[2**31, 2**31], [2**62, 4], [1] * 5000, [-3, 2]],
    ids=["terabytes", "beyond 64 bits", "rank 5000", "negative"],
)
def test_sizes_that_no_memory_has_are_refused(sizes: list[int]) -> None:
    data = graph_of([helper.make_node("Relu", ["x"], ["y"])], [], x=sizes)
    assert refusal(data).startswith(("error[GM114]", "error[GM101]", "error[GM104]"))


@pytest.mark.parametrize(
    ("kind", "attributes", "constant"),
    [
        ("Tile", {}, np.array([2**31, 2**31], np.int64)),
        ("Expand", {}, np.array([2**40, 2, 3], np.int64)),
        ("Reshape", {}, np.array([2**62, -1], np.int64)),
        ("Pad", {}, np.array([2**40, 0, 0, 0], np.int64)),
        ("Unsqueeze", {}, np.arange(4000, dtype=np.int64)),
    ],
    ids=["repeats", "expansion", "shape", "padding", "axes"],
)
def test_constants_that_ask_for_too_much_are_refused(
    kind: str, attributes: dict[str, Any], constant: np.ndarray
) -> None:
    node = helper.make_node(kind, ["x", "c"], ["y"], **attributes)
    data = graph_of([node], [numpy_helper.from_array(constant, "c")])
    assert refusal(data).startswith(("error[GM114]", "error[GM105]", "error[GM106]"))


def test_a_long_chain_of_nodes_needs_no_recursion() -> None:
    count = 3000
    nodes = [helper.make_node("Identity", [f"t{i}"], [f"t{i + 1}"]) for i in range(count)]
    nodes[0].input[0], nodes[-1].output[0] = "x", "y"
    compile_model(graph_of(nodes, []), "m.onnx", Options("m"))


def test_functions_that_grow_exponentially_are_refused_in_time() -> None:
    """Each calls the one before twice: 2**40 nodes, were they all written out."""
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    functions = []
    for level in range(40):
        kind, domain = ("Identity", "") if level == 0 else (f"F{level - 1}", "own")
        body = [
            helper.make_node(kind, ["a"], ["m"], domain=domain),
            helper.make_node(kind, ["m"], ["b"], domain=domain),
        ]
        functions.append(helper.make_function("own", f"F{level}", ["a"], ["b"], body, imports))
    node = helper.make_node("F39", ["x"], ["y"], domain="own")
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])]
    graph = helper.make_graph([node], "main", inputs, outputs)
    model = helper.make_model(graph, opset_imports=imports, functions=functions)
    assert "the model's functions make" in refusal(model.SerializeToString())


def test_functions_that_call_themselves_are_refused() -> None:
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    body = [helper.make_node("F", ["a"], ["b"], domain="own")]
    function = helper.make_function("own", "F", ["a"], ["b"], body, imports)
    node = helper.make_node("F", ["x"], ["y"], domain="own")
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])]
    graph = helper.make_graph([node], "main", inputs, outputs)
    model = helper.make_model(graph, opset_imports=imports, functions=[function])
    assert "error[GM101]" in refusal(model.SerializeToString())
