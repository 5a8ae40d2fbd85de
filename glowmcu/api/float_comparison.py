"""`glowmcu verify --against float`: which layers cost the accuracy, what would help, at what cost.

Remedies are tried, not guessed: the worst layers in int16 and in float, alone and together, and
equalization, each quantized anew and measured on the same samples.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
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
from glowmcu.errors import error
from glowmcu.facts.document import keep_facts
from glowmcu.goals import Goal
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Array, Rounding
from glowmcu.kernels.kernel import Target
from glowmcu.lazy_dataclass import dataclass
from glowmcu.notebook import Card, Column, Record, Shown
from glowmcu.number_text import count
from glowmcu.pipeline import float_graph
from glowmcu.quant.comparison import Comparison, Difference, LayerError, compare_graphs
from glowmcu.quant.images import read_preprocessing
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.profile import Profile
from glowmcu.quant.profile_file import read_profile
from glowmcu.quant.request import QuantizationRequest, quantize_as_requested
from glowmcu.quant.sample_source import SampleSource
from glowmcu.quant.samples import samples_of
from glowmcu.tuning.evaluation import Evaluator, Job
from glowmcu.tuning.labelled import read_labelled
from glowmcu.tuning.remedies import precision_tries
from glowmcu.tuning.trial import Trial, trial_record
from glowmcu.verify.comparison import difference
from glowmcu.verify.verification import golden_vectors

#: The least share of the error that makes a layer worth a remedy.
_LEAST_SHARE = 0.05
#: Decibels that a remedy has to gain to be named.
_LEAST_GAIN_DB = 0.5


@dataclass(frozen=True)
class Remedy:
    """A change of the quantization, as options of `compile`, with its trial."""

    arguments: str
    trial: Trial


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
            "remedies": [
                {"arguments": remedy.arguments, **trial_record(remedy.trial)}
                for remedy in self.remedies
            ],
        }


@arguments_checked
def compare(
    target: Bundle | ModelGiven,
    samples: SamplesGiven,
    *,
    model: ModelGiven | None = None,
    profile: ProfileGiven | None = None,
    labels: str | Path | Array | None = None,
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
    classes = Path(labels) if isinstance(labels, str | Path) else labels
    found = _compared(subject, source, classes)
    if subject.bundle is not None:
        keep_facts(subject.bundle.path, comparison=found.json())
    return found


@dataclass(frozen=True, eq=False)
class _Subject:
    """The model to compare, before its samples are read; its numbers must be those of `bundle`."""

    graph: Graph
    request: QuantizationRequest
    sha256: str
    target: Target
    bundle: Bundle | None = None


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
    shapes = {entry.name: entry.shape for entry in bundle.manifest.inputs}
    graph = float_graph(
        given.data, given.name, Rounding(said["rounding"]), InputOptions(shapes, {}, bind)
    )
    target = Target(core(bundle.board.core), Goal(said["optimize"]))
    return _Subject(graph, request, bundle.manifest.model_sha256, target, bundle)


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
    subject: _Subject, source: SampleSource, labels: Array | Path | None
) -> FloatComparison:
    graph = subject.graph
    arrays, classes = read_labelled(graph, source, labels)
    request = replace(subject.request, samples=SampleSource(list(arrays)))
    made = quantize_as_requested(graph, request, subject.sha256)
    if subject.bundle is not None:
        _refuse_another_graph(subject.bundle, made.quantized.graph)
    samples = samples_of(graph, arrays)
    comparison = compare_graphs(made.quantized.reference, made.quantized.graph, samples)
    evaluator = Evaluator(Job(graph, made.profile, arrays, classes, subject.target))
    plain = evaluator.evaluate(request.options)
    remedies = _remedies(evaluator, plain, comparison.layers)
    return FloatComparison(comparison, plain, remedies, evaluator.float_accuracy)


def _refuse_another_graph(bundle: Bundle, graph: Graph) -> None:
    """GM646 unless the graph made anew gives the bundle's golden vectors."""
    for vector in golden_vectors(bundle.path, bundle.manifest):
        outputs = run_graph(graph, vector.inputs)
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


def _remedies(
    evaluator: Evaluator, plain: Trial, layers: Sequence[LayerError]
) -> tuple[Remedy, ...]:
    worst = [layer.node for layer in layers if layer.node and layer.share >= _LEAST_SHARE]
    options = plain.options
    tries = list(precision_tries(options, worst))
    if not options.equalization:
        tries.append(("--equalize", replace(options, equalization=True)))
    found = [Remedy(text, evaluator.evaluate(item)) for text, item in tries]
    better = [r for r in found if _gain(r.trial, plain) >= _LEAST_GAIN_DB]
    worth = [r for r in better if not any(o.trial.dominates(r.trial) for o in better)]
    return tuple(sorted(worth, key=lambda remedy: -remedy.trial.sqnr_db))


def _gain(trial: Trial, plain: Trial) -> float:
    return -math.inf if trial.cost is None else trial.sqnr_db - plain.sqnr_db


def _difference(error: Difference) -> dict[str, object]:
    return {**asdict(error), "sqnr_db": _finite(error.sqnr_db)}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
