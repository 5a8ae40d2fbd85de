"""`glowmcu.profile` and `glowmcu.export`, and what `glowmcu.compile` is told about quantization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from glowmcu.api.border import border_of, refuse_stored_weights
from glowmcu.api.compilation import choice_of
from glowmcu.api.given_model import ExampleInputs, ModelGiven, read_given
from glowmcu.api.judged import judged
from glowmcu.argument_types import arguments_checked
from glowmcu.cores import core
from glowmcu.custom_c import CustomGiven
from glowmcu.errors import error
from glowmcu.file_writing import write_file
from glowmcu.frontend.export_graph import export_graph
from glowmcu.frontend.notes import notes_on_file
from glowmcu.frontend.tflite.export_notes import notes_on_export
from glowmcu.input_options import inputs_of
from glowmcu.ir.operation import Array, Rounding
from glowmcu.ir.types import Shape
from glowmcu.kernels.kernel import Target
from glowmcu.lazy_dataclass import dataclass
from glowmcu.option_words import ExportWord, RoundingWord, SearchWord
from glowmcu.pipeline import graph_with_border
from glowmcu.quality import Demands, QualityEntry, unmeasured
from glowmcu.quant.choices import Quantization
from glowmcu.quant.images import read_preprocessing
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.profile import Profile, merge
from glowmcu.quant.profile_file import (
    read_profile,
    read_quality,
    write_profile,
)
from glowmcu.quant.profiling import ProfilingObserver
from glowmcu.quant.request import QuantizationRequest
from glowmcu.quant.sample_source import SampleSource
from glowmcu.quant.samples import SampleData
from glowmcu.verify.runtimes.runtimes import runtime_of

_TFLITE_FORMATS = ("tflite", "tflm")
#: Arrays in memory, or files and folders.
SamplesGiven = str | Path | Sequence[str | Path] | SampleData
ProfileGiven = str | Path | Profile


@arguments_checked
def profile(
    model: ModelGiven,
    samples: SamplesGiven,
    output: str | Path | None = None,
    preprocess: str | Path | None = None,
    limit: int | None = None,
    merge_with: Sequence[ProfileGiven] = (),
    input_shapes: Mapping[str, Shape] | None = None,
    define: Mapping[str, int] | None = None,
    bind: Mapping[str, Array] | None = None,
    states: Mapping[str, str] | None = None,
    custom: Mapping[str, CustomGiven] | None = None,
    observer: ProfilingObserver | None = None,
    example_inputs: ExampleInputs | None = None,
    search: SearchWord = "automatic",
) -> Profile:
    """Measure the range and histogram of every tensor of a float model on `samples`; the profile is
    written to `output` if given.

    `samples` are files or folders (.npy, .npz, raw, .csv, .wav, images), an array, arrays by input
    name, or any iterable of samples or batches, with labels behind them or not: a data set or a
    loader of PyTorch, TensorFlow or Hugging Face; `preprocess` is a file that says what numbers
    pixels become; at most `limit` samples are taken, evenly spread. Unless `search` is plain, they
    choose the profile's `options`, too. Profiles of `merge_with` are added. `observer` is called
    with a `Progress`. `input_shapes`, `define`, `bind`, `states` and `example_inputs` are as for
    `compile`. Raises GM1xx for the model, GM304 to GM311 for samples that do not fit it, GM301 and
    GM302 for profiles to merge that are of another model.

    >>> samples = np.load("calibration.npz")["inputs"]      # N x the input's shape, real numbers
    >>> made = glowmcu.profile("digits.onnx", samples, limit=100, output="digits.profile.json")
    >>> made.sample_count
    100
    """
    given = read_given(model, example_inputs)
    given.check_output(output)
    inputs = inputs_of(input_shapes, define, bind, states, custom=custom)
    source = _source(samples, preprocess, limit)
    choices = Quantization(search=search)
    space = None if choices.is_plain else choices.space
    request = QuantizationRequest(samples=source, observer=observer, search=space)
    target = Target(core("generic"))
    found = judged(given.data, given.name, request, Demands(), target, inputs=inputs)
    made = found.profile
    assert made is not None
    for other in merge_with:
        added = other if isinstance(other, Profile) else read_profile(Path(other))
        made = merge(made, added, "" if isinstance(other, Profile) else str(other))
    if found.quality[0].tried:
        made = replace(made, options=found.options)
    if output is not None:
        write_profile(made, Path(output), judged=(found.options, found.quality))
    return made


def notes_on(
    model: ModelGiven,
    input_shapes: Mapping[str, Shape] | None = None,
    define: Mapping[str, int] | None = None,
    bind: Mapping[str, Array] | None = None,
    states: Mapping[str, str] | None = None,
    custom: Mapping[str, CustomGiven] | None = None,
) -> tuple[str, ...]:
    """Sentences about what a model file that is going to be quantized leaves open, and what is
    assumed for it.

    Arguments are as for `compile`. Raises GM101, GM110, GM116 to GM119 as `inspect` does.
    """
    inputs = inputs_of(input_shapes, define, bind, states, custom=custom)
    given = read_given(model)
    return notes_on_file(given.data, given.name, inputs, quantizing=True)


def known_quality(profile: str | Path) -> tuple[QualityEntry, ...]:
    """The quality measured when the profile was made; empty if none was. Raises GM303, GM315 for
    a file that is no profile.
    """
    file = Path(profile)
    return read_quality(file, read_profile(file).options or QuantizationOptions())


@dataclass(frozen=True)
class ExportedModel:
    """A `.tflite` file that was written, of `bytes` bytes; `quality` is what quantization lost,
    empty if nothing was quantized or measured. `runtime` gives the bundle's bytes for an int8 file.
    `notes` say what was not quantized, and what the format cannot hold.
    """

    path: Path
    bytes: int
    quality: tuple[QualityEntry, ...] = ()
    runtime: str = ""
    notes: tuple[str, ...] = ()


@arguments_checked
def export(
    model: ModelGiven,
    output: str | Path,
    profile: ProfileGiven | None = None,
    samples: SamplesGiven | None = None,
    preprocess: str | Path | None = None,
    quantization: Quantization | None = None,
    input_shapes: Mapping[str, Shape] | None = None,
    define: Mapping[str, int] | None = None,
    bind: Mapping[str, Array] | None = None,
    states: Mapping[str, str] | None = None,
    custom: Mapping[str, CustomGiven] | None = None,
    observer: ProfilingObserver | None = None,
    example_inputs: ExampleInputs | None = None,
    require_sqnr: float | None = None,
    require_agreement: float | None = None,
    rounding: RoundingWord = "double",
    format: ExportWord = "tflite",
) -> ExportedModel:
    """Write a model as `.tflite`: in int8 by a profile or samples, else as it is. `format` is
    tflite; tflm with weights compressed for TensorFlow Lite Micro alone; tosa (int8) or stablehlo
    (float) for MLIR's text.

    The runtime that `rounding` names (double: TensorFlow Lite Micro, single: LiteRT as it comes,
    litert: LiteRT's reference kernels) gives the same bytes for it as the bundle that `compile`
    makes with the same arguments; `verify_against` checks it. Arguments are as for `compile`.
    Raises GM194 (GM155 for another format) with every node that the format has no operator for,
    GM158 for a format that the file's name contradicts, GM323 if quantization loses more
    than `require_sqnr` (dB) or `require_agreement` (percent) allow, GM1xx for the model and GM3xx
    for samples and profiles.

    >>> glowmcu.export("digits.onnx", "small.tflite", samples="calibration.npz").path.name
    'small.tflite'
    """
    given, target = read_given(model, example_inputs), Path(output)
    given.check_output(target)
    _expect_format(format, rounding, target)
    inputs = inputs_of(input_shapes, define, bind, states, custom=custom)
    refuse_stored_weights(given, quantization, inputs)
    chosen, border = border_of(None, quantization, profile is None and samples is None)
    request = quantization_request(profile, samples, preprocess, chosen, observer)
    demands = Demands.of(require_sqnr, require_agreement)
    mode = choice_of(Rounding, rounding, "rounding")
    if request is not None:
        where = Target(core("generic"))
        request = judged(given.data, given.name, request, demands, where, mode, inputs)
    elif demands.are_made:
        raise unmeasured(given.name)
    bordered = replace(inputs, io=border)
    graph, kept = graph_with_border(given.data, given.name, request, mode, bordered)
    data = export_graph(graph, format)
    _write_model(target, data)
    quality = () if request is None else request.quality
    is_tflite = format in _TFLITE_FORMATS
    runtime = runtime_of(mode).title if request and is_tflite else ""
    notes = (*kept, *(notes_on_export(graph) if is_tflite else ()))
    return ExportedModel(target, len(data), quality, runtime, notes)


def _write_model(target: Path, data: bytes) -> None:
    try:
        write_file(target, data)
    except OSError as cause:
        raise error(
            "GM195", f"cannot write the model: {cause.strerror}", str(target), "choose another file"
        ) from cause


def _expect_format(given: str, rounding: str, target: Path) -> None:
    """Raises GM710 for a word that is none or TensorFlow Lite Micro's file with another runtime's
    rounding, GM158 for a file's name that says another format.
    """
    if given not in get_args(ExportWord):
        known = ", ".join(get_args(ExportWord))
        raise error("GM710", f"format must be one of {known}, got {given!r}")
    if given == "tflm" and rounding != "double":
        raise error(
            "GM710", f"format tflm is TensorFlow Lite Micro's, and rounding {rounding} LiteRT's",
            hint="leave --rounding out, or choose --format tflite",
        )  # fmt: skip
    suffix = ".tflite" if given in _TFLITE_FORMATS else ".mlir"
    if (target.suffix.lower() == ".mlir") is (suffix == ".tflite"):
        raise error(
            "GM158", f"--format {given} is not what a {target.suffix or 'file without suffix'} is",
            str(target), f"call the file *{suffix}, or say what it shall be: --format tosa for "
            "int8, --format stablehlo for float",
        )  # fmt: skip


def quantization_request(
    profile: ProfileGiven | None,
    samples: SamplesGiven | None,
    preprocess: str | Path | None,
    quantization: Quantization | None,
    observer: ProfilingObserver | None = None,
) -> QuantizationRequest | None:
    """The quantization that the arguments ask for; None if the model is to stay as it is.

    Raises GM321 for choices without a profile or samples, GM322 for words that are none, GM351 for
    `mixed` without samples.
    """
    choices = quantization or Quantization()
    if profile is None and samples is None:
        choices.over(QuantizationOptions())
        if not choices.is_default:
            raise error(
                "GM321",
                "quantization was asked for, but neither a profile nor samples were given",
                hint="glowmcu profile MODEL --samples DATA -o FILE, then --profile FILE; or "
                "--samples DATA at once",
            )
        return None
    measured, name = _read(profile)
    found = None if measured is None or choices.is_plain else measured.options
    options = choices.over(found or QuantizationOptions())
    search = None if choices.is_plain or measured is not None else choices.space
    source = None if samples is None else _source(samples, preprocess, None)
    if choices.is_mixed and source is None:
        raise error(
            "GM351",
            "--weights mixed chooses layers by what samples show; none were given",
            name,
            "give the calibration samples: --samples DATA, beside the profile as well",
        )
    if choices.asks_for_four_bits and source is not None and choices.adaround is None:
        # With so few steps it matters most which way each weight is rounded.
        options = replace(options, adaptive_rounding=True)
    known = () if isinstance(profile, Profile | None) else read_quality(Path(profile), options)
    return QuantizationRequest(
        options, measured, name, source, observer, search, quality=known,
        mixed_weights=choices.is_mixed,
    )  # fmt: skip


def _read(profile: ProfileGiven | None) -> tuple[Profile | None, str]:
    """The profile, and what to call it."""
    if profile is None or isinstance(profile, Profile):
        return profile, "samples" if profile is None else "profile"
    path = Path(profile)
    return read_profile(path), path.name


def _source(
    samples: SamplesGiven, preprocess: str | Path | None, limit: int | None
) -> SampleSource:
    preprocessing = None if preprocess is None else read_preprocessing(Path(preprocess))
    return SampleSource(samples, preprocessing, limit)
