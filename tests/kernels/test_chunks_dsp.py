"""conv_2d.chunks_dsp: runs, taps and windows of all kinds, and the scratch that they take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import glowmcu
from glowmcu.compilation import Options
from glowmcu.cores import core
from glowmcu.kernels.dsp.convolution.chunk_walk import ChunkWalk, RunKind
from glowmcu.kernels.dsp.convolution.chunks import ChunksConv2D, walk_of
from glowmcu.kernels.kernel import Site, Target, site_of
from glowmcu.ops.convolution import Conv2D, same_padding
from glowmcu.pipeline import compile_model
from glowmcu.verify.verification import seeded_inputs
from tests.kernels.test_conv_2d_rows_dsp import NOT_TAKEN, NUMBERS, SHAPES
from tests.ops.test_convolution import CONV_CASES, Case, conv_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced, variants_of

NAME = "conv_2d.chunks_dsp"
CORE = "cortex-m4"

ROWS = {
    "rows, four columns beside the image": Case((1, 5, 3, 4), 5, (5, 5), padding="SAME"),
    "rows, image narrower than a pair": Case((1, 4, 2, 9), 4, (3, 3), padding="SAME"),
    "rows in parts that overlap": Case((1, 4, 6, 23), 4, (2, 3)),
    "rows in three parts": Case((1, 3, 6, 45), 4, (2, 3)),
    "rows, stride larger than the kernel": Case((1, 7, 9, 5), 4, (2, 2), (3, 3)),
    "rows, dilated downwards": Case((1, 9, 6, 8), 4, (3, 3), dilations=(3, 1), padding="SAME"),
    "rows, an odd row without padding": Case((1, 4, 7, 8), 6, (3, 3)),
    "rows, one column of results": Case((1, 8, 3, 6), 5, (3, 3)),
    "rows, one column that is padded": Case((1, 8, 1, 8), 5, (3, 1), padding="SAME"),
    "rows, few channels of few pixels": Case((1, 3, 3, 9), 3, (3, 3), padding="SAME"),
    "rows, a batch of three": Case((3, 4, 5, 8), 4, (3, 3), padding="SAME"),
    "1x1, sixty-five channels": Case((1, 3, 4, 65), 4, (1, 1)),
}
TAPS = {
    "taps": Case((1, 5, 6, 32), 4, (3, 3), padding="SAME"),
    "taps, stride 2, padding behind alone": Case((1, 6, 8, 32), 8, (3, 3), (2, 2), padding="SAME"),
    "taps, odd width and channels": Case((1, 5, 7, 33), 5, (3, 3), padding="SAME"),
    "taps in two parts that overlap": Case((1, 4, 5, 71), 4, (3, 3), padding="SAME"),
    "taps, a kernel larger than the image": Case((1, 2, 2, 32), 4, (5, 5), padding="SAME"),
    "taps, stride 3": Case((1, 8, 8, 32), 4, (3, 5), (3, 3), padding="SAME"),
    "taps, one column that is padded": Case((1, 5, 1, 32), 4, (3, 3), padding="SAME"),
    "taps, two channels out": Case((1, 3, 4, 32), 2, (3, 3), padding="SAME"),
    "taps, dilated": Case((1, 7, 8, 9), 4, (3, 3), dilations=(2, 2), padding="SAME"),
    "taps, dilated, no padding": Case((1, 7, 9, 8), 4, (3, 3), dilations=(1, 3)),
    "taps, dilated beyond": Case((1, 4, 4, 8), 4, (3, 3), dilations=(5, 5), padding="SAME"),
}  # fmt: skip
WINDOWS = {
    "windows, one value": Case((1, 3, 4, 1), 5, (1, 1)),
    "windows, three values": Case((1, 5, 1, 1), 4, (3, 1), padding="SAME"),
    "windows, one channel": Case((1, 12, 6, 1), 8, (10, 4), (2, 2), padding="SAME"),
    "windows, dilated": Case((1, 7, 8, 3), 4, (3, 3), dilations=(2, 2), padding="SAME"),
    "windows in parts": Case((1, 9, 9, 3), 4, (9, 3), dilations=(1, 3), padding="SAME"),
}
EDGES = {
    "zero points, taps": replace(TAPS["taps"], zero_point=127, out_zero_point=-128),
    "zero points, rows": Case((1, 4, 6, 12), 5, (3, 3), padding="SAME", zero_point=-128),
    "weights all -128, taps": replace(TAPS["taps"], weights=-128),
    "some weights -128, floor": Case(
        (1, 4, 6, 12), 8, (3, 3), padding="SAME", out_zero_point=-128, least_weight=-128
    ),
    "largest sums": Case((1, 4, 4, 72), 4, (5, 5), padding="SAME", weights=127, zero_point=-128),
    "relu6": Case((1, 4, 4, 12), 6, (2, 2), activation="RELU6", out_scale=0.04),
}
#: Results of sums of many values that do not all saturate.
MINE = {
    name: replace(case, out_scale=max(case.out_scale, 4.0) if "relu" not in name else 0.04)
    for name, case in {**ROWS, **TAPS, **WINDOWS, **EDGES}.items()
}
#: As converters write weights: without -128, so that they can be packed.
PACKED = {
    name: replace(case, least_weight=-127) if name not in EDGES else case
    for name, case in MINE.items()
}
SHARED = {
    name: case
    for name, case in {**CONV_CASES, **SHAPES, **NUMBERS}.items()
    if name not in NOT_TAKEN
}


def conv(case: Case) -> bytes:
    return conv_model("CONV_2D", case)


PACKED_LAYERS = ForcedLayers(NAME, PACKED, conv, count=2)
SHARED_LAYERS = ForcedLayers(NAME, SHARED, conv)


@pytest.mark.arm
@pytest.mark.parametrize("name", PACKED)
def test_every_walk_computes_what_the_layer_means(name: str) -> None:
    PACKED_LAYERS.check(name)


@pytest.mark.arm
@pytest.mark.parametrize("name", SHARED)
def test_what_widened_rows_compute_chunks_compute(name: str) -> None:
    SHARED_LAYERS.check(name)


@pytest.mark.arm
@pytest.mark.parametrize("core_name", ["cortex-m7", "cortex-m33"])
@pytest.mark.parametrize("name", ["taps, odd width and channels", "rows in parts that overlap"])
def test_other_cores_with_the_instructions_compute_the_same(name: str, core_name: str) -> None:
    check_forced(conv_model("CONV_2D", PACKED[name]), NAME, core_name)


@pytest.mark.parametrize("name", NOT_TAKEN)
def test_what_has_no_exact_form_is_left_to_others(name: str) -> None:
    case = {**CONV_CASES, **NUMBERS}[name]
    assert NAME not in variants_of(compile_forced(conv_model("CONV_2D", case), NAME, CORE))


def site_for(case: Case) -> Site:
    graph = compile_model(conv_model("CONV_2D", case), "m.tflite", Options("m", core=CORE)).graph
    (node,) = (node for node in graph.nodes if isinstance(node.op, Conv2D))
    return site_of(graph, node)


def test_cores_without_the_instructions_are_not_served() -> None:
    site = site_for(ROWS["rows, a batch of three"])
    assert not ChunksConv2D().accepts(site, Target(core("cortex-m3")))
    assert ChunksConv2D().accepts(site, Target(core("cortex-m33")))


def test_the_names_of_the_cases_are_true() -> None:
    kinds = (("rows", ROWS, RunKind.ROW), ("taps", TAPS, RunKind.TAP))
    for word, cases, kind in (*kinds, ("windows", WINDOWS, RunKind.WINDOW)):
        found = {name: walk_of(site_for(case)) for name, case in cases.items()}
        assert {walk.kind for name, walk in found.items() if word in name} == {kind}
        for name, walk in found.items():
            overlapping = "overlap" in name
            assert not overlapping or walk.chunks * walk.chunk_values > walk.run_values
            assert not overlapping or walk.chunks > 1


@st.composite
def walks(draw: st.DrawFn) -> ChunkWalk:
    """Images up to 9 by 9, padded as TensorFlow does or not at all."""

    def two(most: int) -> tuple[int, int]:
        return draw(st.tuples(st.integers(1, most), st.integers(1, most)))

    kernel, in_size = two(5), two(9)
    strides, dilations = draw(st.sampled_from([(two(3), (1, 1)), ((1, 1), two(3))]))
    channels = draw(st.sampled_from([1, 2, 3, 7, 8, 16, 31, 32, 33, 64, 65]))
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    same = draw(st.booleans()) or any(e > size for e, size in zip(extents, in_size, strict=True))
    axes = list(zip(in_size, kernel, strides, dilations, extents, strict=True))
    before = [same_padding(n, k, s, d)[0] if same else 0 for n, k, s, d, _ in axes]
    out = [-(-n // s) if same else (n - e) // s + 1 for n, _, s, _, e in axes]
    outside = [
        pad > 0 or (size - 1) * s - pad + e > n
        for pad, size, (n, _, s, _, e) in zip(before, out, axes, strict=True)
    ]
    return ChunkWalk(
        channels, kernel, dilations, strides, (before[0], before[1]), in_size, (out[0], out[1]),
        any(outside),
    )  # fmt: skip


@given(walks())
def test_every_weight_meets_its_value_once(walk: ChunkWalk) -> None:
    taps = walk.kernel[0] * walk.kernel[1] * walk.channels
    weights = np.arange(1, taps + 1).reshape(1, *walk.kernel, walk.channels)
    (ordered,) = walk.weights(weights)
    fours = walk.runs * walk.chunks * len(walk.offsets)
    assert len(ordered) == 4 * fours
    chunks = np.add.outer(np.arange(walk.runs) * walk.run_values, walk.starts).ravel()
    values = np.add.outer(np.add.outer(chunks, walk.offsets), np.arange(4)).ravel()
    used = ordered > 0
    assert (ordered[used] == values[used] + 1).all()
    assert sorted(ordered[used]) == list(range(1, taps + 1))


@given(walks())
def test_no_chunk_reads_beyond_its_run(walk: ChunkWalk) -> None:
    assert walk.offsets[-1] + 4 == walk.chunk_values
    assert walk.starts[-1] + walk.chunk_values == walk.run_values
    assert min(walk.offsets) == min(walk.starts) == 0


def pieces_of(walk: ChunkWalk, y: int, x: int) -> tuple[int, bool]:
    """Runs of a pair, at row y and column x, that reach outside the image in part; whether any
    lies outside altogether.
    """
    partly, wholly = 0, False
    for ky in range(walk.kernel[0]):
        row = y + ky * walk.dilations[0]
        for run in range(walk.runs_across):
            first = x + run * walk.dilations[1]
            columns = [first + i for i in range(walk.run_columns)]
            there = [0 <= column < walk.in_size[1] for column in columns]
            if not 0 <= row < walk.in_size[0] or not any(there):
                wholly = True
            else:
                partly += not all(there)
    return partly, wholly


@given(walks().filter(lambda walk: walk.kind is not RunKind.WINDOW))
def test_the_patch_holds_the_pair_that_needs_most(walk: ChunkWalk) -> None:
    height, width = walk.out_size
    most = 0
    for oy in range(height):
        for ox in range(0, width, 2):
            left = max(ox - 1, 0) if ox + 1 == width else ox
            y = oy * walk.strides[0] - walk.padding[0]
            partly, wholly = pieces_of(walk, y, left * walk.strides[1] - walk.padding[1])
            most = max(most, partly + wholly)
    assert walk.patch_bytes == most * walk.run_columns * walk.channels
    assert (most > 0) <= walk.padded


def test_without_padding_there_is_no_scratch() -> None:
    for name in ("rows, an odd row without padding", "taps, dilated, no padding"):
        site = site_for({**ROWS, **TAPS}[name])
        assert ChunksConv2D().scratch_bytes(site, Target(core(CORE))) == 0


@pytest.mark.arm
@pytest.mark.parametrize(
    ("size", "channels", "strides", "out", "scratch"),
    [(32, 16, (1, 1), 16, 210), (16, 32, (2, 2), 64, 330), (8, 64, (1, 1), 64, 430)],
)
def test_layers_of_a_residual_network_take_little_scratch_and_a_quarter_more_cycles_at_most(
    size: int, channels: int, strides: tuple[int, int], out: int, scratch: int
) -> None:
    case = Case((1, size, size, channels), out, (3, 3), strides, padding="SAME", least_weight=-127,
                out_scale=6.0)  # fmt: skip
    data = conv_model("CONV_2D", case)
    narrow = check_forced(data, NAME, counts_cycles=True)
    wide = check_forced(data, "conv_2d.rows_dsp", counts_cycles=True)
    assert narrow.cycles is not None
    assert wide.cycles is not None
    assert narrow.cycles <= 1.25 * wide.cycles
    target = Target(core(CORE))
    assert ChunksConv2D().scratch_bytes(site_for(case), target) <= scratch


@pytest.fixture
def smallest(shared_dir: Path, tmp_path: Path) -> Callable[[str], tuple[int, int]]:
    """Bytes of arena and cycles of a model by a goal."""

    def measure(goal: str) -> tuple[int, int]:
        file = shared_dir / "models" / "ic_int8.tflite"
        bundle = glowmcu.compile(
            file, board="nrf52", output=tmp_path / goal, name="ic", optimize=goal
        )
        cycles = bundle.measure(seeded_inputs(bundle.manifest, 1)).cycles
        assert cycles is not None
        return bundle.report.arena_bytes, cycles

    return measure


@pytest.mark.slow
@pytest.mark.arm
def test_ram_streams_image_classification_at_1_4_times_the_cycles(
    smallest: Callable[[str], tuple[int, int]],
) -> None:
    (arena, slow), (_, quick) = smallest("ram"), smallest("balanced")
    assert arena <= 14900
    assert slow <= 1.4 * quick
