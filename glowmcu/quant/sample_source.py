"""Where samples come from, before there is a graph to check them against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from glowmcu.errors import error
from glowmcu.given_paths import is_folder
from glowmcu.ir.graph import Graph
from glowmcu.lazy_dataclass import dataclass
from glowmcu.quant.data_sets import as_array, columns_of, items_of
from glowmcu.quant.images import Preprocessing, with_images
from glowmcu.quant.sample_files import RECORDING_SUFFIXES, SINGLE_SUFFIXES, is_data, read_samples
from glowmcu.quant.samples import Sample, SampleData, Samples, joined, samples_of
from glowmcu.quant.trajectories import along_trajectories, without_states


@dataclass(frozen=True, eq=False)
class SampleSource:
    """Files and folders, data in memory, or samples that were read. `limit` is the number of
    samples to take at most.
    """

    data: str | Path | Sequence[str | Path] | SampleData
    preprocessing: Preprocessing | None = None
    limit: int | None = None

    def read(self, graph: Graph) -> Samples:
        """The samples, checked against the inputs of `graph`. Raises GM304 to GM309."""
        paths = paths_of(self.data)
        if isinstance(self.data, Samples):
            samples = self.data
        elif graph.states:
            samples = along_trajectories(graph, self._sequences(without_states(graph), paths))
        elif paths is None:
            samples = samples_of(graph, self._in_memory)
        elif not paths:
            raise error("GM306", "no samples: no file or folder was named")
        else:
            samples = joined([read_samples(graph, path, self.preprocessing) for path in paths])
        return samples if self.limit is None else evenly_picked(samples, self.limit)

    @cached_property
    def _in_memory(self) -> SampleData:
        """The data, the same for each that reads: an iterator gives its items once, and a loader
        others in each pass. Images in them are as the preprocessing says.
        """
        given: Any = self.data
        if columns_of(given) is not None:
            return given  # type: ignore[no-any-return]
        data: Any = as_array(given)
        if isinstance(data, np.ndarray | Mapping):
            return data
        items = items_of(data, "samples")
        return items if self.preprocessing is None else with_images(items, self.preprocessing)

    def _sequences(self, graph: Graph, paths: Sequence[Path] | None) -> list[Samples]:
        """Of a model with states: each file is a sequence, but where all hold a single sample."""
        if paths is None:
            return [samples_of(graph, self._in_memory)]
        if not paths:
            raise error("GM306", "no samples: no file or folder was named")
        files = [file for path in paths for file in _files(path)]
        parts = [read_samples(graph, file, self.preprocessing) for file in files]
        return [joined(parts)] if all(part.count == 1 for part in parts) else parts


def _files(path: Path) -> list[Path]:
    """What a folder holds of arrays or recordings, by name; a file, or a folder of other things, as
    it is.
    """
    inside = sorted(path.iterdir()) if is_folder(path) else []
    found = [file for file in inside if file.is_file() and is_data(Path(file.name))]
    known = (*SINGLE_SUFFIXES, *RECORDING_SUFFIXES)
    arrays = [file for file in found if file.suffix.lower() in known]
    return arrays or [path]


def paths_of(data: object) -> list[Path] | None:
    """`data` as paths; None if it is arrays."""
    if isinstance(data, str | Path):
        return [Path(data)]
    if isinstance(data, list | tuple) and all(isinstance(item, str | Path) for item in data):
        return [Path(item) for item in data]
    return None


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

    return Samples(make, limit, samples.notes)
