"""The stages of a compilation, in order. Read this first.

    file -> graph -> [int8 graph] -> simpler graph -> [regions] -> kernels -> plan -> files
    file -> graph -> simpler float graph + samples -> profile

Each stage is a function from data to data; none knows another, only this module knows the order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from glowmcu.board import Places, find_board, place
from glowmcu.board.placing_auto import LayerFacts
from glowmcu.compilation import Compilation, Options, Prepared, check_interface, options_text
from glowmcu.cores import core
from glowmcu.delegated import DelegationNotes
from glowmcu.delegation.compilation import fitted_with_regions
from glowmcu.emit_c.bundle_facts import BundleFacts
from glowmcu.emit_c.bundle_files import listed, unlisted_files
from glowmcu.emit_c.c_text import bundle_name, check_bundle_name
from glowmcu.emit_c.custom_names import check_custom_names
from glowmcu.emit_c.golden_text import GoldenVector
from glowmcu.emit_c.licenses import licensed
from glowmcu.emit_c.packages.details import package_details
from glowmcu.emit_c.packages.package import Packaging, package_names
from glowmcu.emit_c.placement_text import Placed
from glowmcu.emit_c.write_bundle import check_output as check_folder
from glowmcu.emit_c.write_bundle import temporary_bundle, write_bundle
from glowmcu.errors import error, said_of
from glowmcu.fit_as_asked import Fitted, costs_of, fit_as_asked
from glowmcu.frontend.labels import labels_of as labels_of  # noqa: PLC0414 - multirate, too
from glowmcu.frontend.notes import notes_on_file as notes_on_file  # noqa: PLC0414 - multirate, too
from glowmcu.frontend.read_model import read_model
from glowmcu.frontend.state_pairs import state_notes, with_states
from glowmcu.golden_vectors import golden_vectors
from glowmcu.input_options import InputOptions, streamed_input_name
from glowmcu.ir.dump import IrDump
from glowmcu.ir.exactness import computes_in_float, exact_outputs, rounded_outputs
from glowmcu.ir.graph import Graph
from glowmcu.ir.operation import Rounding
from glowmcu.kept_layers import fit_kept_layers
from glowmcu.kernels.kernel import Target
from glowmcu.kernels.selection.known_costs import known_costs
from glowmcu.kernels.selection.select import code_bytes
from glowmcu.learning.as_asked import with_training
from glowmcu.learning.facts import check_training, inference_cycles, training_entry
from glowmcu.learning.least_arena import fit_learning
from glowmcu.lowering import round_as_asked
from glowmcu.lowering.application_side import as_application_sees
from glowmcu.lowering.model_border import with_border
from glowmcu.lowering.passes import PassObserver, lower
from glowmcu.lowering.simplification import SimplificationWatch
from glowmcu.lowering.slide_windows import KEPT_LAYERS
from glowmcu.manifest import Manifest
from glowmcu.memory_fit import FittedPlan, memory_curve
from glowmcu.memplan.build_program import build_program
from glowmcu.memplan.external_inputs import external_inputs
from glowmcu.memplan.planner import ARENA_ALIGN
from glowmcu.planning_progress import PlanningWatch
from glowmcu.string_categories import categories_of, inputs_of_categories
from glowmcu.training import TrainingEntry
from glowmcu.version import __version__

if TYPE_CHECKING:
    from glowmcu.quant.profile import Profile
    from glowmcu.quant.profiling import ProfilingObserver
    from glowmcu.quant.request import QuantizationRequest, QuantizedModel
    from glowmcu.quant.sample_source import SampleSource


def reference_graph(
    data: bytes,
    file_name: str,
    rounding: Rounding = Rounding.DOUBLE,
    inputs: InputOptions | None = None,
) -> Graph:
    """The model as imported: what its numbers are defined by."""
    inputs = inputs or InputOptions()
    # What a state is bound to is its beginning, no constant.
    bound = {name: data for name, data in inputs.bind.items() if name not in inputs.states}
    graph = read_model(data, file_name, replace(inputs, bind=bound))
    graph = with_states(round_as_asked.run(graph, rounding, file_name), inputs, file_name)
    graph.verify()
    return graph


def float_graph(
    data: bytes,
    file_name: str,
    rounding: Rounding = Rounding.DOUBLE,
    inputs: InputOptions | None = None,
    observer: PassObserver | None = None,
) -> Graph:
    """The model as it is profiled and quantized. Raises GM320 where nothing computes in float."""
    imported = reference_graph(data, file_name, rounding, inputs)
    if observer is not None:
        observer("import", imported)
    if not any(map(computes_in_float, imported.nodes)):
        raise error(
            "GM320",
            "there is nothing to quantize: no operator computes with real numbers",
            file_name,
            "compile it as it is, without --profile or --samples",
        )
    from glowmcu.lowering.float_passes import prepare_for_quantization

    return prepare_for_quantization(imported, observer)


def profile_model(
    data: bytes,
    file_name: str,
    samples: SampleSource,
    inputs: InputOptions | None = None,
    observer: ProfilingObserver | None = None,
) -> Profile:
    """What every tensor of a float model holds on `samples`. Raises GM3xx."""
    from glowmcu.quant.profiling import profile_graph

    graph = float_graph(data, file_name, inputs=inputs)
    return profile_graph(graph, samples.read(graph), _sha256(data), observer)


def quantized_model(
    data: bytes,
    file_name: str,
    request: QuantizationRequest,
    rounding: Rounding = Rounding.DOUBLE,
    inputs: InputOptions | None = None,
    observer: PassObserver | None = None,
) -> QuantizedModel:
    """The model in int8, as `request` wants it. Raises GM3xx."""
    from glowmcu.quant.request import quantize_as_requested

    graph = float_graph(data, file_name, rounding, inputs, observer)
    return quantize_as_requested(graph, request, _sha256(data))


def application_graph(
    data: bytes,
    name: str,
    asked: QuantizationRequest | None = None,
    rounding: Rounding = Rounding.DOUBLE,
    inputs: InputOptions | None = None,
) -> tuple[Graph, tuple[str, ...]]:
    """The model as its application sees it, and what to tell of that, in sentences."""
    inputs = inputs or InputOptions()
    return of_application(_graph_as_asked(data, name, asked, rounding, inputs), inputs, name)


def of_application(graph: Graph, inputs: InputOptions, name: str) -> tuple[Graph, tuple[str, ...]]:
    """The same of a model that is imported, and quantized if that is asked for."""
    graph, notes = as_application_sees(graph, inputs, name)
    made = with_training(graph, inputs.training, name)
    return made, (*notes, *state_notes(graph, inputs))


def graph_with_border(
    data: bytes,
    name: str,
    asked: QuantizationRequest | None,
    rounding: Rounding,
    inputs: InputOptions,
) -> tuple[Graph, tuple[str, ...]]:
    """The model with the types of inputs and outputs that `inputs.io` says, and what was not
    quantized of it as asked, in sentences. Raises GM3xx.
    """
    if asked is None:
        return with_border(reference_graph(data, name, rounding, inputs), inputs, name), ()
    made = quantized_model(data, name, asked, rounding, inputs).quantized
    return with_border(made.graph, inputs, name), made.notes


def _graph_as_asked(
    data: bytes,
    name: str,
    asked: QuantizationRequest | None,
    rounding: Rounding,
    inputs: InputOptions,
) -> Graph:
    """The model as imported, or in int8 if that is asked for. Raises GM3xx."""
    if asked is None:
        return reference_graph(data, name, rounding, inputs)
    return quantized_model(data, name, asked, rounding, inputs).quantized.graph


def compile_model(data: bytes, file_name: str, options: Options) -> Compilation:
    """Model file content to bundle files. Raises GlowmcuError for what the user can mend."""
    options.interface.check(streamed_input_name(options.inputs, file_name), file_name)
    if options.inputs.open_size is None:
        prepared = _prepared(data, file_name, options)
    else:
        from glowmcu.given_size import prepared_at_sizes

        prepared = prepared_at_sizes(data, file_name, options, _prepared)
    layers = prepared.imported.metadata.get(KEPT_LAYERS)
    is_free = options.inputs.slide_layers is None
    if layers is None or not is_free:
        return compile_prepared(prepared, options)
    if options.budgets.arena_bytes is None and not options.wants_curve:
        return compile_prepared(prepared, options)

    def with_layers(count: int) -> Compilation:
        inputs = replace(options.inputs, slide_layers=count)
        return compile_model(data, file_name, replace(options, inputs=inputs))

    return fit_kept_layers(with_layers, int(layers), options.wants_curve)


def _prepared(data: bytes, file_name: str, options: Options) -> Prepared:
    dump = IrDump(options.dump_ir, options.dump_constants)
    quantized = None
    if options.quantization is None:
        imported = reference_graph(data, file_name, options.rounding, options.inputs)
        dump.graph("import", imported)
    else:
        quantized = quantized_model(
            data, file_name, options.quantization, options.rounding, options.inputs, dump.graph
        )
        imported = quantized.quantized.graph
        dump.graph("quantize", imported)
    imported, side_notes = as_application_sees(imported, options.inputs, file_name)
    inference = None
    if options.inputs.training is not None:
        plain = lower(imported, simplified=options.simplify)
        inference = Prepared(Path(file_name).name, _sha256(data), imported, plain, dump)
        imported = with_training(imported, options.inputs.training, file_name)
        dump.graph("train", imported)
    watch = SimplificationWatch(dump.graph)
    lowered = lower(imported, watch, options.simplify)
    with said_of(lowered.name, file_name):
        external = external_inputs(lowered, imported, options.inputs)
    kept = (value for value in lowered.arguments if value.name in options.inputs.kept)
    lowered = lowered.replace(kept=[value for value in kept if value not in external])
    dump.finish(lowered)
    labels, label_notes = labels_of(data, file_name, imported, options.interface)
    notes = (
        *notes_on_file(data, file_name, options.inputs, quantized is not None), *side_notes,
        *state_notes(imported, options.inputs),
    )  # fmt: skip
    return Prepared(
        Path(file_name).name, _sha256(data), imported, lowered, dump, labels,
        (*notes, *dump.notes, *label_notes), watch.told(), external, quantized,
        said=quantized.text if quantized else {}, quality=quantized.quality if quantized else (),
        inference=inference,
    )  # fmt: skip


def compile_prepared(model: Prepared, options: Options) -> Compilation:
    """Kernels, plan and files. Raises GlowmcuError for what the user can mend."""
    check_training(options, model.model_file)
    check_interface(options, model.model_file, model.pipeline is not None)
    streamed_input = streamed_input_name(options.inputs, model.model_file)
    target = Target(core(options.core), options.goal)
    planning = PlanningWatch(options.planning_observer)

    def fit_once(item: Prepared, asked: Options) -> Fitted:
        return fit_as_asked(item, asked, streamed_input, planning)

    with said_of(model.lowered.name, model.model_file):
        model, fitted = fitted_with_regions(
            model, options, lambda item: fit_learning(item, options, fit_once)
        )
    wanted = model.lowered, target, options.budgets, options.kernels, streamed_input, model.external
    fit = fitted.fit
    selections, plan, graph, dump = fit.selections, fit.plan, fit.graph, model.dump
    places = _places(fit, options, model.delegation)
    unplanned = build_program(
        graph, selections, streamed_input=streamed_input, external=model.external
    )
    dump.program("unplanned", unplanned)
    dump.program("planned", plan.program)
    facts = BundleFacts(
        name=options.name, tool_version=__version__, model_file=model.model_file,
        model_sha256=model.model_sha256, board=options.board,
        options=options_text(options, model.imported) | model.said,
        arena_bytes=fit.arena_bytes, arena_lower_bound_bytes=fit.arena_lower_bound_bytes,
        arena_align=max(ARENA_ALIGN, plan.program.line_bytes), rounding=options.rounding.in_c,
        vectors=golden_vectors(model), exact_outputs=exact_outputs(model.imported),
        rounded_outputs=rounded_outputs(model.imported),
        simplification=model.simplification, packaging=options.packaging,
        instrument=options.instrument,
        placed=Placed(options.placement.board, places) if options.placement.board else None,
        extra_macs=fit.extra_macs, progress=fit.progress, labels=model.labels,
        categories=categories_of(model.imported.metadata),
        string_inputs=inputs_of_categories(model.imported.metadata),
        costs=costs_of(options, inference_cycles(fit), selections.values()),
        weights=options.interface.weights, pipeline=model.pipeline, sized=fitted.sized,
        quality=model.quality, training=_training(model, options, fit, planning),
        delegation=model.delegation,
    )  # fmt: skip
    files, manifest = unlisted_files(plan.program, selections, facts)
    check_custom_names(files.outlines, options.name, options.inputs.custom.values())
    files = files.joined(_firmware_files(options, manifest, facts.vectors))
    terms = options.packaging.details.license
    files, manifest = listed(licensed(files, options.name, terms), manifest, terms)
    curve = memory_curve(*wanted, planning) if options.wants_curve else ()
    done = Compilation(
        model.imported, graph, selections, plan, files, manifest, (*model.notes, *fitted.notes),
        fit.cycles, curve, places=places,
    )  # fmt: skip
    if model.quantized is None:
        return done
    made = model.quantized.quantized
    return replace(
        done, float_graph=made.reference, quantization_notes=made.notes,
    )  # fmt: skip


def _training(
    model: Prepared, options: Options, fit: FittedPlan, planning: PlanningWatch
) -> TrainingEntry | None:
    """What of the bundle learns, and what that costs beside inference alone."""
    if model.inference is None:
        return None
    plain = fit_as_asked(model.inference, options, None, planning).fit
    known = known_costs(options.core, options.goal, 1.0, ()).cycles > 0
    return training_entry(model.imported, model.model_sha256, fit, plain.arena_bytes, known)


def _firmware_files(
    options: Options, manifest: Manifest, vectors: tuple[GoldenVector, ...]
) -> dict[str, str]:
    """Firmwares around the bundle: for Renode with a test, for a board. Raises GM187, GM661."""
    names, files = options.packaging.names, dict[str, str]()
    board = options.placement.board or find_board(options.board)
    if "renode" in names:
        from glowmcu.verify.renode.shipped import shipped_files as renode_files

        whole = (None, manifest.size and manifest.size.largest)
        shown = [(vector.seed, vector.outputs) for vector in vectors if vector.size in whole]
        files |= renode_files(manifest, board, shown)
    if "serial" in names:
        from glowmcu.verify.serial.shipped import shipped_files as serial_files

        files |= serial_files(manifest, board)
    return files


def _places(fit: FittedPlan, options: Options, delegation: DelegationNotes | None) -> Places:
    """Regions for the plan's layers and its arena; what an accelerator needs, unless it is asked
    for otherwise.
    """
    layers = []
    for index, run in enumerate(fit.plan.program.runs):
        chosen = fit.selections[run.node]
        rows = chosen.row_kernel if run.node in fit.cascaded else None
        weights_bytes = (rows.cost if rows is not None else chosen.cost).flash_bytes
        layers.append(LayerFacts(index, run.node.name, run.kernel, run.node.macs, weights_bytes))
    request = options.placement
    if delegation is not None:
        request = replace(request, rules={**delegation.places, **request.rules})
    return place(request, layers, fit.arena_bytes, code_bytes(fit.selections.values()))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def packaging(names: str | Iterable[str], settings: Iterable[str]) -> Packaging:
    """Build systems and `KEY=VALUE` settings, checked. Raises GM520, GM521."""
    return Packaging(package_names(names), package_details(settings))


def emit(compilation: Compilation, folder: Path) -> tuple[str, ...]:
    """Write the bundle: all of it or nothing. Returns what the user should know. Raises GM504,
    GM522 to GM524.
    """
    return write_bundle(compilation.files, folder, compilation.manifest.name)


def emitted(compilation: Compilation) -> AbstractContextManager[Path]:
    """The folder of a bundle that is gone afterwards. Raises GM723."""
    return temporary_bundle(compilation.files, compilation.manifest.name)


def check_output(folder: Path, name: str) -> None:
    """That a bundle `name` may go to `folder`, before it is made. Raises GM503, GM504, GM523."""
    check_folder(folder, check_bundle_name(name))


def default_name(model: Path) -> str:
    """The bundle name that a model file suggests."""
    return bundle_name(model.stem)
