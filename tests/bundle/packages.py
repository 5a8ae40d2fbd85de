"""Bundles as packages of every build system, and the tools that check them."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from glowmcu.compilation import Compilation
from glowmcu.emit_c.packages.details import package_details
from glowmcu.emit_c.packages.package import Packaging, all_packages
from glowmcu.instrument import Instrument
from glowmcu.pipeline import compile_model
from tests.bundle.models import model_bytes, options_of
from tests.conftest import IN_CI

EVERY = tuple(all_packages())
SETTINGS = ("version=1.2.0", "vendor=Acme", "url=https://acme.example/kws?a=1&b=2")


def packaged(
    model: str,
    name: str = "",
    settings: Sequence[str] = SETTINGS,
    packages: Sequence[str] = EVERY,
    core: str = "generic",
    instrument: Instrument = Instrument.OFF,
) -> Compilation:
    """The bundle `name` (default: the model's) as all packages at once."""
    packaging = Packaging(tuple(packages), package_details(settings))
    options = replace(
        options_of(model), name=name or model, core=core, packaging=packaging, instrument=instrument
    )
    return compile_model(model_bytes(model), f"{model}.tflite", options)


def need_module(module: str) -> list[str]:
    """The command that runs a Python tool; it comes with the extra `test`."""
    if importlib.util.find_spec(module) is None:
        missing(f"{module} (pip install '.[test]')")
    return [sys.executable, "-m", module]


def missing(what: str) -> None:
    """What the project's own set-up installs: absent, CI fails and others skip."""
    if IN_CI:
        pytest.fail(f"CI must have {what}", pytrace=False)
    pytest.skip(f"needs {what}")


def need_program(program: str) -> str:
    """A program that the set-up does not install."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"needs {program} on PATH")
    return found


def schema(file: str) -> Path:
    """A file of the folder that GLOWMCU_SCHEMAS names; docs/build_systems.md says what is in it."""
    folder = os.environ.get("GLOWMCU_SCHEMAS")
    if not folder:
        pytest.skip(f"needs GLOWMCU_SCHEMAS, a folder with {file}: see docs/build_systems.md")
    path = Path(folder) / file
    assert path.is_file(), f"GLOWMCU_SCHEMAS has no {file}"
    return path


def run(command: Sequence[str | Path], cwd: Path, **environment: str) -> str:
    """The output of a command that must succeed."""
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env={**os.environ, **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert done.returncode == 0, f"{command}\n{said[-4000:]}"
    return said


SELFTEST_MAIN = """#include <stdio.h>
#include "{name}_selftest.h"
static {prefix}_ARENA(arena);
int main(void)
{{
    const int wrong = (int){name}_selftest(arena);
    printf("wrong bytes: %d\\n", wrong);
    return wrong != 0;
}}
"""


def selftest_main(name: str) -> str:
    """A program that fails when the network of the bundle `name` does."""
    return SELFTEST_MAIN.format(name=name, prefix=name.upper())


def properties(text: str) -> dict[str, str]:
    """A .properties file of plain `key=value` lines, and of comments."""
    lines = [line for line in text.splitlines() if not line.startswith("# ")]
    assert all(re.fullmatch(r"[a-z_]+=.+", line) for line in lines), text
    return dict(line.split("=", 1) for line in lines)
