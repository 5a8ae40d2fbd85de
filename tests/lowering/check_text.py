"""What a graph's text must contain, line by line: FileCheck in a few lines.

    CHECK: "glowmcu.conv_2d"{{.*}}padding = array<i64: 1, 1, 1, 1>
    CHECK-NOT: glowmcu.pad

`CHECK` finds the next line that has the text, behind the line found before; `CHECK-NOT` forbids the
text up to the next find. `{{…}}` is a regular expression.
"""

from __future__ import annotations

import re

_RULE = re.compile(r"\s*(CHECK(?:-NOT)?):\s*(.*\S)")


def check_text(text: str, rules: str) -> None:
    """AssertionError with the rule and the text when they do not agree."""
    lines, position = text.splitlines(), 0
    forbidden: list[str] = []
    found_rules = [_RULE.fullmatch(line) for line in rules.splitlines() if line.strip()]
    assert found_rules, "no rules"
    for rule in found_rules:
        assert rule is not None, f"no rule in {rules!r}"
        kind, pattern = rule.groups()
        if kind == "CHECK-NOT":
            forbidden.append(pattern)
            continue
        end = _find(lines, position, pattern)
        assert end is not None, f"no line with {pattern!r} from line {position + 1} on:\n{text}"
        _expect_absent(lines[position:end], forbidden, text)
        forbidden, position = [], end + 1
    _expect_absent(lines[position:], forbidden, text)


def _find(lines: list[str], start: int, pattern: str) -> int | None:
    expression = _expression(pattern)
    return next((i for i in range(start, len(lines)) if expression.search(lines[i])), None)


def _expect_absent(lines: list[str], forbidden: list[str], text: str) -> None:
    for pattern in forbidden:
        assert _find(lines, 0, pattern) is None, f"{pattern!r} must not be here:\n{text}"


def _expression(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"\{\{(.*?)\}\}", pattern)
    return re.compile("".join(p if i % 2 else re.escape(p) for i, p in enumerate(parts)))
