"""One case of the differential test: a network, a way to compile it, and what came of it."""

from __future__ import annotations

import os
import shutil
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import tflite

import glowmcu
from benchmarks.random_draws import Generator, pick
from benchmarks.random_networks import random_network
from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.frontend.tflite.schema import schema_enum
from glowmcu.goals import Goal
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.host import Host
from glowmcu.verify.host_library import host_compiler
from glowmcu.verify.measurement import Array, Executor
from glowmcu.verify.qemu import Qemu
from glowmcu.verify.toolchain import GCC_VARIABLE, RISCV_VARIABLE
from tests.support.oracle import OracleRefused, open_tflm
from tests.support.quick_host import TCC, QuickHost
from tests.support.stream_models import random_stream_model

#: Boards of all families of kernels, with one memory and with several.
BOARDS = (
    "nrf52", "nucleo-l4r5zi", "stm32f746-discovery", "nucleo-h743zi", "nrf5340", "rp2040",
    "microbit", "mps2-an385", "mps3-an547", "esp32c3", "generic",
)  # fmt: skip
SEVERAL_MEMORIES = ("stm32f746-discovery", "nucleo-h743zi")
#: What the host's compiler is asked for besides the strict flags; undefined behaviour ends it.
FLAGS = (
    ("-O0",),
    ("-O1", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"),
    ("-O2",),
    # gcc 12 computes this loop of a quantized product wrongly where it makes vectors of it
    # (docs/portability.md), whoever wrote it: what is compared here is ours.
    ("-O3", "-march=native", "-fno-tree-vectorize"),
    ("-Os",),
)
#: One case in so many is done with all care: see `is_thorough`. Those before were all.
THOROUGH, QUICK_FROM = 17, 27_552
#: Requests that a network may not be able to meet: compiled again without them.
REFUSALS = {
    "GM405", "GM407", "GM408", "GM409", "GM410", "GM401", "GM402", "GM403", "GM404", "GM406",
}  # fmt: skip
_BUDGET = "arena budget"
#: One case in so many runs on the emulated core, too.
ON_CORE = 8
#: One network in so many has states; seeds before that were drawn without.
_STREAMS, _STREAMS_FROM = 4, 144
#: Runs of a stream, beside those with inputs at their ends.
_STREAM_RUNS = 12
#: For networks that do not fit their board.
_ROOMY = "mps2-an386"


@dataclass(frozen=True)
class Outcome:
    """What became of a seed.

    `failure` is empty where every byte is right; `refused` says why there was nothing to compare
    (the oracle does not take the network), `unmet` which request was not met, `compiler` what made
    the library that ran on this computer.
    """

    seed: int
    board: str = ""
    goal: str = ""
    modes: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    executors: tuple[str, ...] = ()
    compiler: str = ""
    inputs: int = 0
    refused: str = ""
    unmet: str = ""
    failure: str = ""


@dataclass(frozen=True)
class Way:
    """How a network is compiled: arguments of `glowmcu.compile`, and their names."""

    arguments: dict[str, Any] = field(default_factory=dict)
    modes: tuple[str, ...] = ()


def is_thorough(seed: int) -> bool:
    """Whether the seed's C is compiled by gcc with all warnings and one of `FLAGS`, its code
    measured by the cross compiler, and its self test given all vectors.

    The others have what a computer without cross compiler makes, with one vector, compiled by tcc.
    """
    return seed < QUICK_FROM or seed % THOROUGH == 0


@contextmanager
def _as_without_cross_compiler() -> Iterator[None]:
    nowhere = dict.fromkeys((GCC_VARIABLE, RISCV_VARIABLE), "no-cross-compiler")
    with mock.patch.dict(os.environ, nowhere), mock.patch("glowmcu.pipeline._VECTORS", 1):
        yield


def run_case(seed: int, folder: Path, thorough: bool | None = None) -> Outcome:
    """Compile and compare the seed's network; `folder` is made and removed."""
    folder.mkdir(parents=True)
    try:
        return _run(seed, folder, is_thorough(seed) if thorough is None else thorough)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(seed: int, folder: Path, thorough: bool) -> Outcome:
    random = np.random.default_rng([8147, seed])
    data = network(seed)
    names, operators = _facts(data)
    board, goal = str(pick(random, BOARDS)), pick(random, tuple(Goal)).value
    way = _way(random, names, board)
    facts: dict[str, Any] = {
        "seed": seed, "board": board, "goal": goal, "modes": way.modes, "operators": operators,
    }  # fmt: skip
    model = folder / "network.tflite"
    model.write_bytes(data)
    try:
        oracle = open_tflm(data)
    except OracleRefused as cause:
        return Outcome(**facts, refused=str(cause))
    try:
        with nullcontext() if thorough else _as_without_cross_compiler():
            bundle, facts["modes"], facts["unmet"] = _compiled(
                model, folder / "bundle", board, goal, way
            )
        inputs = _inputs(bundle, random, _STREAM_RUNS if bundle.manifest.states else 2)
        executors, facts["compiler"] = _executors(bundle, seed, random, thorough)
        facts["executors"] = tuple(executor.name for executor in executors)
        wanted = [[np.asarray(output) for output in oracle(arrays)] for arrays in inputs]
        failure = _difference(bundle, inputs, wanted, executors)
    except (OracleRefused, KeyboardInterrupt):
        raise
    except GlowmcuError as cause:
        return Outcome(**facts, failure=f"refused: {cause}".replace(f"{folder}/", ""))
    except Exception:  # noqa: BLE001 - whatever it is, it is what is looked for
        return Outcome(**facts, failure=_failure())
    return Outcome(**facts, inputs=len(inputs), failure=failure)


def _failure() -> str:
    """The traceback, with files as the repository names them."""
    return traceback.format_exc(limit=-3).replace(f"{Path(__file__).resolve().parents[1]}/", "")


def network(seed: int) -> bytes:
    """One in four is a network of variables, whose runs are one stream."""
    if seed >= _STREAMS_FROM and seed % _STREAMS == 0:
        return random_stream_model(seed)
    return random_network(seed)


def _way(random: Generator, names: Sequence[str], board: str) -> Way:
    """Modes of a compilation; most have one or none."""
    arguments: dict[str, Any] = {}
    modes: list[str] = []
    name = str(pick(random, tuple(names)))
    for mode, chance, given in (
        ("no simplification", 0.2, {"simplify": False}),
        ("streamed input", 0.2, {"stream_inputs": [name]}),
        ("outside input", 0.15, {"outside_inputs": [name]}),
        ("kept input", 0.15, {"keep_inputs": [name]}),
        ("instrumented", 0.1, {"instrument": True}),
        ("tensors shown", 0.05, {"dump_tensors": True}),
    ):
        taken = modes and mode.endswith("input") and modes[-1].endswith("input")
        if random.random() < chance and not taken:
            arguments |= given
            modes.append(mode)
    if random.random() < 0.15:
        modes.append(_BUDGET)
    if board in SEVERAL_MEMORIES and random.random() < 0.5:
        arguments["place"] = {"auto": "auto"}
        modes.append("placed")
    return Way(arguments, tuple(modes))


def _compiled(
    model: Path, folder: Path, board: str, goal: str, way: Way
) -> tuple[glowmcu.Bundle, tuple[str, ...], str]:
    """The bundle, its modes, and the code of the request that it had to be compiled without."""
    common: dict[str, Any] = {"board": board, "optimize": goal, "output": folder, "name": "net"}
    try:
        bundle = glowmcu.compile(model, **common, **way.arguments)
    except GlowmcuError as cause:
        if cause.code not in REFUSALS:
            raise
        return _plainly_compiled(model, common), (), cause.code
    if _BUDGET not in way.modes:
        return bundle, way.modes, ""
    budget = bundle.manifest.arena_bytes * 4 // 5
    try:
        smaller = glowmcu.compile(model, **common, **way.arguments, arena_budget=budget)
    except GlowmcuError as cause:
        if cause.code not in REFUSALS:
            raise
        # The folder has what was made without the budget.
        return bundle, tuple(mode for mode in way.modes if mode != _BUDGET), cause.code
    return smaller, way.modes, ""


def _plainly_compiled(model: Path, common: dict[str, Any]) -> glowmcu.Bundle:
    """Without requests; a network may be too large for a small board even so."""
    try:
        return glowmcu.compile(model, **common)
    except GlowmcuError as cause:
        if cause.exit_code is not ExitCode.DOES_NOT_FIT:
            raise
        return glowmcu.compile(model, **common | {"board": _ROOMY})


def _facts(data: bytes) -> tuple[list[str], tuple[str, ...]]:
    """Names of the inputs, and of the operators that there are."""
    model = tflite.Model.GetRootAs(data)
    graph = model.Subgraphs(0)
    names = [graph.Tensors(graph.Inputs(i)).Name().decode() for i in range(graph.InputsLength())]
    words = {number: word for word, number in schema_enum("BuiltinOperator").items()}
    codes = (model.OperatorCodes(i).BuiltinCode() for i in range(model.OperatorCodesLength()))
    return names, tuple(sorted(words[code] for code in codes))


def _inputs(bundle: glowmcu.Bundle, random: Generator, count: int) -> list[list[Array]]:
    """`count` random sets, all lowest, and each input at an end or its zero point."""
    entries = bundle.manifest.inputs
    sets: list[list[Array]] = []
    for kind in range(2 - count, 4):
        arrays = []
        for entry in entries:
            limits = (0, 1) if entry.dtype == "bool" else (-128, 127)
            drawn = random.integers(limits[0], limits[1] + 1, entry.shape)
            if kind > 1:
                fill = limits[0] if kind == 2 else pick(random, (*limits, entry.zero_point or 0))
                drawn = np.full(entry.shape, fill)
            arrays.append(drawn.astype(entry.dtype))
        sets.append(arrays)
    return sets


def _executors(
    bundle: glowmcu.Bundle, seed: int, random: Generator, thorough: bool
) -> tuple[list[Executor], str]:
    """What the bundle runs on, and the compiler of the first, which is this computer."""
    pieces = tuple(int(n) for n in random.integers(1, 5, 2))
    flags = tuple(pick(random, FLAGS))
    executors: list[Executor] = [Host(flags, pieces) if thorough else QuickHost(pieces)]
    compiler = " ".join(("cc", *flags[:2])) if thorough else TCC
    core = bundle.board.core
    if seed % ON_CORE == 0 and host_compiler() and "rv32" not in core:
        machines = {"cortex-m55": "mps3-an547", "generic": "microbit"}
        if core in machines:
            executors.append(Qemu(machine=machines[core]))
        else:
            executors.append(CortexM(core, count=False))
    return executors, compiler


def _difference(
    bundle: glowmcu.Bundle,
    inputs: Sequence[Sequence[Array]],
    wanted: Sequence[Sequence[Array]],
    executors: Sequence[Executor],
) -> str:
    for executor in executors:
        for number, measured in enumerate(executor.run(bundle.path, inputs)):
            for place, (got, want) in enumerate(zip(measured.outputs, wanted[number], strict=True)):
                if got.tobytes() != want.tobytes():
                    wrong = int((got.ravel() != want.ravel()).sum())
                    return (
                        f"on {executor.name}, input {number}, output {place}: "
                        f"{wrong} of {got.size} elements differ"
                    )
    return ""
