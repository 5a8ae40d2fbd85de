"""A pipeline's TOML file: which models come behind each other, how often each runs, what decides.

labels = ["okay nabu"]
[input]
rate = 16000                   # samples a second
[[stage]]
name = "features"
model = "audio_preprocessor.tflite"
hop = 160                      # new samples for each run
[[stage]]
name = "wake"
model = "okay_nabu.tflite"
hop = 3                        # runs of the stage before for each of this one
[decision]
average = 5                    # results of the last stage
threshold = 0.9
distance = 30
"""

from __future__ import annotations

import difflib
import importlib
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glowmcu.errors import GlowmcuError, Problem, error
from glowmcu.labels import checked_labels
from glowmcu.lazy_dataclass import dataclass

# The standard library has the TOML reader since Python 3.11; `tomli` is the same code before that.
_TOML = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")
_MOST_BYTES = 1 << 20
#: Far more than any of them makes sense; sums of scores stay within 32 bits.
_MOST_STAGES, _MOST_HOP, _MOST_AVERAGED, _MOST_DISTANCE = 16, 1 << 20, 4096, 1 << 24


@dataclass(frozen=True)
class StageDescription:
    """One model. `hop`: how many new samples, or runs of the stage before, it waits for; None: as
    many as its input has. `input` and `output` name those that the data goes through, "" the only
    ones. `samples` or `profile` quantize a float model; `slide`: new rows of the input a run;
    `camera`: the frame that the first one's image is made of.
    """

    name: str
    model: Path
    hop: int | None = None
    input: str = ""
    output: str = ""
    samples: Path | None = None
    profile: Path | None = None
    slide: int | None = None
    camera: str = ""


@dataclass(frozen=True)
class DecisionDescription:
    """The mean of the last `average` results must reach `threshold`; for `distance` results after a
    decision there is no other. Classes in `ignore` are no decisions.
    """

    average: int = 1
    threshold: float = 0.0
    distance: int = 0
    ignore: tuple[str | int, ...] = ()


@dataclass(frozen=True)
class Description:
    """A pipeline. `rate`: samples a second, None if the file does not say."""

    file: Path
    text: bytes
    stages: tuple[StageDescription, ...]
    decision: DecisionDescription | None = None
    labels: tuple[str, ...] | None = None
    rate: int | None = None


def read_description(path: Path) -> Description:
    """The pipeline in the file at `path`; its models are files beside it.

    Raises GM150 with every mistake, GM125 and GM126 for labels.
    """
    text = _read(path)
    try:
        body: dict[str, Any] = _TOML.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError) as cause:
        raise error("GM150", f"no TOML: {cause}", str(path), _HINT) from cause
    table = _Table(body, str(path), "", [])
    stages = tuple(
        _stage(table.inner(row, f"stage[{number}]."), path.parent)
        for number, row in enumerate(table.tables("stage"))
    )
    given = table.inner(table.table("input"), "input.")
    rate = given.number("rate", 1, 1 << 30)
    given.done()
    decision = None
    if "decision" in body:
        decision = _decision(table.inner(table.table("decision"), "decision."))
    labels = table.get("labels", list)
    table.done()
    _check_stages(table, stages)
    if table.problems:
        raise GlowmcuError(table.problems)
    checked = None if labels is None else checked_labels(labels, str(path))
    return Description(path, text, stages, decision, checked, rate)


_HINT = "docs/pipelines.md shows a complete file"


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as cause:
        raise error(
            "GM150", f"cannot read the pipeline: {cause.strerror}", str(path), "check the path"
        ) from cause
    if len(data) > _MOST_BYTES:
        raise error("GM150", f"a pipeline's file has at most {_MOST_BYTES} bytes", str(path), _HINT)
    return data


def _stage(table: _Table, folder: Path) -> StageDescription:
    name, model = table.text("name"), table.text("model")
    if name and _NAME.fullmatch(name) is None:
        table.add("name", f"is {name!r}; letters, digits and _ make a name of C")
    for key, value in (("name", name), ("model", model)):
        if not value:
            table.add(key, "is missing")
    samples, profile = table.text("samples"), table.text("profile")
    if samples and profile:
        table.add("profile", "and samples: one of them says the ranges")
    stage = StageDescription(
        name,
        folder / model,
        table.number("hop", 1, _MOST_HOP),
        table.text("input"),
        table.text("output"),
        folder / samples if samples else None,
        folder / profile if profile else None,
        table.number("slide", 1, _MOST_HOP),
        table.text("camera"),
    )
    table.done()
    return stage


def _decision(table: _Table) -> DecisionDescription:
    threshold = table.get("threshold", float)
    ignore = table.get("ignore", list) or []
    if not all(type(item) in (str, int) for item in ignore):
        table.add("ignore", f"is {ignore!r}; it must be labels or numbers of classes")
        ignore = []
    found = DecisionDescription(
        table.number("average", 1, _MOST_AVERAGED) or 1,
        0.0 if threshold is None else threshold,
        table.number("distance", 0, _MOST_DISTANCE) or 0,
        tuple(ignore),
    )
    table.done()
    return found


def _check_stages(table: _Table, stages: tuple[StageDescription, ...]) -> None:
    names = [stage.name for stage in stages if stage.name]
    for name in sorted({name for name in names if names.count(name) > 1}):
        table.add("stage.name", f"{name!r} is what two stages are called")
    for name in {"decision", "samples"}.intersection(names):
        table.add("stage.name", f"{name!r} is what another stage is called already")
    if not 1 <= len(stages) <= _MOST_STAGES:
        table.add("stage", f"has {len(stages)} [[stage]] tables; 1 to {_MOST_STAGES} fit")
    for stage in stages[1:]:
        if stage.camera:
            table.add("camera", f"of {stage.name!r}: only the first stage gets frames")


_WORDS = {str: "a string", int: "an integer", float: "a number", list: "an array", dict: "a table"}


class _Table:
    """Reads a table key by key and collects what is wrong with it."""

    def __init__(
        self, body: Mapping[str, Any], file: str, where: str, problems: list[Problem]
    ) -> None:
        self._body, self._file, self._where = body, file, where
        self._known: list[str] = []
        self.problems = problems

    def add(self, key: str, message: str, hint: str = _HINT) -> None:
        self.problems.append(Problem("GM150", f"{self._where}{key} {message}", self._file, hint))

    def get(self, key: str, kind: type) -> Any:  # noqa: ANN401 - TOML
        """The value, None if it is missing or of another kind."""
        self._known.append(key)
        value = self._body.get(key)
        if kind is float and type(value) is int:
            value = float(value)
        if value is None or type(value) is kind:
            return value
        self.add(key, f"is {value!r}; it must be {_WORDS[kind]}")
        return None

    def text(self, key: str) -> str:
        return self.get(key, str) or ""

    def number(self, key: str, least: int, most: int) -> int | None:
        value: int | None = self.get(key, int)
        if value is not None and not least <= value <= most:
            self.add(key, f"is {value}; it must be {least} to {most}")
            return None
        return value

    def table(self, key: str) -> dict[str, Any]:
        return self.get(key, dict) or {}

    def tables(self, key: str) -> list[dict[str, Any]]:
        if isinstance(self._body.get(key), dict):
            self._known.append(key)
            self.add(key, f"is one table; write [[{key}]] with two brackets, once for each")
            return []
        rows = self.get(key, list) or []
        for number, row in enumerate(rows):
            if not isinstance(row, dict):
                self.add(key, f"[{number}] is {row!r}; it must be a [[{key}]] table")
        return [row for row in rows if isinstance(row, dict)]

    def inner(self, body: Mapping[str, Any], where: str) -> _Table:
        return _Table(body, self._file, where, self.problems)

    def done(self) -> None:
        """Whatever nobody asked for is a mistake."""
        for key in self._body:
            if key not in self._known:
                near = difflib.get_close_matches(key, self._known, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(self._known)}"
                self.add(key, "is no key of this table", hint)
