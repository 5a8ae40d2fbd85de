"""Decisions about kernels that somebody made before selection: a tuner, or who calibrates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from glowmcu.errors import ExitCode, GlowmcuError, Problem
from glowmcu.ir.graph import Node
from glowmcu.kernels.kernel import Cost, Kernel
from glowmcu.lazy_dataclass import dataclass

#: The variants that selection chooses from, with their costs, by node.
Candidates = Mapping[Node, Mapping[Kernel, Cost]]


@dataclass(frozen=True)
class KernelChoices:
    """Variants by name: `layers` a node each, `forced_variant` for all nodes that it accepts.

    Nodes that are not named stay open; of several with one name, those that the variant cannot
    compute do. `cycles` were measured, by node and variant: they count in
    the place of estimates. `source` is the file they come from.
    """

    layers: Mapping[str, str] = field(default_factory=dict)
    forced_variant: str = ""
    cycles: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    source: str = ""

    def decides(self, node: Node) -> bool:
        """Whether the node's variant is chosen already."""
        return bool(self.forced_variant) or node.name in self.layers

    def measured(self, candidates: Candidates) -> Candidates:
        """`candidates` with the measured cycles."""
        return {
            node: {
                kernel: replace(
                    cost, cycles=self.cycles.get(node.name, {}).get(kernel.name, cost.cycles)
                )
                for kernel, cost in found.items()
            }
            for node, found in candidates.items()
        }

    def narrowed(self, candidates: Candidates) -> dict[Node, Mapping[Kernel, Cost]]:
        """`candidates` without what the choices rule out. Raises GM507 for each impossible one."""
        problems = self._unknown_layers(candidates)
        narrowed: dict[Node, Mapping[Kernel, Cost]] = {}
        # A layer that computes in float and what makes integers of its result have one name.
        refused: dict[str, list[Problem]] = {}
        met: set[str] = set()
        for node, found in candidates.items():
            wanted = self.layers.get(node.name)
            match = {
                k: cost for k, cost in found.items() if k.name == (wanted or self.forced_variant)
            }
            if match and wanted is not None:
                met.add(node.name)
            elif wanted is not None:
                refused.setdefault(node.name, []).append(_impossible(node, wanted, found))
            narrowed[node] = match or found
        problems += [one for name, all_ in refused.items() if name not in met for one in all_]
        if problems:
            raise GlowmcuError(problems, ExitCode.USAGE)
        return narrowed

    def _unknown_layers(self, candidates: Candidates) -> list[Problem]:
        names = {node.name for node in candidates}
        return [
            Problem(
                "GM507",
                f"a kernel is chosen for layer {name!r}, which this model does not have",
                self.source,
                "make the choices again: glowmcu tune --kernels MODEL",
            )
            for name in self.layers
            if name not in names
        ]


def _impossible(node: Node, wanted: str, found: Mapping[Kernel, Cost]) -> Problem:
    return Problem(
        "GM507",
        f"{wanted} cannot compute this layer",
        f'{node.source} "{node.name}"',
        f"possible here: {', '.join(kernel.name for kernel in found)}",
    )
