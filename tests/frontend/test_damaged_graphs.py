"""What passes over graphs of ONNX files take for theirs, and that they change no number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from glowmcu.frontend.onnx.biases import fold_biases
from glowmcu.frontend.onnx.joined_trees import join_trees
from glowmcu.frontend.onnx.leaf_functions import fold_leaf_functions
from glowmcu.frontend.onnx.products_of_columns import join_products_of_columns
from glowmcu.frontend.onnx.sums_of_columns import join_sums_of_columns
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.types import ElementType
from glowmcu.ops.activation import Neg
from glowmcu.ops.cast import Cast
from glowmcu.ops.comparison import Equal, Greater, Less, Select
from glowmcu.ops.elementwise import Add, Maximum, Mul, Sub
from glowmcu.ops.gather import Gather
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.reduction import ReduceProd
from glowmcu.ops.scan import ArgMax
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice
from glowmcu.ops.transcendental import Log
from glowmcu.ops.trees import TreeEnsemble
from tests.frontend.graph_damage import Made, Pass, report

F, I32, I64, BOOL = ElementType.F32, ElementType.I32, ElementType.I64, ElementType.BOOL
ROWS = 3


def tree(
    made: Made, x: Value, feature: int, *rows: tuple[float, ...], dtype: str = "float32"
) -> Value:
    """A tree of three leaves, each with numbers of its own."""

    def indices(*numbers: int) -> Any:
        return np.array(numbers, np.int32)

    targets = len(rows[0])
    op = TreeEnsemble(
        targets, indices(0), indices(feature, -1, 1 - feature, -1, -1),
        np.array([0, 0, 1, 0, 0], np.float32), np.zeros(5, np.bool_), indices(1, 0, 3, 1, 2),
        indices(2, 0, 4, 0, 0), indices(*(targets * n for n in range(4))),
        indices(*[*range(targets)] * 3), np.array(rows, dtype).reshape(-1),
    )  # fmt: skip
    return made.op(op, x, element=F if dtype == "float32" else I32)


def depths() -> Graph:
    """Numbers of leaves are looked up, and functions of them summed: an isolation forest."""
    made = Made()
    x, total = made.input(ROWS, 2), None
    for feature in (0, 1):
        leaf = made.op(Cast(), tree(made, x, feature, (1,), (3,), (4,)), element=I32)
        index = made.op(Reshape((ROWS,)), leaf)
        table = made.number([9, 4, 9, 1, 2])
        samples = made.op(Reshape((ROWS, 1)), made.op(Gather(0), table, index))
        many = made.op(Cast(), made.op(Greater(), samples, made.number([2]), element=BOOL),
                       element=F)  # fmt: skip
        log = made.op(Log(), made.op(Maximum(), samples, made.number([1])))
        depth = made.op(Mul(), log, many)
        total = depth if total is None else made.op(Add(), total, depth)
    assert total is not None
    return made.done(made.op(Neg(), total))


def votes() -> Graph:
    """For the class that a tree finds, of features in another order."""
    made = Made()
    x, total = made.input(ROWS, 3), None
    turned = made.op(Gather(1), x, made.number([1, 0, 1], "int32"))
    for weight in (0.5, 2.0):
        scores = tree(made, turned, 1, (0.25, 0.5), (0.5, 0.0), (0.125, 0.75))
        best = made.op(Reshape((ROWS, 1)), made.op(ArgMax(1), scores, element=I32))
        is_best = made.op(Equal(), best, made.number([[0, 1]], "int32"), element=BOOL)
        vote = made.op(Select(), is_best, made.number([[1]]), made.number([[-0.5]]), element=F)
        vote = made.op(Mul(), vote, made.number([weight]))
        total = vote if total is None else made.op(Add(), total, vote)
    assert total is not None
    return made.done(made.op(Neg(), total))


def numbers_and_flags() -> Graph:
    """What is computed of a leaf may be integers, or flags."""
    made = Made()
    x = made.input(ROWS, 2)
    index = made.op(Cast(), tree(made, x, 0, (1,), (3,), (4,)), element=I64)
    above = made.op(
        Greater(), tree(made, x, 1, (1.5,), (-2,), (4,)), made.number([1.75]), element=BOOL
    )
    pair = tree(made, x, 0, (1, 0), (0, 1), (2, 2), dtype="int32")
    both = made.op(Concatenation(1), pair, pair)
    return made.done(made.op(Add(), index, made.number([7], "int64")), above, both)


def forests_side_by_side() -> Graph:
    made = Made()
    x = made.input(ROWS, 2)
    forests = [
        tree(made, x, 0, (1,), (3,), (4,)), tree(made, x, 1, (1, 0), (0, 2), (2, 2)),
        tree(made, x, 1, (-1,), (2,), (5,)),
    ]  # fmt: skip
    return made.done(made.op(Concatenation(1), *forests))


def forests_of_one_target() -> Graph:
    """One behind the other they would be rows of another table."""
    made = Made()
    x = made.input(ROWS, 2)
    return made.done(
        made.op(Concatenation(1), *(tree(made, x, 0, (k,), (3,), (4,)) for k in range(3)))
    )


def forests_of_one_row() -> Graph:
    made = Made()
    x = made.input(1, 2)
    forests = [
        made.op(Reshape((1, 1, 1)), tree(made, x, feature, (1,), (feature,), (4,)))
        for feature in (0, 1, 0)
    ]
    return made.done(made.op(Concatenation(0), *forests))


def column(made: Made, table: Value, place: int, is_slice: bool = False) -> Value:
    if is_slice:
        return made.op(Slice((0, place), (table.type.shape[0], 1), (1, 1)), table)
    return made.op(Gather(1), table, made.number([place], "int32"))


def sums() -> Graph:
    """Each is of three columns with signs."""
    made = Made()
    x, parts = made.input(2, 4), []
    for k in range(3):
        columns = [column(made, x, (k + step) % 4, step == 1) for step in range(3)]
        first = made.op(Neg(), columns[0]) if k else columns[0]
        total = made.op(Sub() if k == 1 else Add(), first, columns[1])
        parts.append(made.op(Add(), total, columns[2]))
    return made.done(made.op(Concatenation(1), *parts))


def sums_of_flags() -> Graph:
    """And of a number, which may be added last."""
    made = Made()
    x, parts = made.input(2, 4), []
    flags = made.op(Cast(), made.op(Less(), x, made.number([0]), element=BOOL), element=F)
    for k in range(3):
        left = made.op(Add(), made.op(Neg(), column(made, flags, k)), made.number(1))
        parts.append(made.op(Sub(), left, column(made, flags, 3)))
    return made.done(made.op(Concatenation(1), *parts))


def products() -> Graph:
    """Of none to three columns of integers, of which real numbers are made."""
    made = Made()
    x = made.input(2, 4, element=I32)
    parts = [made.number([[1], [1]]), made.op(Cast(), column(made, x, 2), element=F)]
    for places in ([0, 3], [1, 1, 2]):
        taken = made.op(Gather(1), x, made.number(places, "int32"))
        parts.append(made.op(ReduceProd((1,), True), made.op(Cast(), taken, element=F)))
    taken = made.op(Cast(), made.op(Slice((0, 0), (2, 2), (1, 2)), x), element=F)
    parts.append(made.op(ReduceProd((1,), True), taken))
    return made.done(made.op(Concatenation(1), *parts))


def products_of_as_many() -> Graph:
    made = Made()
    x = made.input(2, 4)
    taken = [made.op(Gather(1), x, made.number([k, 3], "int32")) for k in range(3)]
    parts = [made.op(ReduceProd((1,), True), each) for each in taken]
    return made.done(made.op(Concatenation(1), *parts))


def a_bias() -> Graph:
    made = Made()
    x, weights = made.input(2, 4), made.number(np.arange(12).reshape(3, 4) % 5 - 2)
    product = made.op(FullyConnected(), x, weights, made.number([0, 0, 0]))
    row = made.number([[1, -2, 0.5]])
    return made.done(made.op(Neg(), made.op(Add((0.0, 9.0)), product, row)))


def a_bias_in_front() -> Graph:
    made = Made()
    x, weights = made.input(2, 5, 2), made.number([[1, 2], [3, 4]])
    product = made.op(FullyConnected(), x, weights, made.number([0, 0]))
    return made.done(made.op(Add(), made.number([1, -2]), product))


GRAPHS: dict[str, tuple[Pass, Callable[[], Graph]]] = {
    function.__name__: (fold, function)
    for fold, functions in (
        (fold_leaf_functions, (depths, votes, numbers_and_flags)),
        (join_trees, (forests_side_by_side, forests_of_one_target, forests_of_one_row)),
        (join_sums_of_columns, (sums, sums_of_flags)),
        (join_products_of_columns, (products, products_of_as_many)),
        (fold_biases, (a_bias, a_bias_in_front)),
    )
    for function in functions
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("fold", "made"), GRAPHS.values(), ids=GRAPHS)
def test_each_damage_of_a_graph_has_its_verdict(
    fold: Pass, made: Callable[[], Graph], golden: Callable[[str, str], None]
) -> None:
    """Numbers stay what they are whatever is made of it; NumPy adds three in another order."""
    is_exact = fold not in (fold_biases, join_sums_of_columns)
    golden(f"graphs/onnx/{made.__name__}.txt", report(made.__name__, made(), fold, is_exact))
