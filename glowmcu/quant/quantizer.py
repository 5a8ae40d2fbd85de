"""The whole way from a float graph and its profile to an int8 graph: READ THIS FIRST.

0. `equalization` levels channels in the float graph, where that was asked for
1. `islands`     which nodes become int8
2. `parameters`  scale and zero point of every tensor they touch
3. `convert`     the new graph; weights as rounded by `rounding` where that was asked for

A node that refuses its int8 types (scales that its fixed point cannot express) becomes float, and
everything is done again without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from glowmcu.errors import ExitCode, error
from glowmcu.ir.graph import Graph, Node
from glowmcu.ir.types import ElementType
from glowmcu.quant.convert import convert_graph
from glowmcu.quant.equalization import equalize
from glowmcu.quant.islands import Rules, choose_int8_nodes, is_real, nodes_named
from glowmcu.quant.options import Interface, QuantizationOptions
from glowmcu.quant.parameters import assign_parameters
from glowmcu.quant.profile import Profile, check_profile
from glowmcu.quant.rounding import refinement_for
from glowmcu.quant.samples import Samples


@dataclass(frozen=True)
class Quantized:
    """The int8 graph and the nodes that stayed float, with the reason.

    `reference` is the float graph whose tensors those of `graph` stand for: equalized where asked.
    """

    graph: Graph
    float_nodes: Mapping[str, str]
    reference: Graph


def quantize_graph(
    graph: Graph,
    profile: Profile,
    options: QuantizationOptions | None = None,
    samples: Samples | None = None,
    model_sha256: str = "",
) -> Graph:
    """`graph` in int8. `samples` are needed for options that look at data.

    Raises GM301 and GM302 for a profile that does not fit, GM312 for unknown names in options,
    GM313 for int16, GM314 for missing samples.
    """
    return quantize(graph, profile, options, samples, model_sha256).graph


def quantize(
    graph: Graph,
    profile: Profile,
    options: QuantizationOptions | None = None,
    samples: Samples | None = None,
    model_sha256: str = "",
) -> Quantized:
    """As `quantize_graph`, telling what stayed float."""
    options = options or QuantizationOptions()
    _refuse_int16(graph, options)
    check_profile(profile, graph, model_sha256)
    if options.equalization:
        graph, profile = equalize(graph, profile)
    if options.adaptive_rounding and samples is None:
        raise error(
            "GM314",
            "adaptive rounding looks at samples; none were given",
            hint="give the calibration samples again: --samples DATA",
        )
    int8_interface = options.interface is Interface.INT8
    border = [
        value
        for value in (*graph.inputs, *graph.outputs)
        if int8_interface and value.type.element is ElementType.F32
    ]
    refused: dict[Node, str] = {}
    while True:
        rules = choose_int8_nodes(graph, options.keep_float, refused, int8_interface)
        parameters = assign_parameters(graph, rules, profile, options.calibration, border)
        refinement = refinement_for(graph, rules, options, profile, samples)
        conversion = convert_graph(graph, rules, parameters, options, refinement)
        if not conversion.refused:
            conversion.graph.verify()
            return Quantized(conversion.graph, _float_nodes(graph, rules, refused), graph)
        refused.update(conversion.refused)


def _refuse_int16(graph: Graph, options: QuantizationOptions) -> None:
    nodes = nodes_named(graph, options.int16, "--int16")
    if nodes:
        first = next(node for node in graph.nodes if node in nodes)
        raise error(
            "GM313",
            f"no operator computes with int16 activations yet: {first.op.name} {first.name!r}",
            hint=f"keep it float instead: --keep-float {first.name}",
            exit_code=ExitCode.UNSUPPORTED,
        )


def _float_nodes(graph: Graph, rules: Rules, refused: Mapping[Node, str]) -> dict[str, str]:
    reasons: dict[str, str] = {}
    for node in graph.nodes:
        if node in rules or not node.inputs or not is_real(node):
            continue
        rule = node.op.quantization_rule(node.signature)
        reason = "asked for, or all around it is float" if rule else "it has no int8 meaning"
        reasons[node.name] = f"{node.op.name}: {refused.get(node, reason)}"
    return reasons
