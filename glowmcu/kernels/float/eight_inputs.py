"""Float 1x1 of eight inputs: three pixels stay in registers; see glowmcu_eight_inputs_f32.h."""

from __future__ import annotations

import numpy as np

from glowmcu.kernels.common.layer_fields import clamping_fields, constant
from glowmcu.kernels.common.overlap import Overlaps
from glowmcu.kernels.float.convolution import MatrixF32, conv_2d, rows_of_weights
from glowmcu.kernels.float.windows import output_word, vector_overlaps
from glowmcu.kernels.kernel import (
    ConstantArray,
    Field,
    KernelCode,
    Site,
    Target,
    kernel,
)
from glowmcu.ops.convolution import Conv2D

_INPUTS, _VECTORS = 8, 3


@kernel("conv_2d.eight_inputs_f32", Conv2D)
class EightInputsF32(MatrixF32):
    """1x1 of eight inputs, three pixels at a time; an FPU without float vectors."""

    function = "glowmcu_eight_inputs_f32"

    def accepts(self, site: Site, target: Target) -> bool:
        if target.core.has_mve or not super().accepts(site, target):
            return False
        x, out = site.signature.inputs[0].shape, site.signature.output.shape
        return x[3] == _INPUTS and out[3] % 2 == 0

    def work(self, site: Site, target: Target) -> dict[str, float]:
        batches, height, width, channels = site.signature.output.shape
        threes = batches * -(-height * width // _VECTORS)
        return {
            "call": float(batches),
            "three": threes,
            f"three {output_word(conv_2d(site).clamp)}": threes * channels,
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        return 4 * (_INPUTS + 1) * site.signature.output.shape[3]

    def generate(self, site: Site, target: Target) -> KernelCode:
        out = site.signature.output
        # A bias of -0 is stored as 0: no sum is -0, so that results are the same.
        bias = constant(site, 2) + np.float32(0.0)
        columns = np.column_stack([rows_of_weights(site), bias]).astype(np.float32)
        weights = ConstantArray("weights", columns.reshape(-1), "eight weights and a bias each")
        fields = (
            Field("vectors", out.shape[2]),
            Field("depth_out", out.shape[3]),
            *clamping_fields(conv_2d(site).clamp),
            Field("weights", weights),
        )
        return self.code(site, "glowmcu_eight_inputs_real", fields)

    def overlaps(self, site: Site) -> Overlaps:
        _, height, width, _ = site.signature.output.shape
        return vector_overlaps(site.signature, height * width, None, (_VECTORS, 2))
