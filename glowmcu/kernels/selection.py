"""Selection: for every node the cheapest variant that accepts it, by the user's goal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from glowmcu.errors import ExitCode, GlowmcuError, Problem
from glowmcu.goals import Goal
from glowmcu.ir.graph import Graph, Node
from glowmcu.ir.operation import Constant
from glowmcu.ir.value_ranges import value_ranges
from glowmcu.kernels.choices import Candidates, KernelChoices
from glowmcu.kernels.kernel import Cost, Kernel, KernelCode, Site, Target, load_kernels, site_of


@dataclass(frozen=True)
class Selection:
    """The variant chosen for a node, its cost, and the ones that were possible too.

    `work` is what the chosen one says of itself, priced or not.
    """

    node: Node
    kernel: Kernel
    cost: Cost
    code: KernelCode
    alternatives: tuple[tuple[str, Cost], ...]
    work: Mapping[str, float] = field(default_factory=dict)

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

    @property
    def operand_align(self) -> int:
        return self.code.operand_align


def select_kernels(
    graph: Graph, target: Target, choices: KernelChoices | None = None
) -> dict[Node, Selection]:
    """A variant for every node that computes, the cheapest set by the target's goal.

    `choices` are decisions made already. Raises GM501 naming all nodes that have no variant, GM507
    for choices that cannot be, GM5xx where a proof fails.
    """
    ranges = value_ranges(graph)
    sites = {
        node: site_of(graph, node, ranges)
        for node in graph.nodes
        if not isinstance(node.op, Constant) and not node.op.aliases(node.signature)
    }
    candidates: Candidates = {node: _candidates(site, target) for node, site in sites.items()}
    problems = [_no_kernel(node) for node, found in candidates.items() if not found]
    if problems:
        raise GlowmcuError(problems, ExitCode.UNSUPPORTED)
    if choices is not None:
        candidates = choices.narrowed(candidates)
    selections: dict[Node, Selection] = {}
    for node, variant in cheapest_set(candidates, target.goal).items():
        try:
            code = variant.generate(sites[node], target)
        except GlowmcuError as cause:
            problems.extend(cause.problems)
            continue
        prices = candidates[node]
        others = tuple((other.name, prices[other]) for other in prices if other is not variant)
        work = variant.work(sites[node], target)
        selections[node] = Selection(node, variant, prices[variant], code, others, work)
    if problems:
        raise GlowmcuError(problems, ExitCode.UNSUPPORTED)
    return selections


def _candidates(site: Site, target: Target) -> dict[Kernel, Cost]:
    """Every variant that accepts the node, with its cost, by name."""
    return {
        variant: variant.price(site, target)
        for variant in load_kernels().get(type(site.node.op), ())
        if variant.accepts(site, target)
    }


def cheapest_set(candidates: Candidates, goal: Goal) -> dict[Node, Kernel]:
    """One variant a node: local search from each node's own best, since layers share functions.

    A move gives one node another variant, or all nodes that can take it; moves are made while the
    total falls. Deterministic: ties go to the earlier move.
    """
    chosen = {
        node: min(found, key=lambda kernel: _alone(found[kernel], goal))
        for node, found in candidates.items()
    }
    total = _total(chosen, candidates, goal)
    while True:
        best = min(
            (
                (_total(moved, candidates, goal), index, moved)
                for index, moved in enumerate(_moves(chosen, candidates))
            ),
            default=None,
            key=lambda item: item[:2],
        )
        if best is None or best[0] >= total:
            return chosen
        total, _, chosen = best


def _moves(chosen: Mapping[Node, Kernel], candidates: Candidates) -> Iterator[dict[Node, Kernel]]:
    contested = {node: found for node, found in candidates.items() if len(found) > 1}
    for kernel in dict.fromkeys(kernel for found in contested.values() for kernel in found):
        takers = [node for node, found in contested.items() if kernel in found]
        yield {**chosen, **dict.fromkeys(takers, kernel)}
    if len(contested) <= _MOST_SINGLE_MOVES:
        for node, found in contested.items():
            for kernel in found:
                yield {**chosen, node: kernel}


#: Beyond this many nodes with a choice only whole kinds of layers are moved.
_MOST_SINGLE_MOVES = 60
#: Cycles that a byte of flash and a byte of scratch are worth.
_FLASH_WORTH = {Goal.BALANCED: 10.0, Goal.SPEED: 0.01, Goal.SIZE: 1e6, Goal.RAM: 10.0}
_SCRATCH_WORTH = {**_FLASH_WORTH, Goal.RAM: 1e6}


def _alone(cost: Cost, goal: Goal) -> float:
    """Price of a variant if no other layer shared its function."""
    return _layer_price(cost, goal) + _FLASH_WORTH[goal] * cost.code_bytes


def _layer_price(cost: Cost, goal: Goal) -> float:
    return (
        cost.cycles
        + _FLASH_WORTH[goal] * (cost.flash_bytes + cost.layer_code_bytes)
        + _SCRATCH_WORTH[goal] * cost.scratch_bytes
    )


def _total(chosen: Mapping[Node, Kernel], candidates: Candidates, goal: Goal) -> float:
    """Price of the whole bundle: each shared function counts once."""
    layers = sum(_layer_price(candidates[node][kernel], goal) for node, kernel in chosen.items())
    costs = ((kernel, candidates[node][kernel]) for node, kernel in chosen.items())
    return layers + _FLASH_WORTH[goal] * shared_code_bytes(costs)


def shared_code_bytes(chosen: Iterable[tuple[Kernel, Cost]]) -> int:
    """Code of the functions that layers share, each function once."""
    return sum({cost.code_key or kernel: cost.code_bytes for kernel, cost in chosen}.values())


def code_bytes(selections: Iterable[Selection]) -> int:
    """Estimate of all code: shared functions once, and what layers have of their own."""
    items = list(selections)
    own = sum(item.cost.layer_code_bytes for item in items)
    return own + shared_code_bytes((item.kernel, item.cost) for item in items)


def _no_kernel(node: Node) -> Problem:
    types = ", ".join(str(type_) for type_ in node.signature.inputs)
    return Problem(
        "GM501",
        f"no kernel computes {node.op.name} on {types} -> {node.signature.output}",
        f'{node.source} "{node.name}"',
        "int8 is supported throughout; other element types only where `glowmcu ops` says so",
    )
