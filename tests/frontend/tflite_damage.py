"""Operators of .tflite files, and everything that is damaged in them, one part at a time."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import flatbuffers
import numpy as np
from flatbuffers.table import Table

from glowmcu.frontend.tflite.container import (
    DECODE_ERRORS,
    ModelRecord,
    OperatorRecord,
    TensorRecord,
)
from glowmcu.frontend.tflite.importer import Import, load_importers, tensor_type
from glowmcu.frontend.tflite.writer_options import OptionValue, write_options
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType, TensorType
from tests.frontend.verdicts import emitted, said, table
from tests.support.select_operators import Attribute, select_options
from tests.support.signal_models import flexbuffer

_DTYPES = {
    "INT8": np.int8, "UINT8": np.uint8, "INT16": np.int16, "INT32": np.int32, "INT64": np.int64,
    "FLOAT32": np.float32, "BOOL": np.bool_,
}  # fmt: skip
_RESULT_TYPES = ("INT8", "INT32", "FLOAT32")
_SCALED = {"INT8": (0.5, -3), "UINT8": (0.5, 125), "INT16": (0.5, 0)}
_LARGEST = 2**31 - 1
_MOST_NUMBERS = 8
#: Of bytes without a scale, which are a format of their own.
_MOST_BYTES = 40
_ENUMS = {
    "fused_activation_function": range(7), "padding": range(-1, 3), "mode": range(3),
    "weights_format": range(2),
}  # fmt: skip


def t(
    shape: Sequence[int] = (2, 3), kind: str = "INT8", scale: float | None = None,
    point: int | None = None, *, variable: bool = False,
) -> TensorRecord:  # fmt: skip
    """A computed tensor; int8, uint8 and int16 have a scale unless it is 0."""
    usual = _SCALED.get(kind, (0.0, 0))
    scale, point = usual[0] if scale is None else scale, usual[1] if point is None else point
    scales, points = ((scale,), (point,)) if scale else ((), ())
    return TensorRecord(0, "", kind, tuple(shape), scales, points, 0, (), None, variable)


def c(data: Any, dtype: str = "INT32", scales: Sequence[float] = (), axis: int = 0) -> TensorRecord:
    """A constant; numbers of a shape may be given as that shape."""
    array = np.asarray(data, _DTYPES[dtype])
    points = (0,) * len(scales)
    return TensorRecord(
        0, "", dtype, array.shape, tuple(scales), points, axis, (), memoryview(array.tobytes())
    )


def w(shape: Sequence[int], channels: int = 1, axis: int = 0, dtype: str = "INT8") -> TensorRecord:
    """Weights with a scale a channel, or a tensor; real ones have none."""
    data = np.arange(int(np.prod(shape))).reshape(shape) * 7 % 255 - 127
    scales = [0.25 * (1 + i) for i in range(channels)] if dtype != "FLOAT32" else []
    return c(data, dtype, scales, axis)


@dataclass(frozen=True)
class Case:
    """An operator with its tensors, in their places."""

    kind: str
    operands: tuple[TensorRecord | None, ...]
    results: tuple[TensorRecord, ...]
    options: Mapping[str, OptionValue] | None = None
    custom: Mapping[str, int | float] | None = None
    #: Options that are a struct of int32 in place of a flexbuffer.
    words: tuple[int, ...] = ()
    #: Of a select TensorFlow operator.
    attributes: Mapping[str, Attribute] | None = None

    def verdict(self) -> str:
        """What its importer says, or the nodes that it makes."""
        return said(self._imported, DECODE_ERRORS)

    def _imported(self) -> str:
        tensors: list[TensorRecord] = []
        places: list[int] = []
        for place, record in enumerate((*self.operands, *self.results)):
            is_result = place >= len(self.operands)
            name = f"y{place - len(self.operands)}" if is_result else f"a{place}"
            if record is not None:
                tensors.append(replace(record, index=len(tensors), name=name))
            places.append(-1 if record is None else len(tensors) - 1)
        inputs, outputs = places[: len(self.operands)], places[len(self.operands) :]
        given = [i for i in inputs if i >= 0 and tensors[i].data is None
                 and not tensors[i].is_variable]  # fmt: skip
        raw = struct.pack(f"<{len(self.words)}i", *self.words)
        if self.custom is not None:
            raw = flexbuffer(self.custom)
        if self.attributes is not None:
            raw = select_options(self.kind, self.attributes)
        options = None if self.options is None else options_table(self.kind, self.options)
        op = OperatorRecord(0, self.kind, tuple(inputs), tuple(outputs), options, raw)
        model = ModelRecord(tuple(tensors), (op,), tuple(given), tuple(outputs))
        state = Import(model, InputOptions())
        for index in given:
            if tensors[index].type_name == "COMPLEX64":
                type_ = TensorType((*tensors[index].shape, 2), ElementType.F32)
                state._values[index] = Value(type_, tensors[index].name)
            else:
                state.graph_input(index)
        load_importers()[self.kind](state, op)
        known = {record.name: bytes(record.data) for record in tensors if record.data is not None}
        results = [(tensors[i].name, state._values.get(i)) for i in outputs]
        return emitted(state.builder, results, known)


def options_table(kind: str, options: Mapping[str, OptionValue]) -> Table | None:
    """As an operator of a file has them."""
    builder = flatbuffers.Builder(64)
    _, _, offset = write_options(builder, kind, options)
    if not offset:
        return None
    builder.Finish(offset)
    data = bytes(builder.Output())
    return Table(data, int.from_bytes(data[:4], "little"))


def report(case: Case) -> str:
    """The table of a case and all its damages."""
    types = {_type_text(record): f"<{name}>" for name, record in reversed(_named(case))}
    found = []
    for label, damaged, record in damages(case):
        changed = {} if record is None else {_type_text(record): "{}"}
        found.append((label, _by_name(damaged.verdict(), {**types, **changed})))
    shown = ", ".join(f"{name} {_type_text(record)}" for name, record in _named(case))
    return f"{case.kind}: {shown}\n" + table(_by_name(case.verdict(), types), found)


def _named(case: Case) -> list[tuple[str, TensorRecord]]:
    operands = [(f"a{i}", a) for i, a in enumerate(case.operands) if a is not None]
    return operands + [(f"y{i}", y) for i, y in enumerate(case.results)]


def _by_name(text: str, types: Mapping[str, str]) -> str:
    """Types of tensors by their names: the longest first, as one may begin with another."""
    for type_ in sorted(types, key=len, reverse=True):
        text = text.replace(type_, types[type_])
    return text


def _type_text(record: TensorRecord) -> str:
    try:
        return str(tensor_type(record))
    except Unsupported:
        return f"{record.type_name}{list(record.shape)}"


Damage = tuple[str, Case, TensorRecord | None]


def damages(case: Case) -> Iterator[Damage]:
    """Each with its name, and the tensor that is damaged if it is one."""
    yield from _of_counts(case)
    for place, record in enumerate((*case.operands, *case.results)):
        if record is None:
            continue
        is_result = place >= len(case.operands)
        name = f"y{place - len(case.operands)}" if is_result else f"a{place}"
        for what, other in _of_tensor(record, is_result):
            yield f"{name} {what}", _with(case, place, other), other
    yield from _of_options(case)


def _with(case: Case, place: int, record: TensorRecord | None) -> Case:
    items = [*case.operands, *case.results]
    items[place] = record
    count = len(case.operands)
    results = tuple(item for item in items[count:] if item is not None)
    return replace(case, operands=tuple(items[:count]), results=results)


def _of_counts(case: Case) -> Iterator[Damage]:
    operands, results = case.operands, case.results
    for place, record in enumerate(operands):
        if record is not None:
            yield f"no a{place}", _with(case, place, None), None
    yield "one operand less", replace(case, operands=operands[:-1]), None
    yield "one operand more", replace(case, operands=(*operands, operands[0])), None
    yield "one result more", replace(case, results=(*results, results[-1])), None
    yield "one result less", replace(case, results=results[:-1]), None


def _of_tensor(record: TensorRecord, is_result: bool) -> Iterator[tuple[str, TensorRecord]]:
    for shape in _other_shapes(record.shape, is_result):
        yield f"of {list(shape)}".replace(" ", ""), _reshaped(record, shape)
    for kind in _RESULT_TYPES if is_result else _DTYPES:
        if kind != record.type_name:
            yield kind.lower(), _retyped(record, kind)
    if record.type_name in _SCALED:
        wide = _retyped(record, "INT32")
        yield "scaled int32", replace(wide, scales=(0.5,), zero_points=(0,))
    yield from _of_quantization(record, is_result)
    if record.is_variable:
        yield "no variable", replace(record, is_variable=False)
    elif record.data is not None:
        yield "computed", replace(record, data=None)
        yield from _of_data(record)
    elif not is_result and record.type_name in _DTYPES:
        yield "known", _reshaped(replace(record, data=memoryview(b"\x02")), record.shape)


def _other_shapes(shape: tuple[int, ...], is_result: bool) -> list[tuple[int, ...]]:
    others = [(*shape[:-1], n + 1) for n in shape[-1:]]
    if not is_result:
        others += [(*shape[:-1], 0), shape[1:], (1, *shape)] if shape else [(1,), (2,)]
        others += [()] if len(shape) < 3 else []
    return [other for other in dict.fromkeys(others) if other != shape]


def _reshaped(record: TensorRecord, shape: tuple[int, ...]) -> TensorRecord:
    """Data is cut or repeated."""
    if record.data is None:
        return replace(record, shape=shape)
    dtype = _DTYPES[record.type_name]
    old = np.frombuffer(record.data, dtype) if len(record.data) > 1 else np.zeros(0, dtype)
    data = np.resize(old if old.size else np.ones(1, dtype), shape)
    return replace(record, shape=shape, data=memoryview(data.tobytes()))


def _retyped(record: TensorRecord, kind: str) -> TensorRecord:
    """With the usual scale of the type, or that which it has."""
    scale, point = _SCALED.get(kind, (0.0, 0))
    scales, points = ((scale,), (point,)) if scale else ((), ())
    data = record.data
    if data is not None and record.type_name in _DTYPES:
        array = np.frombuffer(data, _DTYPES[record.type_name])
        data = memoryview(array.astype(_DTYPES[kind]).tobytes())
    return replace(record, type_name=kind, scales=scales, zero_points=points, data=data)


def _of_quantization(record: TensorRecord, is_result: bool) -> Iterator[tuple[str, TensorRecord]]:
    if not record.scales:
        return
    yield "unscaled", replace(record, scales=(), zero_points=())
    if record.type_name != "INT32":
        yield "other scale", replace(record, scales=tuple(2 * s for s in record.scales))
        yield "other point", replace(record, zero_points=tuple(p + 1 for p in record.zero_points))
    if len(record.scales) > 1:
        yield "one scale", replace(record, scales=(0.5,), zero_points=(0,))
    elif record.shape and record.shape[-1] > 1 and not is_result:
        count, axis = record.shape[-1], len(record.shape) - 1
        scales = tuple(0.25 * (1 + place) for place in range(count))
        yield (
            "by channel",
            replace(record, scales=scales, zero_points=(0,) * count, quantized_axis=axis),
        )


def _of_data(record: TensorRecord) -> Iterator[tuple[str, TensorRecord]]:
    """Of whole numbers, which say where and how much; of real ones what is no number."""
    if record.type_name == "FLOAT32" and record.shape in ((), (1,)):
        for number in ("inf", "nan"):
            data = memoryview(np.full(record.shape, float(number), np.float32).tobytes())
            yield number, replace(record, data=data)
    if record.type_name not in ("UINT8", "INT16", "INT32", "INT64") or record.scales:
        return
    data = np.frombuffer(record.data or b"", _DTYPES[record.type_name])
    if data.size > (_MOST_BYTES if record.type_name == "UINT8" else _MOST_NUMBERS):
        return
    lowest, highest = np.iinfo(data.dtype).min, min(_LARGEST, int(np.iinfo(data.dtype).max))
    for place in range(data.size):
        number = int(data[place])
        most = [highest] if place < 2 else []
        for other in dict.fromkeys((number + 1, number - 1, -1, 0, *most)):
            if other != number and lowest <= other <= highest:
                changed = data.copy()
                changed[place] = other
                yield (
                    f"[{place}]={other if other not in most else 'most'}",
                    replace(record, data=memoryview(changed.tobytes())),
                )


def _of_options(case: Case) -> Iterator[Damage]:
    if case.options is not None:
        yield "no options", replace(case, options=None), None
        for name, now in case.options.items():
            for other in _other_options(name, now):
                changed = {**case.options, name: other}
                yield f"{name}={other}", replace(case, options=changed), None
    for place, word in enumerate(case.words):
        yield f"{place} words", replace(case, words=case.words[:place]), None
        for other in _other_customs(word):
            words = (*case.words[:place], int(other), *case.words[place + 1 :])
            yield f"word {place}={other}", replace(case, words=words), None
    for key, value in (case.attributes or {}).items():
        rest = {name: kept for name, kept in (case.attributes or {}).items() if name != key}
        yield f"no {key}", replace(case, attributes=rest), None
        others: list[Attribute] = ["zzz", 7]
        if isinstance(value, tuple):
            others += [value[:-1], *((*value[:i], 0, *value[i + 1 :]) for i in range(len(value)))]
        for each in others:
            yield f"{key}={each}", replace(case, attributes={**rest, key: each}), None
    if case.custom is not None:
        yield "no options", replace(case, custom=None), None
        yield "more options", replace(case, custom={**case.custom, "zzz": 1}), None
        yield "a long name", replace(case, custom={**case.custom, "z" * 50: 1}), None
        for name, number in case.custom.items():
            fewer = {key: value for key, value in case.custom.items() if key != name}
            yield f"no {name}", replace(case, custom=fewer), None
            for custom in _other_customs(number):
                changed_custom = {**case.custom, name: custom}
                yield f"{name}={custom}", replace(case, custom=changed_custom), None


def _other_options(name: str, now: OptionValue) -> list[OptionValue]:
    found: list[OptionValue]
    if name in _ENUMS:
        found = [number for number in _ENUMS[name] if number >= 0]
    elif isinstance(now, bool):
        found = [not now]
    elif isinstance(now, float):
        found = [now + 0.5, -1.0]
    elif isinstance(now, int):
        found = [now + 1, now - 1, 0, -1]
    else:
        found = []
    return [other for other in dict.fromkeys(found) if other != now or type(other) is not type(now)]


def _other_customs(number: int | float) -> list[int | float]:
    if isinstance(number, bool):
        return [not number]
    if isinstance(number, float):
        return [number + 0.5, -1.0, 3]
    others = (number + 1, number - 1, 0, -1, _LARGEST, _LARGEST + 1, 0.5)
    return [other for other in dict.fromkeys(others) if other != number]
