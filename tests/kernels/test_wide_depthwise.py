"""wide_depthwise.dsp and .mve: channels around blocks, every window, rows, what stays portable."""

from __future__ import annotations

import pytest

from tests.ops.test_wide_layers import DEPTHWISE, Case, layer_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import compile_forced, variants_of

KIND = "DEPTHWISE_CONV_2D"
LAYERS = {
    **{
        f"{n} channels": Case(KIND, (1, 4, 5, n), n, (3, 3))
        for n in (1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 23)
    },
    "stride 2, batch of two": Case(KIND, (2, 5, 4, 11), 11, (3, 2), 2),
    "dilation 2": Case(KIND, (1, 7, 8, 9), 9, (3, 3), dilation=2),
    "windows beyond the image": Case(KIND, (1, 2, 2, 6), 6, (3, 3), dilation=3),
    "valid": Case(KIND, (1, 6, 5, 8), 8, (3, 3), padding="VALID"),
    "a row of time": Case(KIND, (1, 12, 1, 10), 10, (5, 1)),
    "larger than the image": Case(KIND, (1, 2, 3, 8), 8, (5, 5)),
    "relu": Case(KIND, (1, 4, 4, 10), 10, (3, 3), activation="RELU"),
    "relu6": Case(KIND, (1, 4, 4, 10), 10, (3, 3), activation="RELU6", out_scale=2e-4),
    "no bias": Case(KIND, (1, 4, 4, 10), 10, (3, 3), bias=""),
    "one scale": Case(KIND, (1, 4, 4, 10), 10, (3, 3), per_channel=False),
    "weights all -128, saturated": Case(KIND, (1, 4, 4, 10), 10, (3, 3), weights=-128),
    "tiny scale": Case(KIND, (1, 4, 4, 6), 6, (3, 3), out_scale=900.0),
    "vanishing scale": Case(KIND, (1, 4, 4, 6), 6, (3, 3), scale=1e-9, out_scale=1e5),
}  # fmt: skip
REFUSED = {
    "several results a channel": DEPTHWISE["multiplier 5, stride 2"],
    "sums of 64 bits": Case(KIND, (1, 2, 600, 1), 1, (2, 257), weights=-128, out_scale=0.9),
    "1022 taps of -128": DEPTHWISE["511 taps of -128"],
    "a bias beyond int32": Case(
        KIND, (1, 4, 4, 6), 6, (3, 3), largest_bias=2**40, out_scale=1e4
    ),
    "scale above 1/4": Case(KIND, (1, 4, 4, 6), 6, (3, 3), scale=1.0, out_scale=0.04, bias=""),
}  # fmt: skip
VARIANTS = {"wide_depthwise.dsp": "cortex-m4", "wide_depthwise.mve": "cortex-m55"}
ON = {name: ForcedLayers(name, LAYERS, layer_model, core) for name, core in VARIANTS.items()}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", LAYERS)
def test_every_layer(name: str, variant: str) -> None:
    ON[variant].check(name)


@pytest.mark.parametrize("core", ["cortex-m7", "cortex-m33"])
def test_other_cores(core: str) -> None:
    ON["wide_depthwise.dsp"].elsewhere(core).check_all_on_core()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_the_loops_cannot_compute_stays_with_portable_c(case: Case, variant: str) -> None:
    compilation = compile_forced(layer_model(case), variant, VARIANTS[variant])
    assert variant not in variants_of(compilation)
