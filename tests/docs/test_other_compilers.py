"""docs/other_compilers.md names every operator that an export has no form for, and no other."""

from __future__ import annotations

import re

from glowmcu.frontend.stablehlo.exporter import load_exporters as of_stablehlo
from glowmcu.frontend.tosa.exporter import load_exporters as of_tosa
from glowmcu.ops.registry import load_operations
from tests.conftest import REPO

TEXT = (REPO / "docs" / "other_compilers.md").read_text(encoding="utf-8")
#: What `compile` makes and no file has; a constant is written with who reads it.
MADE = {"constant", "delegate", "ethos_u", "gradient_sum", "stored_parameter"}
MADE_ENDS = ("_gradient", "_step")


def named(after: str) -> list[str]:
    """The operators of the paragraph that begins so."""
    (paragraph,) = (part for part in TEXT.split("\n\n") if part.startswith(after))
    return re.findall(r"`(\w+)`", paragraph)


def test_what_has_no_form_is_listed() -> None:
    operators = {
        name: kind for name, kind in load_operations().items()
        if name not in MADE and not name.endswith(MADE_ENDS)
    }  # fmt: skip
    stablehlo, tosa = (
        {name for name, kind in operators.items() if kind not in forms()}
        for forms in (of_stablehlo, of_tosa)
    )
    assert named("Neither has a form for") == sorted(stablehlo & tosa)
    assert named("StableHLO has none for") == sorted(stablehlo - tosa)
    assert named("TOSA has none for") == sorted(tosa - stablehlo)
