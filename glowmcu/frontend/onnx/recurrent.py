"""RNN, GRU and LSTM: several steps are one operator with a loop; a single one is fully connected
layers and element-wise operators, which quantize like all others.
"""

from __future__ import annotations

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.onnx.recurrent_activations import activations
from glowmcu.frontend.onnx.recurrent_cells import CELLS, Cell, Emitter
from glowmcu.frontend.onnx.recurrent_loop import emit_loop
from glowmcu.frontend.onnx.recurrent_sizes import RecurrentSizes
from glowmcu.frontend.onnx.recurrent_step import emit_step
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.types import ElementType, Shape

_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}

#: A compilation runs the model some times, and Python's loop takes some 50 microseconds a step.
MAX_STEPS = 1 << 17


@importer("RNN", "GRU", "LSTM")
def import_recurrent(state: Import, op: NodeRecord) -> None:
    """One loop over its time steps. Any direction, layout and activations; lengths of sequences."""
    emitter = Emitter(state, op)
    cell_class = CELLS[op.kind]
    sizes = _sizes(state, op, cell_class)
    functions = activations(op, cell_class.default_activations, sizes.directions)
    emit = emit_step if sizes.steps == 1 else emit_loop
    emit(emitter, sizes, functions)


def _sizes(state: Import, op: NodeRecord, cell: type[Cell]) -> RecurrentSizes:
    """Raises GM105, GM106 for operands that do not fit together."""
    x, w, r = (state.value(op, position) for position in range(3))
    if any(value.type.element is not ElementType.F32 for value in (x, w, r)):
        raise Unsupported("GM105", f"{op.kind}: expected float32, got {x.type}, {w.type}, {r.type}")
    direction = op.text("direction", "forward").lower()
    if direction not in _DIRECTIONS:
        raise Unsupported("GM105", f"{op.kind}: direction {direction!r} is unknown")
    if x.type.rank != 3 or w.type.rank != 3 or r.type.rank != 3:
        raise Unsupported("GM106", f"{op.kind}: x is {x.type}, W is {w.type}, R is {r.type}")
    hidden = r.type.shape[2]
    if op.integer("hidden_size", hidden) != hidden:
        given = op.integer("hidden_size", hidden)
        raise Unsupported("GM106", f"{op.kind}: hidden_size is {given}, but R is {r.type}")
    batch_first = op.flag("layout")
    steps, batch, depth = x.type.shape
    if batch_first:
        steps, batch = batch, steps
    sizes = RecurrentSizes(steps, batch, depth, hidden, _DIRECTIONS[direction], batch_first)
    if not 1 <= steps <= MAX_STEPS:
        raise Unsupported("GM105", f"{op.kind}: {steps} time steps; expected 1 to {MAX_STEPS}")
    _expect_shapes(state, op, sizes, cell)
    return sizes


def _expect_shapes(state: Import, op: NodeRecord, sizes: RecurrentSizes, cell: type[Cell]) -> None:
    rows = cell.gates * sizes.hidden
    expected: dict[int, tuple[str, Shape]] = {
        1: ("W", (sizes.directions, rows, sizes.depth)),
        2: ("R", (sizes.directions, rows, sizes.hidden)),
        3: ("B", (sizes.directions, 2 * rows)),
        4: ("sequence_lens", (sizes.batch,)),
        5: ("initial_h", sizes.state),
    }
    if op.kind == "LSTM":
        expected[6] = ("initial_c", sizes.state)
        expected[7] = ("P", (sizes.directions, 3 * sizes.hidden))
    for position, (name, shape) in expected.items():
        if not state.has(op, position):
            continue
        type_ = state.value(op, position).type
        if type_.shape != shape:
            raise Unsupported(
                "GM106", f"{op.kind}: expected {name} to be {shape}, got {type_.shape}"
            )
        element = ElementType.I32 if name == "sequence_lens" else ElementType.F32
        if type_.element is not element:
            raise Unsupported("GM105", f"{op.kind}: expected {element.value} {name}, got {type_}")
