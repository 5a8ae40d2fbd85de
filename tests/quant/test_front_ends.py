"""Front ends of float models become integers: as exporters write them, near the float model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from glowmcu.api.pipeline_files import read_pipeline
from glowmcu.compilation import Compilation, Options
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import Session, run_graph
from glowmcu.ir.operation import Array, Constant
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.multirate.compilation import compile_pipeline
from glowmcu.ops.spectrogram import Spectrogram
from glowmcu.pipeline import compile_model, float_graph
from glowmcu.quant.options import Interface, QuantizationOptions
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.quantizer import Quantized, quantize
from glowmcu.quant.request import QuantizationRequest
from glowmcu.quant.samples import samples_of
from glowmcu.quant.schemas import quantize_array
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.host import Host
from tests.support.check_model import expect_equal, write_bundle
from tests.support.front_ends import FrontEnd, front_end, hann, mel_bank, sounds

BANK = mel_bank(257, 40)


def given(graph: Graph, factor: float = 1.0) -> list[Array]:
    """Sounds that fill the graph's input, as a converter of 16 bits hears them."""
    shape = graph.arguments[0].type.shape
    heard = [np.rint(x * 2**15) / 2**15 for x in sounds(int(np.prod(shape)))]
    return [np.asarray(factor * x.reshape(shape), np.float32) for x in heard]


def quantized(
    data: bytes, options: QuantizationOptions | None = None, factor: float = 1.0
) -> tuple[Graph, Quantized]:
    graph = float_graph(data, "m.onnx")
    profile = profile_graph(graph, samples_of(graph, given(graph, factor)))
    return graph, quantize(graph, profile, options)


def names(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes if not isinstance(node.op, Constant)]


def spectrogram(graph: Graph) -> Spectrogram:
    (op,) = (node.op for node in graph.nodes if isinstance(node.op, Spectrogram))
    return op


def as_stored(x: Array, type_: TensorType) -> Array:
    return x if type_.quantization is None else quantize_array(x, type_.quantization, type_.element)


def as_real(x: Array, type_: TensorType) -> Array:
    if type_.quantization is None:
        return x
    return np.asarray((x.astype(np.float64) - type_.zero_point) * type_.scale)


def ratios_db(graph: Graph, made: Graph, factor: float = 1.0) -> list[float]:
    """Signal to error of each sound, then of all together."""
    powers = []
    for x in given(graph, factor):
        stored = as_stored(x, made.arguments[0].type)
        (want,) = run_graph(graph, [as_real(stored, made.arguments[0].type).astype(np.float32)])
        got = as_real(run_graph(made, [stored])[0], made.outputs[0].type)
        powers.append([np.square(each, dtype=np.float64).sum() for each in (want, want - got)])
    powers.append([sum(each) for each in zip(*powers, strict=True)])
    return [float(10 * np.log10(signal / error)) for signal, error in powers]


def network(data: FrontEnd) -> FrontEnd:
    """Two convolutions and a classifier behind `[1, channels, frames]`."""
    generator = np.random.default_rng(7)

    def drawn(*shape: int) -> Array:
        return generator.normal(0, 1.5 / np.sqrt(np.prod(shape[1:])), shape).astype(np.float32)

    data.add("Unsqueeze", np.array([1])).add("Conv", drawn(8, 1, 3, 3), strides=[2, 2])
    data.add("Relu").add("Conv", drawn(16, 8, 3, 3), strides=[2, 2]).add("Relu")
    data.add("GlobalAveragePool").add("Flatten")
    return data.add("Gemm", drawn(6, 16), drawn(6), transB=1)


def whisper() -> FrontEnd:
    """The last frame is dropped, the bank stands to the left, the loudest bin sets the floor."""
    made = FrontEnd().centred(200).stft(hann(400), 160)
    made.add("Transpose", perm=[0, 2, 1, 3])
    made.add("Slice", np.array([0]), np.array([-1]), np.array([2]))
    made.add("ReduceL2", np.array([-1]), keepdims=0).add("Pow", np.float32(2))
    made.add("MatMul", np.ascontiguousarray(mel_bank(201, 80).T), before=True)
    made.decibels(80.0)
    return made.add("Add", np.float32(40)).add("Div", np.float32(40))


def old_exporter() -> FrontEnd:
    """A signal without an axis of its own for real numbers."""
    made = FrontEnd(samples=3200)
    made.add("STFT", np.array(160), hann(400).astype(np.float32), np.array(400), onesided=1)
    return made.power_of_pairs().mel(mel_bank(201, 40)).logarithm()


#: Models, and the least signal to error in int8 of each sound, in dB.
LOGARITHMS = {
    "torch.export, natural logarithms": front_end(),
    "reflected, decibels": (
        FrontEnd().centred(256).stft(hann(512), 160).power_of_complex().mel(BANK).decibels()
    ),
    "padded with zeros, pairs, decibels below the loudest": (
        FrontEnd().centred(256, "constant").stft(hann(512), 160).power_of_pairs().mel(BANK)
        .decibels(80.0)
    ),
    "a signal without axes, 400 samples": old_exporter(),
    "re and im apart, frames first": (
        FrontEnd().stft(np.hamming(480), 320, 512).power_of_parts().add("MatMul", BANK).logarithm()
    ),
    "a bank on the left, less the last frame": whisper(),
    "without a bank": FrontEnd().stft(hann(512), 256).power_of_complex().decibels(),
    "magnitudes": (
        FrontEnd().stft(hann(512), 256).power_of_complex().add("Sqrt").mel(BANK)
        .add("Clip", np.float32(1e-5)).add("Log")
    ),
    "scaled and normalized": (
        FrontEnd().add("Mul", np.float32(0.5)).stft(hann(512), 256).power_of_pairs()
        .add("Div", np.float32(190.0)).mel(BANK).logarithm(1e-8).add("Sub", np.float32(-7.0))
        .add("Div", np.float32(4.0))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LOGARITHMS)
def test_logarithms_are_integers_from_raw_samples_on(name: str) -> None:
    graph, made = quantized(LOGARITHMS[name].model())
    assert made.float_nodes == {}
    assert spectrogram(made.graph).is_logarithm
    x = made.graph.arguments[0].type
    assert (x.element, x.scale, x.zero_point) == (ElementType.I16, 2.0**-15, 0)
    assert not {"signal_rfft", "log", "square", "slice"} & set(names(made.graph))
    assert min(ratios_db(graph, made.graph)) > 30


@pytest.mark.parametrize("name", LOGARITHMS)
def test_in_int16_they_are_nearly_the_float_model_s(name: str) -> None:
    options = QuantizationOptions(int16=("all",), interface=Interface.FLOAT)
    graph, made = quantized(LOGARITHMS[name].model(), options)
    assert min(ratios_db(graph, made.graph)) > 45


def test_a_network_behind_a_front_end_is_near_the_float_one() -> None:
    graph, made = quantized(network(front_end(8000)).model())
    assert made.float_nodes == {}
    # Of loud noise these weights make next to nothing.
    *ratios, of_all = ratios_db(graph, made.graph)
    assert of_all > 35
    assert min(ratios) > 20


def test_cosines_behind_logarithms_are_a_layer() -> None:
    cosines = np.cos(np.pi / 40 * (np.arange(40)[:, np.newaxis] + 0.5) * np.arange(13))
    made = FrontEnd().centred(256).stft(hann(512), 160).power_of_complex().mel(BANK).decibels()
    made.add("Transpose", perm=[0, 2, 1]).add("MatMul", cosines.astype(np.float32))
    graph, found = quantized(made.model())
    assert found.float_nodes == {}
    assert names(found.graph)[-2:] == ["spectrogram", "fully_connected"]
    assert min(ratios_db(graph, found.graph)) > 25
    wide = quantized(made.model(), QuantizationOptions(int16=("all",)))[1]
    types = {n.op.name: n.output.type.element for n in wide.graph.nodes}
    assert types["spectrogram"] is types["fully_connected"] is ElementType.I16


def test_two_spectra_of_one_signal_are_two_front_ends() -> None:
    made = FrontEnd().stft(hann(256), 128).power_of_complex().mel(mel_bank(129, 20)).logarithm()
    narrow, made.last = made.last, "x"
    made.stft(hann(512), 256).power_of_complex().mel(mel_bank(257, 20)).logarithm()
    graph, found = quantized(made.add("Concat", narrow, axis=2).model())
    assert found.float_nodes == {}
    ops = [node.op for node in found.graph.nodes if isinstance(node.op, Spectrogram)]
    assert sorted((op.length, op.step, op.frames) for op in ops) == [(256, 128, 24), (512, 256, 11)]
    assert min(ratios_db(graph, found.graph)) > 30


POWERS = {
    "powers": FrontEnd().stft(hann(256), 128).power_of_complex(),
    "magnitudes of pairs": FrontEnd().stft(hann(256), 128).power_of_pairs().add("Sqrt"),
    "bands": FrontEnd().stft(hann(512), 128).power_of_complex().mel(BANK),
}


@pytest.mark.parametrize("name", POWERS)
def test_sums_that_no_logarithm_reads_are_int16(name: str) -> None:
    graph, made = quantized(POWERS[name].model(), QuantizationOptions(interface=Interface.FLOAT))
    types = {n.op.name: n.output.type.element for n in made.graph.nodes}
    assert types["spectrogram"] is ElementType.I16
    # The loudest sound takes all of the range: those 40 dB below have 80 dB less power.
    assert ratios_db(graph, made.graph)[0] > (60 if name != "powers" else 25)


@pytest.mark.parametrize(
    ("factor", "scale"), [(1.0, 2.0**-15), (0.01, 2.0**-15), (2.5, 2.0**-13), (30000.0, 1.0)]
)
def test_samples_are_whole_numbers_or_parts_of_one(factor: float, scale: float) -> None:
    graph, made = quantized(front_end().model(), factor=factor)
    assert made.graph.arguments[0].type.scale == scale
    assert min(ratios_db(graph, made.graph, factor)) > 30


def test_what_makes_samples_keeps_16_bits() -> None:
    """A first-order filter in front, as speech recognizers have one."""
    made = FrontEnd(samples=3201)
    onnx = pytest.importorskip("onnx")
    ends = [made.constant(np.array(value)) for value in ([1], [3201], [-1], [0], [3200])]
    made.nodes += [
        onnx.helper.make_node("Slice", ["x", ends[0], ends[1], ends[2]], ["new"]),
        onnx.helper.make_node("Slice", ["x", ends[3], ends[4], ends[2]], ["old"]),
        onnx.helper.make_node("Mul", ["old", made.constant(np.float32(0.97))], ["part"]),
        onnx.helper.make_node("Sub", ["new", "part"], ["filtered"]),
    ]
    made.last = "filtered"
    made.stft(hann(400), 160, 512).power_of_complex().mel(BANK).logarithm()
    graph, found = quantized(made.model())
    assert found.float_nodes == {}
    kinds = {node.op.name: node.output.type.element for node in found.graph.nodes}
    assert kinds["sub"] is kinds["mul"] is ElementType.I16
    assert min(ratios_db(graph, found.graph)) > 25


STAYS = {
    "phases": (FrontEnd().stft(hann(64), 32).model(), "re^2 + im^2 alone"),
    "two signals": (
        FrontEnd().stft(hann(64), 64).power_of_complex().model((2, 1600)),
        "not cut from one signal at equal steps, under one window",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STAYS)
def test_what_is_not_recognised_stays_float_and_says_why(name: str) -> None:
    data, words = STAYS[name]
    graph, found = quantized(data, QuantizationOptions(interface=Interface.FLOAT))
    (reason,) = (text for text in found.float_nodes.values() if text.startswith("signal_rfft"))
    assert words in reason
    assert "spectrogram" not in names(found.graph)
    assert ratios_db(graph, found.graph)[0] > 20


@pytest.mark.parametrize("kept", ["log", "signal_rfft", "fully_connected"])
def test_a_front_end_stays_as_it_is_where_a_node_is_kept_float(kept: str) -> None:
    options = QuantizationOptions(keep_float=(kept,), interface=Interface.FLOAT)
    made = quantized(front_end().model(), options)[1]
    assert not {"spectrogram", kept} <= set(names(made.graph))
    assert {"signal_rfft", kept} <= set(names(made.graph))
    assert any(f"{kept}: as was asked for" in text for text in made.float_nodes.values())


@pytest.mark.parametrize("name", ["log", "spectrogram"])
def test_int16_may_name_a_node_that_went_into_a_front_end(name: str) -> None:
    asked = QuantizationOptions(int16=(name,))
    made = quantized(network(front_end()).model(), asked)[1]
    (node,) = (node for node in made.graph.nodes if isinstance(node.op, Spectrogram))
    assert node.output.type.element is ElementType.I16


def test_scales_that_no_integers_express_leave_the_front_end_float() -> None:
    made = FrontEnd().stft(hann(64), 32).power_of_complex().add("Mul", np.float32(1e-38))
    made.add("Mul", np.float32(1e-7)).add("Add", np.float32(1e-30)).add("Log")
    made.add("Mul", np.float32(1e-30)).add("Add", np.float32(1.0))
    found = quantized(made.model(), QuantizationOptions(interface=Interface.FLOAT))[1]
    assert "spectrogram" not in names(found.graph)
    assert "signal_rfft" in names(found.graph)


def compiled(data: bytes, core: str = "cortex-m4") -> Compilation:
    graph = float_graph(data, "m.onnx")
    profile = profile_graph(graph, samples_of(graph, given(graph)))
    request = QuantizationRequest(profile=profile)
    return compile_model(data, "m.onnx", Options("m", core=core, quantization=request))


@pytest.mark.parametrize("core", ["", "cortex-m4", "cortex-m0plus"])
@pytest.mark.arm
def test_a_network_with_its_front_end_is_one_bundle_of_integers(core: str, tmp_path: Path) -> None:
    compilation = compiled(network(front_end()).model(), core or "cortex-m4")
    type_ = compilation.imported.arguments[0].type
    sets = [[as_stored(x, type_)] for x in given(compilation.imported)]
    sets.append([np.full(type_.shape, -(2**15), np.int16)])
    executor = CortexM(core, count=False) if core else Host()
    for arrays, got in zip(
        sets, executor.run(write_bundle(compilation, tmp_path), sets), strict=True
    ):
        expect_equal(got.outputs[0], run_graph(compilation.imported, arrays)[0], "scores")
    assert compilation.quantization_notes == ()


@pytest.mark.arm
@pytest.mark.parametrize(("core", "most"), [("cortex-m4", 53_000), ("cortex-m0plus", 145_000)])
def test_a_frame_takes_less_than_tflms_front_end(core: str, most: int, tmp_path: Path) -> None:
    """30 ms in transforms of 512, 40 channels; `most` is what audio_preprocessor takes a frame."""
    made = FrontEnd(samples=3200).stft(hann(480), 320, 512).power_of_complex()
    compilation = compiled(made.mel(BANK).logarithm().model(), core)
    frames = spectrogram(compilation.imported).frames
    sets = [[as_stored(x, compilation.imported.arguments[0].type)] for x in sounds(3200)]
    sets = [[x.reshape(1, -1)] for (x,) in sets]
    done = CortexM(core).run(write_bundle(compilation, tmp_path), sets)
    for got in done:
        assert got.cycles is not None
        assert got.cycles < most * frames


def test_a_front_end_is_a_stage_of_a_pipeline(tmp_path: Path) -> None:
    """A frame a run from samples in int16, ten of them to scores."""
    weights = np.random.default_rng(4).normal(0, 0.1, (3, 400)).astype(np.float32)
    stages = {
        "features": FrontEnd(samples=400).stft(hann(400), 160).power_of_parts()
        .add("MatMul", mel_bank(201, 40)).logarithm().model(),
        "scores": FrontEnd().add("Flatten").add("Gemm", weights, transB=1).model((1, 10, 40)),
    }  # fmt: skip
    graph = float_graph(stages["features"], "m.onnx")
    frames = [x[at : at + 400].reshape(1, 400) for x in sounds(4000) for at in (0, 1600, 3200)]
    rows = [run_graph(graph, [x])[0].reshape(40) for x in frames]
    np.save(tmp_path / "features.npy", np.stack(frames))
    np.save(tmp_path / "scores.npy", np.stack([np.stack(rows[:10])] * 2)[:, np.newaxis])
    lines = []
    for (name, data), hop in zip(stages.items(), (160, 1), strict=True):
        (tmp_path / f"{name}.onnx").write_bytes(data)
        lines.append(
            f'[[stage]]\nname = "{name}"\nmodel = "{name}.onnx"\nhop = {hop}\n'
            f'samples = "{name}.npy"\n'
        )
    (tmp_path / "heard.toml").write_text("\n".join(lines))
    compilation = compile_pipeline(read_pipeline(tmp_path / "heard.toml"), Options("heard"))
    assert {"spectrogram", "fully_connected"} <= set(names(compilation.imported))
    (x,) = compilation.imported.arguments
    assert (x.type.element, x.type.scale) == (ElementType.I16, 2.0**-15)
    sound = as_stored(sounds(160 * 30)[0], x.type).reshape(30, *x.type.shape)
    bundle = write_bundle(compilation, tmp_path / "bundle")
    session, done = Session(compilation.imported), Host().run(bundle, [[item] for item in sound])
    for item, got in zip(sound, done, strict=True):
        for want, found in zip(session.run([item]), got.outputs, strict=True):
            expect_equal(found, want, "scores")
