"""NON_MAX_SUPPRESSION_V4 and _V5: numbers of the boxes that stay, and how many they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.frontend.boxes import halves, in_order, suppression
from glowmcu.frontend.tflite.axes import integer_list
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.comparison import GreaterEqual, Select
from glowmcu.ops.elementwise import Maximum
from glowmcu.ops.gather import Gather
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice

_SIGMA = 5


@importer("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5")
def import_non_max_suppression(state: Import, op: OperatorRecord) -> None:
    """How many stay at most and thresholds must be constant; V5 gives scores, too. Zeros are behind
    the last one. Scores that overlaps reduce (a sigma other than 0) are refused. A box without an
    area stays once, where LiteRT repeats it.
    """
    boxes, scores = state.value(op, 0), state.value(op, 1)
    most = integer_list(state, op, 2, "how many boxes stay")
    overlap, least = (_number(state, op, place) for place in (3, 4))
    if op.name == "NON_MAX_SUPPRESSION_V5" and _number(state, op, _SIGMA) != 0.0:
        raise Unsupported("GM105", f"{op.name} with a sigma other than 0 is not supported")
    if boxes.type.shape[1:] != (4,) or scores.type.rank != 1 or len(most) != 1:
        raise Unsupported("GM106", f"{op.name}: boxes {boxes.type}, scores {scores.type}")
    shapes = (1, *boxes.type.shape), (1, 1, *scores.type.shape)

    def add(operation: Operation, values: Sequence[Value], like: TensorType | None = None) -> Value:
        return state.emit_inner(op, operation, values, like or values[0].type)

    corners = halves(add, add(Reshape(shapes[0]), [boxes]))
    given = [in_order(add, *corners), add(Reshape(shapes[1]), [scores])]
    whole = TensorType((), ElementType.I32)
    operation = suppression(most[0], least, overlap, overlap_stays=False)
    rows, count = state.emit_all(op, operation, given, [whole, whole])
    numbers = add(Reshape((most[0],)), [add(Slice((0, 2), (most[0], 1), (1, 1)), [rows])])
    zero = state.add_constant(np.zeros((), np.int32), "zero")
    found = [add(Maximum(), [numbers, zero])]
    if op.name == "NON_MAX_SUPPRESSION_V5":
        chosen = add(Gather(0), [scores, found[0]])
        stays = add(GreaterEqual(), [numbers, zero], TensorType((), ElementType.BOOL))
        nothing = state.add_constant(np.zeros((), np.float32), "nothing")
        found.append(add(Select(), [stays, chosen, nothing], scores.type))
    found.append(add(Reshape(()), [count]))
    # Converters declare other shapes than LiteRT makes of them.
    declared = [state.output_type(op, place).element for place in range(len(op.outputs))]
    if declared != [value.type.element for value in found]:
        raise Unsupported("GM106", f"{op.name} has results of {[item.value for item in declared]}")
    for place, value in enumerate(found):
        state.set_value(op, value, place)


def _number(state: Import, op: OperatorRecord, position: int) -> float:
    data = state.constant(op, position, "its thresholds")
    if data.size != 1:
        raise Unsupported("GM106", f"{op.name}: operand {position} is {data.size} numbers")
    return float(data.reshape(-1)[0])
