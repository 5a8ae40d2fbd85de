"""The literal form of requantization where a channel has nothing to shift."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.kernels.requantization.forms import literal_form
from tests.kernels.test_requantization import computed, task_of


@pytest.mark.parametrize(
    ("shift", "zero_point", "clamp", "found"),
    [
        (0, -128, (-128, 127), True), (0, -128, (-128, 90), True), (0, 5, (5, 127), True),
        (0, 5, (9, 40), True), (0, 5, (4, 127), False), (0, -127, (-128, 127), False),
        (-1, 5, (-128, 127), True), (1, -128, (-128, 127), False),
    ],
)  # fmt: skip
def test_a_literal_form_without_a_shift_needs_a_clamp_at_the_zero_point(
    shift: int, zero_point: int, clamp: tuple[int, int], found: bool
) -> None:
    task = task_of([2**30, 2_000_000_011], [shift, -9], [3, -70], (-900, 900), zero_point, clamp)
    form = literal_form(task, unshifted=True)
    assert (form is not None) == found
    if form is not None:
        accumulators = np.arange(-900, 901)[np.newaxis, :].repeat(2, axis=0)
        wanted = np.clip(task.outputs(accumulators), *task.clamp)
        assert np.array_equal(computed(form, task, accumulators), wanted)
