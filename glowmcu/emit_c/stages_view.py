"""The C of a bundle whose stages run at rates of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from glowmcu.emit_c.c_text import unique_identifiers
from glowmcu.emit_c.views import StepView
from glowmcu.ir.cascade import Cascade
from glowmcu.ir.program import Program
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import PipelineEntry


@dataclass(frozen=True)
class StageView:
    """A stage, `symbol` in C: its first run is `first_run`, counted from 0."""

    name: str
    number: int
    symbol: str
    first_run: int
    period: int

    @property
    def is_always_due(self) -> bool:
        """Whether it computes in every run."""
        return self.first_run == 0 and self.period == 1


@dataclass(frozen=True)
class StagePart:
    """Steps of a stage without another's between them; `is_first` of the stage's parts. No name of
    a stage makes another's `function`, whatever its end.
    """

    stage: StageView
    function: str
    is_first: bool
    steps: tuple[StepView, ...]


@dataclass(frozen=True)
class StagesView:
    """A run takes `hop` samples of `sample_elements`; a stream begins with `backlog` of them, so
    that the first window is full when its last sample comes.
    """

    hop: int
    sample_elements: int
    backlog: int
    sample_rate: int | None
    stages: tuple[StageView, ...]
    parts: tuple[StagePart, ...]


def stages_view(
    program: Program, steps: Sequence[StepView], pipeline: PipelineEntry | None
) -> StagesView | None:
    """None for a bundle of one rate."""
    if pipeline is None:
        return None
    for item in program.steps:
        if isinstance(item, Cascade):
            assert len({run.node.stage for run in item.runs}) == 1, "a cascade of two stages"
    symbols = unique_identifiers((stage.name for stage in pipeline.stages), "stage")
    stages = tuple(
        StageView(stage.name, number, symbol, stage.first_run, stage.period)
        for number, (stage, symbol) in enumerate(zip(pipeline.stages, symbols, strict=True))
    )
    sizes = pipeline.hop, pipeline.sample_elements, pipeline.backlog, pipeline.sample_rate
    return StagesView(*sizes, stages, tuple(_parts(program, steps, stages)))


def _parts(
    program: Program, steps: Sequence[StepView], stages: Sequence[StageView]
) -> Iterator[StagePart]:
    """The steps in order, cut where the next is another stage's."""
    count = [0] * len(stages)
    numbered = zip((run.node.stage for run in program.runs), steps, strict=True)
    for number, group in groupby(numbered, key=lambda item: item[0]):
        stage = stages[number]
        count[number] += 1
        nth = str(count[number]) if count[number] > 1 else ""
        part = tuple(step for _, step in group)
        yield StagePart(stage, f"stage{nth}_{stage.symbol}", not nth, part)
