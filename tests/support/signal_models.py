"""Models of one custom operator for signals, as TensorFlow Lite Micro's converter writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from flatbuffers import flexbuffers

from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.interpreter import run_graph
from tests.support.check_model import expect_equal
from tests.support.oracle import open_tflm
from tests.support.single_op import Operand, Tensor

Options = Mapping[str, int | float]


def flexbuffer(options: Options) -> bytes:
    """A map of numbers; names are sorted, as readers expect."""
    builder = flexbuffers.Builder()
    with builder.Map():
        for name, value in options.items():
            builder.Key(name)
            if isinstance(value, bool):
                builder.Bool(value)
            elif isinstance(value, int):
                builder.Int(value)
            else:
                builder.Float(value)
    return bytes(builder.Finish())


def signal_model(
    code: str, operands: Sequence[Operand], results: Sequence[Tensor], options: Options
) -> bytes:
    """Operands in order: tensors become inputs, arrays constants. Every result is an output.

    Interpreters take and give no unsigned spectra: there is a CAST from or to int32 beside those.
    """
    model, refs = ModelBuilder(), []
    for i, operand in enumerate(operands):
        if isinstance(operand, np.ndarray):
            refs.append(model.constant(f"c{i}", operand))
            continue
        given = "int32" if operand.dtype == "uint32" else operand.dtype
        refs.append(model.input(f"x{i}", operand.shape, given))
        if given != operand.dtype:
            unsigned = model.tensor(f"u{i}", operand.shape, operand.dtype)
            model.op("CAST", refs[-1:], [unsigned])
            refs[-1] = unsigned
    outs = [model.tensor(f"y{i}", out.shape, out.dtype) for i, out in enumerate(results)]
    model.custom_op(code, refs, outs, flexbuffer(options))
    for i, out in enumerate(outs):
        if out.dtype == "uint32":
            signed = model.tensor(f"i{i}", out.shape, "int32")
            model.op("CAST", [out], [signed])
            model.output(signed)
        else:
            model.output(out)
    return model.finish()


def expect_as_tflm(data: bytes, sets: Iterable[Sequence[npt.NDArray[Any]]]) -> None:
    """The graph of `data` gives what TFLM gives, in every byte, for each of the input sets."""
    graph = read_tflite(data, "m.tflite")
    oracle = open_tflm(data)
    for number, inputs in enumerate(sets):
        got = run_graph(graph, list(inputs))
        for index, want in enumerate(oracle(inputs)):
            expect_equal(got[index], want, f"set {number}, output {index}")


def extremes(generator: np.random.Generator, shape: Sequence[int], dtype: str) -> Iterator[Any]:
    """Without end: uniform numbers, quieter ones, least and greatest alone, a single one, none."""
    limits = np.iinfo(dtype)
    while True:
        full = generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
        yield full
        yield full >> int(generator.integers(1, limits.bits))
        yield generator.choice(np.array([limits.min, limits.max], dtype), shape)
        single = np.zeros(shape, dtype)
        single.flat[generator.integers(single.size)] = generator.choice(full.reshape(-1))
        yield single
        yield np.zeros(shape, dtype)
