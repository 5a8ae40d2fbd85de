"""Which kernels are best for a model when they are measured instead of estimated.

Every candidate of every layer runs once on the modelled core; layers that are equal count as one.
Selection then searches with the measured cycles, the goal and the budgets as always. Who measures
keeps nothing: what is measured goes to the cache here, so that what breaks off goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from glowmcu.board import Board
from glowmcu.compilation import Compilation, Options
from glowmcu.cores import core
from glowmcu.errors import ExitCode, error
from glowmcu.ir.graph import Node
from glowmcu.ir.value_ranges import value_ranges
from glowmcu.kernels.kernel import Target, load_kernels, site_of
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.kernels.selection.select import Selection
from glowmcu.lazy_dataclass import dataclass
from glowmcu.memory_fit import fit_memory
from glowmcu.pipeline import compile_model
from glowmcu.tuning.kernel_cache import KernelCache
from glowmcu.tuning.kernel_trials import Trial, measure, on_board, trial
from glowmcu.tuning.workers import HERE, Task, Workers, working
from glowmcu.verify.toolchain import compiler_version


@dataclass(frozen=True)
class KernelProgress:
    """Measurements done and wanted; `kernel` is being measured."""

    done: int
    total: int
    kernel: str


KernelTuningObserver = Callable[[KernelProgress], None]
Cycles = dict[str, dict[str, float]]


@dataclass(frozen=True)
class KernelTuning:
    """`before` by estimates, `after` by measured cycles; `cycles` by layer and kernel.

    `measured` candidates ran now, `known` ones were in the cache, `equal` ones were as another.
    `on_board`: waits for the board's memories count.
    """

    before: Compilation
    after: dict[Node, Selection]
    cycles: Cycles
    measured: int
    known: int
    equal: int
    on_board: bool = False

    def total(self, selections: dict[Node, Selection]) -> float:
        """Measured cycles of all layers."""
        return sum(self.cycles[node.name][item.kernel_name] for node, item in selections.items())


def tune_kernels(
    data: bytes,
    file_name: str,
    options: Options,
    cache: KernelCache,
    observer: KernelTuningObserver | None = None,
    board: Board | None = None,
    workers: Workers = HERE,
) -> KernelTuning:
    """With a `board` its memories count if they are known. Raises as `compile_model` does, GM61x
    and GM65x where nothing can be measured here, GM353 for a cluster that cannot be used.
    """
    before = compile_model(data, file_name, replace(options, kernels=None))
    target = Target(core(options.core), options.goal)
    trials = _trials(before, target, board)
    unique = {item.key: item for found in trials.values() for item in found.values()}
    stored = {key: cache.get(key) for key in unique}
    known = {key: value for key, value in stored.items() if value is not None}
    wanted = [item for key, item in unique.items() if key not in known]
    measured = _measure(wanted, _Machine(target, board), workers, cache, observer)
    every = {**known, **measured}
    cycles = {
        node.name: {kernel: every[item.key] for kernel, item in found.items()}
        for node, found in trials.items()
    }
    choices = KernelChoices(cycles=cycles)
    after = fit_memory(before.graph, target, options.budgets, choices).selections
    count = sum(map(len, trials.values()))
    waits, equal = on_board(board, target) is not None, count - len(unique)
    return KernelTuning(before, after, cycles, len(wanted), len(known), equal, waits)


def _trials(
    compilation: Compilation, target: Target, board: Board | None
) -> dict[Node, dict[str, Trial]]:
    """By node and kernel."""
    graph = compilation.graph
    ranges = value_ranges(graph)
    found: dict[Node, dict[str, Trial]] = {}
    for node, item in compilation.selections.items():
        site = site_of(graph, node, ranges)
        kernels = [item.kernel_name, *(name for name, _ in item.alternatives)]
        found[node] = {name: trial(site, name, target, board) for name in kernels}
    return found


@dataclass(frozen=True)
class _Machine:
    """What kernels are measured on."""

    target: Target
    board: Board | None


@dataclass(frozen=True)
class _Measured:
    """Cycles of trials of one kernel, by what compiled them."""

    kernel: str
    found: tuple[tuple[Trial, float], ...]
    compiler: str


def _machine(given: _Machine) -> _Machine:
    return given


def _measure_together(machine: _Machine, together: tuple[Trial, ...]) -> _Measured:
    """Of trials that have a kernel in common; on whatever computer."""
    load_kernels()
    found = tuple(measure(together, machine.target, machine.board))
    return _Measured(together[0].kernel, found, compiler_version())


def _measure(
    wanted: list[Trial],
    machine: _Machine,
    workers: Workers,
    cache: KernelCache,
    observer: KernelTuningObserver | None,
) -> dict[str, float]:
    measured: dict[str, float] = {}
    kernels = list(dict.fromkeys(item.kernel for item in wanted))
    together = [tuple(item for item in wanted if item.kernel == kernel) for kernel in kernels]

    def tell(kernel: str) -> None:
        if observer is not None and wanted:
            observer(KernelProgress(len(measured), len(wanted), kernel))

    task = Task(machine, _machine, _measure_together)
    with working(task, workers, machine) as compute:
        tell(kernels[0] if kernels else "")
        for number, done in enumerate(compute(together) if together else (), 1):
            _expect_compiler(done.compiler, workers)
            for item, cycles in done.found:
                measured[item.key] = cycles
                what = f"{done.kernel} on {item.site.node.name} {machine.target.core.name}"
                cache.put(item.key, cycles, what)
            tell(kernels[number] if number < len(kernels) else "")
    return measured


def _expect_compiler(there: str, workers: Workers) -> None:
    """Raise GM353 where another compiler has measured: its cycles are not those of this one."""
    if there != (here := compiler_version()):
        raise error(
            "GM353",
            f"a worker compiles with {there}, and here is {here}",
            workers.address,
            "workers and this computer need the same cross compiler",
            ExitCode.USAGE,
        )
