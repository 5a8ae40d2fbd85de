"""Writing a bundle: all of it or nothing, never over somebody's files; and reading it again."""

from __future__ import annotations

import errno
import hashlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import glowmcu
from glowmcu.emit_c import bundle_folder
from glowmcu.emit_c import write_bundle as writing
from glowmcu.emit_c.c_text import check_bundle_name
from glowmcu.emit_c.write_bundle import write_bundle
from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.manifest import read_manifest
from tests.bundle.conftest import BundleOf
from tests.bundle.folders import FAULTS, bundle, contents, put
from tests.bundle.models import BUILT, model_bytes

OLD = bundle({"net.c": "old", "old.h": "old", "selftest/t.c": "old", "zephyr/Kconfig": "old"})
NEW = bundle({"net.c": "new", "new.h": "new", "selftest/t.c": "new"})


def refused(folder: Path, files: dict[str, str] = NEW, name: str = "net") -> GlowmcuError:
    """The error with which the bundle is refused, and nothing has changed."""
    before = contents(folder.parent)
    with pytest.raises(GlowmcuError) as caught:
        write_bundle(files, folder, name)
    assert contents(folder.parent) == before
    assert caught.value.exit_code is ExitCode.USAGE
    return caught.value


def test_a_new_bundle_replaces_an_old_one_entirely(tmp_path: Path) -> None:
    assert write_bundle(OLD, tmp_path / "out", "net") == ()
    assert write_bundle(NEW, tmp_path / "out", "net") == ()
    assert contents(tmp_path / "out") == NEW
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert not (tmp_path / "out" / "zephyr").exists()


def test_an_empty_folder_and_missing_parents_will_do(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    put(tmp_path / "repository", {".gitignore": "", ".git/HEAD": ""})
    folders = tmp_path / "empty", tmp_path / "a" / "b" / "c", tmp_path / "repository"
    for folder in folders:
        write_bundle(NEW, folder, "net")
    assert contents(folders[0]) == contents(folders[1]) == NEW
    assert contents(folders[2]) == {**NEW, ".gitignore": "", ".git/HEAD": ""}


def test_a_first_bundle_that_fails_leaves_no_folder(tmp_path: Path) -> None:
    with FAULTS(FAULTS.raised_at(9, OSError)), pytest.raises(GlowmcuError, match="GM504"):
        write_bundle(NEW, tmp_path / "a" / "b", "net")
    assert not list(tmp_path.iterdir())


def test_a_copy_that_finds_no_room_names_the_folder_of_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another folder with `-o` would not help it."""
    model = tmp_path / "net.tflite"
    model.write_bytes(BUILT["one_element"]())
    (tmp_path / "small").mkdir()
    stage = writing.stage

    def full(folder: Path, files: Mapping[str, str]) -> dict[str, str]:
        if tmp_path / "small" in folder.parents:
            raise OSError(errno.ENOSPC, "No space left on device")
        return stage(folder, files)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "small"))
    monkeypatch.setattr(writing, "stage", full)
    with pytest.raises(GlowmcuError) as caught:
        glowmcu.compile(model, board="nrf52", output=tmp_path / "out")
    (problem,) = caught.value.problems
    assert problem.code == "GM723"
    assert problem.hint.startswith("TMPDIR=DIR, another folder for temporary files: ")
    assert f"{tmp_path / 'small'} has " in problem.hint
    assert not list((tmp_path / "small").iterdir())


def test_files_of_others_stay_where_they_are(tmp_path: Path) -> None:
    others = {".git/HEAD": "x", "main.c": "x", "build/CMakeCache.txt": "x", "zephyr/mine": "x"}
    put(tmp_path, {**OLD, **others})
    write_bundle(NEW, tmp_path, "net")
    assert contents(tmp_path) == {**NEW, **others}


@pytest.mark.parametrize(
    "text",
    ['{"manifest_version": 3}', "{}", "", "[]", "[" * 100000, '{"format": 1, "name": "net"}'],
    ids=["a browser extension", "nothing in it", "empty", "a list", "deep", "too little"],
)
def test_a_folder_with_somebodys_manifest_is_left_alone(text: str, tmp_path: Path) -> None:
    put(tmp_path / "webext", {"manifest.json": text, "src/background.js": "precious"})
    assert refused(tmp_path / "webext").code == "GM504"


@pytest.mark.parametrize(
    "name", ["../precious", "/precious", "a/../../precious", ".git/x", "C:\\x", "", "a//b", "a/."]
)
@pytest.mark.parametrize("key", ["files", "sources", "headers", "packages"])
def test_a_manifest_that_lists_files_elsewhere_is_none(key: str, name: str, tmp_path: Path) -> None:
    body = json.loads(OLD["manifest.json"])
    body[key] = {**body[key], name: ""} if key == "files" else [*body[key], name]
    put(tmp_path, {"precious": "x", "out/net.c": "x", "out/manifest.json": json.dumps(body)})
    assert refused(tmp_path / "out").code == "GM504"


def test_what_lies_behind_a_link_is_left_alone(tmp_path: Path) -> None:
    precious = {"t.c": "old", "Kconfig": "old"}
    put(tmp_path / "precious", precious)
    folder = tmp_path / "out"
    put(folder, {name: text for name, text in OLD.items() if "/" not in name})
    (folder / "zephyr").symlink_to(tmp_path / "precious")
    write_bundle(NEW, folder, "net")
    assert contents(tmp_path / "precious") == precious
    (folder / "net.c").unlink()
    (folder / "net.c").symlink_to(tmp_path / "precious" / "t.c")
    write_bundle(NEW, folder, "net")
    assert contents(folder) == {
        **NEW, "net.c.orig": f"-> {tmp_path / 'precious' / 't.c'}",
        "zephyr": f"-> {tmp_path / 'precious'}",
    }  # fmt: skip
    assert refused(folder, OLD).code == "GM522"
    assert contents(tmp_path / "precious") == precious


def test_a_file_that_was_changed_is_kept_beside_and_said(tmp_path: Path) -> None:
    for number in ("", "2"):
        write_bundle(OLD, tmp_path, "net")
        put(tmp_path, {"net.c": f"mine{number}", "zephyr/Kconfig": "mine"})
        told = write_bundle(NEW, tmp_path, "net")
        assert [line.partition(" was changed")[0] for line in told] == ["net.c", "zephyr/Kconfig"]
        assert (tmp_path / f"net.c.orig{number}").read_text() == f"mine{number}"
    assert contents(tmp_path) == {
        **NEW, "net.c.orig": "mine", "net.c.orig2": "mine2", "zephyr/Kconfig.orig": "mine",
        "zephyr/Kconfig.orig2": "mine",
    }  # fmt: skip


@pytest.mark.parametrize("end", ["\r\n", "\n"])
@pytest.mark.parametrize("at_once", [1, 2, 5, 1 << 20])
def test_line_ends_of_another_system_are_no_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, at_once: int
) -> None:
    monkeypatch.setattr(bundle_folder, "_AT_ONCE", at_once)
    old = bundle({"net.c": "a\nb\n\n", "net.h": "c", "x.txt": "\r\r\nd\r"})
    put(tmp_path, {name: text.replace("\n", end) for name, text in old.items()})
    assert write_bundle(NEW, tmp_path, "net") == ()
    assert contents(tmp_path) == NEW


def test_of_a_bundle_without_digests_nothing_is_lost(tmp_path: Path) -> None:
    old = bundle(
        {"net.c": "old", "same.h": "same", "README.md": "old", "selftest/net_selftest.c": "old",
         "selftest/golden.json": "old", "placement/net.ld": "old", "zephyr/Kconfig": "old"},
        lists=False,
    )  # fmt: skip
    mine = {"selftest/other.c": "x", "Cargo.toml": "x", "zephyr/other": "x"}
    put(tmp_path, {**old, **mine})
    new = bundle({"net.c": "new", "same.h": "same", "README.md": "new"})
    write_bundle(new, tmp_path, "net")
    kept = {f"{name}.orig": text for name, text in old.items() if text == "old"}
    assert contents(tmp_path) == {**new, **mine, **kept}


def test_another_bundle_in_the_folder_is_left_alone(tmp_path: Path) -> None:
    put(tmp_path / "out", OLD)
    said = refused(tmp_path / "out", name="kws")
    assert said.code == "GM523"
    assert "'net'" in str(said)
    assert "--name net" in said.for_shell


@pytest.mark.parametrize(
    "mine", ["new.h", "new.h/in_a_folder", "selftest/new.c", "only"], ids=lambda name: name
)
def test_files_in_the_way_are_left_alone(mine: str, tmp_path: Path) -> None:
    put(tmp_path / "out", {**bundle({"net.c": "old"}), mine: "mine"})
    new = bundle({"net.c": "new", "new.h": "new", "selftest/new.c": "new", "only/if.c": "new"})
    said = refused(tmp_path / "out", new)
    assert said.code == "GM522"
    assert mine.removesuffix("/in_a_folder") in str(said)


def test_a_link_is_followed(tmp_path: Path) -> None:
    put(tmp_path / "target", OLD)
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "dangling").symlink_to("made")
    for name, target in (("link", "target"), ("dangling", "made")):
        write_bundle(NEW, tmp_path / name, "net")
        assert (tmp_path / name).is_symlink()
        assert contents(tmp_path / target) == NEW


def test_the_working_folder_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = tmp_path.stat().st_ino
    for files in (OLD, NEW):
        write_bundle(files, Path(), "net")
        assert contents(Path()) == files
    assert tmp_path.stat().st_ino == before


def test_a_folder_with_somebodys_files_is_left_alone(tmp_path: Path) -> None:
    put(tmp_path / "src", {"main.c": "int main;\n"})
    assert refused(tmp_path / "src").code == "GM504"


def test_a_file_in_the_way_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    for folder in (tmp_path / "out", tmp_path / "out" / "below"):
        with pytest.raises(GlowmcuError, match="GM504"):
            write_bundle(NEW, folder, "net")
    assert (tmp_path / "out").read_text() == "a file"


@pytest.mark.parametrize("name", ["Glowmcu_base", "GLOWMCU_dsp", "glowmcu"])
def test_a_name_that_is_a_header_on_some_file_systems_is_refused(name: str) -> None:
    with pytest.raises(GlowmcuError, match="GM503"):
        check_bundle_name(name)


@pytest.mark.parametrize("name", BUILT)
def test_the_manifest_says_what_is_in_the_folder(name: str, bundle_of: BundleOf) -> None:
    bundle = bundle_of(name)
    manifest = read_manifest(bundle)
    assert manifest.to_json() == (bundle / "manifest.json").read_text(encoding="utf-8")
    assert set(contents(bundle)) == {*manifest.files, "manifest.json"}
    for file, sha256 in manifest.files.items():
        assert hashlib.sha256((bundle / file).read_bytes()).hexdigest() == sha256
    top = {path.name for path in bundle.iterdir() if path.suffix in (".c", ".h")}
    assert top == {*manifest.sources, *manifest.headers}
    for entry in (*manifest.inputs, *manifest.outputs):
        if entry.external:
            continue
        if not entry.external:
            assert entry.start % 4 == 0
            assert 0 <= entry.start <= entry.start + entry.bytes <= manifest.arena_bytes
    assert manifest.arena_lower_bound_bytes <= manifest.arena_bytes
    assert manifest.macs == sum(layer.macs for layer in manifest.layers)
    assert manifest.weights_bytes == sum(layer.weights_bytes for layer in manifest.layers)
    assert [layer.index for layer in manifest.layers] == list(range(len(manifest.layers)))


def test_a_loaded_bundle_is_the_one_that_was_compiled(tmp_path: Path) -> None:
    model = tmp_path / "net.tflite"
    model.write_bytes(model_bytes("digits"))
    made = glowmcu.compile(model, board="nrf52", output=tmp_path / "out")
    loaded = glowmcu.load(tmp_path / "out")
    assert loaded.manifest == made.manifest
    assert loaded.report == made.report
    assert loaded.manifest.name == "net"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda body: body.pop("arena_bytes"), "arena_bytes"),
        (lambda body: body.update(format=99), "format must be 1"),
        (lambda body: body.pop("format"), "format"),
        (lambda body: body.update(inputs=[{}]), "name"),
        (lambda body: body.update(inputs=3), "int"),
        (lambda body: body.update(surprise=1), "surprise"),
    ],
    ids=["missing key", "other format", "no format", "empty input", "wrong type", "unknown key"],
)
def test_a_broken_manifest_is_refused(
    change: object, said: str, bundle_of: BundleOf, tmp_path: Path
) -> None:
    body = json.loads((bundle_of("digits") / "manifest.json").read_text(encoding="utf-8"))
    assert callable(change)
    change(body)
    (tmp_path / "manifest.json").write_text(json.dumps(body), encoding="utf-8")
    with pytest.raises(GlowmcuError, match=said) as caught:
        read_manifest(tmp_path)
    assert caught.value.code == "GM601"
