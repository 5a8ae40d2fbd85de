"""Frames of cameras: what pixels mean, and that the C of a bundle makes the same of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.input_options import InputOptions
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.camera import CameraPixels, PixelFormat
from glowmcu.pipeline import application_graph
from glowmcu.verify.executors import executor
from tests.memplan.spatial_models import SpatialModel, Window
from tests.support.onnx_models import onnx_model
from tests.support.single_op import Tensor, ints, single_op_model

FORMATS = [item.value for item in PixelFormat]


def colour(kind: str, row: Array, column: int) -> tuple[int, ...]:
    """A pixel as red, green and blue, or as luma alone, told byte by byte."""
    if kind == "grey":
        return (int(row[column][0]),)
    if kind == "rgb888":
        return tuple(map(int, row[column]))
    one, two = map(int, row[column])
    if kind in ("rgb565", "rgb565be"):
        word = one * 256 + two if kind == "rgb565be" else two * 256 + one
        red, green, blue = word // 2048, word // 32 % 64, word % 32
        return red * 8 + red // 4, green * 4 + green // 16, blue * 8 + blue // 4
    pair = [int(byte) for at in (column // 2 * 2, column // 2 * 2 + 1) for byte in row[at]]
    y = one if kind == "yuyv" else two
    u, v = (pair[1], pair[3]) if kind == "yuyv" else (pair[0], pair[2])
    wanted = (
        y + (359 * (v - 128) + 128) // 256,
        y - (88 * (u - 128) + 183 * (v - 128) + 128) // 256,
        y + (454 * (u - 128) + 128) // 256,
    )
    return (y, *(min(max(value, 0), 255) for value in wanted))


def meant(kind: str, row: Array, column: int, channels: int) -> list[int]:
    """What the network gets of it, less 128."""
    found = colour(kind, row, column)
    if kind in ("yuyv", "uyvy"):
        found = found[:1] if channels == 1 else found[1:]
    if channels == 1 and len(found) == 3:
        red, green, blue = found
        found = ((77 * red + 150 * green + 29 * blue + 128) // 256,)
    return [value - 128 for value in (found * 3 if len(found) < channels else found)]


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("kind", FORMATS)
def test_pixels_mean_what_their_format_says(kind: str, channels: int) -> None:
    random = np.random.default_rng(1)
    op = CameraPixels(PixelFormat(kind), 1, 2, (5, 7), channels)
    frame = random.integers(0, 256, (1, 8, 10, op.format.pixel_bytes), dtype=np.uint8)
    frame[0, 1:3] = random.choice(np.array([0, 255], np.uint8), frame[0, 1:3].shape)
    x = TensorType(frame.shape, ElementType.UI8)
    (shape,) = op.infer([x])
    types = Signature((x,), (TensorType(shape, ElementType.I8),))
    op.verify(types)
    (image,) = op.evaluate([frame], types, Rounding.DOUBLE)
    for row in range(5):
        for column in range(7):
            want = meant(kind, frame[0, row + 1], column + 2, channels)
            assert image[0, row, column].tolist() == want


def test_what_is_no_part_of_a_frame() -> None:
    frame = TensorType((1, 8, 10, 2), ElementType.UI8)
    for op in (
        CameraPixels(PixelFormat.RGB565, 4, 0, (5, 5)),
        CameraPixels(PixelFormat.RGB565, -1, 0, (5, 5)),
        CameraPixels(PixelFormat.RGB565, 0, 0, (0, 5)),
        CameraPixels(PixelFormat.YUYV, 0, 1, (5, 5)),
        CameraPixels(PixelFormat.GREY, 0, 0, (5, 5)),
        CameraPixels(PixelFormat.RGB565, 0, 0, (5, 5), 2),
    ):
        with pytest.raises(OperationError):
            op.infer([frame])
    odd = TensorType((1, 8, 9, 2), ElementType.UI8)
    with pytest.raises(OperationError, match="pairs"):
        CameraPixels(PixelFormat.UYVY, 0, 0, (5, 5)).infer([odd])


def network(channels: int) -> bytes:
    """A convolution on an image of 6 x 8."""
    model = SpatialModel(3)
    return model.finish(model.conv(model.input(6, 8, channels), 5, Window((3, 3))))


def means(image: Array, times: int) -> Array:
    """Of squares, halves away from zero."""
    height, width, channels = image.shape
    squares = image.reshape(height // times, times, width // times, times, channels)
    sums = squares.astype(np.int64).sum(axis=(1, 3))
    return (np.sign(sums) * ((np.abs(sums) + times * times // 2) // (times * times))).astype(
        np.int8
    )


def cropped(kind: str, frame: Array, channels: int, times: int) -> Array:
    """The middle of a frame as the image that the network reads."""
    _, height, width, _ = frame.shape
    top, left = (height - 6 * times) // 2, (width - 8 * times) // 2
    left -= left % 2 if kind in ("yuyv", "uyvy") else 0
    image = np.array(
        [
            [meant(kind, frame[0, top + y], left + x, channels) for x in range(8 * times)]
            for y in range(6 * times)
        ],
        np.int8,
    )
    return means(image, times)[np.newaxis]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("kind", FORMATS)
def test_the_middle_of_a_frame_in_c(
    kind: str, channels: int, streamed: bool, tmp_path: Path
) -> None:
    """22 x 17 pixels hold the image twice."""
    model = tmp_path / "m.tflite"
    model.write_bytes(network(channels))
    plain = application_graph(model.read_bytes(), "m.tflite")[0]
    name = plain.arguments[0].name
    bundle = glowmcu.compile(
        model, board="nrf52", output=tmp_path / "out", camera={name: f"{kind}:22x17"},
        stream_inputs=[name] if streamed else [],
    )  # fmt: skip
    random = np.random.default_rng(2)
    for _ in range(3):
        frame = random.integers(0, 256, bundle.manifest.inputs[0].shape, dtype=np.uint8)
        (want,) = run_graph(plain, [cropped(kind, frame, channels, 2)])
        assert np.array_equal(bundle.run([frame])[0], want)


@pytest.mark.parametrize("frame", ["rgb565:20x30:stretch", "yuyv:6x4", "grey:8x6", "grey:7x200"])
def test_frames_that_are_resized(frame: str, tmp_path: Path) -> None:
    """All of them, smaller ones, and such of the image's own size."""
    model = tmp_path / "m.tflite"
    model.write_bytes(network(3))
    name = application_graph(model.read_bytes(), "m.tflite")[0].arguments[0].name
    bundle = glowmcu.compile(model, output=tmp_path / "out", camera={name: frame})
    inputs = InputOptions(cameras={name: frame})
    graph, _ = application_graph(model.read_bytes(), "m.tflite", inputs=inputs)
    random = np.random.default_rng(4)
    for _ in range(3):
        x = random.integers(0, 256, bundle.manifest.inputs[0].shape, dtype=np.uint8)
        assert np.array_equal(bundle.run([x])[0], run_graph(graph, [x])[0])


def test_a_model_of_uint8(tmp_path: Path) -> None:
    """Which makes int8 of its pixels at once."""
    shape = (1, 6, 8, 3)
    builder = ModelBuilder()
    image = builder.input("image", shape, "uint8", 1 / 255, 0)
    result = builder.tensor("result", shape, "int8", 1 / 255, -128)
    builder.op("QUANTIZE", [image], [result], {})
    builder.output(result)
    model = builder.finish()
    (tmp_path / "m.tflite").write_bytes(model)
    name = application_graph(model, "m.tflite")[0].arguments[0].name
    bundle = glowmcu.compile(
        tmp_path / "m.tflite", output=tmp_path / "out", camera={name: "rgb888:8x6"}
    )
    x = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    assert np.array_equal(bundle.run([x])[0], x.astype(np.int16) - 128)


@pytest.mark.arm
@pytest.mark.parametrize("board", ["rp2040", "nrf52"])
def test_frames_on_cores(board: str, tmp_path: Path) -> None:
    model = tmp_path / "m.tflite"
    model.write_bytes(network(3))
    name = application_graph(model.read_bytes(), "m.tflite")[0].arguments[0].name
    bundle = glowmcu.compile(
        model, board=board, output=tmp_path / "out", camera={name: "uyvy:22x17"}
    )
    runner = executor("cortex-m", bundle.board, count=False)
    if (missing := runner.missing()) is not None:
        pytest.skip(missing)
    x = np.random.default_rng(3).integers(0, 256, (1, 17, 22, 2), dtype=np.uint8)
    (got,) = runner.run(bundle.path, [[x]])
    assert np.array_equal(got.outputs[0], bundle.run([x])[0])


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ("rgb:20x30", "no format is 'rgb'"),
        ("grey", "FORMAT:WIDTHxHEIGHT"),
        ("grey:20", "FORMAT:WIDTHxHEIGHT"),
        ("grey:0x5", "FORMAT:WIDTHxHEIGHT"),
        ("grey:-2x5", "FORMAT:WIDTHxHEIGHT"),
        ("grey:20x30:squeeze", "FORMAT:WIDTHxHEIGHT"),
        ("grey:40000x40000", "below 32768"),
        ("yuyv:21x16", "come in pairs"),
    ],
)
def test_frames_that_are_none(frame: str, said: str, tmp_path: Path) -> None:
    model = tmp_path / "m.tflite"
    model.write_bytes(network(3))
    name = application_graph(model.read_bytes(), "m.tflite")[0].arguments[0].name
    for given, words in (({name: frame}, said), ({"none": "grey:8x6"}, "no input has that name")):
        with pytest.raises(GlowmcuError, match="GM153") as caught:
            glowmcu.compile(model, output=tmp_path / "out", camera=given)
        assert words in str(caught.value)
        assert not (tmp_path / "out").exists()


def test_an_input_that_is_no_image(tmp_path: Path) -> None:
    plain = [Tensor((1, 12), "int8", 0.1, 0), ints(1, 12)]
    flat = single_op_model("RESHAPE", plain, [Tensor((1, 12), "int8", 0.1, 0)])
    real = [Tensor((1, 2, 2, 3), "float32"), ints(1, 12)]
    floats = single_op_model("RESHAPE", real, [Tensor((1, 12), "float32")])
    for data, said in ((flat, "no image"), (floats, "pixels are bytes")):
        (tmp_path / "m.tflite").write_bytes(data)
        name = application_graph(data, "m.tflite")[0].arguments[0].name
        with pytest.raises(GlowmcuError, match="GM153") as caught:
            glowmcu.compile(
                tmp_path / "m.tflite", output=tmp_path / "out", camera={name: "grey:20x20"}
            )
        assert said in str(caught.value)


def onnx_network(folder: Path, low: float, high: float) -> tuple[Path, Path]:
    """A float image classifier in NCHW, as exporters write it, and samples of its pixels."""
    random = np.random.default_rng(6)
    weights = random.normal(size=(4, 3, 3, 3)).astype(np.float32)
    image = ("x", "float32", (1, 3, 6, 8))
    (folder / "m.onnx").write_bytes(onnx_model("Conv", [image, weights]))
    pixels = random.uniform(low, high, (8, 3, 6, 8)).astype(np.float32)
    pixels[0, 0, 0, :2] = low, high
    np.save(folder / "pixels.npy", pixels)
    return folder / "m.onnx", folder / "pixels.npy"


def test_a_frame_becomes_an_image_of_channels_first(tmp_path: Path) -> None:
    model, samples = onnx_network(tmp_path, 0.0, 1.0)
    plain = glowmcu.compile(model, output=tmp_path / "plain", samples=samples)
    bundle = glowmcu.compile(
        model, output=tmp_path / "out", samples=samples, camera={"x": "rgb565:22x17"}
    )
    frame = np.random.default_rng(2).integers(0, 256, (1, 17, 22, 2), dtype=np.uint8)
    image = cropped("rgb565", frame, 3, 2).transpose(0, 3, 1, 2)
    assert np.array_equal(bundle.run([frame])[0], plain.run([np.ascontiguousarray(image)])[0])


@pytest.mark.parametrize(
    ("low", "high", "is_said"),
    [(0, 1, False), (-1, 1, False), (0, 255, False), (-2.1, 2.6, True), (0, 0.8, True)],
)
def test_pixels_of_other_ranges_are_told(
    low: float, high: float, is_said: bool, tmp_path: Path
) -> None:
    model, samples = onnx_network(tmp_path, low, high)
    bundle = glowmcu.compile(
        model, output=tmp_path / "out", samples=samples, camera={"x": "grey:8x6"}
    )
    said = f"pixels from 0 to 255 become {low:.3g} to {high:.3g}"
    assert any(said in note for note in bundle.notes) == is_said
