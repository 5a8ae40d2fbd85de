"""`glowmcu.tune` on the examples' models: never worse than the defaults, files, errors in words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.pipeline import reference_graph
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.profile_file import read_profile
from glowmcu.quant.sample_source import SampleSource
from glowmcu.tuning.labelled import read_labelled
from glowmcu.tuning.trial import BEST_DB, Trial
from tests.tuning.jobs import DIGITS, EXAMPLES, GESTURES, gesture_samples

CALIBRATION = EXAMPLES / "digits" / "calibration.npz"


def test_tuning_labelled_gestures_ends_no_worse_than_the_defaults(tmp_path: Path) -> None:
    output = tmp_path / "gestures.profile.json"
    result = glowmcu.tune(GESTURES, gesture_samples(tmp_path), output=output, trials=12, jobs=2)
    assert result.labelled
    assert result.samples == 160
    assert result.best.quality >= result.plain.quality
    assert result.best.accuracy is not None
    assert result.best.accuracy > 0.95
    profile = read_profile(output)
    assert profile.options == result.best.options
    assert profile.sample_count == 160


def test_tuning_digits_without_labels_lowers_the_output_error(tmp_path: Path) -> None:
    result = glowmcu.tune(DIGITS, CALIBRATION, trials=14)
    assert not result.labelled
    assert -BEST_DB < result.plain.sqnr_db < result.best.sqnr_db
    assert result.best.accuracy is None
    assert result.output is None


def test_a_tuned_profile_compiles_to_the_bundle_that_was_promised(tmp_path: Path) -> None:
    output = tmp_path / "tuned.profile.json"
    result = glowmcu.tune(GESTURES, gesture_samples(tmp_path), output=output, trials=9)
    bundle = glowmcu.compile(GESTURES, profile=output, output=tmp_path / "bundle")
    assert result.best.cost is not None
    assert bundle.manifest.arena_bytes == result.best.cost.arena_bytes
    method = result.best.options.calibration.method.value
    assert bundle.manifest.options["calibration"].startswith(method)


def test_budgets_are_kept(tmp_path: Path) -> None:
    samples = gesture_samples(tmp_path)
    plain = glowmcu.tune(GESTURES, samples, trials=1).plain
    assert plain.cost is not None
    limit = plain.cost.cycles
    result = glowmcu.tune(GESTURES, samples, cycle_budget=limit, trials=20)
    assert result.best.cost is not None
    assert result.best.cost.cycles <= limit
    assert result.budget.cycles == limit


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        ({"arena_budget": 100}, "B of arena, 100 are allowed"),
        ({"flash_budget": 1000}, "B of flash, 1000 are allowed"),
        ({"cycle_budget": 500}, "cycles, 500 are allowed"),
    ],
    ids=["arena", "flash", "cycles"],
)
def test_a_budget_that_nothing_fits_names_the_nearest(
    tmp_path: Path, budget: dict[str, int], text: str
) -> None:
    with pytest.raises(GlowmcuError) as caught:
        glowmcu.tune(GESTURES, gesture_samples(tmp_path), trials=3, **budget)
    assert caught.value.code == "GM342"
    assert "none of 3 trials fits the budget; the nearest: it takes " in str(caught.value)
    assert text in str(caught.value)
    assert caught.value.exit_code is ExitCode.DOES_NOT_FIT


ONE = np.random.default_rng(0).normal(size=(4, 6, 25, 1)).astype(np.float32)


@pytest.mark.parametrize(
    ("samples", "labels", "text"),
    [
        (ONE, np.zeros(3, int), "error[GM340]: 4 samples need 4 labels, got (3,)"),
        (ONE, np.zeros((2, 2), int), "error[GM340]: 4 samples need 4 labels, got (2, 2)"),
        (ONE, np.array([0, 1, 2, 4]), "got 4, the model's first output has 4 classes"),
        (ONE, np.array([0, 1, 2, -1]), "got -1, the model's first output has 4 classes"),
        (ONE, np.array([0, 1, 2, np.nan]), "class numbers from 0 on: got float64 nan"),
        (ONE, np.array([0, 1, 2, 1.5]), "class numbers from 0 on: got float64 1.5"),
        (ONE, np.array(list("abcd")), "class numbers from 0 on: got <U1 ['a']"),
        (ONE[:0], None, "error[GM306]: no samples"),
        (ONE * np.float32("nan"), None, "error[GM305]: input 'motion' is nan"),
        (ONE[:, :5], None, "error[GM304]: samples for input 'motion' must be (1, 6, 25, 1)"),
        (ONE * 0, None, "error[GM310]: every sample of input 'motion' is 0 throughout"),
    ],
    ids=["fewer labels", "a matrix of labels", "a class too many", "a negative class", "nan label",
         "half a class", "words", "nothing", "nan", "another shape", "constant"],
)  # fmt: skip
def test_data_that_do_not_fit_are_refused_in_words(
    samples: np.ndarray, labels: np.ndarray | None, text: str
) -> None:
    with pytest.raises(GlowmcuError) as caught:
        glowmcu.tune(GESTURES, samples, labels, trials=2)
    assert text.replace("motion", input_name()) in str(caught.value)


def test_one_hot_labels_are_class_numbers() -> None:
    graph = reference_graph(GESTURES.read_bytes(), GESTURES.name)
    source = SampleSource(ONE)
    numbers = read_labelled(graph, source, np.array([2, 0, 3, 2])).labels
    rows = read_labelled(graph, source, np.eye(4, dtype=np.float32)[[2, 0, 3, 2]]).labels
    assert numbers is not None
    assert rows is not None
    assert rows.tolist() == numbers.tolist() == [2, 0, 3, 2]


def input_name() -> str:
    onnx = pytest.importorskip("onnx")
    return str(onnx.load(GESTURES).graph.input[0].name)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"trials": 0}, "error[GM344]: trials must be greater than 0, got 0"),
        ({"time_limit": -1.0}, "error[GM344]: time must be greater than 0, got -1.0"),
        ({"jobs": 0}, "error[GM344]: jobs must be a number of processes or the address"),
        ({"flash_budget": 0}, "error[GM344]: flash_budget must be greater than 0, got 0"),
        ({"io": "int4"}, "error[GM347]: io must be one of int8, float, got 'int4'"),
        (
            {"optimize": "best"},
            "error[GM347]: optimize must be one of balanced, speed, size, ram, flash",
        ),
        ({"labels": "none.npy"}, "error[GM345]: cannot read labels: No such file"),
    ],
)
def test_options_that_cannot_be_are_refused_in_words(options: dict[str, object], text: str) -> None:
    with pytest.raises(GlowmcuError) as caught:
        glowmcu.tune(GESTURES, ONE, **options)  # type: ignore[arg-type]
    assert str(caught.value).startswith(text)


def test_the_profile_of_another_model_is_refused(tmp_path: Path) -> None:
    glowmcu.profile(GESTURES, ONE, tmp_path / "gestures.profile.json")
    with pytest.raises(GlowmcuError) as caught:
        glowmcu.tune(DIGITS, CALIBRATION, profile=tmp_path / "gestures.profile.json", trials=1)
    assert caught.value.code == "GM301"


def test_labels_may_stand_in_a_file_of_their_own(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", ONE)
    np.save(tmp_path / "y.npy", np.array([0, 1, 2, 3]))
    result = glowmcu.tune(GESTURES, tmp_path / "x.npy", tmp_path / "y.npy", trials=1)
    assert result.labelled


@pytest.mark.arm
def test_measured_trials_cost_what_the_bundle_costs(tmp_path: Path) -> None:
    pytest.importorskip("unicorn")
    output = tmp_path / "tuned.profile.json"
    result = glowmcu.tune(GESTURES, ONE, output=output, trials=1, board="nrf52", measure=True)
    bundle = glowmcu.compile(GESTURES, profile=output, board="nrf52", output=tmp_path / "bundle")
    inputs = [np.zeros(entry.shape, entry.dtype) for entry in bundle.manifest.inputs]
    assert result.best.cost is not None
    cycles = bundle.measure(inputs, on="cortex-m").cycles
    assert cycles == pytest.approx(result.best.cost.cycles, rel=0.05)
    assert bundle.report.code_bytes is not None
    assert result.best.cost.flash_bytes == (bundle.report.weights_bytes + bundle.report.code_bytes)


def test_the_command_writes_profile_table_and_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from glowmcu.cli import main

    monkeypatch.chdir(tmp_path)
    samples = str(gesture_samples(tmp_path))
    arguments = ["tune", str(GESTURES), "--samples", samples, "--trials", "4", "-o", "g.json"]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "4 trials on 160 labelled samples; 4 trials done" in shown
    assert f"glowmcu compile {GESTURES} --profile g.json" in shown
    rows = (tmp_path / "g.pareto.csv").read_text().splitlines()
    assert rows[0].startswith("accuracy,sqnr_db,cycles,arena_bytes,flash_bytes")
    assert len(rows) == 5
    assert sum(row.split(",")[6] == "1" for row in rows[1:]) == 1
    record = json.loads((tmp_path / "g.pareto.json").read_text())
    assert record["best"] in record["trials"]
    assert len(record["trials"]) == 4
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == record


def test_ctrl_c_leaves_the_best_so_far_and_its_own_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from glowmcu.cli import main
    from glowmcu.tuning.evaluation import Evaluator

    evaluate, calls = Evaluator.evaluate, iter(range(100))

    def interrupted(self: Evaluator, options: QuantizationOptions) -> Trial:
        if next(calls) == 3:
            raise KeyboardInterrupt
        return evaluate(self, options)

    monkeypatch.setattr(Evaluator, "evaluate", interrupted)
    samples, output = str(gesture_samples(tmp_path)), tmp_path / "g.json"
    assert main(["tune", str(GESTURES), "--samples", samples, "-o", str(output)]) == 130
    assert "3 trials on 160 labelled samples; interrupted" in capsys.readouterr().out
    assert read_profile(output).options is not None
    assert len((tmp_path / "g.trials.jsonl").read_text().splitlines()) == 4


def test_the_picture_is_the_same_every_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from glowmcu.report.plots import pareto_svg

    result = glowmcu.tune(GESTURES, ONE, trials=3)
    svg = pareto_svg(result)
    assert svg == pareto_svg(result)
    assert "plain int8" in svg
    assert "flash (bytes)" in svg


def test_without_matplotlib_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from glowmcu.report import plots

    result = glowmcu.tune(GESTURES, ONE, trials=1)
    monkeypatch.setattr(plots, "can_plot", lambda: False)
    with pytest.raises(GlowmcuError, match=r'pip install "glowmcu\[plots\]"') as caught:
        plots.pareto_svg(result)
    assert caught.value.code == "GM717"
