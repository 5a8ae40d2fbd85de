"""The wake word network in torch: convolutions over time alone, without padding.

So an answer needs the newest 30 ms, and of the 1.2 s before what the layers have kept: compiled
with `--slide features=3` it is a streaming network, which computes each row once.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from examples.float_tflite import add_conv, add_dense, add_depthwise, add_logistic, add_reshape
from examples.training import fold_norm
from examples.wake_word.decision import STRIDE
from examples.wake_word.front_end import BANDS
from glowmcu.frontend.tflite.writer import ModelBuilder

DEPTH, KERNELS = 48, (7, 9, 13, 15)
#: Steps of 30 ms that an answer depends on, and their frames.
STEPS = 1 + sum(kernel - 1 for kernel in KERNELS)
FRAMES = STEPS * STRIDE
#: Features are divided by this for training; the first layer's weights hold it afterwards.
FEATURE_SCALE = 64.0
#: Answers whose mean is high or low in training; the decision may take another number of them.
TRAINED_AVERAGE = 6


class Separable(nn.Module):
    """Depthwise over time, then pointwise with batch normalization and ReLU."""

    def __init__(self, kernel: int) -> None:
        super().__init__()
        self.over_time = nn.Conv2d(DEPTH, DEPTH, (kernel, 1), groups=DEPTH)
        self.conv = nn.Conv2d(DEPTH, DEPTH, 1, bias=False)
        self.norm = nn.BatchNorm2d(DEPTH)

    def forward(self, x: Tensor) -> Tensor:
        """N x DEPTH x time x 1."""
        return torch.relu(self.norm(self.conv(self.over_time(x))))


class WakeWordNet(nn.Module):
    """Logits of a stream: one every STRIDE frames."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(BANDS, DEPTH, (STRIDE, 1), (STRIDE, 1), bias=False)
        self.norm = nn.BatchNorm2d(DEPTH)
        self.blocks = nn.Sequential(*map(Separable, KERNELS))
        self.drop = nn.Dropout(0.2)
        self.score = nn.Linear(DEPTH, 1)

    def forward(self, x: Tensor) -> Tensor:
        """From the FRAMES-th frame on: N x frames x BANDS to N x steps."""
        y = x.permute(0, 2, 1).unsqueeze(3) / FEATURE_SCALE
        y = self.blocks(torch.relu(self.norm(self.conv(y))))
        logits: Tensor = self.score(self.drop(y.squeeze(3).permute(0, 2, 1))).squeeze(2)
        return logits


def write_tflite(net: WakeWordNet) -> bytes:
    """The float32 model of one window: (1, FRAMES, 1, BANDS) to a score from 0 to 1."""
    model = ModelBuilder("wake word in 123 frames of 40 mel bands, float32")
    x = model.input("features", (1, FRAMES, 1, BANDS), "float32")
    weights, bias = fold_norm(net.conv, net.norm)
    x = add_conv(model, "frames", x, weights / FEATURE_SCALE, bias, row_stride=STRIDE)
    for index, block in enumerate(net.blocks):
        assert isinstance(block, Separable)
        assert block.over_time.bias is not None
        name = f"block_{index}"
        x = add_depthwise(model, f"{name}/time", x, block.over_time.weight, block.over_time.bias)
        x = add_conv(model, f"{name}/depth", x, *fold_norm(block.conv, block.norm))
    x = add_reshape(model, "newest", x, (1, DEPTH))
    x = add_dense(model, "score", x, net.score.weight, net.score.bias)
    model.output(add_logistic(model, "heard", x))
    return model.finish()
