"""What a bundle that learns is asked for: which parameters, by which loss, how fast."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from enum import Enum

from glowmcu.errors import error
from glowmcu.lazy_dataclass import dataclass

_LAST = re.compile(r"last=([1-9][0-9]{0,3})")
_PROTOTYPES = re.compile(r"prototypes=([1-9][0-9]{0,3})")
_NEIGHBOURS = re.compile(r"neighbours=([1-9][0-9]{0,3})x([1-9][0-9]{0,3})")
_CHANNELS = re.compile(r"channels=([1-9][0-9]?|100)%")
_NORMAL = "normal"
#: What is meant as one of both; a layer may be called `last_dense`.
_AMOUNT = re.compile(
    r"(last|prototypes|neighbours)\s*(=.*)?|(prototype|neighbou?rs?|normal|bias|channels?)\s*=.*",
    re.DOTALL,
)


class Loss(Enum):
    """What learning makes smaller."""

    CROSS_ENTROPY = "cross-entropy"
    SQUARED_ERROR = "squared-error"


class Numbers(Enum):
    """What parameters and gradients are. `AUTOMATIC`: fixed point where the part of the model that
    learns can be so, else float32.
    """

    FLOAT32 = "float32"
    FIXED = "fixed"
    AUTOMATIC = "automatic"


@dataclass(frozen=True)
class Training:
    """`last`: the number of layers with weights, from the last one on, that learn; 0: all, or those
    in `layers`. With `biases_only` their weights stay. Of `channels` percent of each but the last
    one, the first channels learn alone, in fixed point. Without `momentum` there is no memory of
    gradients before. With `prototypes` means of this many classes take the last layer's place, and
    no other layer learns, or with `last` or `layers` those do, of the ones in front; with
    `neighbours` (classes, features), the last features of each class; with `normality`, mean and
    variance.
    """

    last: int = 0
    layers: tuple[str, ...] = ()
    biases_only: bool = False
    loss: Loss = Loss.CROSS_ENTROPY
    learning_rate: float = 0.01
    momentum: float = 0.0
    prototypes: int = 0
    neighbours: tuple[int, int] | None = None
    normality: bool = False
    numbers: Numbers = Numbers.FLOAT32
    channels: int = 100

    @property
    def what(self) -> str:
        """As `--train` takes it."""
        if self.prototypes and not self.is_contrastive:
            return f"prototypes={self.prototypes}"
        if self.neighbours is not None:
            return "neighbours={}x{}".format(*self.neighbours)
        if self.normality:
            return _NORMAL
        named = [f"prototypes={self.prototypes}"] if self.prototypes else []
        named += [f"last={self.last}"] if self.last else list(self.layers)
        share = [f"channels={self.channels}%"] if self.channels < 100 else []
        return ",".join([*named, *(["bias"] if self.biases_only else []), *share])

    @property
    def is_contrastive(self) -> bool:
        """Whether layers in front of prototypes learn from them."""
        return self.prototypes > 0 and (self.last > 0 or bool(self.layers))

    @property
    def has_gradient(self) -> bool:
        """Whether layers learn."""
        without = self.prototypes or self.neighbours or self.normality
        return self.is_contrastive or not without

    @property
    def text(self) -> dict[str, str]:
        """What the bundle says of it; what is not used is not named."""
        if not self.has_gradient:
            return {"train": self.what}
        momentum = {"momentum": repr(self.momentum)} if self.momentum else {}
        return {
            "train": self.what,
            "loss": self.loss.value,
            "learning_rate": repr(self.learning_rate),
            **momentum,
            **({} if self.numbers is Numbers.FLOAT32 else {"train_numbers": self.numbers.value}),
        }


@dataclass(frozen=True)
class TrainingEntry:
    """What of a bundle learns. `argument` is the input that asks for it: the class, from 0 to
    `classes` - 1, or 0 where `target` is the input with what the output should be. `loss` names
    the output. `parameters` and `momenta` are states by name, `digest` (32 hexadecimal digits)
    tells whose parameters saved ones are. `steps` are those that only runs with a label take.
    The arena of the model that only infers is `inference_arena_bytes`; cycles are estimates, where
    those of the core's kernels are known.
    """

    loss_kind: str
    argument: str
    classes: int
    target: str
    loss: str
    parameters: tuple[str, ...]
    momenta: tuple[str, ...]
    settings: tuple[str, ...]
    parameter_bytes: int
    digest: str
    inference_arena_bytes: int
    steps: tuple[int, ...]
    inference_cycles: int | None = None
    learning_cycles: int | None = None
    numbers: str = Numbers.FLOAT32.value

    @property
    def tensors(self) -> tuple[str, ...]:
        """Inputs and outputs that the model does not have."""
        return tuple(filter(None, (self.argument, self.target, self.loss)))


def training_of(
    train: str | None,
    loss: str | None = None,
    learning_rate: float | None = None,
    momentum: float | None = None,
    numbers: str | None = None,
    usual: Numbers = Numbers.FLOAT32,
) -> Training | None:
    """What was asked for, in `usual` numbers unless others are; None if nothing is to learn. Raises
    GM734, GM735.
    """
    given = {
        "loss": loss, "learning_rate": learning_rate, "momentum": momentum,
        "train_numbers": numbers,
    }  # fmt: skip
    if train is None:
        for name, value in given.items():
            if value is not None:
                raise error(
                    "GM735",
                    f"{name} says how parameters are learnt, and none are",
                    hint="add --train last=1, or leave it out",
                )
        return None
    without = _without_gradient(train.strip())
    if without is not None:
        if any(value is not None for value in given.values()):
            raise error(
                "GM735",
                f"{without.what} learns without gradients: there is no loss, learning rate or "
                "momentum, and numbers are float32",
                hint="leave these out, or let the last layer learn: --train last=1",
            )
        return without
    rate, kept = _number("learning_rate", learning_rate, 0.01), _number("momentum", momentum, 0.0)
    if not 0.0 < _stored(rate) <= 100.0 or not 0.0 <= _stored(kept) < 1.0:
        raise error(
            "GM735",
            f"a learning rate is above 0 and at most 100, momentum from 0 to below 1; got {rate:g} "
            f"and {kept:g}",
            hint="0.01 and 0.9 are a beginning",
        )
    classes, train = _with_prototypes(train)
    last, layers, biases_only, channels = _layers(train)
    if classes:
        _expect_contrast(train, last, layers, loss, numbers, channels)
        usual = Numbers.FLOAT32
    chosen = _numbers(numbers, Numbers.FIXED if channels < 100 else usual)
    if channels < 100 and chosen is not Numbers.FIXED:
        raise error(
            "GM735",
            f"a share of the channels learns in fixed point, not in {chosen.value}",
            hint=f"--train-numbers fixed, or leave out channels={channels}%",
        )
    return Training(
        last, layers, biases_only, _loss(loss), rate, kept, classes, numbers=chosen,
        channels=channels,
    )  # fmt: skip


def _with_prototypes(train: str) -> tuple[int, str]:
    """Classes whose means layers in front are to learn from, and the rest of the text."""
    words = [word.strip() for word in train.split(",")]
    counts = [int(found[1]) for word in words if (found := _PROTOTYPES.fullmatch(word))]
    if len(counts) != 1:
        return 0, train
    return counts[0], ",".join(word for word in words if not _PROTOTYPES.fullmatch(word))


def _expect_contrast(
    train: str, last: int, layers: tuple[str, ...], loss: str | None, numbers: str | None,
    channels: int,
) -> None:  # fmt: skip
    """Raise GM734, GM735 for what does not go with prototypes."""
    if not (last or layers):
        raise error(
            "GM734",
            f"prototypes with {train!r} do not say which layers in front of them learn",
            hint="--train prototypes=5,last=2, or prototypes=5 alone",
        )
    if (
        loss not in (None, Loss.CROSS_ENTROPY.value)
        or numbers == Numbers.FIXED.value
        or (channels < 100)
    ):
        raise error(
            "GM735",
            "layers in front of prototypes learn by the cross entropy of distances, all channels, "
            "in float32",
            hint="leave out --loss, --train-numbers and channels",
        )


def _without_gradient(train: str) -> Training | None:
    if found := _PROTOTYPES.fullmatch(train):
        return Training(prototypes=int(found[1]))
    if found := _NEIGHBOURS.fullmatch(train):
        return Training(neighbours=(int(found[1]), int(found[2])))
    return Training(normality=True) if train == _NORMAL else None


def training_of_bundle(said: Mapping[str, str]) -> Training | None:
    """That of a bundle whose options are these."""
    if "train" not in said:
        return None
    rate, momentum = said.get("learning_rate"), said.get("momentum")
    return training_of(
        said["train"], said.get("loss"), float(rate) if rate else None,
        float(momentum) if momentum else None, said.get("train_numbers"),
    )  # fmt: skip


def _layers(train: str) -> tuple[int, tuple[str, ...], bool, int]:
    """`last`, names, whether biases alone, percent of channels."""
    words = [word.strip() for word in train.split(",")]
    shares = [int(found[1]) for word in words if (found := _CHANNELS.fullmatch(word))]
    words = [word for word in words if not _CHANNELS.fullmatch(word)] or [""]
    if len(shares) > 1:
        raise error("GM734", f"{train!r} says twice how many channels learn")
    counts = [int(found[1]) for word in words if (found := _LAST.fullmatch(word))]
    layers = tuple(w for w in words if w != "bias" and not _LAST.fullmatch(w))
    for word in layers:
        if not word or _AMOUNT.fullmatch(word):
            raise error(
                "GM734",
                f"--train does not take {word!r}",
                hint="last=N for the last N layers with weights, names of layers, bias for biases "
                "alone, channels=P% for a share of their channels; prototypes=CLASSES, "
                "neighbours=CLASSESxKEPT or normal: --train last=1, --train dense_1,dense_2, "
                "--train last=3,bias, --train neighbours=4x5",
            )
    if len(counts) > 1 or (counts and layers):
        raise error(
            "GM734",
            f"{train!r} says twice which layers learn",
            hint="give last=N or names of layers",
        )
    share = shares[0] if shares else 100
    return (counts[0] if counts else 0), layers, "bias" in words, share


def _loss(word: str | None) -> Loss:
    try:
        return Loss(word) if word is not None else Loss.CROSS_ENTROPY
    except ValueError as cause:
        names = " or ".join(item.value for item in Loss)
        raise error("GM735", f"the loss is {names}, not {word!r}") from cause


def _numbers(word: str | None, usual: Numbers) -> Numbers:
    if word is None:
        return usual
    try:
        return Numbers(word)
    except ValueError as cause:
        names = " or ".join(item.value for item in (Numbers.FIXED, Numbers.FLOAT32))
        raise error("GM735", f"learning is in {names}, not {word!r}") from cause


def _number(name: str, value: float | None, default: float) -> float:
    number = default if value is None else float(value)
    if not math.isfinite(number):
        raise error("GM735", f"{name} must be a number, got {value!r}")
    return number


def _stored(number: float) -> float:
    """The nearest float32, which is what the application has."""
    found: float = struct.unpack("<f", struct.pack("<f", min(max(number, -1e30), 1e30)))[0]
    return found
