"""CIRCULAR_BUFFER equals TensorFlow Lite Micro, run after run; runs that end early hold results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.interpreter import Session
from glowmcu.pipeline import compile_model
from tests.support.check_model import expect_equal
from tests.support.oracle import open_tflm
from tests.support.signal_models import flexbuffer

Array = np.ndarray[Any, Any]
POINT = -3


def options_of(cycles: int | None) -> bytes:
    return b"" if cycles is None else flexbuffer({"cycles_max": cycles})


def add_buffer(model: ModelBuilder, x: Any, rows: int, tail: Sequence[int], cycles: int | None,
               name: str = "b") -> Any:  # fmt: skip
    out = model.tensor(name, (1, rows, *tail), "int8", 0.5, POINT, is_variable=True)
    model.custom_op("CIRCULAR_BUFFER", [x], [out], options_of(cycles))
    return out


def buffer_model(rows: int, tail: Sequence[int] = (1, 4), cycles: int | None = 1) -> bytes:
    """A buffer, and twice its rows."""
    model = ModelBuilder()
    x = model.input("x", (1, 1, *tail), "int8", 0.5, POINT)
    out = add_buffer(model, x, rows, tail, cycles)
    y = model.tensor("y", (1, rows, *tail), "int8", 0.7, 4)
    model.op("ADD", [out, out], [y])
    model.output(y)
    return model.finish()


def streaming_model(strides: Sequence[int], rows: int = 3, channels: int = 4) -> bytes:
    """A buffer and a convolution over its rows for each stride, one on top of the other, and a
    variable that adds up what comes out.
    """
    generator, model = np.random.default_rng(len(strides)), ModelBuilder()
    x = model.input("x", (1, 1, 1, channels), "int8", 0.5, POINT)
    for level, cycles in enumerate(strides):
        row = add_buffer(model, x, rows, (1, channels), cycles, f"b{level}")
        data = generator.integers(-40, 41, (channels, rows, 1, channels)).astype(np.int8)
        weights = model.constant(f"w{level}", data, 0.02, 0)
        bias = model.constant(f"bias{level}", np.zeros(channels, np.int32))
        x = model.tensor(f"x{level}", (1, 1, 1, channels), "int8", 0.5, POINT)
        strided = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
        dilated = {"dilation_h_factor": 1, "dilation_w_factor": 1}
        model.op("CONV_2D", [row, weights, bias], [x], strided | dilated)
    model.output(x)
    handle = model.tensor("handle", (), "resource")
    model.op("VAR_HANDLE", [], [handle], {"shared_name": "sum"})
    old, new = (model.tensor(n, (1, 1, 1, channels), "int8", 0.5, POINT) for n in ("old", "new"))
    model.op("READ_VARIABLE", [handle], [old])
    model.op("ADD", [old, x], [new])
    model.op("ASSIGN_VARIABLE", [handle, new], [])
    model.output(new)
    return model.finish()


def whole_runs(data: bytes, inputs: Sequence[Array]) -> list[list[Array] | None]:
    """What TFLM gives for a stream; None for the runs that it ends early."""
    from tflite_micro.python.tflite_micro import runtime

    interpreter = runtime.Interpreter.from_bytes(data, arena_size=1 << 20)
    count, found = len(read_tflite(data, "m.tflite").results), []
    for x in inputs:
        interpreter.set_input(x, 0)
        is_whole = interpreter.invoke() == 0
        results = [np.array(interpreter.get_output(i)) for i in range(count)]
        found.append(results if is_whole else None)
    return found


def stream(data: bytes, count: int, seed: int = 0) -> list[Array]:
    shape = read_tflite(data, "m.tflite").arguments[0].type.shape
    generator = np.random.default_rng(seed)
    return [generator.integers(-128, 128, shape).astype(np.int8) for _ in range(count)]


def check_stream(data: bytes, runs: int, folder: Path | None = None, ends: bool = True) -> None:
    """The graph, and with a folder the C: as TFLM where the run goes on, else as before."""
    pytest.importorskip("tflite_micro", reason="pip install --pre tflite-micro")
    inputs, session = stream(data, runs), Session(read_tflite(data, "m.tflite"))
    compiled = None
    if folder is not None:
        (folder / "m.tflite").write_bytes(data)
        compiled = glowmcu.compile(folder / "m.tflite", output=folder / "m").session()
    wanted = whole_runs(data, inputs)
    assert any(want is None for want in wanted) == ends
    for again in range(2):
        last: list[Array] | None = None
        for number, (x, want) in enumerate(zip(inputs, wanted, strict=True)):
            got = session.run([x])
            last = want if want is not None else last
            for index, array in enumerate(got):
                if last is not None:
                    expect_equal(array, last[index], f"stream {again}, run {number}")
                else:
                    assert (array == array.flat[0]).all()  # nothing yet: the zero point
            for array, c in zip(got, compiled.run([x]) if compiled else [], strict=False):
                expect_equal(c, array, f"stream {again}, run {number} in C")
        session.reset()
        if compiled:
            compiled.reset()


@pytest.mark.parametrize("tail", [(1, 4), (2, 3), (1, 1)], ids=str)
@pytest.mark.parametrize("rows", [1, 2, 3, 8])
def test_buffers_hold_the_newest_rows_as_in_tflm(rows: int, tail, tmp_path: Path) -> None:
    data = buffer_model(rows, tail)
    check_stream(data, 20, tmp_path, ends=False)
    session, oracle = Session(read_tflite(data, "m.tflite")), open_tflm(data)
    for x in stream(data, 12, 1):
        expect_equal(session.run([x])[0], oracle([x])[0], "by the other interface")


@pytest.mark.parametrize("cycles", [2, 3, 7])
def test_only_every_so_many_runs_give_something_new(cycles: int, tmp_path: Path) -> None:
    check_stream(buffer_model(3, cycles=cycles), 25, tmp_path)


@pytest.mark.parametrize("strides", [(1, 1), (2, 1), (1, 2), (2, 2), (3, 2, 1), (2, 3, 2)], ids=str)
def test_what_comes_after_a_stride_stands_still_as_in_tflm(strides, tmp_path: Path) -> None:
    check_stream(streaming_model(strides), 40, tmp_path, ends=max(strides) > 1)


@pytest.mark.parametrize("seed", range(20))
def test_random_streams_equal_tflm_in_meaning(seed: int) -> None:
    generator = np.random.default_rng([9, seed])
    strides = [int(n) for n in generator.integers(1, 4, generator.integers(1, 4))]
    rows, channels = (int(n) for n in generator.integers(1, 6, 2))
    data = streaming_model(strides, rows, channels)
    check_stream(data, 50, ends=max(strides) > 1)


@pytest.mark.parametrize("strides", [(2, 1), (1, 2), (2, 3, 1)], ids=str)
def test_queues_that_change_before_what_shows_them_is_read_are_copied(
    strides: Sequence[int], tmp_path: Path
) -> None:
    """An order that was best for copies of queues made them queues in place afterwards."""
    check_stream(streaming_model(strides, 8, 40), 20, tmp_path)


def test_a_buffer_may_be_an_output(tmp_path: Path) -> None:
    model = ModelBuilder()
    x = model.input("x", (1, 1, 1, 4), "int8", 0.5, POINT)
    model.output(add_buffer(model, x, 3, (1, 4), 1))
    data = model.finish()
    check_stream(data, 10, tmp_path, ends=False)
    assert read_tflite(data, "m.tflite").results[0].name == "b"


@pytest.mark.parametrize("cycles", [0, -1, None])
@pytest.mark.parametrize("rows", [5, 13, 25, 4])
def test_unsaid_cycles_are_guessed_as_in_tflm(rows: int, cycles: int | None) -> None:
    check_stream(buffer_model(rows, cycles=cycles), 9, ends=rows == 4)


def guessed(levels: int, depth: int) -> list[int]:
    """Cycles of buffers that do not say theirs."""
    model = ModelBuilder()
    x = model.input("x", (1, 1, 2, depth), "int8", 0.5, POINT)
    for level in range(levels):
        model.output(add_buffer(model, x, 3, (2, depth), None, f"b{level}"))
    graph = read_tflite(model.finish(), "m.tflite")
    counts = {s.value.name: int(s.initial) for s in graph.states if not s.value.type.shape}
    return [counts.get(f"b{level}/cycles", 1) for level in range(levels)]


def test_the_fifth_buffer_of_the_models_that_tflm_was_made_for_is_the_last() -> None:
    assert guessed(7, 96) == [2, 2, 2, 2, 1, 2, 2]
    assert guessed(6, 95) == [2] * 6


def refused(**changes: Any) -> bytes:
    given = {
        "x": ((1, 1, 1, 4), "int8", 0.5, POINT), "out": ((1, 3, 1, 4), "int8", 0.5, POINT),
        "is_variable": True, "options": options_of(1),
    } | changes  # fmt: skip
    model = ModelBuilder()
    x = model.input("x", *given["x"])
    out = model.tensor("b", *given["out"], is_variable=given["is_variable"])
    model.custom_op("CIRCULAR_BUFFER", [x], [out], given["options"])
    model.output(out)
    return model.finish()


REFUSED = {
    "no variable": (refused(is_variable=False), "GM105", "is no variable tensor"),
    "batch of two": (
        refused(x=((2, 1, 1, 4), "int8", 0.5, POINT), out=((2, 3, 1, 4), "int8", 0.5, POINT)),
        "GM106", "expected int8 of shape"),
    "two rows at once": (refused(x=((1, 2, 1, 4), "int8", 0.5, POINT)), "GM106", "expected int8"),
    "depths differ": (refused(x=((1, 1, 1, 5), "int8", 0.5, POINT)), "GM106", "expected int8"),
    "rank 3": (
        refused(x=((1, 1, 4), "int8", 0.5, POINT), out=((1, 3, 4), "int8", 0.5, POINT)),
        "GM106", "expected int8"),
    "no rows": (refused(out=((1, 0, 1, 4), "int8", 0.5, POINT)), "GM106", "expected int8"),
    "scales differ": (refused(x=((1, 1, 1, 4), "int8", 0.25, POINT)), "GM106", "one scale"),
    "int16": (
        refused(x=((1, 1, 1, 4), "int16", 0.5, 0), out=((1, 3, 1, 4), "int16", 0.5, 0)),
        "GM106", "expected int8"),
    "another option": (refused(options=flexbuffer({"cycles": 1})), "GM128", "expected cycles_max"),
    "half a cycle": (refused(options=flexbuffer({"cycles_max": 1.5})), "GM128", "not a whole"),
    "beyond int32": (refused(options=flexbuffer({"cycles_max": 2**31})), "GM128", "beyond int32"),
    "damaged options": (refused(options=b"\x07\x00\x01"), "GM101", "is damaged"),
    "too large": (refused(out=((1, 2**30, 1, 4), "int8", 0.5, POINT)), "GM114", "are allowed"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "code", "said"), REFUSED.values(), ids=REFUSED)
def test_buffers_that_cannot_be_meant_are_refused(data: bytes, code: str, said: str) -> None:
    with pytest.raises(GlowmcuError, match=said) as caught:
        compile_model(data, "m.tflite", Options("m"))
    assert caught.value.problems[0].code == code
