"""If, Loop and Scan: graphs in attributes become part of the graph around them.

What is known at compile time is written out if that is short: the branch that is taken, a loop's
body once a trip. Else the operator is a node with graphs inside (`loops.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.frontend.control_flow import MAX_TRIPS, SHORT_NODES
from glowmcu.frontend.control_flow_nodes import Inside, add_if
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.onnx.loops import looped, scanned
from glowmcu.frontend.onnx.scanned_distances import scanned_distances
from glowmcu.frontend.onnx.subgraphs import (
    Bound,
    bind_results,
    expect_condition,
    joined,
    loop_name,
    place_of,
    tensors,
    write_out,
)
from glowmcu.frontend.onnx.written_loops import LoopWriter, ScanSlices, written_scan
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value


@importer("If")
def import_if(state: Import, op: NodeRecord) -> None:
    """Either graph, by a condition: the one that is taken if that is known."""
    condition = state.value(op, 0)
    expect_condition(op, condition)
    known = state.builder.known.get(condition)
    if known is None:
        try:
            bind_results(state, op, _branched(state, op, condition))
        except Unsupported as cause:
            raise _with_hint_to_bind(cause, state.builder.inputs_behind(condition)) from cause
        return
    branch = "then_branch" if known.reshape(-1)[0] else "else_branch"
    bind_results(state, op, write_out(state, op, op.graph(branch), [], f"{loop_name(op)}/{branch}"))


def _with_hint_to_bind(cause: Unsupported, names: Sequence[str]) -> Unsupported:
    """A graph that is never taken may be the one that is refused: the other sample rate's."""
    if not names:
        return cause
    flags = " ".join(f"--bind {name}=value.npy" for name in names)
    hint = f"of a condition that is always the same only one graph is needed: {flags}"
    return Unsupported(cause.code, cause.message, "; ".join(filter(None, (cause.hint, hint))))


def _branched(state: Import, op: NodeRecord, condition: Value) -> list[Value]:
    parts, refused = [], []
    for branch in ("then_branch", "else_branch"):
        inside = Inside(state.builder)
        place = f"{loop_name(op)}/{branch}"
        try:
            results = write_out(state, op, op.graph(branch), [], place, inside)
            parts.append(inside.part(tensors(op, results)))
        except Unsupported as cause:
            refused.append(cause)
    if refused:
        raise joined(refused)
    counts = [len(part.results) for part in parts]
    if counts != [len(op.outputs)] * 2:
        raise Unsupported("GM105", f"If has {len(op.outputs)} results, its graphs {counts}")
    return add_if(state.builder, place_of(state, op, counts[0]), condition, *parts)


@importer("Loop")
def import_loop(state: Import, op: NodeRecord) -> None:
    """A loop: written out if it is short and the number of trips known at compile time."""
    start = state.builder.mark()
    results = LoopWriter(state, op).written_out()
    if results is None or len(state.builder.nodes) - start.node_count > SHORT_NODES:
        state.builder.rewind(start)
        try:
            results = list[Bound](looped(state, op))
        except Unsupported:
            state.builder.rewind(start)
            if results is None:
                raise
            results = LoopWriter(state, op).written_out()
    assert results is not None
    bind_results(state, op, results)


@importer("Scan")
def import_scan(state: Import, op: NodeRecord) -> None:
    """A loop over slices, either direction, any axes."""
    scan = ScanSlices(state, op)
    distances = scanned_distances(scan)
    if distances is not None:
        bind_results(state, op, list[Bound](distances))
        return
    if scan.trips * len(scan.body.nodes) > SHORT_NODES:
        start = state.builder.mark()
        try:
            bind_results(state, op, scanned(scan))
        except Unsupported:
            state.builder.rewind(start)
            if scan.trips > MAX_TRIPS:
                raise
        else:
            return
    bind_results(state, op, written_scan(scan))
