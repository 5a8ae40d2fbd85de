"""Gradients of images in int8 with a shift for each pixel: what is stored, and where."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glowmcu.ir.operation import OperationError, Signature
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.block_gradient import (
    BITS,
    SHARED,
    gradient_type,
    made_gradient,
    numbers_of,
    packed,
)
from glowmcu.ops.parameter_step import BiasStep
from glowmcu.ops.registry import load_operations
from glowmcu.ops.stored_gradient import GradientSum, RequantizationGradient
from tests.learning.test_fixed_point import compiled, learning


@pytest.mark.parametrize(
    ("numbers", "stored"),
    [
        ([0, 0, 0], [0, 0, 0, 0]),
        ([127, -127, 1], [127, -127, 1, 0]),
        # The next one needs a bit more, and halves go up.
        ([128, -127, 1], [64, -63, 1, 1]),
        ([-128, 3, -3], [-64, 2, -1, 1]),
        # What would be 128 when it is rounded.
        ([255, 0, 0], [64, 0, 0, 2]),
        ([253, 0, 0], [127, 0, 0, 1]),
        ([2**BITS, -(2**BITS), 127], [64, -64, 0, 8]),
    ],
)
def test_a_pixel_has_the_least_shift_with_which_its_numbers_fit(
    numbers: list[int], stored: list[int]
) -> None:
    found = packed(np.array(numbers, np.int64).reshape(1, 1, 1, 3))
    assert found.reshape(-1).tolist() == stored


@given(st.lists(st.integers(-(2**BITS), 2**BITS), min_size=6, max_size=6))
def test_numbers_come_back_to_half_a_step_and_within_their_bits(numbers: list[int]) -> None:
    given_ = np.array(numbers, np.int64).reshape(1, 3, 1, 2)
    stored, common = made_gradient(-3, given_, True)
    assert stored.dtype == np.int8
    back = numbers_of(stored)
    half = (1 << stored[..., -1:].astype(np.int64)) / 2
    assert (np.abs(back - given_) <= half).all()
    assert np.abs(back).max() <= 2**BITS
    assert common.tolist() == [-3, np.abs(back).max()]
    # A pixel with small numbers is as exact as if it stood alone.
    np.testing.assert_array_equal(packed(given_[:, 1:2]), stored[:, 1:2])


def test_images_of_layers_that_see_a_pixel_or_a_channel_alone_are_packed() -> None:
    graph = learning("separable", "last=7")
    found = [
        (node.op.name, node.output.type.element is ElementType.I8)
        for node in reversed(graph.nodes)
        if node.op.name.endswith("input_gradient")
    ]
    conv, depthwise = "conv_2d_input_gradient", "depthwise_input_gradient"
    # From the first that learns on, whose image is the model's; the classes have no image.
    expected = [(depthwise, True), (conv, True), (depthwise, True), (conv, True), (conv, True)]
    assert found == [*expected, (conv, False)]


def test_few_channels_and_larger_windows_stay_int16() -> None:
    graph = learning("pooled", "last=4")
    gradients = [node for node in graph.nodes if node.op.name.endswith("input_gradient")]
    assert gradients
    assert all(node.output.type.element is ElementType.I16 for node in gradients)


def test_the_cases_of_c_have_all_functions_of_packed_gradients(tmp_path: Path) -> None:
    source = (compiled(tmp_path, "separable", "last=7").path / "net.c").read_text("utf-8")
    for name in ("requantized_to_packed", "requantized_packed", "requantized_from_packed",
                 "conv_2d_back_packed", "depthwise_back_packed", "bias_step_packed",
                 "conv_2d_step_packed", "depthwise_step_packed"):  # fmt: skip
        assert f"glowmcu_{name}(" in source


_IMAGE = gradient_type((1, 2, 3, 5), True)


def test_packed_numbers_that_fit_nothing_are_refused() -> None:
    load_operations()
    plain = gradient_type((1, 2, 3, 4))
    op = GradientSum()
    with pytest.raises(OperationError, match="expected gradients of i16"):
        op.verify(Signature((_IMAGE, SHARED, _IMAGE, SHARED), (_IMAGE, SHARED)))
    bias = TensorType((5,), ElementType.I32)
    with pytest.raises(OperationError, match="is no gradient of a layer"):
        BiasStep().infer(
            [bias, _IMAGE, SHARED, TensorType((1, 2), ElementType.I32),
             TensorType((1,), ElementType.F32)]
        )  # fmt: skip
    row = gradient_type((6, 5), True)
    shares = TensorType((1,), ElementType.I16)
    stored = learning("separable", "last=1").arguments[0].type.with_shape((6, 4))
    with pytest.raises(OperationError, match="of plain i16 or packed"):
        RequantizationGradient().verify(
            Signature((row, SHARED, stored, shares), (gradient_type((6, 4)), SHARED))
        )
    image = stored.with_shape((1, 2, 3, 4))
    with pytest.raises(OperationError, match="is_packed=True"):
        RequantizationGradient(is_packed=True).verify(
            Signature((plain, SHARED, image, shares), (plain, SHARED))
        )
