"""Conditions of an accelerator's file: `in_channels % 8 == 0`, about the numbers of one layer."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from contextlib import suppress
from math import prod
from typing import Any

from glowmcu.ir.graph import Node
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D

_MOST_CHARACTERS = 200
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.In: lambda a, b: a in b,
}  # fmt: skip
_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_SIZES = ("batches", "height", "width", "channels", "bytes")
#: What every operator has, and what those with a window or weights have besides.
_COMMON = (*(f"in_{word}" for word in _SIZES), *(f"out_{word}" for word in _SIZES),
           "in_zero_point", "out_zero_point", "macs")  # fmt: skip
_WINDOW = ("kernel_height", "kernel_width", "stride_y", "stride_x", "dilation_y", "dilation_x",
           "pad_top", "pad_left", "pad_bottom", "pad_right")  # fmt: skip
_WEIGHTED = ("weights_bytes",)


def names_of(operation: type[Operation]) -> tuple[str, ...]:
    """What conditions on layers of this operator can be about."""
    names = _COMMON
    if issubclass(operation, Conv2D | DepthwiseConv2D | AveragePool2D | MaxPool2D):
        names += _WINDOW
    if issubclass(operation, Conv2D | DepthwiseConv2D | FullyConnected):
        names += _WEIGHTED
    if issubclass(operation, Conv2D):
        names += ("groups",)
    return names


def numbers_of(node: Node) -> dict[str, int]:
    """The values of those names for a layer. Shapes are NHWC, with 1 for axes that it has not."""
    op, signature = node.op, node.signature
    found = {
        **_sizes("in", signature.inputs[0]),
        **_sizes("out", signature.output),
        "macs": node.macs,
    }
    if isinstance(op, Conv2D | DepthwiseConv2D | AveragePool2D | MaxPool2D):
        kernel = getattr(op, "kernel", None) or signature.inputs[1].shape[1:3]
        dilations = getattr(op, "dilations", (1, 1))
        values = (*kernel, *op.strides, *dilations, *op.padding)
        found |= dict(zip(_WINDOW, values, strict=True))
    if isinstance(op, Conv2D | DepthwiseConv2D | FullyConnected):
        found["weights_bytes"] = signature.inputs[1].size_bytes
    if isinstance(op, Conv2D):
        found["groups"] = signature.inputs[0].shape[3] // signature.inputs[1].shape[3]
    return found


def _sizes(word: str, type_: TensorType) -> dict[str, int]:
    shape = (*(1,) * (4 - type_.rank), *type_.shape)
    shape = (prod(shape[: len(shape) - 3]), *shape[len(shape) - 3 :])
    zero_point = type_.zero_point if type_.quantization is not None else 0
    values = (*shape, type_.size_bytes)
    sizes = {f"{word}_{name}": size for name, size in zip(_SIZES, values, strict=True)}
    return sizes | {f"{word}_zero_point": zero_point}


@dataclass(frozen=True)
class Condition:
    """Its text, which `read_condition` has found to be one."""

    text: str

    def holds(self, numbers: Mapping[str, int]) -> bool:
        """Whether it does for a layer with these numbers; a division by zero is none that does."""
        try:
            return bool(_value(ast.parse(self.text, mode="eval").body, numbers))
        except ZeroDivisionError:
            return False


def read_condition(text: str, names: tuple[str, ...]) -> Condition:
    """Raises ValueError, with what is wrong, for what is no condition on `names`."""
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"it is longer than {_MOST_CHARACTERS} characters")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError, ValueError) as cause:
        raise ValueError("it is no expression") from cause
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    unknown = sorted(read - set(names))
    if unknown:
        raise ValueError(f"{unknown[0]} is not known of this operator; known: {', '.join(names)}")
    if not read:
        raise ValueError("it reads nothing of the layer, so that it holds always or never")
    if not isinstance(tree, ast.Compare | ast.BoolOp | ast.UnaryOp):
        raise ValueError("it compares nothing")
    with suppress(ZeroDivisionError):
        _value(tree, dict.fromkeys(names, 1))
    return Condition(text)


def _value(node: ast.expr, numbers: Mapping[str, int]) -> Any:  # noqa: ANN401 - of numbers or truth
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        return numbers[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left, numbers), _value(node.right, numbers))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        inner = _value(node.operand, numbers)
        return (not inner) if isinstance(node.op, ast.Not) else -inner
    if isinstance(node, ast.BoolOp):
        parts = [bool(_value(part, numbers)) for part in node.values]
        return all(parts) if isinstance(node.op, ast.And) else any(parts)
    if isinstance(node, ast.Compare) and all(type(item) in _COMPARISONS for item in node.ops):
        sides = [_side(side, numbers) for side in (node.left, *node.comparators)]
        return all(
            _compared(item, left, right)
            for item, left, right in zip(node.ops, sides, sides[1:], strict=False)
        )
    raise ValueError(f"{ast.unparse(node)[:60]} is no sum, product, comparison, and, or, not")


def _side(node: ast.expr, numbers: Mapping[str, int]) -> Any:  # noqa: ANN401
    if isinstance(node, ast.Tuple | ast.List):
        return [_value(item, numbers) for item in node.elts]
    return _value(node, numbers)


def _compared(item: ast.cmpop, left: Any, right: Any) -> bool:  # noqa: ANN401
    is_list = isinstance(right, list)
    if is_list != isinstance(item, ast.In) or isinstance(left, list):
        raise ValueError("numbers are compared with numbers; `in` is followed by (1, 2)")
    return bool(_COMPARISONS[type(item)](left, right))
