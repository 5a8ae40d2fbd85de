"""Cycles and bytes of comparisons in code of trees, measured in forests of digits and of sets."""

from __future__ import annotations

from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.stored_trees import BYTES, StoredTrees
from glowmcu.kernels.common.tree_sets import CodeSet
from glowmcu.kernels.kernel import Target


def is_armv6m(target: Target) -> bool:
    return target.core.architecture.startswith("armv6")


def key_costs(target: Target) -> tuple[float, float, float]:
    """Cycles of finding a key, cycles and bytes of a comparison, measured in forests of digits."""
    if target.core.is_riscv:
        return 10.0, 5.6, 14.5
    return (22.0, 12.0, 15.7) if is_armv6m(target) else (14.0, 7.9, 15.3)


def ask_costs(item: CodeSet, target: Target) -> tuple[float, int]:
    """Cycles beyond those of a comparison, and bytes, of code that asks for a set."""
    if item.is_run:
        return 0.0, 11
    if item.is_word:
        return (13.0 if is_armv6m(target) else 5.0), 25
    return (54.0 if is_armv6m(target) else 34.0), 20


def code_costs(trees: StoredTrees, target: Target, is_ranked: bool) -> tuple[float, float]:
    """Cycles and bytes of a comparison."""
    if is_ranked or trees.element in BYTES:
        return 5.0, 9.0 if target.core.is_riscv else 7.2
    if trees.element is ElementType.F32:
        if target.core.is_riscv:
            return 10.0, 25.0
        return (20.0, 26.0) if is_armv6m(target) else (11.0, 25.5)
    return (14.0, 24.0) if trees.element is ElementType.I64 else (6.5, 13.0)
