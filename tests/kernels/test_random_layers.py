"""A part of the random sweep; `python -m benchmarks.sweep` runs the whole of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import sweep_image
from benchmarks.random_layers import ALL_FAMILIES, FAMILIES
from benchmarks.sweep import CORES, MORE_CORES, stale, sweep, sweep_layers
from benchmarks.sweep_page import PAGE, page, stored
from benchmarks.sweep_rows import parts
from glowmcu.cores import core
from glowmcu.ir.kernel_code import RowCall, RowSupport
from glowmcu.verify import toolchain

#: Layers of a family that are asked for, on a Cortex-M4 of int8 and of int16, and on other cores.
MOST_ASKED, INT16_ASKED, LEAST_ASKED = 2000, 150, 100
#: Recorded on cores that are modelled quickly.
RECORDED = sorted(
    {(e.core, e.family) for e in stored() if e.core in ("cortex-m4", "cortex-m0plus")}
)

needs_arm = pytest.mark.skipif(toolchain.missing() is not None, reason=str(toolchain.missing()))


def test_the_page_of_sweeps_is_what_was_recorded() -> None:
    assert page(stored()) == PAGE.read_text(encoding="utf-8")


def test_nothing_that_was_swept_was_wrong() -> None:
    assert stored()
    assert [entry.key for entry in stored() if entry.wrong] == []


def test_every_family_was_swept_on_a_cortex_m4() -> None:
    layers = _layers("cortex-m4")
    asked = dict.fromkeys(ALL_FAMILIES, INT16_ASKED) | dict.fromkeys(FAMILIES, MOST_ASKED)
    assert {family: layers[family] for family in asked if layers[family] < asked[family]} == {}


def test_every_core_was_swept() -> None:
    few = {
        (name, family): layers
        for name in CORES
        for family, layers in _layers(name).items()
        # Cores without DSP instructions have no kernels of int16 of their own.
        if layers < LEAST_ASKED and (family in FAMILIES or core(name).has_dsp)
    }
    assert few == {}
    assert {entry.core for entry in stored()} == {*CORES, *MORE_CORES}


def _layers(core: str) -> Counter[str]:
    layers: Counter[str] = Counter()
    for entry in stored():
        layers[entry.family] += entry.layers if entry.core == core else 0
    return layers


@pytest.mark.parametrize("core", [*CORES, *MORE_CORES])
def test_what_was_swept_is_the_code_of_today(core: str) -> None:
    changed = stale([entry for entry in stored() if entry.core == core])
    names = list(dict.fromkeys(entry.variant for entry in changed))
    assert names == [], "kernels changed: run python -m benchmarks.sweep --stale"


def test_another_constant_makes_a_sweep_stale() -> None:
    entry = stored()[0]
    assert stale([replace(entry, first=entry.first[1:])]) != []


@needs_arm
@pytest.mark.parametrize(("core", "family"), RECORDED)
def test_random_layers_are_what_they_mean_on_the_core(core: str, family: str) -> None:
    entries = [entry for entry in stored() if (entry.core, entry.family) == (core, family)]
    found = [
        sweep_layers(family, core, entry.variant, entry.seed, entry.first[:2]) for entry in entries
    ]
    assert [text for swept in found for text in swept.wrong] == []
    assert sum(swept.layers for swept in found) >= len(entries) > 0


@needs_arm
def test_a_wrong_byte_is_found_with_its_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    built = sweep_image.build_image

    def spoiled(*arguments: object) -> sweep_image.Image:
        image = built(*arguments)  # type: ignore[arg-type]
        text = image.files["m.c"]
        end = text.index("\n    return 0;\n}\n", text.index("int32_t m_run(void *arena)"))
        files = {**image.files, "m.c": f"{text[:end]}\n    a[AT_0_ADD] ^= 1;{text[end:]}"}
        return sweep_image.Image(
            image.imported, files, image.by_rows, image.variants, image.overlapping
        )

    monkeypatch.setattr("benchmarks.sweep.build_image", spoiled)
    ((_, swept),) = sweep("elementwise", "cortex-m4", 5, seed=1, only="sum.linear_dsp")
    assert {text.rpartition(" ")[2] for text in swept.wrong} == {"host", "cortex-m"}
    assert len({text.partition(" differs")[0] for text in swept.wrong}) == 1


def test_parts_cover_every_row_once_and_in_order_where_they_add_up() -> None:
    random = np.random.default_rng(1)
    for call in RowCall:
        for turns in (1, 2, 3, 7, 20):
            found = parts(RowSupport(call, turns, ()), random)
            rows = [row for first, end in found for row in range(first, end)]
            assert sorted(rows) == list(range(turns))
            assert call is not RowCall.ACCUMULATE or rows == sorted(rows)
            assert call is not RowCall.WHOLE or all(end - first == 1 for first, end in found)
