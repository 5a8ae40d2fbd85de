"""MLIR's attributes and types as Python values: what stands in texts of the `tosa` dialect.

true            True          dense<…> : tensor<2xi8>   numpy array     none    None
5 : i32         5             dense_resource<key> : …   numpy array     i32     "i32"
1.5 : f32       1.5           array<i64: 1, 2>, [1, 2]  list            #tosa.mode<A>   "A"
"text"          "text"        {a = 1}                   dict            tensor<2xi8>    TensorType
Source: MLIR language reference.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from glowmcu import limits
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.graph_builder import MAX_RANK
from glowmcu.ir.operation import Array
from glowmcu.ir.text.scanner import Scanner
from glowmcu.ir.types import ElementType, TensorType

#: None, bool, int, float, str, list, dict, array or TensorType.
Parsed = Any

_DEEPEST = 32
_ELEMENTS = {element.value: element for element in ElementType} | {"index": ElementType.I64}
_WORD = re.compile(r"[A-Za-z_][\w$.-]*")
_KEY = re.compile(r"[A-Za-z_][\w$.]*")
_NUMBER = re.compile(r"[-+]?(?:0x[0-9A-Fa-f]{1,32}|\d{1,40}(?:\.\d*)?(?:[eE][-+]?\d{1,5})?)")
_SIZE = re.compile(r"(\d{1,12}|\?|\*)\s*x\s*")
_HEX = re.compile(r'"0x((?:[0-9A-Fa-f]{2})*)"')
_LIST = re.compile(r"[-+\[\]\s,.xlrstu0-9A-Fa-f]*")
_HEX_NUMBER = re.compile(r"\b0x[0-9A-Fa-f]{1,16}\b")
#: A text in quotes, an arrow, a bracket, or what is none of them.
_PARAMETER = re.compile(r'"(?:[^"\\]|\\.)*"|->|[<>]|[^"<>-]+|-')
_SCALAR_TYPES = re.compile(r"(?:[su]?i\d{1,3}|b?f\d\w{0,12}|index)\b")
_QUANTIZED = re.compile(r"!quant\.uniform<\s*(i\d+)\s*(?:<[-\d:\s]*>)?[^<>]*>")
_ITEM = re.compile(r"[-+.\w]+")


class TextScanner(Scanner):
    """Whatever is wrong with the text of a model file is GM101."""

    def fail(self, code: str, message: str, hint: str = "", at: int | None = None) -> GlowmcuError:
        return super().fail(
            "GM101" if code.startswith("GM2") else code, message,
            hint or "is it MLIR's text of the dialect `tosa`, and complete?", at,
        )  # fmt: skip


class AttributeReader:
    """Reads from `scanner`. `resources` are blobs by name, as bytes; `allowed_bytes` is what all
    constants may take together.
    """

    def __init__(self, scanner: Scanner, resources: Mapping[str, bytes]) -> None:
        self._scanner = scanner
        self._resources = resources
        self._allowed_bytes = limits.results_bytes()
        self._depth = 0

    def dictionary(self) -> dict[str, Parsed]:
        """`{key = attribute, unit_key}`."""
        found: dict[str, Parsed] = {}

        def entry() -> None:
            scanner, start = self._scanner, self._scanner.position
            key = scanner.string() if scanner.peek('"') else scanner.match(_KEY, "a name")
            if key in found:
                raise scanner.fail("GM101", f"attribute {key[:80]!r} stands twice", at=start)
            found[key] = self.value() if scanner.accept("=") else None

        self._scanner.sequence("{", entry, "}")
        return found

    def value(self) -> Parsed:
        """One attribute, without its type."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._scanner.fail("GM101", f"attributes nest deeper than {_DEEPEST}")
        parsed = self._value()
        self._depth -= 1
        return parsed

    def _value(self) -> Parsed:
        scanner = self._scanner
        if scanner.peek('"'):
            return scanner.string()
        if scanner.peek("["):
            return scanner.sequence("[", self.value, "]")
        if scanner.peek("{"):
            return self.dictionary()
        if scanner.peek("dense"):
            return self.elements()
        if scanner.peek("array<"):
            return self._array()
        if scanner.peek("#"):
            return self._dialect_word()
        if scanner.peek("tensor<"):
            return self.tensor_type()
        if scanner.peek("@"):
            scanner.expect("@")
            return scanner.match(_WORD, "a symbol")
        if (word := scanner.try_match(_WORD)) is not None:
            return {"true": True, "false": False, "none": None, "unit": None}.get(word[0], word[0])
        return self._number()

    def _number(self) -> int | float:
        scanner = self._scanner
        text = scanner.match(_NUMBER, "an attribute")
        typed = scanner.match(_SCALAR_TYPES, "a type") if scanner.accept(":") else ""
        if typed == "f64" and text.lower().startswith("0x") and len(text) == 18:
            return float(struct.unpack(">d", bytes.fromhex(text[2:]))[0])
        is_hex = "0x" in text
        if typed.startswith(("f", "bf")) or (not is_hex and any(mark in text for mark in ".eE")):
            return math.nan if is_hex else float(text)
        return int(text, 16) if is_hex else int(text)

    def _dialect_word(self) -> str:
        """`#tosa.rounding_mode<DOUBLE_ROUND>`: the word inside; without one the name."""
        scanner = self._scanner
        scanner.expect("#")
        word = scanner.match(_WORD, "an attribute")
        if scanner.peek("<") and not word.startswith("tosa."):
            self._skip_parameters()
        elif scanner.accept("<"):
            word = scanner.match(_WORD, "a word")
            scanner.expect(">")
        return word

    def _skip_parameters(self) -> None:
        """`<…>` of another dialect, whose syntax is its own; its operations are refused by name."""
        scanner, open_ = self._scanner, 0
        while True:
            part = scanner.match(_PARAMETER, "'>'")
            open_ += {"<": 1, ">": -1}.get(part, 0)
            if not open_:
                return

    def _array(self) -> list[Parsed]:
        scanner = self._scanner
        scanner.expect("array<")
        scanner.match(_SCALAR_TYPES, "an element type")
        items: list[Parsed] = []
        while scanner.accept(":" if not items else ","):
            start = scanner.position
            item = scanner.match(_ITEM, "a number")
            try:
                items.append({"true": True, "false": False}[item] if item in ("true", "false")
                             else float(item) if "." in item else int(item))  # fmt: skip
            except ValueError as cause:
                raise scanner.fail("GM101", f"{item[:40]!r} is no number", at=start) from cause
        scanner.expect(">")
        return items

    def tensor_type(self) -> TensorType:
        """`tensor<1x4xi8>`, ranked and of fixed sizes."""
        scanner, start = self._scanner, self._scanner.position
        scanner.expect("tensor", "<")
        sizes: list[int] = []
        while (size := scanner.try_match(_SIZE)) is not None:
            if size[1] in "?*":
                raise scanner.fail(
                    "GM104", f"a tensor has a size that is not fixed: {size[1]}",
                    "memory is planned at compile time: lower the model with fixed shapes", start,
                )  # fmt: skip
            sizes.append(int(size[1]))
        # What a stored value stands for is left out: TOSA's operations are on stored values.
        quantized = scanner.try_match(_QUANTIZED)
        name = quantized[1] if quantized else scanner.match(_SCALAR_TYPES, "an element type")
        scanner.expect(">")
        if name not in _ELEMENTS:
            known = ", ".join(element.value for element in ElementType)
            message = f"tensors of {name} are not supported"
            raise scanner.fail("GM105", message, f"known: {known}", start)
        if len(sizes) > MAX_RANK:
            raise scanner.fail("GM105", f"a tensor of rank {len(sizes)}; {MAX_RANK} is the most")
        type_ = TensorType(tuple(sizes), _ELEMENTS[name])
        if (
            math.prod(size or 1 for size in sizes) * type_.element.size_bytes
            > limits.tensor_bytes()
        ):
            text = limits.size_text(limits.tensor_bytes())
            hint = "no tensor of that size fits a microcontroller: is a size wrong?"
            raise scanner.fail("GM114", f"a tensor takes more than {text}", hint, start)
        return type_

    def elements(self) -> Array:
        """`dense<…> : type` or `dense_resource<…> : type`."""
        scanner, start = self._scanner, self._scanner.position
        if scanner.accept("dense_resource"):
            scanner.expect("<")
            key = scanner.string() if scanner.peek('"') else scanner.match(_WORD, "a name")
            scanner.expect(">", ":")
            type_ = self._paid_type(start)
            if key not in self._resources:
                raise scanner.fail("GM101", f"the numbers of {key[:80]!r} are missing", at=start)
            return self._raw(self._resources[key], type_, start)
        scanner.expect("dense", "<")
        raw = scanner.try_match(_HEX)
        text = "" if raw is not None else scanner.match(_LIST, "a list")
        scanner.expect(">", ":")
        type_ = self._paid_type(start)
        if raw is not None:
            return self._raw(bytes.fromhex(raw[1]), type_, start)
        return self._listed(text, type_, start)

    def _paid_type(self, start: int) -> TensorType:
        type_ = self.tensor_type()
        self._allowed_bytes -= type_.size_bytes
        if self._allowed_bytes < 0:
            text = limits.size_text(limits.results_bytes())
            hint = "no model of that size fits a microcontroller: is a size wrong?"
            raise self._scanner.fail("GM114", f"constants take more than {text}", hint, start)
        return type_

    def _raw(self, raw: bytes, type_: TensorType, start: int) -> Array:
        """Bytes as they stand in memory, of one element or of all."""
        dtype = type_.element.numpy
        if type_.element is ElementType.BOOL or len(raw) not in (type_.size_bytes, dtype.itemsize):
            message = f"{len(raw)} bytes are no {type_.element.value}{list(type_.shape)}"
            raise self._scanner.fail("GM101", message, at=start)
        flat = np.frombuffer(raw, dtype.newbyteorder("<")).astype(dtype)
        one = flat.size == 1
        return np.broadcast_to(flat[0], type_.shape) if one else flat.reshape(type_.shape)

    def _listed(self, text: str, type_: TensorType, start: int) -> Array:
        decimal = _HEX_NUMBER.sub(lambda number: str(int(number[0], 16)), text)
        try:
            listed = _numbers(json.loads(decimal.strip() or "[]"), type_.element)
            if not listed.ndim:
                return np.broadcast_to(listed, type_.shape)
            if listed.size and listed.shape != type_.shape:
                raise ValueError(f"elements of shape {listed.shape}")
            return listed.reshape(type_.shape)
        except (ValueError, OverflowError, TypeError, RecursionError) as cause:
            message = f"the elements are no {type_.element.value}{list(type_.shape)}"
            raise self._scanner.fail("GM101", f"{message}: {str(cause)[:120]}", at=start) from cause


def _numbers(listed: Parsed, element: ElementType) -> Array:
    """Nested lists as an array. An integer without a sign may be written as its bits: 255 is -1.

    Raises ValueError, OverflowError or TypeError for what the element cannot hold.
    """
    dtype = element.numpy
    if dtype.kind not in "iu":
        with np.errstate(all="ignore"):
            return np.array(listed, dtype)
    numbers = np.array(listed, object)
    highest = (1 << 8 * dtype.itemsize) - 1
    lowest = -(highest // 2) - 1 if dtype.kind == "i" else 0
    for number in numbers.flat:
        if type(number) is not int:
            raise ValueError(f"{str(number)[:40]} is no integer")
        if not lowest <= number <= highest:
            raise ValueError(f"{str(number)[:40]} is out of range")
    bits = np.dtype(f"u{dtype.itemsize}")
    return np.asarray(numbers & highest).astype(bits).view(dtype)
