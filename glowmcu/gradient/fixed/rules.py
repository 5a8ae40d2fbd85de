"""Who knows the gradient in fixed point of which operator without parameters.

As `glowmcu/gradient/rules.py`; scales are those of what is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from glowmcu.discovery import import_members
from glowmcu.gradient.fixed.builder import FixedBuilder, FixedGradient
from glowmcu.gradient.rules import NoGradient
from glowmcu.ir.graph import Node
from glowmcu.ir.operation import Operation

#: From a node and the gradient of its result to those of its operands. Raises NoGradient.
FixedRule = Callable[[FixedBuilder, Node, FixedGradient], Sequence[FixedGradient | None]]

_RULES: dict[type[Operation], FixedRule] = {}


def fixed_gradient(*operations: type[Operation]) -> Callable[[FixedRule], FixedRule]:
    """Decorator: the rule of `operations`."""

    def register(rule: FixedRule) -> FixedRule:
        for operation in operations:
            assert operation not in _RULES, operation
            _RULES[operation] = rule
        return rule

    return register


def fixed_rule_of(operation: Operation) -> FixedRule:
    """The operator's rule. Raises NoGradient if there is none."""
    import_members("glowmcu.gradient")
    rule = _RULES.get(type(operation))
    if rule is None:
        raise NoGradient(operation.name)
    return rule
