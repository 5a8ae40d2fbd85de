"""How far planning has come: what a progress bar is told.

Steps are counted, never guessed: layers of whose kernels the costs are known, of all layers; plans
that are made, whose number is not known before.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from glowmcu.lazy_dataclass import dataclass


class Stage(Enum):
    """What is counted."""

    KERNELS = "kernels"
    ROW_KERNELS = "row kernels"
    PLANS = "plans"


@dataclass(frozen=True)
class PlanningProgress:
    """`done` of `total` (None: the end is not known); `arena_bytes`: the least so far, if any."""

    stage: Stage
    done: int
    total: int | None = None
    arena_bytes: int | None = None


PlanningObserver = Callable[[PlanningProgress], None]


class PlanningWatch:
    """Counts for an observer, if there is one."""

    def __init__(self, observer: PlanningObserver | None = None) -> None:
        self._observer = observer
        self._plans = 0
        self._least_bytes: int | None = None

    def layers(self, stage: Stage, done: int, total: int) -> None:
        """Report that `done` of `total` layers have kernels with known costs."""
        self._tell(PlanningProgress(stage, done, total, self._least_bytes))

    def plan_begins(self) -> None:
        """The layers are known, their plan is not."""
        self._tell(PlanningProgress(Stage.PLANS, self._plans, None, self._least_bytes))

    def plan_ends(self, arena_bytes: int) -> None:
        """A plan was made."""
        self._plans += 1
        known = self._least_bytes
        self._least_bytes = arena_bytes if known is None else min(known, arena_bytes)
        self.plan_begins()

    def _tell(self, progress: PlanningProgress) -> None:
        if self._observer is not None:
            self._observer(progress)
