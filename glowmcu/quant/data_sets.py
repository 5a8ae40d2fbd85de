"""What people's data sets hold, as arrays: tensors of frameworks, pairs with labels, batches, rows.

No framework is imported. A tensor is what says how it becomes an array: `detach` and `numpy` of
PyTorch, `numpy` of TensorFlow, the array protocol of JAX, Pillow and others, `to_numpy` of pandas.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any

import numpy as np

from glowmcu import limits
from glowmcu.column_names import ASIDE, by_input, kept_columns
from glowmcu.errors import GlowmcuError, error
from glowmcu.ir.graph import Graph
from glowmcu.ir.operation import Array
from glowmcu.ir.types import Shape, TensorType

#: What samples are called beside labels, where several arrays would fit; the first is taken.
_USUAL = (
    "inputs", "x", "x_train", "samples", "data", "features", "images", "image", "pixel_values",
    "input_values", "audio",
)  # fmt: skip

_MOST_DESCRIBED = 6
_TENSORFLOW_INFINITE = -1
#: Fields of a named tuple that pandas calls by their places, and its index.
_OF_PANDAS = re.compile(r"Index|_\d+")
#: Of anything that is kept.
_LEAST_BYTES = 8
#: Items that are kept of what gives no number of them; a few hundred calibrate well.
_MOST_ITEMS = 1 << 18
#: An item is inputs, labels and weights at most.
_MOST_PARTS = 3


def as_array(data: object) -> object:
    """An array where `data` is one in another library's clothes; `data` itself otherwise."""
    found: Any = data
    if isinstance(data, np.ma.MaskedArray):
        return np.where(data.mask, np.nan, data.data) if np.any(data.mask) else data.data
    if isinstance(data, np.ndarray | Mapping | list | tuple | str | bytes):
        return data
    if hasattr(found, "detach"):
        return _of_torch(found)
    for name in ("to_numpy", "numpy"):
        if callable(getattr(found, name, None)):
            return _of_numbers(np.asarray(getattr(found, name)()))
    if hasattr(found, "__array__") or hasattr(found, "__array_interface__"):
        return np.asarray(found)
    return data


def columns_of(data: object) -> dict[str, object] | None:
    """Columns by name of a table (pandas, polars); None of what is no table."""
    found: Any = data
    is_table = hasattr(found, "columns") and callable(getattr(found, "to_numpy", None))
    return {str(name): found[name] for name in found.columns} if is_table else None


def by_field(graph: Graph, item: object) -> object:
    """A named tuple with a field for each input, and a row that is a table, as a mapping; others as
    they are. Raises GM304 for a row of pandas that has lost the names of its columns.
    """
    if len(graph.inputs) > 1 and (columns := columns_of(item)) is not None:
        return columns
    fields = getattr(item, "_fields", ())
    inputs = [value.name for value in graph.inputs]
    found = by_input(inputs, dict(zip(fields, item, strict=True))) if fields else {}  # type: ignore[call-overload]
    if fields and all(name in found for name in inputs):
        return found
    if len(inputs) > 1 and any(_OF_PANDAS.fullmatch(name) for name in fields):
        raise error(
            "GM304",
            f"a row with the fields {', '.join(fields)}; the inputs are {', '.join(inputs)}",
            "samples",
            "names with spaces or signs are lost on the way: give the table itself, or its rows "
            "as mappings, frame.to_dict('records')",
        )
    return item


def _of_numbers(array: Array) -> Array:
    """Columns of pandas that may lack a number hold Python's objects, and NA for what is not there:
    float64 of numbers, with NaN.
    """
    if array.dtype != object:
        return array
    flat = [float("nan") if type(item).__name__ == "NAType" else item for item in array.flat]
    if not all(isinstance(item, int | float | np.number | np.bool_) for item in flat):
        return array
    return np.array(flat, np.float64).reshape(array.shape)


def rows_of(data: object) -> Array:
    """An array of what a data set holds; of rows of different lengths one of objects, a row each,
    that nothing takes for numbers.
    """
    found = as_array(data)
    try:
        return np.asarray(found)
    except ValueError:
        assert isinstance(found, Sequence), "only lists are uneven"
        rows: Array = np.empty(len(found), object)
        rows[:] = list(found)
        return rows


def _of_torch(tensor: Any) -> Array:  # noqa: ANN401 - a tensor of PyTorch
    """Raises GM305 for what has no numbers of its own, as sparse and meta tensors."""
    found = tensor.detach()
    try:
        found = found.cpu()
        # NumPy has no bfloat16: float32 holds all of its numbers.
        is_narrow = str(getattr(found, "dtype", "")) == "torch.bfloat16"
        return np.asarray((found.float() if is_narrow else found).numpy())
    except (TypeError, RuntimeError, NotImplementedError) as cause:
        raise error(
            "GM305",
            f"a tensor of PyTorch that is no array: {' '.join(str(cause).split())[:120]}",
            hint="give dense tensors that hold data: tensor.to_dense()",
        ) from cause


def items_of(data: Iterable[Any], where: str) -> Sequence[Any]:
    """All items, read once: each pass over a loader that shuffles or augments would differ.

    What has a length and gives its items by number stays where it is. Raises GM306 for more than
    fit into memory.
    """
    if isinstance(data, Sequence):
        return data
    if isinstance(data, Sized) and hasattr(data, "__getitem__"):
        return _ByNumber(data)
    # What `tf.data` says of a data set that repeats without an end.
    cardinality = getattr(data, "cardinality", None)
    if callable(cardinality) and int(cardinality()) == _TENSORFLOW_INFINITE:
        raise _too_many("a data set without an end", where)
    found, left = list[Any](), limits.memory_bytes() // 2
    for item in data:
        left -= _size_bytes(item)
        if left < 0 or len(found) == _MOST_ITEMS:
            room = limits.size_text(limits.memory_bytes() // 2)
            raise _too_many(f"more samples than fit into {room}: {len(found)} and no end", where)
        found.append(item)
    return found


def _too_many(what: str, where: str) -> GlowmcuError:
    return error(
        "GM306", what, where,
        "take as many as calibrate well, a few hundred: itertools.islice(data, 500)",
    )  # fmt: skip


class _ByNumber(Sequence[Any]):
    """A data set that gives its items by number."""

    def __init__(self, data: Any) -> None:  # noqa: ANN401 - of whatever library
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __iter__(self) -> Iterator[Any]:
        # By the length: a data set that makes its items up need not refuse a number beyond it.
        return (self._data[index] for index in range(len(self._data)))

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401 - as `Sequence` has it
        return self._data[index]


def _size_bytes(item: object) -> int:
    if isinstance(item, Mapping):
        return sum(map(_size_bytes, item.values()))
    if isinstance(item, list | tuple):
        return _LEAST_BYTES + sum(map(_size_bytes, item))
    return max(int(getattr(item, "nbytes", _LEAST_BYTES)), _LEAST_BYTES)


def samples_in(graph: Graph, item: object) -> Iterator[object]:
    """The samples of one item, as `samples_of` takes them: itself, or those of a batch.

    What stands behind the inputs of an item, its label, is left out.
    """
    arrays = _inputs_of(graph, item)
    if arrays is None:
        yield item
        return
    counts = {_batch(array, value.type) for array, value in zip(arrays, graph.inputs, strict=True)}
    count = counts.pop() if len(counts) == 1 else None
    if count is None:
        yield arrays
        return
    for index in range(count):
        yield [array[index] for array in arrays]


def _inputs_of(graph: Graph, item: object) -> list[Array] | None:
    """Arrays for the inputs; None if the item is nothing that is known here."""
    types = [value.type for value in graph.inputs]
    item = by_field(graph, as_array(item))
    if isinstance(item, Mapping):
        return _of_row(graph, item)
    if isinstance(item, np.ndarray):
        return [item] if len(types) == 1 else None
    if not isinstance(item, list | tuple):
        return None
    if len(types) == 1 and item and isinstance(item[0], int | float | list):
        plain = _of_plain_numbers(item, types[0])
        if plain is not None:
            return plain
    if item and isinstance(item[0], Mapping | list | tuple) and len(item) <= _MOST_PARTS:
        inner = _inputs_of(graph, item[0])
        if inner is not None:
            return inner
    parts = [as_array(part) for part in item[: len(types)]]
    fits = len(parts) == len(types) and all(
        isinstance(part, np.ndarray) and _is_sample_or_batch(part.shape, type_)
        for part, type_ in zip(parts, types, strict=True)
    )
    return [np.asarray(part) for part in parts] if fits else None


def _of_row(graph: Graph, row: Mapping[Any, Any]) -> list[Array] | None:
    """By the inputs' names, or of one input by what fits it: an array, or columns of numbers."""
    cells = {str(name): _of_cell(cell) for name, cell in row.items()}
    by_name = by_input([value.name for value in graph.inputs], cells)
    if all(value.name in by_name for value in graph.inputs):
        named = [np.asarray(by_name[value.name]) for value in graph.inputs]
        # Of one input, a column may be called as all of them are.
        if len(named) > 1 or _is_sample_or_batch(named[0].shape, graph.inputs[0].type):
            return named
    if len(graph.inputs) != 1:
        return None
    type_ = graph.inputs[0].type
    arrays = {name: cell for name, cell in by_name.items() if isinstance(cell, np.ndarray)}
    key = key_of_samples(arrays, type_)
    if key is not None:
        return [arrays[key]]
    kept = kept_columns(list(cells), len(cells), (type_.element_count,))
    numbers = [list(cells.values())[at] for at in kept or ()]
    if kept is None or not all(isinstance(cell, int | float) for cell in numbers):
        return None
    return [np.array(numbers).reshape(type_.shape)]


def _of_cell(cell: object) -> object:
    """What a data set holds in a column: lists of numbers are arrays, and so is decoded sound."""
    if isinstance(cell, Mapping):
        cell = cell.get("array")
    if isinstance(cell, list | tuple):
        try:
            array = np.asarray(cell)
        except ValueError:
            return cell  # rows of different lengths
        return array if array.dtype.kind in "fiub" else cell
    return as_array(cell)


def described(item: object) -> str:
    """What an item holds, for messages: names, shapes and kinds."""
    if isinstance(item, Mapping):
        cells = [(f"{str(name)!r} ", _of_cell(cell)) for name, cell in item.items()]
    elif isinstance(item, list | tuple):
        cells = [("", as_array(part)) for part in item]
    else:
        cells = [("", as_array(item))]
    texts = [
        f"{name}{cell.shape} {cell.dtype}" if isinstance(cell, np.ndarray)
        else f"{name}{type(cell).__name__}"
        for name, cell in cells[:_MOST_DESCRIBED]
    ]  # fmt: skip
    more = len(cells) - len(texts)
    return ", ".join([*texts, *([f"{more} more"] if more else [])]) or "nothing"


def _of_plain_numbers(item: Sequence[Any], type_: TensorType) -> list[Array] | None:
    try:
        array = np.asarray(item)
    except ValueError:
        return None  # rows of different lengths
    return [array] if _is_sample_or_batch(array.shape, type_) else None


def key_of_samples(arrays: Mapping[str, Array], type_: TensorType) -> str | None:
    """The name of the array that holds samples of the only input: the only one that fits it, or of
    several the one that is called as samples usually are; None if that is not clear.
    """
    fitting = [name for name, array in arrays.items() if _is_sample_or_batch(array.shape, type_)]
    if len(fitting) == 1:
        return fitting[0]
    # A batch of labels may be as long as a sample.
    others = [name for name in fitting if name.lower() not in ASIDE]
    if len(others) == 1:
        return others[0]
    by_lower = {name.lower(): name for name in reversed(fitting)}
    return next((by_lower[name] for name in _USUAL if name in by_lower), None)


def _is_sample_or_batch(shape: Shape, type_: TensorType) -> bool:
    shapes = shapes_of_sample(type_)
    return shape in shapes or (len(shape) > 0 and shape[1:] in shapes)


def shapes_of_sample(type_: TensorType) -> tuple[Shape, ...]:
    """The shapes that a sample of an input may have: its own, without a batch of one, and of a
    column, which has one number a sample, none.
    """
    shape = type_.shape
    tail = shape[1:] if shape[:1] == (1,) else shape
    return (shape, tail, ()) if type_.element_count == 1 else (shape, tail)


def _batch(array: Array, type_: TensorType) -> int | None:
    """How many samples an item's array has; None if it is no batch of them."""
    is_batch = array.ndim and array.shape not in shapes_of_sample(type_)
    return len(array) if is_batch and array.shape[1:] in shapes_of_sample(type_) else None


def unscaled(array: Array, name: str) -> tuple[str, ...]:
    """A question where integers of 8 bits go to an input of real numbers: they may be pixels."""
    if array.dtype != np.uint8:
        return ()
    return (
        f"samples of input {name!r} are uint8 and the input is float: is the model trained on 0 to "
        "255? If not, give the numbers that it was trained on, or --preprocess for images",
    )
