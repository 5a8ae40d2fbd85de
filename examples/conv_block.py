"""A convolution over time in torch, as networks on rows of measurements use it."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class ConvBlock(nn.Module):
    """Convolution over time without padding, batch normalization, ReLU."""

    def __init__(self, depth_in: int, depth_out: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(depth_in, depth_out, (kernel, 1), (stride, 1), bias=False)
        self.norm = nn.BatchNorm2d(depth_out)

    def forward(self, x: Tensor) -> Tensor:
        """NCHW in, NCHW out."""
        return torch.relu(self.norm(self.conv(x)))
