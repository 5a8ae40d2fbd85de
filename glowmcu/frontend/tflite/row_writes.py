"""A row that a loop writes into a tensor: what TensorFlow's converter makes of TensorListSetItem.

The rows in front of row i, the new row and the rows behind it, put together: slices whose sizes
depend on the trip. As DYNAMIC_UPDATE_SLICE nothing changes its shape, and the loop can be one in C.
Keras' recurrent layers that return sequences are written so.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from glowmcu.frontend.tflite.container import ModelRecord, OperatorRecord
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.lazy_dataclass import dataclass

#: Of the kinds of a write.
_OPERANDS = {"SLICE": 3, "CONCATENATION": 2, "RESHAPE": 2, "ADD": 2}
_WHOLE_NUMBERS = {"INT32": np.int32, "INT64": np.int64}


def with_row_writes(model: ModelRecord) -> ModelRecord:
    """The subgraph with DYNAMIC_UPDATE_SLICE where rows are put together."""
    makers = {output: op for op in model.operators for output in op.outputs}
    rows = _Rows(model, makers)
    found = {op.index: write for op in model.operators if (write := rows.write(op)) is not None}
    if not found:
        return model
    tensors, operators = list(model.tensors), list[OperatorRecord]()
    for op in model.operators:
        write = found.get(op.index)
        if write is None:
            operators.append(op)
            continue
        place = len(tensors)
        tensors.append(replace(
            tensors[write.begin.outputs[0]], index=place, name=f"{tensors[op.outputs[0]].name}/row"
        ))  # fmt: skip
        operators.append(replace(write.begin, inputs=(write.row_index, write.begin.inputs[1]),
                                 outputs=(place,)))  # fmt: skip
        operators.append(
            OperatorRecord(
                op.index,
                "DYNAMIC_UPDATE_SLICE",
                (write.tensor, op.inputs[1], place),
                op.outputs,
                None,
            )
        )
    return _without_unread(
        replace(model, tensors=tuple(tensors), operators=tuple(operators)),
        {used for write in found.values() for used in write.parts},
    )


@dataclass(frozen=True)
class _Write:
    """`begin` puts together where the rows behind begin; `row_index` is i, of shape (1,). `parts`
    are operators that nothing else may need, by number.
    """

    tensor: int
    row_index: int
    begin: OperatorRecord
    parts: tuple[int, ...]


class _Rows:
    """Recognizes a write."""

    def __init__(self, model: ModelRecord, makers: dict[int, OperatorRecord]) -> None:
        self._tensors, self._makers = model.tensors, makers

    def write(self, op: OperatorRecord) -> _Write | None:
        """The parts of a CONCATENATION of rows; None for another."""
        if op.name != "CONCATENATION" or len(op.inputs) != 3 or min(op.inputs) < 0:
            return None
        if not self._joins_rows(op):
            return None
        before, behind = self._made(op.inputs[0], "SLICE"), self._made(op.inputs[2], "SLICE")
        if before is None or behind is None or before.inputs[0] != behind.inputs[0]:
            return None
        tensor, row = self._tensors[before.inputs[0]], self._tensors[op.inputs[1]]
        if (
            row.shape != (1, *tensor.shape[1:])
            or self._tensors[op.outputs[0]].shape != tensor.shape
        ):
            return None
        size, begin = (self._made(i, "CONCATENATION") for i in (before.inputs[2], behind.inputs[1]))
        if size is None or begin is None:
            return None
        is_whole = (
            self._is_all(before.inputs[1], 0) and self._is_all(size.inputs[1], -1)
            and self._is_all(begin.inputs[1], 0) and self._is_all(behind.inputs[2], -1)
        )  # fmt: skip
        if not is_whole or not self._is_next(begin.inputs[0], size.inputs[0]):
            return None
        parts = tuple(part.index for part in (before, behind, size, begin))
        return _Write(tensor.index, size.inputs[0], begin, parts)

    def _joins_rows(self, op: OperatorRecord) -> bool:
        if op.options_table is None:
            return False
        options = op.options(tflite.ConcatenationOptions)
        none = tflite.ActivationFunctionType.NONE
        return bool(options.Axis() == 0 and options.FusedActivationFunction() == none)

    def _made(self, index: int, kind: str) -> OperatorRecord | None:
        """The operator that makes a tensor, if it is of this kind and has its operands."""
        op = self._makers.get(index)
        if op is None or op.name != kind or len(op.inputs) != _OPERANDS[kind]:
            return None
        return op if min(op.inputs) >= 0 else None

    def _is_all(self, index: int, number: int) -> bool:
        """Whether a constant holds this number alone."""
        record = self._tensors[index]
        dtype = _WHOLE_NUMBERS.get(record.type_name)
        if record.data is None or dtype is None or len(record.data) % np.dtype(dtype).itemsize:
            return False
        return bool((np.frombuffer(record.data, dtype) == number).all())

    def _is_next(self, following: int, index: int) -> bool:
        """Whether one is the other and 1, each reshaped to have an axis."""
        one, other = self._made(following, "RESHAPE"), self._made(index, "RESHAPE")
        if one is None or other is None:
            return False
        total = self._made(one.inputs[0], "ADD")
        if total is None or other.inputs[0] not in total.inputs:
            return False
        step = total.inputs[1 - total.inputs.index(other.inputs[0])]
        return self._is_all(step, 1)


def _without_unread(model: ModelRecord, candidates: set[int]) -> ModelRecord:
    """Without those operators, by number, whose results nobody reads any more."""
    operators = list(model.operators)
    while True:
        read = {index for op in operators for index in op.inputs} | {*model.outputs}
        kept = [op for op in operators if op.index not in candidates or read & {*op.outputs}]
        if len(kept) == len(operators):
            return replace(model, operators=tuple(kept))
        operators = kept
