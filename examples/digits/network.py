"""The digits network in torch: three convolutions' worth of MobileNet on 8 x 8 pixels.

Convolution, depthwise, 1x1, depthwise, 1x1, average pool, fully connected; batch normalization and
ReLU after each convolution. `fold` turns the trained network into plain layers with TFLite's
weight layouts, which is all that the conversion needs to know.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from examples.onnx_export import Interface
from examples.training import Floats, Indices, Labels, Recipe, fit, fold_norm

SEED = 20
EPOCHS = 80
BATCH = 32
PEAK_LEARNING_RATE = 0.01
CHANNELS = (16, 32, 64)
CLASSES = 10
INTERFACE = Interface("pixels", (1, 1, 8, 8), "scores")


@dataclass(frozen=True)
class Layer:
    """A layer with its batch normalization folded in; `kind` is the TFLite operator's name.

    `weights` are OHWI for CONV_2D, 1HWO for DEPTHWISE_CONV_2D, OI for FULLY_CONNECTED; padding is
    SAME; all but the last layer end in a ReLU.
    """

    name: str
    kind: str
    weights: Floats
    bias: Floats
    stride: int = 1

    @property
    def channel_axis(self) -> int:
        """Axis of the weights that counts output channels."""
        return 3 if self.kind == "DEPTHWISE_CONV_2D" else 0


class ConvBlock(nn.Module):
    """Convolution with TFLite's SAME padding, batch normalization, ReLU."""

    def __init__(
        self, depth_in: int, depth_out: int, kernel: int, stride: int, groups: int
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(depth_in, depth_out, kernel, stride, groups=groups, bias=False)
        self.norm = nn.BatchNorm2d(depth_out)

    def forward(self, x: Tensor) -> Tensor:
        """NCHW in, NCHW out."""
        padded = pad_same(x, self.conv.kernel_size[0], self.conv.stride[0])
        return functional.relu(self.norm(self.conv(padded)))


def pad_same(x: Tensor, kernel: int, stride: int) -> Tensor:
    """Zeros around NCHW as TFLite's SAME puts them: the odd one at the bottom and the right."""
    height = x.shape[2]
    rows_out = -(-height // stride)
    total = max(0, (rows_out - 1) * stride + kernel - height)
    before, after = total // 2, total - total // 2
    return functional.pad(x, (before, after, before, after))


class DigitsNet(nn.Module):
    """Logits of ten classes from N x 1 x 8 x 8 pixels between 0 and 1."""

    def __init__(self) -> None:
        super().__init__()
        first, second, third = CHANNELS
        self.blocks = nn.Sequential(
            ConvBlock(1, first, kernel=3, stride=1, groups=1),
            ConvBlock(first, first, kernel=3, stride=2, groups=first),
            ConvBlock(first, second, kernel=1, stride=1, groups=1),
            ConvBlock(second, second, kernel=3, stride=1, groups=second),
            ConvBlock(second, third, kernel=1, stride=1, groups=1),
        )
        self.classify = nn.Linear(third, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        """NCHW pixels to logits."""
        return self.classify(self.blocks(x).mean(dim=(2, 3)))


def train(images: Floats, labels: Labels) -> DigitsNet:
    """Trains on N x 8 x 8 x 1 images; the same result in every run on the same machine."""

    def batch(indices: Indices, rng: np.random.Generator) -> Tensor:
        return torch.from_numpy(_shifted(images[indices], rng)).permute(0, 3, 1, 2)

    return fit(DigitsNet, Recipe(SEED, EPOCHS, BATCH, PEAK_LEARNING_RATE), labels, batch)


def with_scores(net: DigitsNet) -> nn.Module:
    """The network as it is deployed: probabilities in place of logits."""
    return nn.Sequential(net, nn.Softmax(dim=1))


def _shifted(images: Floats, rng: np.random.Generator) -> Floats:
    """Each image moved by up to one pixel: the net has to know digits, not places."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    corners = rng.integers(0, 3, (len(images), 2))
    height, width = images.shape[1:3]
    return np.stack(
        [
            image[y : y + height, x : x + width]
            for image, (y, x) in zip(padded, corners, strict=True)
        ]
    )


def fold(net: DigitsNet) -> list[Layer]:
    """The trained network as layers, batch normalization folded."""
    layers = []
    for index, block in enumerate(net.blocks):
        assert isinstance(block, ConvBlock)
        weights, bias = fold_norm(block.conv, block.norm)
        is_depthwise = block.conv.groups > 1
        order = (1, 2, 3, 0) if is_depthwise else (0, 2, 3, 1)
        kind = "DEPTHWISE_CONV_2D" if is_depthwise else "CONV_2D"
        values = np.ascontiguousarray(weights.permute(order).numpy())
        stride = block.conv.stride[0]
        layers.append(Layer(f"{kind.lower()}_{index}", kind, values, bias.numpy(), stride))
    last = net.classify
    weights_oi, bias_o = last.weight.detach().numpy(), last.bias.detach().numpy()
    return [*layers, Layer("classify", "FULLY_CONNECTED", weights_oi, bias_o)]


def activations(layers: list[Layer], images: Floats) -> list[Floats]:
    """What every layer puts out for N x 8 x 8 x 1 images; the last are logits."""
    x = torch.from_numpy(images).permute(0, 3, 1, 2)
    outputs = []
    for layer in layers:
        weights, bias = torch.from_numpy(layer.weights), torch.from_numpy(layer.bias)
        if layer.kind == "FULLY_CONNECTED":
            x = functional.linear(x.mean(dim=(2, 3)), weights, bias)
        else:
            is_depthwise = layer.kind == "DEPTHWISE_CONV_2D"
            kernel = weights.permute((3, 0, 1, 2) if is_depthwise else (0, 3, 1, 2))
            groups = len(bias) if is_depthwise else 1
            padded = pad_same(x, kernel.shape[2], layer.stride)
            x = functional.relu(
                functional.conv2d(padded, kernel, bias, layer.stride, groups=groups)
            )
        outputs.append(x.numpy())
    return outputs
