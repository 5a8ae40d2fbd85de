"""Every file of a bundle says under which terms it stands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import pytest

from benchmarks.misra_bundles import asked
from glowmcu.compilation import Options
from glowmcu.emit_c.licenses import LICENSE_FILE, licensed
from glowmcu.emit_c.packages.details import PackageDetails
from glowmcu.emit_c.packages.package import Packaging
from glowmcu.emit_c.texts import Texts
from glowmcu.pipeline import compile_model
from tests.bundle.models import model_bytes
from tests.bundle.packages import EVERY, packaged
from tests.conftest import REPO

SILENT = {".json", ".hex", ".su", ""}  # what can hold no comment


def test_every_file_of_every_package_names_its_license_in_its_first_lines() -> None:
    assert_licensed(packaged("digits", packages=EVERY).files, "digits")


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


def assert_licensed(files: Mapping[str, str], bundle: str) -> None:
    """All but the text of the license itself and what can hold no comment."""
    for file, text in files.items():
        head = "\n".join(text.splitlines()[:2])
        path = PurePosixPath(file)
        if file == LICENSE_FILE or (
            path.suffix in SILENT and path.name not in ("Kconfig", "Makefile", ".gitignore")
        ):
            assert "SPDX" not in head
            continue
        wanted = "LicenseRef-Model" if file == f"{bundle}_weights.c" else "Apache-2.0"
        assert f"SPDX-License-Identifier: {wanted}" in head, file


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
