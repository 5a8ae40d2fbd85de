"""Selection: for every node the cheapest variant that accepts it, by the user's goal."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import field, replace
from functools import cached_property

from glowmcu.errors import ExitCode, GlowmcuError, Problem
from glowmcu.goals import Goal, flash_budget_error
from glowmcu.ir.graph import Graph, Node
from glowmcu.ir.kernel_code import Coding, Overlap, RowSupport
from glowmcu.ir.layer_weights import LayerWeights, layer_weights
from glowmcu.ir.operation import Constant
from glowmcu.ir.program import Program
from glowmcu.ir.value_ranges import ValueRanges, value_ranges
from glowmcu.kernels.kernel import Cost, Kernel, KernelCode, Site, Target, load_kernels, site_of
from glowmcu.kernels.memory_waits import mean
from glowmcu.kernels.selection.board_cycles import with_waits
from glowmcu.kernels.selection.choices import Candidates, KernelChoices
from glowmcu.kernels.selection.local_search import shared_code
from glowmcu.kernels.selection.row_kernels import RowKernel, best_row_kernel
from glowmcu.kernels.selection.search import cheapest_set, set_totals
from glowmcu.kernels.selection.subpixel_variants import can_convolve, subpixel
from glowmcu.kernels.selection.transposed_variants import can_transpose, transposed, untransposed
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import Conv2D
from glowmcu.planning_progress import PlanningWatch, Stage

#: Bytes of the function that decodes weights to scratch, which layers share: measured.
_DECODER_BYTES = {Coding.NIBBLES: 300, Coding.ENTROPY: 340}


@dataclass(frozen=True)
class BodyPlan:
    """A body of a branch or loop: its program with offsets in a scratch of `arena_bytes`, and the
    kernels of its nodes.
    """

    program: Program
    selections: Mapping[Node, Selection]
    arena_bytes: int


@dataclass(frozen=True)
class Selection:
    """The variant chosen for a node, its cost, and the ones that were possible too.

    `work` is what the chosen one says of itself, calibrated or not.
    """

    node: Node
    kernel: Kernel
    cost: Cost
    code: KernelCode
    alternatives: tuple[tuple[str, Cost], ...]
    work: Mapping[str, float] = field(default_factory=dict)
    site: Site | None = field(default=None, repr=False)
    target: Target | None = field(default=None, repr=False)
    #: Every variant that could compute the node, also row by row.
    possible: tuple[Kernel, ...] = ()
    #: Others, which may compute a single row of it.
    of_one_row: tuple[Kernel, ...] = ()
    #: Plans of the bodies of a branch or loop, once they are made.
    bodies: tuple[BodyPlan, ...] = ()

    @cached_property
    def row_kernel(self) -> RowKernel | None:
        """How the layer goes row by row, if it can."""
        if self.site is None or self.target is None:
            return None
        variants = [
            variant
            for variant in dict.fromkeys(map(untransposed, self.possible))
            if variant in self.possible or variant.accepts(self.site, self.target)
        ]
        return best_row_kernel(
            variants, self.code.operands, self.site, self.target, self.of_one_row
        )

    def exchanged(self, variant: Kernel) -> Selection:
        """The node with another of the variants that are possible. Raises GM5xx."""
        assert self.site is not None and self.target is not None
        return replace(
            self,
            kernel=variant,
            cost=variant.calibrated_cost(self.site, self.target),
            code=variant.generate(self.site, self.target),
            work=variant.work(self.site, self.target),
            alternatives=(
                *(item for item in self.alternatives if item[0] != variant.name),
                (self.kernel_name, self.cost),
            ),
        )

    @property
    def kernel_name(self) -> str:
        return self.kernel.name

    @property
    def operands(self) -> tuple[int, ...]:
        """Node inputs that the kernel reads through pointers."""
        return self.code.operands

    @property
    def scratch_bytes(self) -> int:
        return self.code.scratch_bytes

    def weights(self, by_rows: bool) -> LayerWeights:
        """What they are, of the kernel that is called a row at a time or of the other one."""
        if self.site is None:
            return LayerWeights()
        rows = self.row_kernel if by_rows else None
        variant, code = (rows.variant, rows.code) if rows else (self.kernel, self.code)
        is_unpacked = code.staged is not None and code.staged.coding is Coding.NIBBLES
        packed = variant.stores_four_bits or is_unpacked
        return layer_weights(self.node, self.site.constants, packed)

    @property
    def holds_pointers(self) -> bool:
        """Whether parameters lie in the scratch."""
        return self.code.staged is not None

    @property
    def prefetches(self) -> bool:
        """Whether weights come into the scratch while the step before runs."""
        return self.code.staged is not None and self.code.staged.prefetched

    @property
    def row_cycles(self) -> float:
        """Estimate for the whole layer, computed row by row."""
        return self.cost.cycles if self.row_kernel is None else self.row_kernel.cost.cycles

    @property
    def row_code(self) -> KernelCode:
        """The code that is called for a row."""
        assert self.row_kernel is not None, f"{self.kernel_name} computes whole tensors only"
        return self.row_kernel.code

    @property
    def rows(self) -> RowSupport | None:
        """How the layer goes row by row, for memory planning; None if it cannot."""
        return self.row_kernel.support if self.row_kernel else None

    @property
    def overlaps(self) -> Mapping[int, Overlap]:
        """How near to operands the first result may be, by position."""
        return self.code.overlaps

    @property
    def operand_align(self) -> int:
        return self.code.operand_align


@dataclass(frozen=True, eq=False)
class SelectionMemory:
    """Costs and selections of one target's variants, for selections with other limits and budgets.

    By node, and by its limit of scratch bytes. `watch` is told of nodes that it comes to know.
    """

    possible: dict[tuple[Node, int | None], dict[Kernel, Cost]] = field(default_factory=dict)
    selections: dict[tuple[Node, int | None, Kernel], Selection] = field(default_factory=dict)
    watch: PlanningWatch = field(default_factory=PlanningWatch)


def select_kernels(
    graph: Graph,
    target: Target,
    choices: KernelChoices | None = None,
    flash_budget: int | None = None,
    scratch_limits: Mapping[str, int] | None = None,
    ranges: ValueRanges | None = None,
    memory: SelectionMemory | None = None,
) -> dict[Node, Selection]:
    """A variant for every node that computes, the cheapest set by the target's goal.

    `choices` are decisions made already; `scratch_limits` are bytes by node name, held if a
    variant can; `ranges` what values can hold if more is known than the graph says; `memory` is
    of selections for the same target by the same choices. Raises GM501 naming all nodes that have
    no variant, GM507 for choices that cannot be, GM402 if no set that was found is within the
    flash budget, GM5xx if a proof fails.
    """
    known, memory = ranges or value_ranges(graph), memory or SelectionMemory()
    limits = scratch_limits or {}
    sites = {
        node: replace(site_of(graph, node, known), scratch_limit=limits.get(node.name))
        for node in graph.nodes
        if not isinstance(node.op, Constant) and not node.op.aliases(node.signature)
    }
    possible = _possible(sites, target, choices, memory)
    allowed = possible if choices is None else choices.narrowed(possible)
    # A limit is held if a variant can: one that was chosen already stays.
    candidates = _limited(allowed, limits)
    weighed, code_byte_cycles = candidates, 0.0
    if target.waits is not None and target.weighs_waits:
        weighed, code_byte_cycles = with_waits(candidates), mean(target.waits.code_byte)
    chosen = cheapest_set(weighed, target.goal, flash_budget, code_byte_cycles)
    totals = set_totals(candidates, chosen)
    if flash_budget is not None and totals.flash_bytes > flash_budget:
        raise over_flash_budget(graph.name, totals.flash_bytes, totals.code_bytes, flash_budget)
    selections: dict[Node, Selection] = {}
    problems: list[Problem] = []
    for node, variant in chosen.items():
        key = node, limits.get(node.name), variant
        try:
            if key not in memory.selections:
                is_decided = choices is not None and choices.decides(node)
                others = () if is_decided else _others(node, possible[node], target)
                found = _selection(sites[node], target, variant, possible[node])
                found = replace(found, possible=tuple(allowed[node]), of_one_row=others)
                memory.selections[key] = found
        except GlowmcuError as cause:
            problems.extend(cause.problems)
            continue
        selections[node] = memory.selections[key]
    if problems:
        raise GlowmcuError(problems, ExitCode.UNSUPPORTED)
    return selections


def _possible(
    sites: Mapping[Node, Site],
    target: Target,
    choices: KernelChoices | None,
    memory: SelectionMemory,
) -> Candidates:
    """All that accept each node. Raises GM501."""
    forced_variant = choices.forced_variant if choices is not None and not choices.layers else ""
    for done, (node, site) in enumerate(sites.items(), 1):
        key = node, site.scratch_limit
        if key not in memory.possible:
            memory.possible[key] = _candidates(site, target, forced_variant)
            memory.watch.layers(Stage.KERNELS, done, len(sites))
    possible: Candidates = {
        node: memory.possible[node, site.scratch_limit] for node, site in sites.items()
    }
    problems = [_no_kernel(node) for node, found in possible.items() if not found]
    if problems:
        raise GlowmcuError(problems, ExitCode.UNSUPPORTED)
    return possible if choices is None else choices.measured(possible)


def _selection(
    site: Site, target: Target, variant: Kernel, costs: Mapping[Kernel, Cost]
) -> Selection:
    """The variant at work, and what others would have cost. Raises GM5xx."""
    code, work = variant.generate(site, target), variant.work(site, target)
    others = tuple((other.name, costs[other]) for other in costs if other is not variant)
    site.memory.clear()
    return Selection(site.node, variant, costs[variant], code, others, work, site, target)


def _others(node: Node, accepting: Mapping[Kernel, Cost], target: Target) -> tuple[Kernel, ...]:
    """The operator's variants that do not accept the node; none if weights are to stay int8."""
    if _with_int8_weights(accepting):
        return ()
    known = load_kernels(target.core).get(type(node.op), ())
    return tuple(variant for variant in known if variant not in accepting)


def _limited(candidates: Candidates, limits: Mapping[str, int]) -> Candidates:
    """Without the variants that need more scratch than the node's limit; the least if all do."""
    limited: dict[Node, Mapping[Kernel, Cost]] = {}
    for node, found in candidates.items():
        least = min(cost.scratch_bytes for cost in found.values())
        most = max(limits.get(node.name, sys.maxsize), least)
        limited[node] = {k: cost for k, cost in found.items() if cost.scratch_bytes <= most}
    return limited


def over_flash_budget(model: str, flash: int, code: int, budget: int) -> GlowmcuError:
    """GM402 of a model whose smallest set needs `flash` bytes, `code` of them code."""
    needs = "the smallest set of kernels needs about"
    return flash_budget_error(model, needs, flash, code, budget)


def _candidates(site: Site, target: Target, forced_variant: str) -> dict[Kernel, Cost]:
    """Every variant that accepts the node, with its cost; that named `forced_variant` alone if it
    does.

    Acceptance may take long proofs, which sweeps of thousands of layers need not make for all.
    """
    variants = load_kernels(target.core).get(type(site.node.op), ())
    asked = sorted(variants, key=lambda variant: variant.name != forced_variant)
    found: dict[Kernel, Cost] = {}
    for variant in asked:
        if variant.accepts(site, target):
            found[variant] = variant.calibrated_cost(site, target)
            if variant.name == forced_variant:
                break
    if can_transpose(site.node):
        found |= _transposed(found, site, target, variants)
    if can_convolve(site):
        blocks = map(subpixel, load_kernels(target.core).get(Conv2D, ()))
        found |= {
            item: item.calibrated_cost(site, target)
            for item in blocks
            if item.accepts(site, target)
        }
    site.memory.clear()
    return _with_int8_weights(found) or found if target.goal is not Goal.SPEED else found


def _with_int8_weights(found: Mapping[Kernel, Cost]) -> dict[Kernel, Cost]:
    """Those that leave weights int8 as the file has them."""
    return {item: cost for item, cost in found.items() if untransposed(item).keeps_int8_weights}


def _transposed(
    found: Mapping[Kernel, Cost], site: Site, target: Target, variants: Iterable[Kernel]
) -> dict[Kernel, Cost]:
    """Those of the variants that take fewer cycles on an image of one row than on one column."""
    others = [transposed(variant) for variant in variants]
    costs = {
        item: item.calibrated_cost(site, target) for item in others if item.accepts(site, target)
    }
    return {
        item: cost
        for item, cost in costs.items()
        if item.untransposed not in found or cost.cycles < found[item.untransposed].cycles
    }


def code_bytes(selections: Iterable[Selection]) -> int:
    """Estimate of all code: shared functions once, and what layers have of their own."""
    items = list(selections)
    own = sum(item.cost.layer_code_bytes for item in items)
    shared: dict[Hashable, int] = {}
    for item in items:
        shared |= shared_code(item.kernel, item.cost)
        if item.code.staged is not None:
            coding = item.code.staged.coding
            shared["decoder", coding] = _DECODER_BYTES.get(coding, 0)
    return own + sum(shared.values())


def _no_kernel(node: Node) -> Problem:
    types = ", ".join(str(type_) for type_ in node.signature.inputs)
    return Problem(
        "GM501",
        f"no kernel computes {node.op.name} on {types} -> {node.signature.output}",
        f'{node.source} "{node.name}"',
        "int8 is supported throughout; other element types only where `glowmcu ops` says so",
    )
