"""Operators of .onnx files, and everything that is damaged in them, one part at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from glowmcu.frontend.onnx.container import InputRecord, NodeRecord, OnnxRecord
from glowmcu.frontend.onnx.importer import Import, load_importers
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import TensorType, element_type_of
from tests.frontend.verdicts import emitted, said, table
from tests.support.onnx_parts import onnx

_DTYPES = ("float32", "uint8", "int32", "int64", "bool")
_MOST_NUMBERS = 6
_LARGEST = 2**31 - 1
_OPSETS = (6, 7, 9, 10, 11, 12, 13, 20)
_WORDS: dict[str, tuple[str, ...]] = {
    "auto_pad": ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"),
    "mode": ("constant", "edge", "wrap", "linear", "cubic", "DCR", "CRD"),
    "coordinate_transformation_mode": (
        "asymmetric", "pytorch_half_pixel", "align_corners", "half_pixel_symmetric",
        "tf_half_pixel_for_nn", "tf_crop_and_resize",
    ),
    "nearest_mode": ("floor", "ceil", "round_prefer_ceil"),
    "keep_aspect_ratio_policy": ("not_larger", "not_smaller"),
    "post_transform": ("LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"),
    "norm": ("L1", "L2"), "reduction": ("add", "mul", "min"), "direction": ("LEFT", "reverse"),
    "kernel_type": ("LINEAR", "POLY", "RBF", "SIGMOID"), "aggregate_function": ("AVERAGE", "MIN"),
    "rounding_mode": ("FLOOR", "CEIL", "DOWN"),
    "equation": ("ij,jk", "ij->", "ii->i", "i...,...j->i", "i.j->j", "ij,jk->ik,", "ij->k"),
}  # fmt: skip
#: Of the first in a list.
_LISTED = {
    "nodes_modes": (b"BRANCH_LT", b"BRANCH_GTE", b"BRANCH_EQ", b"BRANCH_NEQ", b"LEAF", b"other"),
    "activations": (b"Affine", b"HardSigmoid", b"ScaledTanh", b"Elu", b"ThresholdedRelu", b"other"),
}
#: Attributes that are element types: float32, int8, strings, float16, double, bfloat16, none.
_OF_TYPES, _TYPES = ("to", "dtype", "output_datatype"), [1, 3, 8, 10, 11, 16, 99]
#: What an importer may raise of a file in which attributes are of another kind.
_DAMAGED = (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError)


@dataclass(frozen=True)
class Computed:
    """A tensor that the model computes."""

    shape: tuple[int, ...]
    dtype: str = "float32"


@dataclass(frozen=True)
class Several:
    """A sequence of tensors."""

    items: tuple[Computed, ...]
    dtype: str = "sequence"
    shape: tuple[int, ...] = ()


Operand = Computed | Several | Array | None


def x(*shape: int, dtype: str = "float32") -> Computed:
    """Computed, float32 mostly."""
    return Computed(shape, dtype)


def c(data: Any, dtype: str = "int64") -> Array:
    """A constant."""
    return np.array(data, dtype)


def w(*shape: int) -> Array:
    """Weights, float32."""
    return (np.arange(np.prod(shape)).reshape(shape) * 7 % 13 - 6).astype(np.float32)


@dataclass(frozen=True)
class Case:
    """An operator with its tensors, in their places."""

    kind: str
    operands: tuple[Operand, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    results: tuple[str, ...] = ("y0",)
    opset: int = 17
    domain: str = "ai.onnx"
    #: Operands from here on belong to the graph around alone, where graphs in attributes read them.
    taken: int | None = None

    def verdict(self) -> str:
        """What its importer says, or the nodes that it makes."""
        return said(self._imported, _DAMAGED)

    def _imported(self) -> str:
        names = tuple("" if a is None else f"a{i}" for i, a in enumerate(self.operands))
        named = dict(zip(names, self.operands, strict=True))
        inputs = tuple(
            InputRecord(name, element_type_of(np.dtype(item.dtype)), item.dtype, item.shape)
            for name, item in named.items()
            if isinstance(item, Computed)
        )
        data = {name: item for name, item in named.items() if isinstance(item, np.ndarray)}
        tensors = {name: onnx.numpy_helper.from_array(item, name) for name, item in data.items()}
        opsets = {"ai.onnx": self.opset, "ai.onnx.ml": 5}
        own = names[: self.taken]
        op = NodeRecord(0, self.kind, self.domain, "", own, self.results, dict(self.attributes))
        state = Import(
            OnnxRecord(inputs, self.results, (op,), tensors, opsets, None, {}), InputOptions()
        )
        for record in inputs:
            state.graph_input(record)
        for name, item in named.items():
            if isinstance(item, Several):
                state.give(name, _values(name, item))
        load_importers()[self.domain, self.kind](state, op)
        results = [(name, state._values.get(name)) for name in self.results if name]
        given = {name: item.tobytes() for name, item in data.items()}
        return emitted(state.builder, results, given) + _sequences(state) + _classes(state)


def _values(name: str, found: Several) -> list[Value]:
    types = (TensorType(item.shape, element_type_of(np.dtype(item.dtype))) for item in found.items)
    return [Value(type_, f"{name}_{place}") for place, type_ in enumerate(types)]


def _sequences(state: Import) -> str:
    made = [(name, found) for name, found in state._sequences.items() if name.startswith("y")]
    return "".join(f"; {name} is [{', '.join(v.name for v in values)}]" for name, values in made)


def _classes(state: Import) -> str:
    return f"; classes {sorted(state.class_indices)}" if state.class_indices else ""


def report(case: Case) -> str:
    """The table of a case and all its damages."""
    types = {_text(item): f"<a{i}>" for i, item in reversed(list(enumerate(case.operands)))}
    found = []
    for label, damaged, item in damages(case):
        changed = {} if item is None else {_text(item): "{}"}
        found.append((label, _by_name(damaged.verdict(), {**types, **changed})))
    shown = ", ".join(f"a{i} {_text(item)}" for i, item in enumerate(case.operands))
    return f"{case.kind}: {shown}\n" + table(_by_name(case.verdict(), types), found)


def _text(item: Operand) -> str:
    return "none" if item is None else f"{item.dtype}[{'x'.join(map(str, item.shape))}]"


def _by_name(text: str, types: Mapping[str, str]) -> str:
    for type_ in sorted(types, key=len, reverse=True):
        text = text.replace(type_, types[type_])
    return text


Damage = tuple[str, Case, Operand]


def damages(case: Case) -> Iterator[Damage]:
    """Each with its name, and the tensor that is damaged if it is one."""
    yield from _of_counts(case)
    for place, item in enumerate(case.operands):
        for what, other in _of_operand(item):
            yield f"a{place} {what}", _with(case, place, other), other
    for name, value in case.attributes.items():
        fewer = {key: each for key, each in case.attributes.items() if key != name}
        yield f"no {name}", replace(case, attributes=fewer), None
        for what, changed in _of_attribute(name, value):
            attributes = {**case.attributes, name: changed}
            yield f"{name} {what}", replace(case, attributes=attributes), None
    for opset in _OPSETS:
        yield f"opset {opset}", replace(case, opset=opset), None


def _with(case: Case, place: int, item: Operand) -> Case:
    operands = (*case.operands[:place], item, *case.operands[place + 1 :])
    return replace(case, operands=operands)


def _of_counts(case: Case) -> Iterator[Damage]:
    for place, item in enumerate(case.operands):
        if item is not None:
            yield f"no a{place}", _with(case, place, None), None
    if case.operands:
        yield "one operand less", replace(case, operands=case.operands[:-1]), None
        yield "one operand more", replace(case, operands=(*case.operands, case.operands[0])), None
    more = (*case.results, f"y{len(case.results)}")
    yield "one result more", replace(case, results=more), None
    if len(case.results) > 1:
        yield "one result less", replace(case, results=case.results[:-1]), None
        yield "no last result", replace(case, results=(*case.results[:-1], "")), None
        yield "no y0", replace(case, results=("", *case.results[1:])), None


def _of_operand(item: Operand) -> Iterator[tuple[str, Operand]]:
    if item is None:
        return
    if isinstance(item, Several):
        yield "of none", Several(())
        yield "of one", Several(item.items[:1])
        return
    for shape in _other_shapes(item.shape):
        other = (
            Computed(shape, item.dtype) if isinstance(item, Computed) else np.resize(item, shape)
        )
        yield f"of {list(shape)}".replace(" ", ""), other
    for dtype in _DTYPES:
        if dtype != str(item.dtype):
            known = isinstance(item, np.ndarray)
            yield dtype, item.astype(dtype) if known else replace(item, dtype=dtype)
    if isinstance(item, Computed):
        yield "known", np.ones(item.shape, item.dtype)
        return
    yield "computed", Computed(item.shape, str(item.dtype))
    for place in range(item.size if item.size <= _MOST_NUMBERS else 0):
        number = item.reshape(-1)[place].item()
        for other in _other_numbers(number):
            if item.dtype.kind in "iu" and not _fits(item.dtype, other):
                continue
            changed = item.copy()
            changed.reshape(-1)[place] = other
            yield f"[{place}]={_number(other)}", changed


def _other_numbers(number: float) -> list[float]:
    others: tuple[float, ...] = (number + 1, number - 1, -1, 0, _LARGEST)
    if isinstance(number, bool):
        return [not number]
    if isinstance(number, float):
        others = (number + 0.5, -1.0, 0.0)
    return [other for other in dict.fromkeys(others) if other != number]


def _fits(dtype: Any, number: float) -> bool:
    limits = np.iinfo(dtype)
    return bool(limits.min <= number <= limits.max)


def _number(number: float) -> str:
    return "most" if number == _LARGEST else str(number)


def _other_shapes(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    others: list[tuple[int, ...]] = [(1,), (2,)]
    if shape:
        others = [(*shape[:-1], shape[-1] + 1), (*shape[:-1], 0)]
        others += [shape[1:], (1, *shape), (*shape, 1)]
    if len(shape) > 2:
        others.append((shape[0], shape[1] + 1, *shape[2:]))
    others += [()] if len(shape) < 3 else []
    return [other for other in dict.fromkeys(others) if other != shape]


def _of_attribute(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, OnnxRecord):
        return
    if isinstance(value, onnx.TensorProto):
        data = onnx.numpy_helper.to_array(value)
        tensors = {
            "longer": np.resize(data, data.size + 1),
            "shorter": data[:-1],
            "empty": data[:0],
        }
        tensors |= {"+ 1": data + 1, "double": data.astype(np.float64)}
        for what, other in tensors.items():
            yield what, onnx.numpy_helper.from_array(np.asarray(other, order="C"), "data")
        return
    if isinstance(value, str | bytes):
        for word in (*_WORDS.get(name, ()), "other"):
            if word not in (value, getattr(value, "decode", str)()):
                yield word, word
    elif isinstance(value, int | float):
        others = _TYPES if name in _OF_TYPES else _other_numbers(value)
        for number in others:
            yield f"={_number(number)}", number
    else:
        yield from _of_list(value)
        for word in _LISTED.get(name, ()):
            if word != value[0]:
                yield f"[0]={word.decode()}", [word, *value[1:]]


def _of_list(value: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    yield "longer", [*value, value[-1]]
    yield "shorter", list(value[:-1])
    yield "of one", 1
    for place, number in enumerate(value[:3]):
        if isinstance(number, int | float):
            limits = [2**15 - 1, 2**15] if place == 0 and isinstance(number, int) else []
            for other in [*_other_numbers(number), *limits]:
                yield f"[{place}]={_number(other)}", [*value[:place], other, *value[place + 1 :]]
