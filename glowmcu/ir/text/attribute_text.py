"""Attribute values as MLIR attributes: what a dataclass field holds, printed and parsed back.

None            none                       int       5 : i64
True            true                       float     1.5, or its bits where not finite
(1, 2)          array<i64: 1, 2>           str       "text"
(a, b), mixed   [a, b]                     Enum      "value"
numpy array     dense<…> : tensor<4xi8>    dataclass {field = …}
TensorType      tensor<…>                  Operation {op = "glowmcu.add", field = …}
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from glowmcu.ir.operation import Array, Operation, Signature
from glowmcu.ir.text.scanner import Scanner, quoted
from glowmcu.ir.text.sidecar import INLINE_BYTES, Sidecar, store
from glowmcu.ir.text.type_text import (
    Aliases,
    at_type,
    parse_signature,
    parse_type,
    print_float,
    print_type,
)
from glowmcu.ir.types import TensorType, element_type_of

#: Types that a field may hold and a parsed attribute has: None, bool, int, float, str, list, dict,
#: array, TensorType or Signature.
Raw = Any

#: Up to this many elements an integer array is printed as a list, else as hexadecimal bytes.
_LIST_LENGTH = 16
_DEEPEST = 32

_KEYWORD = re.compile(r"(?:none|true|false|unit)\b")
_FLOAT = re.compile(r"[-+]?\d+\.\d*(?:[eE][-+]?\d+)?")
_FLOAT_BITS = re.compile(r"0x([0-9A-Fa-f]{16})\s*:\s*f64\b")
_INTEGER = re.compile(r"-?\d{1,40}(?![\w.])")
_INTEGER_TYPE = re.compile(r"(?:s|u)?i\d+\b")
_ARRAY_HEAD = re.compile(r"array<\s*(i64|i1|f64)\b")
_ARRAY_ITEM = re.compile(r"[-+.\w]+")
_LIST = re.compile(r"[-\[\]\d\s,aeflrstu]*")
_HEX = re.compile(r'"0x((?:[0-9A-Fa-f]{2})*)"')
_KEY = re.compile(r"[A-Za-z_][\w.]*")


def operator_name(operation: type[Operation]) -> str:
    """`glowmcu.conv_2d`; a plug-in's name that has a dialect of its own stays as it is."""
    return operation.name if "." in operation.name else f"glowmcu.{operation.name}"


class AttributePrinter:
    """Prints values; arrays above INLINE_BYTES go to `sidecar` if there is one."""

    def __init__(self, sidecar: Sidecar | None) -> None:
        self._sidecar = sidecar

    def fields(self, value: Raw, name: str, skip: Sequence[str] = ()) -> dict[str, str]:
        """A dataclass's fields but `skip` as attributes; large arrays are called like `name`."""
        return {
            field.name: self.value(getattr(value, field.name), name)
            for field in fields(value)
            if field.init and field.name not in skip
        }

    def value(self, value: Raw, name: str) -> str:
        """One value."""
        if value is None:
            return "none"
        if isinstance(value, Enum):
            return quoted(enum_text(value))
        if isinstance(value, str):
            return quoted(value)
        if isinstance(value, (bool, np.bool_)):
            return "true" if value else "false"
        if isinstance(value, (int, np.integer)):
            return f"{int(value)} : i64"
        if isinstance(value, (float, np.floating)):
            return _print_f64(float(value))
        if isinstance(value, np.ndarray):
            return self.array(value, name)
        return self._composite(value, name)

    def _composite(self, value: Raw, name: str) -> str:
        if isinstance(value, TensorType):
            return print_type(value)
        if isinstance(value, Signature):
            return print_signature(value)
        if isinstance(value, Operation):
            attributes = {"op": quoted(operator_name(type(value)))}
            return braced(attributes | self.fields(value, name))
        if is_dataclass(value):
            return braced(self.fields(value, name))
        if isinstance(value, Mapping):
            return braced({quoted(str(key)): self.value(item, name) for key, item in value.items()})
        assert isinstance(value, (tuple, list)), f"{type(value).__name__} is no attribute"
        return self._sequence(value, name)

    def _sequence(self, values: Sequence[Raw], name: str) -> str:
        kinds = {type(value) for value in values}
        if kinds == {int}:
            return f"array<i64: {', '.join(map(str, values))}>"
        return f"[{', '.join(self.value(value, name) for value in values)}]"

    def array(self, data: Array, name: str) -> str:
        """`dense<…>`, or `dense_resource<key>` for what went to the sidecar."""
        type_ = print_type(TensorType(data.shape, element_type_of(data.dtype)))
        if self._sidecar is not None and data.nbytes > INLINE_BYTES:
            return f"dense_resource<{store(self._sidecar, name, data)}> : {type_}"
        if data.size == 0:
            return f"dense<> : {type_}"
        if data.dtype == np.bool_ or (data.size <= _LIST_LENGTH and data.dtype.kind in "iu"):
            return f"dense<{json.dumps(data.tolist())}> : {type_}"
        raw = data.astype(data.dtype.newbyteorder("<")).tobytes().hex().upper()
        return f'dense<"0x{raw}"> : {type_}'


def print_signature(signature: Signature) -> str:
    """`(types) -> (types)`."""
    inputs = ", ".join(map(print_type, signature.inputs))
    return f"({inputs}) -> ({', '.join(map(print_type, signature.outputs))})"


def braced(attributes: Mapping[str, str]) -> str:
    """`{key = attribute, …}`."""
    return "{" + ", ".join(f"{key} = {text}" for key, text in attributes.items()) + "}"


def enum_text(member: Enum) -> str:
    """A member's value if that is a string, else its name."""
    return member.value if isinstance(member.value, str) else member.name


def _print_f64(value: float) -> str:
    if np.isfinite(value):
        return print_float(value)
    return f"0x{struct.pack('>d', value).hex().upper()} : f64"


class AttributeParser:
    """Parses what AttributePrinter prints. `sidecar` holds the arrays that the text elides."""

    def __init__(
        self, scanner: Scanner, aliases: Aliases, sidecar: Mapping[str, Array] | None
    ) -> None:
        self._scanner = scanner
        self._aliases = aliases
        self._sidecar = sidecar
        self._depth = 0

    def dictionary(self) -> dict[str, Raw]:
        """`{key = attribute, …}`; GM213 for a key that stands twice."""
        found: dict[str, Raw] = {}

        def entry() -> None:
            start = self._scanner.position
            key = self._key()
            if key in found:
                raise self._scanner.fail("GM213", f"attribute {key!r} stands twice", at=start)
            self._scanner.expect("=")
            found[key] = self.value()

        self._scanner.sequence("{", entry, "}")
        return found

    def value(self) -> Raw:
        """One attribute."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._scanner.fail("GM210", f"attributes nest deeper than {_DEEPEST}")
        parsed = self._value()
        self._depth -= 1
        return parsed

    def _value(self) -> Raw:
        scanner = self._scanner
        keyword = scanner.try_match(_KEYWORD)
        if keyword is not None:
            return {"true": True, "false": False}.get(keyword[0])
        if scanner.peek('"'):
            return scanner.string()
        if scanner.peek("["):
            return scanner.sequence("[", self.value, "]")
        if scanner.peek("{"):
            return self.dictionary()
        if scanner.peek("("):
            return parse_signature(scanner, self._aliases)
        if scanner.peek("dense"):
            return self._dense()
        if scanner.peek("array<"):
            return self._array()
        if at_type(scanner):
            return parse_type(scanner, self._aliases)
        return self._number()

    def _key(self) -> str:
        if self._scanner.peek('"'):
            return self._scanner.string()
        return self._scanner.match(_KEY, "an attribute name")

    def _number(self) -> int | float:
        scanner = self._scanner
        bits = scanner.try_match(_FLOAT_BITS)
        if bits is not None:
            return float(struct.unpack(">d", bytes.fromhex(bits[1]))[0])
        real = scanner.try_match(_FLOAT)
        if real is not None:
            return float(real[0])
        whole = scanner.match(_INTEGER, "an attribute")
        if scanner.accept(":"):
            scanner.match(_INTEGER_TYPE, "an integer type")
        return int(whole)

    def _array(self) -> list[Raw]:
        scanner = self._scanner
        head = scanner.try_match(_ARRAY_HEAD)
        if head is None:
            raise scanner.unexpected("array<i64: …>")
        items: list[Raw] = []
        while scanner.accept(":" if not items else ","):
            start = scanner.position
            item = scanner.match(_ARRAY_ITEM, "a number")
            try:
                items.append(_ITEMS[head[1]](item))
            except (ValueError, KeyError) as cause:
                raise scanner.fail("GM210", f"{item!r} is no {head[1]}", at=start) from cause
        scanner.expect(">")
        return items

    def _dense(self) -> Array:
        scanner = self._scanner
        start = scanner.position
        if scanner.accept("dense_resource"):
            scanner.expect("<")
            key = scanner.match(_KEY, "the name of a constant")
            scanner.expect(">", ":")
            type_ = parse_type(scanner, self._aliases)
            return self._elided(key, type_, start)
        scanner.expect("dense", "<")
        raw = scanner.try_match(_HEX)
        text = "" if raw is not None else scanner.match(_LIST, "a list")
        scanner.expect(">", ":")
        type_ = parse_type(scanner, self._aliases)
        dtype = type_.element.numpy
        try:
            if raw is not None:
                flat = np.frombuffer(bytes.fromhex(raw[1]), dtype.newbyteorder("<"))
                return flat.astype(dtype).reshape(type_.shape)
            listed: Array = np.array(json.loads(text or "[]"), dtype)
            if listed.size and listed.shape != type_.shape:
                raise ValueError(f"elements of shape {listed.shape}")
            return listed.reshape(type_.shape)
        except (ValueError, OverflowError, TypeError, RecursionError) as cause:
            message = f"the elements are no {print_type(type_)}: {str(cause)[:120]}"
            raise scanner.fail("GM214", message, at=start) from cause

    def _elided(self, key: str, type_: TensorType, start: int) -> Array:
        if self._sidecar is None or key not in self._sidecar:
            raise self._scanner.fail(
                "GM217",
                f"the numbers of {key!r} are not in the text",
                "parse it with the constants.npz that was written beside it",
                start,
            )
        data = self._sidecar[key]
        if data.shape != type_.shape or data.dtype != type_.element.numpy:
            message = f"constant {key!r} is {data.dtype}{data.shape}, the text says "
            raise self._scanner.fail("GM217", message + print_type(type_), at=start)
        return data


_ITEMS: dict[str, Any] = {
    "i64": int,
    "f64": float,
    "i1": {"true": True, "false": False}.__getitem__,
}
