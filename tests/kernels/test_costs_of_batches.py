"""Kernels are chosen by what all images of a batch cost.

Batches come from dilated layers of Keras, which are written as images beside each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from glowmcu.compilation import Options
from glowmcu.kernels.kernel import load_kernels
from glowmcu.pipeline import compile_model
from tests.ops.test_convolution import Case, conv_model

CORES = ("cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m55", "rv32imc")
LAYERS = {
    "3x3": ("CONV_2D", Case((1, 9, 8, 8), 8, (3, 3), padding="SAME")),
    "1x1": ("CONV_2D", Case((1, 12, 12, 32), 64, (1, 1))),
    "one column": ("CONV_2D", Case((1, 35, 1, 16), 32, (5, 1))),
    "depthwise": ("DEPTHWISE_CONV_2D", Case((1, 12, 12, 64), 64, (3, 3), padding="SAME")),
    "depthwise of stride 2": (
        "DEPTHWISE_CONV_2D", Case((1, 12, 12, 8), 8, (3, 3), (2, 2), padding="SAME")
    ),
}  # fmt: skip


def costs(kind: str, case: Case, core: str) -> Iterator[tuple[str, float]]:
    """Of each variant that accepts the layer, what selection compares."""
    compilation = compile_model(conv_model(kind, case), "m.tflite", Options("m", core=core))
    (found,) = compilation.selections.values()
    assert found.site is not None
    for variant in load_kernels()[type(found.node.op)]:
        if variant.accepts(found.site, found.target):
            yield variant.name, variant.calibrated_cost(found.site, found.target).cycles


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("core", CORES)
def test_four_images_cost_about_four_times_one(core: str, layer: str) -> None:
    kind, case = LAYERS[layer]
    one = dict(costs(kind, case, core))
    four = dict(costs(kind, replace(case, shape=(4, *case.shape[1:])), core))
    both = set(one) & set(four)
    assert both
    ratios = {name: four[name] / one[name] for name in both}
    assert {name: ratio for name, ratio in ratios.items() if not 3 < ratio < 5} == {}
