"""Every file of a bundle says under which terms it stands."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from benchmarks.misra_bundles import asked
from glowmcu.compilation import Options
from glowmcu.custom_c import read_custom
from glowmcu.emit_c.licenses import CODE_LICENSE, LICENSE_FILE, TERMS_FILE, licensed
from glowmcu.emit_c.packages.details import PackageDetails
from glowmcu.emit_c.packages.package import Packaging
from glowmcu.emit_c.texts import Texts
from glowmcu.input_options import InputOptions
from glowmcu.interface_options import InterfaceOptions, Weights
from glowmcu.pipeline import compile_model, emit
from tests.bundle.models import model_bytes
from tests.bundle.packages import EVERY, need_module, packaged
from tests.conftest import REPO
from tests.custom.test_custom_c import CLIP, clip_model, save

SILENT = {".json", ".hex", ".su", ""}  # what can hold no comment


def test_every_file_of_every_package_names_its_license_in_its_first_lines() -> None:
    files = packaged("digits", packages=EVERY).files
    assert_licensed(files, "digits")
    assert_covered(files)


@pytest.mark.parametrize(
    "name",
    [
        "hooks of an accelerator, cortex-m4",
        "an Ethos-U, cortex-m55",
        "digits placed, cortex-m7",
        "a pipeline, cortex-m4",
        "a camera, cortex-m4",
        "learning last=2, cortex-m4",
    ],
)
def test_every_file_that_an_option_adds_names_its_license(name: str, tmp_path: Path) -> None:
    folder = asked()[name].write(tmp_path / "net")
    paths = [path for path in folder.rglob("*") if path.is_file()]
    texts = {p.relative_to(folder).as_posix(): p.read_text(encoding="utf-8") for p in paths}
    assert_licensed(texts, "net")
    assert_covered(texts)
    assert_reuse_passes(folder)


def assert_licensed(files: Mapping[str, str], bundle: str) -> None:
    """All but the text of the license itself and what can hold no comment."""
    for file, text in files.items():
        head = "\n".join(text.splitlines()[:2])
        path = PurePosixPath(file)
        if file.startswith("LICENSES/") or (
            path.suffix in SILENT and path.name not in ("Kconfig", "Makefile", ".gitignore")
        ):
            assert "SPDX" not in head
            continue
        wanted = "LicenseRef-Model" if file == f"{bundle}_weights.c" else "Apache-2.0"
        assert f"SPDX-License-Identifier: {wanted}" in head, file


def assert_covered(files: Mapping[str, str]) -> None:
    """As `reuse lint` wants it: each file once in REUSE.toml, a text for each license and no more.
    REUSE looks for no terms of its own files.
    """
    tables = tomllib.loads(files[TERMS_FILE])["annotations"]
    paths = [path for table in tables for path in table["path"]]
    assert len({*paths}) == len(paths)
    own = {file for file in files if file.startswith("LICENSES/")} | {TERMS_FILE}
    assert {*paths} - {"facts.json", "manifest.json"} == {*files} - own - {
        "facts.json", "manifest.json",
    }  # fmt: skip
    assert all(table["SPDX-FileCopyrightText"] for table in tables)
    licenses = {table.get("SPDX-License-Identifier", CODE_LICENSE) for table in tables}
    assert {f"LICENSES/{license}.txt" for license in licenses} == own - {TERMS_FILE}


def assert_reuse_passes(folder: Path) -> None:
    done = reuse_lint(folder)
    assert done.returncode == 0, done.stdout


def reuse_lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [*need_module("reuse"), "--root", str(folder), "lint"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_reuse_finds_the_terms_of_every_file_of_every_package(tmp_path: Path) -> None:
    made = packaged("digits", packages=EVERY)
    emit(made, tmp_path / "digits")
    assert_reuse_passes(tmp_path / "digits")


def test_weights_to_program_stand_under_the_terms_of_the_model(tmp_path: Path) -> None:
    interface = InterfaceOptions(weights=Weights.POINTER)
    files = compile_model(
        model_bytes("digits"), "digits.tflite", Options("digits", interface=interface)
    ).files
    assert_covered(files)
    table = tomllib.loads(files[TERMS_FILE])["annotations"][1]
    assert table["path"] == ["digits_weights.c", "digits_weights.hex"]
    assert table["SPDX-License-Identifier"] == "LicenseRef-Model"


def test_a_bundle_in_a_repository_does_not_claim_what_lies_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "lib" / "digits"
    emit(packaged("digits"), folder)
    shutil.copytree(folder / "LICENSES", tmp_path / "LICENSES")
    assert_reuse_passes(tmp_path)
    (folder / "mine.c").write_text("int x;\n", encoding="utf-8")
    assert "mine.c" in reuse_lint(tmp_path).stdout


@pytest.mark.parametrize("line", ["", "/* SPDX-License-Identifier: Apache-2.0 */\n"])
def test_operators_of_the_users_own_are_their_authors(line: str, tmp_path: Path) -> None:
    inputs = InputOptions(custom=read_custom({"AcmeClip": save(tmp_path, line + CLIP)}))
    data = clip_model(tmp_path).read_bytes()
    compilation = compile_model(data, "m.tflite", Options("m", inputs=inputs))
    rows = tomllib.loads(compilation.files[TERMS_FILE])["annotations"]
    row = next(row for row in rows if row["path"][0].startswith("custom_"))
    assert row["SPDX-FileCopyrightText"] == "The author of the file"
    assert row.get("SPDX-License-Identifier") == (None if line else "LicenseRef-Author")
    emit(compilation, tmp_path / "m")
    assert_reuse_passes(tmp_path / "m")


def test_the_text_of_the_license_is_the_projects() -> None:
    text = (REPO / "LICENSE").read_text(encoding="utf-8")
    assert packaged("digits").files[LICENSE_FILE] == text
    assert "Apache License" in text


def test_weights_stand_under_the_terms_that_the_user_names() -> None:
    packaging = Packaging(("cmake",), PackageDetails(license="MIT"))
    options = Options("digits", packaging=packaging)
    files = compile_model(model_bytes("digits"), "digits.tflite", options).files
    assert files["digits_weights.c"].startswith("/* SPDX-License-Identifier: MIT */\n")
    assert files["digits.c"].startswith("/* SPDX-License-Identifier: Apache-2.0 */\n")


def test_headers_of_a_plug_in_and_lines_that_are_there_are_left_alone() -> None:
    files = {
        "acme_sum.h": "int x;\n",
        "glowmcu_base.h": "/* SPDX-License-Identifier: X */\n",
        "net.h": "int y;\n",
        "net.pdsc": '<?xml version="1.0"?>\n<package/>\n',
    }
    made = licensed(Texts(files), "net")
    assert made["acme_sum.h"] == files["acme_sum.h"]
    assert made["glowmcu_base.h"] == files["glowmcu_base.h"]
    assert made["net.h"] == "/* SPDX-License-Identifier: Apache-2.0 */\nint y;\n"
    assert made["net.pdsc"].splitlines()[1] == "<!-- SPDX-License-Identifier: Apache-2.0 -->"


def test_the_notice_names_every_folder_with_samples_of_others() -> None:
    notice = (REPO / "NOTICE").read_text(encoding="utf-8")
    for folder in {path.parent.name for path in (REPO / "examples").glob("*/*.npz")}:
        assert f"examples/{folder}/" in notice
