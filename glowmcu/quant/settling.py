"""A request for quantization is settled: profiled, with options found where these are open."""

from __future__ import annotations

from dataclasses import replace

from glowmcu.ir.graph import Graph
from glowmcu.lazy_dataclass import dataclass
from glowmcu.quality import LayerBitsEntry, Origin, TriedEntry
from glowmcu.quant.automatic import Needs, choose
from glowmcu.quant.judgement import Judge, judge_of
from glowmcu.quant.mixed_weights import choose_four_bits
from glowmcu.quant.profile import check_profile
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.request import QuantizationRequest
from glowmcu.quant.sample_source import SampleSource


@dataclass(frozen=True, eq=False)
class Settled:
    """The request with profile and options, who judges these, what was tried to find them, what was
    taken for granted of the samples, and how many bits were chosen for which layer's weights.
    """

    request: QuantizationRequest
    judge: Judge
    notes: tuple[str, ...]
    tried: tuple[TriedEntry, ...] = ()
    bits: tuple[LayerBitsEntry, ...] = ()


def settle(
    graph: Graph,
    request: QuantizationRequest,
    samples: SampleSource,
    model_sha256: str,
    needs: Needs | None = None,
) -> Settled:
    """`graph` has gone through the float passes. Raises as `quantize_as_requested` does."""
    data = samples.read(graph)
    profile = request.profile
    if profile is None:
        profile = profile_graph(graph, data, model_sha256, request.observer)
    check_profile(profile, graph, model_sha256, request.profile_name)
    judge = judge_of(graph, data, profile, request.profile is None, request.observer)
    request = replace(request, profile=profile)
    tried: tuple[TriedEntry, ...] = ()
    if request.search is not None and judge.origin is Origin.HELD_BACK:
        choice = choose(judge, request.options, request.search, request.observer, needs)
        request, tried = replace(request, options=choice.options), choice.tried
    if not request.mixed_weights:
        return Settled(request, judge, data.notes, tried)
    assert needs is not None, "who asks for mixed weights says what they have to come to"
    mixed = choose_four_bits(judge, request.options, needs)
    return Settled(replace(request, options=mixed.options), judge, data.notes, tried, mixed.layers)
