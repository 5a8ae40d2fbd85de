"""Arguments of `glowmcu.compile` that choose types: of inputs and outputs, and of weights."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from glowmcu.errors import error
from glowmcu.input_options import InputOptions
from glowmcu.ir.exactness import computes_in_float
from glowmcu.pipeline import reference_graph

if TYPE_CHECKING:
    from glowmcu.api.given_model import GivenModel
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
        return replace(choices, io=None), wanted or ""
    if wanted == "uint8":
        return replace(choices, io="int8"), wanted
    return replace(choices, io=wanted), ""


def refuse_stored_weights(
    given: GivenModel, quantization: Quantization | None, inputs: InputOptions
) -> None:
    """GM349 if weights of four bits are asked of a model that is quantized already."""
    if quantization is None or not quantization.asks_for_four_bits:
        return
    graph = reference_graph(given.data, given.name, inputs=inputs)
    if not any(map(computes_in_float, graph.nodes)):
        raise error(
            "GM349",
            "--weights chooses bits for a float model; this one is quantized already",
            given.name,
            "give the float model that it was made of, with --samples DATA",
        )
