"""The whole way from a float graph and its profile to an int8 graph: READ THIS FIRST.

0. `equalization` levels channels in the float graph, if that was asked for; `spectra` makes one
   operator of each front end: samples to logarithms
1. `int8_partition`  which nodes become int8
2. `parameters`      scale and zero point of every tensor they touch
3. `convert`         the new graph; weights as rounded by `rounding` if that was asked for

A node that refuses its int8 types (scales that its fixed point cannot express) becomes float, and
everything is done again without it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field, replace

from glowmcu.errors import error
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.types import ElementType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.real_functions import Square
from glowmcu.quant.convert import convert_graph
from glowmcu.quant.equalization import equalize
from glowmcu.quant.formats import Formats
from glowmcu.quant.four_bits import choose_four_bit_nodes
from glowmcu.quant.int8_partition import Rules, choose_int8_nodes, nodes_named, why_float
from glowmcu.quant.missing_values import missing_notes, nodes_with_missing
from glowmcu.quant.options import Interface, QuantizationOptions
from glowmcu.quant.parameters import assign_parameters, raw_inputs, wide_states
from glowmcu.quant.profile import Profile, check_profile
from glowmcu.quant.ranges import Calibration, Method
from glowmcu.quant.rounding import refinement_for
from glowmcu.quant.samples import Samples
from glowmcu.quant.spectra import fuse_front_ends
from glowmcu.quant.wide import ALL, choose_wide_nodes, names_of_products, with_products


@dataclass(frozen=True)
class Quantized:
    """The int8 graph and the nodes that stayed float, with the reason, as those that stayed int8
    where everything was asked to be int16.

    `reference` is the float graph whose tensors those of `graph` stand for: equalized where asked.
    """

    graph: Graph
    float_nodes: Mapping[str, str]
    reference: Graph
    narrow_nodes: Mapping[str, str] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """What stayed as it was, and why; inputs that can no longer lack a value."""
        kept = (("float", self.float_nodes), ("int8", self.narrow_nodes))
        return (
            *(
                f"stays {what}: {name} ({reason})"
                for what, nodes in kept
                for name, reason in nodes.items()
            ),
            *missing_notes(self.reference, self.graph.arguments),
        )


def quantize_graph(
    graph: Graph,
    profile: Profile,
    options: QuantizationOptions | None = None,
    samples: Samples | None = None,
    model_sha256: str = "",
) -> Graph:
    """`graph` in int8. `samples` are needed for options that look at data.

    Raises GM301 and GM302 for a profile that does not fit, GM312 for unknown names in options,
    GM313 for a node that has no int16 form, GM314 for missing samples.
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
    check_profile(profile, graph, model_sha256)
    if options.equalization:
        graph, profile = equalize(graph, profile)
    if options.adaptive_rounding and samples is None:
        raise error(
            "GM314",
            "adaptive rounding looks at samples; none were given",
            hint="give the calibration samples again: --samples DATA",
        )
    kept = nodes_named(graph, options.keep_float, "--keep-float")
    return _quantize(graph, profile, options, samples, dict.fromkeys(kept, "as was asked for"))


def _quantize(
    plain: Graph,
    measured: Profile,
    options: QuantizationOptions,
    samples: Samples | None,
    kept: Mapping[Node, str],
) -> Quantized:
    """Front ends with nodes of `kept` stay as they are."""
    fused = fuse_front_ends(plain, kept)
    graph, profile = fused.graph, fused.profile(plain, measured)
    int8_interface = options.interface is Interface.INT8
    border = [
        value
        for value in (*graph.arguments, *graph.results)
        if value.type.element is ElementType.F32
    ]
    int16 = fused.names(options.int16)
    four_bit = fused.names(options.four_bit_weights)
    refused = {} if int8_interface else nodes_with_missing(graph)
    narrow: dict[Node, str] = {}
    while True:
        rules = choose_int8_nodes(graph, options.keep_float, refused, int8_interface)
        wide_nodes = choose_wide_nodes(graph, rules, int16, narrow)
        squares = [node for node in wide_nodes if isinstance(node.op, Square)]
        if squares:
            int16 = names_of_products(options.int16, squares)
            products = with_products(plain, squares)
            return _quantize(products, measured, replace(options, int16=int16), samples, kept)
        formats = _formats(graph, rules, wide_nodes, profile, options.calibration, border)
        formats = replace(formats, four_bit_nodes=choose_four_bit_nodes(graph, rules, four_bit))
        refinement = refinement_for(graph, rules, options, profile, samples)
        conversion = convert_graph(graph, rules, formats, options, refinement)
        if not conversion.refused:
            conversion.graph.verify()
            known = {**fused.reasons, **kept, **refused}
            reasons = why_float(graph, rules, options.keep_float, known)
            left = {node.name: f"{node.op.name}: {why}" for node, why in narrow.items()}
            return Quantized(conversion.graph, reasons, graph, left if ALL in int16 else {})
        apart = {
            part: reason
            for node, reason in conversion.refused.items()
            if node not in wide_nodes
            for part in fused.parts.get(node, ())
        }
        if apart:
            return _quantize(plain, measured, options, samples, {**kept, **apart})
        for node, reason in conversion.refused.items():
            # What int16 cannot express, int8 may.
            (narrow if node in wide_nodes else refused)[node] = reason


def _formats(
    graph: Graph,
    rules: Rules,
    wide_nodes: Collection[Node],
    profile: Profile,
    calibration: Calibration,
    border: list[Value],
) -> Formats:
    wide = {node: rule for node, rule in rules.items() if node in wide_nodes}
    others = {node: rule for node, rule in rules.items() if node not in wide_nodes}
    # 16 bits hold everything that was seen: nothing is cut off.
    everything = replace(calibration, method=Method.MINMAX)
    return Formats(
        assign_parameters(graph, others, profile, calibration, border),
        assign_parameters(
            graph, wide, profile, everything, element=ElementType.I16, others=others.items()
        ),
        wide_nodes,
        {value for node, rule in rules.items() for value in wide_states(node, rule)},
        raw_inputs(graph, rules, wide_nodes),
    )
