"""What profiling saw of every tensor, as data: range, histogram, mean, variance, channels.

Profiles of the same model merge; merging is exact for ranges and histograms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from glowmcu.errors import error
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.operation import Array, Constant
from glowmcu.ir.types import ElementType, Shape
from glowmcu.lazy_dataclass import dataclass
from glowmcu.notebook import Card, Column, Shown
from glowmcu.number_text import count
from glowmcu.quant.histogram import Histogram, merge_histograms

if TYPE_CHECKING:
    from glowmcu.quant.options import QuantizationOptions


@dataclass(frozen=True, eq=False)
class ChannelProfile:
    """Least, greatest and mean value of every channel (the last axis), float32."""

    low: Array
    high: Array
    mean: Array


@dataclass(frozen=True)
class TensorProfile:
    """One tensor over all samples. `count` is the number of elements seen.

    `channels` and `histogram` may be missing: then calibration has the range alone.
    """

    shape: Shape
    count: int
    low: float
    high: float
    mean: float
    variance: float
    histogram: Histogram | None = None
    channels: ChannelProfile | None = None

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.variance)

    @property
    def int8_steps(self) -> float:
        """How many of int8's 256 steps lie within a standard deviation: few mean that rare large
        values cost the common ones their precision.
        """
        span = max(self.high, 0.0) - min(self.low, 0.0)
        return 255 * self.deviation / span if span else 0.0

    @property
    def quietest_share(self) -> float | None:
        """Largest magnitude in the quietest channel over that in the loudest; None without
        channels.
        """
        if self.channels is None:
            return None
        low, high = self.channels.low, self.channels.high
        reach = [max(abs(float(a)), abs(float(b))) for a, b in zip(low, high, strict=True)]
        return min(reach) / max(reach) if max(reach, default=0.0) else None


_COLUMNS = (
    Column("low", "low", "figures", 4), Column("high", "high", "figures", 4),
    Column("mean", "mean", "figures", 4), Column("deviation", "deviation", "figures", 4),
    Column("its steps", "int8_steps", "number", 0),
    Column("quietest", "quietest_share", "percent", 0), Column("shape", "shape"),
    Column("tensor", "tensor"),
)  # fmt: skip


@dataclass(frozen=True)
class Profile(Shown):
    """Tensors by name, in the graph's order, and what they were measured with.

    `model_sha256` is that of the model file; empty if a graph was never a file. `options` are
    those that suit the samples best, which `compile` takes; None if nobody has looked.

    >>> made = glowmcu.profile("digits.onnx", "calibration.npz")
    >>> pixels = made.tensors["pixels"]
    >>> pixels.shape, pixels.low, pixels.high
    ((1, 1, 8, 8), 0.0, 1.0)
    """

    model_sha256: str
    tool_version: str
    sample_count: int
    tensors: Mapping[str, TensorProfile]
    options: QuantizationOptions | None = None

    def _card(self) -> Card:
        records = [
            {
                "tensor": name,
                "shape": "x".join(map(str, tensor.shape)),
                "elements": tensor.count,
                "low": tensor.low,
                "high": tensor.high,
                "mean": tensor.mean,
                "deviation": tensor.deviation,
                "int8_steps": tensor.int8_steps,
                "quietest_share": tensor.quietest_share,
            }
            for name, tensor in self.tensors.items()
        ]
        facts = (("samples", count(self.sample_count)), ("model", f"{self.model_sha256[:16]}…"))
        return Card("Profile", facts, _COLUMNS, records)


def tensor_names(graph: Graph) -> dict[Value, str]:
    """A name of its own for every value: the value's, with `#2`, `#3` … where one is repeated."""
    names: dict[Value, str] = {}
    taken: set[str] = set()
    for value in (*graph.inputs, *(v for node in graph.nodes for v in node.outputs)):
        name, number = value.name, 1
        while name in taken:
            number += 1
            name = f"{value.name}#{number}"
        taken.add(name)
        names[value] = name
    return names


def profiled_values(graph: Graph) -> dict[Value, str]:
    """The values that a profile describes, with their names: float32, not constant, not empty."""
    names = tensor_names(graph)
    constants = {node.output for node in graph.nodes if isinstance(node.op, Constant)}
    return {
        value: name
        for value, name in names.items()
        if value.type.element is ElementType.F32
        and value not in constants
        and value.type.element_count
    }


def check_profile(profile: Profile, graph: Graph, model_sha256: str = "", where: str = "") -> None:
    """Raise GM301 for the profile of another model, GM302 if tensors differ.

    `model_sha256` is compared where both sides have one.
    """
    if model_sha256 and profile.model_sha256 and model_sha256 != profile.model_sha256:
        raise error(
            "GM301",
            f"the profile was made for another model: expected sha256 {model_sha256[:16]}…, "
            f"got {profile.model_sha256[:16]}…",
            where,
            "profile this model file again: glowmcu profile MODEL --samples DATA",
        )
    for value, name in profiled_values(graph).items():
        tensor = profile.tensors.get(name)
        if tensor is None or tensor.shape != value.type.shape:
            got = "no such tensor" if tensor is None else f"one of {tensor.shape}"
            raise error(
                "GM302",
                f"the profile does not describe this graph: expected a tensor {name!r} of "
                f"{value.type.shape}, got {got}",
                where,
                f"it was made by version {profile.tool_version}, or with other input shapes: "
                "profile the model again",
            )


def resized(profile: Profile, graph: Graph) -> Profile:
    """The profile of the same model at another size of one of its axes, as one of `graph`."""
    tensors = dict(profile.tensors)
    for value, name in profiled_values(graph).items():
        known, shape = tensors.get(name), value.type.shape
        if known is None or len(known.shape) != len(shape):
            continue
        channels = known.channels if known.shape[-1:] == shape[-1:] else None
        tensors[name] = replace(known, shape=shape, channels=channels)
    return replace(profile, tensors=tensors)


def merge(a: Profile, b: Profile, where: str = "") -> Profile:
    """What profiling all samples of both at once would have given. `where` names `b`.

    Raises GM301 for profiles of different models, GM302 for different tensors.
    """
    if a.model_sha256 != b.model_sha256:
        raise error(
            "GM301",
            f"profiles of different models cannot be merged: sha256 {a.model_sha256[:16]}… "
            f"and {b.model_sha256[:16]}…",
            where,
            "merge profiles of one and the same model file",
        )
    if a.tool_version != b.tool_version:
        raise error(
            "GM302",
            f"profiles of versions {a.tool_version} and {b.tool_version} cannot be merged",
            where,
            "profile the older samples again with this version",
        )
    shapes = [{name: t.shape for name, t in p.tensors.items()} for p in (a, b)]
    if shapes[0] != shapes[1]:
        odd = sorted(dict(shapes[0].items() ^ shapes[1].items()))
        raise error(
            "GM302",
            f"profiles of different tensors cannot be merged: {odd[0]!r} is not in both alike",
            where,
            "profile with the same input shapes",
        )
    tensors = {name: merge_tensors(tensor, b.tensors[name]) for name, tensor in a.tensors.items()}
    return replace(a, sample_count=a.sample_count + b.sample_count, tensors=tensors)


def merge_tensors(a: TensorProfile, b: TensorProfile) -> TensorProfile:
    """Both sets of values together; mean and variance after Chan, Golub and LeVeque."""
    count = a.count + b.count
    difference = b.mean - a.mean
    squares = a.variance * a.count + b.variance * b.count
    squares += difference * difference * a.count * b.count / count
    return TensorProfile(
        a.shape,
        count,
        min(a.low, b.low),
        max(a.high, b.high),
        a.mean + difference * b.count / count,
        squares / count,
        merge_histograms(a.histogram, b.histogram) if a.histogram and b.histogram else None,
        _merge_channels(a.channels, b.channels, b.count / count),
    )


def _merge_channels(
    a: ChannelProfile | None, b: ChannelProfile | None, share: float
) -> ChannelProfile | None:
    """Both together; `share` of the values are in `b`."""
    if a is None or b is None:
        return None
    mean = a.mean + (b.mean - a.mean) * np.float32(share)
    return ChannelProfile(np.minimum(a.low, b.low), np.maximum(a.high, b.high), mean)
