"""Numbers as people read them: alike in tables of the terminal, in reports and in notebooks."""

from __future__ import annotations


def count(value: int | None, unit: str = "") -> str:
    """12 345 678, or a dash if it is not known."""
    return "-" if value is None else f"{value:,}".replace(",", " ") + unit


def counted(value: int, thing: str) -> str:
    """1 step, 12 steps."""
    return f"{count(value)} {thing}{'' if value == 1 else 's'}"


def between(low: int, high: int) -> str:
    """12 345 to 23 456, or one number where both are the same."""
    return count(low) if low == high else f"{count(low)} to {count(high)}"
