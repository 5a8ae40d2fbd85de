"""Conformance cases that others wrote, run through the whole compiler on this computer or a core.

A case is a model with inputs and the outputs that somebody else's runtime gave for them. It passes,
or is refused with a message that says what is not supported, or fails; there is nothing else.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from glowmcu.api.known_inputs import compile_for_inputs
from glowmcu.compilation import Compilation, Options
from glowmcu.cores import core
from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.ir.operation import Rounding
from glowmcu.pipeline import emit
from glowmcu.verify.host import Host
from glowmcu.verify.measurement import Executor
from glowmcu.verify.modelled import modelled_core
from glowmcu.verify.qemu import Qemu
from tests.support.one_unit import QUICK_LINK, write_unit
from tests.support.quick_host import TCC, QuickHost

Array = npt.NDArray[Any]

TFLITE_SUITES = ("cmsis_tflite", "tflm_seanet", "mlonmcu", "glow_tflite")
ONNX_SUITES = (
    "onnx_node",
    "onnx_pytorch_converted",
    "onnx_pytorch_operator",
    "onnx_simple",
    "onnx_old_opset",
    "onnx2c_local_ops",
)
SUITES = (*TFLITE_SUITES, *ONNX_SUITES)
#: What the shares that must pass are counted by.
KINDS = ("int8", "float", "onnx", "int16")
_INT8_DTYPES = {"int8", "int4", "int32", "uint8", "bool"}
#: No core: this computer.
GENERIC = "generic"


@dataclass(frozen=True)
class Case:
    """A row of `index.json`. `exact_with_single` asks for every byte under single rounding."""

    id: str
    suite: str
    model: Path
    model_sha256: str
    inputs: tuple[Path, ...]
    outputs: tuple[Path, ...]
    compare: Mapping[str, Any]
    operator: str
    dtypes: tuple[str, ...]
    input_names: tuple[str, ...]
    roundings: tuple[Rounding, ...]

    @property
    def kind(self) -> str:
        """Which of `KINDS` it counts for.

        int8: nothing wider flows through it (int32 biases and indices apart).
        """
        if self.suite in ONNX_SUITES:
            return "onnx"
        if set(self.dtypes) <= _INT8_DTYPES:
            return "int8"
        return "float" if "float32" in self.dtypes else "int16"

    def read_inputs(self) -> list[Array]:
        return [np.load(path) for path in self.inputs]


@dataclass(frozen=True)
class Outcome:
    """`verdict` is passed, refused or failed; `reason` says why, empty when passed.

    `bound` names the inputs that became constants, because shapes depend on them.
    """

    case_id: str
    verdict: str
    reason: str = ""
    bound: tuple[str, ...] = ()


def read_cases(folder: Path, suites: Sequence[str] = SUITES) -> list[Case]:
    """The cases of `suites` in the order of `folder`/index.json."""
    rows = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    return [_case(folder, row) for row in rows if row["suite"].partition("/")[0] in suites]


def _case(folder: Path, row: Mapping[str, Any]) -> Case:
    compare = row["compare"]
    single = str(row["rounding"]).startswith("single")
    both = single and compare["mode"] == "top1"
    return Case(
        id=row["id"],
        suite=row["suite"].partition("/")[0],
        model=folder / row["model"],
        model_sha256=row["model_sha256"],
        inputs=tuple(folder / name for name in row["inputs"]),
        outputs=tuple(folder / name for name in row["outputs"]),
        compare=compare,
        operator=row["primary_op"],
        dtypes=tuple(row["dtypes"]),
        input_names=tuple(row.get("input_names", ())),
        roundings=(
            (Rounding.SINGLE, Rounding.DOUBLE)
            if both
            else ((Rounding.SINGLE,) if single else (Rounding.DOUBLE,))
        ),
    )


def by_model(cases: Sequence[Case]) -> list[list[Case]]:
    """Cases of one model together: it is compiled once for all of their inputs."""
    groups: dict[tuple[object, ...], list[Case]] = {}
    for case in cases:
        # Shapes of an ONNX model may come from the case's inputs.
        own = case.id if case.kind == "onnx" else ""
        groups.setdefault((case.model_sha256, case.roundings, own), []).append(case)
    return list(groups.values())


@dataclass(frozen=True)
class CompiledCase:
    """A case's model, and which of the case's inputs are still inputs of it."""

    compilation: Compilation
    bound: tuple[str, ...]

    def inputs(self, case: Case) -> list[Array]:
        names = case.input_names or ("",) * len(case.inputs)
        arrays = zip(names, case.read_inputs(), strict=True)
        return [array for name, array in arrays if name not in self.bound]


def compile_case(
    case: Case, rounding: Rounding, name: str = "m", core_name: str = GENERIC
) -> CompiledCase:
    """The case's model through the real pipeline. Raises GlowmcuError where it is refused."""
    options = Options(name, rounding=rounding, core=core_name)
    arrays = dict(zip(case.input_names, case.read_inputs(), strict=False))
    data = case.model.read_bytes()
    return CompiledCase(*compile_for_inputs(data, case.model.name, options, arrays))


def run_cases(cases: Sequence[Case], core_name: str = GENERIC) -> list[Outcome]:
    """Outcomes of cases that share a model, under every rounding that they ask for.

    Compiled for a core, they run on its emulator.
    """
    found = {case.id: Outcome(case.id, "passed") for case in cases}
    for rounding in cases[0].roundings:
        for outcome in _run_rounding(cases, rounding, core_name):
            if found[outcome.case_id].verdict == "passed":
                found[outcome.case_id] = outcome
    return list(found.values())


def _run_rounding(cases: Sequence[Case], rounding: Rounding, core_name: str) -> list[Outcome]:
    try:
        compiled = compile_case(cases[0], rounding, core_name=core_name)
        with tempfile.TemporaryDirectory(prefix="glowmcu-") as work:
            folder = Path(work) / "bundle"
            if core_name == GENERIC:
                write_unit(compiled.compilation, folder)
            else:
                emit(compiled.compilation, folder)
            inputs = [compiled.inputs(case) for case in cases]
            measured = _executor(core_name).run(folder, inputs)
    except GlowmcuError as cause:
        verdict = "refused" if cause.exit_code is ExitCode.UNSUPPORTED else "failed"
        return [Outcome(case.id, verdict, _short(cause)) for case in cases]
    except Exception as cause:  # noqa: BLE001 - whatever escapes is a failed case, not a failed run
        reason = f"{type(cause).__name__}: {cause}".partition("\n")[0][:200]
        return [Outcome(case.id, "failed", reason) for case in cases]
    return [
        dataclasses.replace(_judged(case, result.outputs, rounding), bound=compiled.bound)
        for case, result in zip(cases, measured, strict=True)
    ]


def _executor(core_name: str) -> Executor:
    if core_name == GENERIC:
        # Numbers are asked for here; gcc, its warnings and its sanitizers see every case, too.
        return QuickHost() if shutil.which(TCC) else Host(("-O1", *QUICK_LINK))
    modelled = core(core_name).unicorn_model is not None
    return modelled_core(core_name, count=False) if modelled else Qemu(machine="mps3-an547")


def _short(cause: GlowmcuError) -> str:
    """Codes and messages, each once, without the places."""
    texts = (f"{problem.code}: {problem.message}" for problem in cause.problems)
    return "; ".join(dict.fromkeys(texts)).replace("\n", " ")[:300]


def _judged(case: Case, outputs: Sequence[Array], rounding: Rounding) -> Outcome:
    wanted = [np.load(path) for path in case.outputs]
    for index, (got, want) in enumerate(zip(outputs, wanted, strict=True)):
        difference = compare(got, want, case.compare)
        if difference:
            reason = f"output {index}, {rounding.value} rounding: {difference}"
            return Outcome(case.id, "failed", reason)
    return Outcome(case.id, "passed")


def compare(got: Array, want: Array, rule: Mapping[str, Any]) -> str:
    """What is wrong with `got` by the case's own rule, or an empty text."""
    mode = rule["mode"]
    if mode == "top1":
        best = int(want.reshape(-1)[0]) if want.size == 1 else int(want.argmax())
        return "" if int(got.argmax()) == best else f"class {int(got.argmax())}, expected {best}"
    if got.size != want.size:
        return f"shape {got.shape}, expected {want.shape}"
    if got.dtype != want.dtype:
        return f"{got.dtype}, expected {want.dtype}"
    distance = np.abs(got.reshape(want.shape).astype(np.float64) - want.astype(np.float64))
    limit = _limit(mode, rule, want)
    same = got.reshape(want.shape) == want
    both_nan = np.isnan(got.reshape(want.shape)) & np.isnan(want)
    wrong = ~(distance <= limit) & ~same & ~both_nan
    if not wrong.any():
        return ""
    return f"{int(wrong.sum())} of {want.size} differ, by up to {distance.max():g}"


def _limit(mode: str, rule: Mapping[str, Any], want: Array) -> Array | float:
    if mode == "exact":
        return 0.0
    if mode == "int":
        return float(rule["max_lsb"])
    if mode == "abs":
        return float(rule["atol"])
    assert mode == "rel", mode
    limit: Array = rule["atol"] + rule["rtol"] * np.abs(want.astype(np.float64))
    return limit
