"""What a kernel variant is, and what it gives to the C emitter.

A variant is a class registered by `@kernel`: it says which nodes it accepts on which target, what
it costs, and which C function with which constants computes the node. Calls look alike for all of
them:

    function([&params,] operands…, results…[, scratch][, first_row, end_row]);
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Any, ClassVar, TypeVar

from glowmcu.cores import Core
from glowmcu.discovery import import_members
from glowmcu.ir.graph import Graph, Node
from glowmcu.ir.operation import Array, Operation, Rounding, Signature


class Goal(Enum):
    """What selection minimises first."""

    BALANCED = "balanced"
    SPEED = "speed"
    SIZE = "size"
    RAM = "ram"


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

    @property
    def signature(self) -> Signature:
        return self.node.signature


def site_of(graph: Graph, node: Node) -> Site:
    """The site of `node` in `graph`."""
    constants = tuple(graph.constant_data(value) for value in node.inputs)
    return Site(node, constants, graph.rounding)


@dataclass(frozen=True)
class Cost:
    """Estimate for one inference on the target: cycles, and bytes of code, constants and scratch.

    `code_bytes` counts once a function, however many layers share it.
    """

    cycles: float
    code_bytes: int
    flash_bytes: int = 0
    scratch_bytes: int = 0


@dataclass(frozen=True, eq=False)
class ConstantArray:
    """A constant of the bundle: `name` says what it is (`weights`, `bias`), data as C stores it."""

    name: str
    data: Array
    comment: str = ""


@dataclass(frozen=True)
class Field:
    """A member of a kernel's parameter struct, in the struct's order. None is a null pointer."""

    name: str
    value: int | float | ConstantArray | None


@dataclass(frozen=True)
class Parameters:
    """The constant struct that describes one layer to a libjit function."""

    struct: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, eq=False)
class KernelCode:
    """A node in C.

    Either `function` of libjit header `header`, or (with `template`) a function of this layer
    alone, rendered from `templates/kernels/<template>` with `view`. `operands` are the node inputs
    that are passed as pointers: the rest is inside the constants. `rows` > 0: the function computes
    output rows `[first_row, end_row)` of `rows`. `batches` > 1: it is called once a batch item.
    """

    function: str
    operands: tuple[int, ...]
    header: str = ""
    parameters: Parameters | None = None
    template: str = ""
    view: Mapping[str, Any] = field(default_factory=dict)
    rows: int = 0
    batches: int = 1
    scratch_bytes: int = 0
    notes: tuple[str, ...] = ()

    @property
    def constants(self) -> tuple[ConstantArray, ...]:
        """Arrays that the parameters point to."""
        fields = self.parameters.fields if self.parameters else ()
        return tuple(item.value for item in fields if isinstance(item.value, ConstantArray))


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
