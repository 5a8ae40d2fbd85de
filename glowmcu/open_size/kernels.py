"""Kernels whose code is the same text at all sizes: the cheapest of those, for every layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from glowmcu.emit_c.size_text import Uneven
from glowmcu.emit_c.sized_codes import begins_with, evened, sharing
from glowmcu.errors import ExitCode, GlowmcuError, Problem
from glowmcu.ir.graph import Node
from glowmcu.ir.kernel_code import KernelCode
from glowmcu.ir.operation import Constant
from glowmcu.ir.value_ranges import ValueRanges, value_ranges
from glowmcu.kernels.kernel import Kernel, Site, Target, site_of
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.kernels.selection.select import Selection, select_kernels
from glowmcu.kernels.selection.transposed_variants import untransposed
from glowmcu.lazy_dataclass import dataclass
from glowmcu.open_size.graphs import OpenGraphs


@dataclass(frozen=True, eq=False)
class OpenKernels:
    """`choices` of kernels by layer, and their code at every size by node of the largest graph."""

    choices: KernelChoices
    codes: Mapping[Node, Mapping[int, KernelCode | None]] = field(repr=False)


def open_kernels(
    graphs: OpenGraphs, target: Target, choices: KernelChoices | None, file_name: str
) -> OpenKernels:
    """Raises GM145 naming all layers for which there is none, and what `select_kernels` raises."""
    chosen = select_kernels(graphs.largest, target, choices)
    sites = _Sites(graphs)
    layers: dict[str, str] = dict(choices.layers) if choices is not None else {}
    codes: dict[Node, Mapping[int, KernelCode | None]] = {}
    problems: list[Problem] = []
    is_open = set(graphs.open_nodes())
    for index, node in enumerate(graphs.largest.nodes):
        if isinstance(node.op, Constant) or node not in chosen:
            continue
        selection = chosen[node]
        if node.op.inner_graphs():
            problems.append(_no_kernel(node, graphs, "branches and loops have fixed sizes"))
            continue
        if index not in is_open:
            codes[node] = dict.fromkeys(graphs.size.sizes, selection.code)
            continue
        decided = choices is not None and choices.decides(node)
        found = _first_even(sites, index, selection, target, decided)
        if isinstance(found, str):
            problems.append(_no_kernel(node, graphs, found))
            continue
        layers[node.name], codes[node] = found
        if constant_name := _other_constant(graphs, index, codes[node][graphs.size.largest]):
            why = f"the constant {constant_name!r} is another for each size"
            problems.append(_no_kernel(node, graphs, why))
    if problems:
        raise GlowmcuError(problems, ExitCode.UNSUPPORTED)
    source = choices.source if choices is not None else file_name
    return OpenKernels(KernelChoices(layers, source=source), codes)


def _other_constant(graphs: OpenGraphs, index: int, code: KernelCode | None) -> str:
    """The constant that the code reads and of which a smaller size has not the first bytes."""
    for position in code.operands if code is not None else ():
        value = graphs.largest.nodes[index].inputs[position]
        whole = graphs.largest.constant_data(value)
        for graph in graphs.by_size.values():
            part = graph.constant_data(graph.nodes[index].inputs[position])
            if whole is not None and (part is None or not begins_with(whole, part)):
                return value.name
    return ""


def _first_even(
    sites: _Sites, index: int, selection: Selection, target: Target, decided: bool
) -> tuple[str, Mapping[int, KernelCode | None]] | str:
    """The cheapest variant that serves all sizes with its code, or why the cheapest does not."""
    why = ""
    for variant in (selection.kernel,) if decided else _by_cost(selection):
        try:
            return variant.name, _even_codes(sites, index, variant, target)
        except (Uneven, GlowmcuError) as cause:
            why = why or f"{variant.name}: {cause}"
    return why


def _by_cost(selection: Selection) -> Iterator[Kernel]:
    costs = {name: cost.cycles for name, cost in selection.alternatives}
    costs[selection.kernel_name] = selection.cost.cycles
    return iter(sorted(selection.possible, key=lambda kernel: costs[kernel.name]))


def _even_codes(
    sites: _Sites, index: int, variant: Kernel, target: Target
) -> Mapping[int, KernelCode | None]:
    """Raises Uneven, and GM5xx where a proof fails."""
    size = sites.graphs.size
    tried = (size.largest, size.smallest, size.middle)
    rest = [at for at in size.sizes if at not in tried]
    codes = _codes(sites, index, variant, target, [*dict.fromkeys(tried), *rest])
    return evened(codes, size, untransposed(variant).is_loops)


def _codes(
    sites: _Sites, index: int, variant: Kernel, target: Target, sizes: list[int]
) -> dict[int, KernelCode]:
    found = {}
    function = ""
    for at in sizes:
        site = sites.at(index, at)
        if not variant.accepts(site, target):
            raise Uneven(f"it cannot compute a size of {at}")
        found[at] = variant.generate(site, target)
        if found[at].shuffle is not None:
            raise Uneven("it puts pixels where one size has them")
        found[at] = sharing(found[at], next(iter(found.values())))
        function = function or found[at].function
        if found[at].function != function and not untransposed(variant).is_loops:
            raise Uneven(f"another function at a size of {at}")
        site.memory.clear()
    return found


class _Sites:
    """Sites of a node at all sizes; what values can hold is found once a size."""

    def __init__(self, graphs: OpenGraphs) -> None:
        self.graphs = graphs
        self._ranges: dict[int, ValueRanges] = {}

    def at(self, index: int, size: int) -> Site:
        graph = self.graphs.by_size[size]
        if size not in self._ranges:
            self._ranges[size] = value_ranges(graph)
        return site_of(graph, graph.nodes[index], self._ranges[size])


def _no_kernel(node: Node, graphs: OpenGraphs, why: str) -> Problem:
    size = graphs.size
    return Problem(
        "GM145",
        f"no kernel computes {node.op.name} for {size} by one text of C ({why})",
        f'{node.source} "{node.name}"',
        f"give a fixed size: --define {size.symbol}={size.largest}",
    )
