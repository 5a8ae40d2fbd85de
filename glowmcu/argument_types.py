"""Arguments of public functions are of the types that their signatures name, or GM726 says so.

Annotations are the one table, read when a function gets something else than its defaults: what a
type checker finds is found without one, too. What an annotation leaves open (arrays, objects of
frameworks) is left to the function.
"""

from __future__ import annotations

import ast
import builtins
import collections.abc
import functools
import importlib
import inspect
import numbers
import os
import re
import sys
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any, Literal, NewType, ParamSpec, TypeVar, Union, get_args, get_origin

from glowmcu.errors import GlowmcuError, Problem

_P = ParamSpec("_P")
_R = TypeVar("_R")
_LONGEST_VALUE = 60
_UNIONS = (Union, types.UnionType)
#: What a module imports for a type checker only.
_FOR_TYPES = re.compile(r"^if TYPE_CHECKING:\n((?:(?: .*)?\n)+)", re.MULTILINE)
#: Mappings of whose values the functions themselves say more: GM714 names the ways to give a size.
_TOLD_ELSEWHERE = ("define",)


def arguments_checked(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorator: GM726 for every argument that has another type than the signature says."""

    @functools.wraps(function)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        problems = list(_problems(function, args, kwargs))
        if problems:
            raise GlowmcuError(problems)
        return function(*args, **kwargs)

    return checked


def fields_checked(kind: type[_R]) -> type[_R]:
    """Decorator of a dataclass: the same for what it is made of."""
    made: Any = kind
    fields(made)  # methods that are written late are there now
    made.__init__ = arguments_checked(made.__init__)
    return kind


def _problems(
    function: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> Iterator[Problem]:
    signature = _signature(function)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:  # too many, too few, unknown ones: Python itself says so in the call
        return
    called = function.__qualname__.removesuffix(".__init__")
    for name, value in given.items():
        parameter = signature.parameters[name]
        if name == "self" or value is parameter.default:
            continue
        hint = _hint(function, name)
        if name in _TOLD_ELSEWHERE and isinstance(value, Mapping):
            continue
        if not _is_of(value, hint):
            shown = repr(value)
            shown = shown if len(shown) <= _LONGEST_VALUE else f"{shown[:_LONGEST_VALUE]}…"
            yield Problem(
                "GM726",
                f"{called}: {name} must be {_text(hint)}, got {shown} ({type(value).__name__})",
                hint=f"help(glowmcu.{called}) shows what it takes",
            )


@functools.cache
def _signature(function: Callable[..., object]) -> inspect.Signature:
    return inspect.signature(function)


@functools.cache
def _hint(function: Callable[..., object], name: str) -> Any:  # noqa: ANN401 - a type of any kind
    """The annotation of an argument as a type; Any where a name in it cannot be found."""
    text = _signature(function).parameters[name].annotation
    if not isinstance(text, str):
        return text
    module = sys.modules[function.__module__]
    names = dict(vars(module))
    for node in ast.walk(ast.parse(text, mode="eval")):
        if not isinstance(node, ast.Name) or node.id in names or hasattr(builtins, node.id):
            continue  # the module's source need not be read for it
        if node.id in _imported_for_types(module.__name__):
            source, original = _imported_for_types(module.__name__)[node.id]
            names[node.id] = getattr(importlib.import_module(source), original)
    try:
        return eval(text, names)
    except NameError:
        return Any


@functools.cache
def _imported_for_types(module: str) -> Mapping[str, tuple[str, str]]:
    """Names that a module imports for a type checker only: where each is, and its name there."""
    try:
        blocks = _FOR_TYPES.findall(inspect.getsource(sys.modules[module]))
    except OSError:
        return {}
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for block in blocks
        for node in ast.parse(textwrap.dedent(block)).body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def _is_of(value: object, hint: Any) -> bool:  # noqa: ANN401 - a type of any kind
    """Whether `value` may be given where `hint` stands."""
    hint = _named(hint)
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if isinstance(hint, NewType):
        return _is_of(value, hint.__supertype__)
    if origin in _UNIONS:
        return any(_is_of(value, one) for one in inner)
    if origin is Literal:  # whether it is one of the words is the function's own question
        return isinstance(value, tuple({type(word) for word in inner}))
    if hint is None or hint is types.NoneType:
        return value is None
    if hint in _NUMBERS:
        return _is_number(value, hint)
    kind = origin or hint
    if getattr(kind, "_is_protocol", False) or not isinstance(kind, type):
        return True
    if kind.__module__ == "numpy":
        return hasattr(value, "__array__")
    if issubclass(kind, os.PathLike):
        return isinstance(value, os.PathLike)
    return _holds(value, kind, inner) if inner else isinstance(value, kind)


def _named(hint: Any) -> Any:  # noqa: ANN401 - a type of any kind
    """What an alias by Python 3.12's `type` statement is a name of, as numpy's are from 2.5 on."""
    return getattr(hint, "__value__", hint)


def _holds(value: object, kind: type, inner: tuple[Any, ...]) -> bool:
    """Whether `value` is a container of such a kind, with items of the types `inner`."""
    if issubclass(kind, tuple):
        return isinstance(value, tuple | list) and _items_are_of(value, inner)
    if issubclass(kind, collections.abc.Mapping):
        return isinstance(value, Mapping) and all(
            _is_of(key, inner[0]) and _is_of(item, inner[1]) for key, item in value.items()
        )
    if kind is not collections.abc.Sequence:
        return isinstance(value, kind)
    if isinstance(value, str | bytes | Mapping):
        return False
    if isinstance(value, list | tuple):
        return all(_is_of(item, inner[0]) for item in value)
    return isinstance(value, collections.abc.Iterable)


_NUMBERS: dict[Any, type] = {bool: bool, int: numbers.Integral, float: numbers.Real}


def _is_number(value: object, hint: Any) -> bool:  # noqa: ANN401 - a type of any kind
    """numpy's numbers are numbers; 0 and 1 say no and yes, but no and yes are no numbers."""
    is_bool = type(value).__name__ in ("bool", "bool_")
    if hint is bool:
        return is_bool or (isinstance(value, numbers.Integral) and value in (0, 1))
    return isinstance(value, _NUMBERS[hint]) and not is_bool


def _items_are_of(value: tuple[object, ...] | list[object], inner: tuple[Any, ...]) -> bool:
    if inner[1:] == (Ellipsis,):
        return all(_is_of(item, inner[0]) for item in value)
    return len(value) == len(inner) and all(map(_is_of, value, inner))


def _text(hint: Any) -> str:  # noqa: ANN401 - a type of any kind
    """`hint` in words."""
    hint = _named(hint)
    origin, inner = get_origin(hint), get_args(hint)
    if isinstance(hint, NewType):
        return _text(hint.__supertype__)
    if origin in _UNIONS:
        return " or ".join(dict.fromkeys(map(_text, inner)))
    if origin is Literal:
        return " or ".join(map(repr, inner))
    if hint is types.NoneType:
        return "None"
    if origin is collections.abc.Sequence:
        return f"a sequence of {_text(inner[0])}"
    if origin is not None and issubclass(origin, collections.abc.Mapping):
        return f"a mapping of {_text(inner[0])} to {_text(inner[1])}"
    if origin is tuple:
        rest = [item for item in inner if item is not Ellipsis]
        return f"a tuple of {', '.join(map(_text, rest))}"
    if origin is collections.abc.Callable:
        return "a function"
    kind = origin or hint
    if isinstance(kind, type) and issubclass(kind, os.PathLike):
        return "a path"
    return getattr(kind, "__name__", str(hint))
