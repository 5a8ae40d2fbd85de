"""Forests of random trees as ONNX-ML lists them, drawn node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
#: Thresholds of which some are met exactly by features drawn from them, too.
VALUES = (-1.5, -0.25, -0.0, 0.0, 1e-40, 0.1, 0.5, 1.0, 3.0, 7.0, 250.0)


@dataclass
class Trees:
    """Attributes of a forest in the making."""

    generator: np.random.Generator
    features: int
    modes: Sequence[str] = ("BRANCH_LEQ",)
    depth: int = 4
    targets: Sequence[int] = (0,)
    every_target: bool = True
    values: Sequence[float] = VALUES
    #: Shares of nodes that end a tree above its depth.
    ends: float = 0.25
    weights: Sequence[float] | None = None
    tracks: bool = False
    nodes: dict[str, list[Any]] = field(default_factory=dict)
    leaves: list[tuple[int, int, int, float]] = field(default_factory=list)

    def tree(self, number: int) -> None:
        """One more tree, in the order of a walk."""
        self._grow(number, [0], 0)

    def _grow(self, number: int, count: list[int], level: int) -> int:
        draw, node = self.generator, count[0]
        count[0] += 1
        is_leaf = level == self.depth or (level > 0 and draw.random() < self.ends)
        entry = {
            "treeids": number, "nodeids": node, "truenodeids": 0, "falsenodeids": 0,
            "featureids": 0 if is_leaf else int(draw.integers(self.features)),
            "modes": "LEAF" if is_leaf else str(draw.choice(self.modes)),
            "values": 0.0 if is_leaf else float(draw.choice(self.values)),
            "missing_value_tracks_true": int(self.tracks and draw.random() < 0.5),
        }  # fmt: skip
        place = len(self.nodes.get("treeids", ()))
        for name, value in entry.items():
            self.nodes.setdefault(name, []).append(value)
        if is_leaf:
            self._leaf(number, node)
        else:
            self.nodes["truenodeids"][place] = self._grow(number, count, level + 1)
            self.nodes["falsenodeids"][place] = self._grow(number, count, level + 1)
        return node

    def _leaf(self, number: int, node: int) -> None:
        draw = self.generator
        chosen = self.targets if self.every_target else [int(draw.choice(self.targets))]
        for target in chosen:
            weight = draw.normal() if self.weights is None else draw.choice(self.weights)
            self.leaves.append((number, node, target, float(np.float32(weight))))

    def attributes(self, prefix: str) -> dict[str, Any]:
        """Of TreeEnsembleClassifier (`prefix` class) or TreeEnsembleRegressor (target)."""
        found = {f"nodes_{name}": values for name, values in self.nodes.items()}
        names = ("treeids", "nodeids", "ids", "weights")
        for name, values in zip(names, zip(*self.leaves, strict=True), strict=True):
            found[f"{prefix}_{name}"] = list(values)
        return found


def tree_model(
    kind: str, attributes: Mapping[str, Any], features: int, rows: int = 1, version: int = 3,
    dtype: str = "float32",
) -> bytes:  # fmt: skip
    """One operator on features `x`, of bytes behind a cast; results have no declared shape."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    helper, types = onnx.helper, onnx.TensorProto
    results = [("scores", types.FLOAT)]
    if kind.endswith("Classifier"):
        is_text = "classlabels_strings" in attributes
        results.insert(0, ("label", types.STRING if is_text else types.INT64))
    is_cast = np.dtype(dtype).itemsize < 4
    nodes = [helper.make_node("Cast", ["x"], ["real"], to=types.FLOAT)] if is_cast else []
    node = helper.make_node(
        kind,
        ["real" if is_cast else "x"],
        [name for name, _ in results],
        domain="ai.onnx.ml",
        **attributes,
    )
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    x = helper.make_tensor_value_info("x", element, [rows, features])
    outputs = [helper.make_tensor_value_info(name, type_, None) for name, type_ in results]
    graph = helper.make_graph([*nodes, node], "g", [x], outputs)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    data: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    return data


def forest(trees: int, seed: int, features: int, **options: Any) -> Trees:
    """Some trees."""
    made = Trees(np.random.default_rng(seed), features, **options)
    for number in range(trees):
        made.tree(number)
    return made


def feature_rows(
    seed: int, count: int, features: int, special: bool = False
) -> np.ndarray[Any, Any]:
    """Features near the thresholds and on them; `special` adds what is not a number, and more."""
    draw = np.random.default_rng(seed)
    extra = (np.nan, -np.nan, np.inf, -np.inf, 1e-45) if special else ()
    near = [value + step for value in VALUES for step in (0.0, 1e-3, -1e-3)]
    return draw.choice(np.array([*near, *extra], np.float32), (count, features))
