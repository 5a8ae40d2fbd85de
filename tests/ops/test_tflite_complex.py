"""Spectra in `.tflite` files, as `tf.signal` makes them: RFFT2D and what reads complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.input_options import InputOptions
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference

schema = pytest.importorskip(
    "ai_edge_litert.schema_py_generated", reason="pip install ai-edge-litert"
)
flatbuffers = pytest.importorskip("flatbuffers", reason="pip install flatbuffers")


def spectrum_model(
    reader: str = "COMPLEX_ABS",
    length: int = 64,
    frames: int = 3,
    reshaped: str = "RESHAPE",
    is_open: bool = False,
) -> bytes:
    """Frames as [frames, 1, samples], RFFT2D, the axis of 1 gone, and one reader. `is_open`: how
    many frames there are is left to the application.
    """
    bins = length // 2 + 1
    first = -1 if is_open else frames

    def tensor(name: str, *rest: int) -> int:
        return model.tensor(name, (frames, *rest), "float32", shape_signature=(first, *rest))

    model = ModelBuilder()
    x = model.input("x", (frames, 1, length), "float32", shape_signature=(first, 1, length))
    spectrum = tensor("spectrum", 1, bins)
    row = model.constant("length", np.array([1, length], np.int32))
    model.op("RFFT2D", [x, row], [spectrum])
    flat = tensor("flat", bins)
    if reshaped == "RESHAPE":
        shape = model.constant("shape", np.array([-1, bins], np.int32))
        model.op("RESHAPE", [spectrum, shape], [flat])
    else:
        model.op("SQUEEZE", [spectrum], [flat], {"squeeze_dims": [1]})
    y = tensor("y", bins)
    model.op(reader, [flat], [y])
    model.output(y)
    return with_complex(model.finish(), "spectrum", "flat")


def with_complex(data: bytes, *names: str) -> bytes:
    """The same file with these tensors of complex numbers."""
    tables = schema.ModelT.InitFromObj(schema.Model.GetRootAs(data, 0))
    for tensor in tables.subgraphs[0].tensors:
        if tensor.name.decode() in names:
            tensor.type = schema.TensorType.COMPLEX64
    packed = flatbuffers.Builder(0)
    packed.Finish(tables.Pack(packed), b"TFL3")
    return bytes(packed.Output())


@pytest.mark.parametrize("reader", ["COMPLEX_ABS", "REAL", "IMAG", "CAST"])
@pytest.mark.parametrize("length", [16, 64, 512])
@pytest.mark.parametrize("reshaped", ["RESHAPE", "SQUEEZE"])
def test_spectra_equal_litert(reader: str, length: int, reshaped: str) -> None:
    data = spectrum_model(reader, length, reshaped=reshaped)
    draw = np.random.default_rng(length)
    frames = draw.normal(size=(3, 1, length)).astype(np.float32)
    check_model(data, [[frames]], run_litert_reference, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("reshaped", ["RESHAPE", "SQUEEZE"])
def test_the_user_says_how_many_frames_there_are(reshaped: str) -> None:
    data = spectrum_model(frames=1, reshaped=reshaped, is_open=True)
    options = Options("m", inputs=InputOptions(shapes={"x": (3, 1, 64)}))
    frames = np.random.default_rng(3).normal(size=(3, 1, 64)).astype(np.float32)

    def litert(_: bytes, inputs: Any) -> Any:
        return run_litert_reference(spectrum_model(reshaped=reshaped), inputs)

    check_model(data, [[frames]], litert, options, rtol=1e-5, atol=1e-4)


def refusal(data: bytes) -> str:
    with pytest.raises(GlowmcuError) as caught:
        compile_model(data, "m.tflite", Options("m"))
    return str(caught.value)


def changed(change: Any) -> bytes:
    tables = schema.ModelT.InitFromObj(schema.Model.GetRootAs(spectrum_model(), 0))
    change(tables)
    packed = flatbuffers.Builder(0)
    packed.Finish(tables.Pack(packed), b"TFL3")
    return bytes(packed.Output())


def test_what_else_reads_complex_numbers_is_refused() -> None:
    assert "ABS of complex numbers is not supported" in refusal(spectrum_model("ABS"))


def test_magnitudes_of_real_numbers_are_refused() -> None:
    model = ModelBuilder()
    x = model.input("x", (4,), "float32")
    y = model.tensor("y", (4,), "float32")
    model.op("COMPLEX_ABS", [x], [y])
    model.output(y)
    assert "COMPLEX_ABS: expected complex numbers" in refusal(model.finish())


def test_complex_inputs_and_outputs_are_refused() -> None:
    model = ModelBuilder()
    x = model.input("x", (4,), "float32")
    y = model.tensor("y", (4,), "float32")
    model.op("COMPLEX_ABS", [x], [y])
    model.output(y)
    assert "GM105" in refusal(with_complex(model.finish(), "x"))


def test_lengths_without_a_transform_are_refused() -> None:
    assert "rfft2d of 14 samples" in refusal(spectrum_model(length=14))


def test_more_rows_than_one_are_refused() -> None:
    def two_rows(tables: Any) -> None:
        index = next(t.buffer for t in tables.subgraphs[0].tensors if t.name == b"length")
        tables.buffers[index].data = np.frombuffer(np.array([3, 64], np.int32).tobytes(), np.uint8)

    assert "rfft2d: [3, 64] of" in refusal(changed(two_rows))


def test_a_spectrum_that_is_declared_otherwise_is_refused() -> None:
    def wrong(tables: Any) -> None:
        next(t for t in tables.subgraphs[0].tensors if t.name == b"spectrum").shape = [3, 1, 7]

    assert "complex (3, 1, 33) is declared as COMPLEX64 (3, 1, 7)" in refusal(changed(wrong))
