"""Variants on an image of one column with height and width exchanged, for whole layers.

Most variants run along the columns of a row: they take neighbours in pairs, or widen a row at once.
Time series have time along the height, `(1, time, 1, channels)`, so that their rows can stream;
where a layer is computed whole, the same bytes are an image of one row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import ClassVar

import numpy as np

from glowmcu.ir.graph import Node
from glowmcu.ir.operation import Operation
from glowmcu.ir.transposed_images import is_column, transposed_node
from glowmcu.kernels.kernel import Cost, Kernel, KernelCode, Site, Target, once_a_site

#: Of the names of these variants; they are in files that users and benchmarks keep.
SUFFIX = ".lying"


class Transposed(Kernel):
    """The variant `untransposed`, on the H/W-transposed site."""

    untransposed: ClassVar[Kernel]

    def accepts(self, site: Site, target: Target) -> bool:
        return can_transpose(site.node) and self.untransposed.accepts(_transposed(site), target)

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        return self.untransposed.work(_transposed(site), target)

    def cost(self, site: Site, target: Target) -> Cost:
        return self.untransposed.cost(_transposed(site), target)

    def calibrated_cost(self, site: Site, target: Target) -> Cost:
        return self.untransposed.calibrated_cost(_transposed(site), target)

    def generate(self, site: Site, target: Target) -> KernelCode:
        code = self.untransposed.generate(_transposed(site), target)
        return replace(code, notes=(*code.notes, "its column is computed as one row"))


@cache
def transposed(variant: Kernel) -> Transposed:
    """The variant on H/W-transposed sites; always the same one."""

    class Of(Transposed):
        """That of one variant."""

        name: ClassVar[str] = variant.name + SUFFIX
        operations: ClassVar[tuple[type[Operation], ...]] = variant.operations
        untransposed: ClassVar[Kernel] = variant

    return Of()


def untransposed(variant: Kernel) -> Kernel:
    """The variant itself, or the one that it computes transposed."""
    return variant.untransposed if isinstance(variant, Transposed) else variant


def can_transpose(node: Node) -> bool:
    """Whether a layer's images are columns of several rows."""
    images = [value.type.shape for value in (*node.inputs[:1], *node.outputs)]
    return all(map(is_column, images)) and images[0][1] > 1 and node.op.hw_transposed() is not None


@once_a_site
def _transposed(site: Site) -> Site:
    node = transposed_node(site.node)
    assert node is not None, f"{site.node.op.name} has no transposed form"
    constants = tuple(
        np.ascontiguousarray(data.swapaxes(1, 2)) if data is not None and data.ndim == 4 else data
        for data in site.constants
    )
    return replace(site, node=node, constants=constants)
