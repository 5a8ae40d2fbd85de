"""Who knows the gradient of which operator.

A rule is a function with `@gradient(Class, …)` in a module of this folder, or of a package that an
entry point in the group `glowmcu.gradient` names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from glowmcu.discovery import import_members
from glowmcu.gradient.builder import Builder
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.operation import Operation

#: From a node and the gradient of its first result to those of its operands, in their order; None
#: for an operand that the result does not depend on smoothly. All are float32, of the shape of what
#: they belong to. Raises NoGradient.
Rule = Callable[[Builder, Node, Value], Sequence[Value | None]]

#: The same of an operator with several results, from the gradients of all; None for one that the
#: value in question does not depend on.
RuleOfResults = Callable[[Builder, Node, Sequence[Value | None]], Sequence[Value | None]]

_RULES: dict[type[Operation], RuleOfResults] = {}


class NoGradient(Exception):
    """The operator has no gradient as it is used here; the text says why."""


def gradient(*operations: type[Operation]) -> Callable[[Rule], Rule]:
    """Decorator: the rule of `operations`, of whose results the first alone has a gradient."""

    def register(rule: Rule) -> Rule:
        def of_results(
            build: Builder, node: Node, upstreams: Sequence[Value | None]
        ) -> Sequence[Value | None]:
            first, *others = upstreams
            if first is None or any(others):
                raise NoGradient(f"a result of {node.op.name} other than the first")
            return rule(build, node, first)

        gradient_of_results(*operations)(of_results)
        return rule

    return register


def gradient_of_results(
    *operations: type[Operation],
) -> Callable[[RuleOfResults], RuleOfResults]:
    """Decorator: the rule of `operations` with several results."""

    def register(rule: RuleOfResults) -> RuleOfResults:
        for operation in operations:
            assert operation not in _RULES, operation
            _RULES[operation] = rule
        return rule

    return register


def load_rules() -> dict[type[Operation], RuleOfResults]:
    """All rules by operator."""
    import_members("glowmcu.gradient")
    return dict(_RULES)


def rule_of(operation: Operation) -> RuleOfResults:
    """The operator's rule. Raises NoGradient if there is none."""
    rule = load_rules().get(type(operation))
    if rule is None:
        raise NoGradient(f"{operation.name} has no gradient")
    return rule
