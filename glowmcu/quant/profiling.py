"""Run samples through a float graph by its operators' meanings and gather what every tensor holds.

Samples run in batches where the graph allows it (`batching.py`): products then are BLAS calls on
large matrices, and statistics see long arrays.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from glowmcu.errors import error
from glowmcu.ir.graph import Graph, Node, Value, evaluate_node
from glowmcu.ir.interpreter import bind_inputs
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass
from glowmcu.quant.batching import batched, batches_agree, stacked
from glowmcu.quant.histogram import histogram_of
from glowmcu.quant.missing_values import filled, values_with_missing
from glowmcu.quant.profile import (
    ChannelProfile,
    Profile,
    TensorProfile,
    merge_tensors,
    profiled_values,
)
from glowmcu.quant.samples import Sample, Samples
from glowmcu.version import __version__

#: Samples that run at once, where their tensors stay small enough to be kept in caches and RAM.
BATCH_SIZE = 32
_LARGEST_BATCH_BYTES = 1 << 27
_MOST_CHANNELS = 4096


@dataclass(frozen=True)
class Progress:
    """How far it has come, and with what: samples are profiled, then options chosen by them.
    `total` and `remaining_s` are None if the end is not known.
    """

    done: int
    total: int | None
    elapsed_s: float
    remaining_s: float | None
    activity: str = "profiling"


ProfilingObserver = Callable[[Progress], None]


class Watch:
    """Tells an observer, if there is one, how far an activity that begins now has come."""

    def __init__(
        self,
        observer: ProfilingObserver | None,
        activity: str = "profiling",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._observer, self._activity = observer, activity
        self._clock, self._started = clock, clock()

    def tell(self, done: int, total: int | None) -> None:
        """Where `done` of `total` are done."""
        if self._observer is not None:
            elapsed = self._clock() - self._started
            remaining = None if total is None else elapsed * max(total - done, 0) / done
            self._observer(Progress(done, total, elapsed, remaining, self._activity))


Visit = Callable[[Node | None, Sequence[Value], Sequence[Array]], None]


def profile_graph(
    graph: Graph,
    samples: Samples,
    model_sha256: str = "",
    observer: ProfilingObserver | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Profile:
    """The profile of `samples`.

    Raises GM306 for no samples, GM310 if all are the same, GM311 if a tensor overflows.
    """
    names = profiled_values(graph)
    may_lack = values_with_missing(graph)
    tensors: dict[Value, TensorProfile] = {}

    def visit(node: Node | None, values: Sequence[Value], arrays: Sequence[Array]) -> None:
        for value, array in zip(values, arrays, strict=True):
            if value in names:
                seen = _measure(value, filled(array) if value in may_lack else array, node)
                tensors[value] = merge_tensors(tensors[value], seen) if value in tensors else seen

    watch, done = Watch(observer, clock=clock), 0
    for count in run_samples(graph, samples, visit):
        done += count
        watch.tell(done, samples.count)
    if done == 0:
        raise error("GM306", "no samples", hint="a few hundred from the training data are good")
    _refuse_constant_data(graph, tensors)
    named = {name: tensors[value] for value, name in names.items()}
    return Profile(model_sha256, __version__, done, named)


def run_samples(graph: Graph, samples: Samples, visit: Visit) -> Iterator[int]:
    """Run all samples; `visit` sees the values of `graph` with arrays of one or more samples.

    Yields the number of samples after each batch. Inputs are visited with None for a node.
    """
    for lanes, originals, inputs, count in in_batches(graph, samples):
        _run(lanes, originals, inputs, visit)
        yield count


def in_batches(
    graph: Graph, samples: Samples
) -> Iterator[tuple[Graph, dict[Value, Value], Sequence[Array], int]]:
    """All samples in groups: the graph for a group, its values to those of `graph`, its inputs, and
    how many samples it has.
    """
    iterator = iter(samples)
    size = min(BATCH_SIZE, _affordable(graph))
    if size > 1:
        probe = list(itertools.islice(iterator, 2))
        size = size if len(probe) == 2 and batches_agree(graph, probe) else 1
        iterator = itertools.chain(probe, iterator)
    for group in _groups(iterator, size):
        batch = batched(graph, len(group)) if len(group) > 1 else None
        if batch is None:
            for sample in group:
                yield graph, {value: value for value in _all_values(graph)}, sample, 1
        else:
            originals = {new: old for old, new in batch[1].items()}
            yield batch[0], originals, stacked(group), len(group)


def _affordable(graph: Graph) -> int:
    largest = max(value.type.size_bytes for value in _all_values(graph))
    # A convolution unfolds its input by its window: some ten times.
    return max(1, _LARGEST_BATCH_BYTES // (10 * max(largest, 1)))


def _all_values(graph: Graph) -> list[Value]:
    return [*graph.inputs, *(value for node in graph.nodes for value in node.outputs)]


def _groups(samples: Iterable[Sample], size: int) -> Iterator[list[Sample]]:
    iterator = iter(samples)
    while group := list(itertools.islice(iterator, size)):
        yield group


def _run(
    graph: Graph, originals: dict[Value, Value], inputs: Sequence[Array], visit: Visit
) -> None:
    """One run; arrays are let go after their last use."""
    arrays = bind_inputs(graph, inputs)
    visit(None, [originals[value] for value in graph.inputs], inputs)
    last_use = {value: index for index, node in enumerate(graph.nodes) for value in node.inputs}
    for index, node in enumerate(graph.nodes):
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            operands = [arrays[value] for value in node.inputs]
            results = evaluate_node(node, operands, graph.rounding)
            seen = list(results)
            for place, array in node.op.trajectories(operands, results, node.signature).items():
                seen[place] = array
        visit(node, [originals[value] for value in node.outputs], seen)
        arrays.update(zip(node.outputs, results, strict=True))
        for value in (*node.inputs, *node.outputs):
            if last_use.get(value, index) == index:
                arrays.pop(value, None)


def _measure(value: Value, array: Array, node: Node | None) -> TensorProfile:
    """The statistics of one run's tensor."""
    channels = _channel_profile(value, array)
    low = float(array.min() if channels is None else channels.low.min())
    high = float(array.max() if channels is None else channels.high.max())
    if not np.isfinite(low) or not np.isfinite(high):
        where = f"input {value.name!r}" if node is None else f'{node.op.name} "{node.name}"'
        raise error(
            "GM311",
            f"tensor {value.name!r} is not finite: {low} to {high}",
            where,
            "the model overflows on these samples: are they scaled as in training?",
        )
    flat = array.reshape(-1)
    # Channels have as many elements each: their means are cheaper to add up than all elements.
    mean = float((flat if channels is None else channels.mean).mean(dtype=np.float64))
    centred = flat - np.float32(mean)
    reach = max(high - mean, mean - low) or 1.0
    centred /= np.float32(reach)  # squares stay within float32
    variance = float(np.dot(centred, centred)) / flat.size * reach * reach
    histogram = histogram_of(array, low, high)
    return TensorProfile(
        value.type.shape, flat.size, low, high, mean, variance, histogram, channels
    )


def _channel_profile(value: Value, array: Array) -> ChannelProfile | None:
    if value.type.rank < 2 or not 1 < value.type.shape[-1] <= _MOST_CHANNELS:
        return None
    rows = array.reshape(-1, array.shape[-1])
    mean = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    return ChannelProfile(rows.min(axis=0), rows.max(axis=0), mean)


def _refuse_constant_data(graph: Graph, tensors: dict[Value, TensorProfile]) -> None:
    """GM310 if no input varies at all: blank recordings calibrate nothing."""
    inputs = [(value, tensors[value]) for value in graph.inputs if value in tensors]
    if inputs and all(tensor.low == tensor.high for _, tensor in inputs):
        value, tensor = inputs[0]
        raise error(
            "GM310",
            f"every sample of input {value.name!r} is {tensor.low:g} throughout",
            hint="ranges from constant data fit nothing else: take real samples",
        )
