"""Each folder of the package has a page, and the files that pages name are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
PACKAGE = REPO / "glowmcu"
PAGES = sorted(PACKAGE.rglob("README.md"))
FOLDERS = sorted(path.parent for path in PACKAGE.glob("*/__init__.py"))
#: `name.py` and `folder/name.py` in code spans; patterns are no files.
NAMED = re.compile(r"`((?:\w+/)*\w+\.py)`")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_folder_of_the_package_says_what_is_in_it(folder: Path) -> None:
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {folder.name}"), "the title is the folder's name"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.relative_to(REPO).as_posix())
def test_files_that_a_page_names_are_there(page: Path) -> None:
    names = set(NAMED.findall(page.read_text(encoding="utf-8")))
    places = (page.parent, page.parent.parent, PACKAGE, REPO)
    missing = {name for name in names if not any((place / name).is_file() for place in places)}
    # A page may also name the files of its subfolders.
    assert {name for name in missing if not list(page.parent.rglob(name))} == set()


def test_pages_name_enough_files_to_be_looked_at() -> None:
    named = [name for page in PAGES for name in NAMED.findall(page.read_text(encoding="utf-8"))]
    assert len(named) > 200
