"""Which kernels could compute a layer of any sample: all of those must have been measured."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from benchmarks.calibration_layers import KINDS, model
from benchmarks.stack_models import other_models
from benchmarks.sweep_image import Model, imported_graph
from glowmcu.cores import core
from glowmcu.ir.value_ranges import value_ranges
from glowmcu.kernels.kernel import Site, Target, load_kernels, site_of
from glowmcu.lowering.passes import lower


def acceptable(core_name: str) -> Mapping[str, Model]:
    """Every variant that a selection for the core can return, with a model that has a layer of
    its.
    """
    found: dict[str, Model] = {}
    for made, sites in _sites():
        for site in sites:
            for variant in load_kernels().get(type(site.node.op), ()):
                if variant.name in found:
                    continue
                if variant.accepts(site, Target(core(core_name))):
                    found[variant.name] = made
    return found


@cache
def _sites() -> tuple[tuple[Model, tuple[Site, ...]], ...]:
    """The layers of all samples, as kernels see them."""
    found = []
    for made in (*map(model, KINDS), *other_models()):
        graph = lower(imported_graph(made), simplified=False)
        ranges = value_ranges(graph)
        found.append((made, tuple(site_of(graph, node, ranges) for node in graph.nodes)))
    return tuple(found)
