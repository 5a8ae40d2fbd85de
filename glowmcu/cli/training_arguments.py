"""What of a model learns on the device, and how."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, get_args

import click

from glowmcu.lazy_dataclass import dataclass
from glowmcu.option_words import LossWord, TrainNumbersWord

_F = TypeVar("_F", bound=Callable[..., object])


@dataclass(frozen=True)
class TrainingArguments:
    """As `glowmcu.compile` takes them."""

    train: str | None = None
    loss: LossWord | None = None
    learning_rate: float | None = None
    momentum: float | None = None
    train_numbers: TrainNumbersWord | None = None


def training_options(function: _F) -> _F:
    """The options, as one argument `training`."""

    @functools.wraps(function)
    def with_training(
        train: str | None,
        loss: LossWord | None,
        learning_rate: float | None,
        momentum: float | None,
        train_numbers: TrainNumbersWord | None,
        **others: Any,  # noqa: ANN401 - whatever the command takes besides
    ) -> object:
        training = TrainingArguments(train, loss, learning_rate, momentum, train_numbers)
        return function(training=training, **others)

    options = (
        click.option("--train", metavar="last=N|LAYERS[,bias][,channels=P%]|prototypes=K[,last=N]|"
                                        "neighbours=KxM|normal",
                     help="Add NAME_train: these layers learn; with bias their biases alone, "
                          "with channels that share of their channels alone; with "
                          "prototypes the means of K classes, with neighbours the last M samples "
                          "of each, nearest wins; with normal how far from that something is."),
        click.option("--loss", type=click.Choice(get_args(LossWord)),
                     help="What learning makes smaller. Default: cross-entropy."),
        click.option("--learning-rate", type=float, metavar="X",
                     help="How far a step goes. Default: 0.01; the application may change it."),
        click.option("--momentum", type=float, metavar="X",
                     help="How much of the steps before goes on. Default: none."),
        click.option("--train-numbers", type=click.Choice(get_args(TrainNumbersWord)),
                     help="What parameters and gradients are. Default: float32 with an FPU, else "
                          "fixed where the layers can."),
    )  # fmt: skip
    wrapped: Any = with_training
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]
