"""Cycles that a real board counted beside those that are modelled: `bench --compare FILE`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from glowmcu.api.benchmark import Benchmark
from glowmcu.errors import GlowmcuError, error
from glowmcu.lazy_dataclass import dataclass
from glowmcu.notebook import Card, Column, Record, Shown
from glowmcu.number_text import count
from glowmcu.verify.measurement import LayerCost, Measurement
from glowmcu.verify.modelled import sureness_of

_HINT = (
    "make the file by `glowmcu bench BUNDLE --on serial:PORT --json > counts.json`, of the same "
    "bundle with --instrument"
)
_COLUMNS = (
    Column("step", "index", "count"), Column("operator", "op"), Column("modelled", "modelled"),
    Column("counted", "counted", "count"), Column("counted/modelled", "ratio", "number", 2),
    Column("layer", "name"),
)  # fmt: skip


@dataclass(frozen=True)
class CountedLayer:
    """Cycles of a layer: `low` to `high` are modelled, from the core alone in the better case to
    the board with its memories in the worse one; `counted` are a board's.
    """

    index: int
    name: str
    op: str
    low: float
    high: float
    counted: int

    @property
    def ratio(self) -> float:
        """`counted` over the nearer end of the modelled range; 1 inside the range."""
        if self.low <= self.counted <= self.high:
            return 1.0
        return self.counted / (self.low if self.counted < self.low else self.high)

    @property
    def modelled(self) -> str:
        """The modelled range as text: `1 200 to 1 350`."""
        return f"{count(round(self.low))} to {count(round(self.high))}"


@dataclass(frozen=True)
class CountComparison(Shown):
    """Cycles that a board counted beside modelled ones: the whole run (`total`) and its layers.

    `low` and `high` include how far silicon may be from the core's model.
    """

    total: CountedLayer
    layers: tuple[CountedLayer, ...]
    board: str

    @property
    def is_inside(self) -> bool:
        """Whether the run took what the model says that it may."""
        return self.total.ratio == 1.0

    @property
    def verdict(self) -> str:
        """One sentence: which of run and layers are outside the modelled range."""
        outside = [layer for layer in self.layers if layer.ratio != 1.0]
        if self.is_inside and not outside:
            return "every layer takes what the model says that silicon may"
        if self.is_inside:
            return (
                f"the run is within the model; {len(outside)} of {len(self.layers)} layers are not"
            )
        return f"the run takes {self.total.ratio:.2f} times what the model says: please tell us"

    def json(self) -> dict[str, object]:
        """The object under `counted` of `bench --compare FILE --json`."""
        rows = [{**asdict(layer), "ratio": layer.ratio} for layer in self.layers]
        return {**asdict(self.total), "ratio": self.total.ratio, "layers": rows}

    def _card(self) -> Card:
        records: list[Record] = [
            {
                "index": layer.index,
                "op": layer.op,
                "modelled": layer.modelled,
                "counted": layer.counted,
                "ratio": layer.ratio,
                "name": layer.name,
            }
            for layer in self.layers
        ]
        facts = (("modelled", self.total.modelled), ("counted", count(self.total.counted)))
        return Card(f"Counted on {self.board}", facts, _COLUMNS, records, (self.verdict,))


def compare_counts(found: Benchmark, file: Path) -> CountComparison:
    """The counts in `file`, as `bench --on serial:PORT --json` prints them, beside what was
    modelled. Raises GM725 for a file that has none of this bundle.
    """
    if found.measured.cycles is None:
        raise error("GM725", f"{found.on} models no cycles to compare with", str(found.path))
    body = _read(file, found)
    sure = sureness_of(found.core)

    def row(
        index: int, name: str, op: str, cost: LayerCost | Measurement, counted: int
    ) -> CountedLayer:
        cycles = cost.cycles or 0
        high = cycles if cost.board_cycles is None else cost.board_cycles.high
        return CountedLayer(index, name, op, sure.low * cycles, sure.high * high, counted)

    modelled = {layer.index: layer for layer in found.measured.layers}
    rows = []
    for index, counted in _layers(body, file):
        if index not in modelled:
            raise error("GM725", f"there is no step {index} in the bundle", str(file), _HINT)
        layer = found.manifest.layers[index]
        rows.append(row(index, layer.name, layer.op, modelled[index], counted))
    total = row(-1, "", "", found.measured, _number(body, "cycles", file))
    return CountComparison(total, tuple(rows), str(body.get("on", "a board")))


def _read(file: Path, found: Benchmark) -> Mapping[str, Any]:
    try:
        body = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as cause:
        what = cause.strerror if isinstance(cause, OSError) else "it is no JSON"
        raise error("GM725", f"cannot read the counts: {what}", str(file), _HINT) from cause
    if not isinstance(body, dict):
        raise error("GM725", "the counts must be an object", str(file), _HINT)
    ours, theirs = found.manifest.model_sha256, body.get("model_sha256", "")
    if theirs != ours:
        message = (
            f"the counts are of another model: {str(theirs)[:12] or 'none'}, here is {ours[:12]}"
        )
        raise error("GM725", message, str(file), _HINT)
    return body


def _layers(body: Mapping[str, Any], file: Path) -> list[tuple[int, int]]:
    layers = body.get("layers", [])
    if not isinstance(layers, Sequence) or not all(isinstance(row, dict) for row in layers):
        raise error("GM725", "layers must be a list of objects", str(file), _HINT)
    return [(_number(row, "index", file), _number(row, "cycles", file)) for row in layers]


def _number(row: Mapping[str, Any], key: str, file: Path) -> int:
    value = row.get(key)
    if type(value) is not int or value < 0:
        raise _no_number(key, value, file)
    return value


def _no_number(key: str, value: object, file: Path) -> GlowmcuError:
    return error("GM725", f"{key} must be a count, got {value!r}", str(file), _HINT)
