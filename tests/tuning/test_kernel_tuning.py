"""`tune --kernels`: measured cycles decide, each candidate is measured once, compile takes them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from benchmarks.random_networks import random_network
from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.goals import Goal
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.pipeline import compile_model
from glowmcu.tuning.content_digest import content_digest
from glowmcu.tuning.kernel_cache import KernelCache, default_cache
from glowmcu.tuning.kernel_file import KernelFile, kernel_file_text, read_kernel_file
from glowmcu.verify.cortex_m import CortexM
from glowmcu.version import __version__
from tests.cli.conftest import Run, glowmcu_cli, work  # noqa: F401 - fixtures

_ABSENT = CortexM("cortex-m4").missing()
needs_tools = pytest.mark.skipif(_ABSENT is not None, reason=str(_ABSENT))


def softmaxes(shapes: list[tuple[int, int]]) -> bytes:
    """One softmax a shape, side by side: kernels with and without a table can compute it."""
    model = ModelBuilder()
    for number, shape in enumerate(shapes):
        x = model.input(f"x{number}", shape, "int8", 0.05, -4)
        y = model.tensor(f"y{number}", shape, "int8", 1 / 256, -128)
        model.op("SOFTMAX", [x], [y], {"beta": 1.0})
        model.output(y)
    return model.finish()


def kernels(data: bytes, choices: KernelChoices | None) -> list[str]:
    found = compile_model(data, "m.tflite", Options("m", core="cortex-m4", kernels=choices))
    return [item.kernel_name for item in found.selections.values()]


def test_measured_cycles_count_in_the_place_of_estimates() -> None:
    data = softmaxes([(1, 4), (1, 5)])
    (first, second) = compile_model(data, "m.tflite", Options("m")).selections
    slow_table = {name: {"softmax.table": 9e9} for name in (first.name, second.name)}
    assert kernels(data, None) == ["softmax.table"] * 2
    assert kernels(data, KernelChoices(cycles=slow_table)) == ["softmax.portable"] * 2
    assert kernels(data, KernelChoices({second.name: "softmax.portable"}))[1] == "softmax.portable"


def test_choices_that_cannot_be_are_named_all_at_once() -> None:
    data = softmaxes([(1, 4)])
    (node,) = compile_model(data, "m.tflite", Options("m")).selections
    choices = KernelChoices({node.name: "conv_2d.portable", "elsewhere": "softmax.table"})
    with pytest.raises(GlowmcuError) as caught:
        kernels(data, choices)
    assert [problem.code for problem in caught.value.problems] == ["GM507", "GM507"]
    text = str(caught.value)
    assert "'elsewhere', which this model does not have" in text
    assert "possible here: softmax.portable, softmax.table" in text


def test_a_choice_holds_whatever_scratch_a_search_for_ram_allows() -> None:
    """Every kernel that selection says is possible can be chosen; one with scratch was refused."""
    data = random_network(107_513)
    options = Options("m", core="cortex-m4", goal=Goal.RAM)
    for node, item in compile_model(data, "m.tflite", options).selections.items():
        for kernel in (item.kernel_name, *(name for name, _ in item.alternatives)):
            chosen = replace(options, kernels=KernelChoices({node.name: kernel}))
            found = compile_model(data, "m.tflite", chosen).selections
            names = [other.kernel_name for at, other in found.items() if at.name == node.name]
            assert kernel in names


def test_a_float_layer_and_what_quantizes_its_result_have_one_name(tmp_path: Path) -> None:
    """The kernel of the second was refused for the first."""
    model = ModelBuilder()
    x = model.input("x", (1, 6), "float32")
    y = model.tensor("y", (1, 6), "float32")
    model.op("SOFTMAX", [x], [y], {"beta": 1.0})
    model.output(y)
    samples = np.random.default_rng(0).normal(0, 1, (4, 6)).astype(np.float32)
    given: dict[str, Any] = {
        "samples": samples, "quantization": glowmcu.Quantization(keep_float=["softmax"]),
        "name": "m", "output": tmp_path / "m",
    }  # fmt: skip
    first = glowmcu.compile(model.finish(), **given)
    chosen = {layer.name: layer.chosen.kernel for layer in first.choices}
    assert len(chosen) < len(first.choices)
    file = tmp_path / "kernels.json"
    sha256 = hashlib.sha256(model.finish()).hexdigest()
    stored = KernelFile(sha256, first.board.core, "balanced", __version__, chosen)
    file.write_text(kernel_file_text(stored), encoding="utf-8")
    again = glowmcu.compile(model.finish(), kernels=file, **given)
    assert [layer.chosen for layer in again.choices] == [layer.chosen for layer in first.choices]


@pytest.mark.arm
@needs_tools
def test_the_second_run_measures_nothing_and_finds_the_same(tmp_path: Path) -> None:
    model = tmp_path / "m.tflite"
    model.write_bytes(softmaxes([(1, 4), (1, 9), (1, 4)]))
    runs = [
        glowmcu.tune_kernels(
            model, board="nrf52", cache=tmp_path / "cache", output=tmp_path / f"{number}.json"
        )
        for number in range(2)
    ]
    # Two kernels on two different layers; the third layer is as the first.
    assert [(run.measured, run.known, run.equal) for run in runs] == [(4, 0, 2), (0, 4, 2)]
    assert runs[0].layers == runs[1].layers
    assert (tmp_path / "0.json").read_text() == (tmp_path / "1.json").read_text()
    assert runs[0].cycles_after <= runs[0].cycles_before
    for layer in runs[0].layers:
        assert layer.cycles["softmax.portable"] > layer.cycles["softmax.table"] > 100


@pytest.mark.arm
@needs_tools
def test_measured_layers_cost_what_they_cost_in_the_bundle(tmp_path: Path) -> None:
    digits = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits_int8.tflite"
    file = tmp_path / "kernels.json"
    tuned = glowmcu.tune_kernels(digits, board="nrf52", cache=tmp_path / "c", output=file)
    bundle = glowmcu.compile(digits, board="nrf52", kernels=file, output=tmp_path / "b")
    chosen = [layer.chosen for layer in tuned.layers]
    assert [layer.kernel for layer in bundle.manifest.layers] == chosen
    inputs = [np.zeros(bundle.manifest.inputs[0].shape, np.int8)]
    costs = bundle.measure(inputs, board_memory=True).layers
    ranges = [cost.board_cycles for cost in costs if cost.board_cycles is not None]
    assert len(ranges) == len(costs)
    total = sum((found.low + found.high) / 2 for found in ranges)
    assert total == pytest.approx(tuned.cycles_after, rel=0.1)
    assert total > 1.05 * sum(cost.cycles or 0 for cost in costs), "the board's memories count"


@pytest.mark.arm
@needs_tools
def test_cycles_are_those_on_the_board_where_its_memories_are_known(tmp_path: Path) -> None:
    model, cache = tmp_path / "m.tflite", tmp_path / "cache"
    model.write_bytes(softmaxes([(1, 4), (1, 9)]))
    found = {
        board: glowmcu.tune_kernels(model, board=board, cache=cache)
        for board in ("mps2-an386", "nrf52", "nucleo-l4r5zi", "arduino-nano33ble")
    }
    assert [one.on_board for one in found.values()] == [False, True, True, True]
    # The same core; what was measured with other memories does not count, with the same it does.
    assert [(one.measured, one.known) for one in found.values()] == [(4, 0), (4, 0), (4, 0), (0, 4)]
    cycles = [one.cycles_after for one in found.values()]
    assert cycles[0] < min(cycles[1:])
    assert cycles[1] != cycles[2]
    assert cycles[3] == cycles[1]


def test_a_file_of_choices_is_read_as_it_was_written(tmp_path: Path) -> None:
    stored = KernelFile(
        "ab", "cortex-m4", "speed", "1", {"é": "k.a", "b": "k.b"}, {"é": {"k.a": 3.0}, "b": {}}
    )
    file = tmp_path / "k.json"
    file.write_text(kernel_file_text(stored), encoding="utf-8")
    assert read_kernel_file(file) == stored


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "glowmcu-kernels-1"}', '{"format": "other"}']
)
def test_what_is_no_file_of_choices_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "k.json"
    file.write_text(text)
    with pytest.raises(GlowmcuError) as caught:
        read_kernel_file(file)
    assert caught.value.problems[0].code == "GM508"


@pytest.mark.parametrize(("change", "what"), [("model_sha256", "another model"),
                                              ("core", "not for cortex-m0plus")])  # fmt: skip
def test_choices_for_another_model_or_core_are_refused(
    tmp_path: Path, change: str, what: str
) -> None:
    import hashlib

    data = softmaxes([(1, 4)])
    (tmp_path / "m.tflite").write_bytes(data)
    good = KernelFile(hashlib.sha256(data).hexdigest(), "cortex-m0plus", "balanced", "1", {})
    other = dataclasses.replace(good, **{change: "other"})
    for stored, refused in ((good, False), (other, True)):
        (tmp_path / "k.json").write_text(kernel_file_text(stored))
        if not refused:
            glowmcu.compile(
                tmp_path / "m.tflite", board="rp2040", kernels=tmp_path / "k.json",
                output=tmp_path / "out",
            )  # fmt: skip
            continue
        with pytest.raises(GlowmcuError) as caught:
            glowmcu.compile(
                tmp_path / "m.tflite", board="rp2040", kernels=tmp_path / "k.json",
                output=tmp_path / "none",
            )  # fmt: skip
        assert caught.value.problems[0].code == "GM509"
        assert what in caught.value.problems[0].message


class Color(Enum):
    RED = 1
    BLUE = 2


def test_digests_tell_contents_apart_and_nothing_else() -> None:
    array = np.arange(6, dtype=np.int8)
    different = [
        array, array.astype(np.int16), array.reshape(2, 3), array[::-1], [array], (1, 2), (12,),
        "12", 12, 12.0, True, None, Color.RED, Color.BLUE, b"12", KernelChoices({"a": "b"}),
        KernelChoices({"a": "c"}), {"a": 1}, {"a": 2},
    ]  # fmt: skip
    assert len({content_digest(value) for value in different}) == len(different)
    assert content_digest(array[::-1][::-1]) == content_digest(array.copy())
    assert content_digest({"a": 1, "b": 2}) == content_digest({"b": 2, "a": 1})


def test_a_damaged_cache_file_counts_as_absent(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    assert cache.get("abcd") is None
    cache.put("abcd", 12.5, "what")
    assert cache.get("abcd") == 12.5
    (file,) = tmp_path.rglob("*.json")
    for text in ("", "[]", '{"cycles": null}', "{"):
        file.write_text(text)
        assert cache.get("abcd") is None


def test_a_cache_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GlowmcuError) as caught:
        KernelCache(tmp_path / "file").put("abcd", 1.0, "what")
    assert caught.value.problems[0].code == "GM348"


def test_the_cache_is_where_the_system_wants_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert default_cache() == Path("/somewhere/glowmcu/kernels")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_cache() == Path.home() / ".cache" / "glowmcu" / "kernels"


def test_a_user_without_a_home_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    with pytest.raises(GlowmcuError) as caught:
        default_cache()
    assert caught.value.problems[0].code == "GM348"


@pytest.mark.arm
@needs_tools
def test_the_command_line_tunes_and_compile_takes_it(glowmcu_cli: Run) -> None:  # noqa: F811
    command = ("tune", "digits.tflite", "--kernels", "--board", "nrf52", "--cache", "cache")
    shown = glowmcu_cli(*command)
    assert shown.exit_code == 0, shown.err
    assert "compile digits.tflite --board nrf52 --kernels digits.kernels.json" in shown.out
    body = json.loads(glowmcu_cli(*command, "--json").out)
    assert (body["measured"], body["core"]) == (0, "cortex-m4")
    ended = glowmcu_cli(
        "compile", "digits.tflite", "--board", "nrf52", "--kernels", "digits.kernels.json", "--json"
    )
    layers = json.loads(ended.out)["layers"]
    assert [layer["kernel"] for layer in layers] == [layer["chosen"] for layer in body["layers"]]
    for layer, tuned in zip(layers, body["layers"], strict=True):
        assert layer["estimate"]["cycles"] == round(tuned["cycles"][layer["kernel"]])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("--cache c --samples pixels.npy", "--cache goes with --kernels only"),
        ("", "Missing option '--samples'"),
        ("--kernels --trials 3", "--trials has no meaning with --kernels"),
        ("--kernels --samples pixels.npy", "--samples has no meaning with --kernels"),
    ],
)
def test_options_of_the_other_search_are_refused(
    glowmcu_cli: Run, arguments: str, text: str  # noqa: F811
) -> None:  # fmt: skip
    ended = glowmcu_cli("tune", "digits.tflite", *arguments.split())
    assert ended.exit_code == 2
    assert text in ended.err
