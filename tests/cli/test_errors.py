"""What a user reads when something is wrong: full texts, by exit code.

Each text says what, where, expected and got, and what to try next; tests/golden/cli holds them.
"""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from glowmcu.delegation.vela import VelaEnded
from glowmcu.errors import ExitCode, GlowmcuError, Problem
from tests.cli.conftest import Ended, Run

Golden = Callable[[str, str], None]

USAGE, UNSUPPORTED, DOES_NOT_FIT = 2, 3, 4

#: Title, exit code, arguments.
OF_A_MODEL: list[tuple[str, int, str]] = [
    ("no such file", USAGE, "compile missing.tflite"),
    ("a folder", USAGE, "compile ."),
    ("not a flatbuffer", USAGE, "compile hello.tflite"),
    ("empty file", USAGE, "compile empty.tflite"),
    ("truncated", USAGE, "compile truncated.tflite"),
    ("a loop that grows", UNSUPPORTED, "compile control_flow.tflite"),
    ("dynamic shape", UNSUPPORTED, "compile dynamic.tflite"),
    ("shape of an unknown input", USAGE, "compile digits.tflite --input-shape z=1x2"),
    ("unknown input outside", USAGE, "compile digits.tflite --outside-input pixel"),
    ("shape that is none", USAGE, "compile dynamic.tflite --input-shape x=0x2"),
    ("unsupported operators", UNSUPPORTED, "compile unsupported.tflite"),
    ("operands that do not fit", UNSUPPORTED, "compile wrong_types.tflite"),
    ("unknown board", USAGE, "compile digits.tflite --board nrf25"),
    ("unknown board nothing like it", USAGE, "compile digits.tflite --board zzzzzz"),
    ("too large for the board", DOES_NOT_FIT, "compile large.tflite --board microbit"),
    ("arena budget too small", DOES_NOT_FIT, "compile digits.tflite --arena-budget 64"),
    ("budget that is no number of bytes", USAGE, "compile digits.tflite --flash-budget lots"),
    ("unknown build system", USAGE, "compile digits.tflite --emit arduino,zepyhr"),
    ("package detail that is none", USAGE, "compile digits.tflite --package author=me"),
    ("package version that is none", USAGE, "compile digits.tflite --package version=v1"),
    ("name of a standard header", USAGE, "compile digits.tflite --name string"),
    ("name with a digit first", USAGE, "compile digits.tflite --name 9lives"),
    ("name that is a keyword", USAGE, "compile digits.tflite --name int"),
    ("name with a path", USAGE, "compile digits.tflite --name ../x"),
    ("stream an input that is not there", USAGE, "compile digits.tflite --stream-input pixel"),
    ("stream two inputs", USAGE,
     "compile two_lists.tflite --stream-input left --stream-input right"),
    ("stream and keep an input", USAGE,
     "compile digits.tflite --stream-input pixels --keep-input pixels"),
    ("stream what has no rows", UNSUPPORTED, "compile two_lists.tflite --stream-input left"),
    ("two values for one name", USAGE,
     "compile dynamic.tflite --input-shape x=1x6x5x2 --input-shape x=1x8x5x2"),
    ("output is a file", USAGE, "compile digits.tflite -o pixels.npy"),
    ("output that would be a file", USAGE, "compile digits.tflite -o out/kws.c"),
    ("model at an address", USAGE, "compile https://example.com/m.tflite"),
    ("output below a file", USAGE, "compile digits.tflite -o pixels.npy/out"),
    ("output holds other files", USAGE, "compile digits.tflite -o ."),
]  # fmt: skip
OF_A_BUNDLE: list[tuple[str, int, str]] = [
    ("missing input", USAGE, "run out"),
    ("output holds another bundle", USAGE, "compile digits.tflite --name other -o out"),
    ("too many inputs", USAGE, "run out --input pixels.npy --input pixels.npy"),
    ("input of another shape", USAGE, "run out --input small.npy"),
    ("input to be reshaped", USAGE, "run out --input flat.npy"),
    ("input still float", USAGE, "run out --input real.npy"),
    ("input of another integer type", USAGE, "run out --input wide.npy"),
    ("input is no array", USAGE, "run out --input text.npy"),
    ("input is an archive", USAGE, "run out --input archive.npz"),
    ("input is not there", USAGE, "run out --input none.npy"),
    ("outputs cannot be written", USAGE, "run out --input pixels.npy --output pixels.npy"),
    ("unknown executor", USAGE, "run out --input pixels.npy --on gpu"),
    ("unknown executor to verify", USAGE, "verify out --on host,gpu"),
    ("verify against another model", USAGE, "verify out --model float.tflite"),
    ("not a bundle", USAGE, "run . --input pixels.npy"),
    ("no such bundle", USAGE, "bench nowhere"),
    ("a model in the place of a bundle", USAGE, "verify digits.tflite"),
    ("wait states that are none", USAGE, "bench out --wait-states many"),
]


def text_of(command: str, ended: Ended) -> str:
    return f"$ glowmcu {command}\n{ended.err}exit code {ended.exit_code}\n"


def check(command: str, ended: Ended, exit_code: int, title: str, golden: Golden) -> None:
    assert ended.exit_code == exit_code, ended.err
    assert ended.out == "", "an error goes to stderr alone"
    assert "Traceback" not in ended.err
    golden(f"cli/{title.replace(' ', '_')}.txt", text_of(command, ended))


@pytest.mark.parametrize(
    ("title", "exit_code", "command"), OF_A_MODEL, ids=[r[0] for r in OF_A_MODEL]
)
def test_what_is_wrong_with_a_compilation(
    title: str, exit_code: int, command: str, glowmcu_cli: Run, golden: Golden, work: Path
) -> None:
    before = sorted(path.name for path in work.iterdir())
    check(command, glowmcu_cli(*command.split()), exit_code, title, golden)
    assert sorted(path.name for path in work.iterdir()) == before, "nothing may be written"


@pytest.mark.parametrize(
    ("exit_code", "command"),
    [(USAGE, "compile missing.tflite"), (UNSUPPORTED, "compile unsupported.tflite"),
     (DOES_NOT_FIT, "compile digits.tflite --arena-budget 64"), (USAGE, "verify missing")],
)  # fmt: skip
def test_an_error_is_the_same_text_where_json_is_asked(
    exit_code: int, command: str, glowmcu_cli: Run
) -> None:
    plain, asked = glowmcu_cli(*command.split()), glowmcu_cli(*command.split(), "--json")
    assert asked.out == ""
    assert asked.err.startswith("error[GM")
    assert (asked.exit_code, asked.err) == (exit_code, plain.err)


@pytest.mark.parametrize(
    ("title", "exit_code", "command"), OF_A_BUNDLE, ids=[row[0] for row in OF_A_BUNDLE]
)
def test_what_is_wrong_with_a_run(
    title: str, exit_code: int, command: str, glowmcu_cli: Run, bundle: str, golden: Golden
) -> None:
    check(command, glowmcu_cli(*command.split()), exit_code, title, golden)


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("manifest is no JSON", "{"),
        ("manifest of another format", '{"format": 7}'),
        ("manifest lacks a key", '{"format": 1, "name": "digits"}'),
        ("manifest is a list", "[1, 2]"),
    ],
)
def test_a_broken_manifest_is_said_to_be_one(
    title: str, text: str, glowmcu_cli: Run, bundle: str, golden: Golden
) -> None:
    Path("out/manifest.json").write_text(text)
    command = "run out --input pixels.npy"
    check(command, glowmcu_cli(*command.split()), USAGE, title, golden)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"vectors": 3}', '{"vectors": [{"seed": 1, "outputs": ["zz"]}]}']
)
def test_broken_golden_vectors_are_said_to_be_broken(
    text: str, glowmcu_cli: Run, bundle: str
) -> None:
    Path("out/selftest/golden.json").write_text(text)
    ended = glowmcu_cli("verify", "out")
    assert ended.exit_code == USAGE
    assert ended.err.startswith("error[GM607]: cannot read the golden vectors: ")
    assert "hint: compile the model again" in ended.err


@pytest.mark.parametrize(
    "given",
    ["--define T=1 --define T=2", "--define T=1..9 --define T=1..8", "--slide x=1 --slide x=2",
     "--camera x=grey:8x8 --camera x=grey:9x9", "--state a=b --state a=c",
     "--input-layout x=nhwc --input-layout x=nchw", "--place arena=ram --place arena=dtcm",
     "--bind x=pixels.npy --bind x=flat.npy", "--package version=1.0.0 --package version=1.0.1"],
)  # fmt: skip
def test_two_values_for_one_name_are_both_said(given: str, glowmcu_cli: Run) -> None:
    ended = glowmcu_cli("compile", "digits.tflite", *given.split())
    assert ended.exit_code == USAGE
    option, first, _, second = given.split()
    name = first.partition("=")[0]
    said = f"error[GM154]: {option} is given twice for {name!r}: as {first!r} and as {second!r}"
    assert ended.err.startswith(said)


def test_a_value_that_is_said_twice_is_that_value(glowmcu_cli: Run) -> None:
    shape = ("--input-shape", "x=1x6x5x2")
    ended = glowmcu_cli("compile", "dynamic.tflite", "-o", "out", *shape, *shape, "--json")
    assert json.loads(ended.out)["outputs"][0]["shape"] == [1, 6, 5, 2]


def test_the_flag_that_the_message_names_fixes_a_dynamic_shape(glowmcu_cli: Run) -> None:
    ended = glowmcu_cli("compile", "dynamic.tflite", "-o", "out")
    hint = next(line for line in ended.err.splitlines() if "--input-shape" in line)
    flag = hint.partition("--input-shape ")[2].split()[0]
    assert (
        glowmcu_cli("compile", "dynamic.tflite", "-o", "out", "--input-shape", flag).exit_code == 0
    )
    larger = ["--input-shape", "x=1x6x5x2", "--json"]
    ended = glowmcu_cli("compile", "dynamic.tflite", "-o", "out", *larger)
    assert json.loads(ended.out)["outputs"][0]["shape"] == [1, 6, 5, 2]


def test_the_name_that_the_message_suggests_is_accepted(glowmcu_cli: Run) -> None:
    for name in ("9lives", "int", "../x", "glowmcu_x", "", "x" * 60):
        ended = glowmcu_cli("compile", "digits.tflite", "-o", "out/x", "--name", name)
        assert ended.exit_code == USAGE
        suggested = ended.err.partition("hint: --name ")[2].split()[0]
        named = ("--name", suggested, "-o", f"out/{suggested}")
        ended = glowmcu_cli("compile", "digits.tflite", *named)
        assert ended.exit_code == 0, (name, suggested, ended.err)


def test_a_failed_compilation_leaves_an_older_bundle(glowmcu_cli: Run, bundle: str) -> None:
    before = Path("out/manifest.json").read_bytes()
    into = ("-o", "out", "--name", "digits")
    assert glowmcu_cli("compile", "unsupported.tflite", *into).exit_code == UNSUPPORTED
    assert glowmcu_cli("compile", "large.tflite", "--board", "microbit", *into).exit_code == 4
    assert Path("out/manifest.json").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["compile"], "Missing argument 'MODEL'"),
        (["frobnicate"], "No such command 'frobnicate'"),
        (
            ["compile", "digits.tflite", "--optimize", "fast"],
            "'balanced', 'speed', 'size', 'ram', 'flash'",
        ),
        (["verify", "out", "--samples", "many"], "expected a number up to 100000, got 'many'"),
        (["run", "--frob"], "No such option"),
        (["run"], "Missing argument 'BUNDLE'"),
        (["run", "out", "--inputs", "x.npy"], "'--input'"),
        (["run", "out", "pixels.npy"], "(pixels.npy): inputs go with --input"),
        (["compile", "digits.tflite", "--target", "nrf52"], "Did you mean '--board'?"),
        (["digits.tflite", "--board", "nrf52"], "`glowmcu compile digits.tflite --board nrf52`?"),
        (["my model.ONNX"], "Did you mean `glowmcu compile 'my model.ONNX'`?"),
        (["version"], "Did you mean `glowmcu --version`?"),
        (["help", "compile"], "Did you mean `glowmcu compile --help`?"),
        (["help", "frobnicate"], "Did you mean `glowmcu --help`?"),
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str], said: str, glowmcu_cli: Run) -> None:
    ended = glowmcu_cli(*arguments)
    assert ended.exit_code == USAGE
    assert said in ended.err
    assert "--help" in ended.err


def test_a_bug_of_ours_is_exit_code_70_and_asks_for_a_report(
    glowmcu_cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from glowmcu.cli import list_commands

    def broken() -> None:
        raise RuntimeError("a wheel came off")

    monkeypatch.setattr(list_commands, "board_names", broken)
    ended = glowmcu_cli("boards")
    assert ended.exit_code == 70
    assert ended.err.startswith("error[GM900]: internal error, a bug of glowmcu ")
    assert "a wheel came off" in ended.err
    assert "please report it" in ended.err


def test_a_flash_budget_that_nothing_keeps_says_how_much_would_do(glowmcu_cli: Run) -> None:
    """No golden text: code changes with every compiler."""
    ended = glowmcu_cli("compile", "digits.tflite", "--flash-budget", "1K")
    assert ended.exit_code == DOES_NOT_FIT
    found = re.search(
        r"error\[GM402\]: the flash budget is 1024 B, .* takes (?:about )?(\d+) B", ended.err
    )
    assert found is not None, ended.err
    assert f"--flash-budget {found[1]}" in ended.err
    enough = glowmcu_cli("compile", "digits.tflite", "--flash-budget", found[1])
    assert enough.exit_code == 0, enough.err


def test_what_is_the_same_in_many_places_is_said_once() -> None:
    same = [Problem("GM102", "operator X is not supported", f"node {n}", "hint") for n in range(7)]
    other = Problem("GM102", "operator Y is not supported", "node 9")
    cause = GlowmcuError([*same, other])
    assert len(cause.problems) == 8
    assert (
        str(cause)
        == cause.for_shell
        == """\
error[GM102]: operator X is not supported
  --> node 0
  --> node 1
  --> node 2
  --> node 3
  --> and 3 more
  hint: hint
error[GM102]: operator Y is not supported
  --> node 9"""
    )


@pytest.mark.parametrize(
    "made",
    [
        GlowmcuError([Problem("GM101", "a", "b", "c"), Problem("GM102", "d", bind=("x",))],
                     ExitCode.UNSUPPORTED),
        VelaEnded([Problem("GM776", "it ended")], "it ended"),
    ],
)  # fmt: skip
def test_an_error_is_the_same_in_another_process(made: GlowmcuError) -> None:
    """A pool of processes hangs where what a worker raises cannot be made again."""
    found = pickle.loads(pickle.dumps(made))
    assert type(found) is type(made)
    assert vars(found) == vars(made)
    assert str(found) == str(made)
