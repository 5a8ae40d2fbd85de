"""What a kernel variant is, and what it gives to the C emitter.

A variant is a class registered by `@kernel`: it says which nodes it accepts on which target, what
it costs, and (as `KernelCode`) which C function with which constants computes the node.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import field, replace
from functools import cache, wraps
from types import ModuleType
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

from glowmcu.cores import Core
from glowmcu.discovery import enter, import_members
from glowmcu.goals import Goal
from glowmcu.ir.aliasing import operands_align
from glowmcu.ir.graph import Graph, Node
from glowmcu.ir.kernel_code import ConstantArray, Field, KernelCode, Parameters
from glowmcu.ir.operation import Array, Operation, Rounding, Signature
from glowmcu.ir.value_range import ValueRange, full_range
from glowmcu.ir.value_ranges import ValueRanges
from glowmcu.kernels.cost_table import cost_table
from glowmcu.kernels.memory_table import memory_table
from glowmcu.kernels.memory_waits import MemoryWaits
from glowmcu.lazy_dataclass import dataclass

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
    "once_a_site",
    "site_of",
]

_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(frozen=True)
class Target:
    """What selection knows of the machine and of the user's wish.

    `flash` is `size` to kernels: of two sets the one that is shorter with coded constants is taken.
    `waits` are those of the board's memories, if costs are to say them; with `weighs_waits`
    selection counts them as cycles.
    """

    core: Core
    goal: Goal = Goal.BALANCED
    waits: MemoryWaits | None = None
    weighs_waits: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "goal", self.goal.of_kernels)


@dataclass(frozen=True)
class Site:
    """A node where a kernel is wanted. `constants[i]` is operand i's data, None when computed."""

    node: Node
    constants: tuple[Array | None, ...]
    #: DOUBLE or SINGLE: the operator's own in a graph whose rounding depends on the operator.
    rounding: Rounding
    #: What each operand can hold, a channel; None if that is not known.
    input_ranges: tuple[ValueRange | None, ...] = ()
    #: Bytes of scratch that variants with a choice should keep to, if they can.
    scratch_limit: int | None = None
    #: Whether the layer is computed a row at a time.
    by_rows: bool = False
    #: Whether other layers of the bundle may round differently.
    mixed_rounding: bool = False
    #: Bytes at multiples of which the operands can lie, if a kernel asks for it; views may not.
    operands_align: int = 1
    #: What `once_a_site` found, of this site and of those made from it.
    memory: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def signature(self) -> Signature:
        return self.node.signature


def once_a_site(
    function: Callable[Concatenate[Site, _P], _T],
) -> Callable[Concatenate[Site, _P], _T]:
    """Decorator: what the function makes of a site, made once until `site.memory` is cleared.

    Variants ask for the same constants when they accept a node, estimate its cost and generate its
    code. Nobody may change what it returns.
    """

    @wraps(function)
    def remembered(site: Site, *arguments: _P.args, **named: _P.kwargs) -> _T:
        key = function, site.node, site.scratch_limit, site.by_rows, arguments, *named.items()
        if key not in site.memory:
            site.memory[key] = function(site, *arguments, **named)
        found: _T = site.memory[key]
        return found

    return remembered  # type: ignore[return-value]  # named `site` for all of them


def site_of(graph: Graph, node: Node, ranges: ValueRanges | None = None) -> Site:
    """The site of `node` in `graph`; without `ranges` operands hold what their types can store."""
    constants = tuple(graph.constant_data(value) for value in node.inputs)
    known = ranges or {value: full_range(value.type) for value in node.inputs}
    return Site(
        node,
        constants,
        node.op.rounding_in(graph.rounding),
        tuple(known[value] for value in node.inputs),
        mixed_rounding=graph.rounding is Rounding.LITERT,
        operands_align=operands_align(graph, node),
    )


#: Cycles of an amount of work that nobody has measured, and bytes of code: more than of any kernel.
_GUESS, _GUESS_CODE = 1000.0, 4096
#: Of the struct that describes a layer to its function: the mean of the reference models'.
_PARAMETER_BYTES = 56


@dataclass(frozen=True)
class Cost:
    """Estimate for one inference on the target: cycles, and bytes of code, constants and scratch.

    `code_bytes` is the shared function's, counted once however many layers of a bundle call it;
    `code_key` is `KernelCode.function` where a variant has several or shares another variant's.
    `layer_code_bytes` is what each layer adds (a function of its own). `around` names the C around
    the function, `around_bytes`, that functions with the same name there have in common.
    `waits`: cycles that the board's memories add, by each of its timings; None where nobody knows.
    `is_guess` where the work has no unit costs: good for nothing but to compare two such variants.
    """

    cycles: float
    code_bytes: int
    flash_bytes: int = 0
    scratch_bytes: int = 0
    layer_code_bytes: int = 0
    code_key: str = ""
    around: str = ""
    around_bytes: int = 0
    waits: tuple[float, ...] | None = None
    is_guess: bool = False


class Kernel:
    """Base of all variants.

    A variant says what a layer costs in one of two ways. `work` names amounts (multiplications,
    outputs, rows, …) that `python -m benchmarks.calibrate` finds the unit costs of, for every core;
    `flash_bytes` and `scratch_bytes` go with it. Or `cost` is written by hand. With both, the
    calibrated cycles and code bytes win if they are known: see `calibrated_cost`.
    """

    name: ClassVar[str] = ""
    operations: ClassVar[tuple[type[Operation], ...]] = ()
    #: Whether row ranges are of operand 0 and add up to the results: `KernelCode.accumulates`.
    accumulates: ClassVar[bool] = False
    #: Whether weights that a file stores as int8 stay so where others would make them float32: they
    #: win over those whatever they cost, but for the goal `speed`.
    keeps_int8_weights: ClassVar[bool] = False
    #: Whether it stores two weights of four bits in a byte.
    stores_four_bits: ClassVar[bool] = False
    #: Whether a call for some rows may share with its operand what a layer of these rows alone may,
    #: though the kernel does not compute such a layer: two cores take rows each.
    rows_overlap_as_layers: ClassVar[bool] = False
    #: Whether its code is loops over elements and nothing else: shapes decide counts and steps.
    is_loops: ClassVar[bool] = False
    #: Cycles of all single-row calls relative to one call for the whole layer: most variants set up
    #: a window of rows for each (30 % more by `benchmarks/`).
    row_slowdown: ClassVar[float] = 1.3

    def accepts(self, site: Site, target: Target) -> bool:
        """Whether this variant computes the node, exactly, on the target."""
        return True

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        """Named amounts of what it does for one inference; nothing if they are not known."""
        return {}

    def flash_bytes(self, site: Site, target: Target) -> int:
        """Constants of the layer."""
        return 0

    def scratch_bytes(self, site: Site, target: Target) -> int:
        """Memory in the arena besides operands and results."""
        return 0

    def code_key(self, site: Site, target: Target) -> str:
        """`KernelCode.function`, where a variant has several or shares another variant's."""
        return ""

    def cost(self, site: Site, target: Target) -> Cost:
        """What it would cost; unless written by hand, the work at the calibrated unit costs.

        A variant that was not calibrated for such work is a guess, dearer than any other: it is
        taken where no other computes the layer.
        """
        work = self.work(site, target)
        assert work, f"{self.name} has neither cost nor work"
        unit_costs = cost_table().unit_costs(self.name, target.core.name)
        known = unit_costs is not None and unit_costs.can_estimate(work)
        return Cost(
            unit_costs.cycles(work) if unit_costs and known else _GUESS * sum(work.values()),
            unit_costs.code_bytes if unit_costs and known else _GUESS_CODE,
            self.flash_bytes(site, target),
            self.scratch_bytes(site, target),
            code_key=self.code_key(site, target),
            is_guess=not known,
        )

    def calibrated_cost(self, site: Site, target: Target) -> Cost:
        """What selection goes by: `cost`, with cycles and code as calibrated where they are, and
        the layer's parameters with its code.

        Of a variant with several functions each says its own size.
        """
        work = self.work(site, target)
        estimate = self.cost(site, target)
        estimate = replace(
            estimate,
            layer_code_bytes=estimate.layer_code_bytes + _PARAMETER_BYTES,
            waits=self.waits(work, estimate.flash_bytes, target),
        )
        unit_costs = cost_table().unit_costs(self.name, target.core.name)
        if unit_costs is None or not unit_costs.can_estimate(work):
            return estimate
        single = estimate.code_bytes and not estimate.code_key
        code_bytes = unit_costs.code_bytes if single else estimate.code_bytes
        return replace(estimate, cycles=unit_costs.cycles(work), code_bytes=code_bytes)

    def waits(
        self, work: Mapping[str, float], flash_bytes: int, target: Target
    ) -> tuple[float, ...] | None:
        """Cycles that the target's memories add to the work; None if that is not known."""
        if target.waits is None:
            return None
        units = memory_table().unit_misses(self.name, target.core.name)
        misses = None if units is None else units.of(work)
        return None if misses is None else target.waits.cycles(misses, flash_bytes)

    def generate(self, site: Site, target: Target) -> KernelCode:
        """The code; raises GlowmcuError GM5xx where a proof fails."""
        raise AssertionError(f"{type(self).__name__} generates nothing")


_KERNELS: dict[str, Kernel] = {}
_K = TypeVar("_K", bound=Kernel)


def kernel(name: str, *operations: type[Operation]) -> Callable[[type[_K]], type[_K]]:
    """Class decorator: register a variant under `name` for `operations`."""

    def register(cls: type[_K]) -> type[_K]:
        variant: Kernel = cls()
        enter(_KERNELS, name, variant, "a kernel")
        cls.name, cls.operations = name, operations
        return cls

    return register


@cache
def load_kernels(core: Core | None = None) -> dict[type[Operation], tuple[Kernel, ...]]:
    """Variants by operator, sorted by name: all, or with a core at least those that accept anything
    on it, so that other families of cores are not imported.

    A room that is for some cores alone has a function `serves`.
    """

    def is_wanted(room: ModuleType) -> bool:
        serves = getattr(room, "serves", None)
        return core is None or serves is None or serves(core)

    import_members("glowmcu.kernels", is_wanted)
    table: dict[type[Operation], tuple[Kernel, ...]] = {}
    for _, variant in sorted(_KERNELS.items()):
        for operation in variant.operations:
            table[operation] = (*table.get(operation, ()), variant)
    return table
