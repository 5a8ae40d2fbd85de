"""What importers of operators refuse of records: one operand, result or type that is not theirs."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.frontend.tflite.activation import import_relu6
from glowmcu.frontend.tflite.gather import expect_inside
from glowmcu.frontend.tflite.update_slice import import_update_slice
from tests.frontend.test_tflite_import import importing, operator, refused, tensor


@pytest.mark.parametrize("point", [0, -3])
def test_a_clamp_of_bytes_without_a_scale_is_refused(point: int) -> None:
    """Six is no stored value of theirs."""
    scaled = tensor("x", 2, kind="INT8", scale=0.5, point=point)
    bare, out = tensor("x", 2, kind="INT8"), tensor("y", 2, kind="INT8", scale=0.5, point=point)
    state = importing(bare, out)
    state.graph_input(0)
    op = operator((0,), (1,), "RELU6")
    assert refused(import_relu6, state, op).startswith("GM105 RELU6 needs quantized")
    state = importing(scaled, out)
    state.graph_input(0)
    import_relu6(state, op)
    assert state.builder.nodes[-1].op.name == "clip"


@pytest.mark.parametrize(
    ("inputs", "outputs", "fits"),
    [((0, 1, 2), (3,), True), ((0, 1), (3,), False), ((0, 1, 2, 0), (3,), False),
     ((0, 1, 2), (3, 4), False)],
)  # fmt: skip
def test_an_update_has_three_operands_and_one_result(
    inputs: tuple[int, ...], outputs: tuple[int, ...], fits: bool
) -> None:
    state = importing(
        tensor("x", 4), tensor("part", 2), tensor("at", 1, kind="INT32"), tensor("y", 4),
        tensor("z", 4), inputs=(0, 1, 2),
    )  # fmt: skip
    for index in range(3):
        state.graph_input(index)
    op = operator(inputs, outputs, "DYNAMIC_UPDATE_SLICE")
    if fits:
        import_update_slice(state, op)
        return
    said = f"{len(inputs)} operands and {len(outputs)} results; expected 3 and 1"
    assert refused(import_update_slice, state, op).endswith(said)


def test_indices_of_no_axis_are_within_everything() -> None:
    state = importing(tensor("x", 2), tensor("at", 3, 0, kind="INT32", data=np.zeros((3, 0), "i4")))
    state.graph_input(0)
    op = operator((0, 1), (1,), "GATHER_ND")
    expect_inside(state, op, ())
    inside = importing(tensor("x", 2), tensor("at", 2, kind="INT32", data=np.int32([0, 1])))
    inside.graph_input(0)
    expect_inside(inside, op, (2,))
    assert refused(expect_inside, inside, op, (1,)) == "GM106 gather_nd: index [1] is outside [1]"
