"""How the network learns: seeded and on one thread, so repeatable.

Of the means of a clip's answers, those that are furthest from right count alone: the highest of
every part of it without a word, and the highest about each word's end. So what is hard needs no
second search, and where exactly a word is heard is the network's choice.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from examples.training import Recipe
from examples.wake_word.clips import MEANS, NO_WORD, SEGMENT, Clips
from examples.wake_word.decision import STRIDE
from examples.wake_word.network import TRAINED_AVERAGE, WakeWordNet

RECIPE = Recipe(seed=7, epochs=20, batch=64, peak_learning_rate=0.006, weight_decay=0.05)
#: A word counts as much as so many parts without one.
WORD_WEIGHT = 2.0


def loss_of(logits: Tensor, marks: Tensor) -> Tensor:
    """Logistic loss of the means that `marks` (N x MEANS) says something of."""
    means = functional.avg_pool1d(logits.unsqueeze(1), TRAINED_AVERAGE, 1).squeeze(1)
    free = means.masked_fill(marks != NO_WORD, -1e4).reshape(len(means), -1, SEGMENT).amax(2)
    free = free[free > -1e3]
    numbers = torch.unique(marks[marks > NO_WORD])
    total, weight = functional.softplus(free).sum(), float(len(free))
    if len(numbers) > 0:
        words = torch.stack([means[marks == number].amax() for number in numbers])
        total = total + WORD_WEIGHT * functional.softplus(-words).sum()
        weight += WORD_WEIGHT * len(words)
    return total / weight


def train(clips: Clips, recipe: Recipe) -> WakeWordNet:
    """A trained network in evaluation mode."""
    torch.manual_seed(recipe.seed)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    rng = np.random.default_rng(recipe.seed)
    net = WakeWordNet()
    batches = -(-clips.count // recipe.batch)
    optimizer = torch.optim.AdamW(net.parameters(), weight_decay=recipe.weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, recipe.peak_learning_rate, recipe.epochs * batches
    )
    net.train()
    for epoch in range(recipe.epochs):
        offset, losses = int(rng.integers(STRIDE, MEANS * STRIDE)), 0.0
        for indices in np.array_split(rng.permutation(clips.count), batches):
            features, marks = clips.batch(indices, offset, rng)
            loss = loss_of(net(features), marks)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses += loss.item()
        print(f"epoch {epoch + 1} of {recipe.epochs}: loss {losses / batches:.4f}", flush=True)
    return net.eval()
