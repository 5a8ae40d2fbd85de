"""What a user may choose about quantization, and how that is written down as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from enum import Enum
from typing import Any, TypeVar

from glowmcu.errors import error
from glowmcu.lazy_dataclass import dataclass
from glowmcu.quant.ranges import Calibration, Method
from glowmcu.quant.schemas import Schema


class Interface(Enum):
    """Element type of the model's real inputs and outputs."""

    INT8 = "int8"
    FLOAT = "float"


@dataclass(frozen=True)
class QuantizationOptions:
    """Defaults are what is best for most models.

    `keep_float` and `int16` (activations of 16 bits; `all` is everything that can) name operators
    (`softmax`) or nodes; `four_bit_weights` likewise those matrix products whose weights are -7..7
    and not -127..127. `per_channel` False gives weights of fully connected layers one scale in
    all, as old runtimes want it. `bias_correction` takes the mean error of rounded weights off the
    bias, `adaptive_rounding` rounds weights to suit the data: it needs samples at the time of
    conversion. `equalization` scales channels against each other first (`quant/equalization.py`).
    """

    calibration: Calibration = field(default_factory=Calibration)
    interface: Interface = Interface.INT8
    keep_float: tuple[str, ...] = ()
    int16: tuple[str, ...] = ()
    four_bit_weights: tuple[str, ...] = ()
    per_channel: bool = True
    bias_correction: bool = True
    adaptive_rounding: bool = False
    equalization: bool = False


def options_record(options: QuantizationOptions) -> dict[str, object]:
    """`options` as a JSON object, every field stated: what `--profile` reads back."""
    calibration = options.calibration
    return {
        "method": calibration.method.value,
        "schema": calibration.schema.value,
        "percentile": calibration.percentile,
        "interface": options.interface.value,
        "keep_float": list(options.keep_float),
        "int16": list(options.int16),
        "four_bit_weights": list(options.four_bit_weights),
        **{name: getattr(options, name) for name in _SWITCHES},
    }


def options_of(record: object, where: str = "") -> QuantizationOptions:
    """The options that `options_record` wrote; fields that are missing have their defaults.

    Raises GM315 for an unknown field or a value that it cannot have.
    """
    if not isinstance(record, Mapping):
        raise error("GM315", f"quantization options must be an object, got {record!r}", where)
    default = options_record(QuantizationOptions())
    unknown = sorted(set(map(str, record)) - set(default))
    if unknown:
        raise error(
            "GM315",
            f"unknown quantization option {unknown[0]!r}",
            where,
            f"the options are: {', '.join(default)}",
        )
    given: dict[str, Any] = {**default, **record}
    calibration = Calibration(
        _choice(Method, given["method"], "method", where),
        _choice(Schema, given["schema"], "schema", where),
        _percentile(given["percentile"], where),
    )
    switches: dict[str, Any] = {name: _switch(given[name], name, where) for name in _SWITCHES}
    return QuantizationOptions(
        calibration,
        _choice(Interface, given["interface"], "interface", where),
        _names(given["keep_float"], "keep_float", where),
        _names(given["int16"], "int16", where),
        _names(given["four_bit_weights"], "four_bit_weights", where),
        **switches,
    )


_SWITCHES = tuple(f.name for f in fields(QuantizationOptions) if isinstance(f.default, bool))
_Choice = TypeVar("_Choice", bound=Enum)


def _choice(kind: type[_Choice], word: object, name: str, where: str) -> _Choice:
    try:
        return kind(word)
    except ValueError as cause:
        words = ", ".join(item.value for item in kind)
        raise error("GM315", f"{name} must be one of {words}, got {word!r}", where) from cause


def _percentile(value: object, where: str) -> float:
    if not isinstance(value, int | float) or not 50 < value <= 100:
        text = f"percentile must be a number above 50, at most 100, got {value!r}"
        raise error("GM315", text, where)
    return float(value)


def _names(value: object, name: str, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise error("GM315", f"{name} must be a list of names, got {value!r}", where)
    return tuple(value)


def _switch(value: object, name: str, where: str) -> bool:
    if not isinstance(value, bool):
        raise error("GM315", f"{name} must be true or false, got {value!r}", where)
    return value
