"""Layers that get weights of four bits, chosen by samples: `--weights mixed`.

Each layer is tried alone. Harm is what the squared error of the outputs grows by; those of least
harm a weight come first, and as many get four bits as leave nothing to warn of, or, where a budget
of flash is given, as few as fit it. All of it is judged on samples that did not calibrate.
Source: Dong et al. 2019, arXiv 1911.03852 (sensitivity layer by layer); Hubara et al. 2020,
arXiv 2006.10518 (single layers' losses add up).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from glowmcu.errors import ExitCode, GlowmcuError, error
from glowmcu.ir.graph import Graph, Node
from glowmcu.lazy_dataclass import dataclass
from glowmcu.number_text import count
from glowmcu.quality import LayerBitsEntry
from glowmcu.quant.automatic import Needs, Part, Trial, joined, parts_of
from glowmcu.quant.judgement import Judge, figures_of
from glowmcu.quant.linear_layers import is_linear
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.output_errors import OutputErrors
from glowmcu.quant.wide import ALL


@dataclass(frozen=True)
class MixedWeights:
    """Options that name the layers of four bits, and what was found of every layer."""

    options: QuantizationOptions
    layers: tuple[LayerBitsEntry, ...]


@dataclass(frozen=True)
class _Layer:
    name: str
    op: str
    weights: int


def choose_four_bits(judge: Judge, start: QuantizationOptions, needs: Needs) -> MixedWeights:
    """`start` with four bits for the layers that bear them.

    Raises GM352 if even four bits for all do not fit the budget, and what `quantize` does.
    """
    plain = replace(start, four_bit_weights=())
    search = _Search(judge, plain, needs)
    layers = _candidates(judge, plain)
    alone = {layer: search.loss((layer,)) for layer in layers}
    losses = {layer: loss for layer, loss in alone.items() if loss is not None}
    order = sorted(losses, key=lambda layer: _harm(losses[layer], layer.weights))
    if needs.flash_budget is None or needs.flash_bytes is None:
        taken = _most(len(order), lambda many: search.bears(order[:many]))
    else:
        taken = search.least_that_fits(order, needs.flash_bytes, needs.flash_budget)
    chosen = [layer for layer in losses if layer in order[:taken]]
    entries = tuple(
        LayerBitsEntry(
            layer.name,
            layer.op,
            layer.weights,
            round(losses[layer], 3),
            4 if layer in chosen else 8,
        )
        for layer in losses
    )
    return MixedWeights(search.options(chosen), entries)


def _harm(loss: float, weights: int) -> float:
    """The noise that four bits add for each weight, if it was 1 without."""
    return (loss**2 - 1.0) / weights


class _Search:
    """Sets of layers and what they come to."""

    def __init__(self, judge: Judge, plain: QuantizationOptions, needs: Needs) -> None:
        self._judge, self._plain, self._needs = judge, plain, needs
        whole = Part(judge, OutputErrors(judge.graph, judge.judged))
        self._parts: Sequence[Part] = parts_of(judge) or [whole]
        self._usual = self._trial(plain)

    def options(self, layers: Sequence[_Layer]) -> QuantizationOptions:
        return replace(self._plain, four_bit_weights=tuple(layer.name for layer in layers))

    def loss(self, layers: Sequence[_Layer]) -> float | None:
        """Error of the outputs as a share of what it is without four bits; None if such a graph
        cannot be made.
        """
        try:
            trial = self._trial(self.options(layers))
        except GlowmcuError:
            return None
        rows, usual = (np.concatenate(one.errors, axis=1) for one in (trial, self._usual))
        least = np.maximum(usual.mean(axis=1), 1e-30)
        return float((rows.mean(axis=1) / least).mean())

    def bears(self, layers: Sequence[_Layer]) -> bool:
        """Whether nothing is to be warned of with four bits for `layers`."""
        try:
            trial = self._trial(self.options(layers))
        except GlowmcuError:
            return False
        wanted = joined([part.errors.outputs() for part in self._parts])
        figures = figures_of(self._judge.graph, wanted, joined(trial.outputs))
        return not figures.shortfalls(self._needs.demands)

    def least_that_fits(
        self, order: Sequence[_Layer], flash_bytes: Callable[[Graph], int], budget: int
    ) -> int:
        """How many of the first layers it takes. Raises GM352."""
        sizes = {}
        for many in range(len(order) + 1):
            made = self._judge.quantized(self.options(order[:many])).graph
            sizes[many] = flash_bytes(made)
            if sizes[many] <= budget:
                return many
        nearest = min(sizes, key=lambda many: (sizes[many], many))
        raise error(
            "GM352",
            f"weights of four bits do not meet --flash-budget {budget}: with {nearest} of "
            f"{len(order)} layers it is {count(sizes[nearest])} B, as estimated; none is nearer",
            hint=f"give --flash-budget {sizes[nearest]} or more, or a smaller model",
            exit_code=ExitCode.DOES_NOT_FIT,
        )

    def _trial(self, options: QuantizationOptions) -> Trial:
        trial = Trial(options)
        for part in self._parts:
            part.judges(trial)
        return trial


def _candidates(judge: Judge, plain: QuantizationOptions) -> list[_Layer]:
    """Layers that become int8 and whose weights can have four bits; by names that options take."""
    graph = judge.quantized(replace(plain, four_bit_weights=(ALL,))).graph
    return [
        _Layer(name, node.op.name, node.inputs[1].type.element_count)
        for node in graph.nodes
        if is_linear(node) and not node.output.type.element.is_float and (name := _name(node))
    ]


def _name(node: Node) -> str:
    """A bundle lists names with commas between them."""
    names = (node.name, *(value.name for value in node.outputs))
    return next((name for name in names if name and "," not in name), "")


def _most(count_: int, is_enough: Callable[[int], bool]) -> int:
    """The largest number up to `count_` that is, where smaller ones are too; 0 if none is."""
    if is_enough(count_):
        return count_
    low, high = 0, count_
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_enough(middle) else (low, middle)
    return low
