"""`glowmcu verify --against float`: which layers cost the accuracy, what would help, at what cost.

Remedies are tried, not guessed: those that `compile` tries, each quantized anew and measured on the
same samples.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import asdict, field, replace
from pathlib import Path

from glowmcu.api.given_model import (
    ExampleInputs,
    GivenModel,
    ModelGiven,
    file_of,
    read_given,
)
from glowmcu.api.quantization import ProfileGiven, SamplesGiven
from glowmcu.api.verification import checked_model, request_of_bundle
from glowmcu.argument_types import arguments_checked
from glowmcu.asked_in_python import in_python
from glowmcu.board import find_board
from glowmcu.bundle import Bundle, load
from glowmcu.cores import core
from glowmcu.custom_c import custom_of_bundle
from glowmcu.errors import error
from glowmcu.facts.document import keep_facts
from glowmcu.goals import Goal
from glowmcu.input_options import InputOptions, options_of_bundle
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import Session
from glowmcu.ir.operation import Array, Rounding
from glowmcu.kernels.kernel import Target
from glowmcu.lazy_dataclass import dataclass
from glowmcu.notebook import Card, Column, Record, Shown
from glowmcu.number_text import count
from glowmcu.pipeline import float_graph, of_application
from glowmcu.quant.comparison import Comparison, Difference, compare_graphs
from glowmcu.quant.images import read_preprocessing
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.profile import Profile
from glowmcu.quant.profile_file import read_profile
from glowmcu.quant.request import QuantizationRequest, quantize_as_requested
from glowmcu.quant.sample_source import SampleSource
from glowmcu.quant.trajectories import in_memory
from glowmcu.tuning.evaluation import Evaluator, Job
from glowmcu.tuning.labelled import LabelsGiven, read_labelled
from glowmcu.tuning.remedies import Remedy, Trials, better, remedy_record, tries
from glowmcu.tuning.trial import Trial, trial_record
from glowmcu.verify.comparison import difference
from glowmcu.verify.verification import golden_vectors

_COLUMNS = (
    Column("share", "share", "percent"), Column("alone dB", "alone_sqnr_db", "number"),
    Column("isolated dB", "isolated_sqnr_db", "number"),
    Column("accumulated dB", "accumulated_sqnr_db", "number"),
    Column("max error", "max_error", "figures", 4),
    Column("saturated", "saturated", "percent", 2), Column("type", "type"),
    Column("operator", "op"), Column("tensor", "tensor"),
)  # fmt: skip


@dataclass(frozen=True)
class FloatComparison(Shown):
    """`comparison` has the error of each layer and of the outputs (SQNR in dB); `plain` is the
    quantization as it stands, `remedies` what is better, the best first; a remedy that another
    beats at no more cycles is left out.

    `float_accuracy` (0 to 1) is None without labels.

    >>> found = glowmcu.compare("digits.onnx", "calibration.npz")
    >>> worst = found.comparison.layers[0]
    >>> worst.operator, worst.share > 0.1, found.float_accuracy is None
    ('softmax', True, True)
    """

    comparison: Comparison
    plain: Trial
    remedies: tuple[Remedy, ...]
    float_accuracy: float | None

    def _card(self) -> Card:
        records: list[Record] = [
            {
                "tensor": layer.tensor,
                "op": layer.operator,
                "type": layer.element,
                "share": layer.share,
                "alone_sqnr_db": layer.alone_db,
                "isolated_sqnr_db": layer.isolated.sqnr_db,
                "accumulated_sqnr_db": layer.accumulated.sqnr_db,
                "max_error": layer.accumulated.max_error,
                "cosine": layer.accumulated.cosine,
                "saturated": layer.accumulated.saturated,
            }
            for layer in self.comparison.layers
        ]
        facts = [
            ("samples", count(self.comparison.sample_count)),
            ("output", f"SQNR {self.comparison.output_db:.1f} dB"),
        ]
        if self.float_accuracy is not None and self.plain.accuracy is not None:
            text = f"{100 * self.plain.accuracy:.2f} %, in float {100 * self.float_accuracy:.2f} %"
            facts.append(("accuracy", text))
        gains = (
            (in_python(r.arguments), r.trial.sqnr_db - self.plain.sqnr_db) for r in self.remedies
        )
        notes = tuple(f"{arguments} gains {gain:.1f} dB" for arguments, gain in gains)
        title = "Whose fault is the output's error"
        return Card(title, tuple(facts), _COLUMNS, records, notes)

    def json(self) -> dict[str, object]:
        """The object of `verify --against float --json`; an SQNR without any error is null."""
        comparison = self.comparison
        return {
            "samples": comparison.sample_count,
            "output_sqnr_db": _finite(comparison.output_db),
            "float_accuracy": self.float_accuracy,
            "outputs": {name: _difference(error) for name, error in comparison.outputs.items()},
            "layers": [
                {
                    "tensor": layer.tensor,
                    "node": layer.node,
                    "op": layer.operator,
                    "type": layer.element,
                    "share": layer.share,
                    "alone_sqnr_db": _finite(layer.alone_db),
                    "accumulated": _difference(layer.accumulated),
                    "isolated": _difference(layer.isolated),
                }
                for layer in comparison.layers
            ],
            "plain": trial_record(self.plain),
            "remedies": [remedy_record(remedy) for remedy in self.remedies],
        }


@arguments_checked
def compare(
    target: Bundle | ModelGiven,
    samples: SamplesGiven,
    *,
    model: ModelGiven | None = None,
    profile: ProfileGiven | None = None,
    labels: LabelsGiven | None = None,
    preprocess: str | Path | None = None,
    board: str | None = None,
    bind: Mapping[str, Array] | None = None,
    example_inputs: ExampleInputs | None = None,
) -> FloatComparison:
    """Compare a float model with its int8 form, layer by layer, on `samples`.

    `target` is a bundle or its folder (then `model` and `profile` are those that it was compiled
    from) or a float model (quantized by `profile` and the options it holds, or by the samples).
    `samples` are as for `profile`: arrays of shape N x the input's shape, or files. `labels` are
    class indices, int[N], or a file of them. `board` is whose cycles remedies are estimated in,
    `preprocess` and `bind` are as for `compile`. Raises GM304 to GM309 for samples, GM608, GM609,
    GM615 for files that are not the bundle's, GM640 for a bundle that was not quantized here,
    GM646 if the bundle computes something else.

    >>> found = glowmcu.compare("digits.onnx", "calibration.npz")
    >>> found.comparison.output_db > 20, len(found.comparison.layers) > 3
    (True, True)
    """
    pixels = None if preprocess is None else read_preprocessing(Path(preprocess))
    source = SampleSource(samples, pixels)
    folder = None if isinstance(target, Bundle) else file_of(target)
    if isinstance(target, Bundle) or (folder is not None and folder.is_dir()):
        bundle = target if isinstance(target, Bundle) else load(str(folder), board)
        subject = _of_bundle(bundle, model, example_inputs, profile, source, bind or {})
    else:
        subject = _of_model(read_given(target, example_inputs), profile, board, bind or {})
    found = _compared(subject, source, labels)
    if subject.bundle is not None:
        keep_facts(subject.bundle.path, comparison=found.json())
    return found


@dataclass(frozen=True, eq=False)
class _Subject:
    """The model to compare, before its samples are read; its numbers must be those of `bundle`,
    whose inputs and outputs are as `inputs` say.
    """

    graph: Graph
    request: QuantizationRequest
    sha256: str
    target: Target
    bundle: Bundle | None = None
    inputs: InputOptions = field(default_factory=InputOptions)

    @property
    def keeps_border(self) -> bool:
        """Whether the type of inputs and outputs is asked for, or a camera's."""
        return bool(self.inputs.io or self.inputs.cameras)


def _of_bundle(
    bundle: Bundle,
    model: ModelGiven | None,
    example_inputs: ExampleInputs | None,
    profile: ProfileGiven | None,
    source: SampleSource,
    bind: Mapping[str, Array],
) -> _Subject:
    where, said = str(bundle.path), bundle.manifest.options
    if "profile" not in said:
        raise error(
            "GM640",
            "the bundle was not quantized by GlowMCU: there is no float model to compare it with",
            where,
            "compile the float model with --profile; or verify the float model itself: "
            "glowmcu verify MODEL --against float --samples DATA",
        )
    if model is None or profile is None:
        raise error(
            "GM647",
            "a bundle holds neither its float model nor its profile",
            where,
            "pass both: --model FILE --profile FILE",
        )
    given = checked_model(bundle, read_given(model, example_inputs), bind)
    request = request_of_bundle(said, profile, where, source)
    assert request is not None
    learnt = () if bundle.manifest.training is None else bundle.manifest.training.tensors
    shapes = {e.name: e.shape for e in bundle.manifest.inputs if e.name not in learnt}
    custom = custom_of_bundle(bundle.path, said.get("custom", ""))
    inputs = options_of_bundle(said, shapes, bind, custom)
    graph = float_graph(given.data, given.name, Rounding(said["rounding"]), inputs)
    target = Target(core(bundle.board.core), Goal(said["optimize"]))
    return _Subject(graph, request, bundle.manifest.model_sha256, target, bundle, inputs)


def _of_model(
    given: GivenModel, profile: ProfileGiven | None, board: str | None, bind: Mapping[str, Array]
) -> _Subject:
    graph = float_graph(given.data, given.name, inputs=InputOptions(bind=bind))
    if profile is not None and not isinstance(profile, Profile):
        profile = read_profile(Path(profile))
    options = QuantizationOptions() if profile is None else profile.options
    request = QuantizationRequest(options or QuantizationOptions(), profile)
    target = Target(core(find_board(board or "generic").core))
    return _Subject(graph, request, hashlib.sha256(given.data).hexdigest(), target)


def _compared(
    subject: _Subject, source: SampleSource, labels: LabelsGiven | None
) -> FloatComparison:
    graph = subject.graph
    arrays, classes, lengths = read_labelled(graph, source, labels)
    samples = in_memory(graph, arrays, lengths)
    request = replace(subject.request, samples=SampleSource(samples))
    made = quantize_as_requested(graph, request, subject.sha256)
    if subject.bundle is not None:
        where = str(subject.bundle.path)
        seen, _ = of_application(made.quantized.graph, subject.inputs, where)
        _refuse_another_graph(subject.bundle, seen)
    comparison = compare_graphs(made.quantized.reference, made.quantized.graph, samples)
    job = Job(graph, made.profile, arrays, classes, subject.target, lengths=lengths)
    evaluator = Evaluator(job)
    measured = Trials(graph, evaluator)
    plain = measured.trial(request.options)
    loses_much = not measured.is_enough(request.options)
    asked = tries(measured, request.options, not subject.keeps_border, loses_much)
    remedies = better(measured, plain, asked)
    return FloatComparison(comparison, plain, remedies, evaluator.float_accuracy)


def _refuse_another_graph(bundle: Bundle, graph: Graph) -> None:
    """GM646 unless the graph made anew gives the bundle's golden vectors."""
    session = Session(graph)
    for vector in golden_vectors(bundle.path, bundle.manifest):
        outputs = session.run(vector.inputs)
        rows = zip(outputs, vector.expected, bundle.manifest.outputs, strict=True)
        for got, want, entry in rows:
            if difference(got, want, entry):
                raise error(
                    "GM646",
                    "model, profile and samples do not give what the bundle computes",
                    str(bundle.path),
                    "with adaround, pass the very samples that it was compiled with; "
                    "or compile it again with this version",
                )


def _difference(error: Difference) -> dict[str, object]:
    return {**asdict(error), "sqnr_db": _finite(error.sqnr_db)}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
