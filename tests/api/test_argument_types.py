"""Wrong types in calls of Python end in an error that names the argument, not in a traceback."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, Literal, NewType

import numpy as np
import pytest

import glowmcu
from glowmcu.argument_types import _hint, _is_of, _text, arguments_checked
from glowmcu.errors import GlowmcuError
from tests.api.test_docstrings import ACTIVE, DOCUMENTED
from tests.support.open_models import open_model

Port = NewType("Port", str)
Word = Literal["one", "two"]
#: A type, what may be given for it, and what may not.
TYPES: dict[str, tuple[Any, list[object], list[object]]] = {
    "int": (int, [0, -7, np.int64(3)], [True, np.bool_(True), 3.0, "3", None]),
    "float": (float, [0, 0.5, np.float32(2)], [True, "0.5", None, [1.0]]),
    "bool": (bool, [True, False, 0, 1, np.bool_(False)], [2, 0.0, "no", None, []]),
    "text": (str, ["", "a", np.str_("b")], [b"a", 5, None, Path("a")]),
    "path": (str | Path, ["a", Path("a"), PurePath("a")], [5, b"a", None, ["a"]]),
    "optional": (int | None, [None, 5], ["5", []]),
    "word": (Word, ["one", "three"], [5, None, ["one"]]),
    "text with a name": (Port, ["serial:x"], [5]),
    "names": (Sequence[str], [["a"], ("a",), [], {"a": 1}.keys()], ["a", b"a", [5], {"a": 1}, 5]),
    "by name": (Mapping[str, int], [{}, {"a": 1}], [{"a": "1"}, {1: 1}, [("a", 1)], "a"]),
    "shape": (tuple[int | str, ...], [(1, "N"), [1, 2], ()], [(1.5,), "12", 5]),
    "range": (tuple[int, int], [(1, 2), [1, 2]], [(1,), (1, "2"), (1, 2, 3)]),
    "function": (Callable[[int], None], [print, len], [5, "print", None]),
    "array": (np.ndarray, [np.zeros(2), np.float32(1)], [5, "1", None, [1, 2]]),
    "class": (glowmcu.Report | str, ["a"], [5, glowmcu.Report]),
    "anything": (Any, [5, None, object()], []),
}


@pytest.mark.parametrize("name", TYPES)
def test_what_a_type_takes(name: str) -> None:
    hint, fit, others = TYPES[name]
    assert [value for value in fit if not _is_of(value, hint)] == []
    assert [value for value in others if _is_of(value, hint)] == []


def test_types_are_told_in_words() -> None:
    told = {name: _text(hint) for name, (hint, _, _) in TYPES.items()}
    assert told == {
        "int": "int", "float": "float", "bool": "bool", "text": "str", "path": "str or a path",
        "optional": "int or None", "word": "'one' or 'two'", "text with a name": "str",
        "names": "a sequence of str", "by name": "a mapping of str to int",
        "shape": "a tuple of int or str", "range": "a tuple of int, int",
        "function": "a function", "array": "ndarray", "class": "Report or str", "anything": "Any",
    }  # fmt: skip


def arguments() -> Iterator[tuple[str, str]]:
    for name, value in (*DOCUMENTED.items(), ("Quantization", glowmcu.Quantization)):
        if inspect.isfunction(value) or value is glowmcu.Quantization:
            for argument in inspect.signature(value).parameters:
                if argument != "self":
                    yield name, argument


#: What takes objects of any library: models, examples for them, tensors that numpy makes arrays of.
OPEN = ("model", "target", "example_inputs", "label", "real", "stored")


@pytest.mark.parametrize(
    ("name", "argument"), sorted(pair for pair in arguments() if pair[1] not in OPEN)
)
def test_every_argument_of_a_public_function_is_checked(name: str, argument: str) -> None:
    """Nothing is computed: what else has to be given is None, which is mostly wrong, too."""
    function: Any = DOCUMENTED[name]
    parameters = inspect.signature(function).parameters
    required = {
        one.name: None for one in parameters.values() if one.default is inspect.Parameter.empty
    }
    with pytest.raises(GlowmcuError) as caught:
        function(**{**required, argument: object()})
    assert {problem.code for problem in caught.value.problems} == {"GM726"}
    assert f"{argument} must be " in str(caught.value)


MODELS: dict[str, Callable[[Any], object]] = {
    "compile": glowmcu.compile,
    "inspect": glowmcu.inspect,
    "profile": lambda model: glowmcu.profile(model, [np.zeros(2, np.float32)]),
    "export": lambda model: glowmcu.export(model, "m.tflite"),
    "tune": lambda model: glowmcu.tune(model, [np.zeros(2, np.float32)]),
    "tune_kernels": glowmcu.tune_kernels,
    "compare": lambda model: glowmcu.compare(model, [np.zeros(2, np.float32)]),
}


@pytest.mark.parametrize("given", [5, None, object, {"model": 1}, [b"a"]], ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_what_is_no_model_is_refused_everywhere(name: str, given: Any) -> None:
    with pytest.raises(GlowmcuError) as caught:
        MODELS[name](given)
    assert [problem.code for problem in caught.value.problems] == ["GM116"]


CALLS: dict[str, tuple[Callable[[], object], str]] = {
    "a number for a board": (
        lambda: glowmcu.compile("x.tflite", board=5),  # type: ignore[arg-type]
        "compile: board must be str, got 5 (int)",
    ),
    "a number of samples": (
        lambda: glowmcu.compile("x.tflite", samples=3),  # type: ignore[arg-type]
        "compile: samples must be str or a path or",
    ),
    "a text for names": (
        lambda: glowmcu.compile("x.tflite", keep_inputs="state"),
        "compile: keep_inputs must be a sequence of str, got 'state' (str)",
    ),
    "no goal": (
        lambda: glowmcu.compile("x.tflite", optimize=None),  # type: ignore[arg-type]
        "compile: optimize must be 'balanced' or",
    ),
    "another class": (
        lambda: glowmcu.compile("x.tflite", quantization={"weights": 4}),  # type: ignore[arg-type]
        "compile: quantization must be Quantization or None, got {'weights': 4} (dict)",
    ),
    "a text for names of layers": (
        lambda: glowmcu.Quantization(keep_float="softmax"),
        "Quantization: keep_float must be a sequence of str or None, got 'softmax' (str)",
    ),
    "a method": (
        lambda: glowmcu.Bundle.run(object(), 5),  # type: ignore[arg-type]
        "Bundle.run: inputs must be a sequence of",
    ),
    "a long value": (
        lambda: glowmcu.load([0] * 100),  # type: ignore[arg-type]
        "0, 0, 0, 0, 0, 0, 0,… (list)",
    ),
    "memory in words": (
        lambda: glowmcu.memory_limit("8G"),  # type: ignore[arg-type]
        "memory_limit: memory_bytes must be int, got '8G' (str)",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_error_says_what_is_expected_and_what_was_given(name: str) -> None:
    call, words = CALLS[name]
    with pytest.raises(GlowmcuError) as caught:
        call()
    assert words in str(caught.value)
    assert [problem.code for problem in caught.value.problems] == ["GM726"]


#: Mappings by an argument, and values that none of them takes.
VALUES = {
    "input_shapes": 5, "bind": [1.0, 2.0], "states": 5, "slide": 1.5, "camera": 5, "custom": 5,
    "input_layouts": None, "place": 1,
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_values_of_mappings_are_looked_at(name: str) -> None:
    with pytest.raises(GlowmcuError, match=rf"GM726.*compile: {name} must be a mapping"):
        glowmcu.compile("x.tflite", **{name: {"x": VALUES[name]}})


def test_a_range_has_an_error_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "mean.onnx"
    file.write_bytes(open_model("mean"))
    with pytest.raises(GlowmcuError, match="GM714"):
        glowmcu.compile(file, define={"T": "1..9"})  # type: ignore[dict-item]
    with pytest.raises(GlowmcuError, match=r"GM726.*define must be a mapping of str"):
        glowmcu.compile(file, define=["T=1"])  # type: ignore[arg-type]


def test_all_wrong_arguments_are_named_at_once() -> None:
    with pytest.raises(GlowmcuError) as caught:
        glowmcu.compile("x.tflite", board=5, name=7, cores="2")  # type: ignore[arg-type]
    assert [problem.message.split()[1] for problem in caught.value.problems] == [
        "board", "name", "cores",
    ]  # fmt: skip


def test_calls_that_python_refuses_are_left_to_it() -> None:
    with pytest.raises(TypeError, match="bord"):
        glowmcu.compile("x.tflite", bord="nrf52")  # type: ignore[call-arg]


def test_every_name_of_an_annotation_is_found() -> None:
    """A name that is not would leave its argument unchecked."""
    for name, argument in sorted(pair for pair in arguments() if pair[1] not in OPEN):
        function: Any = DOCUMENTED[name]
        assert _hint(inspect.unwrap(function), argument) is not Any, (name, argument)


def test_a_check_leaves_the_function_as_it_is() -> None:
    def add(a: int, b: int = 2) -> int:
        """A sum."""
        return a + b

    checked = arguments_checked(add)
    assert (checked(1), checked(1, b=5), checked.__doc__) == (3, 6, "A sum.")
    assert inspect.signature(checked) == inspect.signature(add)
    assert set(ACTIVE) <= set(glowmcu.__all__)
