"""Products whose activations a runtime rounds as it runs become products of real numbers.

onnxruntime's `quantize_dynamic` writes x -> DynamicQuantizeLinear -> MatMulInteger or ConvInteger
with stored weights -> Cast -> Mul by both scales. What it approximates is x times the weights'
real values, which is computed here: exacter, far less work, and samples make int8 of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glowmcu.frontend.onnx.container import NodeRecord, OnnxRecord
from glowmcu.lazy_dataclass import dataclass

_DOMAIN = "ai.onnx"
_PRODUCTS = {"MatMulInteger": "MatMul", "ConvInteger": "Conv"}
_FLOAT = 1  # onnx.TensorProto.FLOAT
#: Numbers, scale, zero point.
_DYNAMIC_RESULTS = 3


@dataclass(frozen=True)
class Product:
    """Its nodes in the file: integers, as float, times scales; `x` and `scale` are names."""

    integers: NodeRecord
    cast: NodeRecord
    scaled: NodeRecord
    x: str
    scale: str

    def replacements(self) -> list[NodeRecord]:
        """The same nodes as real weights, their copy, and the product."""
        op = self.integers
        weights, point = op.inputs[1], op.inputs[3] if len(op.inputs) > 3 else ""
        operands = tuple(filter(None, (weights, self.scale, point)))
        kind = _PRODUCTS[op.kind]
        return [
            replace(op, kind="DequantizeLinear", inputs=operands, attributes={"axis": 1}),
            replace(self.cast, kind="Identity", attributes={}),
            replace(
                self.scaled, kind=kind, inputs=(self.x, op.outputs[0]), attributes=op.attributes
            ),
        ]


def with_real_activations(model: OnnxRecord) -> OnnxRecord:
    """The model with products of real numbers in the place of those."""
    nodes = list(model.nodes)
    for product in dynamic_products(model):
        for node in product.replacements():
            nodes[node.index] = node
    return replace(model, nodes=tuple(nodes))


def dynamic_products(model: OnnxRecord) -> list[Product]:
    """All of a graph; what something else reads as integers is none."""
    found = _Search(model)
    products = [found.product(op) for op in model.nodes if op.kind in _PRODUCTS]
    return [product for product in products if product is not None]


class _Search:
    def __init__(self, model: OnnxRecord) -> None:
        self._model = model
        own = [op for op in model.nodes if op.domain == _DOMAIN]
        self._made_by = {name: op for op in own for name in op.outputs if name}
        self._readers: dict[str, list[NodeRecord]] = {name: [] for name in model.outputs}
        for op in model.nodes:
            for name in op.reads:
                self._readers.setdefault(name, []).append(op)

    def product(self, op: NodeRecord) -> Product | None:
        inputs = (*op.inputs, "", "", "")
        source = self._made_by.get(inputs[0])
        if (
            op.domain != _DOMAIN
            or source is None
            or source.kind != "DynamicQuantizeLinear"
            or len(source.outputs) != _DYNAMIC_RESULTS
            or not source.inputs
            or source.outputs[::2] != (inputs[0], inputs[2])
            or not self._are_stored(inputs[1:2])
            or (inputs[3] and not self._are_stored(inputs[3:4]))
        ):
            return None
        cast = self._only_reader(op, "Cast")
        scaled = None if cast is None else self._only_reader(cast, "Mul")
        if cast is None or scaled is None or cast.attributes.get("to") != _FLOAT:
            return None
        scale = self._weight_scale(scaled, cast.outputs[0], source.outputs[1])
        if scale is None or not self._fits(op, scale):
            return None
        return Product(op, cast, scaled, source.inputs[0], scale)

    def _are_stored(self, names: Sequence[str]) -> bool:
        return all(name in self._model.initializers for name in names)

    def _only_reader(self, op: NodeRecord, kind: str) -> NodeRecord | None:
        """The node that reads the result, if none else does and it is of that kind."""
        if len(op.outputs) != 1 or op.outputs[0] in self._model.outputs:
            return None
        reader, *others = self._readers.get(op.outputs[0], [None])
        is_it = reader is not None and (reader.domain, reader.kind) == (_DOMAIN, kind)
        return reader if is_it and not others else None

    def _weight_scale(self, scaled: NodeRecord, integers: str, x_scale: str) -> str | None:
        """Of the factors of a product, what is not the scale of x: stored in the file."""
        others = [name for name in scaled.inputs if name != integers]
        scales = self._made_by.get(others[0]) if len(others) == 1 else None
        if scales is None or scales.kind != "Mul":
            return None
        names = [name for name in scales.inputs if name != x_scale]
        return names[0] if len(names) == 1 and self._are_stored(names) else None

    def _fits(self, op: NodeRecord, scale: str) -> bool:
        """One scale, or one a column of a matrix."""
        sizes = list(self._model.initializers[scale].dims)
        if sizes in ([], [1]):
            return True
        weights = list(self._model.initializers[op.inputs[1]].dims)
        return op.kind == "MatMulInteger" and len(weights) == 2 and sizes == weights[1:]
