"""Calibration data in the shapes of a graph's inputs, from arrays, files, folders and iterables.

A sample is one array an input, of exactly that input's shape and dtype. Real numbers of any width
become float32; integers for an integer input must fit it. Everything is checked as it is read.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from glowmcu.column_names import by_input
from glowmcu.errors import error
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, Shape
from glowmcu.lazy_dataclass import dataclass
from glowmcu.paired_names import are_paired
from glowmcu.quant.data_sets import (
    as_array,
    by_field,
    columns_of,
    described,
    items_of,
    key_of_samples,
    rows_of,
    samples_in,
    shapes_of_sample,
    unscaled,
)
from glowmcu.quant.labels import LabelledSample, labels_behind, labels_beside
from glowmcu.quant.missing_values import inputs_with_missing
from glowmcu.string_categories import categories_of, inputs_of_categories, numbered

#: What the samples of a model with one input may be called beside labels.
_INPUTS = "inputs"
Sample = tuple[Array, ...]
#: What a user hands over: an array (one input or a batch of it), one a named input, or many.
SampleData = Array | Mapping[str, Array] | Iterable[Any]


@dataclass(frozen=True)
class Samples:
    """Samples that can be gone through again and again. `count` is None if it is not known;
    `notes` say what was taken for granted of them. `rates` are those of sound, in samples a second,
    each with the first file that has it. Of a model with states, `sequences` are what they come
    from, without states.
    """

    make: Callable[[], Iterator[Sample]]
    count: int | None = None
    notes: tuple[str, ...] = ()
    rates: tuple[tuple[int, str], ...] = ()
    sequences: tuple[Samples, ...] = ()

    def __iter__(self) -> Iterator[Sample]:
        return self.make()

    def first(self, count: int) -> Samples:
        """At most the first `count` of them."""

        def make() -> Iterator[Sample]:
            for index, sample in enumerate(self):
                if index == count:
                    return
                yield sample

        return Samples(make, None if self.count is None else min(self.count, count), self.notes)

    def with_notes(self, notes: tuple[str, ...]) -> Samples:
        """The same with more to be said of them."""
        return replace(self, notes=(*self.notes, *notes))


def samples_of(graph: Graph, data: SampleData, where: str = "samples") -> Samples:
    """Samples for `graph` from `data`: a batch along axis 0, one such batch an input by name, as a
    table has columns (of one input, by any name that is clear), or an iterable of samples or of
    batches: an array, a sequence of arrays or a mapping each, labels behind them or not, as data
    sets and loaders of PyTorch, TensorFlow and Hugging Face give them.

    An iterator is read once, into memory. Raises GM304 for shapes, GM305 for values that are not
    finite or do not fit, GM306 for nothing at all, or more than fits.
    """
    given = named if len(graph.inputs) > 1 and (named := columns_of(data)) else as_array(data)
    if isinstance(given, np.ndarray):
        return _of_batches(graph, [_only_input(graph, where)], [given], where)
    if isinstance(given, Mapping):
        return _of_named_batches(graph, given, where)
    items = items_of(data, where)
    first = [list(samples_in(graph, items[0]))] if len(items) else []
    # A loader gives batches, and their number is that of the batches.
    is_loader = any(len(samples) != 1 for samples in first)

    def make() -> Iterator[Sample]:
        every = (each for item in items for each in _with_labels(graph, item))
        for index, (item, label) in enumerate(every):
            yield _labelled(_sample(graph, item, f"{where}, sample {index}"), label)

    count = sum(1 for item in items for _ in samples_in(graph, item)) if is_loader else len(items)
    samples = _not_empty(Samples(make, count), where)
    unfit = labels_behind(graph, items[0], len(first[0])).unfit
    questions = _questions(graph, first[0][0] if first[0] else None)
    return samples.with_notes((*questions, unfit) if unfit else questions)


def _with_labels(graph: Graph, item: object) -> Iterator[tuple[object, int | None]]:
    """The samples of a data set's item, each with its label."""
    samples = list(samples_in(graph, item))
    labels = labels_behind(graph, item, len(samples)).numbers
    return zip(samples, labels or itertools.repeat(None), strict=False)


def _labelled(sample: Sample, label: int | None) -> Sample:
    return sample if label is None else LabelledSample(sample, label)


def _questions(graph: Graph, sample: object) -> tuple[str, ...]:
    """What is to be asked of the first sample."""
    arrays = sample if isinstance(sample, list | tuple) else [sample]
    return tuple(
        text
        for value, array in zip(graph.inputs, arrays, strict=False)
        if isinstance(array, np.ndarray) and value.type.element is ElementType.F32
        for text in unscaled(array, value.name)
    )


def joined(parts: Sequence[Samples]) -> Samples:
    """One after the other; what is said of several is said once. Sound of different rates is asked
    about.
    """
    counts = [part.count for part in parts if part.count is not None]
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    count = sum(counts) if len(counts) == len(parts) else None
    first = dict[int, str]()
    for rate, name in (found for part in parts for found in part.rates):
        first.setdefault(rate, name)
    if len(first) > 1:
        named = ", ".join(f"{rate} ({name})" for rate, name in first.items())
        asked = f"sound of several rates, samples a second: {named}; none was converted"
        notes = tuple(dict.fromkeys((*notes, asked)))
    return Samples(lambda: itertools.chain.from_iterable(parts), count, notes, tuple(first.items()))


def single_files(graph: Graph, paths: Sequence[Path], read: Callable[[Path], Any]) -> Samples:
    """One sample a file, read when it is its turn."""

    def make() -> Iterator[Sample]:
        for path in paths:
            yield _sample(graph, read(path), str(path))

    return Samples(make, len(paths))


def _only_input(graph: Graph, where: str) -> Value:
    if len(graph.inputs) != 1:
        names = ", ".join(value.name for value in graph.inputs)
        raise error(
            "GM304",
            f"one array for {len(graph.inputs)} inputs; expected one each of: {names}",
            where,
            _or_states(graph, graph.inputs, "use an .npz with the inputs' names"),
        )
    return graph.inputs[0]


def _or_states(graph: Graph, missing: Sequence[Value], hint: str) -> str:
    """The hint, behind what makes states of inputs without samples that are called as outputs."""
    pairs = [
        f"--state {value.name}={result.name}"
        for value in missing
        for result in graph.outputs
        if result.type == value.type and are_paired(value.name, result.name)
    ]
    if not pairs:
        return hint
    return f"add {' '.join(pairs)} if each run is given what the one before gave; {hint}"


def _of_named_batches(graph: Graph, data: Mapping[str, Array], where: str) -> Samples:
    parts = [name for name, batch in data.items() if _is_data_set(batch)]
    if parts:
        raise error(
            "GM304",
            f"several data sets by name: {', '.join(map(repr, parts))}",
            where,
            f"give one of them: data[{parts[0]!r}]",
        )
    data = {str(name): rows_of(batch) for name, batch in data.items()}
    if len(graph.inputs) == 1 and graph.inputs[0].name not in data:
        (value,) = graph.inputs
        is_clear = len(data) == 1 or _INPUTS in data
        key = _INPUTS if _INPUTS in data else key_of_samples(data, value.type)
        if is_clear or key is not None:
            name = key or next(iter(data))
            taken = () if is_clear else (f"{where}: of {_listed(data)}, {name!r} is the samples",)
            others = {other: array for other, array in data.items() if other != name}
            found = _of_batches(graph, graph.inputs, [data[name]], where, others)
            return found.with_notes(taken)
    by_name = {value.name: value for value in graph.inputs}
    data = by_input(list(by_name), data)
    missing = [value for name, value in by_name.items() if name not in data]
    if missing:
        named = f"the inputs are: {', '.join(by_name)}"
        raise error(
            "GM304",
            f"no samples for input {missing[0].name!r}; got {_listed(data) or 'nothing'}",
            where,
            _or_states(graph, missing, named)
            + (f"; or call it {_INPUTS!r}" if len(by_name) == 1 else ""),
        )
    others = {name: array for name, array in data.items() if name not in by_name}
    return _of_batches(graph, graph.inputs, [data[name] for name in by_name], where, others)


def _is_data_set(batch: object) -> bool:
    """Whether this is itself a data set of items, not an array."""
    is_plain = isinstance(batch, list | tuple | int | float | str | bytes)
    return not is_plain and not isinstance(as_array(batch), np.ndarray)


def _listed(data: Mapping[str, Array]) -> str:
    """Names with shapes."""
    return ", ".join(f"{name!r} {array.shape}" for name, array in data.items())


def _of_batches(
    graph: Graph,
    inputs: Sequence[Value],
    batches: Sequence[Array],
    where: str,
    others: Mapping[str, Array] | None = None,
) -> Samples:
    """`others`: arrays that are no inputs, of which one may hold labels."""
    rows = [
        _rows(np.asarray(batch), value, where) for value, batch in zip(inputs, batches, strict=True)
    ]
    counts = {value.name: len(batch) for value, batch in zip(inputs, rows, strict=True)}
    if len(set(counts.values())) > 1:
        text = ", ".join(f"{name!r} {count}" for name, count in counts.items())
        raise error("GM304", f"inputs have different numbers of samples: {text}", where)

    labels = labels_beside(graph, others or {}, len(rows[0]))

    def make() -> Iterator[Sample]:
        for index, arrays in enumerate(zip(*rows, strict=True)):
            sample = _sample(graph, arrays, f"{where}, sample {index}")
            yield _labelled(sample, labels.numbers[index] if labels.numbers else None)

    questions = tuple(
        text
        for value, batch in zip(inputs, rows, strict=True)
        if value.type.element is ElementType.F32
        for text in unscaled(batch, value.name)
    )
    unfit = (labels.unfit,) if labels.unfit else ()
    return _not_empty(Samples(make, len(rows[0]), (*questions, *unfit)), where)


def _rows(batch: Array, value: Value, where: str) -> Array:
    """`(samples, *input shape)`, whichever of three ways the batch is shaped."""
    shape = value.type.shape
    if batch.shape == shape:
        return batch[np.newaxis]
    if batch.ndim and shape[:1] == (1,) and batch.shape[1:] == shape[1:]:
        return batch[:, np.newaxis]
    if value.type.element_count == 1 and batch.ndim <= 1:  # a column
        return batch.reshape(-1, *shape)
    if batch.shape[1:] == shape:
        return batch
    raise _wrong_shape(batch.shape, value, where, many=True)


def _not_empty(samples: Samples, where: str) -> Samples:
    if samples.count == 0:
        raise error("GM306", "no samples", where, "a few hundred from the training data are good")
    return samples


def _wrong_shape(got: Shape, value: Value, where: str, many: bool = False) -> Exception:
    shape = value.type.shape
    tail = shape[1:] if shape[:1] == (1,) else shape
    expected = f"{shape}, or a batch {('N', *tail)}".replace("'", "") if many else f"{shape}"
    return error(
        "GM304",
        f"samples for input {value.name!r} must be {expected}; got {got}",
        where,
        "is the layout (NHWC, NCHW) that of the model, or is an axis missing?",
    )


def _sample(graph: Graph, item: object, where: str) -> Sample:
    arrays = _arrays_of(graph, item, where)
    return tuple(
        _checked(_own_numbers(np.asarray(array), value, graph), value, graph, where)
        for value, array in zip(graph.inputs, arrays, strict=True)
    )


def _own_numbers(array: Array, value: Value, graph: Graph) -> Array:
    """Of an input of strings the numbers of its categories."""
    if value.name not in inputs_of_categories(graph.metadata):
        return array
    return numbered(array, categories_of(graph.metadata))


def _arrays_of(graph: Graph, item: object, where: str) -> list[object]:
    """One array an input, from an array, a mapping by name or a sequence."""
    item = by_field(graph, item)
    if isinstance(item, Mapping):
        item = by_input([value.name for value in graph.inputs], item)
        missing = [value for value in graph.inputs if value.name not in item]
        if missing:
            what = f"a sample without input {', '.join(repr(value.name) for value in missing)}"
            raise _nothing_fits(graph, what, item, where, missing)
        return [item[value.name] for value in graph.inputs]
    if isinstance(item, np.ndarray):
        _only_input(graph, where)
        return [item]
    arrays = list(item) if isinstance(item, Sequence) else [item]
    if len(arrays) != len(graph.inputs):
        what = f"expected {len(graph.inputs)} arrays a sample, got {len(arrays)}"
        raise _nothing_fits(graph, what, item, where, graph.inputs)
    return arrays


def _nothing_fits(
    graph: Graph, what: str, item: object, where: str, wanted: Sequence[Value]
) -> Exception:
    shapes = ", ".join(str(value.type.shape) for value in wanted)
    return error(
        "GM304",
        f"{what}: it holds {described(item)}; the model takes {shapes}",
        where,
        _or_states(
            graph,
            wanted,
            "is the layout (NHWC, NCHW) that of the model? Name arrays like the inputs; images "
            "become numbers with preprocess=FILE",
        ),
    )


def _checked(array: Array, value: Value, graph: Graph, where: str) -> Array:
    """`array` in the shape and dtype of the input of `graph`."""
    if array.shape not in shapes_of_sample(value.type):
        raise _wrong_shape(array.shape, value, where)
    array = array.reshape(value.type.shape)
    if value.type.element is ElementType.F32:
        return _float_array(array, value, graph, where)
    return _integer_array(array, value, where)


def _float_array(array: Array, value: Value, graph: Graph, where: str) -> Array:
    if array.dtype.kind not in "fiub":
        raise error("GM305", f"input {value.name!r}: {array.dtype} is no number", where)
    with np.errstate(over="ignore"):
        single = np.asarray(array, np.float32, order="C")
    bad = ~np.isfinite(single)
    if bad.any() and value in inputs_with_missing(graph):
        bad = np.isinf(single)
    if bad.any():
        place = tuple(map(int, np.argwhere(bad)[0]))
        raise error(
            "GM305",
            f"input {value.name!r} is {single[place]} at {place}; expected finite numbers",
            where,
            "remove or repair this sample: a range that holds NaN or infinity is none",
        )
    return single


def _integer_array(array: Array, value: Value, where: str) -> Array:
    low, high = value.type.element.limits
    fits = array.dtype.kind in "iub" and (
        array.size == 0 or (int(array.min()) >= low and int(array.max()) <= high)
    )
    if not fits:
        raise error(
            "GM305",
            f"input {value.name!r} is {value.type.element.value}; expected integers from {low} to "
            f"{high}, got {array.dtype}",
            where,
        )
    return np.asarray(array, value.type.element.numpy, order="C")
