"""A model divided between the core and the accelerator that its options name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from glowmcu.compilation import Options, Prepared
from glowmcu.cores import core
from glowmcu.delegated import DelegationNotes, RegionNote
from glowmcu.delegation.back_end import BackEnd
from glowmcu.delegation.delegate_regions import Division, Region, divide
from glowmcu.delegation.partition import computes
from glowmcu.errors import GlowmcuError, error
from glowmcu.instrument import Instrument
from glowmcu.interface_options import Weights
from glowmcu.ir.graph import Node
from glowmcu.kernels.kernel import Target
from glowmcu.kernels.selection.select import select_kernels
from glowmcu.ops.delegate import EthosU

_Fitted = TypeVar("_Fitted")
#: What plans that are over a budget are refused with.
_TOO_SMALL = ("GM402", "GM403")


def fitted_with_regions(
    model: Prepared, options: Options, fit: Callable[[Prepared], _Fitted]
) -> tuple[Prepared, _Fitted]:
    """The model with its regions as operators, and its plan. Where a budget is too small for that,
    the regions that take most memory stay with the core, one after another.

    Raises GM770 to GM776, and what `fit` does of the model without an accelerator.
    """
    if not options.interface.accelerator:
        return model, fit(model)
    # With it come Vela's files and all that writes a .tflite: most compilations need none of it.
    from glowmcu.delegation.find_back_end import find_back_end

    _check(options, model.model_file, model.pipeline is not None)
    target = Target(core(options.core), options.goal)
    back_end = find_back_end(options.interface.accelerator, options.placement.board, target)
    chosen = select_kernels(model.lowered, target)

    def host_cycles(node: Node) -> float:
        return chosen[node].cost.cycles if node in chosen else 0.0

    kept: dict[Node, str] = {}
    while True:
        division = divide(model.lowered, back_end, host_cycles, kept)
        divided = _with_division(model, division, back_end)
        try:
            return divided, fit(divided)
        except GlowmcuError as cause:
            if cause.code not in _TOO_SMALL or not division.regions:
                raise
            largest = max(division.regions, key=lambda node: _memory(division.regions[node]))
            why = f"with it on {back_end.name} the model is over its budget ({cause.code})"
            nodes = division.regions[largest].nodes
            kept |= {node: why for node in nodes if computes(node)}


def _with_division(model: Prepared, division: Division, back_end: BackEnd) -> Prepared:
    division.graph.verify()
    model.dump.graph("delegate", division.graph)
    notes = _notes(division, back_end.name, back_end.estimated_by)
    told = model.notes if division.regions else (*model.notes, _nothing(notes))
    return replace(model, lowered=division.graph, delegation=notes, notes=told)


def _memory(region: Region) -> int:
    """Bytes of what it makes, and of what it works in."""
    scratch = region.op.scratch_bytes if isinstance(region.op, EthosU) else 0
    return scratch + sum(value.type.size_bytes for node in region.nodes for value in node.outputs)


def _notes(division: Division, device: str, estimated_by: str) -> DelegationNotes:
    return DelegationNotes(
        device, estimated_by,
        {node.name: _region_note(region) for node, region in division.regions.items()},
        {node.name: why for node, why in division.stays.items()},
        {
            f"weights:{node.name}": region.weights_memory
            for node, region in division.regions.items() if region.weights_memory
        },
    )  # fmt: skip


def _region_note(region: Region) -> RegionNote:
    computing = [node for node in region.nodes if computes(node)]
    return RegionNote(
        tuple(node.name for node in computing), tuple(node.op.name for node in computing),
        round(region.cost.compute), round(region.cost.transfer), round(region.host_cycles),
    )  # fmt: skip


def _nothing(notes: DelegationNotes) -> str:
    """That all stays, and the reason that most layers have."""
    reasons = list(notes.stays.values())
    most = max(dict.fromkeys(reasons), key=reasons.count, default="there is no layer")
    return f"{notes.device} computes nothing of this model: {most}"


def _check(options: Options, file_name: str, is_pipeline: bool) -> None:
    """Raises GM774 for options that do not go with an accelerator."""
    interface, inputs = options.interface, options.inputs
    against = {
        "--cores 2": interface.cores > 1,
        "--steps": interface.steps,
        "--weights pointer": interface.weights is Weights.POINTER,
        "--stream-input": bool(inputs.streamed),
        "--train": inputs.training is not None,
        "--instrument": options.instrument is not Instrument.OFF,
        "--kernels": options.kernels is not None,
        "a size that each run is given": inputs.open_size is not None,
        "a pipeline": is_pipeline,
    }
    found = [name for name, is_asked in against.items() if is_asked]
    if found:
        raise error(
            "GM774", f"--accelerator does not go with {', '.join(found)}", file_name,
            "leave out one of both: a region is one call, which a run waits for",
        )  # fmt: skip
