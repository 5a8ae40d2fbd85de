"""Names come from the model file: none may break out of a comment, a string, a symbol or a path."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.manifest import read_manifest
from glowmcu.pipeline import compile_model
from glowmcu.verify.host import Host
from glowmcu.verify.host_library import STRICT_FLAGS
from tests.support.check_model import expect_equal, random_inputs, write_bundle

NAMES = {
    "path separators": "../../etc/passwd",
    "absolute path": "/etc/cron.d/x",
    "backslashes": "..\\..\\x\\n\\",
    "quotes": "a\"b'c",
    "end of comment": "*/ int evil; /*",
    "end of comment by backslash": "*\\ int evil; /\\*",
    "questions": "?????/\n",
    "nested comment": "/* // */ #error",
    "newlines": "a\n#error broke out\r\nb",
    "line continuation": "a\\\nb\\",
    "trigraphs": "??/\n??/*??=error",
    "template": "{{ m.name }}{% for x in y %}",
    "preprocessor": '#include "/etc/passwd"',
    "format": "%s%n%d{0}",
    "control characters": "\x00\x01\x07\x1b[31m\x7f",
    "bidirectional override": "a\u202eb\u2066c",
    "wide": "\U0001f525\u4f60\u597d",
    "keyword": "while",
    "number": "1.5e3",
    "empty": "",
    "spaces": "   ",
    "long": "x" * 4000,
    "library prefix": "glowmcu_run",
    "rich markup": "[bold]a[/bold] [/]",
    "cmake": "${ENV{HOME}} ; $<1:x>",
    "markdown": "`a` | b <script>",
}


def model_named(name: str) -> bytes:
    """Everything that can have a name has this one: inputs, outputs, constants, model, graph."""
    model = ModelBuilder(description=name, name=name)
    x = model.input(name, (1, 4), "int8", 0.5, 1)
    other = model.input(name, (1, 4), "int8", 0.25, 0)
    weights = model.constant(name, np.arange(12, dtype=np.int8).reshape(3, 4), 0.1)
    bias = model.constant(name, np.array([1, 2, 3], np.int32))
    inner = model.tensor(name, (1, 4), "int8", 0.5, 0)
    y = model.tensor(name, (1, 3), "int8", 0.5, 0)
    model.op("ADD", [x, other], [inner])
    model.op("FULLY_CONNECTED", [inner, weights, bias], [y])
    model.output(inner)
    model.output(y)
    return model.finish()


def compiled(name: str) -> Compilation:
    return compile_model(model_named(name), f"{name[:60]}.tflite", Options("m"))


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
def test_a_hostile_name_stays_harmless_in_every_file(name: str, tmp_path: Path) -> None:
    compilation = compiled(name)
    folder = write_bundle(compilation, tmp_path / "bundle")
    for file, text in compilation.files.items():
        assert (folder / file).resolve().is_relative_to(folder.resolve())
        if file.endswith((".c", ".h")):
            assert text.isascii(), file
            assert not re.search(r"\?\?[=/'()!<>-]", text), f"{file} holds a trigraph"
            assert "int evil" not in without_comments_and_strings(text)
    sets = random_inputs(compilation, 1)
    check = Host(("-trigraphs", "-Wtrigraphs", "-Wcomment")).run(folder, sets)
    plain = Host().run(write_bundle(compiled("x"), tmp_path / "plain"), sets)
    for got, want in zip(check, plain, strict=True):
        for one, other in zip(got.outputs, want.outputs, strict=True):
            expect_equal(one, other, "a name changed the numbers")


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
def test_a_hostile_name_survives_the_manifest(name: str, tmp_path: Path) -> None:
    compilation = compiled(name)
    manifest = read_manifest(write_bundle(compilation, tmp_path))
    assert manifest == compilation.manifest
    if name:
        assert [entry.name for entry in manifest.inputs] == [name, name]
    symbols = [entry.symbol for entry in (*manifest.inputs, *manifest.outputs)]
    assert all(re.fullmatch(r"[a-z0-9_]+", symbol) for symbol in symbols)
    assert len(set(symbols[:2])) == 2
    assert len(set(symbols[2:])) == 2


def test_a_name_that_is_no_utf_8_is_replaced(tmp_path: Path) -> None:
    data = model_named("zzzz").replace(b"zzzz", b"\xff\xfe\xc0\xaf")
    compilation = compile_model(data, "m.tflite", Options("m"))
    assert compilation.manifest.inputs[0].name == "\ufffd" * 4
    Host().run(write_bundle(compilation, tmp_path), random_inputs(compilation, 1))


def test_a_name_longer_than_any_real_one_is_a_damaged_file() -> None:
    with pytest.raises(GlowmcuError, match="a tensor name of 5000 bytes"):
        compile_model(model_named("y" * 5000), "m.tflite", Options("m"))


@pytest.mark.parametrize("name", ["end of comment", "quotes", "newlines", "long", "wide"])
def test_other_compilers_and_languages_read_hostile_names_too(name: str, tmp_path: Path) -> None:
    folder = write_bundle(compiled(NAMES[name]), tmp_path)
    sources = [str(folder / file) for file in (*read_manifest(folder).sources,)]
    sources.append(str(folder / "selftest" / "m_selftest.c"))
    includes = [f"-I{folder}", f"-I{folder / 'selftest'}"]
    for command in (
        ["gcc", *STRICT_FLAGS],
        ["g++", "-x", "c++", "-std=c++11", "-pedantic", "-Wall", "-Wextra", "-Werror"],
    ):
        done = subprocess.run(
            [*command, "-fsyntax-only", *includes, *sources],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


def without_comments_and_strings(text: str) -> str:
    return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.DOTALL)
