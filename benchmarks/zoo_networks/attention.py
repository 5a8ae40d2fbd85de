"""Transformers' and other recent forms, written as for any computer: positions made in forward,
shifted windows, statistics over time, states unrolled by convolution.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.zoo_networks.blocks import network


def _waves(steps: int, width: int) -> Tensor:
    """Sines and cosines of positions, (steps, width)."""
    factors = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    angles = torch.arange(steps).unsqueeze(1) * factors
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


class _Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, activation="gelu")
        self.first, self.body = nn.Linear(8, 16), nn.TransformerEncoder(layer, 2)
        self.last = nn.Linear(16, 6)

    def forward(self, x: Tensor) -> Tensor:
        y = self.first(x)
        return self.last(self.body(y + _waves(y.shape[1], y.shape[2]))[:, 0])


network("nn.TransformerEncoder", 20, 8)(_Encoder)


class _Patches(nn.Module):
    """PatchTST: every channel's windows are a sequence of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.positions = nn.Linear(8, 16), nn.Parameter(torch.randn(7, 16) * 0.02)
        self.body = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.last = nn.Linear(7 * 16, 6)

    def forward(self, x: Tensor) -> Tensor:
        batch, _, channels = x.shape
        patches = self.first(x.permute(0, 2, 1).unfold(-1, 8, 4)).reshape(batch * channels, 7, 16)
        y = self.body(patches + self.positions).reshape(batch, channels, -1)
        return self.last(y).permute(0, 2, 1)


network("PatchTST-like", 32, 4)(_Patches)


class _Swin(nn.Module):
    """Attention inside of windows that are shifted by half of their size."""

    def __init__(self, width: int = 16, window: int = 4) -> None:
        super().__init__()
        self.width, self.window = width, window
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.norm, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.joint, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.perceptron = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )
        self.bias = nn.Parameter(torch.randn(2, window**2, window**2) * 0.1)
        self.last = nn.Linear(width, 5)

    def forward(self, x: Tensor) -> Tensor:
        y = self.patches(x).permute(0, 2, 3, 1)
        y = y + self._attended(self.norm(y))
        y = y + self.perceptron(self.second(y))
        return self.last(y.flatten(1, 2).mean(1))

    def _attended(self, x: Tensor) -> Tensor:
        batch, rows, columns, width = x.shape
        size, shift = self.window, self.window // 2
        y = torch.roll(x, (-shift, -shift), (1, 2))
        y = y.view(batch, rows // size, size, columns // size, size, width)
        y = y.permute(0, 1, 3, 2, 4, 5).reshape(-1, size**2, width)
        parts = self.joint(y).reshape(-1, size**2, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
        q, k, v = parts.unbind(0)
        weights = (q * (width // 2) ** -0.5) @ k.transpose(-2, -1) + self.bias
        y = self.out((weights.softmax(-1) @ v).transpose(1, 2).reshape(-1, size**2, width))
        y = y.view(batch, rows // size, columns // size, size, size, width)
        y = y.permute(0, 1, 3, 2, 4, 5).reshape(batch, rows, columns, width)
        return torch.roll(y, (shift, shift), (1, 2))


network("Swin-like", 3, 32, 32)(_Swin)


class _Rotary(nn.Module):
    """RMSNorm, rotary positions, causal scaled_dot_product_attention."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.joint = nn.RMSNorm(16), nn.Linear(16, 48, bias=False)
        self.last = nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        batch, steps, width = x.shape
        q, k, v = self.joint(self.norm(x)).view(batch, steps, 3, 2, 8).unbind(2)
        speeds = 1 / (10000 ** (torch.arange(0, 8, 2) / 8))
        angles = torch.outer(torch.arange(steps).float(), speeds).repeat(1, 2)[None, :, None]

        def turned(y: Tensor) -> Tensor:
            left, right = y.chunk(2, -1)
            return y * angles.cos() + torch.cat([-right, left], -1) * angles.sin()

        heads = (turned(q), turned(k), v)
        y = functional.scaled_dot_product_attention(
            *(part.transpose(1, 2) for part in heads), is_causal=True
        )
        return self.last((x + y.transpose(1, 2).reshape(batch, steps, width))[:, -1])


network("rotary attention", 24, 16)(_Rotary)


class _Ecapa(nn.Module):
    """ECAPA-TDNN's parts: a convolution in steps of channels, attentive statistics over time."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(40, 24, 5, padding=2)
        self.steps = nn.ModuleList(
            [nn.Conv1d(6, 6, 3, dilation=2, padding=2) for _ in range(3)]
        )  # fmt: skip
        self.narrow, self.wide = nn.Conv1d(72, 8, 1), nn.Conv1d(8, 24, 1)
        self.norm, self.last = nn.BatchNorm1d(48), nn.Linear(48, 12)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x).relu()
        parts = torch.split(x, 6, 1)
        made = [parts[0]]
        for part, step in zip(parts[1:], self.steps, strict=True):
            made.append(step(part + made[-1]).relu())
        x = torch.cat(made, 1) + x
        mean, spread = x.mean(2, keepdim=True), x.var(2, keepdim=True).clamp(min=1e-4).sqrt()
        context = torch.cat([x, mean.expand_as(x), spread.expand_as(x)], 1)
        weights = self.wide(self.narrow(context).tanh()).softmax(2)
        mean = (x * weights).sum(2)
        spread = ((x**2 * weights).sum(2) - mean**2).clamp(min=1e-4).sqrt()
        return functional.normalize(self.last(self.norm(torch.cat([mean, spread], 1))))


network("ECAPA-TDNN-like", 40, 50)(_Ecapa)


class _LongConvolution(nn.Module):
    """A diagonal state space model as the causal convolution that it is, then a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.kernel = nn.Parameter(torch.randn(8, 32) * 0.2)
        self.through = nn.Parameter(torch.ones(8))
        self.gate, self.last = nn.Linear(8, 16), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        u = x.transpose(1, 2)
        padded = functional.pad(u, (u.shape[-1] - 1, 0))
        y = functional.conv1d(padded, self.kernel.flip(-1).unsqueeze(1), groups=8)
        y = functional.gelu(y + u * self.through.unsqueeze(-1), approximate="tanh")
        return self.last(functional.glu(self.gate(y.transpose(1, 2)), dim=-1).mean(1))


network("S4D-like", 32, 8)(_LongConvolution)


class _Reversible(nn.Module):
    """TSMixer between a series' own mean and deviation and their return."""

    def __init__(self) -> None:
        super().__init__()
        self.time = nn.Linear(48, 48)
        self.channels = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 3))
        self.last = nn.Linear(48, 12)

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(1, keepdim=True)
        spread = torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5)
        y = (x - mean) / spread
        y = y + self.time(y.transpose(1, 2)).relu().transpose(1, 2)
        y = y + self.channels(y)
        return self.last(y.transpose(1, 2)).transpose(1, 2) * spread + mean


network("TSMixer with RevIN", 48, 3)(_Reversible)


class _Cbam(nn.Module):
    """Channels, then places, weighted by their means and maxima."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(3, 16, 3, 2, 1), nn.Linear(16, 5)
        self.channels = nn.Sequential(nn.Linear(16, 4), nn.ReLU(), nn.Linear(4, 16))
        self.places = nn.Conv2d(2, 1, 7, padding=3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x).relu()
        pooled = [functional.adaptive_avg_pool2d(x, 1), functional.adaptive_max_pool2d(x, 1)]
        gate = sum(self.channels(part.flatten(1)) for part in pooled)
        x = x * gate.sigmoid()[:, :, None, None]
        seen = torch.cat([x.amax(1, keepdim=True), x.mean(1, keepdim=True)], 1)
        return self.last((x * self.places(seen).sigmoid()).mean((2, 3)))


network("CBAM", 3, 32, 32)(_Cbam)
