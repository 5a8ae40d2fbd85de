"""The glossary names kernels that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from glowmcu.kernels.kernel import load_kernels
from glowmcu.kernels.selection import subpixel_variants, transposed_variants

PAGE = Path(__file__).resolve().parents[2] / "docs" / "glossary.md"
TABLE = PAGE.read_text(encoding="utf-8").partition("## Names of kernels")[2].partition("\n## ")[0]
#: Code spans of the first column; a leading ellipsis stands for the rest of a name.
ROWS = re.findall(r"^\| (`.*?) \|", TABLE, re.MULTILINE)
NAMED = [name for row in ROWS for name in re.findall(r"`…?\.?(\w+)`", row)]


@pytest.fixture(scope="module")
def kernels() -> set[str]:
    found = {kernel.name for variants in load_kernels().values() for kernel in variants}
    return {*found, f"any{transposed_variants.SUFFIX}", f"any{subpixel_variants.SUFFIX}"}


@pytest.mark.parametrize("name", NAMED)
def test_a_kernel_of_the_glossary_exists(name: str, kernels: set[str]) -> None:
    assert any(re.search(rf"(^|[._]){re.escape(name.strip('_'))}$", found) for found in kernels)


def test_the_table_has_names_to_look_at() -> None:
    assert len(NAMED) > 15
