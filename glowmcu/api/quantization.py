"""`glowmcu.profile` and `glowmcu.export`, and what `glowmcu.compile` is told about quantization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from glowmcu.api.given_model import ExampleInputs, ModelGiven, read_given
from glowmcu.errors import error
from glowmcu.file_writing import write_file
from glowmcu.input_options import inputs_of
from glowmcu.ir.operation import Array
from glowmcu.ir.types import Shape
from glowmcu.pipeline import export_model, model_notes, profile_model
from glowmcu.quant.choices import Quantization
from glowmcu.quant.images import read_preprocessing
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.profile import Profile, merge
from glowmcu.quant.profile_file import read_profile, read_tuned_profile, write_profile
from glowmcu.quant.profiling import Observer
from glowmcu.quant.request import QuantizationRequest
from glowmcu.quant.sample_source import SampleSource
from glowmcu.quant.samples import SampleData

#: Arrays in memory, or files and folders.
SamplesGiven = str | Path | Sequence[str | Path] | SampleData
ProfileGiven = str | Path | Profile


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
    observer: Observer | None = None,
    example_inputs: ExampleInputs | None = None,
) -> Profile:
    """Measure what every tensor of a float model holds on `samples`; written to `output` if given.

    `samples` are files or folders (.npy, .npz, raw, images), an array, arrays by input name, or any
    iterable of samples; `preprocess` is a file that says what numbers pixels become; at most
    `limit` samples are taken, evenly spread. Profiles of `merge_with` are added. `observer` is told
    how far it has come. Raises GlowmcuError: GM3xx for samples that do not fit the model.

    >>> samples = np.load("calibration.npz")["inputs"]      # N x the input's shape, real numbers
    >>> made = glowmcu.profile("digits.onnx", samples, limit=100, output="digits.profile.json")
    >>> made.sample_count
    100
    """
    given = read_given(model, example_inputs)
    given.check_output(output)
    inputs = inputs_of(input_shapes, define, bind, states)
    source = _source(samples, preprocess, limit)
    made = profile_model(given.data, given.name, source, inputs, observer)
    for other in merge_with:
        added = other if isinstance(other, Profile) else read_profile(Path(other))
        made = merge(made, added, "" if isinstance(other, Profile) else str(other))
    if output is not None:
        write_profile(made, Path(output))
    return made


def notes_on(
    model: ModelGiven,
    input_shapes: Mapping[str, Shape] | None = None,
    define: Mapping[str, int] | None = None,
    bind: Mapping[str, Array] | None = None,
    states: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """What a model file leaves open and is taken for granted, in sentences."""
    inputs = inputs_of(input_shapes, define, bind, states)
    given = read_given(model)
    return model_notes(given.data, given.name, inputs)


@dataclass(frozen=True)
class ExportedModel:
    """A `.tflite` file that was written."""

    path: Path
    bytes: int


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
    observer: Observer | None = None,
    example_inputs: ExampleInputs | None = None,
) -> ExportedModel:
    """Write a model as `.tflite`: in int8 by a profile or samples, else as it is.

    TensorFlow Lite Micro gives the same bytes for it as the bundle that `compile` makes with the
    same arguments. Raises GM194 with every node that TFLite has no operator for.

    >>> glowmcu.export("digits.onnx", "small.tflite", samples="calibration.npz").path.name
    'small.tflite'
    """
    given, target = read_given(model, example_inputs), Path(output)
    given.check_output(target)
    request = quantization_request(profile, samples, preprocess, quantization, observer)
    inputs = inputs_of(input_shapes, define, bind, states)
    data = export_model(given.data, given.name, request, inputs)
    try:
        write_file(target, data)
    except OSError as cause:
        raise error(
            "GM195", f"cannot write the model: {cause.strerror}", str(target), "choose another file"
        ) from cause
    return ExportedModel(target, len(data))


def quantization_request(
    profile: ProfileGiven | None,
    samples: SamplesGiven | None,
    preprocess: str | Path | None,
    quantization: Quantization | None,
    observer: Observer | None = None,
) -> QuantizationRequest | None:
    """What the arguments ask for; None where the model is to stay as it is.

    Raises GM321 for choices without a profile or samples, GM322 for words that are none.
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
    measured, tuned, name = _read(profile)
    options = choices.over(tuned or QuantizationOptions())
    source = None if samples is None else _source(samples, preprocess, None)
    return QuantizationRequest(options, measured, name, source, observer)


def _read(
    profile: ProfileGiven | None,
) -> tuple[Profile | None, QuantizationOptions | None, str]:
    """The profile, the options that it holds, and what to call it."""
    if profile is None or isinstance(profile, Profile):
        return profile, None, "samples" if profile is None else "profile"
    path = Path(profile)
    measured, tuned = read_tuned_profile(path)
    return measured, tuned, path.name


def _source(
    samples: SamplesGiven, preprocess: str | Path | None, limit: int | None
) -> SampleSource:
    preprocessing = None if preprocess is None else read_preprocessing(Path(preprocess))
    return SampleSource(samples, preprocessing, limit)
