"""What a fault campaign runs: bundles, the cores they are for, and the calls of an inference.

A run of a model with states begins with NAME_reset. A pipeline is given samples until its last
stage computes; a bundle that learns is given a class, so that the run is a step of learning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import glowmcu
from benchmarks.models import REPO, SHARED
from benchmarks.random_networks import FourBitBuilder
from glowmcu.manifest import Manifest
from glowmcu.verify.measurement import Array
from tests.learning.fixed_models import windows
from tests.support.onnx_models import onnx_model
from tests.support.pipelines import random_pipeline
from tests.support.stream_models import StreamModel

CORES = {
    "cortex-m0plus": "rp2040",
    "cortex-m3": "mps2-an385",
    "cortex-m4": "nucleo-l4r5zi",
    "cortex-m33": "nrf5340",
    "cortex-m55": "mps3-an547",
}


@dataclass(frozen=True)
class Case:
    """A bundle on a core: `options` are those of `glowmcu.compile`, `name` tells both."""

    model: str
    core: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Model, options and core in words."""
        said = [
            str(value) if isinstance(value, str) else key for key, value in self.options.items()
        ]
        return " ".join([self.model, *said, "on", self.core])

    def file(self) -> tuple[str, bytes]:
        """Name and content of the model's file."""
        return _models()[self.model]()

    def compile(self, folder: Path) -> glowmcu.Bundle:
        """The bundle `m` in `folder`."""
        if self.model in _PIPELINES:
            path = _PIPELINES[self.model](folder)
        else:
            file, data = self.file()
            path = folder / file
            path.write_bytes(data)
        return glowmcu.compile(
            path, board=CORES[self.core], output=folder / "m", name="m", **self.options
        )


def _file(path: Path) -> tuple[str, bytes]:
    return path.name, path.read_bytes()


def _by_index(kind: str) -> tuple[str, bytes]:
    """An operator whose indices lie in the arena, where the application wrote them."""
    indices: dict[str, tuple[int, ...]] = {
        "Gather": (6,), "GatherND": (5, 2), "GatherElements": (2, 3, 2),
        "ScatterElements": (2, 3, 2), "ScatterND": (2, 3, 2),
    }  # fmt: skip
    updates = {"ScatterElements": (2, 3, 2), "ScatterND": (2, 3, 5)}
    operands = [("x", "float32", (4, 3, 5)), ("indices", "int64", indices[kind])]
    if kind in updates:
        operands.append(("updates", "float32", updates[kind]))
    return f"{kind}.onnx", onnx_model(kind, operands)


def _four_bit_stream() -> tuple[str, bytes]:
    """Queues in front of windows, of weights of four bits, a sum over time, and what was before."""
    model = StreamModel(7, builder=FourBitBuilder())
    x = model.input(2, 6)
    x = model.conv(model.queue(x, 3), 4, 8)
    x = model.depthwise(model.queue(x, 2), 3)
    x = model.conv(model.running(model.delayed(x)), 1, 5)
    model.builder.output(x.ref)
    return "stream.tflite", model.finish()


#: Of three stages with rates of their own, and of one with a decision that ignores classes.
_PIPELINES: dict[str, Callable[[Path], Path]] = {
    "pipeline": lambda folder: random_pipeline(2).write(folder),
    "pipeline of one": lambda folder: random_pipeline(3).write(folder),
    "wake word": lambda _: REPO / "examples/wake_word/wake_word.toml",
}


@cache
def _models() -> dict[str, Callable[[], tuple[str, bytes]]]:
    files = {
        "digits": REPO / "examples/digits/digits_int8.tflite",
        "vowels": REPO / "examples/vowels/model_float.tflite",
        "gestures": REPO / "examples/gestures/model_float.tflite",
        **{name: SHARED / f"{name}_int8.tflite" for name in ("kws", "vww", "ic", "ad", "sww")},
    }
    kinds = ("Gather", "GatherND", "GatherElements", "ScatterElements", "ScatterND")
    return {
        **{name: partial(_file, path) for name, path in files.items() if path.is_file()},
        **{kind: partial(_by_index, kind) for kind in kinds},
        "four-bit stream": _four_bit_stream,
        "windows": lambda: ("windows.tflite", windows()),
    }


#: What learns, in which numbers: gradients in fixed point and in float32, means and neighbours.
_LEARNING: tuple[tuple[str, dict[str, Any]], ...] = (
    ("windows", {"train": "last=3", "train_numbers": "fixed", "momentum": 0.5}),
    ("digits", {"train": "last=2", "train_numbers": "float32"}),
    ("digits", {"train": "neighbours=3x2"}),
    ("digits", {"train": "prototypes=3"}),
)


_RAM = {"optimize": "ram"}
#: Models that are run in ways of their own, on these cores.
_STATEFUL = ("four-bit stream", "windows")
_STATEFUL_CORES = ("cortex-m55", "cortex-m4", "cortex-m0plus")


def cases() -> list[Case]:
    """All that can be compiled here; a campaign takes them in turn."""
    found = []
    for core in CORES:
        found += [Case(model, core) for model in _models() if model not in _STATEFUL]
        for model, rows in (("digits", "pixels"), ("kws", "input_1")):
            found += [
                Case(model, core, _RAM),
                Case(model, core, {**_RAM, "steps": True}),
                Case(model, core, {**_RAM, "stream_inputs": (rows,)}),
            ]
    for core in _STATEFUL_CORES:
        found += [Case(model, core) for model in ("four-bit stream", "pipeline", "pipeline of one")]
        found += [
            Case(model, core, options) for model, options in _LEARNING
            if options.get("train_numbers") != "float32" or core != "cortex-m0plus"
        ]  # fmt: skip
        found += [Case("wake word", core)] if core != "cortex-m0plus" else []
    return [case for case in found if case.model in (*_models(), *_PIPELINES)]


@dataclass(frozen=True)
class Calls:
    """An inference: calls of `first`, then `again` as long as it returns more than 0, at most
    `most` times. An argument that is a pair grows by its second with each turn.
    """

    first: tuple[tuple[str, tuple[int, ...]], ...]
    again: str
    arguments: tuple[int | tuple[int, int], ...]
    most: int

    def turn(self, number: int) -> list[int]:
        """The arguments of turn `number`."""
        return [a if isinstance(a, int) else a[0] + a[1] * number for a in self.arguments]


def calls_of(manifest: Manifest, arena: int, outside: Sequence[int], shown: int) -> Calls:
    """How the application runs it: `shown` is the address of a streamed input's rows."""
    name = manifest.name
    begun = ((manifest.reset_function, (arena,)),) if manifest.states else ()
    if manifest.pipeline is not None:
        push = manifest.pipeline.push_function
        return Calls(begun, push, (arena, shown, sample_count(manifest)), 1)
    if manifest.streamed_input is not None:
        rows = manifest.inputs[manifest.streamed_input].rows
        assert rows is not None
        start, push = manifest.entry_points
        return Calls(((start, (arena,)),), push, (arena, (shown, rows.bytes), 1), rows.count)
    if manifest.options.get("run_steps"):
        assert not outside
        return Calls(((f"{name}_begin", (arena,)),), f"{name}_run_steps", (arena, 1), 1 << 16)
    return Calls(begun, manifest.entry_points[0], (arena, *outside), 1)


def functions_of(manifest: Manifest) -> tuple[str, ...]:
    """What a campaign calls beside what an inference does."""
    begins = (manifest.reset_function,) if manifest.states else ()
    pushes = () if manifest.pipeline is None else (manifest.pipeline.push_function,)
    steps = (f"{manifest.name}_begin", f"{manifest.name}_run_steps")
    more = steps if manifest.options.get("run_steps") else ()
    return (f"{manifest.name}_check", *begins, *pushes, *more)


def sample_count(manifest: Manifest) -> int:
    """So many samples make a pipeline's last stage compute for the second time."""
    found = manifest.pipeline
    assert found is not None
    last = found.stages[-1]
    return found.hop * (last.first_run + last.period + 1)


def drawn_inputs(manifest: Manifest, seed: int) -> list[Array]:
    """Inputs over the whole range of their type; indices in the range of small axes."""
    random = np.random.default_rng(seed)
    if manifest.pipeline is not None:
        shape = (sample_count(manifest), manifest.pipeline.sample_elements)
        return [_drawn(random, shape, manifest.inputs[0].dtype)]
    return [_drawn(random, entry.shape, entry.dtype) for entry in manifest.inputs]


def _drawn(random: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    if dtype == "float32":
        return random.normal(0.0, 2.0, shape).astype(np.float32)
    if dtype in ("int32", "int64"):
        return random.integers(0, 3, shape).astype(dtype)
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
