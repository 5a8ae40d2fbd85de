"""Parsed templates are kept for the next compilation, and never taken from somebody else."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import jinja2
import pytest

from glowmcu.compiler_digest import compiler_digest
from glowmcu.emit_c.template_cache import TemplateCache, template_cache
from glowmcu.user_cache import UserCache

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="there is no cache here")
SOURCE = "{% for i in [1, 2] %}{{ i }}{{ x }}{% endfor %}"


@pytest.fixture(autouse=True)
def _bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


def render(folder: Path, source: str = SOURCE, compiler: str = "this") -> tuple[str, int]:
    """What a new process would make of a template, and how many it has to parse."""
    environment = jinja2.Environment(
        loader=jinja2.DictLoader({"t": source}),
        bytecode_cache=TemplateCache(UserCache(folder, compiler)),
    )
    with mock.patch.object(environment, "compile", wraps=environment.compile) as parsed:
        return environment.get_template("t").render(x="a"), parsed.call_count


def only_file(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


def test_a_template_is_parsed_once(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "cache"
    assert render(folder) == ("1a2a", 1)
    assert render(folder) == ("1a2a", 0)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_another_text_and_another_compiler_are_parsed_anew(tmp_path: Path) -> None:
    render(tmp_path)
    assert render(tmp_path, "{{ x }}!") == ("a!", 1)
    assert render(tmp_path, "{{ x }}!") == ("a!", 0)
    assert render(tmp_path, "{{ x }}!", "another") == ("a!", 1)


def _emptied(folder: Path) -> None:
    only_file(folder).write_bytes(b"")


def _cut(folder: Path) -> None:
    file = only_file(folder)
    file.write_bytes(file.read_bytes()[:-1])


def _flipped(folder: Path) -> None:
    content = bytearray(only_file(folder).read_bytes())
    content[-20] ^= 1
    only_file(folder).write_bytes(content)


def _linked(folder: Path) -> None:
    file = only_file(folder)
    elsewhere = folder.parent / "elsewhere"
    file.replace(elsewhere)
    file.symlink_to(elsewhere)


def _pipe(folder: Path) -> None:
    file = only_file(folder)
    file.unlink()
    os.mkfifo(file)


DAMAGE: dict[str, Callable[[Path], None]] = {
    "empty": _emptied,
    "cut off": _cut,
    "a bit flipped": _flipped,
    "a file that others can write": lambda folder: only_file(folder).chmod(0o666),
    "a folder that others can write": lambda folder: folder.chmod(0o777),
    "a link": _linked,
    "a pipe": _pipe,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_is_damaged_or_not_ours_is_not_read(
    damage: Callable[[Path], None], tmp_path: Path
) -> None:
    folder = tmp_path / "cache"
    render(folder)
    damage(folder)
    assert render(folder) == ("1a2a", 1)


def test_a_folder_of_another_user_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    render(tmp_path)
    before = only_file(tmp_path).read_bytes()
    monkeypatch.setattr(os, "getuid", lambda: os.geteuid() + 1)
    assert render(tmp_path) == ("1a2a", 1)
    assert render(tmp_path, "{{ x }}!") == ("a!", 1)
    assert only_file(tmp_path).read_bytes() == before


def test_where_nothing_can_be_written_templates_are_parsed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert render(tmp_path / "file" / "cache") == ("1a2a", 1)


def test_nothing_is_kept_where_python_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert render(tmp_path / "cache") == ("1a2a", 1)
    assert not (tmp_path / "cache").exists()


def test_the_compiler_names_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache = template_cache()
    assert cache is not None
    assert compiler_digest() in cache._files.made_by
    assert cache._files.folder.is_relative_to(tmp_path)
