"""Profiles as JSON files that people can read: one tensor a paragraph, one list a line.

Floats are the shortest text that gives the same float32, but for mean and variance (doubles).
`options` are the quantization options that `compile --profile` takes, where some were found.
`quality` is what options were found to come to on samples that are no longer at hand.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from glowmcu.errors import GlowmcuError, error
from glowmcu.file_writing import write_text_file
from glowmcu.ir.operation import Array
from glowmcu.quality import QualityEntry, quality_of, quality_record
from glowmcu.quant.histogram import BIN_COUNT, Histogram
from glowmcu.quant.options import QuantizationOptions, options_of, options_record
from glowmcu.quant.profile import ChannelProfile, Profile, TensorProfile

FORMAT = "glowmcu-profile-1"
#: Options, and what they were found to come to.
Judged = tuple[QuantizationOptions, tuple[QualityEntry, ...]]


def profile_text(profile: Profile, judged: Judged | None = None) -> str:
    """The content of the file; the same for equal profiles."""
    head: dict[str, object] = {
        "format": FORMAT,
        "tool_version": profile.tool_version,
        "model_sha256": profile.model_sha256,
        "sample_count": profile.sample_count,
    }
    if profile.options is not None:
        head["options"] = options_record(profile.options)
    if judged is not None:
        head["quality"] = {"options": options_record(judged[0]), "found": quality_record(judged[1])}
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    tensors = ",\n".join(
        f"    {json.dumps(name)}: {_tensor_text(tensor)}"
        for name, tensor in profile.tensors.items()
    )
    return "\n".join(["{", *lines, '  "tensors": {', tensors, "  }", "}", ""])


def write_profile(profile: Profile, path: Path, judged: Judged | None = None) -> None:
    """Write the file, and its folder. Raises GM303 if that is impossible."""
    try:
        write_text_file(path, profile_text(profile, judged))
    except OSError as cause:
        raise error(
            "GM303", f"cannot write the profile: {cause.strerror}", str(path), "choose another file"
        ) from cause


def read_profile(path: Path) -> Profile:
    """Read a file of `write_profile`. Raises GM303 for anything else, GM315 for wrong options."""
    return parse_profile(_read_text(path), str(path))


def read_quality(path: Path, options: QuantizationOptions) -> tuple[QualityEntry, ...]:
    """What these options were found to come to when the profile was made, whatever the types of
    inputs and outputs; empty if that is not known. Raises GM303 for what is no quality.
    """
    record = json.loads(_read_text(path)).get("quality")
    if record is None:
        return ()
    try:
        judged = replace(options_of(record["options"], str(path)), interface=options.interface)
        return quality_of(record["found"]) if judged == options else ()
    except (KeyError, TypeError, AttributeError, ValueError) as cause:
        raise _damaged(f"its quality is {type(cause).__name__}: {cause}", str(path)) from cause


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        reason = cause.strerror if isinstance(cause, OSError) else "it is no text"
        raise error(
            "GM303", f"cannot read the profile: {reason}", str(path),
            "make one: glowmcu profile MODEL --samples …",
        ) from cause  # fmt: skip


def parse_profile(text: str, where: str = "") -> Profile:
    """The profile in `text`. Raises GM303 with what is wrong, GM315 for wrong options."""
    try:
        record = json.loads(text)
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            got = record.get("format") if isinstance(record, dict) else type(record).__name__
            raise _damaged(f"expected format {FORMAT!r}, got {got!r}", where)
        tensors = {str(name): _tensor(item) for name, item in record["tensors"].items()}
        options = record.get("options")
        return Profile(
            str(record["model_sha256"]),
            str(record["tool_version"]),
            int(record["sample_count"]),
            tensors,
            None if options is None else options_of(options, where),
        )
    except json.JSONDecodeError as cause:
        raise _damaged(f"it is no JSON from line {cause.lineno} on", where) from cause
    except (
        ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError
    ) as cause:  # fmt: skip
        raise _damaged(f"{type(cause).__name__}: {cause}", where) from cause


def _damaged(what: str, where: str) -> GlowmcuError:
    return error(
        "GM303", f"this is no profile: {what}", where, "make one: glowmcu profile MODEL --samples …"
    )


def _tensor_text(tensor: TensorProfile) -> str:
    lines = [
        f'"shape": {list(tensor.shape)}, "count": {tensor.count}',
        f'"low": {_float_text(tensor.low)}, "high": {_float_text(tensor.high)}',
        f'"mean": {tensor.mean!r}, "variance": {tensor.variance!r}',
    ]
    if tensor.channels is not None:
        lines.append(f'"channel_low": {_floats_text(tensor.channels.low)}')
        lines.append(f'"channel_high": {_floats_text(tensor.channels.high)}')
        lines.append(f'"channel_mean": {_floats_text(tensor.channels.mean)}')
    if tensor.histogram is not None:
        histogram = tensor.histogram
        lines.append(f'"bin_exponent": {histogram.exponent}, "first_bin": {histogram.first}')
        lines.append(f'"bins": {json.dumps(histogram.counts.tolist(), separators=(",", ":"))}')
    return "{\n      " + ",\n      ".join(lines) + "\n    }"


def _float_text(value: float) -> str:
    return str(np.float32(value))


def _floats_text(values: Array) -> str:
    return "[" + ",".join(map(_float_text, values)) + "]"


def _tensor(record: Mapping[str, Any]) -> TensorProfile:
    low, high = (float(np.float32(record[key])) for key in ("low", "high"))
    mean, variance = float(record["mean"]), float(record["variance"])
    if not all(map(math.isfinite, (low, high, mean, variance))) or low > high:
        raise ValueError(f"a range of {low} to {high}, mean {mean}, variance {variance}")
    shape = tuple(int(size) for size in record["shape"])
    return TensorProfile(
        shape, int(record["count"]), low, high, mean, variance,
        _histogram(record), _channels(record, shape),
    )  # fmt: skip


def _histogram(record: Mapping[str, Any]) -> Histogram | None:
    if "bins" not in record:
        return None
    counts = np.array(record["bins"], np.int64)
    if counts.ndim != 1 or not 0 < len(counts) <= BIN_COUNT or counts.min() < 0:
        raise ValueError("bins must be up to 2048 counts")
    return Histogram(int(record["bin_exponent"]), int(record["first_bin"]), counts)


def _channels(record: Mapping[str, Any], shape: tuple[int, ...]) -> ChannelProfile | None:
    if "channel_low" not in record:
        return None
    low, high, mean = (
        np.array(record[f"channel_{what}"], np.float32) for what in ("low", "high", "mean")
    )
    if any(each.shape != shape[-1:] or not np.isfinite(each).all() for each in (low, high, mean)):
        raise ValueError(f"channels must have {shape[-1:]} finite entries")
    return ChannelProfile(low, high, mean)
