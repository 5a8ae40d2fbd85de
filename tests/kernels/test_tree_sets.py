"""Sets of categories in kernels: bits, words, runs and comparisons give what files say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.ir.operation import Array
from glowmcu.kernels.common.stored_trees import stored_trees
from glowmcu.kernels.kernel import site_of
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.lowering.passes import lower
from glowmcu.pipeline import reference_graph
from tests.kernels.test_trees import check
from tests.support.check_model import check_model
from tests.support.set_trees import FEATURES, set_trees, walked
from tests.support.tree_models import tree_model

#: Categories, and of a set as many at most.
POOLS: dict[str, tuple[Sequence[float], int]] = {
    "few": (range(10), 4),
    "a hundred": (range(100), 60),
    "with a sign": (range(-40, 30), 30),
    "with a sign, few": (range(-9, 10), 6),
    "two bytes": (range(100, 900), 150),
}
#: Of which some sets are asked value by value.
ODD: dict[str, Sequence[float]] = {
    "huge": (0, 1, 2, 3, 4, 5, 6, 1e9, 2e9, 2.0**24, 2.0**24 - 1, 2.0**23 + 1),
    "fractions": (*range(12), 0.5, -3.25, 1e-40),
    "far away": (*range(9), *range(60_000, 60_008), *range(65_530, 65_540), *range(70_000, 70_008)),
    "below all others": (-(2.0**31), *range(7), -32768, 32767, -128, 127, 128),
}
FORMS = {
    "float32": ("table", "code_of_ranks", "code_of_keys"),
    "int64": ("table", "code_of_ranks"),
    "int32": ("table", "code_of_ranks"),
    "int16": ("table", "code_of_ranks"),
    "int8": ("table", "code"),
    "uint8": ("table", "code"),
}


def rows(pool: Sequence[float], dtype: str, count: int = 30) -> Array:
    """Values of a pool, and what is beside, beyond or between them, or missing."""
    draw, made = np.random.default_rng(5), np.dtype(dtype)
    values = np.array(pool, np.float64)
    if made.kind == "f":
        extra = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 3.5, 11.999999, 1e-45, -1e9, 3e9])
        near = [np.nextafter(values.astype(np.float32), np.float32(way)) for way in (-1e30, 1e30)]
        return draw.choice(np.concatenate([values, *near, extra]), (count, FEATURES)).astype(made)
    limits = np.iinfo(made)
    near = np.concatenate([values, values - 1, values + 1, values + 256, values + 65536])
    whole = [int(value) for value in near if limits.min <= value <= limits.max]
    whole += [limits.min, limits.max]
    return np.array(
        [whole[place] for place in draw.integers(len(whole), size=count * FEATURES)], made
    ).reshape(count, FEATURES)


def model(pool: Sequence[float], most: int, dtype: str, seed: int = 1) -> tuple[bytes, Any]:
    """Four trees, and what their nodes say of a row."""
    made = set_trees(4, 4, seed, pool=pool, most=most, tracks=dtype == "float32")
    attributes = made.attributes()

    def expected(_: bytes, arrays: Sequence[Array]) -> list[Array]:
        return [walked(attributes, arrays[0][0].astype(np.float32))]

    return tree_model("TreeEnsembleRegressor", attributes, FEATURES, dtype=dtype), expected


def options(form: str, **others: Any) -> Options:
    choices = KernelChoices(forced_variant=f"tree_ensemble.{form}")
    return Options("m", kernels=choices, **others)


PAIRS = [(dtype, form) for dtype, forms in FORMS.items() for form in forms]


@pytest.mark.parametrize(("dtype", "form"), PAIRS)
@pytest.mark.parametrize("pool", POOLS)
def test_sets_of_all_sizes_are_what_the_file_says(pool: str, dtype: str, form: str) -> None:
    values, most = POOLS[pool]
    data, expected = model(values, most, dtype)
    sets = [[row[np.newaxis]] for row in rows(values, dtype)]
    done = check_model(data, sets, expected, options(form))
    assert "glowmcu_tree_has" in str(done.files["m.c"])


@pytest.mark.parametrize("dtype", FORMS)
@pytest.mark.parametrize("pool", ODD)
def test_sets_of_odd_values_are_what_the_file_says(pool: str, dtype: str) -> None:
    data, expected = model(ODD[pool], 5, dtype, seed=2)
    sets = [[row[np.newaxis]] for row in rows(ODD[pool], dtype)]
    done = check_model(data, sets, expected, options("table"))
    assert sum(selection.cost.flash_bytes for selection in done.selections.values()) < 2500


@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m4"])
@pytest.mark.parametrize(("dtype", "form"), PAIRS)
def test_a_core_asks_for_sets_as_the_file_does(
    dtype: str, form: str, core: str, tmp_path: Any
) -> None:
    values, most = POOLS["with a sign"]
    data, _ = model(values, most, dtype)
    choices = KernelChoices(forced_variant=f"tree_ensemble.{form}")
    check(data, rows(values, dtype), core, tmp_path, kernels=choices)


def test_huge_members_make_no_huge_sets() -> None:
    data, _ = model(ODD["huge"], 5, "float32", seed=2)
    graph = lower(reference_graph(data, "m.onnx"))
    (node,) = (node for node in graph.nodes if node.op.name == "tree_ensemble")
    trees = stored_trees(site_of(graph, node))
    assert 0 < trees.asks.sum() < (node.op.sets >= 0).sum()
    assert max(item.count for item in trees.sets) <= 8 * 8 * 5
