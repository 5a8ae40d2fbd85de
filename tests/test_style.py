"""House rules that ruff does not know: size caps, templates' first line, include guards.

Each rule is a function from text to complaints, and is shown here to complain about a bad sample.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]
MAX_FILE_LINES, MAX_FUNCTION_LINES, MAX_COLUMNS = 400, 60, 100
PYTHON_FOLDERS = (
    "glowmcu", "tests", "scripts", "examples", "benchmarks", "firmware_examples", "plugin_examples",
)  # fmt: skip

Rule = Callable[[str, str], Iterator[str]]  # (path in the repository, text) -> complaints


def file_is_short(path: str, text: str) -> Iterator[str]:
    if (count := len(text.splitlines())) > MAX_FILE_LINES:
        yield f"{count} lines; a concept is hiding here"


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def functions_are_short(path: str, text: str) -> Iterator[str]:
    """Of `glowmcu.compile` alone the docstring does not count: it describes 40 arguments."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            count = _lines(node)
            if (path, node.name) == ("glowmcu/api/compilation.py", "compile"):
                count -= _lines(node.body[0])
            if count > MAX_FUNCTION_LINES:
                yield f"line {node.lineno}: {node.name} has {count} lines"


def comments_are_not_folded(path: str, text: str) -> Iterator[str]:
    """A longer one is folded when C is written, in the middle of what was set by hand."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith((" * ", "/* ")) and "{" not in line and len(line) > MAX_COLUMNS:
            yield f"line {number}: {len(line)} columns"


def c_is_tidy(path: str, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MAX_COLUMNS:
            yield f"line {number}: {len(line)} columns"
    if "\t" in text:
        yield "a tab"
    if re.search(r"[ ]$", text, re.MULTILINE):
        yield "blanks at the end of a line"
    if "\n\n\n" in text:
        yield "two empty lines"


def template_says_what_it_needs(path: str, text: str) -> Iterator[str]:
    first = text.partition("\n")[0]
    if not re.match(r"\{#-? *[Nn]eeds\b.*\w", first):
        yield "the first line must be a comment: {#- Needs: names and types. Calls: functions. -#}"


def header_has_an_include_guard(path: str, text: str) -> Iterator[str]:
    guard = re.sub(r"\W", "_", Path(path).name).upper()
    directives = re.findall(r"^[ \t]*#[ \t]*(.+?)[ \t]*$", text, re.MULTILINE)
    opens = directives[:2] == [f"ifndef {guard}", f"define {guard}"]
    if not (opens and directives[-1].startswith("endif")):
        yield f"must be enclosed in #ifndef {guard} / #define {guard} / #endif"


def constants_do_not_need_a_wide_int(path: str, text: str) -> Iterator[str]:
    """With an int of 16 bits ~31u is 0xFFE0, and 1u << n is 0 or worse; compilers do not tell."""
    number = r"(?<![\w)])(?:0[xX][0-9a-fA-F]+|[0-9]+)"
    for index, line in enumerate(text.splitlines(), 1):
        if re.search(rf"~\s*\(?\s*{number}[uU]\b|{number}[uU]?\s*<<\s*[^\s0-9]", line):
            yield f"line {index}: write (uint32_t)1 << n, ~(uint32_t)31"


def no_seconds_are_asserted(path: str, text: str) -> Iterator[str]:
    """They depend on the computer and on what else runs there: steps are counted."""
    clock = re.compile(r"""['"]seconds['"]|perf_counter|monotonic|process_time|\btime\.time""")
    for node in ast.walk(ast.parse(text)):
        found = ast.unparse(node.test) if isinstance(node, ast.Assert) else ""
        if clock.search(found) and re.search("[<>]", found):
            yield f"line {node.lineno}: {found}"


def text_of_programs_may_be_any(path: str, text: str) -> Iterator[str]:
    """What a compiler quotes of a file has the file's bytes, whatever they are."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("subprocess."):
            given = {item.arg: ast.unparse(item.value) for item in node.keywords}
            if given.get("text") == "True" and not {"errors", "input"} & set(given):
                yield f'line {node.lineno}: errors="replace"'


PYTHON_RULES: tuple[Rule, ...] = (file_is_short, functions_are_short)
RULES: dict[Rule, tuple[str, ...]] = {
    **{rule: tuple(f"{folder}/**/*.py" for folder in PYTHON_FOLDERS) for rule in PYTHON_RULES},
    no_seconds_are_asserted: ("tests/**/*.py",),
    text_of_programs_may_be_any: ("glowmcu/**/*.py",),
    template_says_what_it_needs: ("templates/**/*.j2",),
    comments_are_not_folded: ("templates/**/*.[ch].j2",),
    c_is_tidy: ("libjit/**/*.h", "templates/firmware/*.[ch]"),
    header_has_an_include_guard: ("libjit/**/*.h",),
    constants_do_not_need_a_wide_int: ("libjit/**/*.h", "templates/**/*.j2"),
}
CASES = [
    pytest.param(rule, pattern, id=f"{rule.__name__}: {pattern}")
    for rule, patterns in RULES.items()
    for pattern in patterns
]


@pytest.mark.parametrize(("rule", "pattern"), CASES)
def test_house_rule_holds(rule: Rule, pattern: str) -> None:
    complaints = [
        f"{path.relative_to(REPO)}: {complaint}"
        for path in sorted(REPO.glob(pattern))
        for complaint in rule(path.relative_to(REPO).as_posix(), path.read_text(encoding="utf-8"))
    ]
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("pattern", ["glowmcu/**/*.py", "templates/**/*.j2", "libjit/**/*.h"])
def test_rules_have_files_to_look_at(pattern: str) -> None:
    assert list(REPO.glob(pattern))


DOCUMENTED = 'def f():\n    """A.\n' + "    B.\n" * MAX_FUNCTION_LINES + '    """\n'
LONG_BODY = "def f():\n" + "    x = 1\n" * MAX_FUNCTION_LINES
GUARDED = "/* What. */\n#ifndef A_B_H\n#define A_B_H\n#include <stdint.h>\n#endif /* A_B_H */\n"


@pytest.mark.parametrize(
    ("rule", "path", "good", "bad"),
    [
        (file_is_short, "a.py", "x = 1\n" * MAX_FILE_LINES, "x = 1\n" * (MAX_FILE_LINES + 1)),
        (functions_are_short, "a.py", LONG_BODY[: -len("    x = 1\n")], LONG_BODY),
        (
            functions_are_short, "glowmcu/api/compilation.py",
            DOCUMENTED.replace("f()", "compile()"), DOCUMENTED,
        ),
        (no_seconds_are_asserted, "a.py", "assert steps < 9", 'assert row["seconds"] < 9'),
        (no_seconds_are_asserted, "a.py", "assert end.seconds < 9", "assert monotonic() - a <= 9"),
        (
            text_of_programs_may_be_any, "a.py", 'subprocess.run(a, text=True, errors="replace")',
            "subprocess.run(a, text=True)",
        ),
        (c_is_tidy, "a.h", "int x;\n\nint y;\n", "int x;\n\n\nint y;\n"),
        (c_is_tidy, "a.h", "    int x;\n", "\tint x;\n"),
        (c_is_tidy, "a.h", "int x;\n", "int x; \n"),
        (c_is_tidy, "a.h", "/" * MAX_COLUMNS, "/" * (MAX_COLUMNS + 1)),
        (template_says_what_it_needs, "a.j2", "{#- Needs: m (ModelView). -#}\nint x;", "int x;"),
        (template_says_what_it_needs, "a.j2", "{# needs x #}", "{# Needs: #}"),
        (comments_are_not_folded, "a.c.j2", " * " + 97 * "x", " * " + 98 * "x"),
        (header_has_an_include_guard, "a_b.h", GUARDED, GUARDED.replace("A_B_H", "OTHER_H")),
        (header_has_an_include_guard, "a_b.h", GUARDED, "#pragma once\n"),
        (header_has_an_include_guard, "a_b.h", GUARDED, GUARDED + "#include <string.h>\n"),
        (constants_do_not_need_a_wide_int, "a.h", "x & ~(uint32_t)31", "x & ~31u"),
        (constants_do_not_need_a_wide_int, "a.h", "x & ~1", "x & ~(0x1Fu)"),
        (constants_do_not_need_a_wide_int, "a.h", "(uint32_t)1 << n", "(int32_t)(1u << n)"),
        (constants_do_not_need_a_wide_int, "a.h", "1u << 13", "1 << (n - 1)"),
    ],
)  # fmt: skip
def test_a_rule_accepts_the_good_and_complains_about_the_bad(
    rule: Rule, path: str, good: str, bad: str
) -> None:
    assert list(rule(path, good)) == []
    assert list(rule(path, bad))


def test_figures_in_the_readme_are_those_of_the_last_benchmark() -> None:
    script = REPO / "scripts" / "update_readme.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
