"""Sample layers of which no model file alone tells: a pipeline's decision, a camera's pixels,
normalizations, loops over steps (quantized by profile those of int8), branches and loops with
layers inside.

`graph(kind, samples)` is one graph of samples side by side, as `calibration_layers.model` makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.tflite.writer_tables import TensorRef
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ops.camera import CameraPixels, PixelFormat
from glowmcu.ops.decide import Decide
from glowmcu.pipeline import float_graph, reference_graph
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.quantizer import quantize_graph
from glowmcu.quant.sample_source import SampleSource
from tests.ops.test_integer_moments import CASES as NORMALIZATIONS
from tests.ops.test_integer_moments import Case as Normalization
from tests.quant.test_recurrent_loops import loud
from tests.support.control_flow_models import (
    add_branches,
    add_loop,
    compared,
    counted_up,
)
from tests.support.recurrent_models import recurrent_sequence, smooth_sequence

#: Rows, classes and those that are never detected.
_DECISIONS = ((1, 2, ()), (3, 12, (0, 1)), (8, 4, ()), (20, 10, (9,)), (33, 35, ()))
_SCORES = {
    ElementType.I8: Quantization((1 / 256,), (-128,)),
    ElementType.UI8: Quantization((1 / 256,), (0,)),
    ElementType.I16: Quantization((1 / 32768,), (0,)),
    ElementType.I32: None,
    ElementType.F32: None,
}
#: Rows and columns of a frame, and how much of it is left out at each side.
_FRAMES = ((4, 6, 1), (48, 40, 0), (20, 96, 2))
#: Units whose sums, of weights that are all alike, do not fit in 32 bits.
_LOUD_UNITS = 520
#: Kind, steps, features, units, batch and attributes.
_SEQUENCES: tuple[tuple[str, int, int, int, int, dict[str, Any]], ...] = (
    ("RNN", 12, 10, 16, 1, {}),
    ("RNN", 3, 40, 33, 2, {"direction": "bidirectional"}),
    ("RNN", 30, 3, 5, 1, {"direction": "reverse"}),
    ("GRU", 10, 13, 20, 1, {}),
    ("GRU", 2, 64, 48, 1, {"linear_before_reset": 1}),
    ("GRU", 9, 6, 7, 1, {"direction": "bidirectional"}),
    ("GRU", 6, 30, 9, 3, {"linear_before_reset": 1, "layout": 1, "direction": "reverse"}),
    ("GRU", 20, 8, 24, 1, {"linear_before_reset": 1}),
    ("GRU", 5, 16, 40, 1, {"lengths": (3,)}),
    ("RNN", 8, 28, 60, 1, {}),
    ("GRU", 2, 5, 2, 1, {"direction": "bidirectional"}),
    ("RNN", 2, 3, _LOUD_UNITS, 1, {}),
)
_LSTM: tuple[tuple[str, int, int, int, int, dict[str, Any]], ...] = (
    ("LSTM", 10, 13, 20, 1, {}),
    ("LSTM", 4, 40, 12, 2, {"direction": "bidirectional"}),
    ("LSTM", 25, 4, 7, 1, {"layout": 1}),
    ("LSTM", 6, 20, 30, 1, {"input_forget": 1}),
    ("RNN", 9, 17, 21, 1, {"activations": ["Relu"]}),
    ("GRU", 7, 11, 15, 1, {
        "activations": ["HardSigmoid", "Softsign"],
        "activation_alpha": [0.3], "activation_beta": [0.4],
    }),
    ("RNN", 6, 10, 14, 1, {"activations": ["Softplus"]}),
    ("RNN", 6, 12, 18, 1, {"activations": ["Elu"], "activation_alpha": [0.5]}),
)  # fmt: skip
#: Layers in a body, and features.
_BODIES = ((2, 6), (3, 32), (2, 120))
#: More than are unrolled.
_TRIPS = 100


def _decision(element: ElementType, rows: int, classes: int, ignored: tuple[int, ...]) -> Graph:
    one = TensorType((1,), ElementType.I32)
    x = Value(TensorType((rows, classes), element, _SCORES[element]), "x")
    wait, detected, waits = (Value(one, name) for name in ("wait", "y", "waits"))
    node = Node(Decide(0.5, 3, ignored), (x, wait), (detected, waits), "decide")
    return Graph("decide", (x, wait), (node,), (detected, waits))


def _pixels(kind: PixelFormat, channels: int, rows: int, columns: int, left_out: int) -> Graph:
    frame = (1, rows + 2 * left_out, columns + 4 * left_out, kind.pixel_bytes)
    op = CameraPixels(kind, left_out, 2 * left_out, (rows, columns), channels)
    x = Value(TensorType(frame, ElementType.UI8), "x")
    image = TensorType((1, rows, columns, channels), ElementType.I8, Quantization((1.0,), (0,)))
    y = Value(image, "y")
    return Graph("camera", (x,), (Node(op, (x,), (y,), "pixels"),), (y,))


def _normalization(case: Normalization) -> Graph:
    x, y = Value(case.signature.inputs[0], "x"), Value(case.signature.output, "y")
    return Graph("normalization", (x,), (Node(case.op, (x,), (y,), "normalize"),), (y,))


def _sequence(
    kind: str, steps: int, features: int, units: int, batch: int, attributes: dict[str, Any]
) -> bytes:
    data = recurrent_sequence(kind, steps, features, units, batch, **attributes)
    return loud(data, "R") if units == _LOUD_UNITS else data


def _real_recurrence(case: tuple[str, int, int, int, int, dict[str, Any]]) -> Graph:
    return reference_graph(_sequence(*case), "m.onnx")


def _integer_recurrence(case: tuple[str, int, int, int, int, dict[str, Any]]) -> Graph:
    _, steps, features, _, batch, attributes = case
    given = float_graph(_sequence(*case), "m.onnx")
    is_first = bool(attributes.get("layout"))
    samples = [smooth_sequence(steps, features, seed, batch, is_first) for seed in range(3)]
    profile = profile_graph(given, SampleSource({"x": np.stack(samples)}).read(given))
    return quantize_graph(given, profile)


def _dense_layers(count: int, features: int, builder: ModelBuilder, x: TensorRef) -> TensorRef:
    """A kernel that several places call is nobody's own code."""
    random = np.random.default_rng(features)
    for number in range(count):
        weights = random.integers(-127, 128, (features, features)).astype(np.int8)
        w = builder.constant(f"w{number}", weights, 0.01, 0)
        bias = random.integers(-400, 400, features).astype(np.int32)
        b = builder.constant(f"b{number}", bias, 0.005, 0)
        y = builder.tensor(f"d{number}", (1, features), "int8", 0.5, 0)
        builder.op("FULLY_CONNECTED", [x, w, b], [y], {"fused_activation_function": "NONE"})
        x = y
    return x


def _branches(count: int, features: int) -> Graph:
    model = ModelBuilder()
    x = model.input("x", (1, features), "int8", 0.5, 0)
    flag = model.input("flag", (1,), "bool")
    y = model.tensor("y", (1, features), "int8", 0.5, 0)
    parts = [lambda b, given: [_dense_layers(count, features, b, given[0])]] * 2
    add_branches(model, flag, [x], [y], parts)
    model.output(y)
    return reference_graph(model.finish(), "m.tflite")


def _loop(count: int, features: int, is_known: bool) -> Graph:
    """Of a number of trips that is known, or that data decide."""
    model = ModelBuilder()
    x = model.input("x", (1, features), "int8", 0.5, 0)
    begin = model.constant("begin", np.array([0], np.int32))
    first = begin if is_known else model.input("first", (1,), "int32")
    last = model.tensor("last", (1,), "int32")
    y = model.tensor("y", (1, features), "int8", 0.5, 0)
    limit = np.array([_TRIPS], np.int32)
    add_loop(
        model, [first, x], [last, y], lambda b, given: [compared(b, "LESS", given[0], limit)],
        lambda b, given: [counted_up(b, given[0]), _dense_layers(count, features, b, given[1])],
    )  # fmt: skip
    model.output(y)
    return reference_graph(model.finish(), "m.tflite")


_MAKERS: Mapping[str, tuple[Callable[[], Graph], ...]] = {
    "decide": tuple(
        partial(_decision, element, *case) for case in _DECISIONS for element in _SCORES
    ),
    "camera_pixels": tuple(
        partial(_pixels, kind, channels, *frame)
        for frame in _FRAMES for kind in PixelFormat for channels in (1, 3)
    ),
    "normalization": tuple(partial(_normalization, case) for case in NORMALIZATIONS.values()),
    "recurrence": tuple(partial(_integer_recurrence, case) for case in _SEQUENCES),
    "float recurrence": tuple(
        partial(_real_recurrence, case) for case in _SEQUENCES + _LSTM if case[3] < _LOUD_UNITS
    ),
    "if": tuple(partial(_branches, *case) for case in _BODIES),
    "loop": tuple(partial(_loop, *case, known) for known in (True, False) for case in _BODIES),
}  # fmt: skip
GRAPH_KINDS = tuple(_MAKERS)


def sample_count(kind: str) -> int:
    """How many samples there are of `kind`."""
    return len(_MAKERS[kind])


@cache
def _sample(kind: str, number: int) -> Graph:
    return _MAKERS[kind][number]()


def graph(kind: str, samples: Sequence[int] | None = None) -> Graph:
    """Samples of one of `GRAPH_KINDS`; the layer of sample `n` ends in a value `y_<n>`."""
    numbers = range(sample_count(kind)) if samples is None else samples
    return side_by_side({number: _sample(kind, number) for number in numbers})


def side_by_side(graphs: Mapping[int, Graph]) -> Graph:
    """One graph of them all; names of values and nodes end in `_<number>`."""
    inputs, nodes, outputs = list[Value](), list[Node](), list[Value]()
    for number, part in graphs.items():
        assert not part.states, "states are at the end"
        known: dict[Value, Value] = {}

        def renamed(
            values: tuple[Value, ...], number: int = number, known: dict[Value, Value] = known
        ) -> tuple[Value, ...]:
            for value in values:
                known.setdefault(value, Value(value.type, f"{value.name}_{number}"))
            return tuple(known[value] for value in values)

        inputs += renamed(part.inputs)
        nodes += [
            replace(
                node, inputs=renamed(node.inputs), outputs=renamed(node.outputs),
                name=f"{node.name}_{number}",
            ) for node in part.nodes
        ]  # fmt: skip
        outputs += renamed(part.outputs)
    return Graph("samples", tuple(inputs), tuple(nodes), tuple(outputs))
