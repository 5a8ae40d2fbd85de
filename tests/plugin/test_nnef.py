"""plugin_examples/nnef: networks in NNEF are those that the same networks in ONNX are."""

from __future__ import annotations

import io
import json
import shlex
import struct
import tarfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from tests.docs.blocks import typed_lines
from tests.plugin.installed import REPO, glowmcu, install, run

SOURCE = REPO / "plugin_examples" / "nnef"
GRAPH = """
version 1.0;
# a comment
graph net( x ) -> ( y )
{
    x = external<scalar>(shape = [1, 3, 9, 8]);
    w1 = variable<scalar>(shape = [4, 3, 3, 3], label = 'first/weights');
    b1 = variable<scalar>(shape = [1, 4], label = 'first/bias');
    c1 = conv(x, w1, b1, stride = [2, 2]);
    r1 = relu(c1);
    w2 = variable<scalar>(shape = [8, 1, 3, 3], label = 'depthwise');
    c2 = conv(r1, w2, groups = 0, padding = [(1, 1), (1, 1)]);
    p2 = max_pool(c2, size = [1, 1, 2, 2], border = 'ignore', stride = [1, 1, 2, 2]);
    m2 = mul(p2, -0.5);
    s2 = sigmoid(m2);
    a2 = add(m2, s2);
    f2 = reshape(a2, shape = [1, -1]);
    w3 = variable<scalar>(shape = [5, 48], label = 'dense');
    d3 = linear(f2, w3, 0.25);
    y = softmax(d3);
}
"""
COMPARE = """
import sys
import numpy as np
import glowmcu

nnef, onnx, folder = sys.argv[1:]
bundles = [glowmcu.compile(model, output=f"{folder}/{i}", name="net")
           for i, model in enumerate((nnef, onnx))]
x = np.random.default_rng(5).normal(size=(1, 3, 9, 8)).astype(np.float32)
results = [bundle.run([x])[0] for bundle in bundles]
assert np.array_equal(*results), results
import onnxruntime
(wanted,) = onnxruntime.InferenceSession(onnx).run(None, {"x": x})
assert np.allclose(results[0], wanted, atol=1e-6), (results[0], wanted)
assert glowmcu.compile(open(nnef, "rb").read(), output=f"{folder}/bytes").report.macs > 0
"""


def weights() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(2)
    shapes = {
        "first/weights": (4, 3, 3, 3), "first/bias": (1, 4), "depthwise": (8, 1, 3, 3),
        "dense": (5, 48),
    }  # fmt: skip
    return {
        name: generator.normal(0, 0.4, shape).astype(np.float32) for name, shape in shapes.items()
    }


def tensor_file(data: np.ndarray, bits: int = 32, kind: int = 0) -> bytes:
    extents = (*data.shape, *(0,) * (8 - data.ndim))
    header = struct.pack(
        "<2sBBII8III", b"N\xef", 1, 0, data.nbytes, data.ndim, *extents, bits, kind
    )
    return header + bytes(128 - len(header)) + data.tobytes()


def packed(files: Mapping[str, bytes], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def network(graph: str = GRAPH) -> dict[str, bytes]:
    tensors = {f"{name}.dat": tensor_file(data) for name, data in weights().items()}
    return {"graph.nnef": graph.encode(), **tensors}


def onnx_twin(path: Path) -> Path:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper, w = onnx.helper, weights()
    constants = {
        "w1": w["first/weights"], "b1": w["first/bias"][0], "w2": w["depthwise"], "w3": w["dense"],
        "b3": np.full(5, 0.25, np.float32), "half": np.array(-0.5, np.float32),
        "flat": np.array([1, -1], np.int64),
    }  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], strides=[2, 2], auto_pad="SAME_UPPER"),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], group=4, pads=[1, 1, 1, 1]),
        helper.make_node("MaxPool", ["c2"], ["p2"], kernel_shape=[2, 2], strides=[2, 2],
                         pads=[0, 0, 1, 0]),
        helper.make_node("Mul", ["p2", "half"], ["m2"]),
        helper.make_node("Sigmoid", ["m2"], ["s2"]),
        helper.make_node("Add", ["m2", "s2"], ["a2"]),
        helper.make_node("Reshape", ["a2", "flat"], ["f2"]),
        helper.make_node("Gemm", ["f2", "w3", "b3"], ["d3"], transB=1),
        helper.make_node("Softmax", ["d3"], ["y"]),
    ]  # fmt: skip
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("x", 1, [1, 3, 9, 8])],
        [helper.make_tensor_value_info("y", 1, [1, 5])],
        [onnx.numpy_helper.from_array(data, name) for name, data in constants.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(SOURCE, tmp_path_factory.mktemp("nnef") / "site")


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_network_gives_the_bytes_of_the_same_network_in_onnx(
    mode: str, site: Path, tmp_path: Path
) -> None:
    model = tmp_path / "net.nnef"
    model.write_bytes(packed(network(), mode))
    done = run(site, "-c", COMPARE, model, onnx_twin(tmp_path / "net.onnx"), tmp_path / "out")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_commands_of_its_page_do_what_it_says(site: Path, tmp_path: Path) -> None:
    (tmp_path / "net.nnef").write_bytes(packed(network()))
    text = (SOURCE / "README.md").read_text(encoding="utf-8")
    commands = [shlex.split(one.text) for one in typed_lines(text)]
    assert [words[1] for words in commands] == ["install", "inspect", "compile", "verify"]
    for words in commands[1:]:
        done = glowmcu(site, *words[1:], folder=tmp_path)
        assert done.returncode == 0, done.stderr
    shown = json.loads(glowmcu(site, "inspect", "net.nnef", "--json", folder=tmp_path).stdout)
    assert shown["format"] == "nnef"
    assert [op["op"] for op in shown["operators"] if op["op"] != "-"] == [
        "conv", "relu", "conv", "max_pool", "mul", "sigmoid", "add", "reshape", "linear", "softmax",
    ]  # fmt: skip


BROKEN = {
    "no tar": (b"nothing", "GM101", "not an NNEF model"),
    "no graph": (packed({"other": b""}), "GM101", "there is no graph.nnef in it"),
    "no statement": (packed(network(GRAPH.replace("relu(c1)", "relu"))), "GM101", "flat syntax"),
    "deep nesting": (packed(network(GRAPH.replace("relu(c1)", "relu(" + "[" * 5000))), "GM101", ""),
    "no such tensor": (
        packed({"graph.nnef": GRAPH.encode()}), "GM105", "no tensor file first/weights.dat",
    ),
    "half floats": (
        packed(network() | {"dense.dat": tensor_file(np.zeros((5, 48), np.float32), 16)}),
        "GM101", "16 bits of kind 0x0; expected float32",
    ),
    "a short tensor": (
        packed(network() | {"dense.dat": tensor_file(np.zeros((5, 48), np.float32))[:-1]}),
        "GM101", "(5, 48) was expected",
    ),
    "two unknown operations": (
        packed(network(GRAPH.replace("relu(", "gelu(").replace("linear(f2", "box(w3"))),
        "GM102", "box is not supported",
    ),
    "another argument": (
        packed(network(GRAPH.replace("groups = 0", "group = 4"))), "GM105", "conv takes input",
    ),
    "no such operand": (
        packed(network(GRAPH.replace("relu(c1)", "relu(c9)"))), "GM105", "c9",
    ),
    "operands that do not fit": (
        packed(network(GRAPH.replace("[1, -1]", "[1, 7]"))), "GM106", "",
    ),
}  # fmt: skip


TRY_ALL = """
import json, sys
from pathlib import Path
import glowmcu

found = {}
for path in sorted(Path(sys.argv[1]).glob("*.nnef")):
    try:
        glowmcu.compile(path)
    except glowmcu.GlowmcuError as cause:
        found[path.stem] = str(cause)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def refusals(site: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said of each broken file, by one process."""
    folder = tmp_path_factory.mktemp("broken")
    for name, (data, _, _) in BROKEN.items():
        (folder / f"{name}.nnef").write_bytes(data)
    done = run(site, "-c", TRY_ALL, folder)
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_read_is_refused_with_its_place(
    name: str, refusals: dict[str, str]
) -> None:
    _, code, said = BROKEN[name]
    assert f"error[{code}]" in refusals[name]
    assert said in refusals[name]
    assert f"{name}.nnef" in refusals[name]
