"""What a user may choose about quantization."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from glowmcu.quant.ranges import Calibration


class Interface(Enum):
    """Element type of the model's real inputs and outputs."""

    INT8 = "int8"
    FLOAT = "float"


@dataclass(frozen=True)
class QuantizationOptions:
    """Defaults are what is best for most models.

    `keep_float` and `int16` name operators (`softmax`) or nodes. `per_channel` False gives weights
    of fully connected layers one scale in all, as old runtimes want it. `bias_correction` takes the
    mean error of rounded weights off the bias, `adaptive_rounding` rounds weights to suit the data:
    it needs samples at the time of conversion.
    """

    calibration: Calibration = field(default_factory=Calibration)
    interface: Interface = Interface.INT8
    keep_float: tuple[str, ...] = ()
    int16: tuple[str, ...] = ()
    per_channel: bool = True
    bias_correction: bool = True
    adaptive_rounding: bool = False
