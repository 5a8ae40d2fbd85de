"""Parsed attributes become the fields of operator dataclasses, checked against their type hints.

Every field must be given: a default that is taken in silence hides a misspelt name.
"""

from __future__ import annotations

import difflib
import re
import types
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import Field, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from glowmcu.ir.operation import Operation, OperationError
from glowmcu.ir.text.attribute_text import Raw, enum_text, operator_name
from glowmcu.lazy_dataclass import dataclass

Operations = Mapping[str, type[Operation]]
_Built = TypeVar("_Built")
#: A type as `get_type_hints` gives it: a class, a union, `tuple[int, ...]`, …
Hint = Any
_WHOLE = re.compile(r"0|[1-9]\d{0,8}")


def aliased(hint: Hint) -> Hint:
    """The type behind an alias of a `type` statement; NumPy 2.5 has one for arrays."""
    return getattr(get_origin(hint) or hint, "__value__", hint)


class FieldError(Exception):
    """Attributes that do not make an operator: code, message and hint of the error to raise."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


@dataclass(frozen=True)
class FieldReader:
    """Builds operators from attributes. `operations` are the known ones by registered name."""

    operations: Operations

    def operation_class(self, name: str) -> type[Operation]:
        """The class behind `glowmcu.conv_2d`; FieldError GM211 for a name that nobody knows."""
        known = {operator_name(cls): cls for cls in self.operations.values()}
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else "`glowmcu ops` lists them"
            raise FieldError("GM211", f"unknown operator {name!r}", hint)
        return known[name]

    def build(
        self,
        cls: type[_Built],
        attributes: Mapping[str, Raw],
        what: str,
        given: Mapping[str, object] | None = None,
    ) -> _Built:
        """An instance of dataclass `cls`; `what` names it in errors (GM212, GM213, GM214).

        Fields in `given` have their values already and are no attributes.
        """
        ready = given or {}
        names = [field.name for field in _fields(cls) if field.init and field.name not in ready]
        for name in attributes:
            if name not in names:
                near = difflib.get_close_matches(name, names, n=1)
                hint = f"did you mean {near[0]!r}? " if near else ""
                hint += f"it has: {', '.join(names) or 'no attributes'}"
                raise FieldError("GM212", f"{what} has no attribute {name!r}", hint)
        missing = [name for name in names if name not in attributes]
        if missing:
            message = f"{what} lacks attribute {', '.join(map(repr, missing))}"
            raise FieldError("GM213", message, "defaults are not filled in; write every attribute")
        hints = _hints(cls)  # type: ignore[arg-type]
        values = {
            name: self._convert(attributes[name], hints[name], f"{what}: attribute {name!r}")
            for name in names
        }
        try:
            return cls(**values, **ready)
        except (OperationError, ValueError, AssertionError) as cause:
            raise FieldError("GM214", f"{what}: {cause}") from cause

    def _convert(self, raw: Raw, hint: Hint, what: str) -> Raw:
        hint = aliased(hint)
        origin: Hint = get_origin(hint)
        arguments = get_args(hint)
        if origin in (Union, types.UnionType):
            return self._convert_union(raw, arguments, what)
        if hint in (None, type(None)):
            return _expect(raw is None, raw, "none", what)
        if hint is np.ndarray or origin is np.ndarray:
            return _expect(isinstance(raw, np.ndarray), raw, "dense elements", what)
        if origin in (tuple, Sequence):
            return self._convert_tuple(raw, arguments, what)
        if origin in (dict, Mapping):
            _expect(isinstance(raw, dict), raw, "a dictionary", what)
            return {
                _key(key, arguments[0], what): self._convert(item, arguments[1], what)
                for key, item in raw.items()
            }
        assert isinstance(hint, type), f"{what}: no text form for {hint}"
        return self._convert_class(raw, hint, what)

    def _convert_union(self, raw: Raw, choices: tuple[Hint, ...], what: str) -> Raw:
        problems = []
        for choice in choices:
            try:
                return self._convert(raw, choice, what)
            except FieldError as cause:
                problems.append(cause)
        raise problems[0]

    def _convert_tuple(self, raw: Raw, items: tuple[Hint, ...], what: str) -> tuple[Any, ...]:
        _expect(isinstance(raw, list), raw, "a list", what)
        if len(items) == 1 or items[1:] == (...,):
            return tuple(self._convert(item, items[0], what) for item in raw)
        _expect(len(raw) == len(items), raw, f"{len(items)} elements", what)
        return tuple(self._convert(item, hint, what) for item, hint in zip(raw, items, strict=True))

    def _convert_class(self, raw: Raw, hint: type[Any], what: str) -> Raw:
        if issubclass(hint, Enum):
            return _member(raw, hint, what)
        if issubclass(hint, Operation):
            op = self.operation(raw, what)
            return _expect(isinstance(op, hint), raw, f"a {operator_name(hint)}", what) and op
        if hint in (bool, int, float, str) or not is_dataclass(hint) or isinstance(raw, hint):
            # As in Python's own type system, an int may stand where a float is meant.
            fits = type(raw) is hint or (hint is float and type(raw) is int)
            return _expect(fits, raw, _WORDS.get(hint, hint.__name__), what)
        _expect(isinstance(raw, dict), raw, "a dictionary", what)
        return self.build(hint, raw, what)

    def operation(self, raw: Raw, what: str) -> Operation:
        """The operator in `{op = "glowmcu.add", field = …}`."""
        name = raw.get("op") if isinstance(raw, dict) else None
        _expect(isinstance(name, str), raw, "an operator", what)
        attributes = {key: value for key, value in raw.items() if key != "op"}
        return self.build(self.operation_class(str(name)), attributes, f"{what}: {name}")


_WORDS = {bool: "true or false", int: "an integer", float: "a number", str: "a string"}


def _key(text: str, hint: Hint, what: str) -> str | int:
    """A dictionary's key; attribute names are text, also where they stand for numbers."""
    if hint is not int:
        return text
    _expect(_WHOLE.fullmatch(text) is not None, text, "a dictionary by number", what)
    return int(text)


def _member(raw: Raw, kind: type[Enum], what: str) -> Enum:
    members = {enum_text(member): member for member in kind}
    fits = isinstance(raw, str) and raw in members
    return members[_expect(fits, raw, f"one of {', '.join(members)}", what)]


def _expect(fits: bool, raw: Raw, expected: str, what: str) -> Raw:
    if not fits:
        got = "none" if raw is None else str(raw)[:80]
        raise FieldError("GM214", f"{what} must be {expected}, got {got}")
    return raw


def _fields(cls: Hint) -> tuple[Field[Any], ...]:
    return fields(cls)


@cache
def _hints(cls: Hashable) -> dict[str, Any]:
    return get_type_hints(cls)
