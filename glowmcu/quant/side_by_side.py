"""A float graph and its quantized form on the same samples, node beside node.

Conversion keeps the nodes, their order and names, but for constants and for the borders of int8,
which come and go: that is how a tensor finds its counterpart. Both graphs run in batches where both
allow it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from glowmcu.errors import error
from glowmcu.ir.graph import Graph, Node, Value, evaluate_node
from glowmcu.ir.interpreter import bind_inputs
from glowmcu.ir.operation import Array, Constant, Rounding, Signature
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.quantization import Quantize
from glowmcu.quant.batching import batched, batches_agree, stacked
from glowmcu.quant.int8_partition import is_conversion
from glowmcu.quant.profiling import BATCH_SIZE
from glowmcu.quant.samples import Sample, Samples

Tensors = dict[Value, Array]
#: What conversion writes into `Node.source` of the nodes that it adds.
ADDED = "quantization"


def stored_values(x: Array, type_: TensorType) -> Array:
    """Real numbers as `type_` stores them, NaN as the least one, as a bundle's header converts it;
    unchanged if it is no quantized type.
    """
    if type_.quantization is None:
        return x
    x = np.where(np.isnan(x), np.float32(-np.inf), x)
    signature = Signature((TensorType(x.shape, ElementType.F32),), (type_.with_shape(x.shape),))
    return Quantize().evaluate([x], signature, Rounding.DOUBLE)[0]


def real_values(stored: Array, type_: TensorType) -> Array:
    """float32 of stored values; unchanged if the type is not quantized per tensor."""
    if type_.quantization is None or type_.quantization.per_channel:
        return stored
    offsets = stored.astype(np.float32) - np.float32(type_.zero_point)
    real: Array = offsets * np.float32(type_.scale)
    return real


def run_tensors(graph: Graph, inputs: Sequence[Array]) -> Tensors:
    """Every tensor of one run."""
    values = bind_inputs(graph, inputs)
    for node in graph.nodes:
        values.update(zip(node.outputs, node_results(graph, node, values), strict=True))
    return values


def rerun(graph: Graph, before: Mapping[Value, Array], changed: Tensors) -> list[Array]:
    """Outputs of a run `before` after some of its tensors changed."""
    for node in graph.nodes:
        if any(value in changed for value in node.inputs):
            if all(value in changed for value in node.outputs):
                continue
            seen = {value: changed.get(value, before[value]) for value in node.inputs}
            changed.update(zip(node.outputs, node_results(graph, node, seen), strict=True))
    return [changed.get(value, before[value]) for value in graph.outputs]


def node_results(graph: Graph, node: Node, values: Mapping[Value, Array]) -> tuple[Array, ...]:
    """What a node gives; what overflows is for others to name."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return evaluate_node(node, [values[value] for value in node.inputs], graph.rounding)


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Both graphs in one shape; `batch` is the number of samples that run at once."""

    reference: Graph
    quantized: Graph

    def __post_init__(self) -> None:
        _ = self.pairs

    @cached_property
    def pairs(self) -> tuple[tuple[Node, Node], ...]:
        """Nodes of the float graph with their counterparts. Raises GM316 if there are none."""
        first, second = (
            [
                node
                for node in graph.nodes
                if not isinstance(node.op, Constant) and node.source != ADDED
                if not is_conversion(graph, node)
            ]
            for graph in (self.reference, self.quantized)
        )
        names = [[(node.op.name, node.name) for node in nodes] for nodes in (first, second)]
        if names[0] != names[1]:
            raise error(
                "GM316",
                f"the quantized graph does not come from this float graph: {len(first)} and "
                f"{len(second)} nodes, or other names",
                self.reference.name,
            )
        return tuple(zip(first, second, strict=True))

    @cached_property
    def origins(self) -> dict[Value, Value]:
        """Tensors of the quantized graph to those of the float graph, where they correspond."""
        found = dict(zip(self.quantized.inputs, self.reference.inputs, strict=True))
        for first, second in self.pairs:
            found.update(zip(second.outputs, first.outputs, strict=True))
        return found

    @property
    def added_quantizations(self) -> list[Node]:
        """Nodes that turn a tensor of the float graph into integers."""
        return [
            node
            for node in self.quantized.nodes
            if node.source == ADDED
            and isinstance(node.op, Quantize)
            and node.inputs[0] in self.origins
        ]

    def quantized_inputs(self, inputs: Sequence[Array]) -> list[Array]:
        """Real inputs as the quantized graph takes them."""
        return [
            stored_values(array, value.type) if value.type.element != origin.type.element else array
            for array, value, origin in zip(
                inputs, self.quantized.inputs, self.reference.inputs, strict=True
            )
        ]

    def runs(self, samples: Samples) -> Iterator[tuple[SideBySide, list[Array], int]]:
        """All samples in groups: both graphs for a group, its inputs, how many samples it has."""
        iterator = iter(samples)
        probe = list(itertools.islice(iterator, 2))
        size = BATCH_SIZE if self._take_batches(probe) else 1
        iterator = itertools.chain(probe, iterator)
        shapes: dict[int, SideBySide] = {1: self}
        while group := list(itertools.islice(iterator, size)):
            if len(group) not in shapes:
                shapes[len(group)] = self._for_many(len(group))
            yield shapes[len(group)], stacked(group), len(group)

    def _take_batches(self, probe: Sequence[Sample]) -> bool:
        return (
            len(probe) == 2
            and batches_agree(self.reference, probe)
            and batches_agree(self.quantized, [self.quantized_inputs(sample) for sample in probe])
        )

    def _for_many(self, count: int) -> SideBySide:
        graphs = batched(self.reference, count), batched(self.quantized, count)
        assert graphs[0] is not None and graphs[1] is not None
        return SideBySide(graphs[0][0], graphs[1][0])
