"""Small networks of states as people write them: the newest row first, states handed to others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import glowmcu

pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper

from tests.support.onnx_models import finished

Array = npt.NDArray[Any]
Shapes = Mapping[str, Sequence[int]]


def network(nodes: Sequence[Any], inputs: Shapes, outputs: Shapes, **constants: Array) -> bytes:
    """A file; all inputs and outputs are float32."""
    given, made = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
         for name, shape in shapes.items()]
        for shapes in (inputs, outputs)
    )  # fmt: skip
    data = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    return finished(pytest.importorskip("onnx"), nodes, given, made, data)


def delay_line(new: int, kept: int) -> bytes:
    """A window of new rows in front of older ones, the largest of each column, what is kept."""
    nodes = [
        helper.make_node("Concat", ["x", "delay_in"], ["window"], axis=1),
        helper.make_node("Slice", ["window", "first", "end", "axis"], ["delay_out"]),
        helper.make_node("ReduceMax", ["window"], ["y"], axes=[1]),
    ]
    numbers = {"first": 0, "end": kept, "axis": 1}
    return network(
        nodes,
        {"x": (1, new, 3), "delay_in": (1, kept, 3)},
        {"y": (1, 1, 3), "delay_out": (1, kept, 3)},
        **{name: np.array([number]) for name, number in numbers.items()},
    )


@pytest.mark.parametrize(
    ("board", "on"),
    [("generic", "host"), pytest.param("nrf52", "cortex-m", marks=pytest.mark.arm)],
)
@pytest.mark.parametrize(("new", "kept"), [(1, 2), (1, 4), (2, 3), (3, 4), (4, 4), (5, 3)])
def test_the_newest_row_may_come_first(
    new: int, kept: int, board: str, on: str, tmp_path: Path
) -> None:
    """Rows that stay move down then, over themselves."""
    (tmp_path / "line.onnx").write_bytes(delay_line(new, kept))
    bundle = glowmcu.compile(tmp_path / "line.onnx", board=board, output=tmp_path / "out")
    xs = np.random.default_rng(new).standard_normal((6, 1, new, 3)).astype(np.float32)
    line = np.zeros((1, kept, 3), np.float32)
    for x, measured in zip(xs, bundle.measure_all([[x] for x in xs], on=on), strict=True):
        window = np.concatenate([x, line], axis=1)
        np.testing.assert_array_equal(measured.outputs[0], window.max(axis=1, keepdims=True))
        line = window[:, :kept]


def test_states_that_are_handed_on_are_quantized(tmp_path: Path) -> None:
    """What a state becomes is none of the application's outputs, which have a form of their own."""
    nodes = [
        helper.make_node("Mul", ["c", "half"], ["once"]),
        helper.make_node("Mul", ["c", "half"], ["ha"]),
        helper.make_node("Identity", ["a"], ["hb"]),
        helper.make_node("Identity", ["a"], ["hc"]),
        helper.make_node("Add", ["once", "b"], ["y"]),
    ]
    shape = (1, 3, 4)
    data = network(
        nodes, dict.fromkeys("xabc", shape), dict.fromkeys(("y", "ha", "hb", "hc"), shape),
        half=np.array(0.5, np.float32),
    )  # fmt: skip
    (tmp_path / "m.onnx").write_bytes(data)
    xs = np.random.default_rng(2).uniform(-1, 1, (12, *shape)).astype(np.float32)
    a, b, c = xs[:3]
    bundle = glowmcu.compile(
        tmp_path / "m.onnx", output=tmp_path / "out", samples={"x": xs},
        states={"a": "ha", "b": "hb", "c": "hc"}, bind={"a": a, "b": b, "c": c},
    )  # fmt: skip
    session = bundle.session()
    for x in xs:
        (got,) = session.run([x], real=True)
        np.testing.assert_allclose(got, c * np.float32(0.5) + b, atol=0.05)
        a, b, c = c * np.float32(0.5), a, a


def test_a_state_may_begin_beyond_what_its_function_gives(tmp_path: Path) -> None:
    """A tanh gives no more than 1, in whose scale 2.5 cannot be stored."""
    nodes = [
        helper.make_node("Add", ["x", "h0"], ["y"]),
        helper.make_node("Tanh", ["y"], ["hn"]),
    ]
    shape = (1, 4)
    data = network(nodes, {"x": shape, "h0": shape}, {"y": shape, "hn": shape})
    (tmp_path / "m.onnx").write_bytes(data)
    xs = np.random.default_rng(3).uniform(-1, 1, (12, *shape)).astype(np.float32)
    h = np.array([[2.5, -2.0, 0.5, 1.0]], np.float32)
    bundle = glowmcu.compile(
        tmp_path / "m.onnx", output=tmp_path / "out", samples={"x": xs}, states={"h0": "hn"},
        bind={"h0": h},
    )  # fmt: skip
    session = bundle.session()
    for x in xs:
        np.testing.assert_allclose(session.run([x], real=True)[0], x + h, atol=0.06)
        h = np.tanh(x + h)
