"""The nodes of a graph: in which order they are imported, and what to say of unknown ones."""

from __future__ import annotations

import difflib
import heapq

from glowmcu.errors import Problem
from glowmcu.frontend.onnx.container import NodeRecord, OnnxRecord
from glowmcu.frontend.onnx.importer import load_importers


def in_order_of_use(model: OnnxRecord) -> list[NodeRecord]:
    """Every node after those that it reads from: some exporters write them in another order.

    A node of a cycle keeps its place at the end, where its operands are reported as missing.
    """
    made_by = {name: op for op in model.nodes for name in op.outputs if name}
    waits = {
        op.index: {made_by[name].index for name in op.reads if name in made_by}
        for op in model.nodes
    }
    readers: dict[int, list[int]] = {}
    for index, sources in waits.items():
        for source in sources:
            readers.setdefault(source, []).append(index)
    ready = [index for index, sources in waits.items() if not sources]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        index = heapq.heappop(ready)
        order.append(index)
        for reader in readers.get(index, ()):
            waits[reader].discard(index)
            if not waits[reader]:
                heapq.heappush(ready, reader)
    placed = set(order)
    order += [op.index for op in model.nodes if op.index not in placed]
    return [model.nodes[index] for index in order]


def unsupported_operator(op: NodeRecord, where: str, model: OnnxRecord) -> Problem:
    name = op.kind if op.domain == "ai.onnx" else f"{op.domain}.{op.kind}"
    known = [kind for domain, kind in load_importers() if domain == op.domain]
    near = difflib.get_close_matches(op.kind, known, n=3, cutoff=0.6)
    hint = f"nearest: {', '.join(near)}; " if near else ""
    message = f"operator {name} (opset {model.opsets.get(op.domain, '?')}) is not supported"
    brought = ""
    if not op.domain.startswith("ai.onnx") and op.kind.isidentifier():
        brought = f"; C of yours can say what it means: --custom {op.kind}=FILE.c"
    return Problem("GM102", message, where, f"{hint}`glowmcu ops` lists what is{brought}")
