"""How an operator on real numbers becomes one on int8: stated by each operator, used by `quant`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

from glowmcu.lazy_dataclass import dataclass


class ResultRange(Enum):
    """Where the result's scale and zero point come from."""

    OWN = "own"  # from the range that profiling saw
    SAME = "same"  # those of the first quantized operand: nothing is rescaled
    FIXED = "fixed"  # `QuantizationRule.fixed`: known from mathematics (softmax is in [0, 1])


@dataclass(frozen=True)
class StateRule:
    """A state that a node reads as `operand`, if it does, and leaves as `result`: both are stored
    alike, as the node's first result; or if it is `wide` as int16 with a scale of its own, which
    `is_power_of_two` may want to be one.
    """

    operand: int | None
    result: int
    wide: bool = False
    is_power_of_two: bool = False


@dataclass(frozen=True)
class QuantizationRule:
    """Operands by position.

    `activations` become int8 with the parameters of their own tensors. `weights` are constants that
    become symmetric int8, along the axis given or per tensor for None. `biases` are constants that
    become int32 at the product of the scales of an activation and a weights operand; a result that
    is a state stands for an activation by the operands' count plus its place. `unified`: all
    activations must have the result's parameters (a concatenation). `states` are activations, too.
    `samples` are activations that become int16 whatever the results are: raw ones. `finer` is what
    an int16 result of int8 operands has in place of `fixed`, for who rescales it. Other operands
    (indices, shapes) stay as they are.
    """

    activations: tuple[int, ...] = (0,)
    weights: Mapping[int, int | None] = field(default_factory=dict)
    biases: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    result: ResultRange = ResultRange.OWN
    fixed: tuple[float, int] | None = None
    finer: tuple[float, int] | None = None
    unified: bool = False
    states: tuple[StateRule, ...] = ()
    samples: tuple[int, ...] = ()
