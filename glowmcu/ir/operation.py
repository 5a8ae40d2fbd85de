"""The interface of operator classes: shapes, meaning, memory and work.

An operator is a frozen dataclass whose fields are its attributes; the classes live in
`glowmcu.ops`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from glowmcu.ir.quantization_rule import QuantizationRule
from glowmcu.ir.types import Shape, TensorType
from glowmcu.ir.value_range import ValueRange, full_range, range_of_data
from glowmcu.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from glowmcu.ir.graph import Graph

Array = npt.NDArray[Any]


class Rounding(Enum):
    """How an int32 accumulator becomes int8: rounded once or twice.

    `DOUBLE` is TensorFlow Lite Micro. `SINGLE` is XNNPACK, which LiteRT's interpreter hands a model
    to unless told otherwise. `LITERT` is LiteRT's reference kernels, where it depends on the
    operator: `Operation.rounding_in` says which of the other two it is.
    """

    DOUBLE = "double"
    SINGLE = "single"
    LITERT = "litert"

    @property
    def in_c(self) -> str:
        """`double`, `single`, or `mixed` for generated C where it depends on the layer."""
        return "mixed" if self is Rounding.LITERT else self.value


class OperationError(Exception):
    """An operator does not accept these operands; the text says expected and got."""


@dataclass(frozen=True)
class Signature:
    """Types of an operator's operands and results at one place of a graph."""

    inputs: tuple[TensorType, ...]
    outputs: tuple[TensorType, ...]

    @property
    def output(self) -> TensorType:
        """The first (usually the only) result."""
        return self.outputs[0]


@dataclass(frozen=True)
class RowWindow:
    """Rows `[first, end)` of an operand along the height axis, clipped to the tensor."""

    first: int
    end: int


@dataclass(frozen=True)
class Operation:
    """Base of all operators. A subclass is registered with `@operation`; one that has attributes of
    its own is a frozen dataclass.
    """

    name: ClassVar[str] = ""
    #: Every element of the result depends on the elements at the same (broadcast) place alone.
    elementwise: ClassVar[bool] = False
    #: Operands that may be quantized per channel: weights and their bias. Everything else has one
    #: scale a tensor.
    channel_operands: ClassVar[tuple[int, ...]] = ()
    #: Elements of the results are elements of an operand, bit by bit, or constants.
    keeps_bits: ClassVar[bool] = False
    #: Integers that it gives are classes or places, of which none is nearly another.
    chooses: ClassVar[bool] = False

    def rounding_in(self, graph_rounding: Rounding) -> Rounding:
        """DOUBLE or SINGLE: how the operator rounds in a graph of `graph_rounding`."""
        return Rounding.DOUBLE if graph_rounding is Rounding.LITERT else graph_rounding

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        """Result shapes. Raises OperationError when the operands do not fit."""
        raise AssertionError(f"{type(self).__name__} has no shape rule")

    def verify(self, signature: Signature) -> None:
        """Raise OperationError when element types or quantization do not fit.

        Shapes are compared with `infer` by the graph verifier; this checks the rest.
        """

    def verify_accuracy(self, signature: Signature) -> None:
        """Raise OperationError where results as they are stored would be far from the real ones:
        asked of types that are chosen here; a file's own are taken as they are.
        """

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        """The meaning: stored values in, stored values out. numpy arrays of the signature's
        types.
        """
        raise AssertionError(f"{type(self).__name__} has no meaning")

    def inner_shapes(self, signature: Signature) -> tuple[Shape, ...]:
        """Of arrays that `evaluate` makes besides operands and results, where those may be larger
        than both: a graph is refused before they are made.
        """
        return ()

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        """How the float operator becomes an int8 one; None if it has no int8 meaning."""
        return None

    @property
    def float_reason(self) -> str:
        """Why there is no `quantization_rule`, for the user."""
        return "it has no int8 meaning"

    def output_ranges(
        self,
        inputs: Sequence[ValueRange | None],
        constants: Sequence[Array | None],
        signature: Signature,
        rounding: Rounding,
    ) -> tuple[ValueRange | None, ...]:
        """Ranges of the results when operand i stays within `inputs[i]`.

        `constants[i]` is operand i's data if it is known. Must hold for every such input; the
        default is `ranges_from` where every range is known, else all that the results' types store.
        """
        full = tuple(map(full_range, signature.outputs))
        known = [range_ for range_ in inputs if range_ is not None]
        if len(known) < len(inputs) or any(range_ is None for range_ in full):
            return full
        return self.ranges_from(known, signature, rounding)

    def ranges_from(
        self, known: Sequence[ValueRange], signature: Signature, rounding: Rounding
    ) -> tuple[ValueRange | None, ...]:
        """Ranges of the results when operand i stays within `known[i]`."""
        return tuple(map(full_range, signature.outputs))

    def macs(self, signature: Signature) -> int:
        """Multiply-accumulates of one run."""
        return 0

    @property
    def evaluations(self) -> int:
        """How often `inner_graphs` run in one run of the operator, as far as that is known."""
        return 1

    def inner_graphs(self) -> tuple[Graph, ...]:
        """Graphs that the operator runs: of branches, and of a loop's trip."""
        return ()

    def interpreter_bytes(self, signature: Signature) -> int:
        """Bytes beside operands and results that an interpreter's own operator works in: they
        count where an arena is compared with an interpreter's.
        """
        return 0

    def aliases(self, signature: Signature) -> Mapping[int, int]:
        """`{result: operand}`: results that are bytes of an operand, so that they cost nothing.

        A reshape is `{0: 0}`; a split along the outermost axis is `{0: 0, 1: 0, …}`. It names every
        result or none: a node with aliases runs no kernel. `alias_offset` says where they begin.
        """
        return {}

    def alias_offset(self, signature: Signature, result: int) -> int:
        """Byte of the operand at which the aliasing result `result` begins."""
        return 0

    def contained_operands(self, signature: Signature) -> Mapping[int, int]:
        """`{operand: byte offset}`: operands that stand unchanged in result 0 from that byte on.

        Memory planning may let such an operand be a view of the result, so that its producer writes
        it in place (the parts of a concatenation along the outermost axis). The kernel still runs
        unless all operands are in place; it leaves alone what already lies where it belongs. So a
        result that is more than its operands contains none. An operand can be in place once only:
        not twice in one result, nor in two results.
        """
        return {}

    def in_place(self, signature: Signature) -> tuple[int, ...]:
        """Operands whose buffer the first result may overwrite, element by element in order."""
        return ()

    def updates(self, signature: Signature) -> Mapping[int, int]:
        """`{result: operand}`: results that may lie where an operand of the same type does, which
        the kernel has read by the time it writes: the old and the new value of a state.
        """
        return {}

    def trajectories(
        self, inputs: Sequence[Array], results: Sequence[Array], signature: Signature
    ) -> Mapping[int, Array]:
        """`{result: all that it was on the way}`, last axis as the result's: what profiling
        measures of a state that a loop leaves.
        """
        return {}

    def hw_transposed(self) -> Operation | None:
        """The operator where rows are columns: axes 1 and 2 of all that has four are exchanged.

        Weights included. None if there is no such operator.
        """
        return None

    def input_rows(
        self, signature: Signature, first: int, end: int
    ) -> tuple[RowWindow | None, ...]:
        """For each operand the rows needed for result rows `[first, end)`; None means all of it.

        Those of result row 0 begin with the operand's row 0, whether it is needed or not.
        """
        return (None,) * len(signature.inputs)


@dataclass(frozen=True, eq=False)
class Constant(Operation):
    """A tensor known at compile time. `data` has the dtype and shape of the result."""

    name: ClassVar[str] = "constant"
    data: Array

    def __post_init__(self) -> None:
        self.data.flags.writeable = False

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        if inputs:
            raise OperationError(f"constant takes no operands, got {len(inputs)}")
        return (tuple(int(size) for size in self.data.shape),)

    def verify(self, signature: Signature) -> None:
        if self.data.dtype != signature.output.element.numpy:
            raise OperationError(
                f"constant data is {self.data.dtype}, "
                f"its type says {signature.output.element.value}"
            )

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (self.data,)

    def output_ranges(
        self,
        inputs: Sequence[ValueRange | None],
        constants: Sequence[Array | None],
        signature: Signature,
        rounding: Rounding,
    ) -> tuple[ValueRange | None, ...]:
        if full_range(signature.output) is None or not self.data.size:
            return (full_range(signature.output),)
        return (range_of_data(self.data),)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Constant)
            and self.data.dtype == other.data.dtype
            and self.data.shape == other.data.shape
            and self.data.tobytes() == other.data.tobytes()
        )

    def __hash__(self) -> int:
        return hash((self.data.dtype.str, self.data.shape, self.data.tobytes()))


def constant(data: Array) -> Constant:
    """A constant with its own C-ordered copy of `data`; of a file's bytes, which nobody can change,
    a view.
    """
    flags = data.flags
    if flags.c_contiguous and flags.aligned and data.dtype.isnative and _is_of_bytes(data):
        return Constant(data)
    return Constant(np.array(data, order="C", copy=True))


def _is_of_bytes(data: Array) -> bool:
    """Whether the memory is that of a `bytes` object, however many views lie between."""
    owner: object = data
    while isinstance(owner, np.ndarray | memoryview):
        owner = owner.base if isinstance(owner, np.ndarray) else owner.obj
    return isinstance(owner, bytes)
