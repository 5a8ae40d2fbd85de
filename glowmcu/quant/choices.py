"""Quantization in the user's words: what options are called on the command line and in bundles.

Every choice may stay open: then a tuned profile decides, or else the default does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any, TypeVar

from glowmcu.errors import GlowmcuError, error
from glowmcu.option_words import CalibrationWord, IoWord, Percentile, SchemaWord
from glowmcu.quant.options import Interface, QuantizationOptions
from glowmcu.quant.ranges import Calibration, Method
from glowmcu.quant.schemas import Schema

_Choice = TypeVar("_Choice", bound=Enum)


@dataclass(frozen=True)
class Quantization:
    """How a float model becomes int8; None leaves a choice to the profile, or to the default.

    `schema` is asymmetric, symmetric, symmetric_with_uint8 or symmetric_with_power2_scale;
    `calibration` minmax, percentile, percentile:99.9, ("percentile", 99.5), mse or entropy; `io`
    int8 or float, the type of the bundle's inputs and outputs. `keep_float` and `int16` name
    operators or nodes.
    `per_tensor_weights` gives dense layers one scale in all, `bias_correction` takes the mean error
    of rounded weights off the bias, `equalize` scales channels against each other first, `adaround`
    rounds weights to suit the samples.

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
        "keep_float": ",".join(options.keep_float),
        "int16": ",".join(options.int16),
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
    names = {key: text[key].split(",") for key in ("keep_float", "int16") if key in text}
    switches = ("per_tensor_weights", "bias_correction", "equalize", "adaround")
    given: dict[str, Any] = {key: text.get(key) for key in ("schema", "calibration", "io")}
    given |= {key: names.get(key) for key in ("keep_float", "int16")}
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
    return " ".join(words) or "defaults"
