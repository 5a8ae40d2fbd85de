"""`glowmcu.compile`: a model file becomes a bundle on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from glowmcu.api.border import border_of, refuse_stored_weights
from glowmcu.api.fitting import Compile, compile_within, peak_description
from glowmcu.api.float_notes import float_notes
from glowmcu.api.given_model import ExampleInputs, GivenModel, ModelGiven
from glowmcu.api.kernel_choices import kernel_choices
from glowmcu.api.pipeline_files import read_source
from glowmcu.api.stored_weights import stored_weights_note
from glowmcu.argument_types import arguments_checked
from glowmcu.asked_in_python import in_python
from glowmcu.board import Board, PlacementRequest, find_board
from glowmcu.bundle import Bundle, MemoryPass
from glowmcu.compilation import Compilation, Options
from glowmcu.cores import core
from glowmcu.custom_c import CustomGiven
from glowmcu.errors import error
from glowmcu.facts.compilation import compile_json
from glowmcu.facts.document import keep_facts
from glowmcu.facts.graphs import graph_json
from glowmcu.goals import Budgets, Goal
from glowmcu.input_options import Defined, GivenShape, InputOptions, channels_last, inputs_of
from glowmcu.instrument import Instrument
from glowmcu.interface_options import InterfaceOptions, Weights
from glowmcu.ir.operation import Array, Rounding
from glowmcu.kernels.kernel import Target
from glowmcu.labels import read_labels
from glowmcu.ops.quantization import Quantize
from glowmcu.option_words import (
    IoWord,
    Layout,
    LossWord,
    Optimize,
    PackageName,
    RoundingWord,
    TrainNumbersWord,
    WeightsWord,
)
from glowmcu.pipeline import check_output, compile_model, default_name, packaging
from glowmcu.pipeline import emit as write
from glowmcu.planning_progress import PlanningObserver
from glowmcu.quality import Demands, unmeasured
from glowmcu.quality_text import NOT_MEASURED, ROUNDED_ALONE, warning_notes
from glowmcu.slides import GivenSlide
from glowmcu.training import Numbers, training_of

if TYPE_CHECKING:
    from glowmcu.api.quantization import ProfileGiven, SamplesGiven
    from glowmcu.kernels.selection.choices import KernelChoices
    from glowmcu.multirate.compilation import PipelineFiles
    from glowmcu.quant.choices import Quantization
    from glowmcu.quant.profiling import ProfilingObserver
    from glowmcu.quant.request import QuantizationRequest


@arguments_checked
def compile(
    model: ModelGiven, board: str = "generic", output: str | Path | None = None,
    name: str | None = None, optimize: Optimize = "balanced", rounding: RoundingWord = "double",
    profile: ProfileGiven | None = None, samples: SamplesGiven | None = None,
    preprocess: str | Path | None = None, quantization: Quantization | None = None,
    input_shapes: Mapping[str, GivenShape] | None = None,
    define: Mapping[str, Defined] | None = None, bind: Mapping[str, Array] | None = None,
    states: Mapping[str, str] | None = None, slide: Mapping[str, GivenSlide] | None = None,
    camera: Mapping[str, str] | None = None,
    custom: Mapping[str, CustomGiven] | None = None, keep_inputs: Sequence[str] = (),
    stream_inputs: Sequence[str] = (), outside_inputs: Sequence[str] = (),
    io: IoWord | None = None, input_layouts: Mapping[str, Layout] | None = None,
    flash_budget: int | None = None, arena_budget: int | None = None, simplify: bool = True,
    kernels: str | Path | None = None, instrument: bool = False, dump_tensors: bool = False,
    dump_ir: str | Path | None = None, pareto: bool = False, place: Mapping[str, str] | None = None,
    steps: bool = False, labels: str | Path | Sequence[str] | None = None,
    weights: WeightsWord = "linked", cores: int = 1,
    accelerator: str | Path | None = None, prefetch: bool = False,
    emit: PackageName | Sequence[PackageName] = (), package: Sequence[str] = (),
    observer: ProfilingObserver | None = None, planning_observer: PlanningObserver | None = None,
    example_inputs: ExampleInputs | None = None, require_sqnr: float | None = None,
    require_agreement: float | None = None, train: str | None = None,
    loss: LossWord | None = None, learning_rate: float | None = None,
    momentum: float | None = None, train_numbers: TrainNumbersWord | None = None,
) -> Bundle:  # fmt: skip
    """Compile a model to C in the folder `output` (`build/<name>` if it is None).

    `model` is a path (.tflite, .onnx, a pipeline's .toml), the bytes of such a file, an
    `onnx.ModelProto`, a `torch.nn.Module` with `example_inputs` (arrays or tensors of the shapes
    that the C is to have), or a Keras model. `name` is the prefix of the C functions, by default
    from the model file's name. `board` is a name of `glowmcu boards` or a path to a board's TOML.

    Numbers: `rounding` says whose results the C equals (double: TensorFlow Lite Micro; single:
    XNNPACK; litert: LiteRT's reference kernels). A float model becomes int8 with a `profile`, or
    with `samples`: arrays of shape N x the input's shape, by input name if there are several, or
    files, which the file `preprocess` turns from images into numbers; `quantization` chooses
    what the samples would. `observer` is called with a `Progress` while samples run. With
    `require_sqnr` (dB) and `require_agreement` (percent of decisions) a quantization that loses
    more is refused: GM323.

    Inputs, each by name: `input_shapes` fixes shapes; `define` gives a symbolic size its value, or
    as (smallest, largest[, step]) a range of which each run is given one; `bind` makes an input a
    constant array; `states` maps inputs to the outputs that they become in the next run (None:
    such pairs are looked for); `slide` says how many rows of a window are new in each run;
    `camera` takes a frame as "FORMAT:WxH"; `input_layouts` is nhwc for an NCHW tensor with its
    channels last in C; `keep_inputs` hold after a run what was written before it; rows of one of
    `stream_inputs` are pushed as they come; `outside_inputs` stay in the application's memory.
    `io` is the type of inputs and outputs (default: int8 if quantized here, else the file's).
    `custom` says by files, in C or with a definition, what custom operators mean.

    Cost: `optimize` says what is minimised first; `arena_budget` and `flash_budget` are upper
    bounds in bytes; `place` puts arena, weights or code (of a layer, too: "weights:LAYER") into
    regions of the board; `kernels` is a file of `tune_kernels`; `simplify=False` keeps what no
    input can change; `pareto` fills the result's `curve`; `planning_observer` is called with a
    `PlanningProgress`.

    `accelerator` is the name of one ("ethos-u55-128") or a file that describes one: it computes
    the regions of the model that it accepts.

    With `prefetch` a DMA copies weights out of slow flash while the layer before runs.

    Code: `cores=2` adds NAME_help for a second core, `steps` NAME_run_steps; `weights="pointer"`
    lets NAME_set_weights exchange them; `instrument` calls an observer around every layer,
    `dump_tensors` shows it what the layer made; `labels` (a file, names, or "none") names the
    classes; `emit` adds the files of build systems, which `package` ("KEY=VALUE") describes.
    `dump_ir` is a folder for the IR after every pass.

    Learning: `train` says which layers learn on the device ("last=1", "dense_1,dense_2", with
    "bias" their biases alone, "prototypes=5" means of five classes), `loss` by which measure;
    `learning_rate` and `momentum` are what NAME_reset begins with; `train_numbers` are float32
    where the core has an FPU, else fixed point where the layers can be.

    Raises GlowmcuError with every problem that was found: GM1xx to GM3xx of the model and its
    quantization, GM4xx of memory, GM5xx of names, files and kernels, GM7xx of arguments.

    >>> bundle = glowmcu.compile("digits_int8.tflite", board="nrf52", output="build/digits")
    >>> bundle.report.arena_bytes <= 1216
    True
    """
    found = find_board(board)
    given, pipeline = read_source(model, preprocess, example_inputs)
    chosen, border = border_of(io, quantization, profile is None and samples is None)
    inputs = inputs_of(input_shapes, define, bind, states, slide, camera, custom)
    usual = Numbers.FLOAT32 if core(found.core).has_fpu else Numbers.AUTOMATIC
    training = training_of(train, loss, learning_rate, momentum, train_numbers, usual)
    inputs = replace(inputs, training=training)
    if pipeline is None:
        refuse_stored_weights(given, quantization, inputs)
    elif chosen is not None and not chosen.is_default:
        from glowmcu.multirate.compilation import refuse_choices

        refuse_choices(pipeline.description)
    options = Options(
        name=default_name(Path(given.name)) if name is None else name, board=found.name,
        core=found.core,
        goal=choice_of(Goal, optimize, "optimize"),
        interface=_interface(steps, labels, weights, cores, accelerator, prefetch),
        rounding=choice_of(Rounding, rounding, "rounding"), planning_observer=planning_observer,
        inputs=_placed(inputs, keep_inputs, stream_inputs, outside_inputs, border, input_layouts),
        quantization=_request(profile, samples, preprocess, chosen, observer),
        budgets=budgets_of(flash_budget, arena_budget), simplify=simplify,
        kernels=None if kernels is None else _choices(Path(kernels), given.data, found),
        instrument=Instrument.of(instrument, dump_tensors), wants_curve=pareto,
        dump_ir=None if dump_ir is None else Path(dump_ir), packaging=packaging(emit, package),
        placement=PlacementRequest(found, place or {}),
    )  # fmt: skip
    demands = Demands.of(require_sqnr, require_agreement)
    compiled, options = _judged(given, pipeline, options, demands)
    return _written(compiled, given, options, found, output)


def _judged(
    given: GivenModel, pipeline: PipelineFiles | None, options: Options, demands: Demands
) -> tuple[Compile, Options]:
    """The function that compiles with options, and the options with the measured quality of the
    quantization. Raises GM323, GM324.
    """
    target = Target(core(options.core), options.goal)
    if pipeline is not None:
        if pipeline.quantization or demands.are_made:
            from glowmcu.api.judged import judged_pipeline

            pipeline = judged_pipeline(pipeline, demands, target, options.rounding)
        from glowmcu.multirate.compilation import compile_pipeline

        return partial(compile_pipeline, pipeline), options
    if options.quantization is not None:
        from glowmcu.api.judged import judged

        wanted = (
            options.quantization, demands, target, options.rounding, options.inputs,
            options.budgets.flash_bytes,
        )  # fmt: skip
        options = replace(options, quantization=judged(given.data, given.name, *wanted))
    elif demands.are_made:
        raise unmeasured(given.name)
    return partial(compile_model, given.data, given.name), options


def _placed(
    inputs: InputOptions,
    keep: Sequence[str],
    stream: Sequence[str],
    outside: Sequence[str],
    io: str,
    layouts: Mapping[str, str] | None,
) -> InputOptions:
    """`inputs` with where each lies, its type at the border and its layout. Raises GM121."""
    kept, streamed, away = (tuple(dict.fromkeys(given)) for given in (keep, stream, outside))
    nhwc = channels_last(layouts or {})
    return replace(inputs, kept=kept, streamed=streamed, external=away, io=io, nhwc=nhwc)


def _interface(
    steps: bool, labels: str | Path | Sequence[str] | None, weights: str, cores: int,
    accelerator: str | Path | None, prefetch: bool,
) -> InterfaceOptions:  # fmt: skip
    exchanged = choice_of(Weights, weights, "weights")
    if accelerator is not None and not str(accelerator):
        hint = "leave it out, or name one: ethos-u55-128, or a file that ends in .toml"
        raise error("GM772", "no accelerator is called ''", hint=hint)
    device = str(accelerator or "")
    return InterfaceOptions(steps, read_labels(labels), exchanged, cores, device, prefetch)


def _request(
    profile: ProfileGiven | None,
    samples: SamplesGiven | None,
    preprocess: str | Path | None,
    quantization: Quantization | None,
    observer: ProfilingObserver | None,
) -> QuantizationRequest | None:
    """None if nothing is to be quantized: then no module of `quant` is imported."""
    if profile is None and samples is None and (quantization is None or quantization.is_default):
        return None
    from glowmcu.api.quantization import quantization_request

    return quantization_request(profile, samples, preprocess, quantization, observer)


def _choices(file: Path, data: bytes, board: Board) -> KernelChoices:
    from glowmcu.tuning.kernel_file import choices_for

    return choices_for(file, data, board.core)


def _written(
    compiled: Compile, given: GivenModel, options: Options, board: Board, output: str | Path | None
) -> Bundle:
    folder = Path("build") / options.name if output is None else Path(output)
    check_output(folder, options.name)
    compilation, code = compile_within(compiled, options, board)
    told = write(compilation, folder)
    bundle = Bundle(
        folder,
        compilation.manifest,
        board,
        code,
        notes=(*told, *_notes(compilation, given, board.core, options.goal)),
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
    """Keep in the bundle's folder what `report` and `diff` show; facts of an earlier bundle go."""
    steps = {run.node: index for index, run in enumerate(compilation.plan.program.runs)}
    graphs = {
        "model": graph_json(compilation.imported),
        "compiled": graph_json(compilation.graph, steps),
    }
    told = compile_json(bundle)
    del told["bundle"]  # a bundle is the same wherever it lies
    keep_facts(bundle.path, compile=told, code=bundle.code_by_region, graphs=graphs)


def _notes(
    compilation: Compilation, given: GivenModel, core_name: str, goal: Goal
) -> tuple[str, ...]:
    """Sentences for the user: quality that is low or unmeasured, and what computes in float."""
    quality = compilation.manifest.quality
    notes = [note for entry in quality for note in warning_notes(entry)]
    if "profile" in compilation.manifest.options and not quality:
        notes.append(NOT_MEASURED)
    if (
        "four_bit_weights" in compilation.manifest.options
        and "adaround" not in compilation.manifest.options
    ):
        notes.append(ROUNDED_ALONE)
    if "four_bit_weights" in compilation.manifest.options:
        stored = stored_weights_note(compilation.graph, compilation.selections, core_name, goal)
        notes += [stored] if stored else []
    notes += [*compilation.notes, *_streaming_note(compilation), *_rounding_note(compilation)]
    if compilation.float_graph is not None:
        notes += compilation.quantization_notes
    elif compilation.is_float and compilation.manifest.pipeline is not None:
        notes.append(
            "stages of this pipeline compute in float; for int8 give the [[stage]] of each "
            'samples = "FOLDER" or profile = "FILE"'
        )
    elif compilation.is_float:
        notes += float_notes(compilation, given)
    return tuple(notes if given.path is not None else map(in_python, notes))


def _streaming_note(compilation: Compilation) -> list[str]:
    """Where the arena is fullest, if that is not while rows of a streamed input come."""
    pushed = [item for item in compilation.plan.reports if item.name == "push_input"]
    if not any(item.after_bytes >= item.before_bytes for item in pushed):
        return []
    peak = peak_description(compilation.manifest)
    return [
        "--stream-input saves no memory here, since the whole input would be gone, too, when the "
        f"arena is fullest: {peak}; leave it out"
    ]


def _rounding_note(compilation: Compilation) -> list[str]:
    """Which rounding is nearer to what made pairs of ONNX, where another is asked for."""
    graph = compilation.imported
    in_pairs = any(isinstance(node.op, Quantize) and node.op.half_even for node in graph.nodes)
    has_sums = any(node.macs and not node.output.type.element.is_float for node in graph.nodes)
    if graph.rounding is not Rounding.DOUBLE or not (in_pairs and has_sums):
        return []
    return [
        "sums are rounded twice, as in TensorFlow Lite Micro; what writes such pairs rounds once, "
        "and with --rounding single fewer results are a step off"
    ]


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
