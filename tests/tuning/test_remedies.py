"""Which options are tried where a quantization lost too much."""

from __future__ import annotations

from glowmcu.quality import Demands
from glowmcu.quant.judgement import judge_of
from glowmcu.quant.options import Interface, QuantizationOptions
from glowmcu.quant.profiling import profile_graph
from glowmcu.tuning.remedies import _Judged, tries
from tests.quant.networks import perceptron, random_samples


def wide_tries(sqnr_db: float) -> dict[str, QuantizationOptions]:
    """Those that give everything 16 bits, in the words of options."""
    graph = perceptron()
    samples = random_samples(graph, 32)
    judge = judge_of(graph, samples, profile_graph(graph, samples), True)
    options = QuantizationOptions(interface=Interface.FLOAT)
    found = tries(_Judged(judge, Demands(sqnr_db)), options, may_be_float=False)
    return {text: chosen for text, chosen in found if text.startswith("--int16 all")}


def test_layers_are_kept_float_where_sixteen_bits_are_not_enough() -> None:
    found = wide_tries(100.0)
    first, second = list(found)[:2]
    assert first == "--int16 all"
    (kept,) = found[second].keep_float
    assert second == f"--int16 all --keep-float {kept}"
    assert found[second].int16 == ("all",)


def test_nothing_is_kept_float_where_sixteen_bits_are_enough() -> None:
    assert list(wide_tries(20.0)) == ["--int16 all"]
