"""What brings int8 to a model that computes in float, in all of it or between integers."""

from __future__ import annotations

from glowmcu.api.given_model import GivenModel
from glowmcu.compilation import Compilation
from glowmcu.ir.exactness import computes_in_float
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ops.quantization import Dequantize, Quantize
from glowmcu.shell_words import quoted

_MOST_NAMED = 3


def float_notes(compilation: Compilation, given: GivenModel) -> list[str]:
    """The way to int8 for a model that has none, or not everywhere: a file may know ranges of some
    tensors only.
    """
    graph = compilation.imported
    layers = [node.output.type.element for node in graph.nodes if node.macs]
    tensors = (value for node in graph.nodes for value in (*node.inputs, *node.outputs))
    is_stored = any(value.type.quantization is not None for value in tensors)
    if compilation.manifest.training is not None and is_stored:
        return []  # what learns does so in float: the file has integers
    real = sum(element.is_float for element in layers)
    between = _between_integers(graph)
    unknown = "as the file does not say in which range; for int8"
    if real == len(layers) and (layers or not is_stored):
        what = "this model computes in float; for int8"
    elif real:
        what = f"{real} of {len(layers)} layers compute in float, {unknown}"
    elif between:
        named = [node.name for node in between[:_MOST_NAMED]]
        more = ", …" * (len(between) > len(named))
        are = "operators between int8 ones compute" if len(between) > 1 else (
            "operator between int8 ones computes"
        )  # fmt: skip
        what = f"{len(between)} {are} in float ({', '.join(named)}{more}), {unknown}"
    else:
        return []
    if given.path is None:
        return [f"{what} give samples= or profile="]
    file, profile = map(quoted, (given.path.name, f"{given.stem}.profile.json"))
    command = f"glowmcu profile {file} --samples DATA -o {profile}"
    return [f"{what}: {command}, then compile with --profile {profile}"]


def _between_integers(graph: Graph) -> list[Node]:
    """What computes in float with integers in front of it and behind it; samples make int8 of it.
    Whatever follows the last integers is no part of that.
    """
    behind: set[Value] = set()
    for node in graph.nodes:
        if isinstance(node.op, Dequantize) and graph.constant_data(node.inputs[0]) is None:
            behind.update(node.outputs)
        elif not behind.isdisjoint(node.inputs):
            behind.update(value for value in node.outputs if value.type.element.is_float)
    before: set[Value] = set()
    for node in reversed(graph.nodes):
        if isinstance(node.op, Quantize) or not before.isdisjoint(node.outputs):
            before.update(value for value in node.inputs if value.type.element.is_float)
    return [
        node
        for node in graph.nodes
        if computes_in_float(node) and node.op.quantization_rule(node.signature) is not None
        if not behind.isdisjoint(node.inputs) and not before.isdisjoint(node.outputs)
    ]
