"""Windows of ONNX models slide along the axis that their layers take for height, wherever it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.cli import main
from glowmcu.cli.input_arguments import parse_slides
from glowmcu.errors import GlowmcuError
from glowmcu.ir.interpreter import Session, run_graph
from glowmcu.lowering.passes import lower
from glowmcu.lowering.slide_windows import slide
from glowmcu.pipeline import reference_graph
from glowmcu.slides import Slide
from tests.support.onnx_models import finished

onnx = pytest.importorskip("onnx", reason="pip install onnx")
helper, numpy_helper = onnx.helper, onnx.numpy_helper

STEPS = 20


class Network:
    """Layers one behind the other, of small random weights."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(11)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.value = "x"

    def constant(self, data: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(data, f"c{len(self.constants)}"))
        return str(self.constants[-1].name)

    def add(self, kind: str, *more: str, **attributes: object) -> None:
        result = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, [self.value, *more], [result], **attributes))
        self.value = result

    def conv(self, *shape: int, **attributes: object) -> None:
        weights = self.random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
        self.add("Conv", self.constant(weights.astype(np.float32)), **attributes)
        self.add("Relu")

    def finish(self, *shape: int) -> bytes:
        x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)
        y = onnx.ValueInfoProto(name=self.value)
        return finished(onnx, self.nodes, [x], [y], self.constants)


def causal() -> bytes:
    """PyTorch's Conv1d on (batch, channels, time), padded in front; the newest step is read."""
    network = Network()
    for dilation in (1, 2, 4):
        pads = network.constant(np.array([0, 0, 2 * dilation, 0, 0, 0], np.int64))
        network.add("Pad", pads)
        network.conv(6, 6, 3, dilations=[dilation])
    network.add("Gather", network.constant(np.array(-1, np.int64)), axis=2)
    return network.finish(1, 6, 24)


def image() -> bytes:
    """Conv2d on (batch, 1, rows, columns), which the mean of all rows ends."""
    network = Network()
    network.conv(4, 1, 5, 3, strides=[2, 1], pads=[2, 1, 2, 1])
    network.conv(4, 4, 3, 3)
    network.add("GlobalAveragePool")
    return network.finish(1, 1, 20, 6)


def flat() -> bytes:
    """One vector that the network itself makes an image of."""
    network = Network()
    network.add("Reshape", network.constant(np.array([1, 1, 20, 6], np.int64)))
    network.conv(4, 1, 3, 6)
    return network.finish(1, 120)


def channels_last() -> bytes:
    """As Keras hands over time steps, turned by the network."""
    network = Network()
    network.add("Transpose", perm=[0, 2, 1])
    network.conv(5, 6, 4)
    return network.finish(1, 24, 6)


def spectrogram() -> bytes:
    """(batch, 1, bands, time), pooled along both, and a dense layer over bands and time."""
    network = Network()
    network.conv(4, 1, 3, 5, pads=[1, 2, 1, 2])
    network.conv(4, 4, 3, 3, group=1)
    network.add("MaxPool", kernel_shape=[2, 1], strides=[2, 1])
    network.conv(4, 1, 2, 3, group=4)
    network.add("Flatten")
    weights = network.random.standard_normal((4 * 4 * 16, 3)) / 16
    network.add("Gemm", network.constant(weights.astype(np.float32)))
    return network.finish(1, 1, 12, 20)


#: Model, hop, axis of time, and what one run computes of a whole window's work at most.
MODELS = {
    "causal, (batch, channels, time)": (causal, 1, 2, 1 / 24),
    "causal, three steps": (causal, 3, 2, 3 / 24),
    "image, (batch, 1, rows, columns)": (image, 2, 2, 0.5),
    "flat": (flat, 4, 1, 4 / 18),
    "(batch, time, channels)": (channels_last, 1, 1, 1 / 21),
    "spectrogram, along time": (spectrogram, 1, 3, 0.35),
    "image, along its rows, said": (image, 2, 2, 0.5),
}


@pytest.mark.parametrize("name", MODELS)
def test_onnx_windows_slide_along_the_axis_of_time(name: str) -> None:
    make, hop, axis, most = MODELS[name]
    graph = reference_graph(make(), "m.onnx")
    given = axis if axis == 3 or "said" in name else None
    slid = slide(graph, "x", Slide(hop, given), "m.onnx")
    whole = graph.arguments[0].type.shape
    new = slid.graph.arguments[0].type.shape
    rows = 120 // 6 if name == "flat" else whole[axis]
    assert slid.axis == axis
    assert new == (*whole[:axis], whole[axis] // rows * hop, *whole[axis + 1 :])
    assert slid.graph.macs <= most * slid.macs
    random, window = np.random.default_rng(2), np.zeros(whole, np.float32)
    sessions = [Session(slid.graph), Session(lower(slid.graph))]
    for _ in range(STEPS):
        given = random.standard_normal(new).astype(np.float32)
        window = np.concatenate([window, given], axis)
        window = window.take(range(new[axis], window.shape[axis]), axis)
        (want,) = run_graph(graph, [window])
        for session in sessions:
            np.testing.assert_allclose(session.run([given])[0], want, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "slide", "axis"), [(causal, 1, 2), (spectrogram, "1@3", 3)], ids=["causal", "turned"]
)
def test_quantized_windows_are_the_same_to_the_bit(
    make: Callable[[], bytes], slide: int | str, axis: int, tmp_path: Path
) -> None:
    model, profile = tmp_path / "m.onnx", tmp_path / "p.json"
    model.write_bytes(make())
    random = np.random.default_rng(3)
    shape = reference_graph(make(), "m.onnx").arguments[0].type.shape
    samples = random.standard_normal((16, *shape)).astype(np.float32)
    glowmcu.profile(model, samples=samples, output=profile)
    whole, slid = (
        glowmcu.compile(model, profile=profile, output=tmp_path / kind, name=kind, slide=given)
        for kind, given in (("whole", None), ("slid", {"x": slide}))
    )
    assert slid.manifest.options["slide"] == f"x={slide}"
    entry, new = whole.manifest.inputs[0], slid.manifest.inputs[0].shape
    window, session = np.full(entry.shape, entry.zero_point, np.int8), slid.session()
    for _ in range(40):
        given = random.integers(-128, 128, new).astype(np.int8)
        window = np.concatenate([window, given], axis)
        window = np.ascontiguousarray(window.take(range(1, window.shape[axis]), axis))
        assert np.array_equal(session.run([given])[0], whole.run([window])[0])


@pytest.mark.parametrize("axis", [0, 1, 4])
def test_an_axis_that_is_no_side_of_the_image_is_refused(axis: int) -> None:
    graph = reference_graph(spectrogram(), "m.onnx")
    with pytest.raises(GlowmcuError, match=rf"GM130.*axis {axis} neither as height nor as width"):
        slide(graph, "x", Slide(1, axis), "m.onnx")


@pytest.mark.parametrize("text", ["x=", "x=0", "x=2@", "x=@3", "x=2@x", "=2", "x=2@3@4"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(GlowmcuError, match=r"GM732.*NAME=ROWS@AXIS"):
        parse_slides((text,))


def test_bundles_are_verified_against_their_model(tmp_path: Path) -> None:
    """`verify` reads from the bundle how its input slides."""
    model = tmp_path / "m.onnx"
    model.write_bytes(spectrogram())
    glowmcu.compile(model, output=tmp_path / "m", slide={"x": "2@3"})
    assert main(["verify", str(tmp_path / "m"), "--model", str(model)]) == 0
