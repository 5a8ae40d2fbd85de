"""Networks that classify images."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.zoo_networks.blocks import (
    Apply,
    Encoder,
    Gate,
    Parallel,
    Positions,
    Residual,
    basic,
    conv,
    head,
    inverted,
    network,
    separable,
    shuffled,
)  # fmt: skip


@network("MobileNetV1 0.25", 3, 96, 96)
def mobilenet_v1() -> nn.Module:
    sizes = [(8, 16, 1), (16, 32, 2), (32, 32, 1), (32, 64, 2), (64, 64, 1), (64, 128, 2),
             *[(128, 128, 1)] * 5, (128, 256, 2), (256, 256, 1)]  # fmt: skip
    return nn.Sequential(conv(3, 8, 3, 2), *(separable(*size) for size in sizes), head(256, 2))


@network("MobileNetV2 0.35", 3, 96, 96)
def mobilenet_v2() -> nn.Module:
    sizes = [(8, 8, 2), (8, 8, 1), (8, 16, 2), (16, 16, 1), (16, 24, 2), (24, 24, 1), (24, 32, 1),
             (32, 56, 2), (56, 56, 1), (56, 112, 1)]  # fmt: skip
    blocks = (inverted(*size, factor=6) for size in sizes)
    return nn.Sequential(conv(3, 8, 3, 2, act=nn.ReLU6()), *blocks, head(112, 10))


@network("MobileNetV3-small 0.5", 3, 96, 96)
def mobilenet_v3() -> nn.Module:
    swish = nn.Hardswish
    return nn.Sequential(
        conv(3, 8, 3, 2, act=swish()), inverted(8, 8, 2, 2, gate=True, act=nn.ReLU),
        inverted(8, 16, 2, act=nn.ReLU), inverted(16, 16, act=nn.ReLU),
        inverted(16, 24, 2, 4, 5, swish, True), inverted(24, 24, 1, 6, 5, swish, True),
        inverted(24, 48, 2, 6, 5, swish, True), conv(48, 144, 1, act=swish()), head(144, 10),
    )  # fmt: skip


def _shuffle_unit(channels: int) -> nn.Module:
    body = nn.Sequential(
        conv(channels, channels // 2, 1, groups=2), shuffled(2),
        conv(channels // 2, channels // 2, groups=channels // 2, act=nn.Identity()),
        conv(channels // 2, channels, 1, groups=2, act=nn.Identity()),
    )  # fmt: skip
    return Residual(body, after=nn.ReLU())


@network("ShuffleNet", 3, 64, 64)
def shufflenet() -> nn.Module:
    return nn.Sequential(conv(3, 16, 3, 2), _shuffle_unit(16), conv(16, 32, 3, 2),
                         _shuffle_unit(32), _shuffle_unit(32), head(32, 10))  # fmt: skip


def _fire(inputs: int, outputs: int) -> nn.Module:
    narrow = outputs // 4
    squeeze = nn.Sequential(nn.Conv2d(inputs, narrow, 1), nn.ReLU())
    wide = (nn.Conv2d(narrow, outputs // 2, size, padding=size // 2) for size in (1, 3))
    return nn.Sequential(squeeze, Parallel(*wide), nn.ReLU())


@network("SqueezeNet", 3, 64, 64)
def squeezenet() -> nn.Module:
    pools = (nn.MaxPool2d(3, 2, ceil_mode=True) for _ in range(2))
    return nn.Sequential(conv(3, 16, 3, 2), next(pools), _fire(16, 32), _fire(32, 32), next(pools),
                         _fire(32, 64), nn.Conv2d(64, 10, 1), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten())  # fmt: skip


@network("EfficientNet-lite0, narrow", 3, 96, 96)
def efficientnet() -> nn.Module:
    return nn.Sequential(conv(3, 16, 3, 2, act=nn.ReLU6()), inverted(16, 8, factor=1),
                         inverted(8, 12, 2, 6), inverted(12, 12, 1, 6), inverted(12, 20, 2, 6, 5),
                         inverted(20, 40, 2, 6), inverted(40, 56, 1, 6, 5), inverted(56, 96, 2, 6),
                         conv(96, 160, 1), head(160, 10))  # fmt: skip


@network("MCUNet-like", 3, 64, 64)
def mcunet() -> nn.Module:
    return nn.Sequential(conv(3, 16, 3, 2), inverted(16, 8, factor=1), inverted(8, 16, 2, 3, 7),
                         inverted(16, 16, 1, 5), inverted(16, 24, 2, 4, 5),
                         inverted(24, 40, 2, 5, 7), inverted(40, 40, 1, 3, 5),
                         head(40, 2))  # fmt: skip


@network("ResNet-8", 3, 32, 32)
def resnet_8() -> nn.Module:
    return nn.Sequential(conv(3, 16), basic(16, 16), basic(16, 32, 2), basic(32, 64, 2),
                         head(64, 10))  # fmt: skip


@network("ResNet-14", 3, 32, 32, dynamo=False)
def resnet_14() -> nn.Module:
    return nn.Sequential(conv(3, 16), basic(16, 16), basic(16, 16), basic(16, 32, 2), basic(32, 32),
                         basic(32, 64, 2), basic(64, 64), head(64, 10))  # fmt: skip


class _LastNorm(nn.Module):
    """Layer norm over the channels of an image."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.normal = nn.LayerNorm(channels)

    def forward(self, x: Tensor) -> Tensor:
        return self.normal(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def _convnext(channels: int) -> nn.Module:
    return Residual(nn.Sequential(
        nn.Conv2d(channels, channels, 7, padding=3, groups=channels), _LastNorm(channels),
        nn.Conv2d(channels, 4 * channels, 1), nn.GELU(), nn.Conv2d(4 * channels, channels, 1),
    ))  # fmt: skip


@network("ConvNeXt tiny", 3, 32, 32)
def convnext() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 16, 4, 4), _LastNorm(16), _convnext(16), _LastNorm(16),
                         nn.Conv2d(16, 32, 2, 2), _convnext(32), head(32, 10))  # fmt: skip


def _patches(width: int, size: int) -> nn.Module:
    """Patches as a sequence."""
    return nn.Sequential(nn.Conv2d(3, width, size, size), nn.Flatten(2),
                         Apply(lambda x: x.transpose(1, 2)))  # fmt: skip


@network("ViT tiny", 3, 32, 32)
def vit() -> nn.Module:
    return nn.Sequential(_patches(32, 8), Positions(16, 32), Encoder(32), Encoder(32),
                         nn.LayerNorm(32), Apply(lambda x: x.mean(1)),
                         nn.Linear(32, 10))  # fmt: skip


class _MobileViTBlock(nn.Module):
    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.local = nn.Sequential(conv(channels, channels), nn.Conv2d(channels, width, 1))
        self.encoder, self.back = Encoder(width), conv(width, channels, 1)
        self.joined = conv(2 * channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        y = self.local(x)
        batch, width, rows, columns = y.shape
        y = y.reshape(batch, width, rows // 2, 2, columns // 2, 2).permute(0, 3, 5, 2, 4, 1)
        y = self.encoder(y.reshape(batch * 4, rows * columns // 4, width))
        y = y.reshape(batch, 2, 2, rows // 2, columns // 2, width).permute(0, 5, 3, 1, 4, 2)
        return self.joined(torch.cat([x, self.back(y.reshape(batch, width, rows, columns))], 1))


@network("MobileViT small", 3, 64, 64)
def mobilevit() -> nn.Module:
    return nn.Sequential(conv(3, 8, 3, 2, act=nn.SiLU()), inverted(8, 16, 2, 2, act=nn.SiLU),
                         inverted(16, 24, 2, 2, act=nn.SiLU), _MobileViTBlock(24, 32),
                         head(24, 10))  # fmt: skip


def _mixer(tokens: int, width: int) -> nn.Module:
    turn = (Apply(lambda x: x.transpose(1, 2)) for _ in range(2))
    over_tokens = nn.Sequential(nn.LayerNorm(width), next(turn), nn.Linear(tokens, 32), nn.GELU(),
                                nn.Linear(32, tokens), next(turn))  # fmt: skip
    over_width = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 64), nn.GELU(),
                               nn.Linear(64, width))  # fmt: skip
    return nn.Sequential(Residual(over_tokens), Residual(over_width))


@network("MLP-Mixer", 3, 32, 32)
def mixer() -> nn.Module:
    return nn.Sequential(_patches(32, 8), _mixer(16, 32), _mixer(16, 32), nn.LayerNorm(32),
                         Apply(lambda x: x.mean(1)), nn.Linear(32, 10))  # fmt: skip


class _SpatialGate(nn.Module):
    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.normal, self.mix = nn.LayerNorm(width), nn.Conv1d(tokens, tokens, 1)

    def forward(self, x: Tensor) -> Tensor:
        kept, gate = x.chunk(2, dim=-1)
        return kept * self.mix(self.normal(gate))


@network("gMLP", 3, 32, 32)
def gmlp() -> nn.Module:
    blocks = (Residual(nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 64), nn.GELU(),
              _SpatialGate(16, 32), nn.Linear(32, 32))) for _ in range(2))  # fmt: skip
    return nn.Sequential(_patches(32, 8), *blocks, Apply(lambda x: x.mean(1)), nn.Linear(32, 10))


def _ghost(inputs: int, outputs: int) -> nn.Module:
    cheap = conv(outputs // 2, outputs // 2, groups=outputs // 2)
    return nn.Sequential(conv(inputs, outputs // 2, 1), Parallel(nn.Identity(), cheap))


@network("GhostNet-like", 3, 64, 64, dynamo=False)
def ghostnet() -> nn.Module:
    return nn.Sequential(conv(3, 16, 3, 2), Residual(nn.Sequential(_ghost(16, 32), _ghost(32, 16))),
                         _ghost(16, 48), conv(48, 48, 3, 2, 48), Gate(48), _ghost(48, 32),
                         head(32, 10))  # fmt: skip


@network("SE-ResNet", 3, 32, 32)
def senet() -> nn.Module:
    blocks = (Residual(nn.Sequential(conv(16, 16), conv(16, 16, act=nn.Identity()), Gate(16)),
                       after=nn.ReLU()) for _ in range(2))  # fmt: skip
    return nn.Sequential(conv(3, 16, 3, 2), *blocks, head(16, 10))


@network("metric embedding", 1, 32, 32)
def embedding() -> nn.Module:
    return nn.Sequential(conv(1, 16, 3, 2), conv(16, 32, 3, 2), conv(32, 32, 3, 2), head(32, 16),
                         Apply(lambda x: nn.functional.normalize(x, dim=1)))  # fmt: skip
