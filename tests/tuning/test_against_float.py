"""`glowmcu verify --against float`: the culprit, the remedies, and files that do not belong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.api.float_comparison import compare
from glowmcu.cli import main
from glowmcu.errors import GlowmcuError
from glowmcu.quant.comparison import compare_graphs
from glowmcu.quant.quantizer import quantize
from glowmcu.quant.samples import samples_of
from tests.tuning.jobs import DIGITS, EXAMPLES, GESTURES, gesture_samples, small_job

CALIBRATION = EXAMPLES / "digits" / "calibration.npz"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(item) for item in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A profile of the gestures and the bundle made with it."""
    path = tmp_path_factory.mktemp("gestures")
    glowmcu.profile(GESTURES, gesture_samples(path), path / "g.json")
    quantization = glowmcu.Quantization(calibration="percentile:99.9", keep_float=["softmax"])
    glowmcu.compile(
        GESTURES, profile=path / "g.json", quantization=quantization, output=path / "bundle"
    )
    return path


def test_a_bundle_is_compared_as_it_was_quantized(folder: Path, run: Run) -> None:
    arguments = ("verify", folder / "bundle", "--against", "float", "--model", GESTURES,
                 "--profile", folder / "g.json", "--samples", folder / "gestures.npz")  # fmt: skip
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    assert "160 samples against float" in out
    assert "  accuracy " in out
    code, out, _ = run(*arguments, "--json")
    found = json.loads(out)
    assert found["plain"]["options"]["method"] == "percentile"
    types = {layer["op"]: layer["type"] for layer in found["layers"]}
    assert types["softmax"] == "float32"
    assert types["conv_2d"] == "int8"
    shares = [layer["share"] for layer in found["layers"]]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1.0)
    assert found["float_accuracy"] > 0.95


def test_a_float_model_is_compared_with_what_its_samples_make_of_it(run: Run) -> None:
    code, out, _ = run("verify", DIGITS, "--against", "float", "--samples", CALIBRATION)
    assert code == 0
    assert "whose fault is the output's error" in out
    assert "200 samples against float" in out


def test_remedies_gain_what_they_say_and_name_their_cost() -> None:
    found = compare(DIGITS, CALIBRATION)
    assert found.remedies
    for remedy in found.remedies:
        assert remedy.trial.sqnr_db >= found.plain.sqnr_db + 0.5
        assert remedy.trial.cost is not None
    best = found.remedies[0]
    words = best.arguments.split()
    option = {"--int16": "int16", "--keep-float": "keep_float", "--equalize": "equalization"}
    assert getattr(best.trial.options, option[words[0]])
    costs = [r.trial.cost.cycles for r in found.remedies if r.trial.cost is not None]
    assert costs == sorted(costs, reverse=True)


def test_the_share_of_all_layers_explains_most_of_the_output_error() -> None:
    job = small_job()
    made = quantize(job.graph, job.profile)
    samples = samples_of(job.graph, job.samples)
    found = compare_graphs(made.reference, made.graph, samples)
    alone = sum(10 ** (-layer.alone_db / 10) for layer in found.layers)
    assert 10 * np.log10(1 / alone) == pytest.approx(found.output_db, abs=2.0)


def test_the_picture_shows_each_layer(tmp_path: Path, run: Run) -> None:
    pytest.importorskip("matplotlib")
    plot = tmp_path / "layers.svg"
    arguments = ("--against", "float", "--samples", CALIBRATION, "--plot", plot)
    assert run("verify", DIGITS, *arguments)[0] == 0
    svg = plot.read_text()
    assert svg.lstrip().startswith("<?xml")
    for word in ("relu_3", "linear/fully_connected", "isolated", "accumulated"):
        assert word in svg


def test_a_profile_that_is_not_the_bundles_is_refused(folder: Path, tmp_path: Path) -> None:
    samples = folder / "gestures.npz"
    with np.load(samples) as found:
        glowmcu.profile(GESTURES, found["inputs"][:40], tmp_path / "other.json")
    with pytest.raises(GlowmcuError) as caught:
        compare(folder / "bundle", samples, model=GESTURES, profile=tmp_path / "other.json")
    assert caught.value.code == "GM615"


@pytest.mark.parametrize("given", [{}, {"model": GESTURES}])
def test_a_bundle_needs_its_model_and_profile(folder: Path, given: dict[str, Path]) -> None:
    with pytest.raises(GlowmcuError, match="holds neither its float model nor its") as caught:
        compare(folder / "bundle", folder / "gestures.npz", **given)
    assert caught.value.code == "GM647"
    assert "pass both: --model FILE --profile FILE" in caught.value.for_shell


def test_a_bundle_that_was_not_quantized_here_has_no_float_model(tmp_path: Path) -> None:
    glowmcu.compile(EXAMPLES / "digits" / "digits_int8.tflite", output=tmp_path / "bundle")
    with pytest.raises(GlowmcuError, match="was not quantized by GlowMCU") as caught:
        compare(tmp_path / "bundle", CALIBRATION)
    assert caught.value.code == "GM640"


def test_samples_other_than_those_adaround_saw_are_found_out(tmp_path: Path) -> None:
    with np.load(EXAMPLES / "gestures" / "test_samples.npz") as found:
        inputs = found["inputs"]
    np.save(tmp_path / "seen.npy", inputs[:64])
    glowmcu.profile(GESTURES, inputs[:64], tmp_path / "p.json")
    bundle = glowmcu.compile(
        GESTURES, profile=tmp_path / "p.json", samples=tmp_path / "seen.npy",
        quantization=glowmcu.Quantization(adaround=True), output=tmp_path / "bundle",
    )  # fmt: skip
    given = {"model": GESTURES, "profile": tmp_path / "p.json"}
    assert compare(bundle.path, tmp_path / "seen.npy", **given).plain.cost is not None
    with pytest.raises(GlowmcuError, match="pass the very samples") as caught:
        compare(bundle.path, inputs[64:90], **given)
    assert caught.value.code == "GM646"


def test_words_for_samples_are_refused_where_a_number_or_data_is_needed(
    folder: Path, run: Run
) -> None:
    code, _, err = run("verify", folder / "bundle", "--samples", "data.npz")
    assert code == 2
    assert "expected a number up to 100000, got 'data.npz'; data go with --against\n" in err
    code, _, err = run("verify", GESTURES, "--against", "float")
    assert code == 2
    assert "error[GM719]: --against float needs real data" in err
