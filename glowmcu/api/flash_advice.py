"""What would make a bundle that takes too much flash fit: tried, so that nothing is in vain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from glowmcu.compilation import Compilation, Options
from glowmcu.errors import GlowmcuError
from glowmcu.goals import Goal
from glowmcu.ir.coding.kinds import entropy_bits
from glowmcu.ir.graph import Graph
from glowmcu.ir.operation import Constant
from glowmcu.lazy_dataclass import dataclass

#: No option leaves less than this share of a bundle: four bits are half of the weights, and coded
#: ones mostly more than two thirds.
_LEAST_SHARE = 0.3
#: Of the entropy of constants: what kernels make of them may be coded in a little less.
_CERTAIN_SHARE = 0.9
#: What weights take of float32's, and how they are asked for.
_OF_FLOAT = ((0.25, "int8 weights", ""), (0.125, "weights of four bits", " --weights 4"))

#: Bytes of flash with these options, None where they do not fit for another reason; may raise.
Attempt = Callable[[Options], int | None]


@dataclass(frozen=True)
class _Way:
    words: str
    options: Options


def flash_advice(
    attempt: Attempt, options: Options, taken: int, most: int, graph: Graph | None = None
) -> tuple[str, ...]:
    """Of the options that make a bundle smaller the first with which it takes at most `most` bytes
    of flash in place of `taken`, or how far the best of them comes.

    What stores the constants of `graph`, those of the bundle that is too large, is not tried where
    no coding brings them down to `most`.
    """
    if most < _LEAST_SHARE * taken:
        return ("no option of compile makes a bundle that much smaller: the model has to be",)
    ways = _ways(options)
    least = _least_bytes(graph) if graph is not None else 0
    if least > most:
        ways = [way for way in ways if way.options.quantization != options.quantization]
    if least > most and not ways:
        return (
            f"its constants alone take {_spaced(least)} B at least, however they are coded: the "
            "model has to be smaller",
        )
    best: tuple[int, str] | None = None
    for way in ways:
        try:
            size = attempt(way.options)
        except GlowmcuError:
            continue
        if size is None:
            continue
        if size <= most:
            return (f"{way.words} takes {_spaced(size)} B",)
        best = min(best or (size, way.words), (size, way.words))
    if best is None or best[0] >= taken:
        return ("no option of compile makes it smaller",)
    return (f"the least that was found, with {best[1]}, takes {_spaced(best[0])} B",)


def _least_bytes(graph: Graph) -> int:
    """What the constants take in flash at least, by the statistics of the bytes of each."""
    bits = 0.0
    for node in graph.nodes:
        if isinstance(node.op, Constant):
            data = np.ascontiguousarray(node.op.data).reshape(-1).view(np.uint8)
            bits += entropy_bits(np.bincount(data, minlength=256))
    return int(_CERTAIN_SHARE * bits / 8)


def int8_advice(compilation: Compilation, taken: int, most: int) -> tuple[str, ...]:
    """For a model that is still float: what fewer bits would come to, where that is enough."""
    if "profile" in compilation.manifest.options or not compilation.is_float:
        return ()
    weights = compilation.manifest.weights_bytes
    for share, what, option in _OF_FLOAT:
        about = taken - weights + int(share * weights)
        if about <= most:
            return (f"{what} would take about {_spaced(about)} B: --samples DATA{option}",)
    return ()


def _ways(options: Options) -> list[_Way]:
    """From the one that costs least to the one that saves most."""
    plain = replace(options, wants_curve=False, dump_ir=None)
    smaller = {Goal.FLASH: (), Goal.SIZE: (Goal.FLASH,)}
    goals = smaller.get(options.goal, (Goal.SIZE, Goal.FLASH))
    found = [_Way(_goal_words(goal), replace(plain, goal=goal)) for goal in goals]
    four = _with_four_bits(plain)
    if four is not None:
        found.append(_Way("--weights 4", four))
        found += [
            _Way(f"--weights 4 {_goal_words(goal)}", replace(four, goal=goal)) for goal in goals
        ]
    return found


def _goal_words(goal: Goal) -> str:
    return f"--optimize {goal.value}"


def _with_four_bits(options: Options) -> Options | None:
    """The same with weights of four bits, where the model is quantized and has others; rounded as
    `--weights 4` does, since coded weights are smaller or larger by that.
    """
    request = options.quantization
    if request is None or "all" in request.options.four_bit_weights:
        return None
    chosen = replace(request.options, four_bit_weights=("all",))
    if request.samples is not None:
        chosen = replace(chosen, adaptive_rounding=True)
    asked = replace(request, options=chosen, mixed_weights=False, quality=())
    return replace(options, quantization=asked)


def _spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")
