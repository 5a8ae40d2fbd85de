"""Variants on an image of one column as if it lay on its side, for whole layers.

Most variants run along the columns of a row: they take neighbours in pairs, or widen a row at once.
Time series stand, `(1, time, 1, channels)`, so that their rows can stream; where a layer is
computed whole, the same bytes are an image of one row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import ClassVar

import numpy as np

from glowmcu.ir.graph import Node
from glowmcu.ir.operation import Operation
from glowmcu.ir.turning import is_column, turned_node
from glowmcu.kernels.kernel import Cost, Kernel, KernelCode, Site, Target, once_a_site


class Lying(Kernel):
    """What `standing` is on the turned site."""

    standing: ClassVar[Kernel]

    def accepts(self, site: Site, target: Target) -> bool:
        return can_lie(site.node) and self.standing.accepts(_turned(site), target)

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        return self.standing.work(_turned(site), target)

    def cost(self, site: Site, target: Target) -> Cost:
        return self.standing.cost(_turned(site), target)

    def calibrated_cost(self, site: Site, target: Target) -> Cost:
        return self.standing.calibrated_cost(_turned(site), target)

    def generate(self, site: Site, target: Target) -> KernelCode:
        code = self.standing.generate(_turned(site), target)
        return replace(code, notes=(*code.notes, "its column is computed as one row"))


@cache
def lying(variant: Kernel) -> Lying:
    """The variant on turned sites; always the same one."""

    class Of(Lying):
        """That of one variant."""

        name: ClassVar[str] = f"{variant.name}.lying"
        operations: ClassVar[tuple[type[Operation], ...]] = variant.operations
        standing: ClassVar[Kernel] = variant

    return Of()


def standing(variant: Kernel) -> Kernel:
    """The variant itself, or the one that it lays on its side."""
    return variant.standing if isinstance(variant, Lying) else variant


def can_lie(node: Node) -> bool:
    """Whether a layer's images are columns of several rows."""
    images = [value.type.shape for value in (*node.inputs[:1], *node.outputs)]
    return all(map(is_column, images)) and images[0][1] > 1 and node.op.turned() is not None


@once_a_site
def _turned(site: Site) -> Site:
    node = turned_node(site.node)
    assert node is not None, f"{site.node.op.name} has no turned form"
    constants = tuple(
        np.ascontiguousarray(data.swapaxes(1, 2)) if data is not None and data.ndim == 4 else data
        for data in site.constants
    )
    return replace(site, node=node, constants=constants)
