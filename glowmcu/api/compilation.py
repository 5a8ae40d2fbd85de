"""`glowmcu.compile`: a model file becomes a bundle on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from glowmcu.api.border import border_of
from glowmcu.api.kernel_choices import kernel_choices
from glowmcu.api.pipeline_files import read_source
from glowmcu.board import Board, PlacementRequest, does_not_fit, find_board
from glowmcu.board.fit import PLACED, Fit, fit_regions
from glowmcu.board.placing import arena_region, arena_room
from glowmcu.bundle import Bundle, MemoryPass, code_by_region
from glowmcu.compilation import Compilation, Options
from glowmcu.errors import ExitCode, GlowmcuError, error
from glowmcu.facts.compilation import compile_json
from glowmcu.facts.document import keep_facts
from glowmcu.facts.graphs import graph_json
from glowmcu.goals import Budgets, Goal
from glowmcu.input_options import Defined, GivenShape, InputOptions, channels_last, inputs_of
from glowmcu.instrument import Instrument
from glowmcu.interface_options import InterfaceOptions, Weights
from glowmcu.ir.operation import Array, Rounding
from glowmcu.ir.types import ElementType
from glowmcu.labels import read_labels
from glowmcu.manifest import BufferEntry, Manifest
from glowmcu.pipeline import check_output, default_name, packaging
from glowmcu.pipeline import emit as write
from glowmcu.planning_progress import PlanningObserver
from glowmcu.slides import GivenSlide

if TYPE_CHECKING:
    from glowmcu.api.quantization import ProfileGiven, SamplesGiven
    from glowmcu.kernels.choices import KernelChoices
    from glowmcu.quant.choices import Quantization
    from glowmcu.quant.profiling import Observer
    from glowmcu.quant.request import QuantizationRequest


def compile(
    model: str | Path,
    board: str = "generic",
    output: str | Path | None = None,
    name: str | None = None,
    optimize: str = "balanced",
    rounding: str = "double",
    profile: ProfileGiven | None = None,
    samples: SamplesGiven | None = None,
    preprocess: str | Path | None = None,
    quantization: Quantization | None = None,
    input_shapes: Mapping[str, GivenShape] | None = None,
    define: Mapping[str, Defined] | None = None,
    bind: Mapping[str, Array] | None = None,
    states: Mapping[str, str] | None = None,
    slide: Mapping[str, GivenSlide] | None = None,
    camera: Mapping[str, str] | None = None,
    keep_inputs: Sequence[str] = (),
    stream_inputs: Sequence[str] = (),
    outside_inputs: Sequence[str] = (),
    io: str | None = None,
    input_layouts: Mapping[str, str] | None = None,
    flash_budget: int | None = None,
    arena_budget: int | None = None,
    simplify: bool = True,
    kernels: str | Path | None = None,
    instrument: bool = False,
    dump_tensors: bool = False,
    dump_ir: str | Path | None = None,
    pareto: bool = False,
    place: Mapping[str, str] | None = None,
    steps: bool = False,
    labels: str | Path | Sequence[str] | None = None,
    weights: str = "linked",
    emit: str | Sequence[str] = (),
    package: Sequence[str] = (),
    observer: Observer | None = None,
    planning_observer: PlanningObserver | None = None,
) -> Bundle:
    """Compile a `.tflite`, an `.onnx` or a pipeline's `.toml` to `output` (`build/<name>`).

    Options are those of `glowmcu compile --help`. Raises GlowmcuError with every problem.
    """
    path, found = Path(model), find_board(board)
    data, compiled = read_source(path, preprocess)
    chosen, border = border_of(io, quantization, profile is None and samples is None)
    inputs = inputs_of(input_shapes, define, bind, states, slide, camera)
    options = Options(
        name=default_name(path) if name is None else name, board=found.name, core=found.core,
        goal=choice_of(Goal, optimize, "optimize"), interface=_interface(steps, labels, weights),
        rounding=choice_of(Rounding, rounding, "rounding"), planning_observer=planning_observer,
        inputs=_placed(inputs, keep_inputs, stream_inputs, outside_inputs, border, input_layouts),
        quantization=_request(profile, samples, preprocess, chosen, observer),
        budgets=budgets_of(flash_budget, arena_budget), simplify=simplify,
        kernels=None if kernels is None else _choices(Path(kernels), data, found),
        instrument=Instrument.of(instrument, dump_tensors), wants_curve=pareto,
        dump_ir=None if dump_ir is None else Path(dump_ir), packaging=packaging(emit, package),
        placement=PlacementRequest(found, place or {}),
    )  # fmt: skip
    return _written(compiled, path, options, found, output)


def _placed(
    inputs: InputOptions,
    keep: Sequence[str],
    stream: Sequence[str],
    outside: Sequence[str],
    io: str,
    layouts: Mapping[str, str] | None,
) -> InputOptions:
    """Where they lie and what they look like besides."""
    kept, streamed, away = (tuple(dict.fromkeys(given)) for given in (keep, stream, outside))
    nhwc = channels_last(layouts or {})
    return replace(inputs, kept=kept, streamed=streamed, outside=away, io=io, nhwc=nhwc)


def _interface(
    steps: bool, labels: str | Path | Sequence[str] | None, weights: str
) -> InterfaceOptions:
    return InterfaceOptions(steps, read_labels(labels), choice_of(Weights, weights, "weights"))


def _request(
    profile: ProfileGiven | None,
    samples: SamplesGiven | None,
    preprocess: str | Path | None,
    quantization: Quantization | None,
    observer: Observer | None,
) -> QuantizationRequest | None:
    """None where nothing is to be quantized: then nothing that quantizes is imported."""
    if profile is None and samples is None and (quantization is None or quantization.is_default):
        return None
    from glowmcu.api.quantization import quantization_request

    return quantization_request(profile, samples, preprocess, quantization, observer)


def _choices(file: Path, data: bytes, board: Board) -> KernelChoices:
    from glowmcu.tuning.kernel_file import choices_for

    return choices_for(file, data, board.core)


def _written(
    compiled: _Compile, model: Path, options: Options, board: Board, output: str | Path | None
) -> Bundle:
    folder = Path("build") / options.name if output is None else Path(output)
    check_output(folder, options.name)
    compilation, code = _compile_within(compiled, options, board)
    told = write(compilation, folder)
    bundle = Bundle(
        folder,
        compilation.manifest,
        board,
        code,
        notes=(*told, *_notes(compilation, model)),
        choices=kernel_choices(compilation),
        curve=compilation.curve,
        memory_passes=tuple(
            MemoryPass(item.name, item.before_bytes, item.after_bytes, item.note)
            for item in compilation.plan.reports
        ),
    )
    _keep_facts(bundle, compilation)
    return bundle


def _keep_facts(bundle: Bundle, compilation: Compilation) -> None:
    """What a report shows later: those of the bundle that was here before are forgotten."""
    steps = {run.node: index for index, run in enumerate(compilation.plan.program.runs)}
    graphs = {
        "model": graph_json(compilation.imported),
        "compiled": graph_json(compilation.graph, steps),
    }
    told = compile_json(bundle)
    del told["bundle"]  # a bundle is the same wherever it lies
    keep_facts(bundle.path, compile=told, code=bundle.code_by_region, graphs=graphs)


def _notes(compilation: Compilation, model: Path) -> tuple[str, ...]:
    """What a user should know who expected int8."""
    notes = list(compilation.notes)
    if compilation.float_graph is not None:
        kept = compilation.float_nodes.items()
        notes += [f"stays float: {name} ({reason})" for name, reason in kept]
    elif compilation.is_float and compilation.manifest.pipeline is not None:
        notes.append(
            "stages of this pipeline compute in float; for int8 give the [[stage]] of each "
            'samples = "FOLDER" or profile = "FILE"'
        )
    elif compilation.is_float and not _has_int8_layers(compilation):
        notes.append(
            f"this model computes in float; for int8: glowmcu profile {model} --samples DATA "
            f"-o {model.stem}.profile.json, then compile with --profile {model.stem}.profile.json"
        )
    return tuple(notes)


def _has_int8_layers(compilation: Compilation) -> bool:
    """Whether the model is quantized already, but for parts that its file keeps float."""
    return any(
        node.macs and node.output.type.element is ElementType.I8
        for node in compilation.imported.nodes
    )


_Choice = TypeVar("_Choice", Goal, Rounding, Weights)


def choice_of(kind: type[_Choice], word: str, option: str) -> _Choice:
    """The member of an enum that a word names. Raises GM710."""
    try:
        return kind(word)
    except ValueError as cause:
        names = ", ".join(item.value for item in kind)
        raise error("GM710", f"{option} must be one of {names}, got {word!r}") from cause


def budgets_of(flash_bytes: int | None, arena_bytes: int | None) -> Budgets:
    """Raises GM710 for what is no size."""
    for option, budget in (("flash_budget", flash_bytes), ("arena_budget", arena_bytes)):
        if budget is not None and budget <= 0:
            raise error("GM710", f"{option} must be a number of bytes above 0, got {budget}")
    return Budgets(flash_bytes, arena_bytes)


#: Code is estimated first; where the compiler's is larger, kernels get this often less room.
_MOST_TRIES = 5
_Compile = Callable[[Options], Compilation]
#: Bytes of code by region, None without a cross compiler.
_Code = Mapping[str, int] | None


def _compile_within(
    compiled: _Compile, options: Options, board: Board
) -> tuple[Compilation, _Code]:
    """The compilation whose code, as compiled, is within the flash budget, and that code's sizes.

    Raises GM401 to GM403 for what does not fit.
    """
    compilation = compiled(options)
    try:
        code = _check_fit(compilation, board)
    except GlowmcuError as cause:
        compilation = _smaller(compiled, options, board, compilation, cause)
        code = _check_fit(compilation, board)
    budget = options.budgets.flash_bytes
    if budget is None or code is None:
        return compilation, code
    room = budget
    for _ in range(_MOST_TRIES):
        flash_bytes = compilation.manifest.weights_bytes + sum(code.values())
        if flash_bytes <= budget:
            return compilation, code
        room -= flash_bytes - budget
        tighter = replace(options.budgets, flash_bytes=max(room, 1))
        try:
            compilation = compiled(replace(options, budgets=tighter))
        except GlowmcuError as cause:
            raise _over_budget(cause, flash_bytes, budget) from cause
        code = _check_fit(compilation, board) or {}
    raise _over_budget(None, flash_bytes, budget)


def _smaller(
    compiled: _Compile,
    options: Options,
    board: Board,
    large: Compilation,
    cause: GlowmcuError,
) -> Compilation:
    """The fastest plan that the board has RAM for, with a note. Raises `cause` if there is none."""
    if board.placement is None or options.budgets.arena_bytes is not None:
        raise cause
    if _constants_alone_exceed(large, board):
        raise cause  # and it says by how much: no arena is small enough to mend that
    room = arena_room(board, arena_region(board, large.places))
    if room <= 0 or large.manifest.arena_bytes <= room:
        raise cause
    budgets = replace(options.budgets, arena_bytes=room)
    try:
        small = compiled(replace(options, budgets=budgets))
    except GlowmcuError as smallest:
        raise _too_small(large, board, smallest) from cause
    slower = 100 * (small.estimated_cycles / max(large.estimated_cycles, 1.0) - 1)
    note = (
        f"{options.goal.value} needs an arena of {large.manifest.arena_bytes} B, more than "
        f"{board.name} has room for: this plan takes {small.manifest.arena_bytes} B and about "
        f"{slower:.0f} % more cycles"
    )
    return replace(small, notes=(*small.notes, note))


def _constants_alone_exceed(compilation: Compilation, board: Board) -> bool:
    """Whether the region that constants go to is smaller than they are, code apart."""
    manifest, usual = compilation.manifest, board.placement
    assert usual is not None
    elsewhere = any(entry.what == "weights" and entry.section for entry in manifest.placement)
    region = board.region(usual.constants)
    return not elsewhere and manifest.weights_bytes > region.size_bytes


def _too_small(large: Compilation, board: Board, smallest: GlowmcuError) -> GlowmcuError:
    """Nothing that was found fits: says what the least is, since trying is no advice any more."""
    manifest = large.manifest
    result = _fit(large, board, None)
    tried = tuple(problem.message for problem in smallest.problems)
    return does_not_fit(result, ram_peak=peak_description(manifest), ram_options=tried)


def _over_budget(cause: GlowmcuError | None, flash_bytes: int, budget: int) -> GlowmcuError:
    if cause is not None and cause.problems[0].code != "GM402":
        return cause
    return error(
        "GM402",
        f"the flash budget is {budget} B, the smallest bundle that was found takes {flash_bytes} B",
        hint=f"give at least --flash-budget {flash_bytes}; constants shrink with the model only",
        exit_code=ExitCode.DOES_NOT_FIT,
    )


def _check_fit(compilation: Compilation, board: Board) -> _Code:
    """Bytes of code, None without a cross compiler.

    Raises GM401 when a region of the board is too small for what goes there.
    """
    manifest = compilation.manifest
    with tempfile.TemporaryDirectory(prefix="glowmcu-") as work:
        folder = Path(work) / "bundle"
        write(replace(compilation, files=_code_files(compilation)), folder)
        code = code_by_region(folder, manifest, board)
    result = _fit(compilation, board, code)
    if not result.fits:
        raise does_not_fit(result, ram_peak=peak_description(manifest))
    return code


def _code_files(compilation: Compilation) -> dict[str, str]:
    """What the compiler must see to tell how large the code is."""
    manifest = compilation.manifest
    return {name: compilation.files[name] for name in (f"{manifest.name}.c", *manifest.headers)}


def _fit(compilation: Compilation, board: Board, code: _Code) -> Fit:
    """Every region against what goes there; what is copied to RAM has its image in flash, too."""
    usual, manifest, places = board.placement, compilation.manifest, compilation.places
    if usual is None:
        return Fit(board, ())
    if code is None:
        code = {places.code: compilation.estimated_code_bytes}
    arena = arena_region(board, places)
    shares = arena.size_bytes - arena_room(board, arena)
    placed = [(region, size) for region, size in code.items() if region]
    placed += [
        (entry.region, entry.bytes or 0)
        for entry in manifest.placement
        if entry.what == "weights" and entry.section
    ]
    flash_bytes = manifest.weights_bytes + sum(code.values())
    flash_bytes -= sum(size for region, size in placed if board.region(region).kind == "flash")
    ram = ("RAM", arena.name, manifest.arena_bytes + shares)
    others = [(PLACED, region, size) for region, size in placed]
    return fit_regions(board, [("flash", usual.constants, flash_bytes), ram, *others])


def peak_description(manifest: Manifest) -> str:
    """Where the arena is fullest: the step and the buffers alive in it."""
    steps = range(-1, len(manifest.layers) + 1)
    peak = max(steps, key=lambda step: (sum(b.bytes for b in _alive(manifest, step)), -step))
    names = ", ".join(f"{b.name[:40]} {b.bytes} B" for b in _alive(manifest, peak))
    if 0 <= peak < len(manifest.layers):
        return f"step {peak} {manifest.layers[peak].op} with {names}"
    return f"{'before the first' if peak < 0 else 'after the last'} step with {names}"


def _alive(manifest: Manifest, step: int) -> list[BufferEntry]:
    return [b for b in manifest.buffers if b.first_step <= step <= b.last_step]
