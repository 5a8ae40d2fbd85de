"""What an executor gives back: output tensors and, if it can tell, what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy.typing as npt

from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import Manifest, TensorEntry
from glowmcu.number_text import between

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class CycleRange:
    """Cycles from `low` to `high`: two where a chip may have one of several memories."""

    low: int
    high: int

    @property
    def text(self) -> str:
        """For people."""
        return between(self.low, self.high)


@dataclass(frozen=True)
class LayerCost:
    """Cost of one step of `<name>_run`, by its index in the manifest; None: not known.

    `cycles` are those of the core alone, `board_cycles` with its waits for the board's memories.
    """

    index: int
    name: str
    instructions: int | None
    cycles: int | None
    board_cycles: CycleRange | None = None


@dataclass(frozen=True)
class Measurement:
    """Result of one inference; None if this executor cannot tell. `is_laid_out_otherwise`: layers
    were measured in code with marks of its steps, where loops lie at other places than in that
    which ships.
    """

    outputs: tuple[Array, ...]
    instructions: int | None = None
    cycles: int | None = None
    stack_bytes: int | None = None
    layers: tuple[LayerCost, ...] = ()
    board_cycles: CycleRange | None = None
    is_laid_out_otherwise: bool = False


class Session(Protocol):
    """One stream of invocations of a bundle: what it remembers lives from one to the next."""

    def reset(self) -> None:
        """Begin a new stream."""

    def measure(self, arrays: Sequence[Array]) -> Measurement:
        """The next invocation. Raises GlowmcuError (GM6xx) as `Executor.run` does."""


class Replay:
    """The stream of an executor that runs whole lists only: each time from its beginning."""

    def __init__(self, executor: Executor, bundle_dir: Path) -> None:
        self._executor = executor
        self._bundle_dir = bundle_dir
        self._given: list[Sequence[Array]] = []

    def reset(self) -> None:
        """Begin a new stream."""
        self._given.clear()

    def measure(self, arrays: Sequence[Array]) -> Measurement:
        """The next invocation, after all before it."""
        measured = self._executor.run(self._bundle_dir, [*self._given, arrays])
        self._given.append([array.copy() for array in arrays])
        return measured[-1]


class Executor(Protocol):
    """A place where a bundle can run: `host`, `cortex-m`, `riscv`, `qemu`, `renode` or a board."""

    @property
    def name(self) -> str: ...

    def missing(self) -> str | None:
        """What has to be installed before this executor works here, or None."""

    def run(self, bundle_dir: Path, inputs: Sequence[Sequence[Array]]) -> list[Measurement]:
        """Run one inference for each entry of `inputs` (arrays in model input order). Where the
        bundle has states, they are the invocations of one stream, in order.

        Raises GlowmcuError (GM6xx) when the bundle does not build or run here.
        """


def output_entries(manifest: Manifest, measured: Measurement) -> tuple[TensorEntry, ...]:
    """Whose the outputs of a run are: of one that only inferred the loss, which is the last, is
    none of them.
    """
    entries = manifest.outputs
    is_without_loss = manifest.training is not None and len(measured.outputs) == len(entries) - 1
    return entries[:-1] if is_without_loss else entries
