"""wide.windows_dsp: every way to sum, rescale and clamp, tails, edges, groups, rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ops.test_wide_layers import CONV, DENSE, Case, layer_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced, variants_of

NAME = "wide.windows_dsp"
_DEEP = Case("CONV_2D", (1, 3, 3, 128), 5, (3, 3), out_scale=0.9)
_LAYERS = {
    **{f"conv, {name}": case for name, case in CONV.items()},
    **{f"dense, {name}": case for name, case in DENSE.items()},
    **{
        f"dense, {n} inputs": Case("FULLY_CONNECTED", (1, n), 5)
        for n in (2, 3, 4, 5, 6, 7, 8, 12, 13, 16, 17, 18, 19, 20, 31, 32, 33, 64, 67)
    },
    **{
        f"dense, {n} outputs": Case("FULLY_CONNECTED", (2, 24), n)
        for n in (1, 2, 3, 4, 5, 6, 7, 8, 11)
    },
    **{
        f"3x3, {n} channels": Case("CONV_2D", (1, 5, 4, n), 6, (3, 3))
        for n in (1, 2, 3, 4, 6, 8, 10)
    },
    **{
        f"3x3 with stride 2, {n} channels": Case("CONV_2D", (1, 7, 6, n), 4, (3, 3), 2)
        for n in (2, 5, 8)
    },
    "relu, rest": Case("CONV_2D", (1, 4, 4, 8), 9, (1, 1), activation="RELU"),
    "relu n1 to 1": Case(
        "CONV_2D", (1, 4, 4, 8), 7, (1, 1), activation="RELU_N1_TO_1", out_scale=2e-4
    ),
    "64 bits": _DEEP,
    "64 bits, relu": replace(_DEEP, activation="RELU"),
    "64 bits, relu6": replace(_DEEP, activation="RELU6", out_scale=2e-4),
    "64 bits, odd runs": Case("FULLY_CONNECTED", (3, 1301), 6, out_scale=0.9),
    "64 bits, bytes": Case("FULLY_CONNECTED", (2, 1303), 7, weights=-128, out_scale=0.9),
    "64 bits, dilated": Case("CONV_2D", (1, 7, 7, 131), 5, (3, 3), dilation=2, out_scale=0.9),
    "bytes, dilated": Case("CONV_2D", (1, 7, 7, 6), 5, (3, 3), dilation=2, weights=-128),
    "int32 bias, relu": Case(
        "CONV_2D", (1, 3, 4, 4), 6, (2, 2), bias="int32", activation="RELU"
    ),
    "int32 bias, bytes": Case("CONV_2D", (1, 3, 4, 4), 6, (2, 2), bias="int32", weights=-128),
    "three groups of odd depth": Case("CONV_2D", (1, 5, 5, 9), 15, (3, 3), groups=3),
    "four groups, dilated": Case("CONV_2D", (1, 6, 6, 8), 8, (3, 3), dilation=2, groups=4),
    "batch of three": Case("CONV_2D", (3, 4, 4, 6), 5, (3, 3)),
    "windows beyond the image": Case("CONV_2D", (1, 2, 2, 3), 5, (3, 3), dilation=3),
    "a row of time": Case("CONV_2D", (1, 12, 1, 20), 6, (3, 1)),
}  # fmt: skip
#: What the loop cannot compute exactly.
REFUSED = {
    "conv, scale just below 128",
    "conv, scale of exactly 1/2",
    "conv, int32 bias, scale above 1",
}
LAYERS = {name: case for name, case in _LAYERS.items() if name not in REFUSED}
ON = {core: ForcedLayers(NAME, LAYERS, layer_model, core) for core in ("cortex-m4", "cortex-m7")}


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer(name: str) -> None:
    ON["cortex-m4"].check(name)


@pytest.mark.parametrize("core", ["cortex-m7", "cortex-m33"])
def test_other_cores(core: str) -> None:
    ForcedLayers(NAME, LAYERS, layer_model, core).check_all_on_core()


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_the_loop_cannot_scale_stays_with_portable_c(name: str) -> None:
    assert NAME not in variants_of(compile_forced(layer_model(_LAYERS[name]), NAME, "cortex-m4"))


@pytest.mark.parametrize("channels", [3, 4])
def test_results_may_lie_where_their_own_inputs_are(channels: int) -> None:
    data = layer_model(Case("FULLY_CONNECTED", (12, 4), channels))
    compilation = compile_forced(data, NAME, "cortex-m4")
    assert compilation.manifest.arena_bytes < 12 * 2 * (4 + channels)
    check_forced(data, NAME, count=3)
