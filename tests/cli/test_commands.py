"""What every command prints, as text and as JSON; the JSON's fields are a contract."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.board import board_names
from glowmcu.cores import core_names
from tests.cli.conftest import Run

DIGITS_MACS = 9 * 64 * 16  # of the first convolution alone; the whole network has more


def object_of(ended: Any) -> Any:
    assert ended.exit_code == 0, ended.err
    assert ended.err == ""
    return json.loads(ended.out)


def test_compile_json_has_the_fields_of_the_contract(glowmcu_cli: Run) -> None:
    body = object_of(
        glowmcu_cli("compile", "digits.tflite", "--board", "nrf52", "-o", "out", "--json")
    )
    for key in ("arena_bytes", "arena_lower_bound_bytes", "weights_bytes", "macs"):
        assert isinstance(body[key], int), key
        assert body[key] > 0
    assert body["code_bytes"] is None or body["code_bytes"] > 0
    assert body["arena_lower_bound_bytes"] <= body["arena_bytes"]
    assert body["macs"] > DIGITS_MACS
    tensor = {"name", "shape", "dtype", "scale", "zero_point"}
    assert [entry.keys() >= tensor for entry in (*body["inputs"], *body["outputs"])] == [True, True]
    assert body["inputs"][0]["shape"] == [1, 8, 8, 1]
    assert body["inputs"][0]["dtype"] == "int8"
    layer = {"index", "name", "op", "kernel", "macs", "weights_bytes", "scratch_bytes"}
    assert body["layers"]
    assert all(row.keys() >= layer for row in body["layers"])
    assert [row["index"] for row in body["layers"]] == list(range(len(body["layers"])))
    assert sum(row["macs"] for row in body["layers"]) == body["macs"]
    assert sum(row["weights_bytes"] for row in body["layers"]) == body["weights_bytes"]


def test_compile_says_what_was_made_and_what_comes_next(glowmcu_cli: Run) -> None:
    ended = glowmcu_cli("compile", "digits.tflite", "--board", "nrf52")
    assert ended.exit_code == 0
    for text in ("conv_2d", "arena", "weights", "compute", "fits", "build/digits/digits.h"):
        assert text in ended.out
    assert "glowmcu verify build/digits --on host,cortex-m" in ended.out
    assert Path("build/digits/digits.c").is_file()


def test_a_bundle_with_a_test_for_renode_says_how_that_is_run(glowmcu_cli: Run) -> None:
    ended = glowmcu_cli(
        "compile", "digits.tflite", "--board", "nrf52", "--emit", "renode", "-o", "a b/out",
        "--name", "kws",
    )  # fmt: skip
    assert ended.exit_code == 0
    [line] = [line for line in ended.out.splitlines() if line.startswith("  next ")]
    command = line.removeprefix("  next").strip()
    assert command == "make -C 'a b/out/renode' && renode-test 'a b/out/renode/kws.robot'"
    assert all(Path(word).exists() for word in shlex.split(command) if "out" in word)


@pytest.mark.parametrize(
    ("option", "told"), [("--instrument", "steps"), ("--dump-tensors", "tensors")]
)
def test_a_bundle_that_can_be_observed_says_so_and_gives_the_same_numbers(
    option: str, told: str, glowmcu_cli: Run
) -> None:
    ended = glowmcu_cli("compile", "digits.tflite", option, "-o", "seen")
    assert ended.exit_code == 0, ended.err
    assert f"instrument={told}" in Path("seen/digits.h").read_text(encoding="utf-8")
    assert json.loads(Path("seen/manifest.json").read_text())["options"]["instrument"] == told
    assert "glowmcu_profile.h" in Path("seen/README.md").read_text(encoding="utf-8")
    verified = glowmcu_cli("verify", "seen", "--on", "host,cortex-m", "--samples", "2")
    assert verified.exit_code == 0, verified.err


def test_the_report_is_what_python_gets(glowmcu_cli: Run, bundle: str) -> None:
    body = object_of(
        glowmcu_cli("compile", "digits.tflite", "--board", "nrf52", "-o", "again", "--json")
    )
    report = glowmcu.load(bundle).report
    for key in ("arena_bytes", "weights_bytes", "code_bytes", "macs"):
        assert body[key] == getattr(report, key)
    assert len(body["layers"]) == len(report.layers)


def test_name_board_rounding_and_goal_arrive_in_the_bundle(glowmcu_cli: Run) -> None:
    options = ["--name", "Net7", "--rounding", "single", "--optimize", "size"]
    ended = glowmcu_cli("compile", "digits.tflite", "-o", "out", "--board", "rp2040", *options)
    assert ended.exit_code == 0, ended.err
    manifest = glowmcu.load("out").manifest
    assert (manifest.name, manifest.board) == ("Net7", "rp2040")
    assert manifest.options == {"optimize": "size", "rounding": "single"}
    assert "int8_t *Net7_input(void *arena)" in Path("out/Net7.h").read_text()


@pytest.mark.arm
def test_budgets_are_kept_and_named_in_the_bundle(glowmcu_cli: Run, bundle: str) -> None:
    plain = glowmcu.load(bundle).report
    assert plain.code_bytes is not None
    flash = plain.weights_bytes + plain.code_bytes - 200
    budgets = ["--flash-budget", str(flash), "--ram-budget", f"{-(-plain.arena_bytes // 1024)}K"]
    body = object_of(
        glowmcu_cli(
            "compile", "digits.tflite", "--board", "nrf52", "-o", "within", *budgets, "--json"
        )
    )
    assert body["weights_bytes"] + body["code_bytes"] <= flash
    assert body["options"]["flash_budget"] == str(flash)
    assert glowmcu_cli("verify", "within", "--on", "host").exit_code == 0


def test_compile_tells_which_kernels_were_possible_and_what_they_would_cost(
    glowmcu_cli: Run,
) -> None:
    command = ("compile", "digits.tflite", "--board", "nrf52", "-o", "out")
    body = object_of(glowmcu_cli(*command, "--json"))
    softmax = body["layers"][-1]
    assert softmax["kernel"] == "softmax.table"
    (other,) = softmax["alternatives"]
    assert other["kernel"] == "softmax.portable"
    assert other["cycles"] > softmax["estimate"]["cycles"] > 0
    assert 0 == other["flash_bytes"] < softmax["estimate"]["flash_bytes"]
    shown = glowmcu_cli(*command, "--explain", "--report", "kernels.html")
    assert shown.exit_code == 0, shown.err
    page = Path("kernels.html").read_text()
    for layer in body["layers"]:
        for option in [{"kernel": layer["kernel"], **layer["estimate"]}, *layer["alternatives"]]:
            cycles = f"{option['cycles']:,}".replace(",", " ")
            shown_cycles = cycles.replace(" ", "\N{NARROW NO-BREAK SPACE}")
            assert f'<td>{option["kernel"]}</td><td class="n">{shown_cycles}</td>' in page
            assert re.search(rf"{re.escape(option['kernel'])} +{cycles} ", shown.out)


def test_run_json_tells_outputs_by_their_sha256(glowmcu_cli: Run, bundle: str) -> None:
    body = object_of(
        glowmcu_cli("run", bundle, "--input", "pixels.npy", "--output", "results", "--json")
    )
    assert body["instructions"] is None
    assert body["cycles"] is None
    assert body["stack_bytes"] is None
    (entry,) = body["outputs"]
    stored = np.load("results/out_0.npy")
    (expected,) = glowmcu.load(bundle).run([np.load("pixels.npy")])
    assert stored.tobytes() == expected.tobytes()
    assert entry["sha256"] == hashlib.sha256(expected.tobytes()).hexdigest()
    assert entry["shape"] == [1, 10]
    assert entry["dtype"] == "int8"
    assert entry["name"] == glowmcu.load(bundle).manifest.outputs[0].name


def test_run_shows_the_outputs_and_where_they_are(glowmcu_cli: Run, bundle: str) -> None:
    ended = glowmcu_cli("run", bundle, "--input", "pixels.npy", "--output", "results")
    assert ended.exit_code == 0
    assert "int8[1, 10]" in ended.out
    assert "results/out_0.npy" in ended.out


@pytest.mark.arm
def test_run_on_the_modelled_core_counts_and_gives_the_same_bytes(
    glowmcu_cli: Run, bundle: str
) -> None:
    host = object_of(glowmcu_cli("run", bundle, "--input", "pixels.npy", "--json"))
    arguments = ("run", bundle, "--input", "pixels.npy", "--on", "cortex-m", "--json")
    modelled = object_of(glowmcu_cli(*arguments))
    assert modelled["outputs"] == host["outputs"]
    assert modelled["instructions"] > DIGITS_MACS
    assert modelled["cycles"] >= modelled["instructions"]
    assert 0 < modelled["stack_bytes"] < 4096


def test_verify_passes_a_sound_bundle(glowmcu_cli: Run, bundle: str) -> None:
    body = object_of(glowmcu_cli("verify", bundle, "--model", "digits.tflite", "--json"))
    assert body["passed"] is True
    assert body["skipped"] == []
    (check,) = body["checks"]
    golden = len(json.loads(Path("out/selftest/golden.json").read_text())["vectors"])
    random_inputs = 3
    vectors = golden + random_inputs
    assert (check["executor"], check["vectors"], check["wrong_vectors"]) == ("host", vectors, 0)
    ended = glowmcu_cli("verify", bundle, "--samples", "1")
    assert ended.exit_code == 0
    assert "every byte equal" in ended.out


def test_verify_ends_with_1_where_golden_outputs_differ(glowmcu_cli: Run, bundle: str) -> None:
    file = Path("out/selftest/golden.json")
    body = json.loads(file.read_text())
    text = body["vectors"][1]["outputs"][0]
    body["vectors"][1]["outputs"][0] = text[:2] + f"{int(text[2:4], 16) ^ 1:02x}" + text[4:]
    file.write_text(json.dumps(body))
    ended = glowmcu_cli("verify", bundle, "--json")
    assert ended.exit_code == 1
    found = json.loads(ended.out)
    assert found["passed"] is False
    assert found["checks"][0]["wrong_vectors"] == 1
    assert "1 of 10 elements differ, first at (0, 1)" in found["checks"][0]["first_difference"]
    assert "1 differ" in glowmcu_cli("verify", bundle).out


def test_verify_ends_with_1_where_the_code_is_wrong(glowmcu_cli: Run, bundle: str) -> None:
    source = Path("out/digits.c")
    text = source.read_text()
    first_step = text.index("    GLOWMCU_STEP(1);")
    fault = "    for (int i = 0; i < DIGITS_ARENA_BYTES; ++i) { a[i] ^= 64; }\n"
    source.write_text(text[:first_step] + fault + text[first_step:])
    ended = glowmcu_cli("verify", bundle, "--model", "digits.tflite", "--samples", "20")
    assert ended.exit_code == 1, "a fault in the middle of the network went unnoticed"


@pytest.mark.arm
def test_bench_shows_hot_blocks_and_what_wait_states_cost(glowmcu_cli: Run, bundle: str) -> None:
    plain = object_of(glowmcu_cli("bench", bundle, "--json"))
    slow = object_of(glowmcu_cli("bench", bundle, "--wait-states", "board", "--hot=2", "--json"))
    assert (plain["wait_states"], slow["wait_states"]) == (0, 2)
    assert slow["cycles"] > plain["cycles"]
    assert slow["instructions"] == plain["instructions"]
    assert [len(block["code"]) > 0 for block in slow["hot"]] == [True, True]
    assert "hot" not in plain
    shown = glowmcu_cli("bench", bundle, "--hot", "1")
    assert re.search(r"1\. \d+\.\d %  [\d ]+ cycles, [\d ]+ times", shown.out)
    wrong = glowmcu_cli("bench", "--hot", bundle)
    assert wrong.exit_code == 2
    assert "the bundle goes before --hot" in wrong.err


@pytest.mark.arm
def test_bench_tells_the_cost_of_every_layer(glowmcu_cli: Run, bundle: str) -> None:
    body = object_of(glowmcu_cli("bench", bundle, "--json"))
    assert body["core"] == "cortex-m4"
    layers = glowmcu.load(bundle).manifest.layers
    assert [row["index"] for row in body["layers"]] == [layer.index for layer in layers]
    assert [row["macs"] for row in body["layers"]] == [layer.macs for layer in layers]
    # Markers between layers can keep gcc from moving a few instructions.
    assert sum(row["instructions"] for row in body["layers"]) <= 1.01 * body["instructions"]
    ended = glowmcu_cli("bench", bundle)
    assert ended.exit_code == 0
    assert "cycles/MAC" in ended.out
    assert "ms at 64 MHz" in ended.out


def test_inspect_shows_a_model_with_its_work(glowmcu_cli: Run) -> None:
    body = object_of(glowmcu_cli("inspect", "digits.tflite", "--json"))
    assert body["problems"] == []
    assert body["file_bytes"] == Path("digits.tflite").stat().st_size
    assert body["operators"][0]["op"] == "CONV_2D"
    assert body["operators"][0]["macs"] == DIGITS_MACS
    assert body["inputs"][0]["dtype"] == "int8"
    ended = glowmcu_cli("inspect", "digits.tflite")
    assert ended.exit_code == 0
    assert "CONV_2D" in ended.out


def test_inspect_shows_what_is_not_supported_too(glowmcu_cli: Run) -> None:
    body = object_of(glowmcu_cli("inspect", "unsupported.tflite", "--json"))
    assert [problem["code"] for problem in body["problems"]] == ["GM102"] * 7
    assert len(body["operators"]) == 8
    ended = glowmcu_cli("inspect", "unsupported.tflite")
    assert ended.exit_code == 0
    assert "custom operator 'MyOwn' is not supported" in ended.out


@pytest.mark.arm
def test_bench_shows_cycles_of_the_core_and_on_the_board(glowmcu_cli: Run, bundle: str) -> None:
    found = object_of(glowmcu_cli("bench", bundle, "--json"))
    board, cycles = found["board_cycles"], found["cycles"]
    assert cycles < board["low"] < board["high"] < 3 * cycles
    assert board["milliseconds_low"] == pytest.approx(board["low"] / 64e3)
    layers = found["layers"]
    assert all(x["cycles"] <= x["board_cycles"]["low"] for x in layers)
    assert sum(x["board_cycles"]["low"] for x in layers) <= board["low"]
    # 3.3 mA at 3 V for as long as the slower memories take.
    assert found["nanojoules"] == pytest.approx(3.3e-3 * 3 * board["milliseconds_high"] * 1e6)
    assert 0 < sum(x["nanojoules"] for x in layers) <= found["nanojoules"]
    shown = glowmcu_cli("bench", bundle).out
    assert re.search(r"cycles +on the board +share", shown)
    low, high = (f"{board[key]:,}".replace(",", " ") for key in ("low", "high"))
    assert f"on the board: {low} to {high} cycles, " in shown
    assert re.search(r"\d\.\d\d to \d\.\d\d ms at 64 MHz", shown)


@pytest.mark.arm
def test_bench_shows_the_core_alone_where_that_is_asked_for(glowmcu_cli: Run, bundle: str) -> None:
    on_board = object_of(glowmcu_cli("bench", bundle, "--json"))
    for options in (("--wait-states", "0"), ("--board", "generic", "--core", "cortex-m4")):
        alone = object_of(glowmcu_cli("bench", bundle, "--json", *options))
        assert alone["board_cycles"] is None
        assert alone["cycles"] == on_board["cycles"]
        assert "on the board" not in glowmcu_cli("bench", bundle, *options).out
    assert "3 wait states" in glowmcu_cli("bench", bundle, "--wait-states", "3").out


def test_boards_shows_all_that_one_says(glowmcu_cli: Run) -> None:
    shown = glowmcu_cli("boards", "nucleo-h743zi").out
    assert "flash    4 wait states for 32 bytes, of a clock 2 times slower" in shown
    assert "cache    code: 16 384 B, 512 lines of 32 B, 2 ways, lru" in shown
    assert "timing 2 of 2" in shown
    assert "fully associative" in glowmcu_cli("boards", "stm32f4-discovery").out
    assert "direct-mapped" in glowmcu_cli("boards", "nrf52").out
    assert "not described" in glowmcu_cli("boards", "generic").out
    (one,) = json.loads(glowmcu_cli("boards", "rp2040", "--json").out)
    assert one["timing"][0]["cache"] == {
        "size_bytes": 16384, "line_bytes": 8, "ways": 2, "replacement": "lru",
    }  # fmt: skip
    assert glowmcu_cli("boards", "rp2041").exit_code == 2


def test_boards_lists_all_with_core_and_memory(glowmcu_cli: Run) -> None:
    rows = object_of(glowmcu_cli("boards", "--json"))
    assert [row["name"] for row in rows] == list(board_names())
    assert all(row["core"] in core_names() for row in rows)
    assert all({"title", "mcu", "memory", "clock_hz"} <= row.keys() for row in rows)
    assert "nrf52" in glowmcu_cli("boards").out


def test_ops_lists_every_importer(glowmcu_cli: Run) -> None:
    rows = object_of(glowmcu_cli("ops", "--json"))
    names = [row["operator"] for row in rows if row["format"] == "tflite"]
    assert names == sorted(names)
    assert {"CONV_2D", "FULLY_CONNECTED", "SOFTMAX", "ADD"} <= set(names)
    assert "CONV_2D" in glowmcu_cli("ops").out


@pytest.mark.parametrize("command", ["compile", "inspect", "run", "verify", "bench", "boards"])
def test_every_command_explains_itself(command: str, glowmcu_cli: Run) -> None:
    ended = glowmcu_cli(command, "--help")
    assert ended.exit_code == 0
    assert ended.out.startswith(f"Usage: glowmcu {command} ")
    assert "--json" in ended.out


def test_version_is_the_packages(glowmcu_cli: Run) -> None:
    ended = glowmcu_cli("--version")
    assert ended.exit_code == 0
    assert glowmcu.__version__ in ended.out


def test_json_goes_to_stdout_alone_and_is_one_object(glowmcu_cli: Run, bundle: str) -> None:
    calls: list[tuple[Callable[[Any], bool], tuple[str, ...]]] = [
        (lambda body: isinstance(body, dict), ("compile", "digits.tflite", "-o", "b", "--json")),
        (lambda body: isinstance(body, dict), ("inspect", "digits.tflite", "--json")),
        (lambda body: isinstance(body, dict), ("run", bundle, "--input", "pixels.npy", "--json")),
        (lambda body: isinstance(body, dict), ("verify", bundle, "--json")),
    ]
    for is_right, arguments in calls:
        assert is_right(object_of(glowmcu_cli(*arguments))), arguments
