"""Ways to compile a network, what it is given, and where it runs: what all seeds draw."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import tflite

import glowmcu
from benchmarks.random_draws import Generator, pick
from glowmcu import cores
from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.frontend.tflite.schema import schema_enum
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.host import Host
from glowmcu.verify.host_library import host_compiler
from glowmcu.verify.measurement import Array, Executor
from glowmcu.verify.modelled import modelled_core
from glowmcu.verify.qemu import Qemu
from glowmcu.verify.toolchain import GCC_VARIABLE, RISCV_VARIABLE
from tests.support.quick_host import TCC, QuickHost

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
BUDGET = "arena budget"
#: One case in so many runs on the emulated core, too.
ON_CORE = 8
#: Runs of a stream, beside those with inputs at their ends.
STREAM_RUNS = 12
#: For networks that do not fit their board.
ROOMY = "mps2-an386"


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
def as_without_cross_compiler() -> Iterator[None]:
    nowhere = dict.fromkeys((GCC_VARIABLE, RISCV_VARIABLE), "no-cross-compiler")
    with mock.patch.dict(os.environ, nowhere), mock.patch("glowmcu.golden_vectors._VECTORS", 1):
        yield


def failure_text() -> str:
    """The traceback, with files as the repository names them."""
    return traceback.format_exc(limit=-3).replace(f"{Path(__file__).resolve().parents[1]}/", "")


def draw_way(random: Generator, names: Sequence[str], board: str) -> Way:
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
        modes.append(BUDGET)
    if board in SEVERAL_MEMORIES and random.random() < 0.5:
        arguments["place"] = {"auto": "auto"}
        modes.append("placed")
    return Way(arguments, tuple(modes))


def compiled(
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
    if BUDGET not in way.modes:
        return bundle, way.modes, ""
    budget = bundle.manifest.arena_bytes * 4 // 5
    try:
        smaller = glowmcu.compile(model, **common, **way.arguments, arena_budget=budget)
    except GlowmcuError as cause:
        if cause.code not in REFUSALS:
            raise
        # The folder has what was made without the budget.
        return bundle, tuple(mode for mode in way.modes if mode != BUDGET), cause.code
    return smaller, way.modes, ""


def _plainly_compiled(model: Path, common: dict[str, Any]) -> glowmcu.Bundle:
    """Without requests; a network may be too large for a small board even so."""
    try:
        return glowmcu.compile(model, **common)
    except GlowmcuError as cause:
        if cause.exit_code is not ExitCode.DOES_NOT_FIT:
            raise
        return glowmcu.compile(model, **common | {"board": ROOMY})


def network_facts(data: bytes) -> tuple[list[str], tuple[str, ...]]:
    """Names of the inputs, and of the operators that there are."""
    model = tflite.Model.GetRootAs(data)
    graph = model.Subgraphs(0)
    names = [graph.Tensors(graph.Inputs(i)).Name().decode() for i in range(graph.InputsLength())]
    words = {number: word for word, number in schema_enum("BuiltinOperator").items()}
    codes = (model.OperatorCodes(i).BuiltinCode() for i in range(model.OperatorCodesLength()))
    return names, tuple(sorted(words[code] for code in codes))


def draw_inputs(bundle: glowmcu.Bundle, random: Generator, count: int) -> list[list[Array]]:
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


def draw_executors(
    bundle: glowmcu.Bundle, seed: int, random: Generator, thorough: bool
) -> tuple[list[Executor], str]:
    """What the bundle runs on, and the compiler of the first, which is this computer."""
    pieces = tuple(int(n) for n in random.integers(1, 5, 2))
    flags = tuple(pick(random, FLAGS))
    executors: list[Executor] = [Host(flags, pieces) if thorough else QuickHost(pieces)]
    compiler = " ".join(("cc", *flags[:2])) if thorough else TCC
    executors += emulated(bundle, seed)
    return executors, compiler


def emulated(bundle: glowmcu.Bundle, seed: int, with_riscv: bool = False) -> list[Executor]:
    """The core of the bundle's board, for one seed of `ON_CORE`."""
    core = bundle.board.core
    if seed % ON_CORE or not host_compiler():
        return []
    if cores.core(core).modelled_by == "riscv":
        return [modelled_core(core, count=False)] if with_riscv else []
    machines = {"cortex-m55": "mps3-an547", "generic": "microbit"}
    if core in machines:
        return [Qemu(machine=machines[core])]
    return [CortexM(core, count=False)]


def difference_of(
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
