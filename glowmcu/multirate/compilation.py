"""A pipeline's compilation: every model to a graph, all of them to one.

TOML file -> models -> stages with queues between them -> lowered one by one -> joined
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from glowmcu.compilation import Compilation, Options, Prepared
from glowmcu.errors import GlowmcuError, error
from glowmcu.input_options import InputOptions
from glowmcu.ir.dump import IrDump
from glowmcu.ir.graph import Graph
from glowmcu.lazy_dataclass import dataclass
from glowmcu.lowering import materialize_states
from glowmcu.lowering.passes import lower
from glowmcu.manifest import PipelineEntry, StageEntry
from glowmcu.multirate.decision import decision_label_notes
from glowmcu.multirate.description import Description, StageDescription
from glowmcu.multirate.joining import Model, connected, joined
from glowmcu.multirate.stage_graphs import StageGraph, window_of
from glowmcu.pipeline import (
    application_graph,
    compile_prepared,
    labels_of,
    notes_on_file,
)
from glowmcu.quality import QualityEntry
from glowmcu.slides import Slide

if TYPE_CHECKING:
    from glowmcu.quant.request import QuantizationRequest


@dataclass(frozen=True)
class PipelineFiles:
    """A pipeline with what it names: file content and calibration by stage."""

    description: Description
    models: Mapping[str, bytes]
    quantization: Mapping[str, QuantizationRequest] = field(default_factory=dict)


def compile_pipeline(files: PipelineFiles, options: Options) -> Compilation:
    """One bundle of all stages. Raises GM151 if they do not fit together, GM152 for an option
    that is a stage's, and what each model may raise.
    """
    check_options(files.description, options)
    return compile_prepared(_prepared(files, options), options)


def check_options(description: Description, options: Options) -> None:
    """Raises GM152: what concerns one model's inputs stands with its stage in the file."""
    inputs, given = options.inputs, []
    for name, is_given in (
        ("--input-shape", inputs.shapes), ("--define", inputs.symbols), ("--bind", inputs.bind),
        ("--keep-input", inputs.kept), ("--stream-input", inputs.streamed),
        ("--outside-input", inputs.external), ("--io", inputs.io), ("--input-layout", inputs.nhwc),
        ("--state", inputs.states or not inputs.finds_states), ("--slide", inputs.slides),
        ("--camera", inputs.cameras),
        ("--samples or --profile", options.quantization), ("--kernels", options.kernels),
    ):  # fmt: skip
        if is_given:
            given.append(name)
    if given:
        raise _refusal(
            description, given,
            "what concerns one model stands in its [[stage]]: input, output, samples, profile, "
            "slide, camera",
        )  # fmt: skip
    if options.interface.steps:
        raise _refusal(description, ["--steps"], "a run of it is short: one hop of the input")
    if inputs.training:
        hint = "compile the stage's model by itself, and feed it what the stages before it give"
        raise _refusal(description, ["--train"], hint)


def refuse_choices(description: Description) -> None:
    """Raises GM152 for choices of quantization, which nothing says the stage of."""
    raise _refusal(
        description, ["choices of quantization (--weights, --int16, --keep-float, …)"],
        "quantize the stage's model first: `glowmcu export MODEL --samples DATA --weights 4 -o "
        "STAGE.tflite`, say, and name that file in its [[stage]]",
    )  # fmt: skip


def _refusal(description: Description, given: Sequence[str], hint: str) -> GlowmcuError:
    return error("GM152", f"a pipeline takes no {', '.join(given)}", str(description.file), hint)


def _prepared(files: PipelineFiles, options: Options) -> Prepared:
    description, dump = files.description, IrDump(options.dump_ir, options.dump_constants)
    models, notes = [], list[str]()
    for stage in description.stages:
        graph, said = _graph(stage, files, options)
        models.append(Model(stage, graph))
        notes += [f"{stage.name}: {note}" for note in said]
    last = description.stages[-1]
    interface = replace(options.interface, labels=_labels_given(description, options))
    labels, label_notes = labels_of(
        files.models[last.name], str(last.model), models[-1].graph, interface
    )
    stages = connected(models, description, labels)
    if description.decision is not None:
        label_notes = decision_label_notes(stages[-1].graph, labels)
    imported = joined(stages, options.name, options.rounding)
    dump.graph("import", imported)
    lowered = materialize_states.run(
        joined([_lowered(stage, options) for stage in stages], options.name, options.rounding)
    )
    lowered.verify()
    dump.graph("lower", lowered)
    dump.finish(lowered)
    return Prepared(
        description.file.name,
        _digest(files),
        imported,
        lowered,
        dump,
        labels,
        (*notes, *dump.notes, *label_notes),
        pipeline=_entry(models[0], imported, description, options.name),
        quality=_quality(files),
    )


def _quality(files: PipelineFiles) -> tuple[QualityEntry, ...]:
    """Of the stages that were quantized here, in order."""
    stages = (stage.name for stage in files.description.stages)
    return tuple(
        replace(entry, stage=name)
        for name in stages
        if name in files.quantization
        for entry in files.quantization[name].quality
    )


def _entry(first: Model, graph: Graph, description: Description, name: str) -> PipelineEntry:
    """What the manifest and the C interface say of rates."""
    window = window_of(first.graph.arguments[0].type, first.stage.name, str(description.file))
    hop = first.stage.hop or window.row_count
    stages = tuple(StageEntry(rate.name, rate.first, rate.period) for rate in graph.rates)
    backlog = -window.row_count % hop
    return PipelineEntry(
        f"{name}_push", hop, window.row_elements, backlog, description.rate, stages
    )


def _lowered(stage: StageGraph, options: Options) -> StageGraph:
    """A stage whose result is read in the same run has nothing that passes could better."""
    if stage.graph.results:
        return stage
    return replace(stage, graph=lower(stage.graph, simplified=options.simplify))


def _labels_given(description: Description, options: Options) -> tuple[str, ...] | None:
    given = options.interface.labels
    return description.labels if given is None else given


def _graph(
    stage: StageDescription, files: PipelineFiles, options: Options
) -> tuple[Graph, tuple[str, ...]]:
    """A stage's model as what runs it sees it, and what to tell of it."""
    data, name = files.models[stage.name], str(stage.model)
    slides = {} if stage.slide is None else {_data_input(stage, files): Slide(stage.slide)}
    cameras = {_data_input(stage, files): stage.camera} if stage.camera else {}
    request = files.quantization.get(stage.name)
    # Pixels are bytes, so that a model that is quantized here takes some.
    io = "int8" if cameras and request is not None else ""
    inputs = InputOptions(io=io, slides=slides, cameras=cameras)
    graph, said = application_graph(data, name, request, options.rounding, inputs)
    return graph, (*notes_on_file(data, name, inputs, request is not None), *said)


def _data_input(stage: StageDescription, files: PipelineFiles) -> str:
    """The input that data comes in by: the one that is named, else the only one."""
    if stage.input:
        return stage.input
    graph, _ = application_graph(files.models[stage.name], str(stage.model))
    return graph.arguments[0].name if len(graph.arguments) == 1 else stage.input


def _digest(files: PipelineFiles) -> str:
    """SHA-256 of the TOML file and of the models' own digests, in order."""
    digest = hashlib.sha256(files.description.text)
    for stage in files.description.stages:
        digest.update(hashlib.sha256(files.models[stage.name]).digest())
    return digest.hexdigest()
