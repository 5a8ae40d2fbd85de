"""The `.onnx` protobuf as plain records. A model file is hostile input: nothing in it is believed.

Local functions are inlined by the onnx package; external data is read only from files beside the
model.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from glowmcu import limits
from glowmcu.errors import ExitCode, GlowmcuError, error
from glowmcu.frontend.onnx.functions import (
    MAX_NODES,
    all_nodes,
    check_functions,
    expand_functions,
    inline_functions,
)
from glowmcu.frontend.onnx.parsing import import_onnx, parsed_model, readable
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, Shape
from glowmcu.lazy_dataclass import dataclass

OLDEST_OPSET = 5
_MAX_RANK = 16


@dataclass(frozen=True)
class InputRecord:
    """A graph input. A size is an int, a symbol (`N`), or None when the file says nothing."""

    name: str
    element: ElementType | None
    type_name: str
    sizes: tuple[int | str | None, ...] | None


@dataclass(frozen=True)
class NodeRecord:
    """An operator call; an empty name is an operand or result that is left out."""

    index: int
    kind: str
    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any] = field(default_factory=dict)

    def integer(self, name: str, default: int) -> int:
        """An int attribute."""
        return int(self._get(name, default, int))

    def flag(self, name: str, default: bool = False) -> bool:
        """An int attribute that is 0 or not."""
        return self.integer(name, int(default)) != 0

    def number(self, name: str, default: float) -> float:
        """A float attribute (float32 in the file)."""
        return float(self._get(name, default, (int, float)))

    def text(self, name: str, default: str) -> str:
        """A string attribute."""
        value = self._get(name, default, (str, bytes))
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)

    def integers(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...] | None:
        """An attribute of several ints, or `default` if it is absent."""
        value = self._get(name, default, (list, tuple, type(None)))
        return None if value is None else tuple(int(item) for item in value)

    def graph(self, name: str) -> OnnxRecord:
        """An attribute that is a graph."""
        found: OnnxRecord = self._get(name, None, OnnxRecord)
        return found

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """All names that the operator reads, also those that its graphs take from around them."""
        graphs = [item for item in self.attributes.values() if isinstance(item, OnnxRecord)]
        return (*self.inputs, *(name for graph in graphs for name in graph.captures))

    def has(self, name: str) -> bool:
        """Whether the attribute is given."""
        return name in self.attributes

    def _get(self, name: str, default: Any, kind: Any) -> Any:
        value = self.attributes.get(name, default)
        if not isinstance(value, kind):
            raise Unsupported("GM101", f"{self.kind}: attribute {name} has the wrong type")
        return value


@dataclass(frozen=True)
class OnnxRecord:
    """A graph of a model file: the main one, or a node's attribute.

    `opsets` maps a domain to its version. `output_types` holds the element type that the file
    declares for an output, and its ONNX name; `declared` what it says of other results.
    """

    inputs: tuple[InputRecord, ...]
    outputs: tuple[str, ...]
    nodes: tuple[NodeRecord, ...]
    initializers: dict[str, Any]
    opsets: dict[str, int]
    folder: Path | None
    output_types: dict[str, tuple[ElementType | None, str]]
    declared: dict[str, InputRecord] = field(default_factory=dict)

    @cached_property
    def captures(self) -> tuple[str, ...]:
        """Names that a graph reads and does not make: of the graph around it."""
        made = {item.name for item in self.inputs} | self.initializers.keys()
        made.update(name for node in self.nodes for name in node.outputs)
        read = [name for node in self.nodes for name in node.reads] + [*self.outputs]
        return tuple(name for name in dict.fromkeys(read) if name and name not in made)


def read_onnx_container(
    data: bytes, file_name: str, supported: Collection[tuple[str, str]] = ()
) -> OnnxRecord:
    """Parse `data`. Raises GM101 (no ONNX, damaged), GM103 (opset), GM109 (no onnx package).

    An operator that is not in `supported`, (domain, operator) pairs, is replaced by what ONNX
    defines it by, where it does.
    """
    onnx = import_onnx()
    try:
        model = parsed_model(data, onnx)
        if len(model.functions):
            from glowmcu.frontend.onnx.knn_imputer import with_fixed_imputer

            check_functions(model, file_name)
            model = inline_functions(with_fixed_imputer(model))
        if supported:
            model = expand_functions(model, supported)
    except GlowmcuError:
        raise
    except Exception as cause:
        raise _damaged(file_name, cause) from cause
    graph = model.graph
    if not graph.node or not graph.output:
        raise error(
            "GM101", "not an ONNX model: it has no graph with nodes and outputs", file_name,
            "pass a file as written by torch.onnx.export or tf2onnx",
        )  # fmt: skip
    _expect_own_names(graph, file_name)
    count = sum(1 for _ in all_nodes(graph, onnx))
    if count > MAX_NODES:
        raise error("GM101", f"the model has {count} nodes", file_name)
    opsets = {item.domain or "ai.onnx": int(item.version) for item in model.opset_import}
    version = opsets.get("ai.onnx", OLDEST_OPSET)
    if version < OLDEST_OPSET:
        raise error(
            "GM103", f"opset {version} is older than {OLDEST_OPSET}", file_name,
            "convert it: onnx.version_converter.convert_version(model, 17)", ExitCode.UNSUPPORTED,
        )  # fmt: skip
    try:
        return _record(graph, opsets, Path(file_name).resolve().parent, onnx)
    except GlowmcuError:
        raise
    except Exception as cause:
        raise _damaged(file_name, cause) from cause


def _expect_own_names(graph: Any, file_name: str) -> None:
    """Raise GM101 for inputs and results of nodes of one name: which of them is read?"""
    given = Counter(item.name for item in graph.input)
    given.update(name for node in graph.node for name in node.output if name)
    for name, count in given.items():
        if count > 1:
            raise error(
                "GM101", f"{count} tensors are called {name[:120]!r}", file_name,
                "inputs and results of operators need names of their own: "
                "onnx.checker.check_model(model) finds them",
            )  # fmt: skip


def _record(graph: Any, opsets: dict[str, int], folder: Path, onnx: Any) -> OnnxRecord:
    """A graph with those in its nodes' attributes; protobuf bounds how deep they lie."""
    initializers = {item.name: item for item in graph.initializer}

    def node(item: Any, index: int) -> NodeRecord:
        values = {a.name: onnx.helper.get_attribute_value(a) for a in item.attribute}
        attributes = {
            name: _record(value, opsets, folder, onnx)
            if isinstance(value, onnx.GraphProto)
            else value
            for name, value in values.items()
        }
        return NodeRecord(
            index, item.op_type, item.domain or "ai.onnx", item.name,
            tuple(item.input), tuple(item.output), attributes,
        )  # fmt: skip

    return OnnxRecord(
        tuple(_input(item, onnx) for item in graph.input if item.name not in initializers),
        tuple(item.name for item in graph.output),
        tuple(node(item, index) for index, item in enumerate(graph.node)),
        initializers,
        opsets,
        folder,
        {item.name: element_of(item.type.tensor_type.elem_type) for item in graph.output},
        _declared(graph, onnx),
    )


def _declared(graph: Any, onnx: Any) -> dict[str, InputRecord]:
    """Types of inner results as the file has them; those that no tensor has are left out."""
    records = {}
    for item in (*graph.value_info, *graph.output):
        with suppress(ValueError):
            records[item.name] = _input(item, onnx)
    return records


#: Attributes that hold names of classes, in their order, and whose they are if not any operator's.
_CLASS_NAMES = {"classlabels_strings": "", "values_strings": "", "cats_strings": "CategoryMapper"}


def read_properties(data: bytes, file_name: str) -> tuple[dict[str, str], list[list[str]]]:
    """The model's properties, and the different lists of class names in it. One that has all names
    of the others is the only one: these are of parts of the classifier.

    Raises GM101, GM109.
    """
    onnx = import_onnx()
    try:
        model = parsed_model(data, onnx)
        properties = {item.key: item.value for item in model.metadata_props}
        tables = {item.name: item.string_data for item in model.graph.initializer}
        named = [
            attribute.strings
            for op in model.graph.node
            for attribute in op.attribute
            if _CLASS_NAMES.get(attribute.name) in ("", op.op_type) and attribute.strings
        ]
        named += [
            tables[op.input[0]]
            for op in model.graph.node
            if op.op_type == "ArrayFeatureExtractor" and tables.get(op.input[0])
        ]
        lists = dict.fromkeys(tuple(map(readable, names)) for names in named)
    except Exception as cause:
        raise _damaged(file_name, cause) from cause
    every = {name for names in lists for name in names}
    return properties, [list(names) for names in lists if {*names} == every][:1] or [
        *map(list, lists)
    ]


def _damaged(file_name: str, cause: Exception) -> GlowmcuError:
    text = " ".join(str(cause).split())[:200] or type(cause).__name__
    return error(
        "GM101", f"the file is damaged or no ONNX model: {text}", file_name,
        "is it complete? export or download it again",
    )  # fmt: skip


_ELEMENTS = {
    "FLOAT": ElementType.F32,
    "INT8": ElementType.I8,
    "UINT8": ElementType.UI8,
    "INT16": ElementType.I16,
    "INT32": ElementType.I32,
    "UINT32": ElementType.UI32,
    "INT64": ElementType.I64,
    "BOOL": ElementType.BOOL,
    # The only float that the IR has.
    "FLOAT16": ElementType.F32,
    "BFLOAT16": ElementType.F32,
    "DOUBLE": ElementType.F32,
}


#: Of constants and of what pairs store, which become int8 of the same values; with their limits.
FOUR_BITS = {"INT4": (-8, 7), "UINT4": (0, 15)}


def element_of(data_type: int) -> tuple[ElementType | None, str]:
    """IR element type of an ONNX data type number, and its ONNX name."""
    onnx = import_onnx()
    try:
        name = str(onnx.TensorProto.DataType.Name(data_type))
    except ValueError:
        name = f"type {data_type}"
    return _ELEMENTS.get(name), name


def _input(item: Any, onnx: Any) -> InputRecord:
    tensor = item.type.tensor_type
    element, type_name = element_of(tensor.elem_type)
    sizes: tuple[int | str | None, ...] | None = None
    if tensor.HasField("shape"):
        if len(tensor.shape.dim) > _MAX_RANK:
            raise ValueError(f"input {item.name[:120]!r} has rank {len(tensor.shape.dim)}")
        sizes = tuple(map(_declared_size, tensor.shape.dim))
        if any(isinstance(size, int) and size < 0 for size in sizes):
            raise ValueError(f"input {item.name[:120]!r} has the sizes {sizes}")
    return InputRecord(item.name, element, type_name, sizes)


def _declared_size(dim: Any) -> int | str | None:
    """None of an open size without a name: exporters write -1 for it, and Paddle's also "?"."""
    if dim.HasField("dim_value"):
        return None if dim.dim_value == -1 else int(dim.dim_value)
    return dim.dim_param if any(map(str.isalpha, dim.dim_param)) else None


def tensor_data(tensor: Any, folder: Path | None) -> Array:
    """Data of a TensorProto in its numpy dtype. Raises Unsupported for types that we don't have."""
    import onnx
    from onnx import numpy_helper

    if not isinstance(tensor, onnx.TensorProto):
        kind = type(tensor).__name__
        raise Unsupported("GM101", f"an attribute that holds a tensor is a {kind}")
    element, type_name = element_of(tensor.data_type)
    if element is None and type_name not in FOUR_BITS:
        known = ", ".join((*_ELEMENTS, *FOUR_BITS))
        raise Unsupported("GM105", f"tensor {tensor.name!r} is {type_name}; supported: {known}")
    shape: Shape = tuple(int(size) for size in tensor.dims)
    if len(shape) > _MAX_RANK or any(size < 0 for size in shape):
        raise Unsupported("GM105", f"tensor {tensor.name!r} has the shape {str(shape)[:120]}")
    element_bytes = 8 if element is None or type_name == "DOUBLE" else element.size_bytes
    size_bytes = math.prod(size or 1 for size in shape) * element_bytes
    if size_bytes > limits.file_bytes():
        raise Unsupported(
            "GM114",
            f"tensor {tensor.name[:120]!r} takes {limits.size_text(size_bytes)}, and "
            f"{limits.size_text(limits.file_bytes())} are allowed",
            limits.hint(size_bytes, limits.file_bytes()),
        )
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        count = math.prod(shape)
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type))
        in_file = -(-count // 2) if type_name in FOUR_BITS else count * dtype.itemsize
        raw = _external_data(tensor, in_file, folder)
        tensor = onnx.TensorProto(
            name=tensor.name, data_type=tensor.data_type, dims=shape, raw_data=raw
        )
    try:
        data: Array = numpy_helper.to_array(tensor)
    except Exception as cause:
        raise Unsupported("GM105", f"tensor {tensor.name!r} is damaged: {cause}") from cause
    if type_name in FOUR_BITS:
        data = data.astype(np.int8)
    if type_name == "BFLOAT16":  # no type of numpy's own
        data = data.astype(np.float32)
    return np.asarray(data, order="C")


def _external_data(tensor: Any, size: int, folder: Path | None) -> bytes:
    """`size` bytes from a file in the model's own folder; nothing else is opened."""
    entries = {item.key: item.value for item in tensor.external_data}
    location = entries.get("location", "")
    try:
        path = None if folder is None else (folder / location).resolve()
    except (ValueError, OSError):
        path = None
    if folder is None or path is None or not path.is_relative_to(folder):
        raise Unsupported(
            "GM105", f"tensor {tensor.name!r} keeps its data in {location!r}, outside the model's "
            "folder", "put the data file beside the model",
        )  # fmt: skip
    try:
        offset = int(entries.get("offset", "0"))
        if offset < 0 or not path.is_file():
            raise ValueError("it is no file" if offset >= 0 else f"offset {offset}")
        with path.open("rb") as file:
            file.seek(offset)
            raw: bytes = file.read(size)
    except (OSError, ValueError, OverflowError) as cause:
        raise Unsupported("GM105", f"cannot read external data {location!r}: {cause}") from cause
    if len(raw) != size:
        raise Unsupported(
            "GM105", f"external data {location!r} holds {len(raw)} bytes; {size} are needed"
        )
    return raw
