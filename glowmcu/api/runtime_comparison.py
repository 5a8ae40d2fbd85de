"""Check a bundle against a `.tflite` file in the runtimes that people run it with."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from glowmcu.api.given_bundle import BundleGiven, loaded_bundle
from glowmcu.api.given_model import read_given
from glowmcu.api.quantization import SamplesGiven
from glowmcu.argument_types import arguments_checked
from glowmcu.bundle import Bundle
from glowmcu.errors import GlowmcuError, error
from glowmcu.frontend.tflite.container import read_container
from glowmcu.frontend.tflite.notes import has_dynamic_ranges
from glowmcu.frontend.tflite.tensors import input_sizes
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.operation import Rounding
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import TensorEntry
from glowmcu.notebook import Card, Column, Record, Shown
from glowmcu.option_words import Where
from glowmcu.pipeline import reference_graph
from glowmcu.quant.sample_source import SampleSource
from glowmcu.real_units import stored_values
from glowmcu.verify.comparison import wrong_elements
from glowmcu.verify.executors import executor
from glowmcu.verify.measurement import Array
from glowmcu.verify.runtimes.runtimes import RUNTIMES, Runtime, largest_difference, runtime_of
from glowmcu.verify.verification import random_inputs

_COLUMNS = (
    Column("runtime", "runtime"), Column("rounding", "rounding"),
    Column("samples", "samples", "count"), Column("equal", "equal", "count"),
    Column("result", "result"),
)  # fmt: skip
Outputs = Sequence[Sequence[Array]]


@dataclass(frozen=True)
class RuntimeCheck:
    """One runtime's outputs beside the bundle's: `equal` of `samples` samples have all outputs
    equal, `different` of `elements` elements differ, by at most `largest`.

    `promised` is the runtime whose numbers the bundle was compiled to give. `missing` says what to
    install, `refused` why it does not run the file: then nothing was compared. `largest` is in
    steps of an integer output.
    """

    runtime: str
    title: str
    rounding: str
    promised: bool
    samples: int = 0
    equal: int = 0
    elements: int = 0
    different: int = 0
    largest: float = 0.0
    missing: str = ""
    refused: str = ""

    @property
    def passed(self) -> bool:
        """Whether it ran and gave the bundle's outputs."""
        return self.samples > 0 and self.equal == self.samples

    @property
    def result(self) -> str:
        """In words."""
        if self.missing:
            return f"not installed: {self.missing}"
        if self.refused:
            return self.refused
        if self.passed:
            return "the same outputs"
        return f"{self.different} of {self.elements} elements differ, by {self.largest:g} at most"


@dataclass(frozen=True)
class RuntimeReport(Shown):
    """A bundle beside a `.tflite` file in each runtime.

    >>> bundle = glowmcu.compile("digits_int8.tflite", output="build/digits")
    >>> glowmcu.verify_against(bundle, "digits_int8.tflite").checks[0].runtime
    'tflm'
    """

    file: str
    executor: str
    checks: tuple[RuntimeCheck, ...]
    has_dynamic_ranges: bool = False

    @property
    def note(self) -> str:
        """What is to be known of the file; empty mostly."""
        if not self.has_dynamic_ranges:
            return ""
        return (
            "the file has int8 weights and float activations (dynamic-range quantization): "
            "TensorFlow Lite Micro runs no such file, and LiteRT rounds activations to int8 that "
            "the bundle leaves exact, so that their numbers are near and not the same"
        )

    @property
    def advice(self) -> str:
        """What to try where the runtime whose numbers the bundle gives does not run the file."""
        ran = [check for check in self.checks if check.samples and not check.promised]
        beside = ""
        if ran and not self.has_dynamic_ranges:
            rounding = ran[0].rounding
            beside = f"compile with --rounding {rounding} for the numbers of {ran[0].title}, or "
        model = f"glowmcu verify BUNDLE --model {Path(self.file).name}"
        return f"{beside}{model} compares with what the model means, in Python"

    @property
    def promised(self) -> RuntimeCheck:
        """The check of the runtime whose numbers the bundle was compiled to give."""
        return next(check for check in self.checks if check.promised)

    @property
    def passed(self) -> bool:
        """Whether that runtime gave the bundle's outputs."""
        return self.promised.passed

    def _card(self) -> Card:
        rows: list[Record] = [
            {"runtime": c.title, "rounding": c.rounding, "samples": c.samples, "equal": c.equal,
             "result": c.result}
            for c in self.checks
        ]  # fmt: skip
        facts = (("passed", "yes" if self.passed else "no"), ("against", self.file))
        return Card("Runtimes", facts, _COLUMNS, rows, (self.note,) if self.note else ())

    def json(self) -> dict[str, object]:
        """The object of `verify --against FILE.tflite --json`. Field names are a contract."""
        return {
            "passed": self.passed,
            "file": self.file,
            "executor": self.executor,
            "checks": [{**dataclasses.asdict(c), "passed": c.passed} for c in self.checks],
            "note": self.note,
        }


@arguments_checked
def verify_against(
    bundle: BundleGiven,
    file: str | Path,
    on: Where = "host",
    *,
    samples: int | SamplesGiven = 20,
    seed: int = 0,
    board: str | None = None,
) -> RuntimeReport:
    """Check whether the `.tflite` model `file` gives the outputs of `bundle` in other runtimes.

    Each of TensorFlow Lite Micro and LiteRT (reference kernels, and XNNPACK) that is installed runs
    the file on `samples` random inputs, or on data: stored integers, or real numbers that are
    quantized as the bundle's inputs are. The one that the bundle's `rounding` names has to give
    the same outputs, see `passed`. Raises GM304 to GM309 for samples, GM606, GM670, GM674 for a
    file with other inputs or outputs, GM675 for bundles that no file is the like of.

    >>> bundle = glowmcu.compile("digits_int8.tflite", output="build/digits")
    >>> found = glowmcu.verify_against(bundle, "digits_int8.tflite", samples=5)
    >>> found.passed, found.promised.equal
    (True, 5)
    """
    loaded, path = loaded_bundle(bundle, board), Path(file)
    given = read_given(path)
    _check_kind(loaded)
    sizes = _sizes_of_bundle(loaded, given.data, given.name)
    _check_borders(loaded, reference_graph(given.data, given.name, inputs=sizes), given.name)
    if isinstance(samples, int):
        inputs = random_inputs(loaded.manifest, samples, seed)
    else:
        inputs = _read(loaded, samples)
    runner = executor(on, loaded.board, count=False)
    lacking = runner.missing()
    if lacking is not None:
        raise error("GM670", f"the {runner.name} executor could not run", hint=lacking)
    ours = [found.outputs for found in runner.run(loaded.path, inputs)]
    promised = runtime_of(Rounding(loaded.manifest.options["rounding"]))
    checks = [_check(each, each is promised, path, loaded, inputs, ours) for each in RUNTIMES]
    is_dynamic = has_dynamic_ranges(given.data, given.name)
    return RuntimeReport(str(path), runner.name, tuple(checks), is_dynamic)


def _check(
    runtime: Runtime,
    promised: bool,
    model: Path,
    bundle: Bundle,
    inputs: Sequence[tuple[Array, ...]],
    ours: Outputs,
) -> RuntimeCheck:
    blank = RuntimeCheck(runtime.name, runtime.title, runtime.rounding.value, promised)
    lacking = runtime.missing()
    if lacking is not None:
        return dataclasses.replace(blank, missing=lacking)
    try:
        theirs = runtime.outputs(model, inputs)
    except GlowmcuError as cause:
        return dataclasses.replace(blank, refused=cause.problems[0].message)
    equal = elements = different = 0
    largest = 0.0
    for mine, its in zip(ours, theirs, strict=True):
        wrong = 0
        for entry, got, given in zip(bundle.manifest.outputs, mine, its, strict=True):
            want = given.reshape(got.shape)
            arrays = np.atleast_1d(got), np.atleast_1d(want)
            wrong += int(wrong_elements(*arrays, entry.is_strict, absolute=entry.leeway).sum())
            largest = max(largest, largest_difference(got, want))
            elements += got.size
        different += wrong
        equal += not wrong
    return dataclasses.replace(
        blank, samples=len(ours), equal=equal, elements=elements, different=different,
        largest=largest,
    )  # fmt: skip


def _check_kind(bundle: Bundle) -> None:
    manifest = bundle.manifest
    if manifest.pipeline is None and manifest.size is None:
        return
    kind = "a pipeline" if manifest.pipeline is not None else "inputs of an open size"
    raise error(
        "GM675", f"the bundle has {kind}: no .tflite file is the like of it", str(bundle.path),
        "glowmcu verify BUNDLE without --against compares it with its model's meaning",
    )  # fmt: skip


def _sizes_of_bundle(bundle: Bundle, data: bytes, file: str) -> InputOptions:
    """The sizes that the file leaves open are those that the bundle was compiled for."""
    declared = input_sizes(read_container(data, file))
    return InputOptions(
        shapes={
            name: tuple(entry.shape)
            for (name, sizes), entry in zip(declared.items(), bundle.manifest.inputs, strict=False)
            if None in sizes and len(sizes) == len(entry.shape)
        }
    )


def _check_borders(bundle: Bundle, graph: Graph, file: str) -> None:
    """Raises GM674 with every input and output that differs."""
    sides = (
        ("input", bundle.manifest.inputs, graph.arguments),
        ("output", bundle.manifest.outputs, graph.results),
    )
    wrong = [
        f"{kind} {index}: {_said(theirs)}, the bundle's is {_said(ours)}"
        for kind, entries, values in sides
        for index, (ours, theirs) in enumerate(
            zip([_border(each) for each in entries], [_type(each) for each in values], strict=False)
        )
        if ours != theirs
    ]
    wrong += [
        f"{len(values)} {kind}s, the bundle has {len(entries)}"
        for kind, entries, values in sides
        if len(values) != len(entries)
    ]
    if wrong:
        raise error(
            "GM674", "the file is not the bundle's like: " + "; ".join(wrong), file,
            "export it with the arguments of compile (--samples or --profile); a bundle with "
            "--io float has float32 where the file has int8",
        )  # fmt: skip


def _border(entry: TensorEntry) -> tuple[tuple[int, ...], str]:
    return tuple(entry.shape), entry.dtype


def _type(value: Value) -> tuple[tuple[int, ...], str]:
    return value.type.shape, np.dtype(value.type.element.numpy).name


def _said(border: tuple[tuple[int, ...], str]) -> str:
    return f"{border[1]} {'x'.join(map(str, border[0])) or 'scalar'}"


def _read(bundle: Bundle, samples: SamplesGiven) -> list[tuple[Array, ...]]:
    """Stored integers as they are; real numbers as the inputs store them."""
    entries, source = bundle.manifest.inputs, SampleSource(samples)
    try:
        return list(source.read(_only_inputs(entries, real=False)))
    except GlowmcuError as cause:
        if cause.code != "GM305" or all(entry.dtype == "float32" for entry in entries):
            raise
    found = source.read(_only_inputs(entries, real=True))
    return [
        tuple(stored_values(entry, array) for entry, array in zip(entries, arrays, strict=True))
        for arrays in found
    ]


def _only_inputs(entries: Sequence[TensorEntry], real: bool) -> Graph:
    """A graph of these inputs alone: the shapes and types that samples are checked against."""
    by_name = {np.dtype(element.numpy).name: element for element in ElementType}
    values = tuple(
        Value(
            TensorType(
                tuple(entry.shape),
                ElementType.F32 if real and entry.scale is not None else by_name[entry.dtype],
            ),
            entry.name,
        )
        for entry in entries
    )
    return Graph("inputs", values, (), values)
