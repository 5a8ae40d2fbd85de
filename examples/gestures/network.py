"""The gestures network in torch: three convolutions over time, an average, a dense layer.

Time runs along image rows and sensor channels are depth, so a device can feed rows as they are
measured. ONNX input is N x 6 x 25 x 1, TFLite input 1 x 25 x 1 x 6: step after step in memory.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from examples.conv_block import ConvBlock
from examples.float_tflite import add_conv, add_dense, add_image_mean, add_softmax
from examples.onnx_export import Interface
from examples.training import Floats, Indices, Labels, Recipe, fit, fold_norm
from glowmcu.frontend.tflite.writer import ModelBuilder

STEPS = 25
CHANNELS = 6
CLASSES = ("PEN", "ABD", "TRAP", "ROW")
DEPTHS = (16, 24, 32)
KERNELS = (5, 3, 3)
STRIDES = (2, 2, 1)
RECIPE = Recipe(seed=7, epochs=30, batch=32, peak_learning_rate=0.01, weight_decay=0.05)
INTERFACE = Interface("motion", (1, CHANNELS, STEPS, 1), "scores")
SMALLEST_GAIN, LARGEST_GAIN = 0.8, 1.25


class GesturesNet(nn.Module):
    """Logits of four classes from N x 6 x 25 x 1 raw sensor values."""

    def __init__(self) -> None:
        super().__init__()
        depths_in = (CHANNELS, *DEPTHS[:-1])
        self.blocks = nn.Sequential(*map(ConvBlock, depths_in, DEPTHS, KERNELS, STRIDES))
        self.average = nn.AdaptiveAvgPool2d(1)
        self.classify = nn.Linear(DEPTHS[-1], len(CLASSES))

    def forward(self, x: Tensor) -> Tensor:
        """NCHW sensor values to logits."""
        logits: Tensor = self.classify(self.average(self.blocks(x)).flatten(1))
        return logits


def train(inputs: Floats, labels: Labels, recipe: Recipe = RECIPE) -> GesturesNet:
    """Trains on N x 6 x 25 x 1 windows, each made stronger or weaker at random."""

    def batch(indices: Indices, rng: np.random.Generator) -> Tensor:
        gains = rng.uniform(SMALLEST_GAIN, LARGEST_GAIN, (len(indices), 1, 1, 1))
        return torch.from_numpy(inputs[indices] * gains.astype(np.float32))

    return fit(GesturesNet, recipe, labels, batch)


def with_scores(net: GesturesNet) -> nn.Module:
    """The network as it is deployed: probabilities in place of logits."""
    return nn.Sequential(net, nn.Softmax(dim=1))


def write_tflite(net: GesturesNet) -> bytes:
    """The float32 model with batch normalization folded."""
    model = ModelBuilder("accelerometer and gyroscope gestures, 25 steps of 6 channels, float32")
    x = model.input("motion", (1, STEPS, 1, CHANNELS), "float32")
    for index, block in enumerate(net.blocks):
        assert isinstance(block, ConvBlock)
        weights, bias = fold_norm(block.conv, block.norm)
        x = add_conv(model, f"conv_{index}", x, weights, bias, row_stride=STRIDES[index])
    x = add_image_mean(model, "average", x)
    x = add_dense(model, "classify", x, net.classify.weight, net.classify.bias)
    model.output(add_softmax(model, "scores", x))
    return model.finish()
