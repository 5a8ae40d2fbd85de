"""Kernels of `tree_ensemble`: trees as bytes that a loop walks, or as code.

Bytes are compared: features of 8 bits as they are, others as ranks (kernels/common/tree_ranks.py)
that are found once a run; code of few comparisons takes any feature as it is stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.stored_trees import StoredTrees, stored_trees
from glowmcu.kernels.common.tree_bytes import TreeBytes, tree_bytes
from glowmcu.kernels.common.tree_code import (
    CodeOfTree,
    as_keys,
    as_ranks,
    as_stored,
    code_of_trees,
    votes_assembly,
)
from glowmcu.kernels.common.tree_ranks import Ranks, tree_ranks
from glowmcu.kernels.common.tree_rows import RowKind, Rows, tree_rows, unsigned
from glowmcu.kernels.kernel import (
    ConstantArray,
    Cost,
    Kernel,
    KernelCode,
    Site,
    Target,
    kernel,
    once_a_site,
)
from glowmcu.ops.trees import TreeEnsemble

#: Bytes of these are compared as they are.
_BYTES = (ElementType.I8, ElementType.UI8)
_WORD_BYTES = 4
#: Deepest tree that becomes nested code: C99 has 127 levels of blocks.
_MOST_LEVELS = 100


def _op(site: Site) -> TreeEnsemble:
    assert isinstance(site.node.op, TreeEnsemble)
    return site.node.op


@once_a_site
def _rows(site: Site) -> Rows:
    return tree_rows(_op(site))


@once_a_site
def _ranks(site: Site) -> Ranks:
    return tree_ranks(stored_trees(site))


def _row_cycles(site: Site, target: Target) -> float:
    """Of adding what a tree's leaf gives."""
    op = _op(site)
    addition = 6.0 if op.is_integer else (9.0 if target.core.has_fpu else 90.0)
    entries = op.weights.size / (op.row_starts.size - 1)
    return addition * (op.targets if _rows(site).kind is RowKind.DENSE else max(1.0, entries))


def _common_view(site: Site) -> dict[str, Any]:
    """What all variants' templates need."""
    op, x, rows = _op(site), site.signature.inputs[0], _rows(site)
    return {
        "rows": x.shape[0],
        "depth": x.shape[1],
        "type": x.element.c_name,
        "sum": site.signature.output.element.c_name,
        "targets": op.targets,
        "trees": op.roots.size,
        "kind": rows.kind.value,
        "weights": rows.weights,
        "row_targets": rows.targets,
        "starts": rows.starts,
        "ranks": False,
    }


def _key_view(site: Site) -> dict[str, Any]:
    """What finds keys."""
    element, keys = site.signature.inputs[0].element, stored_trees(site).keys
    is_float = element is ElementType.F32
    return {
        "ranks": True,
        "key": "uint32_t" if is_float else element.c_name,
        "is_float": is_float,
        "has_low": is_float and any(key.low for key in keys),
        "count": len(keys),
        "features": _ranks(site).features,
    }


def _rank_view(site: Site) -> dict[str, Any]:
    """What finds ranks."""
    ranks = _ranks(site)
    rank = f"uint{8 * ranks.rank_bytes}_t"
    return {**_key_view(site), "rank": rank, "sorted": ranks.sorted, "first": ranks.starts}


def _rank_scratch(site: Site) -> int:
    return _ranks(site).rank_bytes * len(stored_trees(site).keys)


@once_a_site
def _bytes(site: Site) -> TreeBytes:
    trees, rows = stored_trees(site), _rows(site)
    if not _is_ranked(site):
        features = np.array([key.feature for key in trees.keys], np.int64)
        return tree_bytes(trees, features, trees.thresholds, rows.numbers, 1)
    ranks = _ranks(site)
    features = np.arange(len(trees.keys))
    return tree_bytes(trees, features, ranks.thresholds, rows.numbers, ranks.rank_bytes)


def _is_ranked(site: Site) -> bool:
    trees = stored_trees(site)
    return trees.element not in _BYTES and bool(trees.keys)


def _is_signed(site: Site) -> bool:
    return site.signature.inputs[0].element is ElementType.I8


@kernel("tree_ensemble.table", TreeEnsemble)
class TableOfTrees(Kernel):
    """One loop over bytes; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        keys = stored_trees(site).keys
        return all(key.feature < 2**15 for key in keys) and len(keys) < 2**15

    def cost(self, site: Site, target: Target) -> Cost:
        trees, found = stored_trees(site), _bytes(site)
        step = 17.0 + 3.0 * (found.node_bytes + found.leaf_bytes - 4)
        cycles = step * trees.visited + (16.0 + _row_cycles(site, target)) * trees.roots.size
        flash = found.data.size + unsigned(found.roots).nbytes + _rows(site).flash_bytes
        scratch = 0
        if _is_ranked(site):
            cycles += _ranks(site).cycles
            flash += _ranks(site).flash_bytes
            scratch = _rank_scratch(site)
        lines = site.signature.output.shape[0]
        return Cost(lines * cycles, 0, flash, scratch, layer_code_bytes=110 + 90 * (scratch > 0))

    def generate(self, site: Site, target: Target) -> KernelCode:
        found, is_ranked = _bytes(site), _is_ranked(site)
        is_signed = _is_signed(site)
        view = _common_view(site) | (_rank_view(site) if is_ranked else {})
        view |= {
            "nodes": ConstantArray("nodes", found.data, "of all trees"),
            "roots": ConstantArray("roots", unsigned(found.roots), "where trees begin"),
            "feature_bytes": found.feature_bytes,
            "leaf_bytes": found.leaf_bytes,
            "node_bytes": found.node_bytes,
            "threshold": _threshold_text(found, is_signed),
            "skip": _skip_text(found),
        }
        return KernelCode(
            function="",
            operands=(0,),
            header="glowmcu_tree_keys.h",
            template="portable/trees_table.c.j2",
            view=view,
            scratch_bytes=_rank_scratch(site) if is_ranked else 0,
        )


def _threshold_text(found: TreeBytes, is_signed: bool) -> str:
    """C of a node's threshold."""
    place = found.feature_bytes
    if found.threshold_bytes == 1:
        return f"(int8_t)node[{place}]" if is_signed else f"node[{place}]"
    return f"(node[{place}] | (uint32_t)node[{place + 1}] << 8)"


def _skip_text(found: TreeBytes) -> str:
    """C of the bytes to the right branch."""
    place = found.feature_bytes + found.threshold_bytes
    text = f"node[{place}]"
    for offset in range(1, found.skip_bytes):
        text = f"(uint32_t){text} << 8 | node[{place + offset}]"
        text = f"({text})"
    return text


class _CodeOfTrees(Kernel):
    """Nested comparisons, a function a tree."""

    is_ranked = is_keyed = False

    def accepts(self, site: Site, target: Target) -> bool:
        if self._is_flipped(site) and site.operands_align % _WORD_BYTES:
            return False
        trees = stored_trees(site)
        return trees.is_of_trees and 1 <= trees.depth <= _MOST_LEVELS

    def _is_flipped(self, site: Site) -> bool:
        """Whether features are copied to scratch with other signs, four at a time."""
        return not self.is_ranked and _is_signed(site)

    def _code(self, site: Site, target: Target) -> dict[str, tuple[CodeOfTree | str, ...]]:
        """Functions of the trees, and of Thumb one for all their votes, if it can be."""
        trees, rows = stored_trees(site), _rows(site)
        compared = as_keys(trees) if self.is_keyed else as_stored(trees)
        if self.is_ranked:
            compared = as_ranks(trees, _ranks(site))
        votes: tuple[str, ...] = ()
        if not target.core.is_riscv:
            votes = votes_assembly(trees, rows, compared, _op(site).targets)
        has_assembly = not target.core.is_riscv and not votes
        return {"functions": code_of_trees(trees, rows, compared, has_assembly), "votes": votes}

    def _scratch_bytes(self, site: Site) -> int:
        if self.is_ranked:
            return _rank_scratch(site)
        if self.is_keyed:
            return _KEY_BYTES * len(stored_trees(site).keys)
        return site.signature.inputs[0].shape[1] if _is_signed(site) else 0

    def cost(self, site: Site, target: Target) -> Cost:
        trees = stored_trees(site)
        step, node_bytes = _code_costs(trees, target, self.is_ranked)
        if self.is_keyed:
            key_cycles, step, node_bytes = _key_costs(target)
        cycles = step * trees.visited + (14.0 + _row_cycles(site, target)) * trees.roots.size
        code = node_bytes * int(trees.inner.sum()) + 18 * trees.roots.size
        flash, scratch = _rows(site).flash_bytes, self._scratch_bytes(site)
        if self.is_ranked:
            cycles += _ranks(site).cycles
            flash += _ranks(site).flash_bytes
            code += 90
        elif self.is_keyed:
            cycles += key_cycles * len(trees.keys)
            flash += _ranks(site).features.data.nbytes
            code += 50
        elif scratch:
            cycles += 2.5 * scratch
            code += 50
        lines = site.signature.output.shape[0]
        return Cost(lines * cycles, 0, flash, scratch, layer_code_bytes=int(code) + 40)

    def generate(self, site: Site, target: Target) -> KernelCode:
        view = _common_view(site)
        if self.is_keyed:
            view |= {**_key_view(site), "rank": "uint32_t"}
        elif self.is_ranked:
            view |= _rank_view(site)
        is_flipped = self._is_flipped(site)
        view |= {**self._code(site, target), "flipped": is_flipped, "keyed": self.is_keyed}
        return KernelCode(
            function="",
            operands=(0,),
            header="glowmcu_tree_bytes.h" if is_flipped else "glowmcu_tree_keys.h",
            template="portable/trees_code.c.j2",
            view=view,
            scratch_bytes=self._scratch_bytes(site),
            operand_align=_WORD_BYTES if is_flipped else 1,
        )


def _is_armv6m(target: Target) -> bool:
    return target.core.architecture.startswith("armv6")


_KEY_BYTES = 4


def _key_costs(target: Target) -> tuple[float, float, float]:
    """Cycles of finding a key, cycles and bytes of a comparison, measured in forests of digits."""
    if target.core.is_riscv:
        return 10.0, 5.6, 14.5
    return (22.0, 12.0, 15.7) if _is_armv6m(target) else (14.0, 7.9, 15.3)


def _code_costs(trees: StoredTrees, target: Target, is_ranked: bool) -> tuple[float, float]:
    """Cycles and bytes of a comparison."""
    if is_ranked or trees.element in _BYTES:
        return 5.0, 9.0 if target.core.is_riscv else 7.2
    if trees.element is ElementType.F32:
        if target.core.is_riscv:
            return 10.0, 25.0
        return (20.0, 26.0) if _is_armv6m(target) else (11.0, 25.5)
    return (14.0, 24.0) if trees.element is ElementType.I64 else (6.5, 13.0)


@kernel("tree_ensemble.code", TreeEnsemble)
class CodeOfTrees(_CodeOfTrees):
    """Features as they are stored; any core."""


@kernel("tree_ensemble.code_of_ranks", TreeEnsemble)
class CodeOfRanks(_CodeOfTrees):
    """Features as ranks, bytes mostly; any core."""

    is_ranked = True

    def accepts(self, site: Site, target: Target) -> bool:
        return super().accepts(site, target) and _is_ranked(site)


@kernel("tree_ensemble.code_of_keys", TreeEnsemble)
class CodeOfKeys(_CodeOfTrees):
    """float32 features as integers in their order, which are found once; any core."""

    is_keyed = True

    def accepts(self, site: Site, target: Target) -> bool:
        trees = stored_trees(site)
        is_float = trees.element is ElementType.F32 and bool(trees.keys)
        return is_float and super().accepts(site, target)
