"""Small PyTorch modules, one a kind of network, and both ways to export them.

Import this only behind `pytest.importorskip("torch")`.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional


class Residual(nn.Module):
    """Convolutions with batch normalization, a residual sum, a concatenation, a global pool."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU6())
        self.body = nn.Sequential(
            nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU()
        )
        self.side = nn.Conv2d(8, 4, 1)
        self.head = nn.Linear(12, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        x = functional.relu(self.body(x) + x)
        x = torch.cat([functional.max_pool2d(x, 2), functional.avg_pool2d(self.side(x), 2)], dim=1)
        pooled = functional.adaptive_avg_pool2d(x, 1).flatten(1)
        return functional.softmax(self.head(pooled), dim=-1)


class Attention(nn.Module):
    """A transformer block: layer normalization, two heads, a Gelu network."""

    def __init__(self, width: int = 16, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.qkv(self.before(x)).reshape(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-1, -2) * (width // self.heads) ** -0.5
        mixed = (scores.softmax(dim=-1) @ value).transpose(1, 2).reshape(batch, length, width)
        x = x + self.out(mixed)
        grown: torch.Tensor = functional.gelu(self.wide(self.after(x)))
        return x + self.narrow(grown)


class Recurrent(nn.Module):
    """A recurrent layer; a classifier on its last output."""

    def __init__(self, layer: nn.RNNBase) -> None:
        super().__init__()
        self.layer = layer
        self.head = nn.Linear(layer.hidden_size * (2 if layer.bidirectional else 1), 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden, _ = self.layer(x)
        scores: torch.Tensor = self.head(hidden[:, -1])
        return scores


class Upsampling(nn.Module):
    """Resizing, both kinds, and pixels made of channels."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 12, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.relu(self.first(x))
        x = functional.interpolate(x, scale_factor=2.0, mode="nearest")
        x = functional.pixel_shuffle(self.second(x), 2)
        return functional.interpolate(x, size=(30, 30), mode="bilinear", align_corners=False)


def _separable() -> nn.Module:
    layers: list[nn.Module] = []
    for depth_in, depth_out, stride in ((3, 8, 2), (8, 12, 1)):
        layers += [
            nn.Conv2d(depth_in, depth_in, 3, stride, 1, groups=depth_in, bias=False),
            nn.BatchNorm2d(depth_in), nn.ReLU6(),
            nn.Conv2d(depth_in, depth_out, 1, bias=False), nn.BatchNorm2d(depth_out), nn.ReLU6(),
        ]  # fmt: skip
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 5))


def _along_time() -> nn.Module:
    return nn.Sequential(
        nn.Conv1d(4, 8, 5, stride=2, padding=2), nn.BatchNorm1d(8), nn.ReLU(), nn.MaxPool1d(2),
        nn.Conv1d(8, 8, 3, padding=1, groups=8), nn.Conv1d(8, 6, 1), nn.LeakyReLU(0.1),
        nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(6, 3),
    )  # fmt: skip


def _perceptron() -> nn.Module:
    return nn.Sequential(
        nn.Flatten(), nn.Linear(20, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 8), nn.Tanh(),
        nn.Linear(8, 4), nn.Sigmoid(),
    )  # fmt: skip


def _unet() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, 2, 1), nn.Hardswish(), nn.ConvTranspose2d(4, 4, 4, 2, 1), nn.PReLU(4),
        nn.ConvTranspose2d(4, 1, 2, 2), nn.Hardsigmoid(),
    )  # fmt: skip


#: What makes the module, and the shape of its input.
MODULES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "residual": (Residual, (1, 3, 16, 16)),
    "separable": (_separable, (1, 3, 16, 16)),
    "perceptron": (_perceptron, (1, 4, 5)),
    "attention": (Attention, (1, 6, 16)),
    "along time": (_along_time, (1, 4, 32)),
    "lstm": (lambda: Recurrent(nn.LSTM(6, 8, batch_first=True)), (1, 5, 6)),
    "gru": (lambda: Recurrent(nn.GRU(6, 8, batch_first=True, bidirectional=True)), (1, 5, 6)),
    "rnn": (lambda: Recurrent(nn.RNN(6, 8, num_layers=2, batch_first=True)), (1, 5, 6)),
    "upsampling": (Upsampling, (1, 3, 6, 6)),
    "transposed": (_unet, (1, 1, 12, 12)),
}


def make(name: str) -> nn.Module:
    """The module with weights from a seed, its batch normalization as after training."""
    torch.manual_seed(7)
    create, shape = MODULES[name]
    module = create().train()
    with torch.no_grad():
        for _ in range(8):
            module(torch.randn(8, *shape[1:]))
    return module.eval()


def export(name: str, dynamo: bool) -> bytes:
    """The module as an ONNX file."""
    module, example = make(name), torch.zeros(MODULES[name][1])
    file = io.BytesIO()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if not dynamo:
            torch.onnx.export(module, (example,), file, dynamo=False, input_names=["x"])
            return file.getvalue()
        program = torch.onnx.export(module, (example,), dynamo=True, verbose=False)
    assert program is not None
    exported: bytes = program.model_proto.SerializeToString()
    return exported
