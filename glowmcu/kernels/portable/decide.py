"""Portable kernel of `decide`, a function of the layer's own."""

from __future__ import annotations

import numpy as np

from glowmcu.ir.kernel_code import ConstantArray, KernelCode
from glowmcu.ir.types import ElementType
from glowmcu.kernels.kernel import Cost, Kernel, Site, Target, kernel
from glowmcu.ops.decide import Decide

#: Large enough for 4,096 scores of a type, and more.
_SUM_TYPES = {ElementType.F32: "float", ElementType.I32: "int64_t"}


@kernel("decide.portable", Decide)
class PortableDecide(Kernel):
    """Any core; one sum a class."""

    def work(self, site: Site, target: Target) -> dict[str, float]:
        op, scores = site.node.op, site.signature.inputs[0]
        assert isinstance(op, Decide)
        kind = _SUM_TYPES.get(scores.element, "int32_t")
        classes = float(len(op.classes(site.signature)))
        return {
            "call": 1.0, f"class {kind}": classes, f"score {kind}": classes * scores.shape[0]
        }  # fmt: skip

    def cost(self, site: Site, target: Target) -> Cost:
        scores = site.signature.inputs[0]
        code_bytes = 130 if scores.element in _SUM_TYPES else 90
        return Cost(6.0 * scores.element_count + 40.0, 0, layer_code_bytes=code_bytes)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, scores = site.node.op, site.signature.inputs[0]
        assert isinstance(op, Decide)
        rows, columns = scores.shape
        least = op.least_sum(site.signature)
        sum_type = _SUM_TYPES.get(scores.element, "int32_t")
        classes = np.array(op.classes(site.signature), np.int16)
        view: dict[str, object] = {
            "type": scores.element.c_name,
            "sum_type": sum_type,
            "rows": rows,
            "columns": columns,
            "class_count": len(classes),
            "classes": None if len(classes) == columns else ConstantArray("classes", classes),
            "least": _literal(least, sum_type),
            "distance": op.distance,
        }
        return KernelCode(function="", operands=(0, 1), template="portable/decide.c.j2", view=view)


def _literal(least: int | float, sum_type: str) -> str:
    """The least sum, or the nearest that sums can be compared with."""
    if isinstance(least, float):
        return f"{least!r}f"
    if sum_type == "int64_t":
        return f"INT64_C({max(-(2**62), min(least, 2**62))})"
    return str(max(-(2**31) + 1, min(least, 2**31 - 1)))
