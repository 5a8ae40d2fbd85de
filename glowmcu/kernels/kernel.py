"""What a kernel variant is, and what it gives to the C emitter.

A variant is a class registered by `@kernel`: it says which nodes it accepts on which target, what
it costs, and (as `KernelCode`) which C function with which constants computes the node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, TypeVar

from glowmcu.cores import Core
from glowmcu.discovery import import_members
from glowmcu.goals import Goal
from glowmcu.ir.graph import Graph, Node
from glowmcu.ir.kernel_code import ConstantArray, Field, KernelCode, Parameters
from glowmcu.ir.operation import Array, Operation, Rounding, Signature
from glowmcu.ir.value_range import ValueRange, full_range
from glowmcu.ir.value_ranges import ValueRanges

#: What a kernel module needs, from one place.
__all__ = [
    "ConstantArray",
    "Cost",
    "Field",
    "Kernel",
    "KernelCode",
    "Parameters",
    "Site",
    "Target",
    "kernel",
    "load_kernels",
    "site_of",
]


@dataclass(frozen=True)
class Target:
    """What selection knows of the machine and of the user's wish."""

    core: Core
    goal: Goal = Goal.BALANCED


@dataclass(frozen=True)
class Site:
    """A node where a kernel is wanted. `constants[i]` is operand i's data, None when computed."""

    node: Node
    constants: tuple[Array | None, ...]
    rounding: Rounding
    #: What each operand can hold, a channel; None where that is not known.
    input_ranges: tuple[ValueRange | None, ...] = ()

    @property
    def signature(self) -> Signature:
        return self.node.signature


def site_of(graph: Graph, node: Node, ranges: ValueRanges | None = None) -> Site:
    """The site of `node` in `graph`; without `ranges` operands hold what their types can store."""
    constants = tuple(graph.constant_data(value) for value in node.inputs)
    known = ranges or {value: full_range(value.type) for value in node.inputs}
    return Site(node, constants, graph.rounding, tuple(known[value] for value in node.inputs))


@dataclass(frozen=True)
class Cost:
    """Estimate for one inference on the target: cycles, and bytes of code, constants and scratch.

    `code_bytes` is the shared function's, counted once however many layers of a bundle call it;
    `layer_code_bytes` is what each layer adds (a function of its own).
    """

    cycles: float
    code_bytes: int
    flash_bytes: int = 0
    scratch_bytes: int = 0
    layer_code_bytes: int = 0


class Kernel:
    """Base of all variants."""

    name: ClassVar[str] = ""
    operations: ClassVar[tuple[type[Operation], ...]] = ()

    def accepts(self, site: Site, target: Target) -> bool:
        """Whether this variant computes the node, exactly, on the target."""
        return True

    def cost(self, site: Site, target: Target) -> Cost:
        """What it would cost."""
        raise AssertionError(f"{type(self).__name__} has no cost")

    def generate(self, site: Site, target: Target) -> KernelCode:
        """The code; raises GlowmcuError GM5xx where a proof fails."""
        raise AssertionError(f"{type(self).__name__} generates nothing")


_KERNELS: dict[str, Kernel] = {}
_K = TypeVar("_K", bound=Kernel)


def kernel(name: str, *operations: type[Operation]) -> Callable[[type[_K]], type[_K]]:
    """Class decorator: register a variant under `name` for `operations`."""

    def register(cls: type[_K]) -> type[_K]:
        assert name not in _KERNELS or type(_KERNELS[name]).__qualname__ == cls.__qualname__, name
        cls.name, cls.operations = name, operations
        _KERNELS[name] = cls()
        return cls

    return register


@cache
def load_kernels() -> dict[type[Operation], tuple[Kernel, ...]]:
    """Variants by operator, sorted by name."""
    import_members("glowmcu.kernels")
    table: dict[type[Operation], tuple[Kernel, ...]] = {}
    for _, variant in sorted(_KERNELS.items()):
        for operation in variant.operations:
            table[operation] = (*table.get(operation, ()), variant)
    return table
