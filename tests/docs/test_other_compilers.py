"""docs/other_compilers.md names every operator that an export has a form for, and no other."""

from __future__ import annotations

import re

from glowmcu.frontend.stablehlo.exporter import load_exporters as of_stablehlo
from glowmcu.frontend.tosa.exporter import load_exporters as of_tosa
from tests.conftest import REPO

TEXT = (REPO / "docs" / "other_compilers.md").read_text(encoding="utf-8")


def named(after: str) -> list[str]:
    """The operators of the paragraph that begins so."""
    (paragraph,) = (part for part in TEXT.split("\n\n") if part.startswith(after))
    return re.findall(r"`(\w+)`", paragraph)


def test_what_has_a_form_is_listed() -> None:
    stablehlo, tosa = ({kind.name for kind in forms()} for forms in (of_stablehlo, of_tosa))
    assert named("Both have forms for") == sorted(stablehlo & tosa)
    assert named("StableHLO alone has forms for") == sorted(stablehlo - tosa)
    assert named("TOSA alone has forms for") == sorted(tosa - stablehlo)
