"""Real models with state, invocation by invocation, against what TensorFlow Lite Micro computed."""

from __future__ import annotations

import json
import wave
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import glowmcu
from benchmarks.__main__ import compiler_version
from glowmcu.ir.interpreter import Session
from glowmcu.lowering.passes import lower
from glowmcu.pipeline import reference_graph
from glowmcu.verify.executors import executor

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "streams"
MODELS = (
    "wake_v1_okay_nabu", "wake_v2_okay_nabu", "wake_v2_hey_home_assistant", "wake_v2_vad",
    "micro_speech_quantized", "audio_preprocessor_int8", "mnist_lstm_int8",
    "dtln_noise_suppression", "keyword_scrambled_8bit",
)  # fmt: skip
#: On an emulated core: enough that every row of every queue is one that came.
FEW = 12

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="needs shared/streams, which lies beside the repository"
)


@dataclass(frozen=True)
class Stream:
    """A model, its inputs and the outputs of each invocation."""

    path: Path
    inputs: npt.NDArray[np.integer]
    outputs: npt.NDArray[np.generic]


@cache
def stream(name: str) -> Stream:
    (entry,) = (
        row for row in json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))
        if row["model"] == f"{name}.tflite"
    )  # fmt: skip
    arrays = np.load(FOLDER / entry["steps"])
    return Stream(FOLDER / entry["model"], arrays["inputs"], arrays["outputs"])


@pytest.mark.parametrize("name", MODELS)
def test_the_graph_is_what_tflm_computes(name: str) -> None:
    found = stream(name)
    graph = reference_graph(found.path.read_bytes(), found.path.name)
    for one in (graph, lower(graph)):
        session = Session(one)
        for x, want in zip(found.inputs[:60], found.outputs, strict=False):
            assert np.array_equal(session.run([x])[0], want)


@pytest.mark.parametrize("goal", ["balanced", "ram", "speed", "size"])
@pytest.mark.parametrize("name", MODELS)
def test_every_invocation_in_c(name: str, goal: str, tmp_path: Path) -> None:
    found = stream(name)
    bundle = glowmcu.compile(found.path, board="nrf52", output=tmp_path, optimize=goal)
    measured = bundle.measure_all([[x] for x in found.inputs], on="host")
    got = np.stack([one.outputs[0] for one in measured])
    assert np.array_equal(got, found.outputs)


@pytest.mark.parametrize(
    ("board", "on"),
    [
        pytest.param("rp2040", "cortex-m", marks=pytest.mark.arm),
        pytest.param("nrf52", "cortex-m", marks=pytest.mark.arm),
        pytest.param("mps3-an547", "qemu", marks=pytest.mark.qemu),
    ],
)
@pytest.mark.parametrize("name", MODELS)
def test_invocations_on_cores(name: str, board: str, on: str, tmp_path: Path) -> None:
    found = stream(name)
    bundle = glowmcu.compile(found.path, board=board, output=tmp_path)
    runner = executor(on, bundle.board, count=False)
    if (missing := runner.missing()) is not None:
        pytest.skip(missing)
    measured = runner.run(bundle.path, [[x] for x in found.inputs[:FEW]])
    for one, want in zip(measured, found.outputs, strict=False):
        assert np.array_equal(one.outputs[0], want)


#: Bytes of the arena and modelled cycles of an invocation, at most; Cortex-M4, balanced, gcc 12.
#: What another compiler makes of the same C may take a twentieth more.
GOALS = {
    "wake_v1_okay_nabu": (8_400, 114_000),
    "wake_v2_okay_nabu": (4_000, 49_000),
    "wake_v2_hey_home_assistant": (4_700, 52_000),
    "wake_v2_vad": (1_500, 26_000),
    "audio_preprocessor_int8": (2_300, 54_000),
    "mnist_lstm_int8": (1_408, 246_000),
    "dtln_noise_suppression": (1_168, 510_000),
    "keyword_scrambled_8bit": (5_400, 62_000),
}


@pytest.mark.arm
@pytest.mark.parametrize("name", GOALS)
def test_streams_stay_small_and_fast(name: str, tmp_path: Path) -> None:
    found = stream(name)
    # A board whose memories never wait: kernels are chosen for the core, whose cycles are counted.
    bundle = glowmcu.compile(found.path, board="mps2-an386", output=tmp_path)
    assert bundle.manifest.arena_bytes <= GOALS[name][0]
    measured = bundle.measure_all([[x] for x in found.inputs[:2]], on="cortex-m")
    assert measured[-1].cycles is not None
    share = 1 if " 12." in compiler_version() else 1.05
    assert measured[-1].cycles <= share * GOALS[name][1]


def sound() -> npt.NDArray[np.int16]:
    """Speech with the wake word in it."""
    with wave.open(str(FOLDER / "okay_nabu.wav")) as file:
        return np.frombuffer(file.readframes(file.getnframes()), np.int16)


#: Samples a run, runs before the first score, and from one score to the next.
HOP, FIRST, PERIOD = 160, 4, 3


def pipeline(folder: Path, board: str) -> glowmcu.Bundle:
    """Features, the network and a decision as one bundle."""
    (folder / "nabu.toml").write_text(
        f"""labels = ["okay nabu"]
[input]
rate = 16000
[[stage]]
name = "features"
model = "{FOLDER / "audio_preprocessor_int8.tflite"}"
hop = {HOP}
[[stage]]
name = "wake"
model = "{FOLDER / "wake_v2_okay_nabu.tflite"}"
[decision]
average = 5
threshold = 0.9
distance = 30
"""
    )
    return glowmcu.compile(folder / "nabu.toml", board=board, output=folder / "nabu")


def test_sound_becomes_a_decision_in_one_bundle(tmp_path: Path) -> None:
    bundle = pipeline(tmp_path, "nrf52")
    samples = sound()
    count = len(samples) // HOP
    inputs = [[samples[HOP * k : HOP * (k + 1)].reshape(1, HOP)] for k in range(count)]
    measured = bundle.measure_all(inputs, on="host")
    scores = [int(one.outputs[0][0, 0]) for one in measured[FIRST::PERIOD]]
    wanted = stream("wake_v2_okay_nabu").outputs.reshape(-1)
    assert scores == wanted[: len(scores)].tolist()
    assert len(scores) >= len(wanted) - 1
    decided = [int(one.outputs[1][0]) for one in measured[FIRST::PERIOD]]
    mean = np.convolve(wanted[: len(scores)].astype(np.int64), np.ones(5, np.int64))[: len(scores)]
    first = int(np.flatnonzero(mean >= np.ceil(5 * 0.9 * 256))[0])
    assert decided[: first + 31] == [-1] * first + [0] + [-1] * 30


#: By board arena bytes and cycles of a second of sound, at most.
CHAIN = {"nrf52": (6_500, 7_300_000), "rp2040": (6_500, 25_000_000)}


@pytest.mark.arm
@pytest.mark.parametrize("board", CHAIN)
def test_the_whole_chain_stays_small_and_fast(board: str, tmp_path: Path) -> None:
    bundle = pipeline(tmp_path, board)
    arena_bytes, cycles = CHAIN[board]
    assert bundle.manifest.arena_bytes <= arena_bytes
    assert bundle.report.code_bytes is not None
    assert bundle.report.code_bytes <= 16 * 1024
    runs = range(FIRST + 1 + 2 * PERIOD)
    samples = [[sound()[HOP * k : HOP * (k + 1)].reshape(1, HOP)] for k in runs]
    measured = bundle.measure_all(samples, on="cortex-m")
    turn = [one.cycles or 0 for one in measured[-PERIOD:]]
    assert 0 < sum(turn) / PERIOD * 16000 / HOP <= cycles
    wanted = stream("wake_v2_okay_nabu").outputs.reshape(-1)
    assert [int(one.outputs[0][0, 0]) for one in measured[FIRST::PERIOD]] == wanted[:3].tolist()


def test_sound_becomes_a_wake_word(tmp_path: Path) -> None:
    """Frames of 30 ms, one every 10 ms, to features, three of them to a decision: as TFLM's two
    interpreters one behind the other.
    """
    samples = sound()
    features = np.load(FOLDER / "okay_nabu_features_10ms.npz")["outputs"]
    front = glowmcu.compile(
        FOLDER / "audio_preprocessor_int8.tflite", board="nrf52", output=tmp_path / "front"
    )
    words = stream("wake_v2_okay_nabu")
    wake = glowmcu.compile(words.path, board="nrf52", output=tmp_path / "wake")
    frames = [[samples[160 * k : 160 * k + 480].reshape(1, 480)] for k in range(len(features))]
    heard = np.stack([one.outputs[0] for one in front.measure_all(frames, on="host")])
    assert np.array_equal(heard, features.reshape(heard.shape))
    shape = words.inputs.shape[1:]
    windows = [[heard[k : k + 3].reshape(shape)] for k in range(0, 3 * len(words.inputs), 3)]
    got = np.stack([one.outputs[0] for one in wake.measure_all(windows, on="host")])
    assert np.array_equal(got, words.outputs)
    assert (got == 255).any()
