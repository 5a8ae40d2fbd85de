"""What a bundle says of what learns, and what does not go together with it."""

from __future__ import annotations

import hashlib
import json

from glowmcu.compilation import Options
from glowmcu.errors import error
from glowmcu.instrument import Instrument
from glowmcu.interface_options import Weights
from glowmcu.ir.equality import nodes_digest
from glowmcu.ir.graph import Graph
from glowmcu.learning.stage import LEARNS
from glowmcu.memory_fit import FittedPlan
from glowmcu.training import TrainingEntry


def check_training(options: Options, file_name: str) -> None:
    """Raises GM363 for options that a bundle that learns does not go with."""
    inputs, interface = options.inputs, options.interface
    if inputs.training is None:
        return
    against = {
        "--stream-input": bool(inputs.streamed),
        "--outside-input": bool(inputs.external),
        "--slide": bool(inputs.slides),
        "--camera": bool(inputs.cameras),
        "--define with a range": inputs.open_size is not None,
        "--steps": interface.steps,
        "--cores 2": interface.cores > 1,
        "--weights pointer": interface.weights is Weights.POINTER,
        "--instrument": options.instrument is not Instrument.OFF,
    }
    found = [name for name, is_asked in against.items() if is_asked]
    if found:
        raise error(
            "GM363",
            f"--train does not go with {', '.join(found)}",
            file_name,
            f"leave out {found[0]}: a run that learns is one call on one core, and its whole input "
            "lies in the arena",
        )


def inference_cycles(fit: FittedPlan) -> float:
    """Estimated cycles of a run but for the steps that only runs with a label take."""
    rates = fit.graph.rates
    return fit.cycles - sum(
        item.cost.cycles
        for node, item in fit.selections.items()
        if rates and rates[node.stage].argument
    )


def _inference_digest(graph: Graph) -> str:
    """Of all that an inference computes by the parameters: what these mean depends on its scales,
    those of layers in front, too. How they are learnt is no part of it.
    """
    return nodes_digest([n for n in graph.nodes if not graph.rates[n.stage].argument])


def training_entry(
    graph: Graph, model_sha256: str, fit: FittedPlan, inference_arena_bytes: int, is_known: bool
) -> TrainingEntry:
    """Of a graph that learns; cycles where the core's costs are known."""
    told = json.loads(graph.metadata[LEARNS])
    types = {state.value.name: state.value.type for state in graph.states}
    owner = hashlib.sha256(f"{model_sha256}{_inference_digest(graph)}".encode())
    for name in told["parameters"]:
        owner.update(f"{name}{types[name]}".encode())
    inference = round(inference_cycles(fit))
    return TrainingEntry(
        told["loss_kind"],
        told["argument"],
        graph.rates[-1].end,
        told["target"],
        told["loss"],
        tuple(told["parameters"]),
        tuple(told["momenta"]),
        tuple(told["settings"]),
        sum(types[name].size_bytes for name in told["parameters"]),
        owner.hexdigest()[:32],
        inference_arena_bytes,
        tuple(
            step
            for step, run in enumerate(fit.plan.program.runs)
            if graph.rates[run.node.stage].argument
        ),
        inference if is_known else None,
        round(fit.cycles) - inference if is_known else None,
        told["numbers"],
    )
