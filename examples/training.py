"""Training, the same for every example: seeded and on one thread, so repeatable.

AdamW with a one-cycle schedule and cross entropy. An example brings its network and a function
that makes a batch, augmented or not; everything random comes from the recipe's seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

Floats = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int64]
Batch = Callable[[Indices, np.random.Generator], Tensor]
Net = TypeVar("Net", bound=nn.Module)


@dataclass(frozen=True)
class Recipe:
    """How long and how fast to learn."""

    seed: int
    epochs: int
    batch: int
    peak_learning_rate: float
    weight_decay: float = 0.01


def fit(make_net: Callable[[], Net], recipe: Recipe, labels: Labels, batch: Batch) -> Net:
    """A trained network in evaluation mode; `batch` maps indices of samples to the input."""
    torch.manual_seed(recipe.seed)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    rng = np.random.default_rng(recipe.seed)
    net = make_net()
    batches = -(-len(labels) // recipe.batch)
    optimizer = torch.optim.AdamW(net.parameters(), weight_decay=recipe.weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, recipe.peak_learning_rate, recipe.epochs * batches
    )
    net.train()
    for _ in range(recipe.epochs):
        for indices in np.array_split(rng.permutation(len(labels)), batches):
            loss = functional.cross_entropy(
                net(batch(indices, rng)), torch.from_numpy(labels[indices])
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return net.eval()


def fold_norm(
    conv: nn.Conv1d | nn.Conv2d, norm: nn.BatchNorm1d | nn.BatchNorm2d
) -> tuple[Tensor, Tensor]:
    """Weights and bias of both in one: w' = w * gamma / sigma, b' = beta - mean * gamma / sigma."""
    assert norm.running_var is not None
    assert norm.running_mean is not None
    gain = norm.weight / torch.sqrt(norm.running_var + norm.eps)
    per_channel = gain.reshape(-1, *[1] * (conv.weight.ndim - 1))
    bias = norm.bias - norm.running_mean * gain
    return (conv.weight * per_channel).detach(), bias.detach()
