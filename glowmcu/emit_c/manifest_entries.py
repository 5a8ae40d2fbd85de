"""A bundle as data, for its manifest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from glowmcu.compiler_digest import compiler_digest
from glowmcu.delegated import DelegationEntry, DelegationNotes, RegionEntry, StayEntry
from glowmcu.emit_c.build_views import Chosen, Layers
from glowmcu.emit_c.bundle_facts import BundleFacts
from glowmcu.emit_c.placement_text import placement_entries
from glowmcu.emit_c.size_view import size_entry, with_shapes
from glowmcu.emit_c.steps_view import progress_buffer
from glowmcu.emit_c.stream_view import state_entries
from glowmcu.emit_c.streamed_input_view import rows_entry
from glowmcu.emit_c.tensor_views import tensor_views
from glowmcu.ir.cascade import Cascade
from glowmcu.ir.graph import Node
from glowmcu.ir.program import Program
from glowmcu.ir.run_progress import RunProgress
from glowmcu.manifest import BufferEntry, ConstantsEntry, LayerEntry, Manifest, TensorEntry
from glowmcu.ops.delegate import Delegate


def _tensor_entries(
    program: Program, facts: BundleFacts
) -> tuple[tuple[TensorEntry, ...], tuple[TensorEntry, ...]]:
    """Inputs and outputs."""
    inputs, outputs = tensor_views(program, facts.name, facts.asked)
    entries = []
    none = (False,) * len(inputs)
    leeway = [max(each) for each in zip(*(v.leeways for v in facts.vectors), strict=True)]
    leeway = leeway or [0.0] * len(outputs)
    for buffers, views, exact, rounded, leeways in (
        (program.inputs, inputs, (True,) * len(inputs), none, (0.0,) * len(inputs)),
        (program.outputs, outputs, facts.exact_outputs, facts.rounded_outputs, leeway),
    ):
        entries.append(
            tuple(
                TensorEntry(
                    name=buffer.name,
                    symbol=view.parameter.partition("_")[2],
                    rows=rows_entry(view, facts.name),
                    shape=buffer.type.shape,
                    dtype=str(buffer.type.element.numpy),
                    scale=buffer.type.scale if buffer.type.quantization else None,
                    zero_point=buffer.type.zero_point if buffer.type.quantization else None,
                    offset=view.offset,
                    outside_align=view.outside_align,
                    bytes=view.size_bytes,
                    exact=is_exact,
                    leeway=within,
                    rounded=may_be_next,
                    kept=view.kept,
                )
                for buffer, view, is_exact, may_be_next, within in zip(
                    buffers, views, exact, rounded, leeways, strict=True
                )
            )
        )
    return (
        with_shapes(entries[0], facts.sized, "inputs"),
        with_shapes(entries[1], facts.sized, "outputs"),
    )


def bundle_manifest(
    program: Program,
    chosen: Mapping[Node, Chosen],
    body: Layers,
    facts: BundleFacts,
    files: Iterable[str],
) -> Manifest:
    """What there is but for a list of the files."""
    sizes = facts.arena_bytes, body.weights_bytes
    entries = _tensor_entries(program, facts)
    return Manifest(
        name=facts.name,
        tool_version=facts.tool_version,
        model_file=facts.model_file,
        model_sha256=facts.model_sha256,
        board=facts.board,
        options=dict(facts.options),
        arena_bytes=facts.arena_bytes,
        arena_lower_bound_bytes=facts.arena_lower_bound_bytes,
        arena_optimal=facts.arena_bytes == facts.arena_lower_bound_bytes,
        arena_align=facts.arena_align,
        weights_bytes=body.constant_bytes,
        macs=sum(run.node.macs for run in program.runs),
        inputs=entries[0],
        outputs=entries[1],
        layers=_layer_entries(program, chosen, body),
        buffers=_buffer_entries(program, facts.progress),
        sources=tuple(file for file in files if file.endswith(".c") and "/" not in file),
        headers=tuple(file for file in files if file.endswith(".h") and "/" not in file),
        simplification=facts.simplification,
        packages=facts.packaging.names,
        placement=placement_entries(
            facts.name, facts.placed, *sizes, body.arrays, body.code_regions
        ),
        extra_macs=facts.extra_macs,
        compiler=compiler_digest(),
        states=state_entries(program),
        pipeline=facts.pipeline,
        size=size_entry(facts.sized),
        labels=facts.labels,
        categories=facts.categories,
        string_inputs=facts.string_inputs,
        cores=1 if program.meetings is None else 2,
        quality=facts.quality,
        training=facts.training,
        delegation=_delegation(program, body, facts.delegation),
    )


def _delegation(
    program: Program, body: Layers, notes: DelegationNotes | None
) -> DelegationEntry | None:
    """Regions by their turns, and why the other layers stay."""
    if notes is None:
        return None
    regions, stays = list[RegionEntry](), list[StayEntry]()
    for index, run in enumerate(program.runs):
        found = notes.regions.get(run.node.name) if isinstance(run.node.op, Delegate) else None
        if found is not None:
            regions.append(RegionEntry(index, **vars(found)))
        else:
            why = notes.stays.get(run.node.name, "it moves or makes room for what others compute")
            stays.append(StayEntry(index, why))
    view = body.delegates
    return DelegationEntry(
        notes.device, view.prefix if view else "", view.macro if view else "",
        notes.estimated_by, tuple(regions), tuple(stays), view.layers if view else (),
        view.functions if view else (),
    )  # fmt: skip


def _buffer_entries(program: Program, progress: RunProgress | None) -> tuple[BufferEntry, ...]:
    entries = [
        BufferEntry(
            buffer.name, program.offsets[buffer], buffer.size_bytes, *program.layers_of(life)
        )
        for buffer, life in program.lives.items()
    ]
    if progress is not None:
        view = progress_buffer(progress, len(program.runs))
        place = view.offset, view.size_bytes, view.first, view.last
        entries.append(BufferEntry(view.description, *place))
    return tuple(entries)


def _layer_entries(
    program: Program, chosen: Mapping[Node, Chosen], body: Layers
) -> tuple[LayerEntry, ...]:
    cascades = [step for step in program.steps if isinstance(step, Cascade)]
    by_rows = {run for cascade in cascades for run in cascade.runs}
    return tuple(
        LayerEntry(
            index=index,
            name=run.node.name,
            op=run.node.op.name,
            kernel=run.kernel,
            macs=run.node.macs,
            weights_bytes=weights_bytes,
            weights_bits=weights.bits,
            weights_group=weights.group,
            weights_packed=weights.packed,
            scratch_bytes=run.scratch.size_bytes if run.scratch else 0,
            device=run.node.op.device if isinstance(run.node.op, Delegate) else "",
            constants=tuple(
                ConstantsEntry(part.kind, part.coding, part.bytes, part.unpacked_bytes)
                for part in parts
            ),
        )
        for index, (run, weights_bytes, parts) in enumerate(
            zip(program.runs, body.weights_bytes, body.parts, strict=True)
        )
        for weights in [chosen[run.node].weights(run in by_rows)]
    )
