"""Whether packages may add to this one: never no where `importlib.metadata` would find some."""

from __future__ import annotations

import sys
import zipfile
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
from pathlib import Path

import pytest

from glowmcu.installed_packages import may_add_to

OURS = "[console_scripts]\nx = y:z\n\n[glowmcu.kernels]\nnew = there:kernel\n"
OTHERS = "[console_scripts]\nx = glowmcu.cli:main\n\n[other.kernels]\nnew = there:kernel\n"


@pytest.fixture(autouse=True)
def pythons_own_finders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the finders of what other tests import, such as the package importlib_metadata's."""
    monkeypatch.setattr(sys, "meta_path", [BuiltinImporter, FrozenImporter, PathFinder])


def declared(folder: Path, name: str, text: str) -> str:
    """The folder, with metadata of a package."""
    place = folder / name / "entry_points.txt"
    place.parent.mkdir(parents=True)
    place.write_text(text)
    return str(folder)


@pytest.mark.parametrize("name", ["new-1.0.dist-info", "New.egg-info", "EGG-INFO"])
def test_entry_points_in_one_of_our_groups_are_seen(name: str, tmp_path: Path) -> None:
    other = declared(tmp_path / "a", "other-1.0.dist-info", OTHERS)
    assert may_add_to("glowmcu", [other, declared(tmp_path / "b", name, OURS)])


def test_those_of_other_groups_and_what_is_no_metadata_are_not(tmp_path: Path) -> None:
    folder = declared(tmp_path / "a", "other-1.0.dist-info", OTHERS)
    declared(tmp_path / "a", "notes", OURS)
    (tmp_path / "a" / "empty-1.0.dist-info").mkdir()
    (tmp_path / "a" / "file.egg-info").write_text("Name: file")
    assert not may_add_to("glowmcu", [folder, str(tmp_path / "missing"), str(tmp_path / "b.zip")])


def test_this_folder_is_what_an_empty_place_means(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(declared(tmp_path / "a", "new-1.0.dist-info", OURS))
    assert may_add_to("glowmcu", [""])


def test_archives_and_other_finders_are_left_to_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("other.py", "")
    assert may_add_to("glowmcu", [str(tmp_path / "all.zip")])

    class Finder:
        def find_spec(self, *_: object) -> None:
            return None

        def find_distributions(self, *_: object) -> list[object]:
            return []

    assert not may_add_to("glowmcu", [])
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert may_add_to("glowmcu", [])
