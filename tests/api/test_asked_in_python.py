"""What errors ask for: arguments in a program, options on a command line."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import glowmcu
from glowmcu.api.benchmark import BenchLimits
from glowmcu.asked_in_python import ARGUMENTS, in_python
from glowmcu.cli import main
from glowmcu.cli.main import COMMANDS, group
from glowmcu.verify.measurement import Measurement
from tests.bundle.models import digits

PACKAGE = Path(glowmcu.__file__).parent
#: What Python has no argument for, because it is said in another way: objects have `.json()`,
#: `glowmcu.compare` is `--against float`, a connected board is written to by a command.
COMMAND = re.compile(r"`glowmcu [^`]*`|glowmcu [a-z]+ [^,;]*")
COMMANDS_ALONE = {"--against", "--json", "--max-growth", "--probe", "--tool", "--chip", "--version"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("fix it: --define N=1 --define time=1..200", "fix it: define={'N': 1, 'time': (1, 200)}"),
        ("--define T=4..32:4, or", "define={'T': (4, 32, 4)}, or"),
        ("--input-shape x=1x4xT --define T=9",
         "input_shapes={'x': (1, 4, 'T')}, define={'T': 9}"),
        ("--input-shape x=4", "input_shapes={'x': (4,)}"),
        ("fix it: --input-shape 'my x=1x4' --define 'ü=1..9'",
         "fix it: input_shapes={'my x': (1, 4)}, define={'ü': (1, 9)}"),
        ("--bind a=value.npy --bind b=value.npy", "bind={'a': value, 'b': value}"),
        ("`--state none` leaves", "`states={}` leaves"),
        ("--slide x=2, or --slide y=2@3", "slide={'x': 2}, or slide={'y': '2@3'}"),
        ("--place weights:conv_3=itcm", "place={'weights:conv_3': 'itcm'}"),
        ("leave out --bind or --outside-input", "leave out bind or outside_inputs"),
        ("pass both: --model FILE --profile FILE", "pass both: model=FILE, profile=FILE"),
        ("--keep-float conv_1,conv_2",
         "quantization=glowmcu.Quantization(keep_float=['conv_1', 'conv_2'])"),
        ("add --int16 all --io float --keep-float a/b for", "add io='float', "
         "quantization=glowmcu.Quantization(int16=['all'], keep_float=['a/b']) for"),
        ("add --adaround for", "add quantization=glowmcu.Quantization(adaround=True) for"),
        ("--keep-float 'sofmax' is no node", "keep_float 'sofmax' is no node"),
        ("with --labels none; or", "with labels='none'; or"),
        ("another --optimize, or --optimize ram", "another optimize, or optimize='ram'"),
        ("for the same --board, or --board nrf52", "for the same board, or board='nrf52'"),
        ("glowmcu profile MODEL --samples DATA -o FILE, then --profile FILE",
         "glowmcu profile MODEL --samples DATA -o FILE, then profile=FILE"),
        ("`glowmcu compile --optimize ram` or `compile --profile`",
         "`glowmcu compile --optimize ram` or `compile --profile`"),
        ("a--define b, --definers --json", "a--define b, --definers --json"),
        ("", ""),
    ],
)  # fmt: skip
def test_options_become_arguments_and_commands_stay(text: str, wanted: str) -> None:
    assert in_python(text) == wanted
    assert in_python(wanted) == wanted


def parameters() -> set[str]:
    public = [getattr(glowmcu, name) for name in dir(glowmcu)]
    functions = [item for item in public if inspect.isfunction(item)]
    names = {name for item in functions for name in inspect.signature(item).parameters}
    others = (glowmcu.Quantization, glowmcu.Bundle.run)
    return names.union(*(inspect.signature(item).parameters for item in others))


@pytest.mark.parametrize("option", sorted(ARGUMENTS))
def test_arguments_that_are_named_exist(option: str) -> None:
    name = ARGUMENTS[option].name.rpartition(" ")[2].removesuffix("=True")
    module, _, member = name.rpartition(".")
    assert member in parameters() if not module else hasattr(glowmcu, member)
    assert option in options(), "and so do the options"


def options() -> set[str]:
    context = click.Context(group)
    commands = [group.get_command(context, name) for name in COMMANDS]
    return {text for command in commands if command for p in command.params for text in p.opts}


def texts(file: Path) -> Iterator[str]:
    """What a module may say: its strings but docstrings, values of f-strings left out."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    inner = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr | ast.Expr)
             for part in ast.iter_child_nodes(node)}  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(p.value) if isinstance(p, ast.Constant) else "9" for p in node.values)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inner:
            yield node.value


def test_whatever_option_the_library_names_python_has_a_name_for() -> None:
    named = {
        (option, str(file.relative_to(PACKAGE)))
        for file in sorted(PACKAGE.rglob("*.py"))
        if file.parent.name not in ("cli", "ci") and file.name != "asked_in_python.py"
        for text in texts(file)
        for option in re.findall(r"(?<![\w-])--[a-z][\w-]+", in_python(COMMAND.sub("", text)))
    }
    known = options()
    assert not [item for item in sorted(named) if item[0] in known - COMMANDS_ALONE]


def test_limits_and_wait_states_are_named_as_python_takes_them(tmp_path: Path) -> None:
    measured = Measurement((), cycles=1000, stack_bytes=200)
    with pytest.raises(glowmcu.GlowmcuError) as caught:
        BenchLimits(999, 199).check(measured, "b")
    assert "1 more than max_cycles=999 and 200 B of stack, 1 more than max_stack=199" in str(
        caught.value
    )
    assert "--max-cycles 999" in caught.value.for_shell
    (tmp_path / "net.tflite").write_bytes(digits())
    bundle = glowmcu.compile(tmp_path / "net.tflite", board="mps2-an386", output=tmp_path / "b")
    with pytest.raises(glowmcu.GlowmcuError, match="or give the number: wait_states=N") as caught:
        glowmcu.bench(bundle, wait_states="board")
    assert caught.value.code == "GM720"


def test_the_command_names_options_for_the_same_situation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "net.tflite"
    model.write_bytes(digits())
    with pytest.raises(glowmcu.GlowmcuError) as caught:
        glowmcu.compile(model, output=tmp_path / "b", arena_budget=64)
    assert re.search(r"give at least arena_budget=\d+", str(caught.value))
    call = ["compile", str(model), "-o", str(tmp_path / "b"), "--arena-budget", "64"]
    assert main(call) == 4
    assert re.search(r"give at least --arena-budget \d+", capsys.readouterr().err)


def test_a_place_is_the_users_own_word(tmp_path: Path) -> None:
    file = tmp_path / "--define T=1.onnx"
    with pytest.raises(glowmcu.GlowmcuError) as caught:
        glowmcu.compile(file)
    assert "--define T=1.onnx" in str(caught.value)
    model = tmp_path / "net.tflite"
    model.write_bytes(digits())
    with pytest.raises(glowmcu.GlowmcuError, match=r"place=\{'arena': 'nowhere'\}"):
        glowmcu.compile(model, board="nucleo-h743zi", place={"arena": "nowhere"})
