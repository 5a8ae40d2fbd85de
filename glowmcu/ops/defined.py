"""`defined`: an operator that is given by a definition in index notation (`index_notation/`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import ClassVar

import numpy as np

from glowmcu.custom_c import CustomFile, Number
from glowmcu.index_notation import DefinitionError, Plan, plan_of
from glowmcu.index_notation.meaning import results
from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.types import Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.limits import tensor_bytes
from glowmcu.ops.real_functions import RealFunction
from glowmcu.ops.registry import operation
from glowmcu.ops.user_file import UserOperation


@operation("defined")
class Defined(UserOperation):
    """A definition in index notation. Operands and results are float32 or int32."""

    def plan(self, inputs: Sequence[TensorType]) -> Plan:
        """The definition at these shapes. Raises OperationError where it reads outside, or does
        not fit.
        """
        given = tuple((type_.shape, str(type_.element.numpy)) for type_ in inputs)
        return _planned(self.source, self.numbers, given)

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        return self.plan(inputs).outputs

    def inner_shapes(self, signature: Signature) -> tuple[Shape, ...]:
        plan = self.plan(signature.inputs)
        return tuple(plan.shapes[name] for name in plan.temporaries)

    def verify(self, signature: Signature) -> None:
        for type_ in (*signature.inputs, *signature.outputs):
            if type_.quantization is not None:
                raise OperationError(f"expected numbers without a scale, got {type_}")
        wanted = self.source.result_dtypes
        for dtype, type_ in zip(wanted, signature.outputs, strict=True):
            if str(type_.element.numpy) != dtype:
                raise OperationError(f"its result is {dtype}, the model says {type_}")
        for shape in self.inner_shapes(signature):
            if 4 * _count(shape) > tensor_bytes():
                raise OperationError(f"what is temporary has {_count(shape)} elements")

    @property
    def float_reason(self) -> str:
        return "it is defined on real numbers"

    def macs(self, signature: Signature) -> int:
        return self.plan(signature.inputs).products

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return results(self.plan(signature.inputs), inputs)


def _count(shape: Shape) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


@operation("defined_function")
@dataclass(frozen=True)
class DefinedFunction(RealFunction):
    """A definition that is a function of one float32 tensor, element by element. On int8 it is the
    nearest stored value of that, as of all functions of real numbers: a table.
    """

    #: Its C is a loop of its own, not an expression of one element.
    stackable: ClassVar[bool] = False
    kind: str = ""
    file: str = ""
    text: str = ""
    numbers: tuple[Number, ...] = ()

    @property
    def source(self) -> CustomFile:
        """The user's file."""
        return CustomFile(self.file, self.text)

    def plan(self, inputs: Sequence[TensorType]) -> Plan:
        """The definition at this shape. Raises OperationError for another number of axes."""
        given = tuple((type_.shape, "float32") for type_ in inputs)
        return _planned(self.source, self.numbers, given)

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        return self.plan(inputs).outputs

    def _real(self, x: Array) -> Array:
        axes = len(self.source.definition.inputs[0].sizes)
        shape = (*(1,) * (axes - 1), x.size)
        plan = _planned(self.source, self.numbers, ((shape, "float32"),))
        return results(plan, [x.reshape(shape).astype(np.float32)])[0].reshape(x.shape)


@cache
def _planned(
    source: CustomFile, numbers: tuple[Number, ...], given: tuple[tuple[Shape, str], ...]
) -> Plan:
    try:
        return plan_of(source.definition, given, numbers)
    except DefinitionError as cause:
        line = f", line {cause.line}" if cause.line else ""
        raise OperationError(f"{source.name}{line}: {cause}") from cause
