"""Random pipelines, and what they compute, told by interpreters one behind the other."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from glowmcu.ir.interpreter import Session
from glowmcu.ir.operation import Array
from glowmcu.pipeline import reference_graph
from tests.support.stream_models import StreamModel


@dataclass(frozen=True)
class Network:
    """A model of int8[1, rows, 1, channels], and what comes out."""

    data: bytes
    rows: int
    channels: int
    rows_out: int
    channels_out: int


def network(seed: int, rows: int, channels: int) -> Network:
    """A layer or two, of which some remember."""
    model = StreamModel(seed, begins=seed % 3 != 0)
    random = model.random
    given = x = model.input(rows, channels)
    if random.random() < 0.5:
        x = model.running(x) if random.random() < 0.5 else model.delayed(x)
    if random.random() < 0.5:
        x = model.queue(x, int(random.integers(1, 4)))
    x = model.conv(x, int(random.integers(1, x.rows + 1)), int(random.integers(1, 6)))
    model.builder.output(x.ref)
    return Network(model.finish(), given.rows, channels, x.rows, x.channels)


@dataclass(frozen=True)
class Decision:
    """As the file says it."""

    average: int
    threshold: float
    distance: int
    ignore: tuple[int, ...] = ()


@dataclass
class Pipeline:
    """Models with their hops: of the first in samples, of the others in runs of the one before."""

    networks: list[Network]
    hops: list[int]
    decision: Decision | None = None
    sessions: list[Session] = field(init=False)

    def __post_init__(self) -> None:
        graphs = [reference_graph(item.data, "m.tflite") for item in self.networks]
        self.sessions = [Session(graph) for graph in graphs]
        self._scale = graphs[-1].results[0].type
        self._rows: list[list[Array]] = [[] for _ in graphs]
        self._since = [0 for _ in graphs]
        self._scores: list[Array] = []
        self._wait = 0

    def write(self, folder: Path) -> Path:
        """The TOML file and its models."""
        text = ["[input]", "rate = 1000"]
        for number, (item, hop) in enumerate(zip(self.networks, self.hops, strict=True)):
            (folder / f"m{number}.tflite").write_bytes(item.data)
            text += ["[[stage]]", f'name = "s{number}"', f'model = "m{number}.tflite"']
            text += [f"hop = {hop}"]
        if (decision := self.decision) is not None:
            text += ["[decision]", f"average = {decision.average}"]
            text += [f"threshold = {decision.threshold!r}", f"distance = {decision.distance}"]
            text += [f"ignore = {list(decision.ignore)}"]
        file = folder / "pipe.toml"
        file.write_text("\n".join(text) + "\n", encoding="utf-8")
        return file

    def push(self, samples: Array) -> list[list[Array]]:
        """Samples [n, channels]; the results that are new, each all that the application sees."""
        found = []
        for sample in samples:
            found += self._feed(0, [sample])
        return found

    def _feed(self, stage: int, rows: list[Array]) -> list[list[Array]]:
        """New rows for a stage, from one run of the one before it or one sample."""
        item, kept = self.networks[stage], self._rows[stage]
        kept += rows
        self._since[stage] += 1
        runs = item.rows if stage == 0 else item.rows // len(rows)
        if self._since[stage] < runs:
            return []
        if (self._since[stage] - runs) % self.hops[stage]:
            return []
        del kept[: len(kept) - item.rows]
        window = np.stack(kept).reshape(1, item.rows, 1, item.channels)
        (result,) = self.sessions[stage].run([window])
        if stage + 1 < len(self.networks):
            # One scale everywhere, but what a convolution gives has its zero at the lower end.
            given = np.clip(result.astype(np.int64) + 128, -128, 127).astype(np.int8)
            return self._feed(stage + 1, list(given.reshape(item.rows_out, -1)))
        if self.decision is None:
            return [[result]]
        return [[result, np.array([self._decide(result.reshape(-1))], np.int32)]]

    def _decide(self, scores: Array) -> int:
        """In real numbers where integers are exact: means of stored values and a threshold."""
        decision, type_ = self.decision, self._scale
        assert decision is not None
        if not self._scores:
            self._scores = [np.full(scores.shape, type_.zero_point)] * decision.average
        self._scores = [*self._scores, scores.astype(np.int64)][-decision.average :]
        if self._wait > 0:
            self._wait -= 1
            return -1
        sums = np.sum(self._scores, axis=0)
        allowed = [at for at in range(len(sums)) if at not in decision.ignore]
        best = max(allowed, key=lambda at: (sums[at], -at))
        least = math.ceil(decision.average * (decision.threshold / type_.scale + type_.zero_point))
        if sums[best] < least:
            return -1
        self._wait = decision.distance
        return best


def random_pipeline(seed: int) -> Pipeline:
    """One to three stages, with a decision or without."""
    random = np.random.default_rng([11, seed])
    networks, hops = [], []
    rows, channels = int(random.integers(1, 9)), int(random.integers(1, 5))
    for stage in range(int(random.integers(1, 4))):
        item = network(17 * seed + stage, rows, channels)
        runs = item.rows if stage == 0 else item.rows // networks[-1].rows_out
        hops.append(int(random.integers(1, runs + (stage > 0) + 1)))
        networks.append(item)
        rows, channels = item.rows_out * int(random.integers(1, 4)), item.channels_out
    classes = networks[-1].rows_out * networks[-1].channels_out
    decision = None
    if random.random() < 0.7:
        ignore = tuple(int(at) for at in range(1, classes) if random.random() < 0.2)
        decision = Decision(int(random.integers(1, 5)), float(random.uniform(0.0, 2.0)),
                            int(random.integers(0, 4)), ignore)  # fmt: skip
    return Pipeline(networks, hops, decision)
