"""Float networks row by row: less memory, streamed inputs, the same bits, and costs that hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.tflite.writer_tables import TensorRef
from glowmcu.goals import Goal
from glowmcu.input_options import InputOptions
from glowmcu.pipeline import compile_model
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.host import Host
from tests.support.check_model import random_inputs, write_bundle


def network() -> bytes:
    """A small MobileNet: 24x24x3, a 3x3 of stride 2, two separable convolutions, a mean, scores."""
    generator, model = np.random.default_rng(8), ModelBuilder()

    def layer(
        kind: str, x: TensorRef, shape: tuple[int, ...], out: tuple[int, ...], **options: Any
    ) -> TensorRef:
        number = layer.__dict__.setdefault("count", 0)
        layer.__dict__["count"] = number + 1
        fan = np.prod(shape[1:3]) * (1 if kind == "DEPTHWISE_CONV_2D" else shape[-1])
        weights = generator.normal(0, fan**-0.5, shape).astype(np.float32)
        w = model.constant(f"w{number}", weights)
        b = model.constant(f"b{number}", generator.normal(0, 0.1, out[-1]).astype(np.float32))
        y = model.tensor(f"y{number}", out, "float32")
        model.op(kind, [x, w, b], [y], options)
        return y

    same = {"padding": "SAME", "fused_activation_function": "RELU", "stride_h": 1, "stride_w": 1}
    x = model.input("x", (1, 24, 24, 3), "float32")
    stem = layer("CONV_2D", x, (16, 3, 3, 3), (1, 12, 12, 16), **{**same, "stride_h": 2,
                                                                 "stride_w": 2})  # fmt: skip
    for channels in (32, 40):
        depth = stem.shape[-1]
        spatial = layer("DEPTHWISE_CONV_2D", stem, (1, 3, 3, depth), (1, 12, 12, depth),
                        depth_multiplier=1, **same)  # fmt: skip
        stem = layer("CONV_2D", spatial, (channels, 1, 1, depth), (1, 12, 12, channels), **same)
    pooled = model.tensor("pooled", (1, 1, 1, 40), "float32")
    whole = {"filter_height": 12, "filter_width": 12, "padding": "VALID"}
    model.op("AVERAGE_POOL_2D", [stem], [pooled], {**whole, "stride_h": 12, "stride_w": 12})
    model.output(layer("CONV_2D", pooled, (10, 1, 1, 40), (1, 1, 1, 10), padding="VALID",
                       stride_h=1, stride_w=1))  # fmt: skip
    return model.finish()


def compiled(core: str, goal: Goal, **inputs: Any) -> Compilation:
    options = Options("m", core=core, goal=goal, inputs=InputOptions(**inputs))
    return compile_model(network(), "m.tflite", options)


@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m3"])
def test_rows_take_less_memory_and_give_the_same_bits(core: str, tmp_path: Path) -> None:
    results, arenas = [], []
    for goal, inputs in (
        (Goal.BALANCED, {}), (Goal.RAM, {}), (Goal.RAM, {"streamed": ("x",)}),
    ):  # fmt: skip
        compilation = compiled(core, goal, **inputs)
        folder = tmp_path / str(len(arenas))
        folder.mkdir()
        (done,) = Host().run(write_bundle(compilation, folder), random_inputs(compilation, 1))
        results.append(done.outputs[0].tobytes())
        arenas.append(compilation.plan.arena_bytes)
    balanced, ram, streamed = arenas
    assert ram < 0.7 * balanced
    assert streamed < 0.75 * ram
    assert len(set(results)) == 1


@pytest.mark.parametrize("goal", [Goal.BALANCED, Goal.RAM])
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m7", "cortex-m33"])
def test_cycles_are_estimated_within_a_tenth(core: str, goal: Goal, tmp_path: Path) -> None:
    compilation = compiled(core, goal)
    (done,) = CortexM(core).run(write_bundle(compilation, tmp_path), random_inputs(compilation, 1))
    assert done.cycles is not None
    assert abs(compilation.estimated_cycles / done.cycles - 1.0) < 0.1
