"""ONNX models at the command line: symbolic sizes, inputs bound to values, and what goes wrong."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from tests.cli.conftest import Run

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

WEIGHTS = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)


@pytest.fixture(autouse=True)
def model(work: Path) -> None:
    """net.onnx: float[N, 4] times weights, in a shape that the caller hands in."""
    nodes = [
        helper.make_node("Gemm", ["x", "w"], ["product"], name="dense"),
        helper.make_node("Reshape", ["product", "shape"], ["y"], name="reorder"),
    ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4]),
        helper.make_tensor_value_info("shape", TensorProto.INT64, [2]),
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    weights = [numpy_helper.from_array(WEIGHTS, "w")]
    graph = helper.make_graph(nodes, "net", inputs, outputs, weights)
    imports = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=imports), "net.onnx")
    sizes = [["N", "time", 4], ["N", "time", 4]]
    values = [helper.make_tensor_value_info("xy"[i], 1, sizes[i]) for i in range(2)]
    graph = helper.make_graph([helper.make_node("Relu", "x", "y")], "net", values[:1], values[1:])
    onnx.save(helper.make_model(graph, opset_imports=imports), "frames.onnx")
    np.save("shape.npy", np.array([3, -1], np.int64))
    np.save("narrow.npy", np.array([3, -1], np.int32))
    np.save("x.npy", np.arange(8, dtype=np.float32).reshape(2, 4))


FIXED = ("--define", "N=2", "--bind", "shape=shape.npy")


def test_a_symbol_and_a_shape_are_fixed_and_the_bundle_computes(glowmcu_cli: Run) -> None:
    ended = glowmcu_cli("compile", "net.onnx", "-o", "out", *FIXED, "--json")
    assert ended.exit_code == 0, ended.err
    body = json.loads(ended.out)
    assert [(row["name"], row["shape"]) for row in body["inputs"]] == [("x", [2, 4])]
    x = np.load("x.npy")
    (y,) = glowmcu.load("out").run([x])
    np.testing.assert_allclose(y, (x @ WEIGHTS).reshape(3, 2), rtol=1e-5, atol=1e-6)


def test_the_bundle_says_what_was_fixed(glowmcu_cli: Run) -> None:
    assert glowmcu_cli("compile", "net.onnx", "-o", "out", *FIXED).exit_code == 0
    options = glowmcu.load("out").manifest.options
    assert options["define"] == "N=2"
    assert options["bind"].startswith("shape:")
    assert "define=N=2" in Path("out/net.h").read_text()


def test_python_takes_the_same_options() -> None:
    bound = {"shape": np.array([6], np.int64).repeat(1)}
    with pytest.raises(glowmcu.GlowmcuError, match=r"bound to int64\[1\]; the model takes int64"):
        glowmcu.compile("net.onnx", define={"N": 2}, bind=bound, output="out")
    bound = {"shape": np.array([6, 1], np.int64)}
    bundle = glowmcu.compile("net.onnx", define={"N": 2}, bind=bound, output="out")
    assert bundle.report.outputs[0].shape == (6, 1)


def test_verify_compares_with_the_model_within_the_tolerance_of_float(glowmcu_cli: Run) -> None:
    glowmcu_cli("compile", "net.onnx", "-o", "out", *FIXED)
    ended = glowmcu_cli("verify", "out", "--model", "net.onnx", *FIXED[2:])
    assert ended.exit_code == 0, ended.err
    assert "equal within 1e-05" in ended.out


def test_verify_wants_the_values_that_the_bundle_was_compiled_with(glowmcu_cli: Run) -> None:
    glowmcu_cli("compile", "net.onnx", "-o", "out", *FIXED)
    ended = glowmcu_cli("verify", "out", "--model", "net.onnx")
    assert ended.exit_code == 2
    assert "error[GM609]: the bundle was compiled with these inputs bound: shape:" in ended.err
    assert "got none" in ended.err
    assert "hint: pass the same --bind NAME=FILE.npy" in ended.err


@pytest.mark.parametrize(
    ("exit_code", "arguments", "said"),
    [
        (3, ("--define", "N=2"), """\
error[GM112]: Reshape needs its shape known at compile time
  --> net.onnx, node 1 "reorder"
  hint: if it is always the same: --bind shape=value.npy; a static arena has no room for \
data-made shapes
"""),
        (2, ("--define", "M=2", *FIXED), """\
error[GM113]: no input has a symbolic size 'M'
  --> net.onnx
  hint: the symbolic sizes are: N
"""),
        (2, ("--bind", "shapes=shape.npy", *FIXED), """\
error[GM107]: no input is named 'shapes'
  --> net.onnx
  hint: did you mean 'shape'? the inputs are: x, shape
"""),
        (2, ("--define", "N=2", "--bind", "shape=narrow.npy"), """\
error[GM111]: input 'shape' is bound to int32[2]; the model takes int64[2]
  --> net.onnx, input 'shape'
  hint: save it as that: numpy.save(file, array.astype('int64'))
"""),
        (2, ("--define", "N=0"), """\
error[GM714]: --define takes SYMBOL=SIZE, the size at least 1, or SYMBOL=FROM..TO[:STEP], got 'N=0'
  hint: for example --define batch_size=1, --define time=1..200 or time=4..200:4
"""),
        (2, ("--bind", "shape"), """\
error[GM715]: --bind takes NAME=FILE.npy, got 'shape'
  hint: for example --bind axes=axes.npy
"""),
        (2, ("--bind", "shape=none.npy"), """\
error[GM712]: cannot read an input array: No such file or directory
  --> none.npy
  hint: check the path
"""),
    ],
    ids=[
        "unknown shape", "unknown symbol", "unknown input", "other type",
        "size zero", "no file named", "no such file",
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_the_flag_that_mends_it(
    glowmcu_cli: Run, exit_code: int, arguments: tuple[str, ...], said: str
) -> None:
    ended = glowmcu_cli("compile", "net.onnx", "-o", "out", *arguments)
    assert (ended.exit_code, ended.err) == (exit_code, said)
    assert not Path("out").exists()


def test_sizes_that_are_no_batch_are_asked_for(glowmcu_cli: Run) -> None:
    ended = glowmcu_cli("compile", "frames.onnx", "-o", "out")
    assert (ended.exit_code, ended.err) == (3, """\
error[GM104]: input 'x' has a dynamic shape, Nxtimex4; expected every size fixed
  --> frames.onnx, input 'x'
  hint: fix it: --define N=1 --define time=1; or each run says it: --define N=1 --define time=1..200
""")  # fmt: skip
    assert not Path("out").exists()
    ended = glowmcu_cli("compile", "frames.onnx", "-o", "out", "--define", "time=5", "--json")
    assert json.loads(ended.out)["inputs"][0]["shape"] == [1, 5, 4]


def test_an_open_batch_is_one_and_that_is_said(glowmcu_cli: Run) -> None:
    np.save("one.npy", np.array([3, 1], np.int64))
    bound = ("--bind", "shape=one.npy")
    note = "the file leaves the batch open: it is 1 (x is 1x4); --input-shape x=1x4 says so, "
    body = json.loads(glowmcu_cli("compile", "net.onnx", "-o", "out", *bound, "--json").out)
    assert body["inputs"][0]["shape"] == [1, 4]
    assert body["notes"][0] == note + "or another size"
    assert note[:50] in glowmcu_cli("compile", "net.onnx", "-o", "out", *bound).out
    assert json.loads(glowmcu_cli("inspect", "net.onnx", *bound, "--json").out)["notes"] == [
        note + "or another size"
    ]
    assert note[:50] in glowmcu_cli("inspect", "net.onnx", *bound).out
    np.save("rows.npy", np.eye(3, 4, dtype=np.float32))
    profiled = ("profile", "net.onnx", "--samples", "rows.npy", *bound)
    assert json.loads(glowmcu_cli(*profiled, "--json").out)["notes"] == [note + "or another size"]
    assert note[:50] in glowmcu_cli(*profiled).out
    ended = glowmcu_cli("compile", "net.onnx", "-o", "out", "--input-shape", "x=1x4", *bound)
    assert note[:50] not in ended.out


def test_inspect_shows_an_onnx_model_before_anything_is_fixed(glowmcu_cli: Run) -> None:
    body = json.loads(glowmcu_cli("inspect", "net.onnx", "--json").out)
    assert body["format"] == "onnx"
    assert body["inputs"][0]["shape"] == ["N", 4]
    assert [op["op"] for op in body["operators"]] == ["Gemm", "Reshape"]
    assert body["problems"][0]["code"] == "GM112"


def test_inspect_infers_what_the_file_leaves_open(glowmcu_cli: Run) -> None:
    body = json.loads(glowmcu_cli("inspect", "net.onnx", *FIXED, "--json").out)
    assert body["problems"] == []
    assert body["operators"][0]["macs"] == 24
    assert body["inputs"][0]["dtype"] == "float32"
    assert body["outputs"][0] == {
        "name": "y", "shape": [3, 2], "dtype": "float32", "scales": [], "zero_points": [],
    }  # fmt: skip
    text = glowmcu_cli("inspect", "net.onnx", *FIXED).out
    assert "float32[2x3]" in text
    assert "1 x Gemm, 1 x Reshape" in text


def test_ops_lists_both_formats_with_their_domains(glowmcu_cli: Run) -> None:
    rows = json.loads(glowmcu_cli("ops", "--json").out)
    assert {"tflite", "onnx"} == {row["format"] for row in rows}
    (gemm,) = [row for row in rows if row["operator"] == "Gemm"]
    assert (gemm["format"], gemm["domain"], gemm["family"]) == ("onnx", "ai.onnx", "matmul")
    assert all(row["notes"] for row in rows if row["format"] == "onnx")


def test_an_unknown_input_of_a_tflite_model_is_named_too(glowmcu_cli: Run) -> None:
    ended = glowmcu_cli("compile", "digits.tflite", "--bind", "y=pixels.npy")
    assert ended.exit_code == 2
    assert "error[GM107]: no input is named 'y'" in ended.err


def test_layouts_and_io_are_taken_at_the_command_line(glowmcu_cli: Run) -> None:
    node = helper.make_node("MaxPool", ["image"], ["y"], kernel_shape=[2, 2])
    tensors = [helper.make_tensor_value_info("image", 1, [1, 3, 6, 4])]
    results = [helper.make_tensor_value_info("y", 1, None)]
    graph = helper.make_graph([node], "net", tensors, results)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), "image.onnx")
    compiled = ("compile", "image.onnx", "-o", "out")
    ended = glowmcu_cli(*compiled, "--input-layout", "image=nhwc", "--json")
    assert json.loads(ended.out)["inputs"][0]["shape"] == [1, 6, 4, 3]
    assert glowmcu_cli("verify", "out", "--on", "host", "--model", "image.onnx").exit_code == 0
    for arguments, code in (
        (("--input-layout", "image"), "GM121"), (("--input-layout", "image=hwc"), "GM121"),
        (("--input-layout", "picture=nhwc"), "GM120"), (("--io", "int8"), "GM317"),
        (("--io", "int4"), "GM318"),
    ):  # fmt: skip
        ended = glowmcu_cli(*compiled, *arguments)
        assert (ended.exit_code, ended.err[:12]) == (2, f"error[{code}]")


def relu(sizes: list[Any]) -> bytes:
    x = helper.make_tensor_value_info("x", 1, sizes)
    y = helper.make_tensor_value_info("y", 1, sizes)
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    data: bytes = helper.make_model(graph).SerializeToString()
    return data


#: As exporters of Paddle's and others write them.
ODD_SIZES: dict[str, tuple[list[Any], str]] = {
    "-1 as a number": ([-1, 3, -1, -1], "--input-shape x=1x3x1x1"),
    "a question mark": ([-1, 3, "?", "?"], "--input-shape x=1x3x1x1"),
    "-1 as a name": ([1, "-1", "-1", 3], "--input-shape x=1x1x1x3"),
    "some have names": (["N", None, "T"], "--input-shape x=1x1x1"),
    "a blank": (["some batch", "T", 4], "--define 'some batch=1' --define T=1"),
    "one length": ([-1, 3, "T", 8], "--input-shape x=1x3x1x8"),
}


@pytest.mark.parametrize(("sizes", "options"), ODD_SIZES.values(), ids=ODD_SIZES)
def test_what_is_asked_for_can_be_typed(glowmcu_cli: Run, sizes: list[Any], options: str) -> None:
    Path("m.onnx").write_bytes(relu(sizes))
    asked = glowmcu_cli("compile", "m.onnx", "-o", "out")
    assert asked.err.startswith("error[GM104]")
    first, *others = asked.err.strip().partition("hint: fix it: ")[2].split("; ")
    assert first == options
    for typed in (first, *(other.removeprefix("or each run says it: ") for other in others)):
        ended = glowmcu_cli("compile", "m.onnx", "-o", "out", *shlex.split(typed))
        assert ended.exit_code == 0, ended.err
