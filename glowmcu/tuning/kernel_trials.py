"""Measure kernels on layers of a model: all layers of one kernel side by side in one bundle.

Together, because gcc inlines and specializes a function that is called once; in a model most
kernels are called several times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from glowmcu.board import Board
from glowmcu.emit_c.bundle_facts import BundleFacts
from glowmcu.emit_c.bundle_files import bundle_files
from glowmcu.emit_c.write_bundle import temporary_bundle
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, Constant
from glowmcu.ir.value_range import ValueRange
from glowmcu.kernels.kernel import Site, Target
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.kernels.selection.select import select_kernels
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import Manifest
from glowmcu.memplan.build_program import build_program
from glowmcu.memplan.planner import ARENA_ALIGN, aligned, plan_memory
from glowmcu.tuning.content_digest import content_digest, tool_digest
from glowmcu.verify.measurement import LayerCost
from glowmcu.verify.modelled import modelled_core
from glowmcu.verify.toolchain import compiler_version
from glowmcu.version import __version__


@dataclass(frozen=True)
class Trial:
    """One kernel on one layer; trials with equal keys have equal costs."""

    site: Site
    kernel: str
    key: str


def trial(site: Site, kernel: str, target: Target, board: Board | None) -> Trial:
    """The key holds the layer's operator, types, constants and ranges; the kernel, core and goal;
    how the board's memories are timed; our own code and the compiler's version. Names do not
    matter.
    """
    known = on_board(board, target)
    memories = () if known is None else (known.timing, known.placement)
    key = content_digest(
        type(site.node.op).__qualname__, site.node.op, site.signature, site.constants,
        site.rounding, site.input_ranges, kernel, target.core.name, target.goal, memories,
        tool_digest(), compiler_version(),
    )  # fmt: skip
    return Trial(site, kernel, key)


def on_board(board: Board | None, target: Target) -> Board | None:
    """The board where waits for its memories count: its core is modelled, its file says them."""
    if board is None or target.core.unicorn_model is None or target.core.name != board.core:
        return None
    return board if board.timing else None


def measure(
    trials: Sequence[Trial], target: Target, board: Board | None
) -> Iterator[tuple[Trial, float]]:
    """Cycles of trials that have one kernel in common, on the board where its memories are known:
    the middle of the range.
    """
    assert len({item.kernel for item in trials}) == 1
    yield from zip(trials, _modelled(trials, target, board), strict=True)


def _modelled(trials: Sequence[Trial], target: Target, board: Board | None) -> list[float]:
    memory_of = on_board(board, target)
    files, name, inputs = _bundle(trials, target)
    with temporary_bundle(files, name) as folder:
        (found,) = modelled_core(target.core.name, memory_of=memory_of).run(folder, [inputs])
    by_name = {layer.name: _cycles(layer) for layer in found.layers}
    return [by_name[_layer_name(number)] for number in range(len(trials))]


def _cycles(layer: LayerCost) -> float:
    known = layer.board_cycles
    return float(layer.cycles or 0) if known is None else (known.low + known.high) / 2


def _layer_name(number: int) -> str:
    return f"layer_{number}"


def _bundle(trials: Sequence[Trial], target: Target) -> tuple[Mapping[str, str], str, list[Array]]:
    """A bundle of all layers, its name, and inputs within what the layers' operands can hold."""
    graph, ranges = _side_by_side([item.site for item in trials])
    choices = KernelChoices({_layer_name(i): item.kernel for i, item in enumerate(trials)})
    selections = select_kernels(graph, target, choices, ranges=ranges)
    plan = plan_memory(build_program(graph, selections))
    facts = BundleFacts(
        name="trial",
        tool_version=__version__,
        model_file="",
        model_sha256="",
        board="generic",
        options={},
        arena_bytes=aligned(plan.arena_bytes, ARENA_ALIGN),
        arena_lower_bound_bytes=aligned(plan.lower_bound_bytes, ARENA_ALIGN),
        arena_align=ARENA_ALIGN,
        rounding=graph.rounding.in_c,
        exact_outputs=(True,) * len(graph.outputs),
        rounded_outputs=(False,) * len(graph.outputs),
    )
    files, manifest = bundle_files(plan.program, selections, facts)
    return files, manifest.name, _inputs(graph, ranges, manifest)


def _side_by_side(
    sites: Sequence[Site],
) -> tuple[Graph, dict[Value, ValueRange | None]]:
    """Each site's node with inputs of its own, and what they can hold."""
    inputs: list[Value] = []
    nodes: list[Node] = []
    outputs: list[Value] = []
    ranges: dict[Value, ValueRange | None] = {}
    for number, site in enumerate(sites):
        operands = []
        for place, data in enumerate(site.constants):
            value = Value(site.signature.inputs[place], f"x{number}_{place}")
            ranges[value] = site.input_ranges[place]
            operands.append(value)
            if data is None:
                inputs.append(value)
            else:
                nodes.append(Node(Constant(data), (), (value,), value.name))
        results = [Value(type_, f"y{number}_{i}") for i, type_ in enumerate(site.signature.outputs)]
        nodes.append(Node(site.node.op, tuple(operands), tuple(results), _layer_name(number)))
        outputs.extend(results)
    graph = Graph("trial", tuple(inputs), tuple(nodes), tuple(outputs), sites[0].rounding)
    return graph, ranges


def _inputs(
    graph: Graph, ranges: dict[Value, ValueRange | None], manifest: Manifest
) -> list[Array]:
    generator = np.random.default_rng(1)
    assert len(graph.inputs) == len(manifest.inputs)
    return [_input(generator, value, ranges[value]) for value in graph.inputs]


def _input(generator: np.random.Generator, value: Value, known: ValueRange | None) -> Array:
    shape, element = value.type.shape, value.type.element
    if known is None:
        return generator.normal(0, 1, shape).astype(element.numpy)
    numbers = generator.integers(known.low, known.high, shape or None, endpoint=True)
    return np.asarray(numbers).reshape(shape).astype(element.numpy)
