"""What compiling costs in calls of the functions that take its time; seconds are the machine's."""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import Any

import numpy as np
import pytest

import glowmcu.kernels.requantization.forms
import glowmcu.kernels.requantization.thresholds
from benchmarks.compile_time import steps_of
from glowmcu.goals import Goal
from glowmcu.kernels.kernel import Kernel, Site, site_of
from glowmcu.kernels.requantization.forms import find_form, requantization_task
from glowmcu.lowering.passes import lower
from glowmcu.ops.convolution import Conv2D
from glowmcu.pipeline import reference_graph
from tests.memplan.foreign_models import mobile_net

#: Of `mobile_net`: layers with weights, and nodes that compute.
WEIGHTED, NODES = 20, 25


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forms that other tests of this process have asked for are forgotten."""
    for name in ("_CACHE", "_LINES"):
        monkeypatch.setattr(glowmcu.kernels.requantization.forms, name, OrderedDict())


@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m0plus", "cortex-m55"])
def test_what_a_layer_implies_is_found_a_few_times_however_many_kernels_ask(core: str) -> None:
    steps = steps_of(mobile_net(), core)
    assert 0 < steps["accumulator ranges"] <= 8 * WEIGHTED
    assert 0 < steps["staircases"] <= 2 * WEIGHTED
    assert steps["lines"] <= 5 * WEIGHTED
    # With Helium more kernels compute a convolution.
    assert 0 < steps["costs"] <= (10 if core == "cortex-m55" else 8) * NODES


@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m0plus", "cortex-m55"])
def test_a_kernel_is_asked_what_a_layer_costs_once(
    monkeypatch: pytest.MonkeyPatch, core: str
) -> None:
    cost = Kernel.calibrated_cost
    asked: Counter[tuple[str, str]] = Counter()

    def watched(kernel: Kernel, site: Site, *more: Any) -> Any:
        asked[kernel.name, site.node.name] += 1
        return cost(kernel, site, *more)

    monkeypatch.setattr(Kernel, "calibrated_cost", watched)
    steps_of(mobile_net(), core)
    assert len(asked) > 2 * NODES
    assert set(asked.values()) == {1}


def test_the_search_for_the_least_arena_asks_kernels_a_few_times_as_often() -> None:
    steps = steps_of(mobile_net(), goal=Goal.RAM)
    assert 0 < steps["accumulator ranges"] <= 24 * WEIGHTED
    assert 0 < steps["staircases"] <= 2 * WEIGHTED
    assert steps["lines"] <= 3 * WEIGHTED
    assert 0 < steps["costs"] <= 36 * NODES


def test_few_thresholds_are_left_to_bound_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    outermost = glowmcu.kernels.requantization.thresholds._outermost
    shares = []

    def watched(points: Any, slopes: Any) -> Any:
        found = outermost(points, slopes)
        shares.append(np.count_nonzero(found) / max(2 * np.count_nonzero(points.used), 1))
        return found

    monkeypatch.setattr(glowmcu.kernels.requantization.thresholds, "_outermost", watched)
    graph = lower(reference_graph(mobile_net(), "m.tflite"))
    node = next(node for node in graph.nodes if isinstance(node.op, Conv2D))
    assert find_form(requantization_task(site_of(graph, node))) is not None
    assert shares
    assert np.mean(shares) < 0.2
