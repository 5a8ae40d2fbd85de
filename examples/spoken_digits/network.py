"""The spoken digits network in torch: three convolutions over time, an average, a dense layer.

Time runs along image rows and bands are depth. TFLite input is 1 x 24 x 1 x 20, frame after frame.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from examples.conv_block import ConvBlock
from examples.float_tflite import add_conv, add_dense, add_image_mean, add_softmax
from examples.spoken_digits.front_end import BANDS
from examples.training import Floats, Indices, Labels, Recipe, fit, fold_norm
from glowmcu.frontend.tflite.writer import ModelBuilder

FRAMES = 24
CLASSES = (*"0123456789", "other")
DEPTHS, KERNELS, STRIDES = (32, 32, 48), (5, 3, 3), (2, 1, 2)
RECIPE = Recipe(seed=5, epochs=12, batch=64, peak_learning_rate=0.01, weight_decay=0.05)


class SpokenDigitsNet(nn.Module):
    """Logits of ten digits and of anything else from N x 24 x 1 x 20 features."""

    def __init__(self) -> None:
        super().__init__()
        depths_in = (BANDS, *DEPTHS[:-1])
        self.blocks = nn.Sequential(*map(ConvBlock, depths_in, DEPTHS, KERNELS, STRIDES))
        self.drop = nn.Dropout(0.2)
        self.classify = nn.Linear(DEPTHS[-1], len(CLASSES))

    def forward(self, x: Tensor) -> Tensor:
        """NHWC features to logits."""
        y = self.blocks(x.permute(0, 3, 1, 2) / 64)
        logits: Tensor = self.classify(self.drop(y.mean(dim=(2, 3))))
        return logits


def train(inputs: Floats, labels: Labels, recipe: Recipe = RECIPE) -> SpokenDigitsNet:
    """Trains on windows as they are: `train.py` has varied the recordings."""

    def batch(indices: Indices, _: object) -> Tensor:
        return torch.from_numpy(inputs[indices])

    return fit(SpokenDigitsNet, recipe, labels, batch)


def write_tflite(net: SpokenDigitsNet) -> bytes:
    """The float32 model with batch normalization and the scale of the input folded."""
    model = ModelBuilder("spoken digits from 24 frames of 20 mel bands, float32")
    x = model.input("features", (1, FRAMES, 1, BANDS), "float32")
    for index, block in enumerate(net.blocks):
        assert isinstance(block, ConvBlock)
        weights, bias = fold_norm(block.conv, block.norm)
        weights = weights / 64 if index == 0 else weights
        x = add_conv(model, f"conv_{index}", x, weights, bias, row_stride=STRIDES[index])
    x = add_image_mean(model, "average", x)
    x = add_dense(model, "classify", x, net.classify.weight, net.classify.bias)
    model.output(add_softmax(model, "scores", x))
    return model.finish()
