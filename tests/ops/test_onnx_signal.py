"""Windows, mel filters and spectra of ONNX: as ONNX's own evaluator has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.onnx_models import finished, onnx_model, run_onnxruntime, run_reference


def times_constant(
    kind: str, operands: list[np.ndarray], shape: tuple[int, ...], **attributes: Any
) -> bytes:
    """x times what the operator makes of constants: a constant may not be an output."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    names = [f"c{i}" for i in range(len(operands))]
    constants = [onnx.numpy_helper.from_array(a, n) for a, n in zip(operands, names, strict=True)]
    nodes = [
        onnx.helper.make_node(kind, names, ["w"], **attributes),
        onnx.helper.make_node("Mul", ["x", "w"], ["y"]),
    ]
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)
    return finished(onnx, nodes, [x], [onnx.ValueInfoProto(name="y")], constants)


WINDOWS = ("HannWindow", "HammingWindow", "BlackmanWindow")


#: Of one symmetric sample ONNX divides by 0.
SIZES = [*((size, 1) for size in (1, 2, 7, 10, 400)), *((size, 0) for size in (2, 7, 400))]


@pytest.mark.parametrize(("size", "periodic"), SIZES)
@pytest.mark.parametrize("kind", WINDOWS)
def test_windows_equal_onnx(kind: str, size: int, periodic: int) -> None:
    data = times_constant(kind, [np.array(size, np.int64)], (size,), periodic=periodic)
    check_model(data, oracle=run_reference, count=1, atol=1e-6)


def mel(channels: int, length: int, rate: int, lower: float, upper: float) -> list[np.ndarray]:
    whole = [np.array(value, np.int64) for value in (channels, length, rate)]
    return [*whole, np.array(lower, np.float32), np.array(upper, np.float32)]


@pytest.mark.parametrize(
    "numbers",
    [(8, 64, 8192, 0.0, 4096.0), (40, 512, 16000, 125.0, 7500.0), (3, 16, 16000, 20.0, 300.0)],
    ids=["of the standard", "of speech", "channels of one bin"],
)
def test_mel_filters_equal_onnx(numbers: tuple[Any, ...]) -> None:
    shape = (numbers[1] // 2 + 1, numbers[0])
    data = times_constant("MelWeightMatrix", mel(*numbers), shape)
    check_model(data, oracle=run_reference, count=1, atol=1e-6)


REFUSED = {
    "beyond the spectrum": (mel(8, 64, 8000, 0.0, 9000.0), "lies beyond the 33 bins"),
    "no channels": (mel(0, 64, 8000, 0.0, 4000.0), "0 channels from"),
    "edges exchanged": (mel(8, 64, 8000, 4000.0, 100.0), "from 4000.0 to 100.0 Hz"),
    "no number": (mel(8, 64, 8000, 0.0, float("nan")), "to nan Hz"),
    "no rate": (mel(8, 64, 0, 0.0, 100.0), "at 0 Hz"),
}


@pytest.mark.parametrize(("operands", "words"), REFUSED.values(), ids=REFUSED)
def test_mel_filters_that_cannot_be_are_refused(operands: list[np.ndarray], words: str) -> None:
    with pytest.raises(GlowmcuError, match=words) as caught:
        compile_model(times_constant("MelWeightMatrix", operands, (33, 8)), "m.onnx", Options("m"))
    assert caught.value.code == "GM106"


@pytest.mark.parametrize("size", [-1, 2**40], ids=["negative", "of any memory"])
def test_windows_that_cannot_be_are_refused(size: int) -> None:
    data = times_constant("HannWindow", [np.array(size, np.int64)], (4,))
    with pytest.raises(GlowmcuError, match=r"GM106|GM114"):
        compile_model(data, "m.onnx", Options("m"))


def whole(value: int) -> np.ndarray:
    return np.array(value, np.int64)


SPECTRA: dict[str, tuple[int, tuple[int, ...], list[Any], dict[str, int]]] = {
    "real, onesided": (17, (2, 64, 1), [], {"onesided": 1}),
    "real, all bins": (17, (2, 30, 1), [], {}),
    "complex": (17, (2, 16, 2), [], {}),
    "complex and back": (17, (2, 20, 2), [], {"inverse": 1}),
    "real and back": (20, (2, 12, 1), [], {"inverse": 1}),
    "an odd length": (17, (1, 45, 1), [], {"onesided": 1}),
    "a prime length": (17, (1, 7, 2), [], {}),
    "a prime length, back": (20, (1, 13, 2), [], {"inverse": 1}),
    "two samples": (17, (3, 2, 2), [], {}),
    "one sample": (17, (3, 1, 1), [], {}),
    "zeros behind": (17, (1, 20, 1), [whole(32)], {"onesided": 1}),
    "cut off": (17, (1, 40, 2), [whole(32)], {}),
    "an outer axis": (20, (3, 8, 5, 1), [None, whole(1)], {}),
    "an axis from the end": (20, (8, 3, 2), [whole(6), whole(-3)], {"inverse": 1}),
    "an axis by attribute": (17, (3, 12, 2, 1), [], {"axis": 1, "onesided": 1}),
    "half a spectrum to samples": (20, (2, 9, 2), [], {"inverse": 1, "onesided": 1}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("opset", "shape", "operands", "attributes"), SPECTRA.values(), ids=SPECTRA
)
def test_spectra_equal_onnx(
    opset: int, shape: tuple[int, ...], operands: list[Any], attributes: dict[str, int]
) -> None:
    data = onnx_model("DFT", [("x", "float32", shape), *operands], attributes, opset=opset)
    check_model(data, oracle=run_reference, count=2, rtol=1e-5)


FRAMES: dict[str, tuple[tuple[int, ...], list[Any], dict[str, int]]] = {
    "a window": ((2, 64, 1), [whole(4), np.hanning(16).astype(np.float32)], {}),
    "samples left over": (
        (1, 64, 1), [whole(5), np.hanning(16).astype(np.float32), whole(16)], {},
    ),
    "no window, all bins": ((1, 64, 1), [whole(8), None, whole(15)], {"onesided": 0}),
    "one frame": ((1, 64, 1), [whole(7), np.ones(64, np.float32)], {}),
}  # fmt: skip


@pytest.mark.parametrize(("shape", "operands", "attributes"), FRAMES.values(), ids=FRAMES)
def test_spectra_of_frames_equal_onnx(
    shape: tuple[int, ...], operands: list[Any], attributes: dict[str, int]
) -> None:
    data = onnx_model("STFT", [("x", "float32", shape), *operands], attributes)
    check_model(data, oracle=run_reference, count=2, rtol=1e-5)


def test_a_signal_may_lack_the_axis_of_real_numbers() -> None:
    """As PyTorch's older exporter leaves it out."""
    window = np.hanning(16).astype(np.float32)
    data = onnx_model("STFT", [("x", "float32", (2, 64)), whole(5), window])
    check_model(data, oracle=run_onnxruntime, count=2, rtol=1e-5)


def test_a_spectrum_of_mels_is_computed_by_one_bundle() -> None:
    """Samples to frames, power and mel channels, as exporters write a front end."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    node, number = onnx.helper.make_node, onnx.numpy_helper.from_array
    nodes = [
        node("HannWindow", ["length"], ["window"]),
        node("STFT", ["x", "step", "window"], ["stft"]),
        node("Mul", ["stft", "stft"], ["squares"]),
        node("ReduceSum", ["squares", "last"], ["power"], keepdims=0),
        node("MelWeightMatrix", ["channels", "length", "rate", "low", "high"], ["mel"]),
        node("MatMul", ["power", "mel"], ["energies"]),
        node("Add", ["energies", "little"], ["positive"]),
        node("Log", ["positive"], ["y"]),
    ]
    constants = {
        "length": whole(64), "step": whole(32), "last": np.array([-1]), "channels": whole(6),
        "rate": whole(8000), "low": np.float32(60), "high": np.float32(3800),
        "little": np.float32(1e-3),
    }  # fmt: skip
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (1, 160, 1))
    stored = [number(np.array(value), name) for name, value in constants.items()]
    data = finished(onnx, nodes, [x], [onnx.ValueInfoProto(name="y")], stored)
    check_model(data, oracle=run_reference, count=3, rtol=1e-5)


UNFIT = {
    "whole numbers": ("DFT", ("x", "int32", (1, 8, 1)), [], "expected float32"),
    "three parts": ("DFT", ("x", "float32", (1, 8, 3)), [], "expected float32"),
    "a long prime": ("DFT", ("x", "float32", (1, 509, 1)), [], "of 509 samples"),
    "an axis of parts": (
        "DFT", ("x", "float32", (1, 8, 2)), [None, whole(2)], "has real and imaginary parts",
    ),
    "no step": (
        "STFT", ("x", "float32", (1, 8, 1)), [whole(0), None, whole(4)], "frames of 4 by 0",
    ),
    "long frames": (
        "STFT", ("x", "float32", (1, 8, 1)), [whole(1), None, whole(9)], "frames of 9 by 1 of 8",
    ),
    "another window": (
        "STFT", ("x", "float32", (1, 8, 1)), [whole(1), np.ones(3, np.float32), whole(4)],
        "a window .* for frames of 4 samples",
    ),
    "complex frames": (
        "STFT", ("x", "float32", (1, 8, 2)), [whole(1), None, whole(4)], "expected real signals",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "x", "operands", "words"), UNFIT.values(), ids=UNFIT)
def test_spectra_that_cannot_be_are_refused(
    kind: str, x: Any, operands: list[Any], words: str
) -> None:
    data = onnx_model(kind, [x, *operands], opset=20 if kind == "DFT" else 17)
    with pytest.raises(GlowmcuError, match=words) as caught:
        compile_model(data, "m.onnx", Options("m"))
    assert caught.value.code == "GM106"
