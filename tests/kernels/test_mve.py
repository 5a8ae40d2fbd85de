"""Kernels with Helium: many layers in one model, as meant, on a computer and on QEMU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.interpreter import run_graph
from glowmcu.kernels.helium.depthwise import eights
from glowmcu.kernels.kernel import load_kernels
from glowmcu.kernels.selection import select
from glowmcu.verify.host import Host
from glowmcu.verify.qemu import Qemu
from tests.kernels import mve_direct_layers as mve_direct
from tests.kernels import mve_layers as mve
from tests.kernels import mve_sequence_layers as mve_sequence
from tests.kernels.mve_layers import CONV, DEPTHWISE, Layers
from tests.ops.test_convolution import NUMBERS, Case
from tests.support.check_model import expect_equal, random_inputs, write_bundle
from tests.support.forced_variant import SANITIZED, compile_forced, variants_of
from tests.support.one_unit import write_unit

CORE = "cortex-m55"


def some(layers: Layers) -> Layers:
    """A few of them."""
    return {name: layers[name] for name in [*layers][::4]}


FAMILIES: dict[str, tuple[str, Callable[[], Layers]]] = {
    "pointwise": ("matrix.rows_mve", mve.pointwise_layers),
    "short pixels": ("matrix.short_mve", mve.short_layers),
    "windows": ("matrix.windows_mve", mve.window_layers),
    "direct": ("matrix.direct_mve", mve_direct.direct_layers),
    "straight": ("matrix.direct_mve", mve_direct.straight_layers),
    "straight, masked": (
        "matrix.masked_mve",
        lambda: {
            name: layer
            for name, layer in mve_direct.straight_layers().items()
            if " to " not in f" {name}"
        },
    ),
    "masked": ("matrix.masked_mve", mve_direct.masked_layers),
    "blocks": ("matrix.blocks_mve", mve_direct.direct_layers),
    "narrow": ("matrix.narrow_mve", mve_direct.narrow_layers),
    "pointwise, four bits": (
        "matrix.nibbles_rows_mve",
        lambda: mve.four_bits(some(mve.pointwise_layers())),
    ),
    "direct, four bits": (
        "matrix.nibbles_direct_mve",
        lambda: {
            **mve.four_bits(some(mve_direct.direct_layers())),
            **mve_direct.unshifted_layers(),
        },
    ),
    "masked, four bits": (
        "matrix.nibbles_masked_mve",
        lambda: mve.four_bits(mve_direct.masked_layers()),
    ),
    "all direct, four bits": (
        "matrix.nibbles_direct_mve",
        lambda: mve.four_bits(mve_direct.direct_layers()),
    ),
    "blocks, four bits": (
        "matrix.nibbles_blocks_mve",
        lambda: mve.four_bits(mve_direct.direct_layers()),
    ),
    "narrow, four bits": (
        "matrix.nibbles_narrow_mve",
        lambda: mve.four_bits(mve_direct.narrow_layers()),
    ),
    "windows, four bits": (
        "matrix.nibbles_windows_mve",
        lambda: mve.four_bits(mve.window_layers()),
    ),
    "depthwise": ("depthwise_conv_2d.mve", mve.depthwise_layers),
    "depthwise pairs": ("depthwise_conv_2d.pairs_mve", mve.depthwise_pairs_layers),
    "depthwise pairs, strided": ("depthwise_conv_2d.strided_mve", mve.depthwise_strided_layers),
    "depthwise patches": ("depthwise_conv_2d.patches_mve", mve.depthwise_patches_layers),
    "depthwise sequences": ("depthwise_conv_2d.sequence_mve", mve_sequence.sequence_layers),
    "depthwise taps": ("depthwise_conv_2d.taps_mve", mve.depthwise_taps_layers),
    "average pools": ("average_pool_2d.mve", lambda: mve.pool_layers("AVERAGE_POOL_2D")),
    "maximum pools": ("max_pool_2d.mve", lambda: mve.pool_layers("MAX_POOL_2D")),
    "sums": ("sum.linear_mve", mve.sum_layers),
}
RANDOM: dict[str, tuple[str, Callable[[], Layers]]] = {
    "random windows": ("matrix.windows_mve", lambda: mve.random_layers(CONV, 60)),
    "random direct": ("matrix.direct_mve", lambda: mve_direct.random_direct(60)),
    "random windows, four bits": (
        "matrix.nibbles_windows_mve",
        lambda: mve.four_bits(mve.random_layers(CONV, 60)),
    ),
    "random direct, four bits": (
        "matrix.nibbles_direct_mve",
        lambda: mve.four_bits(mve_direct.random_direct(60)),
    ),
    "random depthwise": ("depthwise_conv_2d.mve", lambda: mve.random_layers(DEPTHWISE, 60)),
    "random patches": ("depthwise_conv_2d.patches_mve", lambda: mve.random_patches(60)),
    "random sequences": (
        "depthwise_conv_2d.sequence_mve",
        lambda: mve_sequence.random_sequences(60),
    ),
    "random taps": ("depthwise_conv_2d.taps_mve", lambda: mve.random_undilated(60)),
}
_QEMU = Qemu(machine="mps3-an547")


@pytest.fixture(autouse=True)
def _no_other_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels of the DSP extension, which these cores have too, would be calibrated in vain."""
    known = {
        operation: tuple(one for one in variants if "dsp" not in one.name)
        for operation, variants in load_kernels().items()
    }
    monkeypatch.setattr(select, "load_kernels", lambda _: known)


def build(layers: Layers) -> bytes:
    model = ModelBuilder()
    for number, add in enumerate(layers.values()):
        add(model, f"_{number}")
    return model.finish()


@pytest.mark.parametrize("family", [*FAMILIES, *RANDOM])
def test_vectors_and_portable_branches_give_what_layers_mean(family: str, tmp_path: Path) -> None:
    variant, layers = {**FAMILIES, **RANDOM}[family]
    table = layers()
    compilation = compile_forced(build(table), variant, CORE)
    if family in FAMILIES:
        used = {name.removesuffix(".lying") for name in variants_of(compilation)}
        assert used == {variant}
    else:
        taken = [one.kernel_name == variant for one in compilation.selections.values()]
        assert sum(taken) > 0.8 * len(table)
    inputs = random_inputs(compilation, 2)
    folder = write_bundle(compilation, tmp_path)
    runs = [("a computer", Host(SANITIZED).run(write_unit(compilation, tmp_path / "unit"), inputs))]
    missing = _QEMU.missing()
    if missing is None:
        runs.append(("QEMU", _QEMU.run(folder, inputs)))
    for number, arrays in enumerate(inputs):
        wanted = run_graph(compilation.imported, arrays)
        for place, measured in runs:
            for name, got, want in zip(table, measured[number].outputs, wanted, strict=True):
                expect_equal(np.asarray(got), want, f"{name} on {place}")
    if missing is not None:
        pytest.skip(missing)


@pytest.mark.parametrize("kind", [CONV, DEPTHWISE])
def test_numbers_without_an_exact_vector_form_stay_with_other_kernels(kind: str) -> None:
    case = mve.deep(NUMBERS["scale above 1"], 8)
    variant = "depthwise_conv_2d.mve" if kind == DEPTHWISE else "matrix.windows_mve"
    compilation = compile_forced(build({"one": mve.conv(kind, case)}), variant, CORE)
    assert variant not in variants_of(compilation)


@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m33", "generic"])
def test_no_core_without_helium_gets_its_kernels(core: str) -> None:
    layer = {"one": mve.dense(1, 16, 4)}
    assert variants_of(compile_forced(build(layer), "matrix.rows_mve", CORE)) == {"matrix.rows_mve"}
    assert "matrix.rows_mve" not in variants_of(
        compile_forced(build(layer), "matrix.rows_mve", core)
    )


def test_the_last_eight_channels_overlap_so_that_none_is_read_beyond_the_pixel() -> None:
    assert eights(16)[:, 0].tolist() == [0, 8]
    assert eights(19)[:, 0].tolist() == [0, 8, 11]
    assert eights(8)[:, -1].tolist() == [7]


@pytest.mark.parametrize(
    ("shape", "kernel", "strides", "in_place"),
    [
        ((1, 1, 12, 16), (1, 3), (1, 1), True),
        ((1, 3, 12, 16), (3, 5), (1, 1), True),
        ((1, 1, 13, 16), (1, 3), (1, 1), False),  # eleven results: the last pair computes one again
        ((1, 1, 12, 20), (1, 3), (1, 1), False),  # the last eight channels are computed again
        ((1, 1, 12, 16), (1, 5), (1, 2), True),
    ],
)
def test_pairs_write_in_place_where_nothing_is_computed_again(
    shape: tuple[int, ...], kernel: tuple[int, int], strides: tuple[int, int], in_place: bool
) -> None:
    case = Case(shape, shape[3], kernel, strides, padding="VALID", out_scale=1.0)
    name = "depthwise_conv_2d.taps_mve"
    compilation = compile_forced(build({"one": mve.conv(DEPTHWISE, case)}), name, CORE)
    (selection,) = compilation.selections.values()
    # Of one row of pixels it may be that of an image on its side, which others are chosen over.
    (taps,) = (one for one in selection.possible if one.name.removesuffix(".lying") == name)
    assert selection.site is not None
    assert selection.target is not None
    found = taps.generate(selection.site, selection.target).overlaps[0]
    assert found.least_gap_bytes is not None
    assert found.least_gap_bytes > 0
    assert found.is_kept(0) == in_place
