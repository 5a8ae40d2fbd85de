"""What a model decides is known by its ending, and decisions are compared as they are taken."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.ir.graph import Graph
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.activation import Relu
from glowmcu.ops.copy import Copy
from glowmcu.ops.normalization import LogSoftmax, Softmax
from glowmcu.ops.scan import ArgMax
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice
from glowmcu.ops.transcendental import Logistic, Tanh
from glowmcu.ops.transpose import Transpose
from glowmcu.quant.decisions import Decision, decisions_of, differing
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import RELU, draw, perceptron, real


def ending(*operations: Operation, shape: tuple[int, ...] = (1, 6)) -> Graph:
    graph = GraphBuilder()
    x = graph.input(real(*shape), "x")
    for index, operation in enumerate(operations):
        like = TensorType((), ElementType.I32) if isinstance(operation, ArgMax) else None
        x = graph.add(operation, x, like=like, name=f"n{index}")
    return graph.finish(x)


@pytest.mark.parametrize(
    ("graph", "wanted"),
    [
        (ending(Softmax()), Decision(0, 1)),
        (ending(Softmax(), Reshape((6,))), Decision(0, 0)),
        (ending(Softmax(), Reshape((2, 3))), None),
        (ending(Softmax(), Transpose((0, 3, 1, 2)), shape=(1, 4, 5, 3)), Decision(0, 1)),
        (ending(Softmax(), shape=(1, 1)), None),
        (ending(ArgMax(1)), Decision(0, None)),
        (perceptron((24, 16, 4)), Decision(0, 1)),
        (perceptron((24, 16, 1)), None),
        (perceptron((24, 4, 24)), None),
        (ending(LogSoftmax()), Decision(0, 1)),
        (ending(Logistic()), Decision(0, None, 0.5)),
        (ending(Logistic(), Reshape((2, 3))), Decision(0, None, 0.5)),
        (ending(Softmax(), Reshape((1, 6, 1)), Transpose((2, 0, 1))), None),
        (ending(Softmax(), Reshape((6, 1, 1)), shape=(6, 1)), None),
        (ending(Softmax(), Transpose((1, 0)), Reshape((6,))), None),
        (ending(Softmax(), Transpose((1, 0)), shape=(2, 6)), Decision(0, 0)),
        (
            ending(Softmax(), Transpose((1, 2, 0)), Transpose((1, 0, 2)), shape=(2, 3, 4)),
            Decision(0, 0),
        ),
        (ending(Softmax(), Reshape((2, 1, 3, 4)), shape=(2, 3, 4)), Decision(0, 3)),
        (ending(Softmax(), Reshape((1, 6))), Decision(0, 1)),
        (ending(Softmax(), Copy()), Decision(0, 1)),
        (ending(Slice((0, 1), (1, 4), (1, 1))), Decision(0, 1)),
        (ending(Slice((0, 1), (1, 1), (1, 1))), None),
        (ending(Slice((0, 1), (2, 4), (1, 1)), shape=(2, 6)), None),
        (ending(Slice((0, 0), (1, 4), (1, 1)), Reshape((4,))), None),
        (ending(Slice((0, 1), (1, 4), (1, 1)), Tanh()), None),
        (ending(Slice((0, 1), (1, 4), (1, 1)), Relu(RELU)), None),
        (ending(Reshape((1, 6)), shape=(2, 3)), None),
        (ending(), None),
    ],
    ids=[
        "softmax", "softmax, reshaped", "softmax, cut up", "softmax of channels, turned",
        "softmax of one class", "argmax", "scores", "one number", "its input given back",
        "log softmax", "logistic", "logistic, reshaped", "softmax, the classes' axis split off",
        "softmax of one class, reshaped", "softmax, turned and flattened", "softmax, turned",
        "softmax, turned twice", "softmax, with an axis more", "softmax, reshaped to the same",
        "softmax, copied", "a row", "a row of one", "two rows", "a row without an axis", "tanh",
        "relu", "as many numbers as the input has", "nothing",
    ],
)  # fmt: skip
def test_an_ending_says_what_is_decided(graph: Graph, wanted: Decision | None) -> None:
    assert decisions_of(graph) == (() if wanted is None else (wanted,))


def test_endings_that_say_so_go_before_rows_of_numbers() -> None:
    graph = GraphBuilder()
    x = graph.input(real(1, 6), "x")
    row = graph.add(Slice((0, 1), (1, 4), (1, 1)), x)
    ends = [row, graph.add(Softmax(), row), graph.add(Logistic(), row)]
    found = decisions_of(graph.finish(*ends))
    assert found == (Decision(1, 1), Decision(2, None, 0.5))
    assert decisions_of(graph.finish(row, graph.add(Tanh(), row))) == ()
    assert decisions_of(graph.finish(row, row)) == ()


def test_decisions_are_counted_sample_by_sample() -> None:
    want = draw(0, 5, 1, 3)
    got = want.copy()
    got[2] = -got[2]
    assert differing(Decision(0, 1), want, want + 1) == (0, 5)
    assert differing(Decision(0, 1), want, got) == (1, 5)
    halves = np.array([[[0.2]], [[0.6]]], np.float32)
    assert differing(Decision(0, None, 0.5), halves, halves - 0.2) == (1, 2)


def test_a_score_of_just_the_threshold_decides_against() -> None:
    scores = np.array([np.nextafter(0.5, 0), 0.5, np.nextafter(0.5, 1)])
    assert Decision(0, None, 0.5).taken(scores).tolist() == [False, False, True]


def test_types_of_integers_decide_by_value() -> None:
    classes = np.array([[3], [4]])
    assert TensorType((1,), ElementType.I64).element is not ElementType.F32
    assert differing(Decision(0, None), classes, np.array([[3], [5]])) == (1, 2)
