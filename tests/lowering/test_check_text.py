"""The text checker itself: it must be able to fail."""

from __future__ import annotations

import pytest

from tests.lowering.check_text import check_text

TEXT = "alpha 1\nbeta 2\ngamma 3\n"


def test_lines_are_found_in_order() -> None:
    check_text(TEXT, "CHECK: alpha\nCHECK-NOT: delta\nCHECK: gam{{m+}}a {{\\d}}")


@pytest.mark.parametrize(
    "rules",
    [
        "CHECK: delta",
        "CHECK: beta\nCHECK: alpha",
        "CHECK: beta\nCHECK: beta",
        "CHECK: alpha\nCHECK-NOT: beta\nCHECK: gamma",
        "CHECK: alpha\nCHECK-NOT: gamma",
        "CHECK: alpha {{[a-z]}}",
        "CHECK alpha",
        "",
    ],
)
def test_what_does_not_agree_fails(rules: str) -> None:
    with pytest.raises(AssertionError):
        check_text(TEXT, rules)


def test_a_forbidden_text_may_stand_behind_the_next_find() -> None:
    check_text(TEXT, "CHECK: alpha\nCHECK-NOT: gamma\nCHECK: beta")
