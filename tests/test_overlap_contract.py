"""What kernels say of results that reach into an operand: the same bytes as apart, and no closer.

Layers run with their result at the distances that `KernelCode.overlaps` allows, in one byte array:
every sample and variant on a computer, the variants of each core there as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy.typing as npt
import pytest

from glowmcu.compilation import Options
from glowmcu.cores import core, core_names
from glowmcu.emit_c.write_bundle import write_bundle
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.program import BUFFER_ALIGN, Buffer, aligned
from glowmcu.kernels.kernel import Kernel, Target, load_kernels, site_of
from glowmcu.pipeline import compile_model, reference_graph
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.qemu import Qemu
from tests.kernels.test_float_kernels import dense_model as float_dense_model
from tests.ops.test_cast import cast_model
from tests.ops.test_convolution import Case, conv_model
from tests.ops.test_elementwise import pair_model
from tests.ops.test_matmul import Dense, dense_model
from tests.ops.test_quantization import convert_model
from tests.ops.test_real_layers import convolution_model
from tests.support.check_model import random_inputs, random_sets
from tests.support.forced_layers import compile_joined
from tests.support.forced_variant import compile_forced, variants_of
from tests.support.int8_weights import Int8Weights
from tests.support.placed import HostLayer, PlacedLayer
from tests.test_contract import computing_node
from tests.test_contract import samples as row_samples

Array = npt.NDArray[Any]
REAL = ("float32", None, 0)
QEMU = Qemu(machine="mps3-an547")
#: What has a line for all results, and weights of which two are at most 255.
_NARROW = {"padding": "SAME", "out_zero_point": -128, "out_scale": 4.0, "least_weight": -127}
SUMS = ((0.5, 0.25, 0.6), (3, -7, 5))


def conv(kind: str, *shape: Any, **options: Any) -> bytes:
    return conv_model(kind, Case(*shape, **{"out_scale": 2.0, **options}))


def float_conv(*shape: Any, builder: type[ModelBuilder] = ModelBuilder) -> bytes:
    case = Case(*shape, padding="SAME", activation="RELU")
    return convolution_model("CONV_2D", case, True, builder)


@cache
def samples() -> dict[str, bytes]:
    """Models of one layer: those with rows, and more that have what overlaps depend on."""
    depthwise = "DEPTHWISE_CONV_2D"
    image = (1, 7, 5, 8)
    return {
        **{name: model for name, model in row_samples().items() if name != "LpPool"},
        "1x1, wider": conv("CONV_2D", image, 16, (1, 1)),
        "1x1, narrower": conv("CONV_2D", image, 4, (1, 1)),
        "1x1, odd outputs": conv("CONV_2D", image, 7, (1, 1)),
        "1x1, stride 2, wider": conv("CONV_2D", (1, 9, 9, 4), 24, (1, 1), strides=(2, 2)),
        "1x1, sixteen channels": conv("CONV_2D", (1, 5, 3, 16), 20, (1, 1)),
        "3x3, wider": conv("CONV_2D", (1, 9, 8, 4), 12, (3, 3), padding="SAME"),
        "3x3, three groups": conv("CONV_2D", (1, 5, 6, 12), 15, (3, 3), padding="SAME", groups=3),
        "3x3, four rows of tiles": conv("CONV_2D", (1, 8, 8, 4), 8, (3, 3), padding="SAME"),
        "5x5, eight channels": conv(depthwise, (1, 9, 8, 8), 8, (5, 5), padding="SAME"),
        "3x3, eight channels": conv(depthwise, (1, 17, 9, 8), 8, (3, 3), padding="SAME"),
        "3x3, columns": conv(depthwise, (1, 9, 17, 12), 12, (3, 3), padding="SAME"),
        "3x3, no padding": conv(depthwise, (1, 17, 9, 8), 8, (3, 3)),
        "3x3, stride 2": conv(depthwise, (1, 17, 9, 8), 8, (3, 3), (2, 2), padding="SAME"),
        "3x3, stride 2, wide": conv(depthwise, (1, 9, 16, 8), 8, (3, 3), (2, 2), padding="SAME"),
        "3x3, narrow": conv(depthwise, (1, 17, 9, 8), 8, (3, 3), **_NARROW),
        "3x3, narrow, stride 2": conv(depthwise, (1, 12, 8, 8), 8, (3, 3), (2, 2), **_NARROW),
        "3x3, stride 1 and 3": conv(depthwise, (1, 16, 9, 4), 4, (3, 3), (1, 3), padding="SAME"),
        "five rows": conv(depthwise, (1, 9, 4, 8), 8, (5, 1), padding="SAME"),
        "five rows, no padding": conv(depthwise, (1, 9, 4, 8), 8, (5, 1)),
        "seven rows, no padding": conv(depthwise, (1, 16, 3, 8), 8, (7, 1)),
        "five columns": conv(depthwise, (1, 6, 9, 8), 8, (1, 5), padding="SAME"),
        "a sequence": conv(depthwise, (1, 1, 23, 8), 8, (1, 5), padding="SAME"),
        "five columns, stride 2": conv(depthwise, (1, 6, 9, 8), 8, (1, 5), (2, 1), padding="SAME"),
        "five columns, twenty channels": conv(depthwise, (1, 6, 9, 20), 20, (1, 5), padding="SAME"),
        "two outputs a channel": conv(depthwise, (1, 6, 5, 4), 8, (3, 3), padding="SAME"),
        "sixteen channels": conv(depthwise, (1, 6, 6, 16), 16, (3, 3), padding="SAME"),
        "twenty-eight channels, narrow": conv(depthwise, (1, 8, 7, 28), 28, (3, 3), **_NARROW),
        "sixteen channels, no padding": conv(depthwise, (1, 6, 7, 16), 16, (3, 3)),
        "dense, many rows": dense_model(Dense(5, 16, 24, out_scale=4.0)),
        "dense, weights of four bits": dense_model(Dense(5, 16, 24, weights_type="int4")),
        "3x3, weights of four bits": conv_model(
            "CONV_2D",
            Case((1, 5, 6, 4), 9, (3, 3), padding="SAME", weights_type="int4", out_scale=2.0),
        ),
        "dense, one row": dense_model(Dense(1, 16, 24, out_scale=4.0)),
        "dense, narrower": dense_model(Dense(4, 32, 8, out_scale=4.0)),
        "dense, five rows, real numbers": float_dense_model(5, 7, 12, "RELU"),
        "1x1, five columns, real numbers": float_conv((1, 5, 5, 3), 9, (1, 1)),
        "1x1, eight inputs, real numbers": float_conv((1, 5, 5, 8), 10, (1, 1)),
        "3x3, nine outputs, one image, real numbers": float_conv((1, 6, 7, 3), 9, (3, 3)),
        "dense, int8 weights": float_dense_model(5, 7, 12, "RELU", Int8Weights),
        "1x1, int8 weights": float_conv((1, 5, 5, 3), 9, (1, 1), builder=Int8Weights),
        "3x3, int8 weights": float_conv((1, 6, 7, 3), 9, (3, 3), builder=Int8Weights),
        "add": pair_model("ADD", [(1, 3, 5, 7)] * 2, scales=SUMS[0], points=SUMS[1]),
        "add, a channel each": pair_model("ADD", [(1, 3, 5, 7), (1, 1, 1, 7)]),
        "mul": pair_model("MUL", [(1, 3, 5, 7)] * 2, scales=SUMS[0], points=SUMS[1]),
        "minimum": pair_model("MINIMUM", [(1, 3, 5, 7)] * 2, scales=SUMS[0], points=SUMS[1]),
        "int8 to int32": cast_model("int8", "int32"),
        "int32 to int8": cast_model("int32", "int8"),
        "quantize": convert_model("QUANTIZE", (1, 40), REAL, [("int8", 0.1, 3)]),
        "dequantize": convert_model("DEQUANTIZE", (1, 40), ("int8", 0.1, 3), [REAL]),
        "rescale": convert_model("QUANTIZE", (1, 40), ("int8", 0.1, 3), [("int8", 0.07, -5)]),
    }  # fmt: skip


@cache
def variants(sample: str) -> list[tuple[Kernel, str]]:
    """Variants that let the sample's result overlap, each with a core where it is accepted."""
    graph = compile_model(samples()[sample], "m.tflite", Options("m", simplify=False)).graph
    node = computing_node(graph)
    site = site_of(graph, node)
    found = []
    for variant in load_kernels()[type(node.op)]:
        fitting = (name for name in core_names() if variant.accepts(site, Target(core(name))))
        name = next(fitting, None)
        if name is not None and variant.generate(site, Target(core(name))).overlaps:
            found.append((variant, name))
    return found


def placed_layer(sample: str, variant: str, core_name: str) -> tuple[PlacedLayer, list[Array]]:
    compilation = compile_forced(samples()[sample], variant, core_name)
    return PlacedLayer(compilation), random_inputs(compilation, 1)[0]


def _inputs(layer: PlacedLayer, data: list[Array]) -> dict[Buffer, Array]:
    return dict(zip(layer.program.inputs, data, strict=True))


@dataclass(frozen=True)
class Library:
    """All samples of a variant on a core, each a placed layer with inputs, built at once."""

    layers: dict[str, PlacedLayer]
    inputs: dict[str, dict[Buffer, Array]]
    host: HostLayer


def _operands(layer: PlacedLayer) -> set[Buffer]:
    return {layer.operand(position) for position in layer.run.positions}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Library]:
    @cache
    def library(variant: str, core_name: str) -> Library:
        names = [
            sample
            for sample in samples()
            if (variant, core_name) in {(kernel.name, name) for kernel, name in variants(sample)}
        ]
        graphs = [reference_graph(samples()[name], "m.tflite") for name in names]
        done = compile_joined(graphs, variant, core_name)
        assert variants_of(done) == {variant}
        layers = dict(zip(names, PlacedLayer.all_of(done), strict=True))
        inputs, first = {}, 0
        for name, graph in zip(names, graphs, strict=True):
            types = [value.type for value in graph.arguments]
            buffers = layers[name].program.inputs[first : first + len(types)]
            roots = {layers[name].program.root(buffer)[0] for buffer in buffers}
            assert roots <= _operands(layers[name])
            inputs[name] = dict(zip(buffers, random_sets(types, 1)[0], strict=True))
            first += len(types)
        folder = tmp_path_factory.mktemp("library") / "layers"
        return Library(layers, inputs, HostLayer(layers[names[0]], folder))

    return library


@pytest.mark.parametrize("sample", samples())
def test_results_at_every_allowed_distance_are_as_apart(
    sample: str, library: Callable[[str, str], Library]
) -> None:
    for variant, core_name in variants(sample):
        made = library(variant.name, core_name)
        layer, inputs = made.layers[sample], made.inputs[sample]
        apart = made.host.run(inputs, layer.places(), layer.result)
        for position, distance in _distances(layer):
            overlapped = made.host.run(inputs, layer.places(position, distance), layer.result)
            assert overlapped == apart, (variant.name, position, distance)


def _distances(layer: PlacedLayer) -> list[tuple[int, int]]:
    """`(operand, distance)`: the least ones and some beyond."""
    found = []
    for position, overlap in layer.code.overlaps.items():
        step = max(
            layer.result.type.element.size_bytes, layer.operand(position).type.element.size_bytes
        )
        least = overlap.least_gap_bytes
        if least is not None:
            least = aligned(least, step)
            far = layer.result.size_bytes // step * step
            found += [(position, least + more) for more in (0, step, 3 * step, 64 * step, far)]
        if overlap.only_gap_bytes is not None:
            found.append((position, overlap.only_gap_bytes))
    return found


#: For each variant a sample that is spoiled by one element less than the least distance.
TIGHT = {
    "average_pool_2d.dsp": "AVERAGE_POOL_2D, odd size, nine channels",
    "average_pool_2d.mve": "AVERAGE_POOL_2D, odd size, nine channels",
    "average_pool_2d.portable": "AVERAGE_POOL_2D, odd size, same padding",
    "average_pool_2d.words_nodsp": "AVERAGE_POOL_2D, eight channels",
    "average_pool_2d.portable_f32": "AVERAGE_POOL_2D, odd size, same padding, real numbers",
    "cast.portable": "int8 to int32",
    "conv_2d.matrix_f32": "1x1, five columns, real numbers",
    "conv_2d.packed_f32": "3x3, nine outputs, one image, real numbers",
    "conv_2d.matrix_fives_f32": "1x1, five columns, real numbers",
    "conv_2d.packed_fives_f32": "3x3, nine outputs, one image, real numbers",
    "conv_2d.few_inputs_f32": "1x1, eight inputs, real numbers",
    "conv_2d.matrix_w8_f32": "1x1, int8 weights",
    "conv_2d.packed_w8_f32": "3x3, int8 weights",
    "conv_2d.compact_dsp": "CONV_2D, odd size, same padding",
    "conv_2d.grouped_dsp": "3x3, three groups",
    "conv_2d.nibbles_compact_dsp": "3x3, weights of four bits",
    "conv_2d.nibbles_dsp": "dense, weights of four bits",
    "conv_2d.nibbles_nodsp": "3x3, weights of four bits",
    "conv_2d.nibbles_windows_dsp": "3x3, weights of four bits",
    "conv_2d.pairs_nodsp": "CONV_2D, odd size, same padding",
    "conv_2d.pairs_riscv": "CONV_2D, odd size, same padding",
    "conv_2d.pointwise_dsp": "1x1, wider",
    "conv_2d.rows_dsp": "CONV_2D, odd size, same padding",
    "conv_2d.straight_dsp": "CONV_2D, 1x1, stride 2",
    "conv_2d.winograd_dsp": "3x3, wider",
    "depthwise_conv_2d.mve": "3x3, eight channels",
    "depthwise_conv_2d.near_taps_dsp": "3x3, no padding",
    "depthwise_conv_2d.packed_f32": "stride 2, five channels, real numbers",
    "depthwise_conv_2d.packed_w8_f32": "stride 2, five channels, int8 weights",
    "depthwise_conv_2d.pairs_mve": "3x3, eight channels",
    "depthwise_conv_2d.portable": "DEPTHWISE_CONV_2D, window of one row",
    "depthwise_conv_2d.rows_riscv": "3x3, eight channels",
    "depthwise_conv_2d.taps_dsp": "DEPTHWISE_CONV_2D, odd size, same padding",
    "depthwise_conv_2d.taps_nodsp": "DEPTHWISE_CONV_2D, stride 2, odd width, same padding",
    "elementwise.baked": "add",
    "elementwise.shared": "add, a channel each",
    "fully_connected.compact_dsp": "dense, narrower",
    "fully_connected.direct_dsp": "dense, many rows",
    "fully_connected.nibbles_dsp": "dense, weights of four bits",
    "dense.direct_nodsp": "dense, many rows",
    "dense.nibbles_nodsp": "dense, weights of four bits",
    "fully_connected.dsp": "dense, many rows",
    "fully_connected.packed_f32": "dense, five rows, real numbers",
    "fully_connected.w8_f32": "dense, int8 weights",
    "lookup.shared": "rescale",
    "matrix.blocks_mve": "3x3, wider",
    "matrix.direct_mve": "3x3, wider",
    "matrix.masked_mve": "3x3, four rows of tiles",
    "matrix.narrow_mve": "3x3, wider",
    "matrix.nibbles_direct_mve": "3x3, weights of four bits",
    "matrix.nibbles_windows_mve": "3x3, weights of four bits",
    "matrix.windows_mve": "CONV_2D, odd size, same padding",
    "max_pool_2d.dsp": "MAX_POOL_2D, odd size, nine channels",
    "max_pool_2d.words_nodsp": "MAX_POOL_2D, eight channels",
    "max_pool_2d.portable": "MAX_POOL_2D, odd size, same padding",
    "mul.dsp": "mul",
}
#: And samples of variants that allow one distance alone.
ONE_DISTANCE = {
    "depthwise_conv_2d.copies_dsp": "5x5, eight channels",
    "depthwise_conv_2d.lines_dsp": "3x3, eight channels",
    "depthwise_conv_2d.lines_step_dsp": "3x3, stride 2, wide",
    "depthwise_conv_2d.patches_mve": "twenty-eight channels, narrow",
    "depthwise_conv_2d.planes_dsp": "3x3, eight channels",
    "depthwise_conv_2d.planes_nodsp": "3x3, narrow",
    "depthwise_conv_2d.planes_step_nodsp": "3x3, narrow, stride 2",
    "depthwise_conv_2d.planes_unrolled_dsp": "3x3, eight channels",
    "depthwise_conv_2d.sequence_mve": "five columns, twenty channels",
    "depthwise_conv_2d.sequence_nodsp": "a sequence",
    "depthwise_conv_2d.strip_dsp": "five rows, no padding",
}


def _core_of(variant: str, sample: str) -> str:
    (found,) = [core_name for kernel, core_name in variants(sample) if kernel.name == variant]
    return found


@pytest.mark.parametrize("variant", TIGHT)
def test_an_element_closer_is_too_close(variant: str, tmp_path: Path) -> None:
    sample = TIGHT[variant]
    layer, data = placed_layer(sample, variant, _core_of(variant, sample))
    host, inputs = HostLayer(layer, tmp_path / "layer"), _inputs(layer, data)
    position, least = _distances(layer)[0]
    closer = layer.places(position, least - layer.result.type.element.size_bytes)
    assert host.run(inputs, closer) != host.run(inputs, layer.places())


@pytest.mark.parametrize("variant", ONE_DISTANCE)
@pytest.mark.parametrize("distance", [-4, 4])
def test_a_little_off_the_only_distance_spoils_the_result(
    variant: str, distance: int, tmp_path: Path
) -> None:
    sample = ONE_DISTANCE[variant]
    layer, data = placed_layer(sample, variant, _core_of(variant, sample))
    only = layer.code.overlaps[0].only_gap_bytes
    assert only is not None
    host, inputs = HostLayer(layer, tmp_path / "layer"), _inputs(layer, data)
    assert host.run(inputs, layer.places(0, only + distance)) != host.run(inputs, layer.places())


#: Those that read a whole channel before they write it: fewer whole pixels would do as well.
_READ_FIRST = {"depthwise_conv_2d.lines_dsp", "depthwise_conv_2d.lines_step_dsp",
               "depthwise_conv_2d.copies_dsp", "depthwise_conv_2d.sequence_nodsp"}  # fmt: skip


@pytest.mark.parametrize("variant", sorted(set(ONE_DISTANCE) - _READ_FIRST))
def test_the_only_distance_is_the_least_of_whole_pixels(variant: str, tmp_path: Path) -> None:
    sample = ONE_DISTANCE[variant]
    layer, data = placed_layer(sample, variant, _core_of(variant, sample))
    only = layer.code.overlaps[0].only_gap_bytes
    assert only is not None
    assert only % BUFFER_ALIGN == 0
    host, inputs = HostLayer(layer, tmp_path / "layer"), _inputs(layer, data)
    apart, pixel = host.run(inputs, layer.places()), layer.result.type.shape[-1]
    assert host.run(inputs, layer.places(0, only)) == apart
    assert host.run(inputs, layer.places(0, only - pixel)) != apart


_FAST = {**TIGHT, **ONE_DISTANCE}


@pytest.mark.parametrize(
    "variant",
    [
        name
        for name in _FAST
        if name.endswith(("dsp", "d_f32", "x_f32", "s_f32")) and "nodsp" not in name
    ],
)
def test_on_a_core_results_at_the_least_distance_are_as_apart(variant: str, tmp_path: Path) -> None:
    layer, data = placed_layer(_FAST[variant], variant, "cortex-m4")
    _check_on_core(layer, data, CortexM("cortex-m4", count=False), tmp_path)


@pytest.mark.skipif(QEMU.missing() is not None, reason=str(QEMU.missing()))
@pytest.mark.parametrize("variant", [name for name in _FAST if name.endswith("mve")])
def test_with_helium_results_at_the_least_distance_are_as_apart(
    variant: str, tmp_path: Path
) -> None:
    layer, data = placed_layer(_FAST[variant], variant, "cortex-m55")
    _check_on_core(layer, data, QEMU, tmp_path)


def _check_on_core(
    layer: PlacedLayer, data: list[Array], executor: CortexM | Qemu, folder: Path
) -> None:
    """At the least distance whose buffers begin where a plan may put them, against apart."""
    position, least = _distances(layer)[0]
    distance = aligned(least, BUFFER_ALIGN)
    results = []
    for name, places in ("apart", layer.places()), ("close", layer.places(position, distance)):
        (folder / name).mkdir()
        write_bundle(layer.files(places), folder / name, "layer")
        results.append(executor.run(folder / name, [data])[0].outputs[0].tobytes())
    assert results[0] == results[1], (position, distance)
