"""Parts that several networks share, and the table of networks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Network:
    """`shape` is the input's, without the batch. `dynamo`: exported by torch's newer exporter."""

    name: str
    make: Callable[[], nn.Module]
    shape: tuple[int, ...]
    dynamo: bool


NETWORKS: dict[str, Network] = {}


def network(
    name: str, *shape: int, dynamo: bool = True
) -> Callable[[Callable[[], nn.Module]], Callable[[], nn.Module]]:
    """Put what makes a network into the table."""

    def put(make: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
        NETWORKS[name] = Network(name, make, shape, dynamo)
        return make

    return put


class Residual(nn.Module):
    """What `body` gives is added to its input, or to `skip` of it; `after` follows."""

    def __init__(
        self, body: nn.Module, skip: nn.Module | None = None, after: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.body, self.skip, self.after = body, skip or nn.Identity(), after or nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.after(self.skip(x) + self.body(x))


class Parallel(nn.Module):
    """Branches over the same input, side by side in the channels."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], dim=1)


class Gate(nn.Module):
    """Squeeze and excite: the input times a factor a channel."""

    def __init__(self, channels: int, dims: int = 2, hard: bool = False) -> None:
        super().__init__()
        pool = nn.AdaptiveAvgPool1d if dims == 1 else nn.AdaptiveAvgPool2d
        conv = nn.Conv1d if dims == 1 else nn.Conv2d
        self.factor = nn.Sequential(
            pool(1), conv(channels, max(channels // 4, 4), 1), nn.ReLU(),
            conv(max(channels // 4, 4), channels, 1), nn.Hardsigmoid() if hard else nn.Sigmoid(),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor(x)


class Apply(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


class First(nn.Module):
    """The sequence that a recurrent layer gives, without its last state."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)[0]


class Encoder(nn.Module):
    """A layer of a transformer: attention and perceptrons, each normalized before."""

    def __init__(self, width: int, heads: int = 2) -> None:
        super().__init__()
        self.heads, self.normal = heads, nn.LayerNorm(width)
        self.joint, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = Residual(
            nn.Sequential(
                nn.LayerNorm(width),
                nn.Linear(width, 2 * width),
                nn.GELU(),
                nn.Linear(2 * width, width),
            )
        )

    def forward(self, x: Tensor) -> Tensor:
        batch, steps, width = x.shape
        joint = self.joint(self.normal(x)).reshape(batch, steps, 3, self.heads, width // self.heads)
        query, key, value = joint.permute(2, 0, 3, 1, 4).unbind(0)
        seen = nn.functional.scaled_dot_product_attention(query, key, value)
        return self.mlp(x + self.out(seen.transpose(1, 2).reshape(batch, steps, width)))


class Positions(nn.Module):
    """Adds a learned vector a position."""

    def __init__(self, steps: int, width: int) -> None:
        super().__init__()
        self.vectors = nn.Parameter(0.1 * torch.randn(1, steps, width))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.vectors


def conv(
    inputs: int, outputs: int, size: int = 3, stride: int = 1, groups: int = 1,
    act: nn.Module | None = None, dilation: int = 1,
) -> nn.Sequential:  # fmt: skip
    """A convolution of images, batch norm, activation (ReLU unless another one is given)."""
    pad = dilation * (size // 2)
    layer = nn.Conv2d(inputs, outputs, size, stride, pad, dilation, groups, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(outputs), nn.ReLU() if act is None else act)


def conv1(
    inputs: int, outputs: int, size: int = 3, stride: int = 1, groups: int = 1,
    act: nn.Module | None = None, dilation: int = 1,
) -> nn.Sequential:  # fmt: skip
    """The same of a series."""
    pad = dilation * (size // 2)
    layer = nn.Conv1d(inputs, outputs, size, stride, pad, dilation, groups, bias=False)
    return nn.Sequential(layer, nn.BatchNorm1d(outputs), nn.ReLU() if act is None else act)


def causal(inputs: int, outputs: int, size: int, dilation: int = 1) -> nn.Sequential:
    """A convolution that sees only what was."""
    pad = nn.ConstantPad1d((dilation * (size - 1), 0), 0.0)
    return nn.Sequential(pad, nn.Conv1d(inputs, outputs, size, dilation=dilation))


def separable(inputs: int, outputs: int, stride: int = 1) -> nn.Sequential:
    """Depthwise, then pointwise."""
    return nn.Sequential(conv(inputs, inputs, 3, stride, inputs), conv(inputs, outputs, 1))


def inverted(
    inputs: int, outputs: int, stride: int = 1, factor: int = 4, size: int = 3,
    act: type[nn.Module] = nn.ReLU6, gate: bool = False,
) -> nn.Module:  # fmt: skip
    """MobileNetV2's block; V3's with a gate."""
    wide = factor * inputs
    body = nn.Sequential(
        conv(inputs, wide, 1, act=act()), conv(wide, wide, size, stride, wide, act()),
        Gate(wide, hard=True) if gate else nn.Identity(),
        conv(wide, outputs, 1, act=nn.Identity()),
    )  # fmt: skip
    return Residual(body) if stride == 1 and inputs == outputs else body


def basic(inputs: int, outputs: int, stride: int = 1) -> Residual:
    """ResNet's block of two convolutions."""
    skip = None
    if stride != 1 or inputs != outputs:
        skip = conv(inputs, outputs, 1, stride, act=nn.Identity())
    body = nn.Sequential(
        conv(inputs, outputs, 3, stride), conv(outputs, outputs, act=nn.Identity())
    )
    return Residual(body, skip, nn.ReLU())


def basic1(inputs: int, outputs: int, size: int = 3, stride: int = 1) -> Residual:
    """The same of a series."""
    skip = conv1(inputs, outputs, 1, stride, act=nn.Identity())
    body = nn.Sequential(
        conv1(inputs, outputs, size, stride), conv1(outputs, outputs, size, act=nn.Identity())
    )
    return Residual(body, skip, nn.ReLU())


def head(channels: int, classes: int, dims: int = 2) -> nn.Sequential:
    """The mean of every channel, then a fully connected layer."""
    pool = nn.AdaptiveAvgPool2d(1) if dims == 2 else nn.AdaptiveAvgPool1d(1)
    return nn.Sequential(pool, nn.Flatten(), nn.Linear(channels, classes))


def turned() -> Apply:
    """Channels and steps exchanged."""
    return Apply(lambda x: x.transpose(1, 2))


def shuffled(groups: int) -> Apply:
    """ShuffleNet's exchange of channels between groups."""

    def shuffle(x: Tensor) -> Tensor:
        batch, channels, height, width = x.shape
        split = x.reshape(batch, groups, channels // groups, height, width)
        return split.transpose(1, 2).reshape(batch, channels, height, width)

    return Apply(shuffle)
