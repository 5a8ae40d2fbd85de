"""Models of one custom operator for signals, as TensorFlow Lite Micro's converter writes them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from flatbuffers import flexbuffers

from glowmcu.compilation import Options
from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.tflite.writer_tables import TensorRef
from glowmcu.ir.interpreter import Session
from glowmcu.pipeline import compile_model
from glowmcu.verify.host import Host
from tests.support.check_model import expect_close, expect_equal, write_bundle
from tests.support.oracle import open_tflm
from tests.support.single_op import Operand, Tensor

Numbers = Mapping[str, int | float]


def flexbuffer(options: Numbers) -> bytes:
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
    code: str, operands: Sequence[Operand], results: Sequence[Tensor], options: Numbers
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


def front_end(samples: int = 48, channels: int = 6) -> bytes:
    """From int16 samples to logarithms of a filter bank, as the micro speech example has it, and
    beside it samples that go to a spectrum and back.
    """
    model, length = ModelBuilder(), 64
    x = model.input("x", (1, samples), "int16")

    def add(
        code: str, inputs: Sequence[TensorRef], *results: Tensor, **options: float
    ) -> list[TensorRef]:
        outs = [model.tensor(f"{code}_{i}", out.shape, out.dtype) for i, out in enumerate(results)]
        model.custom_op(f"Signal{code}", inputs, outs, flexbuffer(options))
        return outs

    def constant(name: str, values: npt.ArrayLike) -> TensorRef:
        return model.constant(name, np.asarray(values, np.int16))

    bins, widths = length // 2 + 1, np.full(channels + 1, 4)
    hann = 4096 * np.sin(np.pi * (np.arange(samples) + 0.5) / samples) ** 2
    (windowed,) = add(
        "Window", [x, constant("hann", hann)], Tensor((1, samples), "int16"), shift=12
    )
    line = model.tensor("line", (samples,), "int16")
    model.op("RESHAPE", [windowed, model.constant("shape", np.array([samples], np.int32))], [line])
    scaled, bits = add("FftAutoScale", [line], Tensor((samples,), "int16"), Tensor((), "int32"))
    (spectrum,) = add("Rfft", [scaled], Tensor((length + 2,), "int16"), T=7, fft_length=length)
    (energies,) = add(
        "Energy", [spectrum], Tensor((bins,), "uint32"), start_index=2, end_index=bins - 1
    )
    rising = np.tile([700, 1700, 2700, 3700], channels + 1)
    tables = [np.arange(channels + 1) * 4 + 2, np.arange(channels + 1) * 4, widths]
    constants = [("rising", rising), ("falling", 4096 - rising), *zip("abc", tables, strict=True)]
    bank = [constant(name, values) for name, values in constants]
    (sums,) = add(
        "FilterBank", [energies, *bank], Tensor((channels,), "uint64"), num_channels=channels
    )
    band = Tensor((channels,), "uint32")
    (root,) = add("FilterBankSquareRoot", [sums, bits], band)
    signal, noise = add(
        "FilterBankSpectralSubtraction", [root], band, band, smoothing=409, clamping=False,
        one_minus_smoothing=15975, alternate_smoothing=983, alternate_one_minus_smoothing=15401,
        min_signal_remaining=819, num_channels=channels, smoothing_bits=10,
        spectral_subtraction_bits=14,
    )  # fmt: skip
    gains = constant("gains", 32000 // (1 + np.arange(125)))
    (gained,) = add("PCAN", [signal, noise, gains], band, snr_shift=6)
    (logs,) = add("FilterBankLog", [gained], Tensor((channels,), "int16"),
                  input_correction_bits=3, output_scale=64)  # fmt: skip
    model.output(logs)
    (back,) = add("Irfft", [spectrum], Tensor((length,), "int16"), T=7, fft_length=length)
    (late,) = add("Delay", [back], Tensor((length,), "int16"), delay_length=5)
    (frames, _) = add(
        "Framer", [late], Tensor((4, 24), "int16"), Tensor((), "bool"),
        frame_size=24, frame_step=16, prefill=True,
    )  # fmt: skip
    (added,) = add("OverlapAdd", [frames], Tensor((64,), "int16"), T=7, frame_step=16)
    model.output(added)
    return model.finish()


def expect_as_tflm(
    data: bytes, sets: Iterable[Sequence[npt.NDArray[Any]]], with_c: bool = True
) -> None:
    """The graph of `data` and its C give what TFLM gives, in every byte, for one of the input sets
    after the other (in C of floats within a tolerance).
    """
    session, inputs = Session(read_tflite(data, "m.tflite")), [list(arrays) for arrays in sets]
    oracle, of_c = open_tflm(data), []
    if with_c:
        with tempfile.TemporaryDirectory() as folder:
            bundle = write_bundle(compile_model(data, "m.tflite", Options("m")), Path(folder))
            of_c = [done.outputs for done in Host(("-O1",)).run(bundle, inputs)]
    for number, arrays in enumerate(inputs):
        got = session.run(arrays)
        for index, want in enumerate(oracle(arrays)):
            expect_equal(got[index], want, f"set {number}, output {index}")
            if with_c:
                is_exact = want.dtype != np.float32
                expect_close(of_c[number][index], want, f"set {number} in C", is_exact)


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
