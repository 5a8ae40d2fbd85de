"""wide.windows_mve: pairs and single pixels, masks, groups, sums of 64 bits."""

from __future__ import annotations

import pytest

from tests.kernels.test_wide_windows_dsp import LAYERS as SHARED
from tests.kernels.test_wide_windows_dsp import REFUSED
from tests.ops.test_wide_layers import CONV, Case, layer_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import compile_forced, variants_of

NAME = "wide.windows_mve"
CORE = "cortex-m55"
_DOUBLED = {name for name, case in SHARED.items() if "int32" in (case.bias, case.bias_type.lower())}
LAYERS = {
    **{name: case for name, case in SHARED.items() if name not in _DOUBLED},
    **{
        f"1x1, {n} channels": Case("CONV_2D", (1, 3, 3, n), 6, (1, 1))
        for n in (1, 7, 8, 9, 15, 16, 17, 24, 64)
    },
    **{
        f"{rows} rows of 16": Case("FULLY_CONNECTED", (rows, 16), 5, activation="RELU")
        for rows in (1, 2, 3, 4)
    },
    **{
        f"3x5, {n} channels, all masks": Case("CONV_2D", (1, 4, 7, n), 5, (3, 5))
        for n in (1, 3, 5, 7, 8, 9, 11, 16)
    },
    "5x5 of one channel, wider than the image": Case("CONV_2D", (1, 4, 3, 1), 5, (5, 5)),
}
ON_CORE = ForcedLayers(NAME, LAYERS, layer_model, CORE)


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer(name: str) -> None:
    ON_CORE.check(name)


@pytest.mark.parametrize("name", sorted({*_DOUBLED, *REFUSED}))
def test_what_the_loops_cannot_scale_stays_with_other_kernels(name: str) -> None:
    case = SHARED.get(name) or CONV[name.removeprefix("conv, ")]
    assert NAME not in variants_of(compile_forced(layer_model(case), NAME, CORE))
