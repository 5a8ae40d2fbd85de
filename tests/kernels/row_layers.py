"""Dense layers that kernels take a row at a time, for the tests of all these kernels."""

from __future__ import annotations

import numpy as np

from tests.ops.test_convolution import Case, conv_model
from tests.ops.test_matmul import Dense

#: Facts of functions without their shifts: both layouts in every form.
ALL_FORMS = {
    (wide, f"{kind} requantization")
    for wide in ("", "wide")
    for kind in ("floor", "two-sided", "uniform")
}


def random_layer(seed: int) -> Dense:
    """A few rows, up to 150 inputs and 40 outputs, any zero points."""
    random = np.random.default_rng(seed)
    rows, depth, outputs = (int(random.integers(1, top)) for top in (4, 150, 40))
    return Dense(
        rows,
        depth,
        outputs,
        per_channel=bool(random.integers(0, 2)),
        zero_point=int(random.integers(-128, 128)),
        out_zero_point=int(random.choice([-128, -5, 127])),
        weights_type=str(random.choice(["int4", "int8"])),
        out_scale=float(random.uniform(0.5, 3)),
    )


def pixels_model(count: int) -> bytes:
    """A 1x1 convolution of so many pixels."""
    return conv_model("CONV_2D", Case((1, 1, count, 37), 11, (1, 1), out_scale=3.0))


def layer_without_lines(weights_type: str) -> Dense:
    """A layer whose channels differ: with no form found it is computed literally."""
    return Dense(2, 131, 12, out_scale=4.0, per_channel=True, weights_type=weights_type)
