"""Many small models with no choice of kernel in one bundle: checked one by one, built at once.

A compiler that is started for each layer translates the same kernels again and again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from glowmcu.compilation import Compilation, Prepared
from glowmcu.ir.dump import IrDump
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.interpreter import run_graph
from glowmcu.lowering.passes import lower
from glowmcu.pipeline import compile_prepared, reference_graph
from glowmcu.verify.host import Host
from glowmcu.verify.measurement import Executor, Measurement
from glowmcu.verify.modelled import modelled_core
from tests.support.check_model import Array, expect_equal, random_sets, write_bundle
from tests.support.forced_variant import SANITIZED, forced_options
from tests.support.one_unit import write_unit

Case = TypeVar("Case")


def joined_graph(graphs: Sequence[Graph]) -> Graph:
    """One graph of all, side by side: they share nothing but the inference."""
    inputs: list[Value] = []
    nodes: list[Node] = []
    outputs: list[Value] = []
    for number, graph in enumerate(graphs):
        assert not graph.states
        renamed = {
            value: Value(value.type, f"{value.name}_{number}")
            for value in (*graph.inputs, *graph.producers)
        }
        for node in graph.nodes:
            ins = tuple(renamed[value] for value in node.inputs)
            outs = tuple(renamed[value] for value in node.outputs)
            nodes.append(replace(node, inputs=ins, outputs=outs, name=f"{node.name}_{number}"))
        inputs += (renamed[value] for value in graph.inputs)
        outputs += (renamed[value] for value in graph.outputs)
    (rounding,) = {graph.rounding for graph in graphs}
    joined = Graph("joined", tuple(inputs), tuple(nodes), tuple(outputs), rounding)
    joined.verify()
    return joined


def compile_joined(
    graphs: Sequence[Graph], variant: str, core: str, simplified: bool = False
) -> Compilation:
    """As `compile_forced`, of imported models side by side."""
    imported = joined_graph(graphs)
    lowered = lower(imported, simplified=simplified)
    prepared = Prepared("m.tflite", "", imported, lowered, IrDump(None, False))
    return compile_prepared(prepared, forced_options(variant, core))


def computing_nodes(compilation: Compilation, results: Sequence[Value]) -> list[Node]:
    """What computes these results, from the last to the first."""
    graph, found, asked = compilation.graph, dict[Node, None](), list(results)
    while asked:
        node = graph.producers.get(asked.pop())
        if node is not None:
            asked += node.inputs
            found |= {node: None} if node in compilation.selections else {}
    return list(found)


class ForcedLayers(Generic[Case]):
    """Layers of which each is checked as `check_forced` does it, on inputs that are its own.

    The first check compiles all `cases`, by name, and runs them on a computer or on the core.
    `inputs` are the sets of inputs of every layer; without them as many random ones as `count`
    says and the extremes.
    """

    def __init__(
        self,
        variant: str,
        cases: Mapping[str, Case],
        model: Callable[[Case], bytes],
        core: str = "cortex-m4",
        count: int = 1,
        inputs: Sequence[Sequence[Array]] | None = None,
    ) -> None:
        self._variant, self._core, self._count, self._inputs = variant, core, count, inputs
        self._cases, self._model = cases, model

    def elsewhere(self, core: str) -> ForcedLayers[Case]:
        """The same layers on another core, random inputs once."""
        return ForcedLayers(self._variant, self._cases, self._model, core, inputs=self._inputs)

    def check_all_on_core(self) -> None:
        for name in self._cases:
            self.check_on_core(name)

    def check(self, name: str) -> None:
        """AssertionError unless the variant computes the layer as it is meant in both places."""
        self.check_on_host(name)
        self.check_on_core(name)

    def check_on_host(self, name: str) -> None:
        self._expect_meaning(name, self._on_host, "C on a computer")

    def check_on_core(self, name: str) -> None:
        self._expect_meaning(name, self._on_core, f"C on {self._core}")

    def _expect_meaning(self, name: str, found: Sequence[Measurement], what: str) -> None:
        for got, wanted in zip(self.outputs(name, found), self.meaning(name), strict=True):
            for have, want in zip(got, wanted, strict=True):
                expect_equal(have, want, what)

    def meaning(self, name: str) -> list[list[Array]]:
        """What a layer's own graph gives for each of its sets of inputs."""
        graph = self._graphs[name]
        return [list(map(np.asarray, run_graph(graph, arrays))) for arrays in self._sets[name]]

    def outputs(self, name: str, found: Sequence[Measurement]) -> list[list[Array]]:
        """What of `found`, of all layers, the variant computed for the layer."""
        assert self._variants(name) == {self._variant}
        own = self._results(name)
        return [list(map(np.asarray, measured.outputs[own])) for measured in found]

    def run(self, executor: Executor) -> list[Measurement]:
        """All layers on all sets of inputs; a computer gets the bundle as one file of C."""
        write = write_unit if isinstance(executor, Host) else write_bundle
        with tempfile.TemporaryDirectory() as work:
            return executor.run(write(self._compilation, Path(work)), self._joined_sets)

    @cached_property
    def _graphs(self) -> dict[str, Graph]:
        return {
            name: reference_graph(self._model(case), "m.tflite")
            for name, case in self._cases.items()
        }

    @cached_property
    def _compilation(self) -> Compilation:
        return compile_joined(list(self._graphs.values()), self._variant, self._core)

    @cached_property
    def _sets(self) -> dict[str, Sequence[Sequence[Array]]]:
        """By layer what it would be given alone."""
        if self._inputs is not None:
            return dict.fromkeys(self._graphs, self._inputs)
        types = {name: [value.type for value in g.arguments] for name, g in self._graphs.items()}
        return {name: random_sets(own, self._count) for name, own in types.items()}

    @cached_property
    def _joined_sets(self) -> list[list[Array]]:
        return [
            [array for arrays in of_all for array in arrays]
            for of_all in zip(*self._sets.values(), strict=True)
        ]

    @cached_property
    def _on_host(self) -> list[Measurement]:
        return self.run(Host(SANITIZED))

    @cached_property
    def _on_core(self) -> list[Measurement]:
        return self.run(modelled_core(self._core, count=False))

    def _results(self, name: str) -> slice:
        """Which of all outputs are the layer's."""
        names = list(self._graphs)
        before = sum(len(self._graphs[other].results) for other in names[: names.index(name)])
        return slice(before, before + len(self._graphs[name].results))

    def _variants(self, name: str) -> set[str]:
        """The kernels of what computes the layer's results."""
        done = self._compilation
        nodes = computing_nodes(done, done.graph.results[self._results(name)])
        return {done.selections[node].kernel_name for node in nodes}
