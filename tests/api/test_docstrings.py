"""Every public function, class and method explains itself by an example, and the examples run."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.examples import find_example, write_example
from glowmcu.verify.executors import executor

#: A name for `str`, and a text: neither can have a docstring of its own.
WITHOUT = {"SerialPort", "__version__"}
#: Classes whose methods people call; the others are results, to be looked at.
ACTIVE = ("Bundle", "Session", "ReportPage")


def documented() -> Iterator[tuple[str, object]]:
    for name in glowmcu.__all__:
        if name not in WITHOUT:
            yield name, getattr(glowmcu, name)
    for name in ACTIVE:
        kind = getattr(glowmcu, name)
        for method, value in vars(kind).items():
            if not method.startswith("_") and inspect.isfunction(value):
                yield f"{name}.{method}", value


DOCUMENTED = dict(documented())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As after `glowmcu example digits`, with a bundle in `build/digits`."""
    write_example(find_example("digits"), tmp_path)
    monkeypatch.chdir(tmp_path)
    glowmcu.compile("digits_int8.tflite", output="build/digits")
    return tmp_path


def examples_of(name: str) -> doctest.DocTest:
    text = inspect.getdoc(DOCUMENTED[name]) or ""
    globs = {"glowmcu": glowmcu, "np": np}
    return doctest.DocTestParser().get_doctest(text, globs, name, None, 0)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_what_is_public_has_a_docstring_with_an_example(name: str) -> None:
    text = DOCUMENTED[name].__doc__ or ""
    assert text.strip(), "no docstring"
    assert examples_of(name).examples, "no example"


@pytest.mark.parametrize("name", DOCUMENTED)
def test_examples_show_what_happens(name: str, folder: Path) -> None:
    test = examples_of(name)
    words = "".join(example.source for example in test.examples)
    if "cortex-m" in words or "glowmcu.bench" in words or "tune_kernels" in words:
        lacking = executor("cortex-m", glowmcu.load("build/digits").board).missing()
        if lacking is not None:
            pytest.skip(lacking)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(test, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)


def test_the_module_says_what_it_is_for() -> None:
    assert "glowmcu.compile" in (glowmcu.__doc__ or "")


FUNCTIONS = [
    name for name in glowmcu.__all__ if inspect.isfunction(inspect.unwrap(getattr(glowmcu, name)))
]


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"memory_limit"}))
def test_a_function_names_the_errors_that_it_raises(name: str) -> None:
    assert "Raises" in (getattr(glowmcu, name).__doc__ or "")


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
#: What a block of the page needs besides the package: a module.
NEEDS = {"import torch": "torch", "to_dataframe()": "pandas", "glowmcu.bench": "unicorn"}


def test_the_page_of_the_api_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    ran = 0
    for block in blocks:
        needed = [module for words, module in NEEDS.items() if words in block]
        if all(importlib.util.find_spec(module) for module in needed):
            exec(compile(block, "docs/python.md", "exec"), names)
            ran += 1
    assert ran >= len(blocks) - len(NEEDS) > 5


def test_the_page_of_the_api_names_every_function() -> None:
    assert [name for name in FUNCTIONS if name != "memory_limit" and f"`{name}`" not in PAGE] == []
