"""`glowmcu run --stream`: many invocations, one behind the other."""

from __future__ import annotations

import json
import struct
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.cli import main
from glowmcu.ir.interpreter import Session
from glowmcu.pipeline import reference_graph
from glowmcu.sound_files import load_sound
from tests.conftest import REPO
from tests.memplan.spatial_models import SpatialModel, Window
from tests.support.stream_models import random_stream_model

STEPS = 7
PCM_GUID = bytes.fromhex("0100000000001000800000aa00389b71")
#: Exit code and text of a call.
Invoke = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> glowmcu.Bundle:
    folder = tmp_path_factory.mktemp("stream")
    (folder / "net.tflite").write_bytes(random_stream_model(6))
    return glowmcu.compile(folder / "net.tflite", board="nrf52", output=folder / "net")


def stream() -> tuple[np.ndarray, np.ndarray]:
    graph = reference_graph(random_stream_model(6), "net.tflite")
    random, session = np.random.default_rng(4), Session(graph)
    shape = (STEPS, *graph.arguments[0].type.shape)
    inputs = random.integers(-128, 128, shape).astype(np.int8)
    return inputs, np.stack([session.run([x])[0] for x in inputs])


@pytest.fixture
def invoke(capsys: pytest.CaptureFixture[str]) -> Invoke:
    def call(*arguments: object) -> tuple[int, str]:
        capsys.readouterr()
        code = main([str(item) for item in arguments])
        captured = capsys.readouterr()
        return code, captured.out or captured.err

    return call


@pytest.mark.parametrize("name", ["x_1", "inputs", "anything"])
def test_the_outputs_of_a_stream_are_written_together(
    invoke: Invoke, name: str, bundle: glowmcu.Bundle, tmp_path: Path
) -> None:
    inputs, wanted = stream()
    np.savez(tmp_path / "in.npz", **{name: inputs})
    code, text = invoke(
        "run", bundle.path, "--stream", tmp_path / "in.npz", "--output", tmp_path / "out", "--json"
    )
    assert code == 0, text
    assert json.loads(text)["outputs"][0]["shape"] == list(wanted.shape)
    assert np.array_equal(np.load(tmp_path / "out" / "out_0.npy"), wanted)


@pytest.mark.parametrize("form", ["flat.npy", "flat.npz", "rows.npz"])
def test_what_a_microphone_gives_is_cut_into_runs(
    invoke: Invoke, form: str, bundle: glowmcu.Bundle, tmp_path: Path
) -> None:
    inputs, wanted = stream()
    rows = inputs.reshape(-1, *[size for size in inputs.shape[1:] if size > 1][1:])
    sound = rows[:-1] if form.startswith("rows") else inputs.reshape(-1)[:-1]
    save = np.save if form.endswith("npy") else np.savez
    save(tmp_path / form, sound)
    code, text = invoke(
        "run", bundle.path, "--stream", tmp_path / form, "--output", tmp_path / "out"
    )
    assert code == 0, text
    assert np.array_equal(np.load(tmp_path / "out" / "out_0.npy"), wanted[:-1])
    each = inputs[0].size
    left = sound.size - (STEPS - 1) * each
    said = f"the last {left} of {sound.size} values are left over, a run takes {each}"
    assert said in " ".join(text.split())


def write_wav(
    path: Path, data: bytes, rate: int = 16000, width: int = 2, channels: int = 1
) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, width, rate, 0, "NONE", "not compressed"))
        file.writeframes(data)
    return path


@pytest.fixture(scope="module")
def listener(tmp_path_factory: pytest.TempPathFactory) -> glowmcu.Bundle:
    return glowmcu.compile(
        REPO / "examples" / "wake_word" / "wake_word.toml",
        output=tmp_path_factory.mktemp("listener") / "wake_word",
    )


def test_a_sound_is_played_as_it_is_and_what_is_heard_is_said(
    invoke: Invoke, listener: glowmcu.Bundle, tmp_path: Path
) -> None:
    heard = REPO / "examples" / "wake_word" / "heard.wav"
    code, text = invoke("run", listener.path, "--stream", heard, "--output", tmp_path / "of_wav")
    assert code == 0, text
    assert " ".join(text.split()).count("decision: hey firefly (class 0) is detected at") == 2
    assert text.count("(class 0)") == 2, "a single score is not the highest of anything"
    # The same samples in 16 bits and as an array.
    sound = load_sound(heard)
    samples, rate = sound.as_type(is_real=False).reshape(-1), sound.rate
    np.save(tmp_path / "heard.npy", samples)
    wide = write_wav(tmp_path / "wide.WAV", samples.astype("<i2").tobytes(), rate)
    for file in (tmp_path / "heard.npy", wide):
        code, text = invoke("run", listener.path, "--stream", file, "--output", tmp_path / "other")
        assert code == 0, text
        for name in ("out_0.npy", "out_1.npy"):
            wanted = np.load(tmp_path / "of_wav" / name)
            assert np.array_equal(np.load(tmp_path / "other" / name), wanted)
    code, text = invoke("run", listener.path, "--stream", heard.with_name("not_heard.wav"))
    assert (code, "nothing is detected" in text) == (0, True)


@pytest.mark.parametrize("form", ["stereo", "24 bits", "floats", "extensible", "odd", "stopped"])
def test_a_sound_of_any_form_becomes_the_samples_that_the_pipeline_takes(
    form: str, invoke: Invoke, listener: glowmcu.Bundle, tmp_path: Path
) -> None:
    heard = REPO / "examples" / "wake_word" / "heard.wav"
    samples = load_sound(heard).as_type(is_real=False).reshape(-1)[:8000]
    path = write_wav(tmp_path / "s.wav", samples.tobytes())
    plain, data = path.read_bytes(), samples.tobytes()
    tag, channels, bits, more, said = 1, 1, 16, b"", ""
    if form == "stereo":
        channels, data = 2, np.stack([samples, samples], axis=1).tobytes()
        said = "of sound with 2 channels their mean is taken"
    elif form == "24 bits":
        bits, data = 24, (samples.astype("<i4") << 8).view(np.uint8).reshape(-1, 4)[:, :3].tobytes()
    elif form == "floats":
        tag, bits, data = 3, 32, (samples / 32768).astype("<f4").tobytes()
    elif form == "extensible":
        tag, more = 0xFFFE, struct.pack("<HHI", 22, 16, 4) + PCM_GUID
    frame = channels * bits // 8
    head = struct.pack("<HHIIHH", tag, channels, 16000, 16000 * frame, frame, bits) + more
    odd = b"LIST" + struct.pack("<I", 3) + b"abc" if form == "odd" else b""
    size = len(data)
    if form == "stopped":
        size, said = 0x7FFFF000, "a recording that does not say its length"
    body = odd + b"fmt " + struct.pack("<I", len(head)) + head
    path.write_bytes(plain[:12] + body + b"data" + struct.pack("<I", size) + data)
    np.save(tmp_path / "s.npy", samples)
    for name, words in (("s.npy", ""), ("s.wav", said)):
        out = tmp_path / f"of_{name}"
        code, text = invoke("run", listener.path, "--stream", tmp_path / name, "--output", out)
        assert code == 0, text
        assert words in " ".join(text.split())
    for name in ("out_0.npy", "out_1.npy"):
        wanted = np.load(tmp_path / "of_s.npy" / name)
        assert np.array_equal(np.load(tmp_path / "of_s.wav" / name), wanted)


@pytest.mark.parametrize(
    ("rate", "kept", "said"),
    [
        (44100, None, "44100 samples a second, and the pipeline takes 16000"),
        (16000, 0, "the file is empty"),
        (16000, 3, "not a WAV file"),
        (16000, 30, "'fmt ' chunk has 10 bytes"),
        (16000, 9000, "cut off: 8956 of 12000 bytes"),
    ],
)
def test_a_sound_that_cannot_be_played_is_refused_with_what_makes_one(
    rate: int, kept: int | None, said: str, invoke: Invoke, listener: glowmcu.Bundle, tmp_path: Path
) -> None:
    sound = write_wav(tmp_path / "s.wav", bytes(12000), rate)
    sound.write_bytes(sound.read_bytes()[:kept])
    code, text = invoke("run", listener.path, "--stream", sound)
    assert code == 2
    assert "GM730" in text
    assert said in " ".join(text.split())
    assert "hint: sox IN -r 16000 -c 1 -b 16 OUT.wav makes a fitting" in " ".join(text.split())


def test_less_than_a_run_is_no_stream(
    invoke: Invoke, bundle: glowmcu.Bundle, tmp_path: Path
) -> None:
    np.save(tmp_path / "short.npy", stream()[0].reshape(-1)[: stream()[0][0].size - 1])
    code, text = invoke("run", bundle.path, "--stream", tmp_path / "short.npy")
    assert code == 2
    assert "has inputs of [0] invocations" in text


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"a": np.zeros((3, 1), np.int8), "b": np.zeros(2)}, "no array"),
        ({"x": np.zeros((3, 1, 1), np.int8)}, "for input"),
        ({"x": "float"}, "for input"),
        ({"x": "empty"}, "0"),
        ({}, "holds nothing"),
    ],
)
def test_a_stream_that_does_not_fit_is_refused(
    invoke: Invoke, arrays: dict[str, object], said: str, bundle: glowmcu.Bundle, tmp_path: Path
) -> None:
    inputs, _ = stream()
    made = {"float": inputs.astype(np.float32), "empty": inputs[:0]}
    np.savez(tmp_path / "in.npz", **{k: made.get(v, v) if isinstance(v, str) else v
                                     for k, v in arrays.items()})  # fmt: skip
    code, text = invoke("run", bundle.path, "--stream", tmp_path / "in.npz")
    assert code == 2
    assert "GM730" in text
    assert said in text
    assert ("hint: quantize it: numpy.clip(" in text) == ("float" in map(str, arrays.values()))


def test_a_file_that_is_no_archive_is_refused(
    invoke: Invoke, bundle: glowmcu.Bundle, tmp_path: Path
) -> None:
    (tmp_path / "in.npz").write_bytes(b"no archive")
    for file in (tmp_path / "in.npz", tmp_path / "missing.npz"):
        code, text = invoke("run", bundle.path, "--stream", file)
        assert code == 2
        assert "GM730" in text


def test_one_inference_or_a_stream(invoke: Invoke, bundle: glowmcu.Bundle, tmp_path: Path) -> None:
    inputs, _ = stream()
    np.savez(tmp_path / "in.npz", inputs=inputs)
    np.save(tmp_path / "x.npy", inputs[0])
    code, text = invoke(
        "run", bundle.path, "--stream", tmp_path / "in.npz", "--input", tmp_path / "x.npy"
    )
    assert code == 2
    assert "give one of them" in text


def test_golden_and_random_vectors_are_one_stream(invoke: Invoke, bundle: glowmcu.Bundle) -> None:
    model = bundle.path.parent / "net.tflite"
    for arguments in ((), ("--model", model)):
        code, text = invoke("verify", bundle.path, "--on", "host", "--samples", 4, *arguments)
        assert code == 0, text


def test_states_are_shown(invoke: Invoke, bundle: glowmcu.Bundle, tmp_path: Path) -> None:
    model = bundle.path.parent / "net.tflite"
    states = reference_graph(model.read_bytes(), "net.tflite").states
    _, text = invoke("inspect", model)
    assert all(f"state  {state.value.name}" in text for state in states)
    _, text = invoke("inspect", model, "--json")
    assert [row["name"] for row in json.loads(text)["states"]] == [s.value.name for s in states]
    _, text = invoke("compile", model, "--board", "nrf52", "-o", tmp_path / "again")
    held = sum(state.initial.nbytes for state in states)
    assert f"{held:,} B of it outlive a run".replace(",", " ") in " ".join(text.split())
    _, text = invoke("compile", model, "--board", "nrf52", "-o", tmp_path / "json", "--json")
    assert sum(row["bytes"] for row in json.loads(text)["states"]) == held + 4


def test_a_window_slides(invoke: Invoke, tmp_path: Path) -> None:
    model = SpatialModel(3)
    data = model.finish(model.conv(model.input(20, 4, 2), 4, Window((3, 3))))
    (tmp_path / "m.tflite").write_bytes(data)
    graph = reference_graph(data, "m.tflite")
    name = graph.arguments[0].name
    code, text = invoke(
        "compile", tmp_path / "m.tflite", "--slide", f"{name}=2", "-o", tmp_path / "net"
    )
    assert code == 0, text
    assert "slides by 2 rows" in " ".join(text.split())
    code, text = invoke(
        "verify", tmp_path / "net", "--on", "host", "--model", tmp_path / "m.tflite"
    )
    assert code == 0, text


@pytest.mark.parametrize(
    ("given", "code"), [("x", "GM732"), ("x=0", "GM732"), ("=3", "GM732"), ("nothing=2", "GM130")]
)
def test_a_slide_that_says_nothing_is_refused(
    given: str, code: str, invoke: Invoke, bundle: glowmcu.Bundle, tmp_path: Path
) -> None:
    model = bundle.path.parent / "net.tflite"
    _, text = invoke("compile", model, "--slide", given, "-o", tmp_path / "out")
    assert code in text
    assert not (tmp_path / "out").exists()


def test_pairs_that_say_nothing_are_refused(
    invoke: Invoke, bundle: glowmcu.Bundle, tmp_path: Path
) -> None:
    model = bundle.path.parent / "net.tflite"
    for given in ("h0", "=hn", "h0="):
        _, text = invoke("compile", model, "--state", given, "-o", tmp_path / "out")
        assert "GM731" in text
