"""What `glowmcu.compile` is told about the types of inputs and outputs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glowmcu.option_words import IoWord
    from glowmcu.quant.choices import Quantization


def border_of(
    io: IoWord | None, quantization: Quantization | None, is_stored: bool
) -> tuple[Quantization | None, str]:
    """The quantization that is left to do, and the type of what a quantized graph has at its
    border (empty: as it is).

    `is_stored`: the model is compiled as it is in the file. Then `io` is all about its border;
    otherwise the quantizer makes int8 or float of it, and uint8 is the border of its int8.
    """
    if io is None and quantization is None:
        return None, ""
    from glowmcu.quant.choices import Quantization

    choices = quantization or Quantization()
    wanted: IoWord | None = io if io is not None else choices.io
    if is_stored:
        if wanted in (None, "float"):
            return replace(choices, io=None if choices.io is None else wanted), ""
        return replace(choices, io=None), wanted
    if wanted == "uint8":
        return replace(choices, io="int8"), wanted
    return replace(choices, io=wanted), ""
