"""`glowmcu example`: models and samples beside the user."""

from __future__ import annotations

import errno
import json
import shlex
from pathlib import Path

import pytest

from glowmcu.examples import examples
from tests.cli.conftest import Run
from tests.cli.test_help import offered

REPO = Path(__file__).resolve().parents[2]


def test_without_a_name_all_are_listed(glowmcu_cli: Run) -> None:
    lines = glowmcu_cli("example").out.splitlines()
    assert [line.split()[0] for line in lines] == ["digits", "vowels", "wake_word"]
    rows = json.loads(glowmcu_cli("example", "--json").out)
    assert [row["title"] for row in rows] == [line.split(maxsplit=1)[1] for line in lines]


@pytest.mark.parametrize("name", list(examples()))
def test_what_an_example_says_to_type_works_beside_its_files(
    name: str, glowmcu_cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = glowmcu_cli("example", name, "-o", "a folder")
    assert ended.exit_code == 0, ended.err
    typed = ended.out.partition("try:\n")[2].splitlines()
    assert typed[0].strip() == "cd 'a folder'"
    monkeypatch.chdir("a folder")
    assert len(typed) > 2
    for line in typed[1:]:
        command, *arguments = shlex.split(line)
        assert command == "glowmcu"
        ended = glowmcu_cli(*arguments)
        assert ended.exit_code == 0, ended.err


@pytest.mark.parametrize("name", list(examples()))
def test_the_files_are_those_of_the_checkout_with_their_licences(
    name: str, glowmcu_cli: Run, work: Path
) -> None:
    assert glowmcu_cli("example", name, "-o", "here").exit_code == 0
    written = {path.name: path.read_bytes() for path in (work / "here").iterdir()}
    assert written.pop("LICENSES.txt") == (REPO / "examples" / "LICENSES.txt").read_bytes()
    assert written.keys() == set(examples()[name].files)
    for file, content in written.items():
        assert content == (REPO / "examples" / name / file).read_bytes(), file


def test_a_file_of_the_users_own_is_kept_and_nothing_is_written(
    glowmcu_cli: Run, work: Path
) -> None:
    folder = work / "mine"
    folder.mkdir()
    (folder / "calibration.npz").write_text("my own")
    ended = glowmcu_cli("example", "digits", "-o", "mine")
    assert ended.exit_code == 2
    assert "error[GM161]" in ended.err
    assert "calibration.npz" in ended.err
    assert "--force" in ended.err
    assert [path.name for path in folder.iterdir()] == ["calibration.npz"]
    assert (folder / "calibration.npz").read_text() == "my own"
    assert glowmcu_cli("example", "digits", "-o", "mine", "--force").exit_code == 0
    assert (folder / "calibration.npz").read_bytes()[:2] == b"PK"


def test_an_example_may_be_written_again_where_its_files_are_as_they_were(
    glowmcu_cli: Run, work: Path
) -> None:
    assert glowmcu_cli("example", "digits").out.endswith("glowmcu verify build/digits\n")
    assert glowmcu_cli("example", "digits").exit_code == 0
    (work / "seven.npy").write_bytes(b"")
    assert "GM161" in glowmcu_cli("example", "digits").err


def test_a_wrong_name_is_answered_by_the_nearest(glowmcu_cli: Run) -> None:
    ended = glowmcu_cli("example", "digit")
    assert ended.exit_code == 2
    assert "error[GM160]: there is no example 'digit'" in ended.err
    assert "did you mean digits?" in ended.err
    assert "there are digits, vowels, wake_word" in glowmcu_cli("example", "xyz").err


def test_a_folder_that_cannot_be_made_is_named(glowmcu_cli: Run) -> None:
    ended = glowmcu_cli("example", "digits", "-o", "flat.npy")
    assert ended.exit_code == 2
    assert "error[GM162]" in ended.err
    assert "flat.npy" in ended.err


def test_a_file_that_cannot_be_written_is_named_as_the_user_knows_it(
    glowmcu_cli: Run, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, content: bytes) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", f".{path.name}.1234.part")

    monkeypatch.setattr("glowmcu.examples.write_file", refuse)
    ended = glowmcu_cli("example", "digits", "-o", "here")
    assert "Permission denied\n" in ended.err
    assert "here/" in ended.err.replace("\\", "/")
    assert ".part" not in ended.err


def test_the_shell_completes_the_names() -> None:
    assert offered("glowmcu example ") == ["digits", "vowels", "wake_word"]
    assert offered("glowmcu example w") == ["wake_word"]
