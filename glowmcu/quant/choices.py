"""Quantization in the user's words: what options are called on the command line and in bundles.

Every choice may stay open: then a tuned profile decides, or else the default does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from enum import Enum
from typing import Any, TypeVar, get_args

from glowmcu.argument_types import fields_checked
from glowmcu.errors import GlowmcuError, error
from glowmcu.lazy_dataclass import dataclass
from glowmcu.name_lists import names_text, read_names
from glowmcu.option_words import (
    BitsWord,
    CalibrationWord,
    IoWord,
    Percentile,
    SchemaWord,
    SearchWord,
)
from glowmcu.quant.options import Interface, QuantizationOptions
from glowmcu.quant.ranges import Calibration, Method
from glowmcu.quant.schemas import Schema
from glowmcu.quant.search_space import SearchSpace
from glowmcu.quant.wide import ALL

_Choice = TypeVar("_Choice", bound=Enum)


@fields_checked
@dataclass(frozen=True)
class Quantization:
    """How a float model becomes int8; None leaves a choice to the profile, or to the default.

    `schema` is asymmetric, symmetric, symmetric_with_uint8 or symmetric_with_power2_scale;
    `calibration` minmax, percentile, percentile:99.9, ("percentile", 99.5), mse or entropy; `io`
    int8 or float, the type of the bundle's inputs and outputs. `keep_float` and `int16` name
    operators or nodes.
    `per_tensor_weights` gives dense layers one scale in all, `bias_correction` takes the mean error
    of rounded weights off the bias, `equalize` scales channels against each other first, `adaround`
    rounds weights to suit the samples. `weights` is how many bits weights of matrix products have:
    8, 4, "mixed" (4 where the samples bear it) or the names of those layers that get 4; of four
    bits they are rounded to suit the samples unless `adaround` is False. Where `search` is
    automatic, as it is by default, samples choose what is left open of calibration, equalization,
    bias correction and, where too much is lost otherwise, int16; plain takes the defaults.

    >>> chosen = glowmcu.Quantization(schema="symmetric", keep_float=["softmax"])
    >>> bundle = glowmcu.compile(
    ...     "digits.onnx", samples="calibration.npz", quantization=chosen, output="build/float"
    ... )
    """

    schema: SchemaWord | None = None
    calibration: CalibrationWord | Percentile | None = None
    io: IoWord | None = None
    keep_float: Sequence[str] | None = None
    int16: Sequence[str] | None = None
    per_tensor_weights: bool | None = None
    bias_correction: bool | None = None
    equalize: bool | None = None
    adaround: bool | None = None
    weights: BitsWord | Sequence[str] | None = None
    search: SearchWord | None = None

    @property
    def is_plain(self) -> bool:
        """Whether choices that are left open are the defaults, whatever samples or a profile say.

        Raises GM322 for a word that is none.
        """
        if self.search is not None and self.search not in get_args(SearchWord):
            raise _no_such("search", ", ".join(get_args(SearchWord)), self.search)
        return self.search == "plain"

    @property
    def space(self) -> SearchSpace:
        """What is left open of that which samples may decide."""
        return SearchSpace(
            self.calibration is None,
            self.equalize is None,
            self.bias_correction is None,
            self.int16 is None,
        )

    @property
    def is_mixed(self) -> bool:
        """Whether the samples say which layers have weights of four bits."""
        return self.weights == "mixed"

    @property
    def asks_for_four_bits(self) -> bool:
        """Whether weights of any layer were asked to have four bits."""
        return self.is_mixed or (self.weights is not None and bool(_four_bit_names(self.weights)))

    @property
    def is_default(self) -> bool:
        """Whether every choice is left open."""
        return all(getattr(self, field.name) is None for field in fields(self))

    def over(self, options: QuantizationOptions) -> QuantizationOptions:
        """`options` with the choices that were made. Raises GM322 for a word that is none."""
        calibration = options.calibration
        if self.calibration is not None:
            word = self.calibration
            text = word if isinstance(word, str) else "{}:{}".format(*word)
            calibration = _calibration(text, calibration)
        if self.schema is not None:
            calibration = replace(calibration, schema=_choice(Schema, self.schema, "schema"))
        given: dict[str, Any] = {"calibration": calibration}
        if self.io is not None:
            given["interface"] = _choice(Interface, self.io, "io")
        if self.keep_float is not None:
            given["keep_float"] = tuple(self.keep_float)
        if self.int16 is not None:
            given["int16"] = tuple(self.int16)
        if self.weights is not None and not self.is_mixed:
            given["four_bit_weights"] = _four_bit_names(self.weights)
        if self.per_tensor_weights is not None:
            given["per_channel"] = not self.per_tensor_weights
        switches = (
            ("bias_correction", self.bias_correction),
            ("equalization", self.equalize),
            ("adaptive_rounding", self.adaround),
        )
        given.update({name: value for name, value in switches if value is not None})
        return replace(options, **given)


def _choice(kind: type[_Choice], word: str, option: str) -> _Choice:
    try:
        return kind(word)
    except ValueError as cause:
        raise _no_such(option, ", ".join(str(item.value) for item in kind), word) from cause


def _four_bit_names(weights: BitsWord | Sequence[str]) -> tuple[str, ...]:
    """Layers whose weights have four bits."""
    if isinstance(weights, int | str):
        names = {"8": (), "4": (ALL,)}.get(str(weights))
        if names is None:
            raise _no_such("weights", "4, 8, mixed or a list of layers", str(weights))
        return names
    return tuple(weights)


def _calibration(text: str, old: Calibration) -> Calibration:
    """`minmax`, `percentile`, `percentile:99.9`, …"""
    found = re.fullmatch(r"(\w+)(?::(\d+(?:\.\d+)?))?", text)
    word, share = found.groups() if found else (text, None)
    methods = {method.value: method for method in Method}
    percentile = old.percentile if share is None else float(share)
    if (
        word not in methods
        or (share is not None and word != Method.PERCENTILE.value)
        or not 50 < percentile <= 100
    ):
        raise _no_such(
            "calibration",
            ", ".join((*methods, "percentile:P with P above 50, at most 100")),
            text,
        )
    return replace(old, method=methods[word], percentile=percentile)


def _no_such(option: str, words: str, got: str) -> GlowmcuError:
    return error("GM322", f"{option} must be one of {words}; got {got!r}")


def options_text(options: QuantizationOptions) -> dict[str, str]:
    """What a bundle says of its quantization; `options_of_text` reads it."""
    calibration = options.calibration
    method = calibration.method.value
    if calibration.method is Method.PERCENTILE:
        method += f":{calibration.percentile:g}"
    text = {
        "schema": calibration.schema.value,
        "calibration": method,
        "io": options.interface.value,
        "keep_float": names_text(options.keep_float),
        "int16": names_text(options.int16),
        "four_bit_weights": names_text(options.four_bit_weights),
        "per_tensor_weights": _word(not options.per_channel),
        "bias_correction": _word(options.bias_correction),
        "equalize": _word(options.equalization),
        "adaround": _word(options.adaptive_rounding),
    }
    usual = {"bias_correction": "yes"}
    always = ("schema", "calibration", "io")
    return {
        key: value
        for key, value in text.items()
        if key in always or value not in ("", usual.get(key, "no"))
    }


def options_of_text(text: Mapping[str, str]) -> QuantizationOptions:
    """The options in what a bundle says; other keys may stand among them."""
    listed = {"keep_float": "keep_float", "int16": "int16", "four_bit_weights": "weights"}
    names = {word: read_names(text[key]) for key, word in listed.items() if key in text}
    switches = ("per_tensor_weights", "bias_correction", "equalize", "adaround")
    given: dict[str, Any] = {key: text.get(key) for key in ("schema", "calibration", "io")}
    given |= names
    given |= {key: text[key] == "yes" for key in switches if key in text}
    return Quantization(**given).over(QuantizationOptions())


def _word(value: bool) -> str:
    return "yes" if value else "no"


def choice_text(options: QuantizationOptions) -> str:
    """What differs from the defaults, in the command line's words; `defaults` for nothing."""
    calibration, words = options.calibration, []
    default = QuantizationOptions()
    if calibration.schema is not default.calibration.schema:
        words.append(calibration.schema.value)
    if calibration.method is not default.calibration.method:
        is_percentile = calibration.method is Method.PERCENTILE
        share = f":{calibration.percentile:g}" if is_percentile else ""
        words.append(calibration.method.value + share)
    words += ["equalize"] if options.equalization else []
    words += ["adaround"] if options.adaptive_rounding else []
    words += [] if options.bias_correction else ["no-bias-correction"]
    words += [] if options.per_channel else ["per-tensor-weights"]
    words += [f"float:{name}" for name in options.keep_float]
    words += [f"int16:{name}" for name in options.int16]
    words += [f"weights:4:{name}" for name in options.four_bit_weights]
    return " ".join(words) or "defaults"
