"""What is fuzzed: functions from bytes to nothing, with seeds to begin from.

A target may raise GlowmcuError, that is a refusal; whatever else it raises is a finding. Targets
that read a file get it in a folder in memory, so that millions of inputs wear no disk.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from glowmcu.board.read_board import read_board
from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.read_model import read_model
from glowmcu.frontend.summary import summarize_model
from glowmcu.goals import Goal
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.text import parse_graph, parse_program
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.manifest import read_manifest
from glowmcu.ops.registry import load_operations
from glowmcu.pipeline import compile_model
from glowmcu.quant.images import read_preprocessing
from glowmcu.quant.profile_file import read_profile
from glowmcu.quant.sample_source import SampleSource
from glowmcu.tuning.kernel_file import read_kernel_file
from glowmcu.tuning.labelled import read_labelled

REPO = Path(__file__).resolve().parents[1]
_SHARED = REPO.parent / "shared"
#: Larger seeds make every input slow, and hold nothing that a smaller one does not.
_MAX_SEED_BYTES = 16 << 10


@dataclass(frozen=True)
class Target:
    """`form` is how inputs are mutated: `tflite`, `onnx`, `text`, `arrays`."""

    name: str
    run: Callable[[bytes], None]
    seeds: Callable[[], Iterator[bytes]]
    form: str


@cache
def _file(name: str) -> Path:
    """A file of this process that every input overwrites."""
    path = Path(tempfile.mkdtemp(prefix="glowmcu-fuzz-")) / name
    path.parent.mkdir(exist_ok=True)
    return path


def _written(data: bytes, name: str) -> Path:
    path = _file(name)
    path.write_bytes(data)
    return path


# --- models --------------------------------------------------------------------------------------


def _read(data: bytes, name: str) -> None:
    read_model(data, name).verify()


def read_tflite_model(data: bytes) -> None:
    _read(data, "m.tflite")


def read_onnx_model(data: bytes) -> None:
    _read(data, "m.onnx")


def read_tosa_model(data: bytes) -> None:
    _read(data, "m.mlir")


def summarize(data: bytes) -> None:
    """`glowmcu inspect`, which shows what cannot be compiled, too."""
    summarize_model(data, "m.tflite" if data[4:8] == b"TFL3" else "m.onnx")


def compile_any(data: bytes) -> None:
    """All stages up to the files' text; the last byte chooses goal and core."""
    if not data:
        return
    kind, model = data[-1], data[:-1]
    core = ("cortex-m4", "generic", "cortex-m0plus", "cortex-m55")[kind % 4]
    goal = list(Goal)[kind // 4 % len(Goal)]
    name = "m.tflite" if model[4:8] == b"TFL3" else "m.onnx"
    streamed = ("x",) if kind >= 192 else ()
    inputs = InputOptions(streamed=streamed)
    compile_model(model, name, Options("m", core=core, goal=goal, inputs=inputs))


def _tflite_seeds() -> Iterator[bytes]:
    from tests.hostile.operator_models import OPERATOR_MODELS

    for make in OPERATOR_MODELS.values():
        yield make()
    yield from _files("*.tflite")


def _onnx_seeds() -> Iterator[bytes]:
    from benchmarks.fuzz_seeds import one_operator_models
    from tests.hostile.onnx_models import ONNX_MODELS

    for make in ONNX_MODELS.values():
        yield make()
    yield from one_operator_models()
    yield from _files("*.onnx")


def _files(pattern: str) -> Iterator[bytes]:
    for folder in (_SHARED / "repro", _SHARED / "models", REPO / "examples", REPO / "tests"):
        for path in sorted(folder.rglob(pattern)) if folder.is_dir() else ():
            if path.is_file() and path.stat().st_size <= _MAX_SEED_BYTES:
                yield path.read_bytes()


def _compile_seeds() -> Iterator[bytes]:
    for number, seed in enumerate((*_tflite_seeds(), *_onnx_seeds())):
        yield seed + bytes([number * 37 % 256])


def _any_seeds() -> Iterator[bytes]:
    yield from _tflite_seeds()
    yield from _onnx_seeds()


# --- samples -------------------------------------------------------------------------------------

_SUFFIXES = (".npy", ".npz", ".bin", ".png", ".jpg", ".bmp", ".gif", ".ppm", ".tif", ".webp")


@cache
def _image_graph() -> Graph:
    image = Value(TensorType((1, 4, 4, 3), ElementType.F32), "x")
    return Graph("main", (image,), (), (image,))


@cache
def _preprocessing_file() -> Path:
    return _written(b'{"size": [4, 4], "mean": 0.0, "scale": 255.0}', "preprocess.json")


def read_sample_file(data: bytes) -> None:
    """The last byte chooses what kind of file it is, and labels beside the samples."""
    if not data:
        return
    suffix = _SUFFIXES[data[-1] % len(_SUFFIXES)]
    path = _written(data[:-1], f"sample/sample{suffix}")
    images = suffix not in (".npy", ".npz", ".bin")
    settings = read_preprocessing(_preprocessing_file()) if images else None
    try:
        source = SampleSource(path.parent if images else path, settings)
        read_labelled(_image_graph(), source, None)
    finally:
        path.unlink()


def _sample_seeds() -> Iterator[bytes]:
    array = np.arange(96, dtype=np.float32).reshape(2, 4, 4, 3)
    for dtype in (np.float32, np.float64, np.int8, np.uint16, np.bool_, np.complex64):
        yield _npy(array.astype(dtype)) + b"\0"
    yield _npy(np.asfortranarray(array)) + b"\0"
    for save in (np.savez, np.savez_compressed):
        for arrays in ({"x": array}, {"inputs": array, "labels": np.array([0, 1])}):
            file = io.BytesIO()
            save(file, **arrays)
            yield file.getvalue() + b"\1"
    yield array[:1].tobytes() + b"\2"
    for path in ("lie.npy", "lie.npz"):
        if (_SHARED / "repro" / path).is_file():
            yield (_SHARED / "repro" / path).read_bytes() + bytes([path.endswith("z")])
    yield from _image_seeds()


def _image_seeds() -> Iterator[bytes]:
    from PIL import Image

    pixels = np.arange(5 * 6 * 3, dtype=np.uint8).reshape(5, 6, 3)
    kinds = ("PNG", "JPEG", "BMP", "GIF", "PPM", "TIFF", "WEBP")
    for number, kind in enumerate(kinds, 3):
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, kind)
        yield file.getvalue() + bytes([number])


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


# --- texts ---------------------------------------------------------------------------------------


def read_profile_text(data: bytes) -> None:
    read_profile(_written(data, "m.profile.json"))


def read_board_text(data: bytes) -> None:
    read_board(_written(data, "b.toml"))


def read_manifest_text(data: bytes) -> None:
    read_manifest(_written(data, "manifest.json").parent)


def read_settings_text(data: bytes) -> None:
    """Preprocessing in both syntaxes, and the choices of kernels."""
    for name in ("p.toml", "p.json"):
        with contextlib.suppress(GlowmcuError):
            read_preprocessing(_written(data, name))
    read_kernel_file(_written(data, "k.json"))


def read_ir_text(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    if "memref" in text:
        parse_program(text, load_operations())
    else:
        parse_graph(text, load_operations())


def _board_seeds() -> Iterator[bytes]:
    for path in sorted((REPO / "boards").glob("*.toml")):
        yield path.read_bytes()


def _manifest_seeds() -> Iterator[bytes]:
    from benchmarks.fuzz_seeds import small_compilations

    for made in small_compilations():
        yield made.manifest.to_json().encode()


def _ir_seeds() -> Iterator[bytes]:
    from benchmarks.fuzz_seeds import ir_texts

    for text in ir_texts():
        yield text.encode()


def _tosa_seeds() -> Iterator[bytes]:
    from benchmarks.fuzz_seeds import tosa_texts

    for text in tosa_texts():
        if len(text) <= _MAX_SEED_BYTES:
            yield text.encode()


def _profile_seeds() -> Iterator[bytes]:
    from benchmarks.fuzz_seeds import profile_texts

    for text in profile_texts():
        yield text.encode()


def _settings_seeds() -> Iterator[bytes]:
    from benchmarks.fuzz_seeds import kernel_file_texts

    yield b'size = [4, 4]\nmean = [0.0, 1, 2.5]\nscale = 255.0\nlayout = "NCHW"\ncolor = "bgr"\n'
    yield b'{"size": [4, 4], "mean": 0.0, "scale": [255.0, 1e-3, 2], "color": "gray"}'
    for text in kernel_file_texts():
        yield text.encode()


TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target("tflite", read_tflite_model, _tflite_seeds, "tflite"),
        Target("onnx", read_onnx_model, _onnx_seeds, "onnx"),
        Target("tosa", read_tosa_model, _tosa_seeds, "text"),
        Target("inspect", summarize, _any_seeds, "model"),
        Target("compile", compile_any, _compile_seeds, "model"),
        Target("samples", read_sample_file, _sample_seeds, "arrays"),
        Target("profile", read_profile_text, _profile_seeds, "text"),
        Target("board", read_board_text, _board_seeds, "text"),
        Target("manifest", read_manifest_text, _manifest_seeds, "text"),
        Target("settings", read_settings_text, _settings_seeds, "text"),
        Target("ir", read_ir_text, _ir_seeds, "text"),
    )
}
