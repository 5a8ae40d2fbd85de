"""Which strips are worth a plan: a quick estimate for every area and number of strips.

Of an area in strips the whole result is there, and the rings of one strip, which are narrower by
what the columns say; what comes after it is as without strips. Plans of the most promising decide.
"""

from __future__ import annotations

from collections.abc import Iterable

from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.program import Program, aligned
from glowmcu.memplan.cascades import Partition
from glowmcu.memplan.planned_cascades import PlannedCascade, row_bytes_of
from glowmcu.memplan.strips import (
    StripArea,
    columns_of_strips,
    extra_macs,
    split_into_strips,
    strip_areas,
)

#: Numbers of strips that are tried.
_LEAST_COUNT, _MOST_COUNT = 2, 4
#: At most this part of the multiply-accumulates is computed twice, in the halo.
_MOST_EXTRA = 0.25


def promising_strips(
    graph: Graph, program: Program, external: Iterable[Value], most: int
) -> list[Graph]:
    """At most `most` graphs with strips that may need less memory than the whole, best first.

    `program` is the whole graph's, unplanned, whose runs know their rows.
    """
    partition = Partition(program)
    limit_bytes = partition.least_peak_bytes
    macs = sum(node.macs for node in graph.nodes)
    found: list[tuple[int, int, Graph]] = []
    for area in strip_areas(graph, external):
        last = max(i for i, run in enumerate(partition.runs) if run.node in area.inside)
        planned, rest = partition.planned(0, last), partition.rest_peak_bytes(last + 1)
        if planned is None or rest >= limit_bytes:
            continue
        for count in range(_LEAST_COUNT, min(_MOST_COUNT, area.width) + 1):
            estimate = max(rest, _strip_bytes(graph, area, count, planned))
            if estimate >= limit_bytes:
                continue
            strips = split_into_strips(graph, area, count)
            extra = extra_macs(strips, graph)
            if extra <= _MOST_EXTRA * macs:
                found.append((estimate, extra, strips))
    found.sort(key=lambda item: item[:2])
    return [strips for _, _, strips in found[:most]]


def _strip_bytes(graph: Graph, area: StripArea, count: int, planned: PlannedCascade) -> int:
    """The whole result, and what a strip has inside: the rows of the widest one."""
    strips = columns_of_strips(graph, area, count)
    widest: dict[str, tuple[int, int]] = {}
    for columns in strips:
        for value, (first, end) in columns.items():
            known = widest.get(value.name, (0, 1))
            widest[value.name] = max(known[0], end - first), value.type.shape[2]
    rings = whole = 0
    for buffer, rows in planned.ring_rows.items():
        size = rows * row_bytes_of(buffer)
        most, width = widest[buffer.name]
        whole += aligned(size)
        rings += aligned(size * most // width)
    return aligned(area.end.type.size_bytes) + rings + (planned.local_bytes - whole) // count
