"""How a float model becomes int8: the options that `compile` and `export` share."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from glowmcu.api import Quantization
from glowmcu.cli.weights_argument import WeightsGiven, bits_option, weights_option
from glowmcu.lazy_dataclass import dataclass
from glowmcu.option_words import WeightsWord

_F = TypeVar("_F", bound=Callable[..., object])


@dataclass(frozen=True)
class QuantizationArguments:
    """The options as the Python API takes them. `weights`: how code reaches them."""

    profile: Path | None
    samples: tuple[Path, ...] | None
    preprocess: Path | None
    quantization: Quantization
    weights: WeightsWord = "linked"
    require_sqnr: float | None = None
    require_agreement: float | None = None


def samples_option(required: bool) -> Callable[[_F], _F]:
    """`--samples`, several times."""
    return click.option(
        "--samples", multiple=True, required=required, type=click.Path(path_type=Path),
        metavar="FILE|FOLDER",
        help="Calibration data: .npy, .npz, raw files, .csv, .wav, folders of these or of images.",
    )  # fmt: skip


def preprocess_option(function: _F) -> _F:
    """`--preprocess`."""
    return click.option("--preprocess", type=click.Path(path_type=Path), metavar="FILE.toml",
                        help="For images: size, mean, scale, layout, color.")(function)  # fmt: skip


def search_option(function: _F) -> _F:
    """`--quantization`."""
    return click.option("--quantization", "search", type=click.Choice(["automatic", "plain"]),
                        help="Whether samples choose calibration, equalization and bias "
                        "correction where you do not: automatic (default), or plain for the "
                        "defaults.")(function)  # fmt: skip


def quantization_options(function: _F) -> _F:
    """All of them, as one argument `quantized`."""
    return _with_options(function, bits_option())


def quantization_and_weights_options(function: _F) -> _F:
    """The same of a command whose `--weights` says how code reaches them, too."""
    return _with_options(function, weights_option())


def _with_options(function: _F, weights_argument: Callable[[Any], Any]) -> _F:
    @functools.wraps(function)
    def with_quantization(
        profile: Path | None,
        samples: tuple[Path, ...],
        preprocess: Path | None,
        keep_float: tuple[str, ...],
        int16: tuple[str, ...],
        weights: WeightsGiven | None,
        **others: Any,  # noqa: ANN401 - whatever the command takes besides
    ) -> object:
        words = {name: others.pop(name) for name in _WORDS}
        chosen = weights or WeightsGiven()
        demands = {name: others.pop(name) for name in _DEMANDS}
        quantization = Quantization(
            keep_float=_names(keep_float), int16=_names(int16), weights=chosen.bits, **words
        )
        given = QuantizationArguments(
            profile, samples or None, preprocess, quantization, chosen.reached or "linked",
            **demands,
        )  # fmt: skip
        return function(quantized=given, **others)

    wrapped: Any = with_quantization
    for option in reversed([*_options(), weights_argument]):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]


_WORDS = (
    "search", "schema", "calibration", "io", "per_tensor_weights", "bias_correction", "equalize",
    "adaround",
)  # fmt: skip
_DEMANDS = ("require_sqnr", "require_agreement")


def _options() -> list[Callable[[Any], Any]]:
    return [
        click.option("--profile", type=click.Path(path_type=Path), metavar="FILE",
                     help="Quantize to int8 by what `glowmcu profile` measured."),
        samples_option(required=False),
        preprocess_option,
        search_option,
        click.option("--schema", metavar="WORD",
                     help="asymmetric (default), symmetric, symmetric_with_uint8, "
                     "symmetric_with_power2_scale."),
        click.option("--calibration", metavar="WORD",
                     help="minmax (default), percentile[:99.9], mse, entropy."),
        click.option("--io", metavar="int8|uint8|float",
                     help="Type of the bundle's inputs and outputs; of a model that is quantized "
                     "already, too. Default: int8 by a profile, else the file's."),
        click.option("--keep-float", multiple=True, metavar="NAME[,NAME…]",
                     help="Operators (softmax) or nodes that stay float; NAME is NAME/… too."),
        click.option("--int16", multiple=True, metavar="NAME[,NAME…]",
                     help="Operators or nodes with 16-bit activations; all: wherever it can be."),
        click.option("--per-tensor-weights", is_flag=True, default=None,
                     help="One scale in all for the weights of a dense layer."),
        click.option("--bias-correction/--no-bias-correction", default=None,
                     help="Take the mean error of rounded weights off biases. Default: yes."),
        click.option("--equalize", is_flag=True, default=None,
                     help="Scale channels against each other first."),
        click.option("--adaround", is_flag=True, default=None,
                     help="Round weights to suit the data; needs --samples."),
        click.option("--require-sqnr", type=float, metavar="DB",
                     help="Fail unless outputs keep this signal to quantization noise."),
        click.option("--require-agreement", type=float, metavar="PERCENT",
                     help="Fail unless this part of all decisions is the float model's."),
    ]  # fmt: skip


def _names(texts: tuple[str, ...]) -> tuple[str, ...] | None:
    """Names of all the option's uses; None if there was none."""
    names = [name.strip() for text in texts for name in re.split(",", text)]
    return tuple(name for name in names if name) if texts else None
