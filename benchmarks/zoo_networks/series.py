"""Sound, motion, and other series."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.zoo_networks.blocks import (
    Apply,
    Encoder,
    First,
    Gate,
    Parallel,
    Positions,
    Residual,
    basic,
    basic1,
    causal,
    conv,
    conv1,
    head,
    network,
    separable,
    turned,
)  # fmt: skip


def _last() -> Apply:
    return Apply(lambda x: x[:, -1])


@network("DS-CNN", 1, 49, 10)
def ds_cnn() -> nn.Module:
    first = nn.Sequential(nn.Conv2d(1, 64, (10, 4), 2, (5, 1)), nn.BatchNorm2d(64), nn.ReLU())
    return nn.Sequential(first, *(separable(64, 64) for _ in range(4)), head(64, 12))


@network("TC-ResNet", 40, 98)
def tc_resnet() -> nn.Module:
    return nn.Sequential(conv1(40, 16), basic1(16, 24, 9, 2), basic1(24, 32, 9, 2),
                         basic1(32, 48, 9, 2), head(48, 12, 1))  # fmt: skip


class _Broadcast(nn.Module):
    """BC-ResNet's block: frequencies' mean through a convolution over time, broadcast back."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.frequency = nn.Sequential(
            nn.Conv2d(channels, channels, (3, 1), padding=(1, 0), groups=channels, bias=False),
            nn.BatchNorm2d(channels),
        )
        self.time = nn.Sequential(
            nn.Conv2d(channels, channels, (1, 3), padding=(0, 1), groups=channels, bias=False),
            nn.BatchNorm2d(channels), nn.SiLU(), nn.Conv2d(channels, channels, 1),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        y = self.frequency(x)
        return torch.relu(x + y + self.time(y.mean(2, keepdim=True)))


@network("BC-ResNet", 1, 40, 50)
def bc_resnet() -> nn.Module:
    return nn.Sequential(conv(1, 16, 5, 2), _Broadcast(16), conv(16, 24, 1, 2), _Broadcast(24),
                         head(24, 12))  # fmt: skip


@network("MatchboxNet-like", 40, 98)
def matchboxnet() -> nn.Module:
    blocks = (Residual(nn.Sequential(conv1(32, 32, size, groups=32), conv1(32, 32, 1,
              act=nn.Identity())), conv1(32, 32, 1, act=nn.Identity()), nn.ReLU())
              for size in (13, 15, 17))  # fmt: skip
    return nn.Sequential(conv1(40, 32, 11, 2), *blocks, head(32, 12, 1))


@network("res8 keywords", 1, 50, 40)
def res8() -> nn.Module:
    return nn.Sequential(conv(1, 16), nn.AvgPool2d((4, 3)), *(basic(16, 16) for _ in range(3)),
                         head(16, 12))  # fmt: skip


@network("TCN", 8, 64)
def tcn() -> nn.Module:
    blocks = (Residual(nn.Sequential(causal(16, 16, 3, d), nn.ReLU(), causal(16, 16, 3, d),
              nn.ReLU())) for d in (1, 2, 4))  # fmt: skip
    return nn.Sequential(nn.Conv1d(8, 16, 1), *blocks, Apply(lambda x: x[:, :, -1]),
                         nn.Linear(16, 5))  # fmt: skip


class _Gated(nn.Module):
    """WaveNet's unit: tanh times sigmoid."""

    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.conv, self.out = causal(width, 2 * width, 2, dilation), nn.Conv1d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        signal, gate = self.conv(x).chunk(2, 1)
        return x + self.out(signal.tanh() * gate.sigmoid())


@network("WaveNet-like", 1, 128)
def wavenet() -> nn.Module:
    return nn.Sequential(causal(1, 16, 2), *(_Gated(16, 2**n) for n in range(5)), nn.ReLU(),
                         nn.Conv1d(16, 8, 1))  # fmt: skip


@network("LSTM", 32, 8)
def lstm() -> nn.Module:
    return nn.Sequential(First(nn.LSTM(8, 24, batch_first=True)), _last(), nn.Linear(24, 6))


@network("GRU", 32, 8, dynamo=False)
def gru() -> nn.Module:
    return nn.Sequential(First(nn.GRU(8, 24, batch_first=True)), _last(), nn.Linear(24, 6))


@network("bidirectional GRU", 32, 8)
def bi_gru() -> nn.Module:
    layer = First(nn.GRU(8, 16, batch_first=True, bidirectional=True))
    return nn.Sequential(layer, Apply(lambda x: x.mean(1)), nn.Linear(32, 6))


@network("CRNN", 1, 48, 40)
def crnn() -> nn.Module:
    flat = Apply(lambda x: x.permute(0, 2, 1, 3).flatten(2))
    return nn.Sequential(conv(1, 8, 3, 2), conv(8, 16, 3, 2), flat,
                         First(nn.GRU(160, 32, batch_first=True)), _last(),
                         nn.Linear(32, 12))  # fmt: skip


@network("DeepConvLSTM", 9, 64)
def deep_conv_lstm() -> nn.Module:
    return nn.Sequential(conv1(9, 16, 5, 2), conv1(16, 16, 5, 2), turned(),
                         First(nn.LSTM(16, 24, batch_first=True)), _last(),
                         nn.Linear(24, 6))  # fmt: skip


class _RnNoise(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dense, self.voice = nn.Linear(42, 24), nn.GRU(24, 24, batch_first=True)
        self.noise = nn.GRU(90, 48, batch_first=True)
        self.denoise = nn.GRU(114, 96, batch_first=True)
        self.gains, self.speech = nn.Linear(96, 22), nn.Linear(24, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        first = self.dense(x).tanh()
        voice = self.voice(first)[0]
        noise = self.noise(torch.cat([first, voice, x], -1))[0]
        clean = self.denoise(torch.cat([voice, noise, x], -1))[0]
        return self.gains(clean).sigmoid(), self.speech(voice).sigmoid()


network("RNNoise", 16, 42)(_RnNoise)


class _Dtln(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(129, 32, num_layers=2, batch_first=True)
        self.mask = nn.Linear(32, 129)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.mask(self.lstm(x)[0]).sigmoid()


network("DTLN-like", 8, 129)(_Dtln)


class _TasNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Conv1d(1, 32, 16, 8, bias=False)
        self.body = nn.Sequential(nn.GroupNorm(1, 32), nn.Conv1d(32, 16, 1), *(
            Residual(nn.Sequential(nn.Conv1d(16, 32, 1), nn.PReLU(), nn.GroupNorm(1, 32),
                     nn.Conv1d(32, 32, 3, padding=d, dilation=d, groups=32), nn.PReLU(),
                     nn.Conv1d(32, 16, 1))) for d in (1, 2, 4)
        ), nn.Conv1d(16, 32, 1), nn.Sigmoid())  # fmt: skip
        self.decode = nn.ConvTranspose1d(32, 1, 16, 8, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        coded = self.encode(x).relu()
        return self.decode(coded * self.body(coded))


network("Conv-TasNet mini", 1, 512)(_TasNet)


@network("gestures (HAR), 1-D CNN", 6, 128)
def gestures() -> nn.Module:
    return nn.Sequential(conv1(6, 16, 5), nn.MaxPool1d(2), conv1(16, 32, 5), nn.MaxPool1d(2),
                         conv1(32, 32), head(32, 6, 1))  # fmt: skip


@network("transformer of series", 32, 8)
def series_transformer() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 32), Positions(32, 32), Encoder(32), Encoder(32),
                         nn.LayerNorm(32), Apply(lambda x: x.mean(1)),
                         nn.Linear(32, 5))  # fmt: skip


@network("KWS transformer", 40, 49)
def kws_transformer() -> nn.Module:
    return nn.Sequential(turned(), nn.Linear(40, 32), Positions(49, 32), Encoder(32), Encoder(32),
                         nn.LayerNorm(32), Apply(lambda x: x[:, 0]), nn.Linear(32, 12))  # fmt: skip


def _inception(inputs: int) -> nn.Module:
    narrow = nn.Conv1d(inputs, 8, 1, bias=False)
    wide = (nn.Conv1d(8, 8, size, padding=size // 2, bias=False) for size in (9, 19, 39))
    pooled = nn.Sequential(nn.MaxPool1d(3, 1, 1), nn.Conv1d(inputs, 8, 1, bias=False))
    return nn.Sequential(Parallel(nn.Sequential(narrow, Parallel(*wide)), pooled),
                         nn.BatchNorm1d(32), nn.ReLU())  # fmt: skip


@network("InceptionTime", 3, 96)
def inception_time() -> nn.Module:
    return nn.Sequential(_inception(3), Residual(_inception(32)), head(32, 4, 1))


@network("EEGNet", 1, 16, 128)
def eegnet() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 8, (1, 33), padding=(0, 16), bias=False), nn.BatchNorm2d(8),
        nn.Conv2d(8, 16, (16, 1), groups=8, bias=False), nn.BatchNorm2d(16), nn.ELU(),
        nn.AvgPool2d((1, 4)), nn.Conv2d(16, 16, (1, 15), padding=(0, 7), groups=16, bias=False),
        nn.Conv2d(16, 16, 1, bias=False), nn.BatchNorm2d(16), nn.ELU(), nn.AvgPool2d((1, 8)),
        nn.Flatten(), nn.Linear(64, 4),
    )  # fmt: skip


@network("ECG ResNet-1D", 1, 256)
def ecg_resnet() -> nn.Module:
    return nn.Sequential(conv1(1, 16, 7, 2), basic1(16, 16, 7, 2), basic1(16, 32, 7, 2),
                         head(32, 5, 1))  # fmt: skip


@network("squeeze and excite, 1-D", 6, 96)
def gated_series() -> nn.Module:
    return nn.Sequential(conv1(6, 16, 5, 2), Gate(16, 1), conv1(16, 32, 5, 2), Gate(32, 1),
                         head(32, 6, 1))  # fmt: skip
