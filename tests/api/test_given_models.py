"""Models that are no files: bytes of either format, objects of onnx, of PyTorch and of Keras."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import glowmcu
from glowmcu.api import verify_bundle

REPO = Path(__file__).resolve().parents[2]
DIGITS = REPO / "examples" / "digits"
TFLITE, ONNX = DIGITS / "digits_int8.tflite", DIGITS / "digits.onnx"


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
@pytest.mark.parametrize("file", [TFLITE, ONNX], ids=["tflite", "onnx"])
def test_bytes_give_the_bundle_of_the_file(kind: type, file: Path, tmp_path: Path) -> None:
    data = file.read_bytes()
    (tmp_path / f"model{file.suffix}").write_bytes(data)
    made = glowmcu.compile(kind(data), output=tmp_path / "bytes")
    glowmcu.compile(tmp_path / f"model{file.suffix}", output=tmp_path / "file")
    assert made.manifest.name == "model"
    assert made.manifest.model_file == f"model{file.suffix}"
    assert made.manifest.model_sha256 == hashlib.sha256(data).hexdigest()
    mine, theirs = files(tmp_path / "bytes"), files(tmp_path / "file")
    assert mine.keys() == theirs.keys()
    # Facts hold notes, which tell what to type next for a file.
    assert [name for name in mine if mine[name] != theirs[name]] in ([], ["facts.json"])


def test_a_model_proto_gives_the_same_each_time(tmp_path: Path) -> None:
    proto = onnx.load(ONNX)
    first = glowmcu.compile(proto, output=tmp_path / "a")
    glowmcu.compile(proto, output=tmp_path / "b")
    assert first.manifest.model_file == "model.onnx"
    assert files(tmp_path / "a") == files(tmp_path / "b")
    sample = np.load(DIGITS / "test_samples.npz")["inputs"][:1]
    sample = sample.reshape(first.manifest.inputs[0].shape).astype(np.float32)
    of_file = glowmcu.compile(ONNX, output=tmp_path / "c")
    np.testing.assert_array_equal(*first.run([sample]), *of_file.run([sample]))


def test_one_profile_serves_all_forms_of_a_model(tmp_path: Path) -> None:
    data = ONNX.read_bytes()
    made = glowmcu.profile(data, DIGITS / "calibration.npz", limit=32)
    bundle = glowmcu.compile(ONNX, profile=made, output=tmp_path / "b")
    again = glowmcu.compile(data, profile=made, output=tmp_path / "c", name="digits")
    assert again.manifest.model_sha256 == bundle.manifest.model_sha256
    exported = glowmcu.export(data, tmp_path / "m.tflite", profile=made)
    assert exported.path.read_bytes()[4:8] == b"TFL3"
    assert verify_bundle(bundle, ["host"], 2, 0, data, profile=made).passed
    with pytest.raises(glowmcu.GlowmcuError, match="GM608"):
        verify_bundle(bundle, ["host"], 2, 0, TFLITE.read_bytes())


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "there are none"),
        (b"abcdefgh", "neither the bytes of a .tflite"),
        (b"PK\x03\x04 x", "a ZIP archive"),
        (b"\x89HDF\r\n\x1a\n", "a Keras model or weights"),
        (str(TFLITE).encode(), "they begin with"),
    ],
    ids=["none", "text", "zip", "hdf5", "a path"],
)
def test_bytes_that_are_no_model_say_so(data: bytes, says: str) -> None:
    with pytest.raises(glowmcu.GlowmcuError, match="GM101") as caught:
        glowmcu.compile(data)
    assert says in str(caught.value)


def test_bytes_have_the_limit_of_files() -> None:
    with glowmcu.memory_limit(4096), pytest.raises(glowmcu.GlowmcuError, match="GM110"):
        glowmcu.compile(TFLITE.read_bytes())


@pytest.mark.parametrize("given", [3, None, [1, 2], np.zeros(3), object()])
def test_what_is_no_model_is_refused_by_its_type(given: Any) -> None:
    with pytest.raises(glowmcu.GlowmcuError, match="GM116") as caught:
        glowmcu.compile(given)
    assert type(given).__name__ in str(caught.value)


def model_with_external_data(folder: Path) -> Path:
    weights = numpy_helper.from_array(np.ones((4, 300), np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 300])],
        [weights],
    )
    file = folder / "big.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, file, save_as_external_data=True, location="big.data")
    return file


def test_external_data_counts_where_it_was_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = model_with_external_data(tmp_path)
    assert (tmp_path / "big.data").exists()
    bundle = glowmcu.compile(onnx.load(file), output=tmp_path / "b")
    assert bundle.run([np.ones((1, 4), np.float32)])[0][0, 0] == 4
    monkeypatch.chdir(tmp_path)  # even where the file would be found by chance
    with pytest.raises(glowmcu.GlowmcuError, match="GM119"):
        glowmcu.compile(onnx.load(file, load_external_data=False))
    with pytest.raises(glowmcu.GlowmcuError, match=r"cannot read external data 'big.data'"):
        glowmcu.compile(file.read_bytes())


class FakeKeras:
    """As much of a Keras model as its export takes."""

    name = "My Model"
    inputs = ()

    def __init__(self, content: bytes = ONNX.read_bytes()) -> None:
        self.content = content
        self.asked: list[tuple[str, bool]] = []

    def predict(self, x: object) -> object:
        return x

    def export(self, path: str, format: str = "tf_saved_model", verbose: bool = True) -> None:
        self.asked.append((format, verbose))
        Path(path).write_bytes(self.content)


def test_a_keras_model_comes_through_its_own_exporter(tmp_path: Path) -> None:
    model = FakeKeras()
    bundle = glowmcu.compile(model, output=tmp_path / "b")
    assert model.asked == [("onnx", False)]
    assert bundle.manifest.model_file == "my_model.onnx"
    assert bundle.manifest.name == "my_model"


def test_what_an_exporter_says_is_passed_on() -> None:
    class Broken(FakeKeras):
        def export(self, path: str, format: str = "", verbose: bool = True) -> None:
            raise ImportError("tf2onnx is not installed\nand more")

    with pytest.raises(glowmcu.GlowmcuError, match="GM118") as caught:
        glowmcu.compile(Broken())
    assert "ImportError: tf2onnx is not installed" in str(caught.value)
    assert isinstance(caught.value.__cause__, ImportError)


def test_the_current_folder_does_not_matter_to_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bundle = glowmcu.compile(TFLITE.read_bytes())
    assert bundle.path == Path("build/model")


def test_no_framework_is_imported_for_a_file_or_bytes(tmp_path: Path) -> None:
    code = (
        "import sys, glowmcu; glowmcu.compile(open(sys.argv[1], 'rb').read(), output=sys.argv[2]); "
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, TFLITE, tmp_path / "b"],
        cwd=REPO, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert not {"torch", "keras", "tensorflow", "onnx", "pandas"} & set(done.stdout.split())


def open_model(batch: str, *sizes: int | str) -> onnx.ModelProto:
    """Relu of an input whose first size the file leaves open."""
    types = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, *sizes]) for name in "xy"
    ]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", types[:1], types[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def test_notes_on_a_model_in_memory_name_arguments_of_python(tmp_path: Path) -> None:
    model = open_model("N", 4)
    made = glowmcu.compile(model, output=tmp_path / "a")
    note = "the model leaves the batch open: it is 1 (x is 1x4); input_shapes={'x': (1, 4)} says so"
    assert made.notes[0] == f"{note}, or another size"
    assert not [n for n in glowmcu.compile(
        model, output=tmp_path / "b", input_shapes={"x": (1, 4)}
    ).notes if "batch" in n]  # fmt: skip
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    of_file = glowmcu.compile(tmp_path / "m.onnx", output=tmp_path / "c")
    assert "--input-shape x=1x4 says so" in of_file.notes[0]


def test_hints_for_a_model_in_memory_can_be_pasted_into_the_call(tmp_path: Path) -> None:
    model = open_model("N", "time", 4)
    with pytest.raises(glowmcu.GlowmcuError) as caught:
        glowmcu.compile(model, output=tmp_path / "a")
    hint = str(caught.value).partition("hint: ")[2]
    fixed, later = hint.split("; or each run says it: ")
    assert fixed == "fix it: define={'N': 1, 'time': 1}"
    assert later == "define={'N': 1, 'time': (1, 200)}"
    glowmcu.compile(model, output=tmp_path / "a", define={"N": 1, "time": 1})
