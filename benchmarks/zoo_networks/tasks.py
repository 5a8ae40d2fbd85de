"""Images to images, boxes, heatmaps; points to classes; what is usual or not."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from benchmarks.zoo_networks.blocks import (
    Apply,
    Parallel,
    basic,
    conv,
    conv1,
    inverted,
    network,
    separable,
)  # fmt: skip


class _UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([conv(1, 8), conv(8, 16), conv(16, 32)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(32, 16, 2, 2), nn.ConvTranspose2d(16, 8, 2, 2)])
        self.joined = nn.ModuleList([conv(32, 16), conv(16, 8)])
        self.last = nn.Conv2d(8, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        first = self.down[0](x)
        second = self.down[1](nn.functional.max_pool2d(first, 2))
        y = self.down[2](nn.functional.max_pool2d(second, 2))
        y = self.joined[0](torch.cat([self.up[0](y), second], 1))
        return torch.sigmoid(self.last(self.joined[1](torch.cat([self.up[1](y), first], 1))))


network("U-Net", 1, 48, 48)(_UNet)


def _backbone() -> nn.Sequential:
    blocks = (inverted(*sizes) for sizes in ((8, 16, 2), (16, 24, 2), (24, 24)))
    return nn.Sequential(conv(3, 8, 3, 2), *blocks)


@network("FOMO", 3, 96, 96)
def fomo() -> nn.Module:
    return nn.Sequential(_backbone(), conv(24, 32, 1), nn.Conv2d(32, 3, 1), nn.Softmax(1))


class _Yolo(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.last = _backbone(), nn.Conv2d(24, 3 * 7, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.last(self.body(x))
        batch, _, rows, columns = y.shape
        y = y.reshape(batch, 3, 7, rows, columns).permute(0, 1, 3, 4, 2)
        centre, size, rest = torch.split(y, [2, 2, 3], dim=-1)
        centre, size = centre.sigmoid() * 2 - 0.5, (size.sigmoid() * 2) ** 2
        return torch.cat([centre, size, rest.sigmoid()], -1)


network("YOLO head", 3, 96, 96)(_Yolo)


class _Ssd(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = _backbone(), separable(24, 32, 2)
        self.heads = nn.ModuleList([separable(24, 4 * 6), separable(32, 4 * 6)])

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        first = self.first(x)
        found = [head(y) for head, y in zip(self.heads, (first, self.second(first)), strict=True)]
        flat = torch.cat([y.permute(0, 2, 3, 1).reshape(y.shape[0], -1, 6) for y in found], 1)
        return flat[..., :4], flat[..., 4:].softmax(-1)


network("SSD-lite", 3, 96, 96)(_Ssd)


class _CenterNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.up = _backbone(), nn.Upsample(scale_factor=2)
        self.joined = conv(24, 16)
        self.heat, self.size = nn.Conv2d(16, 2, 1), nn.Conv2d(16, 2, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.joined(self.up(self.body(x)))
        return self.heat(y).sigmoid(), self.size(y)


network("CenterNet-like", 3, 64, 64)(_CenterNet)


@network("autoencoder, dense (anomalies)", 640)
def dense_autoencoder() -> nn.Module:
    sizes = [640, 128, 128, 128, 8, 128, 128, 128]
    layers = [nn.Sequential(nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU())
              for a, b in pairwise(sizes)]  # fmt: skip
    return nn.Sequential(*layers, nn.Linear(128, 640))


@network("autoencoder, images", 1, 32, 32)
def image_autoencoder() -> nn.Module:
    return nn.Sequential(conv(1, 8, 3, 2), conv(8, 16, 3, 2), conv(16, 8, 3, 2),
                         nn.ConvTranspose2d(8, 16, 3, 2, 1, 1), nn.ReLU(),
                         nn.ConvTranspose2d(16, 8, 3, 2, 1, 1), nn.ReLU(),
                         nn.ConvTranspose2d(8, 1, 3, 2, 1, 1), nn.Sigmoid())  # fmt: skip


@network("ESPCN super-resolution", 1, 32, 32)
def espcn() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 16, 5, padding=2), nn.Tanh(), nn.Conv2d(16, 16, 3, padding=1),
                         nn.Tanh(), nn.Conv2d(16, 4, 3, padding=1), nn.PixelShuffle(2))  # fmt: skip


class _FastScnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(conv(3, 8, 3, 2), separable(8, 16, 2))
        self.deep = nn.Sequential(inverted(16, 24, 2), inverted(24, 24))
        self.pools = Parallel(nn.Identity(), *(
            nn.Sequential(nn.AvgPool2d(size), nn.Conv2d(24, 8, 1),
                          nn.Upsample(size=(8, 8), mode="bilinear")) for size in (2, 4, 8)
        ))  # fmt: skip
        self.deep_end, self.near_end = conv(48, 24, 1, act=nn.Identity()), nn.Conv2d(16, 24, 1)
        self.last = nn.Sequential(separable(24, 24), nn.Conv2d(24, 4, 1))

    def forward(self, x: Tensor) -> Tensor:
        near = self.first(x)
        deep = self.deep_end(self.pools(self.deep(near)))
        deep = nn.functional.interpolate(deep, scale_factor=2.0, mode="bilinear")
        return self.last(torch.relu(deep + self.near_end(near)))


network("Fast-SCNN-like", 3, 64, 64)(_FastScnn)


@network("pose heatmaps", 3, 64, 64)
def pose() -> nn.Module:
    return nn.Sequential(conv(3, 8, 3, 2), basic(8, 16, 2), basic(16, 24, 2),
                         nn.ConvTranspose2d(24, 16, 4, 2, 1, bias=False), nn.BatchNorm2d(16),
                         nn.ReLU(), nn.Conv2d(16, 8, 1))  # fmt: skip


@network("PointNet small", 3, 128)
def pointnet() -> nn.Module:
    return nn.Sequential(conv1(3, 16, 1), conv1(16, 32, 1), conv1(32, 64, 1),
                         Apply(lambda x: x.amax(2)), nn.Linear(64, 32), nn.ReLU(),
                         nn.Linear(32, 8))  # fmt: skip
