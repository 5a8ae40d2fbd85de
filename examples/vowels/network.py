"""The vowels network in torch: convolutions over time with max pooling, then a dense layer.

ONNX input is N x 12 x 16 (Conv1d: cepstra, then time), TFLite input 1 x 16 x 12. Flattening mixes
the axes: torch counts time fastest, TFLite channels, so the dense weights are reordered for TFLite.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from examples.float_tflite import add_conv, add_dense, add_reshape, add_row_max_pool
from examples.onnx_export import Interface
from examples.training import Floats, Indices, Labels, Recipe, fit, fold_norm
from glowmcu.frontend.tflite.writer import ModelBuilder

FRAMES = 16
CEPSTRA = 12
SPEAKERS = 9
DEPTHS = (24, 32, 32)
KERNELS = (5, 3, 3)
POOL = 2
FRAMES_LEFT = FRAMES // POOL ** (len(DEPTHS) - 1)
RECIPE = Recipe(seed=3, epochs=80, batch=32, peak_learning_rate=0.01, weight_decay=0.05)
INTERFACE = Interface("cepstra", (1, CEPSTRA, FRAMES), "logits")
NOISE = 0.1  # about a fifth of the strongest coefficient's spread


class ConvBlock(nn.Module):
    """Convolution with zeros around, batch normalization, ReLU."""

    def __init__(self, depth_in: int, depth_out: int, kernel: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(depth_in, depth_out, kernel, padding=kernel // 2, bias=False)
        self.norm = nn.BatchNorm1d(depth_out)

    def forward(self, x: Tensor) -> Tensor:
        """NCL in, NCL out."""
        return torch.relu(self.norm(self.conv(x)))


class VowelsNet(nn.Module):
    """Logits of nine speakers from N x 12 x 16 cepstra."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(map(ConvBlock, (CEPSTRA, *DEPTHS[:-1]), DEPTHS, KERNELS))
        self.pool = nn.MaxPool1d(POOL)
        self.flatten = nn.Flatten()
        self.classify = nn.Linear(DEPTHS[-1] * FRAMES_LEFT, SPEAKERS)

    def forward(self, x: Tensor) -> Tensor:
        """NCL cepstra to logits; pooling between convolutions, none after the last."""
        x = self.blocks[0](x)
        for block in self.blocks[1:]:
            x = block(self.pool(x))
        logits: Tensor = self.classify(self.flatten(x))
        return logits


def train(inputs: Floats, labels: Labels, recipe: Recipe = RECIPE) -> VowelsNet:
    """Trains on N x 12 x 16 utterances with noise added anew each time."""

    def batch(indices: Indices, rng: np.random.Generator) -> Tensor:
        x = inputs[indices]
        return torch.from_numpy(x + rng.normal(0, NOISE, x.shape).astype(np.float32))

    return fit(VowelsNet, recipe, labels, batch)


def write_tflite(net: VowelsNet) -> bytes:
    """The float32 model with batch normalization folded."""
    model = ModelBuilder("speaker from cepstra of a vowel, 16 frames of 12, float32")
    x = model.input("cepstra", (1, FRAMES, CEPSTRA), "float32")
    x = add_reshape(model, "as_image", x, (1, FRAMES, 1, CEPSTRA))
    for index, block in enumerate(net.blocks):
        assert isinstance(block, ConvBlock)
        if index:
            x = add_row_max_pool(model, f"pool_{index}", x, POOL)
        weights, bias = fold_norm(block.conv, block.norm)
        x = add_conv(model, f"conv_{index}", x, weights[..., None], bias, padding="SAME")
    x = add_reshape(model, "flat", x, (1, DEPTHS[-1] * FRAMES_LEFT))
    by_channel = net.classify.weight.reshape(SPEAKERS, DEPTHS[-1], FRAMES_LEFT)
    by_time = by_channel.permute(0, 2, 1).reshape(SPEAKERS, -1)
    model.output(add_dense(model, "logits", x, by_time, net.classify.bias))
    return model.finish()
