"""uint8 weights around any zero point, as TensorFlow 1 trained them: LiteRT's reference kernels, to
the byte, in the imported graph, the lowered ones and the generated C.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.nine_bit_weights import _parts, _signed
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.goals import Goal
from glowmcu.ir.cascade import Cascade
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Rounding
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.pipeline import compile_model, reference_graph
from glowmcu.verify.modelled import modelled_core
from tests.support.check_model import check_model, expect_equal, random_inputs, write_bundle
from tests.support.oracle import run_litert_reference

ZERO_POINTS = (0, 1, 100, 127, 128, 129, 151, 255)
Shape = tuple[int, ...]
Weights = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Layer:
    """A convolution. `beyond`: weights (flat positions) that a zero point of 100 takes out of int8,
    where the others are near it; None for weights of any bytes.
    """

    kind: str
    x: Shape
    weights: Shape
    padding: str = "SAME"
    stride: int = 1
    dilation: int = 1
    beyond: tuple[int, ...] | None = None
    activation: str = "NONE"

    def stored(self) -> Weights:
        generator = np.random.default_rng(5)
        if self.beyond is None:
            return generator.integers(0, 256, self.weights).astype(np.uint8)
        near = generator.integers(60, 141, self.weights).astype(np.uint8)
        near.reshape(-1)[list(self.beyond)] = 250
        return near

    def out(self) -> Shape:
        _, height, width, _ = self.x
        kernel = [(size - 1) * self.dilation + 1 for size in self.weights[1:3]]
        sizes = [
            -(-size // self.stride) if self.padding == "SAME" else (size - each) // self.stride + 1
            for size, each in zip((height, width), kernel, strict=True)
        ]
        depth = self.weights[3] if self.kind == "DEPTHWISE_CONV_2D" else self.weights[0]
        return (1, *sizes, depth)

    def add(self, model: ModelBuilder, name: str, zero_point: int, x_point: int) -> None:
        """The layer with an input and an output of its own."""
        out, weights = self.out(), self.stored()
        bias = np.random.default_rng(6).integers(-3000, 3000, out[3]).astype(np.int32)
        operands = [
            model.input(f"{name} x", self.x, "uint8", 0.04, x_point),
            model.constant(f"{name} w", weights, 0.01, zero_point),
            model.constant(f"{name} b", bias, 0.04 * 0.01),
        ]
        y = model.tensor(f"{name} y", out, "uint8", 0.013 * np.sqrt(weights[0].size), 117)
        settings = {
            "padding": self.padding, "stride_h": self.stride, "stride_w": self.stride,
            "dilation_h_factor": self.dilation, "dilation_w_factor": self.dilation,
            "fused_activation_function": self.activation,
        }  # fmt: skip
        model.op(self.kind, operands, [y], settings)
        model.output(y)


def model_of(layers: Mapping[str, Layer], zero_point: int = 100, x_point: int = 131) -> bytes:
    """All layers, side by side."""
    model = ModelBuilder()
    for name, layer in layers.items():
        layer.add(model, name, zero_point, x_point)
    return model.finish()


LAYERS = {
    "3x3 convolution": Layer("CONV_2D", (1, 5, 6, 3), (4, 3, 3, 3), activation="RELU"),
    "1x1 convolution": Layer("CONV_2D", (1, 4, 4, 6), (5, 1, 1, 6)),
    "depthwise": Layer("DEPTHWISE_CONV_2D", (1, 5, 5, 6), (1, 3, 3, 6), activation="RELU6"),
    "depthwise of one channel": Layer("DEPTHWISE_CONV_2D", (1, 7, 5, 1), (1, 3, 2, 4), stride=2),
}
FEW = {
    "one channel again": Layer("CONV_2D", (1, 4, 4, 8), (6, 1, 1, 8), beyond=(3,)),
    "one channel, two filters": Layer("CONV_2D", (1, 4, 4, 8), (6, 1, 1, 8), beyond=(3, 11)),
    "channels side by side": Layer("CONV_2D", (1, 5, 5, 4), (4, 3, 3, 4), "VALID", beyond=(1, 2)),
    "channels here and there": Layer(
        "CONV_2D", (1, 3, 3, 16), (4, 1, 1, 16), beyond=(0, 18, 4, 54, 8, 10, 12)
    ),
    "one filter aside": Layer("DEPTHWISE_CONV_2D", (1, 6, 6, 8), (1, 3, 3, 8), beyond=(3,)),
    "two filters aside": Layer(
        "DEPTHWISE_CONV_2D", (1, 6, 6, 8), (1, 3, 3, 8), stride=2, beyond=(0, 15), activation="RELU"
    ),
    "filters of one channel aside": Layer(
        "DEPTHWISE_CONV_2D", (1, 6, 6, 4), (1, 3, 3, 12), "VALID", beyond=(4, 17)
    ),
    "dilated, aside": Layer(
        "DEPTHWISE_CONV_2D", (1, 7, 7, 4), (1, 3, 3, 4), dilation=2, beyond=(35,)
    ),
    "more than are computed aside": Layer(
        "DEPTHWISE_CONV_2D", (1, 4, 4, 6), (1, 3, 3, 6), beyond=(0, 2, 10)
    ),
    "none beyond int8": Layer("DEPTHWISE_CONV_2D", (1, 6, 6, 8), (1, 3, 3, 8), beyond=()),
}  # fmt: skip


def kinds(name: str) -> list[str]:
    """Operators of an imported layer, but for constants and changes of the sign."""
    graph = reference_graph(model_of({name: FEW[name]}), "m.tflite")
    names = [node.op.name for node in graph.nodes]
    return [name for name in names if name not in ("constant", "requantize")]


@pytest.mark.parametrize("zero_point", ZERO_POINTS)
def test_any_bytes_around_any_zero_point_equal_litert(zero_point: int) -> None:
    check_model(model_of(LAYERS, zero_point, 255 - zero_point), oracle=run_litert_reference)


def test_few_weights_beyond_int8_equal_litert() -> None:
    check_model(model_of(FEW), oracle=run_litert_reference)


def test_a_channel_occurs_again_where_a_filter_needs_it() -> None:
    assert kinds("one channel, two filters") == ["slice", "concatenation", "conv_2d"]
    assert kinds("channels side by side") == ["slice", "concatenation", "conv_2d"]
    assert kinds("channels here and there") == ["gather", "concatenation", "conv_2d"]


def test_few_depthwise_filters_are_computed_aside_and_many_in_groups() -> None:
    one = ["slice", "concatenation", "conv_2d", "dynamic_update_slice"]
    assert kinds("one filter aside") == ["depthwise_conv_2d", *one]
    assert kinds("two filters aside") == ["depthwise_conv_2d", *one, *one]
    assert kinds("more than are computed aside") == ["gather", "conv_2d"]
    assert kinds("none beyond int8") == ["depthwise_conv_2d"]


@pytest.mark.parametrize("zero_point", ZERO_POINTS)
def test_fully_connected_layers_equal_litert(zero_point: int) -> None:
    generator = np.random.default_rng(zero_point)
    model = ModelBuilder()
    x = model.input("x", (3, 19), "uint8", 0.04, 77)
    weights = generator.integers(0, 256, (7, 19)).astype(np.uint8)
    bias = generator.integers(-3000, 3000, 7).astype(np.int32)
    operands = [x, model.constant("w", weights, 0.01, zero_point), model.constant("b", bias, 4e-4)]
    y = model.tensor("y", (3, 7), "uint8", 0.1, 120)
    model.op("FULLY_CONNECTED", operands, [y], {"fused_activation_function": "RELU"})
    model.output(y)
    options = Options("m", rounding=Rounding.LITERT, simplify=False)
    check_model(model.finish(), oracle=run_litert_reference, options=options, count=10)


def test_transposed_convolutions_equal_litert() -> None:
    generator, model = np.random.default_rng(2), ModelBuilder()
    for point in (0, 90, 255):
        x = model.input(f"x{point}", (1, 4, 3, 5), "uint8", 0.04, 140)
        size = model.constant(f"size{point}", np.array([1, 8, 6, 4], np.int32))
        weights = generator.integers(0, 256, (4, 3, 3, 5)).astype(np.uint8)
        w = model.constant(f"w{point}", weights, 0.01, point)
        bias = generator.integers(-3000, 3000, 4).astype(np.int32)
        b = model.constant(f"b{point}", bias, 0.04 * 0.01)
        y = model.tensor(f"y{point}", (1, 8, 6, 4), "uint8", 0.2, 120)
        options = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
        model.op("TRANSPOSE_CONV", [size, w, x, b], [y], options)
        model.output(y)
    check_model(model.finish(), oracle=run_litert_reference)


def test_a_weight_is_the_sum_of_parts_of_int8() -> None:
    offsets = np.arange(-255, 256, dtype=np.int16)
    parts = _parts(offsets)
    assert len(parts) == 3  # 255 alone needs the third: twice 127 is 254
    assert (np.sum(parts, axis=0, dtype=np.int64) == offsets).all()
    assert len(_parts(offsets[:-1])) == 2
    assert len(_parts(offsets[127:383])) == 1


def test_scales_multiply_in_float32() -> None:
    generator = np.random.default_rng(0)
    for x_scale, scale in np.float32(generator.uniform(1e-4, 2, (500, 2))).tolist():
        x = TensorType((1,), ElementType.I8, Quantization((x_scale,), (0,)))
        weights = TensorType((1,), ElementType.UI8, Quantization((scale,), (90,)))
        product = float(np.float32(x_scale) * np.float32(scale))
        assert abs(x_scale * _signed(x, weights).scale - product) <= 2**-52 * product


@pytest.mark.parametrize("zero_point", [100, 128])
def test_halves_go_where_litert_has_them(zero_point: int) -> None:
    """Sums times the product of scales in float32 are halves, and in double they are not."""
    generator = np.random.default_rng(1)
    odd = np.array([1, 3, 5, 7], np.uint8) + np.uint8(zero_point)
    numbers = np.arange(256, dtype=np.uint8).reshape(1, 16, 16, 1)
    options = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    for x_scale, scale in np.float32(generator.uniform(0.001, 0.1, (6, 2))):
        model = ModelBuilder()
        x = model.input("x", numbers.shape, "uint8", float(x_scale), 128)
        zeros = model.constant("b", np.zeros(4, np.int32), float(x_scale * scale))
        for kind, shape in (("CONV_2D", (4, 1, 1, 1)), ("DEPTHWISE_CONV_2D", (1, 1, 1, 4))):
            w = model.constant(kind, odd.reshape(shape), float(scale), zero_point)
            y = model.tensor(f"{kind} y", (1, 16, 16, 4), "uint8", float(2 * x_scale * scale), 128)
            model.op(kind, [x, w, zeros], [y], options)
            model.output(y)
        data = model.finish()
        found = run_graph(reference_graph(data, "m.tflite"), [numbers])
        for got, want in zip(found, run_litert_reference(data, [numbers]), strict=True):
            expect_equal(got, want, str((x_scale, scale)))


class Chain:
    """Layers one behind the other, with weights around 140."""

    def __init__(self, shape: Shape) -> None:
        self.model, self.generator = ModelBuilder(), np.random.default_rng(3)
        self.last = self.model.input("image", shape, "uint8", 1 / 128, 128)
        self.shape, self.scale, self.count = shape, 1 / 128, 0

    def layer(
        self, kind: str, window: int, depth: int, stride: int = 1, constant: bool = False
    ) -> Chain:
        """Two of the weights are beyond int8. `constant`: so are all of filter 0, whose bias lets
        it give nothing but 0.
        """
        self.count += 1
        _, height, width, depth_in = self.shape
        is_depthwise = kind == "DEPTHWISE_CONV_2D"
        size = (1, window, window, depth) if is_depthwise else (depth, window, window, depth_in)
        weights = np.clip(self.generator.normal(140, 25, size), 20, 255).astype(np.uint8)
        bias = self.generator.integers(0, 9000, depth).astype(np.int32)
        if constant:
            np.moveaxis(weights, 3 if is_depthwise else 0, 0)[0] = 0
            bias[0] = -(2**24)
        else:
            weights.reshape(-1)[[1, -2]] = 0
        w = self.model.constant(f"w{self.count}", weights, 0.01, 140)
        b = self.model.constant(f"b{self.count}", bias, self.scale * 0.01)
        shape = (1, -(-height // stride), -(-width // stride), depth)
        options = {"padding": "SAME", "stride_h": stride, "stride_w": stride}
        options["fused_activation_function"] = "RELU6"
        self._add(kind, shape, [w, b], options)
        return self

    def _add(self, kind: str, shape: Shape, constants: list[Any], options: dict[str, Any]) -> None:
        y = self.model.tensor(f"y{self.count}{kind}", shape, "uint8", 0.0235, 0)
        self.model.op(kind, [self.last, *constants], [y], options)
        self.last, self.shape, self.scale = y, shape, 0.0235

    def mean(self) -> Chain:
        """Over all pixels, which may be an even number."""
        _, height, width, depth = self.shape
        options = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
        sizes = {"filter_height": height, "filter_width": width}
        self._add("AVERAGE_POOL_2D", (1, 1, 1, depth), [], options | sizes)
        return self

    def finish(self) -> bytes:
        self.model.output(self.last)
        return self.model.finish()


def small_mobilenet() -> bytes:
    """As TensorFlow 1 wrote them: a convolution, blocks of two, a mean, scores."""
    chain = Chain((1, 16, 16, 3)).layer("CONV_2D", 3, 8, 2).layer("DEPTHWISE_CONV_2D", 3, 8)
    chain.layer("CONV_2D", 1, 12).layer("DEPTHWISE_CONV_2D", 3, 12, 2).layer("CONV_2D", 1, 16)
    return chain.mean().layer("CONV_2D", 1, 10).finish()


def test_a_network_equals_litert() -> None:
    check_model(small_mobilenet(), oracle=run_litert_reference)


def test_filters_aside_go_row_by_row_where_bytes_are_scarce() -> None:
    """Over the whole image they would keep a copy of it and the layer's result."""
    chain = Chain((1, 24, 16, 3)).layer("CONV_2D", 3, 8).layer("DEPTHWISE_CONV_2D", 3, 8)
    options = Options("m", goal=Goal.RAM, simplify=False)
    data = chain.layer("CONV_2D", 1, 2, 2).finish()
    compilation = check_model(data, oracle=run_litert_reference, options=options)
    cascades = [s for s in compilation.plan.program.instructions if isinstance(s, Cascade)]
    streamed = {row.run.node.op.name for each in cascades for s in each.stages for row in s.runs}
    assert {"slice", "concatenation", "dynamic_update_slice"} <= streamed
    assert compilation.plan.arena_bytes < 24 * 16 * 8


@pytest.mark.arm
@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m4"])
def test_a_network_equals_litert_on_every_core(core: str) -> None:
    pytest.importorskip("unicorn")
    data = small_mobilenet()
    compilation = compile_model(data, "m.tflite", Options("m", core=core))
    sets = random_inputs(compilation, 2)
    with tempfile.TemporaryDirectory() as work:
        folder = write_bundle(compilation, Path(work))
        measured = modelled_core(core, count=False).run(folder, sets)
    for arrays, found in zip(sets, measured, strict=True):
        (want,) = run_litert_reference(data, arrays)
        expect_equal(np.asarray(found.outputs[0]), want, f"C on {core}")


def test_filters_that_give_one_number_need_no_second_part() -> None:
    """The depthwise one does for what it reads."""
    chain = Chain((1, 6, 6, 3)).layer("CONV_2D", 3, 8, constant=True)
    data = chain.layer("DEPTHWISE_CONV_2D", 3, 8, constant=True).finish()
    compilation = check_model(data, oracle=run_litert_reference)
    names = [node.op.name for node in compilation.imported.nodes]
    assert not {"concatenation", "dynamic_update_slice", "gather"} & {*names}
    alive = Chain((1, 6, 6, 3)).layer("DEPTHWISE_CONV_2D", 3, 3, constant=False).finish()
    assert "conv_2d" in [node.op.name for node in reference_graph(alive, "m.tflite").nodes]


def test_a_bias_that_is_computed_takes_all_filters_together() -> None:
    layer, model = FEW["one filter aside"], ModelBuilder()
    x = model.input("x", layer.x, "uint8", 0.04, 131)
    bias = model.input("b", (8,), "int32", 0.04 * 0.01)
    y = model.tensor("y", layer.out(), "uint8", 0.1, 117)
    w = model.constant("w", layer.stored(), 0.01, 100)
    model.op(layer.kind, [x, w, bias], [y], {"padding": "SAME", "stride_h": 1, "stride_w": 1})
    model.output(y)
    generator = np.random.default_rng(0)
    image = generator.integers(0, 256, layer.x).astype(np.uint8)
    inputs = [image, generator.integers(-5000, 5000, 8).astype(np.int32)]
    data = model.finish()
    graph = reference_graph(data, "m.tflite")
    assert "depthwise_conv_2d" not in [node.op.name for node in graph.nodes]
    (want,) = run_litert_reference(data, inputs)
    expect_equal(run_graph(graph, inputs)[0], want, "a computed bias")


def refused(weights: Any, points: Any = 100, x: Shape = (1, 4, 4, 4)) -> str:
    """What is said of a CONV_2D of these weights, or of those that an input of a shape has."""
    model = ModelBuilder()
    image = model.input("x", x, "uint8", 0.04, 131)
    if isinstance(weights, tuple):
        w, depth = model.input("w", weights, "uint8", 0.01, points), weights[0]
    else:
        scale = [0.01] * len(points) if isinstance(points, list) else 0.01
        w, depth = model.constant("w", weights, scale, points), len(weights)
    y = model.tensor("y", (*x[:3], depth), "uint8", 0.1, 117)
    model.op("CONV_2D", [image, w], [y], {"padding": "SAME", "stride_h": 1, "stride_w": 1})
    model.output(y)
    with pytest.raises(GlowmcuError, match="GM106") as caught:
        reference_graph(model.finish(), "m.tflite")
    return str(caught.value)


def test_what_no_kernel_computes_is_refused() -> None:
    weights = np.full((4, 1, 1, 2), 250, np.uint8)
    assert "got 100, in groups" in refused(weights)
    assert "got 100, not constant" in refused((4, 1, 1, 4))
    assert "do not split into groups of 3" in refused(np.full((4, 1, 1, 3), 250, np.uint8))
    several = refused(np.full((4, 1, 1, 4), 250, np.uint8), [100, 90, 100, 100])
    assert "got 100 and more, one a channel" in several
    assert "convert the float model anew" in several
