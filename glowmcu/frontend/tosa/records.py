"""TOSA as records: values, operations with attributes as Python values, one function.

Exporters make them, the text is printed from them, and the reader makes them of a text. Attributes
are bool, int, tuple of int or word (`i32`, `DOUBLE_ROUND`), whatever MLIR wraps around these.
Source: TOSA 1.0 specification (https://www.mlplatform.org/tosa), MLIR's `tosa` dialect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from glowmcu.ir.graph import Node
from glowmcu.ir.operation import Array, Rounding
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lazy_dataclass import dataclass

Attribute = bool | int | tuple[int, ...] | str


@dataclass(frozen=True, eq=False)
class Ref:
    """A value of TOSA's, compared by identity. `type` has no quantization: TOSA knows none.

    `data` are the numbers of a constant; `is_shape` says that it is a `!tosa.shape`, of i64 here.
    `name` is that of a text.
    """

    type: TensorType
    data: Array | None = None
    is_shape: bool = False
    name: str = ""


@dataclass(frozen=True)
class Origin:
    """Which node of a graph of ours an operation and those before it are.

    The last `length` operations (constants do not count) are `node`. Its operands are by number of
    what these read from outside, in order of first use; its results are results of the operations
    with these numbers.
    """

    length: int
    operands: tuple[int, ...]
    results: tuple[int, ...]
    node: Node


@dataclass(frozen=True, eq=False)
class TosaOp:
    """`name` is without dialect (`conv2d`); `line` is where a text has it, 0 if it is none."""

    name: str
    operands: tuple[Ref, ...]
    results: tuple[Ref, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    origin: Origin | None = None
    line: int = 0


@dataclass(frozen=True, eq=False)
class GraphNote:
    """What TOSA does not say of a graph of ours: `states` are the last inputs, and begin so."""

    name: str
    rounding: Rounding
    inputs: tuple[str, ...]
    types: tuple[TensorType, ...]
    states: tuple[Array, ...]
    metadata: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class TosaFunction:
    """`note` is there in an export of ours."""

    name: str
    arguments: tuple[Ref, ...]
    operations: tuple[TosaOp, ...]
    results: tuple[Ref, ...]
    note: GraphNote | None = None


def signless(type_: TensorType) -> TensorType:
    """A type of ours as TOSA has it: without quantization, and bytes without a sign as bytes."""
    is_unsigned = type_.element is ElementType.UI8
    return TensorType(type_.shape, ElementType.I8 if is_unsigned else type_.element)


def outside(operations: tuple[TosaOp, ...]) -> list[Ref]:
    """What the operations read that none of them makes, in order of first use."""
    made: set[Ref] = set()
    found: dict[Ref, None] = {}
    for operation in operations:
        found.update(dict.fromkeys(ref for ref in operation.operands if ref not in made))
        made.update(operation.results)
    return list(found)
