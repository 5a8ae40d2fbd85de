"""What a compilation is asked to do about quantization, and doing it."""

from __future__ import annotations

import hashlib
from dataclasses import field, replace

from glowmcu.ir.graph import Graph
from glowmcu.lazy_dataclass import dataclass
from glowmcu.quality import QualityEntry
from glowmcu.quant.choices import options_text
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.profile import Profile, check_profile, resized
from glowmcu.quant.profile_file import profile_text
from glowmcu.quant.profiling import ProfilingObserver, profile_graph
from glowmcu.quant.quantizer import Quantized, quantize
from glowmcu.quant.sample_source import SampleSource
from glowmcu.quant.search_space import SearchSpace


@dataclass(frozen=True, eq=False)
class QuantizationRequest:
    """A profile, or samples to make one; samples beside a profile are for options that look at
    data. `profile_name` is what the bundle calls the profile; `observer` watches profiling.
    `of_another_size`: the profile is of the same model at another size of one of its axes.
    `quality` is what these options were found to come to, empty if nobody has looked; `search`
    what may be chosen in their place by the samples, None for nothing; `mixed_weights`: so are the
    layers whose weights have four bits.
    """

    options: QuantizationOptions = field(default_factory=QuantizationOptions)
    profile: Profile | None = None
    profile_name: str = ""
    samples: SampleSource | None = None
    observer: ProfilingObserver | None = None
    search: SearchSpace | None = None
    of_another_size: bool = False
    mixed_weights: bool = False
    quality: tuple[QualityEntry, ...] = ()


@dataclass(frozen=True)
class QuantizedModel:
    """The int8 graph with what is known of its making. `text` is what the bundle says of it."""

    quantized: Quantized
    profile: Profile
    text: dict[str, str]
    quality: tuple[QualityEntry, ...] = ()


def quantize_as_requested(
    graph: Graph, request: QuantizationRequest, model_sha256: str
) -> QuantizedModel:
    """`graph`, which has gone through the float passes, in int8.

    Raises as `quantize`, `profile_graph` and `SampleSource.read` do.
    """
    samples = None if request.samples is None else request.samples.read(graph)
    profile = request.profile
    if profile is None:
        assert samples is not None, "a request has a profile or samples"
        profile = profile_graph(graph, samples, model_sha256, request.observer)
    if request.of_another_size:
        profile = resized(profile, graph)
    check_profile(profile, graph, model_sha256, request.profile_name)
    quantized = quantize(graph, profile, request.options, samples, model_sha256)
    text = {
        "profile": f"{request.profile_name or 'samples'}:{profile_sha256(profile)[:12]}",
        "samples": str(profile.sample_count),
        **options_text(request.options),
    }
    return QuantizedModel(quantized, profile, text, request.quality)


def profile_sha256(profile: Profile) -> str:
    """Of the measurements as text, without the options that it holds besides."""
    measured = replace(profile, options=None)
    return hashlib.sha256(profile_text(measured).encode()).hexdigest()
