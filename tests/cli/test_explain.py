"""Every code that is raised is explained, in one place, and `glowmcu explain` finds it."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from glowmcu.error_codes import FAMILIES, code_of, document, exit_codes, explanations
from glowmcu.errors import ExitCode
from tests.cli.conftest import Run

REPO = Path(__file__).resolve().parents[2]
INTERNAL_ERROR = "GM900"  # written into a message, not raised


def raised_in(folder: Path) -> Iterator[tuple[str, str]]:
    """(code, module) of every code that stands as a string of its own."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                continue
            if node.value.startswith("GM") and code_of(node.value) == node.value:
                yield node.value, str(path.relative_to(REPO))


def test_what_is_raised_is_explained_and_nothing_else() -> None:
    raised = {code for code, _ in raised_in(REPO / "glowmcu")} | {INTERNAL_ERROR}
    assert raised - set(explanations()) == set(), "add it to glowmcu/error_codes.toml"
    assert set(explanations()) - raised == set(), "no longer raised"


def test_an_explanation_says_what_and_what_to_do() -> None:
    titles = [entry.title for entry in explanations().values()]
    assert len(set(titles)) == len(titles)
    for code, entry in explanations().items():
        assert code[2] in FAMILIES
        for text in (entry.cause, entry.remedy):
            assert text[-1] in ".?", code
            assert len(text.split()) >= 4, code
        assert not entry.title.endswith("."), code


def test_the_page_is_written_from_the_list() -> None:
    page = (REPO / "docs" / "error_codes.md").read_text(encoding="utf-8")
    assert page == document(), "run `python -m scripts.error_codes`"


def test_every_exit_code_is_explained() -> None:
    assert {int(code) for code in ExitCode} | {130, 143} == set(exit_codes())


@pytest.mark.parametrize(
    "said", ["GM409", "gm409", "409", "error[GM409]", "error[GM409]:", "GM 409"]
)
def test_a_code_is_found_however_it_is_written(said: str, glowmcu_cli: Run) -> None:
    ended = glowmcu_cli("explain", said)
    assert ended.exit_code == 0, ended.err
    assert ended.out.startswith("GM409: The input cannot be streamed\n\n")
    assert "What to do: " in ended.out
    assert max(map(len, ended.out.splitlines())) <= 80


def test_unknown_codes_name_their_neighbours(glowmcu_cli: Run) -> None:
    ended = glowmcu_cli("explain", "GM411")
    assert ended.exit_code == 2
    assert "there is no error code GM411" in ended.err
    assert "GM410 is" in ended.err
    ended = glowmcu_cli("explain", "streaming")
    assert ended.exit_code == 2
    assert "'streaming' is no error code" in ended.err
    assert "glowmcu explain GM409" in ended.err


def test_all_codes_are_listed_and_one_is_an_object(glowmcu_cli: Run) -> None:
    lines = glowmcu_cli("explain").out.splitlines()
    exits = [f"exit {code}" for code in exit_codes()]
    assert [line.partition("  ")[0].strip() for line in lines] == [*explanations(), *exits]
    body = json.loads(glowmcu_cli("explain", "604", "--json").out)
    assert set(body) == {"code", "title", "cause", "remedy"}
    assert len(json.loads(glowmcu_cli("explain", "--json").out)) == len(explanations())


def test_exit_codes_are_explained_too(glowmcu_cli: Run) -> None:
    assert glowmcu_cli("explain", "4").out.startswith("exit code 4: Does not fit")
    assert json.loads(glowmcu_cli("explain", "70", "--json").out)["exit_code"] == 70
    assert glowmcu_cli("explain", "5").exit_code == 2
    assert "exit code 143: " in glowmcu_cli("explain", "143").out
    both = glowmcu_cli("explain", "130").out
    assert both.startswith("exit code 130: Interrupted by Ctrl-C")
    assert "\n\nGM130: The input cannot slide\n" in both
    assert "exit code" not in glowmcu_cli("explain", "GM130").out
