"""Tensor types as text: `tensor<1x49x10x1x!quant.uniform<i8:f32, 0.58:83>>`, per channel
`!quant.uniform<i8:f32:0, {0.5:0, 0.25:0}>`; `memref<1x49x10x1xi8>` for buffers.

Scales are printed by the shortest text that gives the same float32 back; where one of a type is no
float32, as where a file has multipliers in place of scales, `i8:f64` and texts that give doubles.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np

from glowmcu.ir.operation import Signature
from glowmcu.ir.text.scanner import Scanner
from glowmcu.ir.types import ElementType, Quantization, Shape, TensorType

_ALIAS = re.compile(r"!(?!quant\b)[A-Za-z_]\w*")
_SHAPE = re.compile(r"(?:\d{1,10}x)*")
_ELEMENT = re.compile(r"[a-z]+\d+")
_NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
_INTEGER = re.compile(r"[-+]?\d{1,20}(?![\w.])")
_ELEMENTS = {element.value: element for element in ElementType}
#: `!quant.uniform` says u8 where builtin types say ui8.
_STORAGE_NAMES = {ElementType.UI8: "u8"}
_STORAGE = {_STORAGE_NAMES.get(element, element.value): element for element in ElementType}

Aliases = Mapping[str, TensorType]


def print_shape(shape: Shape) -> str:
    return "".join(f"{size}x" for size in shape)


def print_type(type_: TensorType) -> str:
    """`tensor<…>` with its quantization."""
    return f"tensor<{print_shape(type_.shape)}{_print_element(type_)}>"


def print_memref(type_: TensorType) -> str:
    """`memref<…>` of the stored elements: MLIR lets no quantized type into a memref."""
    return f"memref<{print_shape(type_.shape)}{type_.element.value}>"


def print_float(value: float) -> str:
    """A finite number so that MLIR takes it for a float: with a point."""
    text = repr(value)
    mantissa, mark, exponent = text.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{mark}{exponent}"


def print_scale(scale: float) -> str:
    """The shortest text that gives the same float32."""
    narrow = np.float32(scale)
    assert float(narrow) == scale, f"scale {scale!r} is no float32"
    return print_float(float(str(narrow)))


def _is_single(quantization: Quantization) -> bool:
    with np.errstate(over="ignore"):
        return all(float(np.float32(scale)) == scale for scale in quantization.scales)


def _print_element(type_: TensorType) -> str:
    quantization = type_.quantization
    if quantization is None:
        return type_.element.value
    storage = _STORAGE_NAMES.get(type_.element, type_.element.value)
    expressed, text = ("f32", print_scale) if _is_single(quantization) else ("f64", print_float)
    pairs = ", ".join(
        f"{text(scale)}:{point}"
        for scale, point in zip(quantization.scales, quantization.zero_points, strict=True)
    )
    if quantization.axis is None:
        return f"!quant.uniform<{storage}:{expressed}, {pairs}>"
    return f"!quant.uniform<{storage}:{expressed}:{quantization.axis}, {{{pairs}}}>"


def at_type(scanner: Scanner) -> bool:
    """Whether a tensor type or an alias comes next."""
    return scanner.peek("tensor<") or _ALIAS.match(scanner.text, scanner.position) is not None


def parse_type(scanner: Scanner, aliases: Aliases) -> TensorType:
    """A tensor type or the alias of one. GM215 for what no tensor can be."""
    start = scanner.position
    alias = scanner.try_match(_ALIAS)
    if alias is not None:
        if alias[0] not in aliases:
            raise scanner.fail("GM215", f"type {alias[0]} is not defined", at=start)
        return aliases[alias[0]]
    if not scanner.peek("tensor"):
        raise scanner.unexpected("a type")
    scanner.expect("tensor", "<")
    shape = _parse_shape(scanner)
    if not scanner.accept("!quant.uniform"):
        element = _parse_element(scanner, _ELEMENTS)
        scanner.expect(">")
        return TensorType(shape, element)
    type_ = _parse_quantized(scanner, shape)
    scanner.expect(">")
    return type_


def parse_memref(scanner: Scanner) -> tuple[Shape, ElementType]:
    """Shape and stored element of `memref<…>`."""
    scanner.expect("memref", "<")
    shape, element = _parse_shape(scanner), _parse_element(scanner, _ELEMENTS)
    scanner.expect(">")
    return shape, element


def parse_signature(scanner: Scanner, aliases: Aliases) -> Signature:
    """`(types) -> (types)`."""
    inputs = scanner.sequence("(", lambda: parse_type(scanner, aliases), ")")
    scanner.expect("->")
    outputs = scanner.sequence("(", lambda: parse_type(scanner, aliases), ")")
    return Signature(tuple(inputs), tuple(outputs))


def parse_integer(scanner: Scanner, expected: str) -> int:
    return int(scanner.match(_INTEGER, expected))


def _parse_shape(scanner: Scanner) -> Shape:
    sizes = scanner.match(_SHAPE, "a shape").split("x")[:-1]
    return tuple(map(int, sizes))


def _parse_element(scanner: Scanner, names: Mapping[str, ElementType]) -> ElementType:
    start = scanner.position
    name = scanner.match(_ELEMENT, "an element type")
    if name not in names:
        known = ", ".join(names)
        raise scanner.fail("GM215", f"unknown element type {name!r}", f"known: {known}", start)
    return names[name]


def _parse_quantized(scanner: Scanner, shape: Shape) -> TensorType:
    start = scanner.position
    scanner.expect("<")
    element = _parse_element(scanner, _STORAGE)
    scanner.expect(":")
    is_double = scanner.accept("f64")
    if not is_double:
        scanner.expect("f32")
    axis = parse_integer(scanner, "an axis") if scanner.accept(":") else None
    scanner.expect(",")
    if axis is None:
        pairs = [_parse_pair(scanner, element, is_double)]
    else:
        pairs = scanner.sequence("{", lambda: _parse_pair(scanner, element, is_double), "}")
        if not 0 <= axis < len(shape) or shape[axis] != len(pairs):
            message = f"{len(pairs)} scales along axis {axis} of {shape}"
            raise scanner.fail("GM215", message, at=start)
    scanner.expect(">")
    scales, points = zip(*pairs, strict=True) if pairs else ((), ())
    return TensorType(shape, element, Quantization(scales, points, axis))


def _parse_pair(scanner: Scanner, element: ElementType, is_double: bool) -> tuple[float, int]:
    start = scanner.position
    number = scanner.try_match(_NUMBER)
    if number is None:
        raise scanner.fail("GM215", "expected a scale such as 0.58", at=start)
    with np.errstate(over="ignore"):
        scale = float(number[0]) if is_double else float(np.float32(float(number[0])))
    if not 0.0 < scale < math.inf:
        name = "double" if is_double else "float32"
        raise scanner.fail("GM215", f"scale {number[0]} is no positive {name}", at=start)
    point = parse_integer(scanner, "a zero point") if scanner.accept(":") else 0
    if element.is_float:
        raise scanner.fail("GM215", "only integers are quantized", at=start)
    low, high = element.zero_point_limits
    if not low <= point <= high:
        message = f"zero point {point} is outside {element.value}, {low} to {high}"
        raise scanner.fail("GM215", message, at=start)
    return scale, point
