"""Kernels of `tree_ensemble`: trees as bytes that a loop walks, or as code.

Bytes are compared: features of 8 bits as they are, others as ranks (kernels/common/tree_ranks.py)
that are found once a run, and so are codes of categories (kernels/common/tree_sets.py) where nodes
ask for sets; code of few comparisons takes any feature as it is stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.stored_trees import BYTES, stored_trees
from glowmcu.kernels.common.tree_bytes import TreeBytes, tree_bytes
from glowmcu.kernels.common.tree_code import (
    CodeOfTree,
    as_keys,
    as_ranks,
    as_stored,
    code_of_trees,
    votes_assembly,
    with_sets,
)
from glowmcu.kernels.common.tree_costs import ask_costs, code_costs, is_armv6m, key_costs
from glowmcu.kernels.common.tree_ranks import Ranks, tree_ranks
from glowmcu.kernels.common.tree_rows import RowKind, Rows, tree_rows, unsigned
from glowmcu.kernels.common.tree_sets import TreeSets, tree_sets
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

_WORD_BYTES = _KEY_BYTES = 4
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
        "asks": False,
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
        "count": stored_trees(site).compared,
        "features": _ranks(site).features,
    }


def _rank_view(site: Site) -> dict[str, Any]:
    """What finds ranks."""
    ranks = _ranks(site)
    rank = f"uint{8 * _rank_bytes(site)}_t"
    return {**_key_view(site), "rank": rank, "sorted": ranks.sorted, "first": ranks.starts}


def _rank_bytes(site: Site) -> int:
    sets = _sets(site)
    return max(_ranks(site).rank_bytes, sets.code_bytes if sets else 1)


def _rank_scratch(site: Site) -> int:
    return _rank_bytes(site) * len(stored_trees(site).keys)


@once_a_site
def _sets(site: Site, has_words: bool = False, sign: int = 0) -> TreeSets | None:
    """Of nodes that ask for sets, if any does."""
    trees = stored_trees(site)
    return tree_sets(trees, has_words, sign) if trees.sets else None


def _set_view(site: Site, sets: TreeSets | None) -> dict[str, Any]:
    """What asks for sets, and finds codes if features are no bytes."""
    if sets is None:
        return {}
    trees = stored_trees(site)
    view = {"asks": True, "has": f"glowmcu_tree_has{'_wide' if sets.code_bytes == 2 else ''}"}
    view |= {"compared": trees.compared, "is_coded": _is_ranked(site)}
    view["sets"] = sets.data if sets.data.data.size else None
    if _is_ranked(site):
        view |= {"firsts": sets.firsts, "counts": sets.counts, "set_features": sets.features}
        view |= {"keys": len(trees.keys), "is_long": trees.element is ElementType.I64}
    return view


def _set_costs(site: Site, target: Target, sets: TreeSets | None) -> tuple[float, int]:
    """Cycles of finding codes, bytes of constants."""
    if sets is None:
        return 0.0, 0
    trees, flash = stored_trees(site), sets.data.data.nbytes
    if not _is_ranked(site):
        return 0.0, flash
    code = (46.0 if is_armv6m(target) else 36.0) if trees.element is ElementType.F32 else 20.0
    return code * (len(trees.keys) - trees.compared), flash + sets.category_bytes


@once_a_site
def _bytes(site: Site) -> TreeBytes:
    trees, rows, sets = stored_trees(site), _rows(site), _sets(site)
    is_ranked, depth = _is_ranked(site), site.signature.inputs[0].shape[1]
    features, thresholds, size = np.arange(len(trees.keys)), _ranks(site).thresholds, 1
    if is_ranked:
        size = _ranks(site).rank_bytes
    else:
        numbers = [key.feature + depth * key.of_sets for key in trees.keys]
        features, thresholds = np.array(numbers, np.int64), trees.thresholds.copy()
    for node, item in (sets.of_node if sets else {}).items():
        thresholds[node] = item.place
    set_bytes = sets.place_bytes if sets else 0
    return tree_bytes(trees, features, thresholds, rows.numbers, size, set_bytes)


def _is_ranked(site: Site) -> bool:
    trees = stored_trees(site)
    return trees.element not in BYTES and bool(trees.keys)


def _is_signed(site: Site) -> bool:
    return site.signature.inputs[0].element is ElementType.I8


@kernel("tree_ensemble.table", TreeEnsemble)
class TableOfTrees(Kernel):
    """One loop over bytes; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        keys, depth = stored_trees(site).keys, site.signature.inputs[0].shape[1]
        features = (key.feature + depth * key.of_sets for key in keys)
        return all(feature < 2**15 for feature in features) and len(keys) < 2**15

    def cost(self, site: Site, target: Target) -> Cost:
        trees, found = stored_trees(site), _bytes(site)
        step = 17.0 + 3.0 * (found.node_bytes + found.leaf_bytes - 4)
        cycles = step * trees.visited + (16.0 + _row_cycles(site, target)) * trees.roots.size
        set_cycles, flash = _set_costs(site, target, _sets(site))
        cycles += set_cycles + (32.0 if is_armv6m(target) else 20.0) * trees.visits(trees.asks)
        flash += found.data.size + unsigned(found.roots).nbytes + _rows(site).flash_bytes
        scratch = 0
        if _is_ranked(site):
            cycles += _ranks(site).cycles
            flash += _ranks(site).flash_bytes
            scratch = _rank_scratch(site)
        lines = site.signature.output.shape[0]
        code = 110 + 90 * (scratch > 0) + 130 * bool(trees.sets)
        return Cost(lines * cycles, 0, flash, scratch, layer_code_bytes=code)

    def generate(self, site: Site, target: Target) -> KernelCode:
        found, is_ranked = _bytes(site), _is_ranked(site)
        is_signed = _is_signed(site)
        view = _common_view(site) | (_rank_view(site) if is_ranked else {})
        view |= _set_view(site, _sets(site))
        view |= {
            "nodes": ConstantArray("nodes", found.data, "of all trees"),
            "roots": ConstantArray("roots", unsigned(found.roots), "where trees begin"),
            "feature_bytes": found.feature_bytes,
            "leaf_bytes": found.leaf_bytes,
            "node_bytes": found.node_bytes,
            "threshold": _threshold_text(found, is_signed),
            "skip": _skip_text(found.feature_bytes + found.threshold_bytes, found.skip_bytes),
            "asking_bytes": found.asking_bytes,
            "set_place": _low_first(found.feature_bytes, found.set_bytes),
            "skip_asking": _skip_text(found.feature_bytes + found.set_bytes, found.skip_bytes),
        }
        return KernelCode(
            function="",
            operands=(0,),
            header=_header(site, False),
            template="portable/trees_table.c.j2",
            view=view,
            scratch_bytes=_rank_scratch(site) if is_ranked else 0,
        )


def _threshold_text(found: TreeBytes, is_signed: bool) -> str:
    """C of a node's threshold."""
    place = found.feature_bytes
    if found.threshold_bytes == 1:
        return f"(int8_t)node[{place}]" if is_signed else f"node[{place}]"
    return f"({_low_first(place, 2)})"


def _low_first(place: int, size: int) -> str:
    """C of a number in a node."""
    first, *others = (f"node[{place + offset}]" for offset in range(max(size, 1)))
    return first + "".join(f" | (uint32_t){text} << {8 * i}" for i, text in enumerate(others, 1))


def _skip_text(place: int, size: int) -> str:
    """C of the bytes to the right branch."""
    text = f"node[{place}]"
    for offset in range(1, size):
        text = f"(uint32_t){text} << 8 | node[{place + offset}]"
        text = f"({text})"
    return text


def _header(site: Site, is_flipped: bool) -> str:
    if stored_trees(site).sets:
        return "glowmcu_tree_sets.h"
    return "glowmcu_tree_bytes.h" if is_flipped else "glowmcu_tree_keys.h"


class _CodeOfTrees(Kernel):
    """Nested comparisons, a function a tree."""

    is_ranked = is_keyed = False

    def accepts(self, site: Site, target: Target) -> bool:
        if self._is_flipped(site) and site.operands_align % _WORD_BYTES:
            return False
        trees = stored_trees(site)
        has_codes = self.is_ranked or self.is_keyed or trees.element in BYTES
        if trees.sets and not has_codes:
            return False
        return trees.is_of_trees and 1 <= trees.depth <= _MOST_LEVELS

    def _is_flipped(self, site: Site) -> bool:
        """Whether features are copied to scratch with other signs, four at a time."""
        return not self.is_ranked and _is_signed(site)

    def _code(self, site: Site, target: Target) -> dict[str, tuple[CodeOfTree | str, ...]]:
        """Functions of the trees, and of Thumb one for all their votes, if it can be."""
        trees, rows = stored_trees(site), _rows(site)
        compared = as_keys(trees) if self.is_keyed else as_stored(trees)
        if self.is_ranked:
            compared = as_ranks(trees, _ranks(site), _rank_bytes(site))
        sets = self._sets(site)
        if sets is not None:
            compared = with_sets(compared, sets)
        votes: tuple[str, ...] = ()
        if not target.core.is_riscv:
            votes = votes_assembly(trees, rows, compared, _op(site).targets)
        has_assembly = not target.core.is_riscv and not votes
        return {"functions": code_of_trees(trees, rows, compared, has_assembly), "votes": votes}

    def _sets(self, site: Site) -> TreeSets | None:
        return _sets(site, True, 128 if self._is_flipped(site) else 0)

    def _scratch_bytes(self, site: Site) -> int:
        if self.is_ranked:
            return _rank_scratch(site)
        if self.is_keyed:
            return _KEY_BYTES * len(stored_trees(site).keys)
        return site.signature.inputs[0].shape[1] if _is_signed(site) else 0

    def cost(self, site: Site, target: Target) -> Cost:
        trees = stored_trees(site)
        step, node_bytes = code_costs(trees, target, self.is_ranked)
        if self.is_keyed:
            key_cycles, step, node_bytes = key_costs(target)
        cycles = step * trees.visited + (14.0 + _row_cycles(site, target)) * trees.roots.size
        code = node_bytes * int(trees.inner.sum()) + 18 * trees.roots.size
        set_cycles, set_flash = _set_costs(site, target, sets := self._sets(site))
        cycles += set_cycles
        code += 130 * bool(trees.sets)
        for node, item in sets.of_node.items() if sets else ():
            ask_cycles, ask_bytes = ask_costs(item, target)
            cycles += ask_cycles * trees.visits([node])
            code += ask_bytes - node_bytes
        flash, scratch = _rows(site).flash_bytes + set_flash, self._scratch_bytes(site)
        if self.is_ranked:
            cycles += _ranks(site).cycles
            flash += _ranks(site).flash_bytes
            code += 90
        elif self.is_keyed:
            cycles += key_cycles * trees.compared
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
        view |= _set_view(site, self._sets(site))
        return KernelCode(
            function="",
            operands=(0,),
            header=_header(site, is_flipped),
            template="portable/trees_code.c.j2",
            view=view,
            scratch_bytes=self._scratch_bytes(site),
            operand_align=_WORD_BYTES if is_flipped else 1,
        )


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
