"""Integer arithmetic modulo a type's range in C, where signed overflow is undefined."""

from __future__ import annotations

from glowmcu.ir.types import ElementType


def wrapped(element: ElementType, a: str, operator: str, b: str) -> str:
    """`a operator b` for +, -, *: the value of `element` that is equal modulo its range."""
    unsigned = "uint64_t" if element is ElementType.I64 else "uint32_t"
    value = f"(({unsigned}){a} {operator} ({unsigned}){b})"
    return narrowed(element, value)


def narrowed(element: ElementType, value: str) -> str:
    """`value` modulo the range of `element`, as the type that loops compute in."""
    text = f"({element.c_name}){value}"
    return text if element.size_bytes >= 4 else f"(int32_t){text}"
