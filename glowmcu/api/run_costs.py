"""The cost of a pipeline, whose stages do not all compute in every run."""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import Manifest
from glowmcu.number_text import count
from glowmcu.verify.measurement import Measurement


@dataclass(frozen=True)
class RunCosts:
    """Runs from one result to the next: `period` is their number, `mean_cycles` the average cycles
    per run, `runs_per_second` None if the sample rate is unknown.
    """

    period: int
    mean_cycles: float
    runs_per_second: float | None

    @property
    def cycles_per_second(self) -> float | None:
        """Average cycles per second of the stream; None if the sample rate is unknown."""
        return None if self.runs_per_second is None else self.mean_cycles * self.runs_per_second

    def line(self, clock_hz: int | None) -> str:
        """A sentence for people."""
        text = (
            f"above: a run in which every stage computes, one of {self.period}; on average a run "
            f"takes {count(round(self.mean_cycles))} cycles"
        )
        if self.cycles_per_second is None:
            return text
        text += f", {count(round(self.cycles_per_second))} a second"
        if clock_hz:
            text += f" ({100 * self.cycles_per_second / clock_hz:.1f} % of {clock_hz // 10**6} MHz)"
        return text

    def json(self) -> dict[str, object]:
        """The figures as fields of `bench --json`."""
        return {
            "period_runs": self.period,
            "mean_cycles": self.mean_cycles,
            "cycles_per_second": self.cycles_per_second,
        }


def run_count(manifest: Manifest) -> int:
    """How many runs of a stream show everything that it computes."""
    if manifest.pipeline is None:
        return 1
    last = manifest.pipeline.stages[-1]
    return last.first_run + last.period


def run_costs(manifest: Manifest, runs: Sequence[Measurement]) -> RunCosts | None:
    """None for a bundle of one rate; `runs` are the first `run_count` of a stream."""
    pipeline = manifest.pipeline
    if pipeline is None:
        return None
    period = pipeline.stages[-1].period
    cycles = [run.cycles or 0 for run in runs[-period:]]
    rate = pipeline.sample_rate
    per_second = None if rate is None else rate / pipeline.hop
    return RunCosts(period, sum(cycles) / period, per_second)


def full_run(manifest: Manifest, runs: Sequence[Measurement]) -> Measurement:
    """The one in which every stage computes."""
    period = 1 if manifest.pipeline is None else manifest.pipeline.stages[-1].period
    return runs[-period]
