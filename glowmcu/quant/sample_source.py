"""Where samples come from, before there is a graph to check them against."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from glowmcu.errors import error
from glowmcu.ir.graph import Graph
from glowmcu.quant.images import Preprocessing
from glowmcu.quant.sample_files import read_samples
from glowmcu.quant.samples import Sample, SampleData, Samples, samples_of


@dataclass(frozen=True, eq=False)
class SampleSource:
    """Files and folders, or data in memory. `limit` is the number of samples to take at most."""

    data: str | Path | Sequence[str | Path] | SampleData
    preprocessing: Preprocessing | None = None
    limit: int | None = None

    def read(self, graph: Graph) -> Samples:
        """The samples, checked against the inputs of `graph`. Raises GM304 to GM309."""
        paths = paths_of(self.data)
        if paths is None:
            samples = samples_of(graph, self.data)  # type: ignore[arg-type]
        elif not paths:
            raise error("GM306", "no samples: no file or folder was named")
        else:
            samples = _joined([read_samples(graph, path, self.preprocessing) for path in paths])
        return samples if self.limit is None else evenly_picked(samples, self.limit)


def paths_of(data: object) -> list[Path] | None:
    """`data` as paths; None where it is arrays."""
    if isinstance(data, str | Path):
        return [Path(data)]
    if isinstance(data, list | tuple) and all(isinstance(item, str | Path) for item in data):
        return [Path(item) for item in data]
    return None


def _joined(parts: Sequence[Samples]) -> Samples:
    counts = [part.count for part in parts if part.count is not None]
    known = len(counts) == len(parts)
    return Samples(lambda: itertools.chain.from_iterable(parts), sum(counts) if known else None)


def evenly_picked(samples: Samples, limit: int) -> Samples:
    """At most `limit`, evenly spread: data are often sorted by class."""
    if samples.count is None:
        return samples.first(limit)
    count = samples.count
    if count <= limit:
        return samples
    wanted = {index * count // limit for index in range(limit)}

    def make() -> Iterator[Sample]:
        return (sample for index, sample in enumerate(samples) if index in wanted)

    return Samples(make, limit)
