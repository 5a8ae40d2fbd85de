"""What prepares features in ONNX-ML: Binarizer, Imputer, OneHotEncoder, LabelEncoder,
CategoryMapper, FeatureVectorizer.

Strings have no place in C. Inputs that are strings are numbers of categories here
(`string_categories.py`), and at the end of a model a class that is called by one is an index, whose
name is among the bundle's labels.
"""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.onnx.container import NodeRecord, tensor_data
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.onnx.spatial import reshaped
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.ops.cast import Cast
from glowmcu.ops.comparison import Equal, Greater, NotEqual, Select
from glowmcu.ops.elementwise import Maximum, Minimum, Sub
from glowmcu.ops.gather import Gather
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.reduction import ReduceAny
from glowmcu.ops.scan import ArgMax

_DOMAIN = "ai.onnx.ml"
#: Most entries of a table by number: for each key, and in all.
_SPARSE, _SMALL = 4, 256
_LIMIT = 2**15


@importer("Binarizer", domain=_DOMAIN)
def import_binarizer(state: Import, op: NodeRecord) -> None:
    """1 where a feature is above the threshold, else 0."""
    x = state.value(op, 0)
    border = np.array(op.number("threshold", 0.0)).astype(x.type.element.numpy)
    above = state.add(op, Greater(), [x, state.add_constant(border, "threshold")], ElementType.BOOL)
    state.emit(op, Cast(), [above], x.type.element)


@importer("Imputer", domain=_DOMAIN)
def import_imputer(state: Import, op: NodeRecord) -> None:
    """Another value in the place of one that says that a feature is missing."""
    x = state.value(op, 0)
    kind = "float" if x.type.element.is_float else "int64"
    found = list(op.attributes.get(f"imputed_value_{kind}s") or [])
    width = x.type.shape[-1] if x.type.rank else 1
    if len(found) not in (1, width):
        raise Unsupported("GM101", f"Imputer: {len(found)} values for {width} features")
    values = np.array(found, x.type.element.numpy)
    missing = op.attributes.get(f"replaced_value_{kind}", 0)
    wanted = np.array(missing).astype(x.type.element.numpy)
    if np.isnan(missing):
        is_missing = state.add(op, NotEqual(), [x, x], ElementType.BOOL)
    else:
        number = state.add_constant(wanted, "missing")
        is_missing = state.add(op, Equal(), [x, number], ElementType.BOOL)
    others = state.add_constant(values if len(found) > 1 else values.reshape(()), "imputed")
    state.emit(op, Select(), [is_missing, others, x], x.type.element)


@importer("OneHotEncoder", domain=_DOMAIN)
def import_one_hot_encoder(state: Import, op: NodeRecord) -> None:
    """A place for each category, 1 for the feature's; another axis at the end."""
    categories = op.integers("cats_int64s")
    if not categories:
        raise Unsupported(
            "GM105", "OneHotEncoder: its categories are strings, which are no tensor",
            "encode them as numbers in the application",
        )  # fmt: skip
    # `zeros` off is an error for other categories, which no run has: all are 0 in any case.
    x = state.value(op, 0)
    if x.type.element is not ElementType.I64:
        x = state.add(op, Cast(), [x], ElementType.I64)
    x = reshaped(state, op, x, (*x.type.shape, 1))
    numbers = state.add_constant(np.array(categories, np.int64), "categories")
    is_one = state.add(op, Equal(), [x, numbers], ElementType.BOOL)
    state.emit(op, Cast(), [is_one], ElementType.F32)


@importer("FeatureVectorizer", domain=_DOMAIN)
def import_feature_vectorizer(state: Import, op: NodeRecord) -> None:
    """All operands side by side, as float32."""
    parts = []
    for position in range(len(op.inputs)):
        x = state.value(op, position)
        if x.type.rank == 1:
            x = reshaped(state, op, x, (x.type.shape[0], 1))
        if x.type.element is not ElementType.F32:
            x = state.add(op, Cast(), [x], ElementType.F32)
        parts.append(x)
    if any(part.type.rank != 2 for part in parts):
        raise Unsupported("GM105", "FeatureVectorizer: expected rows of features")
    state.emit(op, Concatenation(1), parts)


@importer("CategoryMapper", domain=_DOMAIN)
def import_category_mapper(state: Import, op: NodeRecord) -> None:
    """Numbers to names, at the end of a model: the name's index."""
    x, numbers = state.value(op, 0), op.integers("cats_int64s") or ()
    names = list(op.attributes.get("cats_strings") or [])
    if x.type.element is not ElementType.I64 or len(numbers) != len(names) or not numbers:
        raise Unsupported("GM105", "CategoryMapper: expected numbers that become names")
    _bind_indices(state, op, x, np.array(numbers, np.int64))


@importer("LabelEncoder", domain=_DOMAIN)
def import_label_encoder(state: Import, op: NodeRecord) -> None:
    """A value for each key; numbers to names at the end of a model: the name's index."""
    x = state.value(op, 0)
    keys = _list(op, "keys")
    if isinstance(keys, list) or keys.size == 0:
        raise Unsupported(
            "GM105", "LabelEncoder: its keys are strings, which are no tensor",
            "encode them as numbers in the application",
        )  # fmt: skip
    values = _list(op, "values")
    if len(values) != keys.size or np.isnan(keys.astype(np.float64)).any():
        raise Unsupported("GM101", f"LabelEncoder: {keys.size} keys for {len(values)} values")
    if isinstance(values, list):
        _bind_indices(state, op, x, keys)
        return
    state.bind(op, [_looked_up(state, op, x, keys, values, _default(op, values))])


def _bind_indices(state: Import, op: NodeRecord, x: Value, keys: Array) -> None:
    indices = np.arange(keys.size, dtype=np.int64)
    found = _looked_up(state, op, x, keys, indices, np.int64(-1))
    state.class_indices.update(op.outputs[:1])
    state.bind(op, [found])


def _list(op: NodeRecord, name: str) -> Array | list[str]:
    """`keys` or `values`: numbers, or strings as a list."""
    for suffix, dtype in (("int64s", np.int64), ("floats", np.float32)):
        if op.attributes.get(f"{name}_{suffix}"):
            return np.array(op.attributes[f"{name}_{suffix}"], dtype)
    if op.has(f"{name}_tensor"):
        data = tensor_data(op.attributes[f"{name}_tensor"], None).reshape(-1)
        return data.astype(np.float32) if data.dtype.kind == "f" else data.astype(np.int64)
    return [str(item) for item in op.attributes.get(f"{name}_strings") or []]


def _default(op: NodeRecord, values: Array) -> np.generic:
    """What becomes of anything that is no key."""
    if op.has("default_tensor"):
        number = tensor_data(op.attributes["default_tensor"], None).reshape(-1)[:1]
        if number.size != 1:
            raise Unsupported("GM101", "LabelEncoder: default_tensor is empty")
        found: np.generic = values.dtype.type(number[0])
        return found
    if values.dtype.kind == "f":
        return np.float32(op.number("default_float", -0.0))
    return np.int64(op.integer("default_int64", -1))


def _looked_up(
    state: Import, op: NodeRecord, x: Value, keys: Array, values: Array, default: np.generic
) -> Value:
    """The value of the key that is equal to each element, the last of several."""
    keys, places = _last_of_each(keys)
    values = values[places]
    element = ElementType.F32 if values.dtype.kind == "f" else ElementType.I64
    if keys.size >= _LIMIT:
        raise Unsupported("GM105", f"{op.kind}: {keys.size} keys; {_LIMIT} are too many")
    x, keys = _alike(state, op, x, keys)
    span = int(keys[-1]) - int(keys[0]) + 1 if keys.dtype.kind == "i" else 0
    if 0 < span <= max(_SMALL, _SPARSE * keys.size):
        return _by_number(state, op, x, keys, values, default, element)
    x = reshaped(state, op, x, (*x.type.shape, 1))
    equal = state.add(op, Equal(), [x, state.add_constant(keys, "keys")], ElementType.BOOL)
    axis = x.type.rank - 1
    is_known = state.add(op, ReduceAny((axis,), False), [equal])
    marks = state.add(op, Cast(), [equal], ElementType.I32)
    index = state.add(op, ArgMax(axis), [marks], ElementType.I32)
    found = state.add(op, Gather(0), [state.add_constant(values, "values"), index], element)
    other = state.add_constant(np.array(default), "default")
    return state.add(op, Select(), [is_known, found, other], element)


def _last_of_each(keys: Array) -> tuple[Array, Array]:
    """Different keys, ascending, and where each stands last."""
    found, places = np.unique(keys[::-1], return_index=True)
    return found, keys.size - 1 - places


def _alike(state: Import, op: NodeRecord, x: Value, keys: Array) -> tuple[Value, Array]:
    """Elements and keys of one type."""
    if x.type.element.is_float:
        return x, keys.astype(np.float32)
    if keys.dtype.kind == "f":
        return state.add(op, Cast(), [x], ElementType.F32), keys
    x = x if x.type.element is ElementType.I64 else state.add(op, Cast(), [x], ElementType.I64)
    return x, keys


def _by_number(
    state: Import,
    op: NodeRecord,
    x: Value,
    keys: Array,
    values: Array,
    default: np.generic,
    element: ElementType,
) -> Value:
    """A table from one below the least key to one above the largest, whose ends are the default."""
    first = int(keys[0]) - 1
    table = np.full(int(keys[-1]) - first + 2, default, values.dtype)
    table[keys - first] = values
    ends = [
        state.add_constant(np.array(number, np.int64), "end")
        for number in (first, int(keys[-1]) + 1)
    ]
    inside = state.add(op, Minimum(), [state.add(op, Maximum(), [x, ends[0]]), ends[1]])
    place = state.add(op, Cast(), [state.add(op, Sub(), [inside, ends[0]])], ElementType.I32)
    return state.add(op, Gather(0), [state.add_constant(table, "values"), place], element)
