"""Operators on uint8, as old quantized files have them: LiteRT's reference kernels, to the byte.

TensorFlow Lite Micro reads and writes uint8 at the border alone, so it is no oracle here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import glowmcu
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.types import ElementType
from glowmcu.ops.convolution import Conv2D
from glowmcu.pipeline import reference_graph
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference

_S = (1, 8, 8, 4)
_GENERATOR = np.random.default_rng(0)
_FILTER = _GENERATOR.integers(0, 256, (8, 3, 3, 4)).astype(np.uint8)
_RELU = {"fused_activation_function": "RELU"}
_POOL = {"filter_height": 3, "filter_width": 3, "stride_h": 1, "stride_w": 1, "padding": "VALID"}
_CONV = {"stride_h": 1, "stride_w": 1, "padding": "VALID"}
_FIRST, _SECOND = (0.04, 131), (0.03, 90)
_Constant = tuple[npt.NDArray[Any], float | None, int]


@dataclass(frozen=True)
class Case:
    """`out` is the result's shape, scale and zero point."""

    kind: str
    out: tuple[tuple[int, ...], float, int] = (_S, 0.05, 117)
    options: dict[str, Any] = field(default_factory=dict)
    shapes: Sequence[tuple[int, ...]] = (_S,)
    constants: Sequence[_Constant] = ()
    second: tuple[float, int] = _SECOND


def _vector(*numbers: int) -> _Constant:
    return (np.array(numbers, np.int32), None, 0)


def _bias(count: int) -> _Constant:
    return (_GENERATOR.integers(-900, 900, count).astype(np.int32), 0.04 * 0.02, 0)


CASES = {
    "logistic": Case("LOGISTIC", (_S, 1 / 256, 0)),
    "tanh": Case("TANH", (_S, 1 / 128, 128)),
    "softmax": Case("SOFTMAX", ((8, 8), 1 / 256, 0), {"beta": 1.0}, [(8, 8)]),
    "relu": Case("RELU"),
    "relu6": Case("RELU6"),
    "leaky relu": Case("LEAKY_RELU", options={"alpha": 0.1}),
    "hard swish": Case("HARD_SWISH"),
    "add": Case("ADD", options=_RELU, shapes=[_S, _S]),
    "sub": Case("SUB", options=_RELU, shapes=[_S, _S]),
    "mul": Case("MUL", options=_RELU, shapes=[_S, _S]),
    "maximum": Case("MAXIMUM", (_S, *_FIRST), shapes=[_S, _S], second=_FIRST),
    "average pool": Case("AVERAGE_POOL_2D", ((1, 6, 6, 4), *_FIRST), {**_POOL, **_RELU}),
    "max pool": Case("MAX_POOL_2D", ((1, 6, 6, 4), *_FIRST), {**_POOL, **_RELU}),
    "mean": Case("MEAN", ((1, 4), 0.05, 117), {"keep_dims": False}, constants=[_vector(1, 2)]),
    "sum": Case("SUM", ((1, 4), 2.0, 117), {"keep_dims": False}, constants=[_vector(1, 2)]),
    "convolution": Case("CONV_2D", ((1, 6, 6, 8), 0.3, 117), {**_CONV, **_RELU},
                        constants=[(_FILTER, 0.02, 128), _bias(8)]),
    "concatenation": Case("CONCATENATION", ((1, 8, 8, 8), *_FIRST), {"axis": 3}, [_S, _S],
                          second=_FIRST),
    "concatenation of other scales": Case("CONCATENATION", ((1, 8, 8, 8), 0.037, 101), {"axis": 3},
                                          [_S, _S]),
    "quantize": Case("QUANTIZE"),
}  # fmt: skip


def _model(case: Case) -> bytes:
    model = ModelBuilder()
    quantizations = (_FIRST, case.second)
    operands = [
        model.input(f"x{i}", shape, "uint8", *quantizations[i])
        for i, shape in enumerate(case.shapes)
    ]
    operands += [model.constant(f"c{i}", *given) for i, given in enumerate(case.constants)]
    shape, scale, point = case.out
    y = model.tensor("y", shape, "uint8", scale, point)
    model.op(case.kind, operands, [y], case.options)
    model.output(y)
    return model.finish()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_operators_on_uint8_equal_litert(case: Case) -> None:
    generator = np.random.default_rng(6)
    inputs = [
        [generator.integers(0, 256, shape).astype(np.uint8) for shape in case.shapes]
        for _ in range(3)
    ]
    check_model(_model(case), inputs, oracle=run_litert_reference)


def test_layers_on_uint8_meet_in_int8() -> None:
    """Nothing is left between two of them."""
    model = ModelBuilder()
    x = model.input("x", (1, 8), "uint8", *_FIRST)
    y = model.tensor("y", (1, 8), "uint8", 1 / 128, 128)
    z = model.tensor("z", (1, 8), "uint8", 0.01, 100)
    model.op("TANH", [x], [y])
    model.op("RELU", [y], [z])
    model.output(z)
    compilation = check_model(model.finish(), oracle=run_litert_reference)
    kinds = [run.node.op.name for run in compilation.plan.program.runs]
    assert kinds.count("requantize") <= 2, kinds


@pytest.mark.parametrize(("kernel", "padding"), [(2, "VALID"), (4, "VALID"), (3, "SAME")])
def test_means_that_are_halves_go_up(kernel: int, padding: str) -> None:
    """In int8 they go away from zero, which is downwards for half of the bytes."""
    size = 9 if padding == "SAME" else 10 - kernel
    options = {"filter_height": kernel, "filter_width": kernel, "stride_h": 1, "stride_w": 1}
    case = Case(
        "AVERAGE_POOL_2D", ((1, size, size, 4), *_FIRST),
        options | {"padding": padding, **_RELU}, [(1, 9, 9, 4)],
    )  # fmt: skip
    compilation = check_model(_model(case), oracle=run_litert_reference, count=6)
    assert "average_pool_2d" in [node.op.name for node in compilation.graph.nodes]


def test_means_of_odd_counts_are_those_of_int8() -> None:
    graph = reference_graph(_model(CASES["average pool"]), "m.tflite")
    (pool,) = (node for node in graph.nodes if node.op.name == "average_pool_2d")
    assert pool.output.type.element is ElementType.I8


def test_an_export_says_where_it_rounds_a_scale(tmp_path: Path) -> None:
    """Products of scales in float32 need not be those of any float32 scale."""
    for scale, is_said in ((0.0371, True), (2**-5, False)):
        model = ModelBuilder()
        x = model.input("x", _S, "uint8", 0.013, 131)
        w = model.constant("w", _FILTER, scale, 128)
        y = model.tensor("y", (1, 6, 6, 8), "uint8", 0.3, 117)
        model.op("CONV_2D", [x, w, model.constant("b", *_bias(8))], [y], _CONV)
        model.output(y)
        (tmp_path / "m.tflite").write_bytes(model.finish())
        made = glowmcu.export(tmp_path / "m.tflite", tmp_path / "out.tflite")
        assert any("no float32" in note for note in made.notes) is is_said
        graphs = [reference_graph(path.read_bytes(), path.name)
                  for path in (tmp_path / "m.tflite", made.path)]  # fmt: skip
        multipliers = {
            node.op.requantization(node.signature).multipliers.tobytes()
            for graph in graphs for node in graph.nodes if isinstance(node.op, Conv2D)
        }  # fmt: skip
        assert len(multipliers) == 1 + is_said
