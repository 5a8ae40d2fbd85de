"""Trees on modelled cores: code of a core's own, bytes and ranks give what the operator means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.goals import Budgets, Goal
from glowmcu.ir.interpreter import run_graph
from glowmcu.kernels.common.stored_thresholds import float_keys, real_of_key
from glowmcu.kernels.common.tree_assembly import TreeNode, tree_assembly
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.pipeline import compile_model
from glowmcu.verify.cortex_m.executor import CortexM
from tests.support.check_model import Array, write_bundle
from tests.support.tree_models import Trees, feature_rows, forest, tree_model

WHOLE = tuple(float(value) + 0.5 for value in range(0, 255, 5))
CORES = ("cortex-m0plus", "cortex-m4")


def classifier(made: Trees, classes: int, features: int, dtype: str) -> bytes:
    attributes = made.attributes("class") | {"classlabels_int64s": list(range(classes))}
    return tree_model("TreeEnsembleClassifier", attributes, features, dtype=dtype)


def check(data: bytes, rows: Array, core: str, tmp_path: Any, **options: Any) -> str:
    """The core's outputs are those of the meaning, to the bit; the C of the model."""
    executor = CortexM(core, count=False)
    if executor.missing():
        pytest.skip(executor.missing() or "")
    done = compile_model(data, "m.onnx", Options("m", core=core, **options))
    sets = [[row[np.newaxis]] for row in rows]
    folder = write_bundle(done, tmp_path)
    for arrays, found in zip(sets, executor.run(folder, sets), strict=True):
        for got, want in zip(found.outputs, run_graph(done.imported, arrays), strict=True):
            assert got.tobytes() == want.tobytes()
    return str(done.files["m.c"])


FORESTS: dict[str, dict[str, Any]] = {
    "small": {"depth": 3},
    "one class": {"depth": 4, "targets": (2,)},
    "many near leaves": {"depth": 7, "ends": 0.05},
    "deep and thin": {"depth": 24, "ends": 0.42},
    "many features": {"depth": 6, "features": 150},
    "features far away": {"depth": 5, "features": 400},
}


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("dtype", ["uint8", "int8", "float32"])
@pytest.mark.parametrize("name", FORESTS)
def test_votes_of_trees(name: str, dtype: str, core: str, tmp_path: Any) -> None:
    options = dict(FORESTS[name])
    features = options.pop("features", 40)
    values = WHOLE if dtype == "uint8" else tuple(value / 2 - 64 for value in WHOLE)
    options = {"targets": range(5), "values": values} | options
    made = forest(6, 3, features, every_target=False, weights=(1 / 6,), **options)
    draw = np.random.default_rng(1)
    low, high = (0, 256) if dtype == "uint8" else (-128, 128)
    rows = draw.integers(low, high, (20, features)).astype(dtype)
    forced = "tree_ensemble.code" + ("_of_ranks" if dtype == "float32" else "")
    choices = KernelChoices(forced_variant=forced)
    text = check(classifier(made, 5, features, dtype), rows, core, tmp_path, kernels=choices)
    assert "__asm__" in text


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("features", [7, 40])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_values_of_boosted_trees(dtype: str, features: int, core: str, tmp_path: Any) -> None:
    values = WHOLE if dtype == "uint8" else tuple(value / 2 - 64 for value in WHOLE)
    made = forest(60, 6, features, depth=3, values=values)
    attributes = made.attributes("target") | {"n_targets": 1}
    data = tree_model("TreeEnsembleRegressor", attributes, features, dtype=dtype)
    low, high = (0, 256) if dtype == "uint8" else (-128, 128)
    rows = np.random.default_rng(1).integers(low, high, (20, features)).astype(dtype)
    text = check(data, rows, core, tmp_path, goal=Goal.SPEED)
    assert "GLOWMCU_NAKED static uint32_t k_0_t59(" in text


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("missing", [False, True])
def test_keys_of_real_numbers_are_found_once(missing: bool, core: str, tmp_path: Any) -> None:
    values = (-1e30, -2.5, -0.0, 1e-40, 0.5, 3e38)
    made = forest(8, 3, 12, targets=range(3), every_target=False, weights=(0.5, 0.25), depth=5,
                  values=values, tracks=missing)  # fmt: skip
    rows = np.random.default_rng(4).choice(
        np.array([*values, np.nan, np.inf, -np.inf, 7.0], np.float32), (20, 12)
    )
    choices = KernelChoices(forced_variant="tree_ensemble.code_of_keys")
    text = check(classifier(made, 3, 12, "float32"), rows, core, tmp_path, kernels=choices)
    assert ("glowmcu_tree_low(" in text) == missing
    assert "u /* 0.5 */" in text


@pytest.mark.parametrize("core", CORES)
def test_bytes_are_walked_where_flash_is_short(core: str, tmp_path: Any) -> None:
    made = forest(10, 4, 30, targets=range(6), every_target=False, weights=(0.1,), depth=8,
                  values=WHOLE)  # fmt: skip
    rows = np.random.default_rng(2).integers(0, 256, (20, 30)).astype(np.uint8)
    data = classifier(made, 6, 30, "uint8")
    costs = [
        s.cost for s in compile_model(data, "m.onnx", Options("m", core=core)).selections.values()
    ]
    flash = sum(cost.code_bytes + cost.layer_code_bytes + cost.flash_bytes for cost in costs)
    text = check(data, rows, core, tmp_path, budgets=Budgets(flash_bytes=flash * 4 // 5))
    assert "while (first < 0x80u)" in text


@pytest.mark.parametrize("core", CORES)
def test_what_is_not_a_number_is_ranked_on_both_sides(core: str, tmp_path: Any) -> None:
    made = forest(12, 5, 6, tracks=True, depth=6, modes=("BRANCH_LEQ", "BRANCH_GT"))
    data = tree_model("TreeEnsembleRegressor", made.attributes("target") | {"n_targets": 1}, 6)
    for goal in (Goal.SPEED, Goal.SIZE):
        check(data, feature_rows(2, 30, 6, special=True), core, tmp_path / goal.value, goal=goal)


def walked(lines: tuple[str, ...], x: Array) -> int:
    """What the instructions return: an interpreter of those that trees are made of."""
    place, value, flag, result = 0, 0, 0, -1
    for _ in range(10_000):
        word, *rest = lines[place].replace(",", "").split()
        place += 1
        if word == "ldrb":
            value = int(x[int(rest[2].strip("#]"))])
        elif word == "cmp":
            flag = value - int(rest[1].strip("#"))
        elif word == "movs":
            result = int(rest[1].strip("#"))
        elif word == "bx":
            return result
        elif word == "b" or (word == "bhi" and flag > 0) or (word == "bls" and flag <= 0):
            label, forward = rest[0][:-1] + ":", rest[0].endswith("f")
            found = [i for i, line in enumerate(lines) if line == label]
            place = min(i for i in found if i >= place) if forward else max(
                i for i in found if i < place
            )  # fmt: skip
    raise AssertionError("the instructions do not end")


@pytest.mark.parametrize("leaves", [1, 2, 9, 24])
@pytest.mark.parametrize("shape", ["bushy", "a line", "random"])
def test_instructions_lead_where_comparisons_do_and_no_branch_is_too_far(
    shape: str, leaves: int
) -> None:
    draw, count = np.random.default_rng(leaves), 260
    nodes: dict[int, TreeNode] = {}
    answers: dict[int, int] = {}
    open_places, number = [0], 1
    while open_places:
        index = {"bushy": 0, "a line": -1, "random": int(draw.integers(len(open_places)))}[shape]
        node = open_places.pop(index)
        if len(nodes) >= count or (len(open_places) > 1 and draw.random() < 0.2):
            answers[node] = int(draw.integers(leaves))
            continue
        feature, threshold = int(draw.integers(32)), int(draw.integers(256))
        load = (f"ldrb r3, [r0, #{feature}]",)
        nodes[node] = TreeNode(load, threshold, number, number + 1)
        open_places += [number, number + 1]
        number += 2
    lines = tree_assembly(0, nodes, answers.__getitem__)
    assert lines is not None
    for x in draw.integers(0, 256, (60, 32)):
        node = 0
        while node in nodes:
            entry = nodes[node]
            feature = int(entry.load[0].split("#")[1].strip("]"))
            node = entry.left if x[feature] <= entry.threshold else entry.right
        assert walked(lines, x) == answers[node]


def test_a_tree_that_is_too_large_for_branches_is_left_to_the_compiler() -> None:
    count = 3000
    nodes = {
        2 * i: TreeNode((f"ldrb r3, [r0, #{i % 32}]",), i % 256, 2 * i + 2, 2 * i + 1)
        for i in range(count)
    }
    assert tree_assembly(0, nodes, lambda node: node % 7) is not None
    wide = {i: TreeNode(("ldrb r3, [r0, #1]",), 3, 2 * i + 1, 2 * i + 2) for i in range(count)}
    assert tree_assembly(0, wide, lambda node: node % 7) is None


def test_thresholds_beside_keys_are_the_numbers_that_have_them() -> None:
    values = np.array([0.0, 0.5, -2.25, 1e-40, -1e-40, 3e38, -3e38, np.inf, -np.inf], np.float32)
    assert [real_of_key(int(key)) for key in float_keys(values)] == values.tolist()
