"""Layers whose weights the application gives, in the memory of what they read."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.goals import Goal
from glowmcu.kernels.selection.choices import KernelChoices
from tests.support.check_model import check_model

#: Operator, window, stride, and channels of the result.
Layers = list[tuple[str, tuple[int, int], int, int]]
FOURS: Layers = [
    ("CONV_2D", (1, 1), 1, 32), ("DEPTHWISE_CONV_2D", (3, 3), 1, 32), ("CONV_2D", (1, 1), 1, 32),
]  # fmt: skip
ODD: Layers = [
    ("CONV_2D", (3, 2), 1, 15), ("CONV_2D", (3, 3), 1, 15), ("DEPTHWISE_CONV_2D", (2, 3), 1, 15),
]  # fmt: skip


def with_given_weights(layers: Layers) -> bytes:
    """A network on (1, 25, 19, 3) whose weights are inputs."""
    model, random = ModelBuilder(), np.random.default_rng(0)
    at, scale, shape = model.input("x", (1, 25, 19, 3), "int8", 0.05, 3), 0.05, (25, 19, 3)
    for number, (kind, window, stride, depth) in enumerate(layers):
        is_depthwise = kind == "DEPTHWISE_CONV_2D"
        filters = (1, *window, depth) if is_depthwise else (depth, *window, shape[2])
        w = model.input(f"w{number}", filters, "int8", 0.02, 0)
        given = random.integers(-500, 500, depth).astype(np.int32)
        b = model.constant(f"b{number}", given, 0.02 * scale)
        products = window[0] * window[1] * (1 if is_depthwise else shape[2])
        options: dict[str, int | str] = {
            "padding": "SAME", "stride_h": stride, "stride_w": stride,
            "dilation_h_factor": 1, "dilation_w_factor": 1, "fused_activation_function": "NONE",
        }  # fmt: skip
        if is_depthwise:
            options["depth_multiplier"] = depth // shape[2]
        scale *= 0.9 * products**0.5
        shape = (-(-shape[0] // stride), -(-shape[1] // stride), depth)
        y = model.tensor(f"y{number}", (1, *shape), "int8", scale, -5)
        model.op(kind, [at, w, b], [y], options)
        at = y
    model.output(at)
    return model.finish()


@pytest.mark.parametrize(
    ("layers", "variant"),
    [
        (FOURS, "conv_2d.learnt_rows"),
        (FOURS, "depthwise_conv_2d.learnt_fours"),
        (ODD, "conv_2d.learnt"),
        (ODD, "depthwise_conv_2d.learnt"),
    ],
)
def test_results_begin_in_what_the_layer_reads(layers: Layers, variant: str) -> None:
    choices = KernelChoices(forced_variant=variant)
    options = Options("m", simplify=False, goal=Goal.RAM, kernels=choices)
    done = check_model(with_given_weights(layers), options=options)
    runs = [run for run in done.plan.program.runs if run.kernel == variant]
    assert runs
    offsets = done.plan.program.offsets
    for run in runs:
        read, made = run.inputs[0], run.outputs[0]
        if read in done.plan.program.written_before:
            continue
        assert offsets[made] < offsets[read] + read.size_bytes
        assert offsets[read] < offsets[made] + made.size_bytes
