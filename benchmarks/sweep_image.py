"""Many layers in one bundle: each computed at once and, where its kernel can, by rows as well.

Results lie as near to their operands as the kernels allow, half of them at the nearest; all
scratch is one region. Nobody plans this memory, so hundreds of layers take no longer than few.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.random_layers import random_model
from benchmarks.sweep_rows import split_calls
from glowmcu.cores import core
from glowmcu.emit_c.build_views import layers as body_of
from glowmcu.emit_c.bundle_facts import BundleFacts
from glowmcu.emit_c.bundle_files import bundle_files
from glowmcu.emit_c.contract import libjit_closure
from glowmcu.goals import Goal
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Rounding
from glowmcu.ir.program import ARENA_ALIGN, Buffer, Program, Run, aligned
from glowmcu.kernels.kernel import Target
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.kernels.selection.select import Selection, select_kernels
from glowmcu.lowering.passes import lower
from glowmcu.memory_fit.bodies import BodyPlanner
from glowmcu.memplan.build_program import build_program
from glowmcu.memplan.instructions import insert_lifetimes
from glowmcu.pipeline import reference_graph

Generator = np.random.Generator
#: A model file, or what it is imported as: with what options say, or of what no file tells.
Model = bytes | Graph
#: Comments, blanks, and where the linker puts what is there.
_UNSEEN = re.compile(r"/\*.*?\*/|\s+|GLOWMCU_(CODE|IN_ORDER)\b", re.DOTALL)


@dataclass(frozen=True)
class Image:
    """Files of a bundle. Its outputs are the model's, then those of layers computed by rows:
    `by_rows` names the model's output for each. `variants` counts the layers of each variant,
    `overlapping` those whose result shares bytes with an operand.
    """

    imported: Graph
    files: Mapping[str, str]
    by_rows: tuple[int, ...]
    variants: Counter[str]
    overlapping: int


@dataclass(frozen=True)
class Parts:
    """What an image is made of: the layers, then (`again`) copies of them for rows."""

    imported: Graph
    graph: Graph
    selections: Mapping[Node, Selection]
    again: Mapping[Node, Selection]
    program: Program

    @property
    def chosen(self) -> dict[Node, Selection]:
        """Kernels of all runs."""
        return {**self.selections, **self.again}


def imported_graph(model: Model, rounding: Rounding = Rounding.DOUBLE) -> Graph:
    """A file's or the graph itself."""
    if isinstance(model, Graph):
        return model.replace(rounding=rounding)
    return reference_graph(model, "m.tflite" if model[4:8] == b"TFL3" else "m.onnx", rounding)


def parts_of(
    model: Model, core_name: str, variant: str, goal: Goal, rounding: Rounding = Rounding.DOUBLE
) -> Parts:
    """The layers for the core, with `variant` wherever that accepts one."""
    imported = imported_graph(model, rounding)
    graph = lower(imported, simplified=False)
    target = Target(core(core_name), goal)
    choices = KernelChoices(forced_variant=variant) if variant else None
    selections = select_kernels(graph, target, choices)
    selections = BodyPlanner(target, rounding).with_bodies(selections)
    again = _rows_again(graph, selections)
    program = _with_runs(build_program(graph, selections), again)
    return Parts(imported, graph, selections, again, program)


def build_image(data: bytes, core_name: str, variant: str, goal: Goal, random: Generator) -> Image:
    """The layers of a model for the core, with `variant` wherever that accepts one."""
    parts = parts_of(data, core_name, variant, goal)
    offsets, overlapping = _places(parts.program, random)
    graph = parts.graph
    facts = BundleFacts(
        name="m",
        tool_version="",
        model_file="m.tflite",
        model_sha256="",
        board="mps3-an547",
        options={},
        arena_bytes=max(at + aligned(b.size_bytes, ARENA_ALIGN) for b, at in offsets.items()),
        arena_lower_bound_bytes=0,
        arena_align=ARENA_ALIGN,
        rounding=graph.rounding.in_c,
        exact_outputs=(True,) * len(parts.program.outputs),
        rounded_outputs=(False,) * len(parts.program.outputs),
    )
    files, _ = bundle_files(parts.program.with_offsets(offsets), parts.chosen, facts)
    code = _split(files["m.c"], parts.program, parts.again, random)
    files = files.joined({"m.c": code})
    places = {value: index for index, value in enumerate(graph.outputs)}
    by_rows = tuple(places[selection.node.output] for selection in parts.again.values())
    variants = Counter(selection.kernel_name for selection in parts.selections.values())
    return Image(parts.imported, files, by_rows, variants, overlapping)


def code_digest(family: str, core_name: str, variant: str, seed: int, layers: Sequence[int]) -> str:
    """Of the functions and constants that these layers become with the variant, comments and
    blanks apart, and of where their results may lie.
    """
    parts = parts_of(random_model(family, seed, layers), core_name, variant, Goal.BALANCED)
    nowhere = dict.fromkeys(parts.program.lives, 0)
    body = body_of(parts.program.with_offsets(nowhere), parts.chosen, "m")
    texts = [function.text for function in body.functions]
    texts += [step.definition for step in body.steps]
    texts += [f"{array.c_type} {array.rows}" for array in body.arrays]
    for run in parts.program.runs:
        for position, overlap in run.overlaps.items():
            texts.append(f"{position} {overlap.least_gap_bytes} {overlap.only_gap_bytes};")
    headers = libjit_closure(body.headers)
    texts += [text for name, text in headers.items() if name != "glowmcu_base.h"]
    return hashlib.sha256(_UNSEEN.sub("", "".join(texts)).encode()).hexdigest()[:12]


def _rows_again(graph: Graph, selections: Mapping[Node, Selection]) -> dict[Node, Selection]:
    """Copies of the layers that can go by rows, with the code for that."""
    found = {}
    for node, selection in selections.items():
        row_kernel = selection.row_kernel
        if row_kernel is None or node.outputs[0] not in graph.outputs:
            continue
        if any(value not in graph.inputs for value in _read(selection)):
            continue
        (output,) = node.outputs
        result = Value(output.type, f"{output.name}_rows")
        again = Node(node.op, node.inputs, (result,), f"{node.name}_rows", node.source)
        found[again] = replace(selection, code=row_kernel.code)
    return found


def _read(selection: Selection) -> list[Value]:
    return [selection.node.inputs[position] for position in selection.operands]


def _with_runs(program: Program, again: Mapping[Node, Selection]) -> Program:
    """The copies first: the layers themselves may overwrite their operands."""
    inputs = {run.node: run for run in program.runs}
    runs, outputs = [], []
    for node, selection in again.items():
        run = inputs[selection.node]
        result = Buffer(node.output.name, node.output.type)
        scratch = None
        if selection.code.scratch_bytes:
            type_ = run.scratch.type if run.scratch is not None else node.output.type
            scratch = Buffer(
                f"{node.name}/scratch",
                replace(type_, shape=(selection.code.scratch_bytes,), quantization=None),
            )
        runs.append(
            replace(run, node=node, outputs=(result,), scratch=scratch, overlaps={}, rows=None)
        )
        outputs.append(result)
    return insert_lifetimes(
        replace(
            program,
            instructions=(*runs, *program.instructions),
            outputs=(*program.outputs, *outputs),
        )
    )


def _places(program: Program, random: Generator) -> tuple[dict[Buffer, int], int]:
    """Offsets of all root buffers, and how many results reach into an operand."""
    scratch = {run.scratch for run in program.runs if run.scratch is not None}
    room = max((buffer.size_bytes for buffer in scratch), default=0)
    offsets, overlapping = dict.fromkeys(scratch, 0), 0
    end = aligned(room, ARENA_ALIGN)
    for run in program.runs:
        pair = _overlap(program, run, random)
        if pair is None or any(buffer in offsets for buffer in pair[:2]):
            continue
        operand, result, gap = pair
        offsets[operand], offsets[result] = end + max(gap, 0), end + max(-gap, 0)
        end = _behind(offsets, (operand, result))
        overlapping += 1
    for buffer in program.lives:
        if buffer not in offsets:
            offsets[buffer] = end
            end = _behind(offsets, (buffer,))
    return offsets, overlapping


def _behind(offsets: Mapping[Buffer, int], buffers: tuple[Buffer, ...]) -> int:
    return aligned(max(offsets[b] + max(b.size_bytes, 1) for b in buffers), ARENA_ALIGN)


def _overlap(program: Program, run: Run, random: Generator) -> tuple[Buffer, Buffer, int] | None:
    """An operand, the result and the nearest that the result may start below it."""
    allowed = [
        (position, gap)
        for position, overlap in run.overlaps.items()
        for gap in (overlap.least_gap_bytes, overlap.only_gap_bytes)
        if gap is not None
    ]
    if not allowed or random.random() < 0.3:
        return None
    position, gap = allowed[int(random.integers(len(allowed)))]
    operand, result = run.inputs[run.positions.index(position)], run.outputs[0]
    roots = [program.root(buffer) for buffer in (operand, result)]
    if any(inner for _, inner in roots) or run.inputs.count(operand) > 1:
        return None
    step = max(run.operand_align, operand.type.element.size_bytes, result.type.element.size_bytes)
    nearest = aligned(gap, step)
    if not run.overlaps[position].is_kept(nearest):
        return None
    return roots[0][0], roots[1][0], nearest


def _split(text: str, program: Program, again: Mapping[Node, Selection], random: Generator) -> str:
    """The calls of the copies in parts of rows. Markers of steps go: a build less."""
    head, begin, body = text.partition("int32_t m_run(void *arena)")
    pieces = body.split("    GLOWMCU_STEP(")
    for number, run in enumerate(program.runs):
        line, _, call = pieces[number + 1].partition("\n")
        if run.node in again:
            selection = again[run.node]
            assert selection.rows is not None
            call = split_calls(call, run, selection.code, selection.rows, random)
        pieces[number + 1] = f"    /*{line.partition('/*')[2]}\n{call}"
    return head + begin + "".join(pieces)
