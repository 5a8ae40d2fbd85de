"""A case of the seeds from `WIDE_FROM` on, which draw every option that changes what is computed or
how: a subject, the modes that all seeds draw, and one or two more.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import glowmcu
from benchmarks.differential_executors import CallingHost, SharedCores, cores_apart, threads
from benchmarks.differential_modes import (
    CORES,
    POINTER,
    Modes,
    draw_modes,
    exchanged,
    with_flash_budget,
    with_other_weights,
)
from benchmarks.differential_others import draw_subject
from benchmarks.differential_outcome import Outcome
from benchmarks.differential_subjects import TFLM, Subject, Wanted
from benchmarks.differential_ways import (
    BOARDS,
    BUDGET,
    FLAGS,
    REFUSALS,
    ROOMY,
    STREAM_RUNS,
    Way,
    as_without_cross_compiler,
    draw_way,
    emulated,
    failure_text,
)
from benchmarks.random_draws import Generator, pick
from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.goals import Goal
from glowmcu.verify.host import Host
from glowmcu.verify.measurement import Array, Executor, output_entries
from tests.support.oracle import OracleRefused
from tests.support.quick_host import TCC, QuickHost

#: What may be refused beside `REFUSALS`: options that do not go together, or not with the network.
_WIDE_REFUSALS = REFUSALS | {
    "GM120", "GM121", "GM130", "GM153", "GM196", "GM197", "GM312", "GM350", "GM352", "GM360",
    "GM361", "GM362", "GM363", "GM626", "GM627", "GM774",
}  # fmt: skip
#: What a subject may not be: an output that is bound, a state that nothing changes or the only
#: input, rows of no image, a network whose form depends on its size, layers that cannot learn in
#: these numbers.
_NO_SUBJECT = {"GM105", "GM129", "GM130", "GM144", "GM360", "GM361", "GM362", "GM363"}
#: How often the ways are drawn that all seeds draw; a subject that takes no modes has a few.
_MODES = 0.72
_GOING_WITH_ALL = ("no simplification",)


@dataclass(frozen=True)
class _Made:
    """A bundle, how it was made, and the codes of requests that were not met."""

    bundle: glowmcu.Bundle
    way: Way
    modes: Modes
    unmet: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of all modes."""
        return tuple(dict.fromkeys((*self.way.modes, *self.modes.names)))


def run_wide(seed: int, folder: Path, thorough: bool) -> Outcome:
    """Compile and compare what the seed draws; files go to `folder`."""
    random = np.random.default_rng([8148, seed])
    board, goal = str(pick(random, BOARDS)), pick(random, tuple(Goal)).value
    facts: dict[str, Any] = {"seed": seed, "board": board, "goal": goal}
    try:
        subject = draw_subject(seed, random, folder)
    except OracleRefused as cause:
        return Outcome(**facts, refused=str(cause))
    except GlowmcuError as cause:
        if cause.exit_code is ExitCode.OUR_BUG:
            return Outcome(**facts, failure=failure_text())
        return Outcome(**facts, refused=f"{cause.code} before it is compiled")
    facts |= {"operators": subject.operators, "oracle": subject.oracle, "modes": subject.modes}
    try:
        case = _Case(seed, subject, random, folder, thorough)
        with ExitStack() as stack:
            if not thorough:
                stack.enter_context(as_without_cross_compiler())
            made = case.made(board, goal)
        facts["modes"], facts["board"] = (*subject.modes, *made.names), made.bundle.board.name
        facts["unmet"] = ", ".join(made.unmet)
        executors, facts["compiler"] = case.executors(made)
        facts["executors"] = tuple(executor.name for executor in executors)
        inputs = case.inputs(made.bundle)
        wanted = subject.wanted(made.bundle, inputs)
        failure = case.difference(made, executors, inputs, wanted)
    except OracleRefused as cause:
        return Outcome(**facts | {"refused": str(cause)})
    except KeyboardInterrupt:
        raise
    except GlowmcuError as cause:
        if cause.code in _NO_SUBJECT and subject.modes:
            return Outcome(**facts, refused=f"{cause.code} {subject.modes[0]}")
        return Outcome(**facts, failure=f"refused: {cause}".replace(f"{folder}/", ""))
    except Exception:  # noqa: BLE001 - whatever it is, it is what is looked for
        return Outcome(**facts, failure=failure_text())
    return Outcome(**facts, inputs=len(inputs), failure=failure)


@dataclass(frozen=True)
class _Case:
    seed: int
    subject: Subject
    random: Generator
    folder: Path
    thorough: bool

    def made(self, board: str, goal: str) -> _Made:
        """The bundle with all that was drawn, or with as much of it as goes together."""
        subject, random = self.subject, self.random
        way, modes = Way(), Modes()
        if subject.names:
            way = draw_way(random, subject.names, board)
        if not subject.takes_modes:
            way = _only(way, _GOING_WITH_ALL)
        elif random.random() < _MODES:
            data = subject.file.read_bytes()
            modes = draw_modes(random, data, self.folder, subject.has_states)
        # Mixed weights are chosen within the budget, so the oracle would have another network.
        asked = subject.arguments.get("quantization")
        if subject.takes_modes and getattr(asked, "weights", None) != "mixed":
            modes = with_flash_budget(modes, self.seed)
        board = modes.board or board
        unmet: list[str] = []
        for tried in ((way, modes), (Way(), modes), (way, Modes()), (Way(), Modes())):
            made = self._tried(board, goal, *tried, unmet)
            if made is not None:
                return made
        raise AssertionError("without modes nothing is refused that is not raised")

    def _tried(
        self, board: str, goal: str, way: Way, modes: Modes, unmet: list[str]
    ) -> _Made | None:
        """None where these modes do not go together; the code of that goes to `unmet`."""
        is_plain = way == Way() and modes == Modes()
        given = {**self.subject.arguments, **way.arguments, **modes.arguments}
        try:
            with modes.while_compiling():
                bundle = self._compile(given, board, goal)
        except GlowmcuError as cause:
            if is_plain and cause.exit_code is ExitCode.DOES_NOT_FIT and board != ROOMY:
                return self._tried(ROOMY, goal, way, modes, unmet)
            if is_plain or cause.code not in _WIDE_REFUSALS:
                raise
            unmet.append(cause.code)
            return None
        made = _Made(bundle, way, modes, tuple(dict.fromkeys(unmet)))
        return self._asked_more(made, given, board, goal)

    def _asked_more(self, made: _Made, given: dict[str, Any], board: str, goal: str) -> _Made:
        """With what only a bundle made before tells: a budget, kernels, places."""
        way, modes, unmet = made.way, made.modes, made.unmet
        asked = {
            name: choose(made.bundle, self.random) for name, choose in modes.second.items()
        }  # fmt: skip
        if BUDGET in way.modes:
            asked[BUDGET] = {"arena_budget": max(1, made.bundle.manifest.arena_bytes * 4 // 5)}
        bundle, refused = made.bundle, []
        for name, arguments in asked.items():
            try:
                with modes.while_compiling():
                    bundle = self._compile({**given, **arguments}, board, goal)
            except GlowmcuError as cause:
                if cause.code not in _WIDE_REFUSALS and not self._has_other_layers(cause):
                    raise
                # The folder has what was made without.
                refused.append(name)
                unmet = (*unmet, cause.code)
            else:
                given = {**given, **arguments}
        left = tuple(mode for mode in way.modes if mode not in refused)
        return _Made(bundle, replace(way, modes=left), modes.without(refused), unmet)

    def _has_other_layers(self, cause: GlowmcuError) -> bool:
        """How much of a window is kept depends on the budget, and a file names kernels of layers
        that there are without one.
        """
        return cause.code == "GM507" and "sliding window" in self.subject.modes

    def _compile(
        self, given: dict[str, Any], board: str, goal: str, model: Path | None = None
    ) -> glowmcu.Bundle:
        output = self.folder / ("bundle" if model is None else "other")
        given = {"name": "net", **given, "board": board, "optimize": goal, "output": output}
        return glowmcu.compile(self.subject.file if model is None else model, **given)

    def executors(self, made: _Made) -> tuple[list[Executor], str]:
        """Where the bundle runs: this computer in the way that was drawn, then perhaps its core."""
        random, modes, bundle = self.random, made.modes, made.bundle
        pieces = tuple(int(n) for n in random.integers(1, 5, 2))
        flags, is_second_first = tuple(pick(random, FLAGS)), bool(random.random() < 0.5)
        # tcc does not align members of the structure of weights, and its check says so.
        quick = not self.thorough and POINTER not in modes.names
        compiler = TCC if quick else " ".join(("cc", *flags[:2]))
        calls = modes.calls
        # Of a float network the other weights would have other scales.
        if modes.exchanged and POINTER in modes.names and not self.subject.is_float:
            calls, _ = exchanged(calls, bundle, self._other(made))
        found: list[Executor] = [QuickHost(pieces) if quick else Host(flags, pieces)]
        if not calls.are_plain or modes.flags:
            own = modes.flags if quick else (*flags, *modes.flags)
            found.append(CallingHost(calls, own, pieces, quick))
        if CORES in modes.names:
            found.append(threads(is_second_first))
            found += cores_apart(bundle.board, self.seed)
        found += emulated(bundle, self.seed, with_riscv=True)
        on_cores = bundle.board.core.startswith("cortex-m") and not bundle.manifest.states
        if CORES in modes.names and len(found) > 2 and on_cores:
            found.append(SharedCores(bundle.board, is_second_first))
        return found, compiler

    def _other(self, made: _Made) -> glowmcu.Bundle:
        """The same network with other weights, compiled in the same way."""
        file = self.folder / "other.tflite"
        file.write_bytes(with_other_weights(self.subject.file.read_bytes(), self.random))
        given = {**self.subject.arguments, **made.way.arguments, **made.modes.arguments}
        goal = made.bundle.manifest.options["optimize"]
        with ExitStack() as stack:
            if not self.thorough:
                stack.enter_context(as_without_cross_compiler())
            stack.enter_context(made.modes.while_compiling())
            return self._compile(given, made.bundle.board.name, goal, file)

    def inputs(self, bundle: glowmcu.Bundle) -> list[list[Array]]:
        """Random ones, all lowest, and each at an end or its zero point."""
        if self.subject.draw_inputs is not None:
            return self.subject.draw_inputs(bundle, self.random)
        count = STREAM_RUNS if bundle.manifest.states else 2
        return [
            [_drawn(self.random, entry, kind) for entry in bundle.manifest.inputs]
            for kind in range(2 - count, 4)
        ]

    def difference(
        self, made: _Made, executors: Sequence[Executor], inputs: Sequence[Sequence[Array]],
        wanted: Wanted,
    ) -> str:  # fmt: skip
        """Where an output is not what it has to be, in words."""
        manifest, first = made.bundle.manifest, None
        for executor in executors:
            found = executor.run(made.bundle.path, inputs)
            for number, (measured, want) in enumerate(zip(found, wanted, strict=True)):
                if want is None:
                    continue
                entries = output_entries(manifest, measured)
                if manifest.size is not None:
                    size = manifest.size_of([array.shape for array in inputs[number]])
                    entries = output_entries(manifest.at(size), measured)
                for got, meant, entry in zip(measured.outputs, want, entries, strict=True):
                    right = np.asarray(meant).reshape(got.shape)
                    text = self.subject.differs(got, right, entry)
                    if self.subject.oracle == TFLM and entry.exact and not text:
                        text = "" if got.tobytes() == right.tobytes() else "bits of zeros differ"
                    if text:
                        return f"on {executor.name}, input {number}: {text}"
            outputs = [[output.tobytes() for output in item.outputs] for item in found]
            is_same = first is None or outputs == first or made.bundle.manifest.pipeline
            if not is_same and all(entry.exact for entry in manifest.outputs):
                return f"on {executor.name}: other bytes than on {executors[0].name}"
            first = first or outputs
        return ""


def _only(way: Way, modes: Sequence[str]) -> Way:
    """Of the way that all seeds draw what goes with everything."""
    kept = tuple(mode for mode in way.modes if mode in modes)
    arguments = {"simplify": False} if "no simplification" in kept else {}
    return Way(arguments, kept)


def _drawn(random: Generator, entry: Any, kind: int) -> Array:
    if entry.dtype == "float32":
        return np.asarray(random.normal(0, 1, entry.shape)).astype(np.float32)
    limits = (0, 1)
    if entry.dtype != "bool":
        limits = np.iinfo(entry.dtype).min, np.iinfo(entry.dtype).max
    drawn = random.integers(limits[0], limits[1] + 1, entry.shape)
    if kind > 1:
        fill = limits[0] if kind == 2 else pick(random, (*limits, entry.zero_point or 0))
        drawn = np.full(entry.shape, fill)
    return np.asarray(drawn).astype(entry.dtype)
