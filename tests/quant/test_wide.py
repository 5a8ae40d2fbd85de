"""int16 activations for chosen layers: types, conversions at the borders, refusals, accuracy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType
from glowmcu.ops.activation import HardSwish
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.parametric_activation import HardSigmoid, Mish, Selu, Softplus, Swish
from glowmcu.ops.real_functions import Asinh, Atan, Cos, Erf, Floor, Sin, Sinh, Square
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transcendental import Elu, Exp, Gelu
from glowmcu.quant.options import Interface, QuantizationOptions
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.quantizer import quantize, quantize_graph
from tests.conftest import REPO
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import convolutions, draw, random_samples, real, sqnr_db
from tests.quant.test_accuracy import calibration, held_out, in_layout_of, scores
from tests.quant.test_own_models import MODELS, load
from tests.support.oracle import open_tflm

I8, I16 = ElementType.I8, ElementType.I16
#: A tenth of a point.
LARGEST_LOSS = 0.001


def wide(
    graph: Graph, *names: str, interface: Interface = Interface.INT8, keep_float: str = ""
) -> Graph:
    kept = (keep_float,) if keep_float else ()
    options = QuantizationOptions(interface=interface, int16=names, keep_float=kept)
    return quantize_graph(graph, profile_graph(graph, random_samples(graph, 64)), options)


def steps(graph: Graph) -> list[tuple[str, ElementType]]:
    """Operators with the element types of their results."""
    return [(node.op.name, node.output.type.element) for node in graph.nodes if node.inputs]


def test_a_layer_that_is_named_becomes_int16_between_two_rescalings() -> None:
    graph = wide(convolutions(), "second")
    assert steps(graph) == [
        ("conv_2d", I8),
        ("requantize", I16),
        ("depthwise_conv_2d", I16),
        ("requantize", I8),
        ("conv_2d", I8),
    ]


def test_neighbours_in_int16_share_their_tensor() -> None:
    graph = wide(convolutions(), "second", "third")
    names = ["conv_2d", "requantize", "depthwise_conv_2d", "conv_2d", "requantize"]
    assert [name for name, _ in steps(graph)] == names
    assert [value.name for value in (*graph.inputs, *graph.outputs)] == ["image", "third"]


def test_int16_tensors_are_symmetric_with_int8_weights_and_int64_biases() -> None:
    graph = wide(convolutions(), "all")
    for node in graph.nodes:
        if "conv" not in node.op.name:
            continue
        x, weights, bias = (value.type for value in node.inputs)
        assert (x.element, weights.element, bias.element) == (I16, I8, ElementType.I64)
        assert x.zero_point == node.output.type.zero_point == 0


def test_real_numbers_become_int16_at_once() -> None:
    graph = wide(convolutions(), "all", interface=Interface.FLOAT)
    names = ["quantize", "conv_2d", "depthwise_conv_2d", "conv_2d", "dequantize"]
    assert [name for name, _ in steps(graph)] == names


def test_a_float_partition_reads_and_gives_int16() -> None:
    graph = wide(convolutions(), "all", keep_float="second")
    assert ("dequantize", ElementType.F32) in steps(graph)
    assert ("quantize", I16) in steps(graph)


def test_more_layers_of_sixteen_bits_keep_more_of_the_signal() -> None:
    graph, samples = convolutions(), random_samples(convolutions(), 16, seed=9)
    narrow = sqnr_db(graph, wide(graph, interface=Interface.FLOAT), samples)
    both = sqnr_db(graph, wide(graph, "conv_2d", interface=Interface.FLOAT), samples)
    everywhere = sqnr_db(graph, wide(graph, "all", interface=Interface.FLOAT), samples)
    assert narrow < both < everywhere


def moved(last: bool) -> Graph:
    """A convolution of `convolutions`, reshaped, and softmax or floor."""
    graph = GraphBuilder()
    x = graph.input(real(1, 4, 6), "x")
    x = graph.add(Softmax(), x, name="first")
    x = graph.add(Reshape((2, 12)), x, name="reshaped")
    x = graph.add(Softmax() if last else Floor(), x, name="last")
    return graph.finish(x)


def test_what_only_moves_elements_goes_with_its_neighbours() -> None:
    graph = wide(moved(True), "softmax")
    assert ("reshape", I16) in steps(graph)
    assert steps(graph).count(("requantize", I16)) == 1


def test_softmax_of_int16_has_the_scale_that_its_kernel_gives() -> None:
    graph = wide(moved(True), "all")
    last = [node for node in graph.nodes if node.op.name == "softmax"][-1]
    assert last.output.type.scale == 2.0**-15


def test_all_leaves_operators_without_int16_to_int8() -> None:
    graph, options = moved(False), QuantizationOptions(int16=("all",))
    profile = profile_graph(graph, random_samples(graph, 64))
    made = quantize(graph, profile, options)
    assert ("softmax", I16) in steps(made.graph)
    assert ("floor", I8) in steps(made.graph)
    ((name, why),) = made.narrow_nodes.items()
    assert name == "last"
    assert why.startswith("floor: expected i8, the same for all; got int16")
    assert not quantize(graph, profile).narrow_nodes


def between_layers(op: Operation, scale: float = 0.5) -> Graph:
    """`op` on rows of a layer with weights, and such a layer behind it."""
    b = GraphBuilder()
    x = b.input(real(1, 24), "x")
    layers = [
        (b.constant(draw(seed, 24, 24, scale=size / 24**0.5)), b.constant(draw(seed + 1, 24)))
        for seed, size in ((1, scale), (3, 1.0))
    ]
    x = b.add(FullyConnected(), x, *layers[0], name="first", like=real(1, 24))
    x = b.add(op, x, name="f", like=real(1, 24))
    return b.finish(b.add(FullyConnected(), x, *layers[1], name="last", like=real(1, 24)))


SMOOTH = [Gelu(), Gelu(True), HardSwish(), Elu(), Exp(), Erf(), Mish(), Swish(1.0), Softplus(),
          Selu(1.7, 1.05), HardSigmoid(), Sin(), Cos(), Atan(), Sinh(), Asinh()]  # fmt: skip


@pytest.mark.parametrize("op", SMOOTH, ids=lambda op: op.name)
def test_functions_of_one_tensor_are_int16_by_tables(op: Operation) -> None:
    graph = between_layers(op)
    samples = random_samples(graph, 16, seed=9)
    stored = wide(graph, "all", interface=Interface.FLOAT)
    assert (op.name, I16) in steps(stored)
    assert sqnr_db(graph, stored, samples) > sqnr_db(graph, wide(graph), samples) + 2


def test_a_square_of_int16_is_a_product() -> None:
    graph = between_layers(Square())
    samples = random_samples(graph, 16, seed=9)
    narrow = wide(graph, interface=Interface.FLOAT)
    assert ("square", I8) in steps(narrow)
    for name in ("all", "square", "Square", "f"):
        assert ("mul", I16) in steps(wide(graph, name))
    stored = wide(graph, "all", interface=Interface.FLOAT)
    assert sqnr_db(graph, stored, samples) > sqnr_db(graph, narrow, samples) + 3


def test_a_table_that_would_be_far_off_is_refused_with_its_distance() -> None:
    with pytest.raises(GlowmcuError, match=r"table of 16 bits would be \d+ steps off") as caught:
        wide(between_layers(Exp(), scale=8.0), "f")
    assert caught.value.code == "GM313"


def test_a_named_layer_that_has_no_int16_is_refused_with_its_reason() -> None:
    with pytest.raises(GlowmcuError, match="floor 'last' cannot have int16") as caught:
        wide(moved(False), "last")
    assert caught.value.code == "GM313"


def test_a_layer_cannot_be_named_for_int16_and_float() -> None:
    with pytest.raises(GlowmcuError, match="it stays float"):
        wide(convolutions(), "second", keep_float="second")


@pytest.mark.parametrize("interface", list(Interface))
@pytest.mark.parametrize("name", MODELS)
def test_int16_activations_cost_no_more_than_a_tenth_of_a_point(
    name: str, interface: Interface
) -> None:
    model = load(name)
    options = QuantizationOptions(int16=("all",), interface=interface)
    quantized = quantize(model.graph, model.profile, options)
    assert not quantized.float_nodes
    assert model.accuracy(quantized.graph) >= model.accuracy(model.graph) - LARGEST_LOSS


def test_an_exported_int16_model_gives_the_bytes_of_the_bundle_in_tflm(tmp_path: Path) -> None:
    model = REPO / "examples/digits/digits_float.tflite"
    choices = glowmcu.Quantization(int16=("all",))
    samples = calibration(model)
    exported = glowmcu.export(
        model, tmp_path / "int16.tflite", samples=samples, quantization=choices
    )
    bundle = glowmcu.compile(
        model, samples=samples, quantization=choices, output=tmp_path / "bundle"
    )
    images = in_layout_of(model, held_out(model)[0])[:20]
    (entry,) = bundle.manifest.inputs
    stored = np.rint(images / np.float32(entry.scale)) + np.float32(entry.zero_point)
    run = open_tflm(exported.path.read_bytes())
    wanted = [run([image[np.newaxis]])[0] for image in np.clip(stored, -128, 127).astype(np.int8)]
    assert np.array_equal(scores(bundle, images), np.concatenate(wanted))


def test_the_c_of_int16_digits_is_within_a_tenth_of_a_point_of_float(tmp_path: Path) -> None:
    model = REPO / "examples/digits/digits_float.tflite"
    inputs, labels = held_out(model)
    inputs = in_layout_of(model, inputs)
    choices = glowmcu.Quantization(int16=("all",))
    int16 = glowmcu.compile(
        model, samples=calibration(model), quantization=choices, output=tmp_path / "int16"
    )
    real_bundle = glowmcu.compile(model, output=tmp_path / "float")
    kernels = {layer.kernel for layer in int16.report.layers}
    assert {"conv_2d.portable_s16", "softmax.portable_s16"} <= kernels
    found = [
        float((scores(bundle, inputs).argmax(axis=1) == labels).mean())
        for bundle in (real_bundle, int16)
    ]
    assert found[1] >= found[0] - LARGEST_LOSS
