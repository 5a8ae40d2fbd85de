"""Writing a bundle: all of it or nothing, never over somebody's files; and reading it again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import glowmcu
from glowmcu.emit_c import write_bundle as module
from glowmcu.emit_c.write_bundle import write_bundle
from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.manifest import read_manifest
from tests.bundle.conftest import BundleOf
from tests.bundle.models import BUILT, model_bytes

OLD = {"manifest.json": "{}", "old.c": "int old;\n"}
NEW = {"manifest.json": "{}", "new.c": "int fresh;\n", "selftest/new.c": "int test;\n"}


def contents(folder: Path) -> dict[str, str]:
    return {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8")
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_a_new_bundle_replaces_an_old_one_entirely(tmp_path: Path) -> None:
    write_bundle(OLD, tmp_path / "out")
    write_bundle(NEW, tmp_path / "out")
    assert contents(tmp_path / "out") == NEW
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_empty_folder_and_missing_parents_will_do(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write_bundle(NEW, tmp_path / "empty")
    write_bundle(NEW, tmp_path / "a" / "b" / "c")
    assert contents(tmp_path / "empty") == contents(tmp_path / "a" / "b" / "c") == NEW


@pytest.mark.parametrize(
    "moment", ["while writing", "while moving the old", "while moving the new"]
)
def test_a_failure_in_the_middle_leaves_the_old_bundle(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    write_bundle(OLD, folder)
    rename, write_text = Path.rename, Path.write_text

    def broken_rename(self: Path, target: Path) -> Path:
        moves = {"while moving the old": "out", "while moving the new": "new"}
        if self.name == moves.get(moment):
            raise OSError(28, "No space left on device")
        return rename(self, target)

    def broken_write(self: Path, text: str, **options: str) -> int:
        if moment == "while writing" and self.name == "new.c":
            raise OSError(28, "No space left on device")
        return write_text(self, text, **options)

    monkeypatch.setattr(Path, "rename", broken_rename)
    monkeypatch.setattr(Path, "write_text", broken_write)
    with pytest.raises(GlowmcuError) as caught:
        write_bundle(NEW, folder)
    monkeypatch.undo()
    assert caught.value.code == "GM504"
    assert "No space left on device" in str(caught.value)
    assert contents(folder) == OLD
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_interrupt_leaves_the_old_bundle_and_no_debris(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    write_bundle(OLD, folder)

    def interrupted(files: object, place: Path) -> None:
        place.mkdir()
        (place / "half.c").write_text("int")
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_write_all", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_bundle(NEW, folder)
    assert contents(folder) == OLD
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_with_somebodys_files_is_left_alone(tmp_path: Path) -> None:
    precious = tmp_path / "src"
    precious.mkdir()
    (precious / "main.c").write_text("int main;\n")
    with pytest.raises(GlowmcuError) as caught:
        write_bundle(NEW, precious)
    assert caught.value.code == "GM504"
    assert caught.value.exit_code is ExitCode.USAGE
    assert contents(precious) == {"main.c": "int main;\n"}


def test_a_file_in_the_way_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    for folder in (tmp_path / "out", tmp_path / "out" / "below"):
        with pytest.raises(GlowmcuError, match="GM504"):
            write_bundle(NEW, folder)
    assert (tmp_path / "out").read_text() == "a file"


@pytest.mark.parametrize("name", BUILT)
def test_the_manifest_says_what_is_in_the_folder(name: str, bundle_of: BundleOf) -> None:
    bundle = bundle_of(name)
    manifest = read_manifest(bundle)
    assert manifest.to_json() == (bundle / "manifest.json").read_text(encoding="utf-8")
    top = {path.name for path in bundle.iterdir() if path.suffix in (".c", ".h")}
    assert top == {*manifest.sources, *manifest.headers}
    for entry in (*manifest.inputs, *manifest.outputs):
        if entry.outside:
            continue
        if not entry.outside:
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
        (lambda body: body.update(inputs=[{}]), "shape"),
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
