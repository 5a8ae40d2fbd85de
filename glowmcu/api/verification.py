"""Check a bundle on executors, against its golden vectors and its model."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from glowmcu.api.given_bundle import BundleGiven, loaded_bundle
from glowmcu.api.given_model import ExampleInputs, GivenModel, ModelGiven, read_given
from glowmcu.api.quantization import ProfileGiven
from glowmcu.argument_types import arguments_checked
from glowmcu.bundle import Bundle
from glowmcu.custom_c import CustomFile, custom_of_bundle
from glowmcu.errors import GlowmcuError, error
from glowmcu.facts.document import keep_facts
from glowmcu.input_options import InputOptions, bound_text, options_of_bundle
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import Session
from glowmcu.ir.operation import Rounding
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import Manifest
from glowmcu.notebook import Card, Column, Record, Shown
from glowmcu.open_size.graphs import references
from glowmcu.option_words import Where
from glowmcu.pipeline import application_graph
from glowmcu.quant.choices import options_of_text
from glowmcu.quant.profile import Profile
from glowmcu.quant.profile_file import read_profile
from glowmcu.quant.request import QuantizationRequest, profile_sha256
from glowmcu.quant.sample_source import SampleSource
from glowmcu.size_forms import OpenSize
from glowmcu.verify.accelerator_hooks import check_hooks
from glowmcu.verify.executors import executor, executors_shown
from glowmcu.verify.host import Host
from glowmcu.verify.measurement import Array
from glowmcu.verify.verification import (
    Check,
    Vector,
    check_executor,
    golden_vectors,
    random_inputs,
)

#: An executor's refusals of a core or board that it does not have.
_NO_SUCH_TARGET = {"GM641", "GM650", "GM661"}


_COLUMNS = (
    Column("executor", "executor"), Column("vectors", "vectors", "count"),
    Column("result", "result"),
)  # fmt: skip


@dataclass(frozen=True)
class VerificationReport(Shown):
    """All executors' checks; `skipped` are those that could not run: (executor, what to do).

    >>> bundle = glowmcu.compile("digits_int8.tflite", output="build/digits")
    >>> found = glowmcu.verify(bundle)
    >>> found.passed, found.checks[0].executor, found.checks[0].wrong_vectors
    (True, 'host', 0)
    """

    checks: tuple[Check, ...]
    skipped: tuple[tuple[str, str], ...]
    reference: str
    allow_missing: bool = False

    @property
    def equal(self) -> bool:
        """Whether no output of any executor that ran differed."""
        return all(check.passed for check in self.checks)

    @property
    def passed(self) -> bool:
        """Whether nothing differed, and every executor ran (one is enough with `allow_missing`)."""
        all_ran = not self.skipped or self.allow_missing
        return bool(self.checks) and all_ran and self.equal

    def _card(self) -> Card:
        ran: list[Record] = [
            {
                "executor": check.executor,
                "vectors": check.vectors,
                "wrong_vectors": check.wrong_vectors,
                "result": _result_text(check),
            }
            for check in self.checks
        ]
        skipped: list[Record] = [
            {"executor": name, "vectors": None, "wrong_vectors": None,
             "result": f"could not run: {lacking}"}
            for name, lacking in self.skipped
        ]  # fmt: skip
        facts = (("passed", "yes" if self.passed else "no"), ("against", self.reference))
        return Card("Verification", facts, _COLUMNS, [*ran, *skipped])

    def json(self) -> dict[str, object]:
        """The object of `verify --json`. Field names are a contract."""
        return {
            "passed": self.passed,
            "reference": self.reference,
            "checks": [{**dataclasses.asdict(c), "passed": c.passed} for c in self.checks],
            "skipped": [{"executor": name, "missing": text} for name, text in self.skipped],
        }


def _result_text(check: Check) -> str:
    if check.passed:
        return check.equality
    return f"{check.wrong_vectors} differ: {check.first_difference}"


@arguments_checked
def verify(
    bundle: BundleGiven,
    on: Where | Sequence[Where] = "host",
    *,
    samples: int = 3,
    seed: int = 0,
    model: ModelGiven | None = None,
    profile: ProfileGiven | None = None,
    bind: Mapping[str, Array] | None = None,
    allow_missing: bool = False,
    board: str | None = None,
    example_inputs: ExampleInputs | None = None,
    hooks: str | Path | None = None,
) -> VerificationReport:
    """Check that `bundle` (or the one in that folder) computes the same bytes wherever it runs.

    Its golden vectors and `samples` random inputs (from `seed`) run on each executor of `on`. With
    `model` (and `profile`, `bind`, as for `compile`) the expected outputs are those of the Python
    reference, else for random inputs those of the C on this computer. `board` replaces the one
    that the bundle was compiled for. `hooks` is C with the functions of the bundle's accelerator,
    which are tried on this computer, layer by layer. What differs or could not run is in the report
    and raises nothing: see `passed`; with `allow_missing` one executor that ran is enough.

    Raises GM601 for a folder without a bundle, GM606 for an unknown executor, GM607 for damaged
    golden vectors, GM608, GM609, GM615, GM616 for a model, `bind` or profile that is not the
    bundle's, GM777 for hooks.

    >>> bundle = glowmcu.compile("digits_int8.tflite", board="nrf52", output="build/digits")
    >>> glowmcu.verify(bundle, ["host", "cortex-m"], model="digits_int8.tflite").passed
    True
    """
    given = None if model is None else read_given(model, example_inputs)
    loaded = loaded_bundle(bundle, board)
    names = [on] if isinstance(on, str) else list(dict.fromkeys(on))
    if not names:
        raise error("GM606", "no executor is named", hint=f"choose from {executors_shown()}")
    for name, number in (("samples", samples), ("seed", seed)):
        if number < 0:
            raise error("GM726", f"verify: {name} must be 0 or more, got {number}")
    tried = None if hooks is None else Path(hooks)
    found = verify_bundle(loaded, names, samples, seed, given, bind, profile, allow_missing, tried)
    keep_facts(loaded.path, verify=found.json())
    return found


def verify_bundle(
    bundle: Bundle,
    names: Sequence[str],
    samples: int,
    seed: int,
    model: ModelGiven | GivenModel | None,
    bind: Mapping[str, Array] | None = None,
    profile: ProfileGiven | None = None,
    allow_missing: bool = False,
    hooks: Path | None = None,
) -> VerificationReport:
    """Golden vectors and `samples` random inputs on every executor of `names`.

    An executor that cannot run here (its tools are missing, or it has no such core or board) is in
    the report's `skipped`: the report has not passed then, unless `allow_missing`. It is no
    exception, so that what the others found is not lost.

    Raises GM606 for an unknown executor, GM608 when `model` is not the bundle's, GM609 when `bind`
    is not what it was compiled with, GM615 and GM616 when `profile` is not, or when samples went
    into it.
    """
    executors = [executor(name, bundle.board, count=False) for name in names]
    inputs = random_inputs(bundle.manifest, samples, seed)
    vectors = golden_vectors(bundle.path, bundle.manifest)
    # With states all are one stream, and what comes depends on what was.
    before = [vector.inputs for vector in vectors] if bundle.manifest.states else []
    outputs, reference = expected_outputs(bundle, [*before, *inputs], model, bind or {}, profile)
    outputs = outputs[len(before) :]
    leeway = tuple(entry.leeway for entry in bundle.manifest.outputs)
    vectors += [
        Vector(f"random {index}", arrays, tuple(expected), leeway)
        for index, (arrays, expected) in enumerate(zip(inputs, outputs, strict=True))
    ]
    checks: list[Check] = []
    skipped: list[tuple[str, str]] = []
    for runner in executors:
        lacking = runner.missing()
        if lacking is None:
            try:
                checks.append(check_executor(runner, bundle.path, bundle.manifest, vectors))
                continue
            except GlowmcuError as cause:
                if cause.code not in _NO_SUCH_TARGET:
                    raise
                problem = cause.problems[0]
                lacking = ": ".join(text for text in (problem.message, problem.hint) if text)
        skipped.append((runner.name, lacking))
    if hooks is not None:
        checks.append(check_hooks(bundle.path, bundle.manifest, hooks, vectors))
    return VerificationReport(tuple(checks), tuple(skipped), reference, allow_missing)


def expected_outputs(
    bundle: Bundle,
    inputs: Sequence[tuple[Array, ...]],
    model: ModelGiven | GivenModel | None,
    bind: Mapping[str, Array],
    profile: ProfileGiven | None,
) -> tuple[list[Sequence[Array]], str]:
    """What the bundle has to give for `inputs`, one stream, by the Python reference of `model` or
    by the C on this computer, and whose outputs these are. Raises as `verify_bundle` does.
    """
    if model is None:
        results = Host().run(bundle.path, inputs)
        return [result.outputs for result in results], "golden vectors, host C for random inputs"
    given = checked_model(bundle, model, bind)
    said, where = bundle.manifest.options, str(bundle.path)
    request = request_of_bundle(said, profile, where)
    graphs: dict[int | None, Graph] = {}
    session: Session | None = None
    outputs: list[Sequence[Array]] = []
    custom = custom_of_bundle(bundle.path, said.get("custom", ""))
    graph_at = _references(bundle.manifest, given.data, given.name, bind, request, custom)
    for arrays in inputs:
        size = None
        if bundle.manifest.size is not None:
            size = bundle.manifest.size_of([array.shape for array in arrays])
        if size not in graphs:
            graphs[size] = graph_at(size)
        # All are one stream, whatever the size of each.
        session = session or Session(graphs[size])
        session.go_on_with(graphs[size])
        outputs.append(session.run(arrays))
    return outputs, "Python reference of the model"


def checked_model(
    bundle: Bundle, model: ModelGiven | GivenModel, bind: Mapping[str, Array]
) -> GivenModel:
    """The model's content. Raises GM608 for another model, GM609 for another `bind`."""
    given = model if isinstance(model, GivenModel) else read_given(model)
    if hashlib.sha256(given.data).hexdigest() != bundle.manifest.model_sha256:
        raise error(
            "GM608",
            f"the bundle was made from another model ({bundle.manifest.model_file})",
            given.name,
            "pass the very file that was compiled, or compile again",
        )
    compiled_with = bundle.manifest.options.get("bind", "")
    if bound_text(bind) != compiled_with:
        raise error(
            "GM609",
            f"the bundle was compiled with these inputs bound: {compiled_with or 'none'}; "
            f"got {bound_text(bind) or 'none'}",
            given.name,
            "pass the same --bind NAME=FILE.npy as to `glowmcu compile`",
        )
    return given


def _references(
    manifest: Manifest,
    data: bytes,
    model: str,
    bind: Mapping[str, Array],
    request: QuantizationRequest | None,
    custom: Mapping[str, CustomFile],
) -> Callable[[int | None], Graph]:
    """The reference graph that defines the bundle's numbers, made again from model and profile, for
    a size that a run is given (None: the only one, or the largest).
    """
    rounding = Rounding(manifest.options["rounding"])

    def imported(given: InputOptions, asked: QuantizationRequest | None) -> Graph:
        return application_graph(data, model, asked, rounding, given)[0]

    def options(at: Manifest) -> InputOptions:
        asked = () if at.training is None else at.training.tensors
        shapes = {entry.name: entry.shape for entry in at.inputs if entry.name not in asked}
        return options_of_bundle(manifest.options, shapes, bind, custom)

    if manifest.size is None:
        return lambda _: imported(options(manifest), request)
    given = manifest.size
    size = OpenSize(given.symbol, given.smallest, given.largest, given.step)
    if request is None:
        return lambda at: imported(options(manifest.at(at or size.largest)), None)

    def quantized(at: int) -> Graph:
        asked = replace(request, of_another_size=at != size.largest)
        return imported(options(manifest.at(at)), asked)

    found = references(size, quantized)
    return lambda at: found(at or size.largest)


def request_of_bundle(
    said: Mapping[str, str],
    profile: ProfileGiven | None,
    where: str,
    samples: SampleSource | None = None,
) -> QuantizationRequest | None:
    """How the bundle was quantized; None if it was not. Raises GM615, GM616."""
    name, _, digest = said.get("profile", "").rpartition(":")
    shown = "the profile given" if isinstance(profile, Profile) else profile
    # Of samples, or an object in Python, there is no file whose name could be told.
    made = {"samples": "a profile of samples", "profile": "a profile"}.get(
        name, f"the profile {name}"
    )
    if profile is None or isinstance(profile, Profile):
        measured = profile
    else:
        measured = read_profile(Path(profile))
    got = "" if measured is None else profile_sha256(measured)[:12]
    if got != digest:
        raise error(
            "GM615",
            f"the bundle was quantized by {f'{made} ({digest})' if name else 'none'}; "
            f"got {f'{shown} ({got})' if got else 'none'}",
            where,
            "with --model, pass the same --profile as to `glowmcu compile`, or the profile that "
            "`glowmcu profile` makes of the same samples",
        )
    if measured is None:
        return None
    options = options_of_text(said)
    if options.adaptive_rounding and samples is None:
        raise error(
            "GM616",
            "samples went into the bundle's weights (adaround): model and profile do not tell them",
            where,
            "verify without --model: the golden vectors hold the reference's results",
        )
    return QuantizationRequest(options, measured, name, samples)
