"""Gradients of operators that are defined in index notation: definitions, made from theirs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from glowmcu.gradient.builder import Builder
from glowmcu.gradient.rules import NoGradient, gradient
from glowmcu.index_notation import DefinitionError
from glowmcu.index_notation.derivative import gradient_of
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.operation import OperationError
from glowmcu.ops.defined import Defined, DefinedFunction


@gradient(Defined, DefinedFunction)
def defined_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value | None]:
    """Of each operand a definition of its own."""
    assert isinstance(node.op, Defined | DefinedFunction)
    return tuple(_of_operand(build, node, index, upstream) for index in range(len(node.inputs)))


def _of_operand(build: Builder, node: Node, index: int, upstream: Value) -> Value | None:
    op = node.op
    assert isinstance(op, Defined | DefinedFunction)
    names = [form.name for form in op.source.definition.inputs]
    try:
        made = gradient_of(op.plan([value.type for value in node.inputs]), names[index])
        if made is None:
            return None
        file = f"{PurePath(op.file).stem}_{names[index]}_gradient.py"
        operands = [node.inputs[names.index(name)] for name in made.operands]
        what = Defined(f"gradient of {op.kind}", file, made.text, op.numbers)
        return build.add(what, *operands, upstream)
    except (DefinitionError, OperationError) as cause:
        line = f", line {cause.line}" if isinstance(cause, DefinitionError) and cause.line else ""
        raise NoGradient(f"{op.kind}: {op.source.name}{line}: {cause}") from cause
