"""What a command imports is counted, not how long it takes: some do little else."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from unittest import mock

import click
import pytest

from glowmcu.cli.main import COMMANDS, group, main

REPO = Path(__file__).resolve().parents[2]
#: What none of the commands that only say something has a use for.
HEAVY = {"cffi", "flatbuffers", "jinja2", "numpy", "onnx", "tflite"}
#: Modules at the end of a command: those of Python and click, and a few of the package's own.
MOST_MODULES = {"--version": 180, "--help": 190, "explain": 220, "boards": 350}
#: After a compilation of an int8 model: of them two thirds are the package's own.
MOST_OF_COMPILING = 1060


def modules_after(*arguments: str) -> set[str]:
    """What is imported when the command line has done its work."""
    code = (
        "import sys; from glowmcu.cli import main; main(sys.argv[1:]); "
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=REPO,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("command", MOST_MODULES)
def test_commands_that_only_say_something_import_next_to_nothing(command: str) -> None:
    modules = modules_after(command)
    packages = {name.partition(".")[0] for name in modules}
    assert "glowmcu" in packages
    assert not packages & HEAVY
    assert len(modules) <= MOST_MODULES[command]


def test_compiling_an_int8_file_imports_neither_quantization_nor_executors(tmp_path: Path) -> None:
    model = REPO / "examples" / "digits" / "digits_int8.tflite"
    modules = modules_after("compile", str(model), "-o", str(tmp_path / "bundle"))
    unused = (
        "cffi", "onnx", "unicorn", "glowmcu.frontend.onnx.reader", "glowmcu.quant.quantizer",
        "glowmcu.tuning", "glowmcu.verify.executors", "glowmcu.verify.firmware",
        "glowmcu.verify.serial", "glowmcu.delegation.vela", "glowmcu.learning.training_graph",
        "glowmcu.kernels.helium.matrix", "glowmcu.kernels.dsp.mul",
    )  # fmt: skip
    assert "glowmcu.frontend.tflite.reader" in modules
    assert not modules & set(unused)
    # Of the schema what the model has; no dump, no metadata of packages, no pools of processes.
    assert sum(name.startswith("tflite.") for name in modules) < 40
    unused_too = {"glowmcu.ir.text", "importlib.metadata", "multiprocessing", "zipfile"}
    assert not modules & unused_too
    assert len(modules) <= MOST_OF_COMPILING


def test_a_command_looks_for_cycles_of_objects_less_often_and_leaves_python_as_it_was() -> None:
    before, during = gc.get_threshold(), []

    def noted(*arguments: object, **options: object) -> int:
        during.append(gc.get_threshold())
        return 0

    with mock.patch.object(group, "main", noted):
        assert main([]) == 0
        gc.set_threshold(0)  # somebody wants none of it
        assert main([]) == 0
    assert gc.get_threshold()[0] == 0
    gc.set_threshold(*before)
    assert during == [(50_000, *before[1:]), (0, *before[1:])]


def test_the_lines_of_help_are_those_of_the_commands() -> None:
    context = click.Context(group)
    for name, (_, line) in COMMANDS.items():
        command = group.get_command(context, name)
        assert command is not None
        assert command.name == name
        assert command.get_short_help_str(limit=200) == line


def test_every_public_name_is_found_where_the_package_says() -> None:
    import glowmcu
    import glowmcu.api

    for package in (glowmcu, glowmcu.api):
        for name in package.__all__:
            assert getattr(package, name).__name__ if name != "__version__" else True
        assert set(package.__all__) <= set(dir(package))
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            package.nothing  # noqa: B018
