"""The documentation site: it builds, its links lead somewhere, it has all that the code has."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install '.[docs]'")
pytest.importorskip("material", reason="mkdocs-material is not installed: pip install '.[docs]'")
pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed: pip install '.[docs]'")
pytest.importorskip("nbconvert", reason="nbconvert is not installed: pip install '.[docs]'")

import glowmcu
from glowmcu.board import board_names
from glowmcu.cli.main import COMMANDS, group
from glowmcu.error_codes import explanations
from glowmcu.report.operators import operator_rows
from scripts import site_links, site_pages
from tests.conftest import REPO


def build(checkout: Path, site: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", site],
        cwd=checkout, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    done = build(REPO, folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.mark.slow
def test_the_site_builds_with_every_link_and_heading_that_pages_name(site: Path) -> None:
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    for page in (REPO / "docs").rglob("*.md"):
        name = page.relative_to(REPO / "docs").with_suffix(".html").as_posix()
        assert name in pages or name == "misra_head.html"
    assert {
        "notebooks/quantize_and_explain.html",
        "repository/glowmcu/memplan/index.html",
    } <= pages


@pytest.mark.slow
def test_the_site_fetches_nothing_when_it_is_read(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)[^>]*\ssrc=\"?([^\"\s>]+)", text)
        loaded += re.findall(r"<link[^>]*rel=\"?stylesheet[^>]*href=\"?([^\"\s>]+)", text)
        away = [address for address in loaded if re.match(r"(https?:)?//", address)]
        assert not away, f"{page}: {away}"


@pytest.mark.slow
def test_markdown_that_only_one_of_two_readers_understands_is_not_there(site: Path) -> None:
    """A list without an empty line before it is a list in a repository and text on the site."""
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"<p>(?:(?!</p>).)*\n(?:[-*]|\d+\.) ", text, re.S), page
        assert "<p>|" not in text, page
        assert "```" not in text, page


@pytest.mark.slow
def test_links_to_nothing_end_the_build_and_are_named(tmp_path: Path) -> None:
    wrong = ("nowhere.md", "memory.md#no-such-heading", "../benchmarks/not_there.md")
    for path in REPO.iterdir():
        if path.name in ("docs", "mkdocs.yml", "scripts"):  # what knows the folder it lies in
            (shutil.copytree if path.is_dir() else shutil.copy)(path, tmp_path / path.name)
        elif not path.name.startswith(".") and path.name not in ("build", "dist"):
            (tmp_path / path.name).symlink_to(path)
    page = tmp_path / "docs" / "report.md"
    links = "".join(f"[wrong]({target})\n" for target in wrong)
    page.write_text(page.read_text(encoding="utf-8") + "\n" + links, encoding="utf-8")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode != 0
    assert all(target.rpartition("#")[2] in done.stderr for target in wrong), done.stderr


def test_pages_from_the_code_have_all_that_the_code_has() -> None:
    operators, boards = site_pages.operators(), site_pages.boards()
    assert all(row["operator"] in operators for row in operator_rows())
    assert all(f"`{name}`" in boards for name in board_names())
    api = site_pages.api()
    assert all(f".{name}\n" in api for name in glowmcu.__all__ if not name.startswith("__"))
    page = site_pages.commands()
    for name in COMMANDS:
        command = group.get_command(click.Context(group), name)
        assert command is not None
        _, _, section = page.partition(f"### glowmcu {name}\n")
        section = section.partition("\n### ")[0]
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert max(parameter.opts, key=len) in section, f"{name} {parameter.opts}"
    codes = (REPO / "docs" / "error_codes.md").read_text(encoding="utf-8")
    assert all(f"### {code}:" in codes for code in explanations())


def test_links_out_of_the_documentation_lead_to_pages_or_to_the_repository() -> None:
    def on_site(text: str, published: str | None = None) -> str:
        return site_links.links_for_site(text, "docs/boards/index.md", published)

    assert on_site("[a](../memory.md#x)") == "[a](../memory.md#x)"
    assert on_site("[a](../../boards)") == "[a](../repository/boards/README.md)"
    assert on_site("[a](../../boards/nrf52.toml)") == "a"
    address = "https://example.org/glowmcu"
    assert on_site("[a](../../LICENSE)", address) == f"[a]({address}/blob/main/LICENSE)"
    assert on_site("[`a`](https://example.org)") == "[`a`](https://example.org)"
    assert on_site("`[a](../../LICENSE)`") == "`[a](../../LICENSE)`"
    assert on_site("```text\n[a](../../LICENSE)\n```\n") == "```text\n[a](../../LICENSE)\n```\n"
    assert on_site("[a](../notebooks/x.ipynb)") == "[a](../notebooks/x.md)"
    assert on_site("[a](../../nothing.py)") == "[a](../../nothing.py)"
    readme = site_links.links_for_site("[a](docs/memory.md)", "README.md", None)
    assert readme == "[a](../memory.md)"
