"""A bundle as a package: what is written, under which names, what is refused."""

from __future__ import annotations

import importlib
import json
import re
import sys
import xml.etree.ElementTree as ET
from fnmatch import fnmatch
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import glowmcu
from glowmcu.emit_c.c_text import bundle_name, check_bundle_name
from glowmcu.emit_c.packages.details import PackageDetails, package_details
from glowmcu.emit_c.packages.package import package_names
from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.manifest import read_manifest
from glowmcu.pipeline import default_name
from tests.bundle.models import model_bytes
from tests.bundle.packages import EVERY, packaged, properties
from tests.hostile.test_names import NAMES, model_named

TOML = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
MAIN_FILES = {
    "arduino": "library.properties",
    "cmake": "CMakeLists.txt",
    "cmsis-pack": "Acme.one_element.pdsc",
    "csolution": "one_element.clayer.yml",
    "esp-idf": "idf_component.yml",
    "make": "one_element.mk",
    "platformio": "library.json",
    "renode": "renode/one_element.robot",
    "rust": "Cargo.toml",
    "serial": "serial/main.c",
    "zephyr": "zephyr/module.yml",
}


def test_every_package_writes_its_main_file_and_the_readme_says_what_to_do_with_it() -> None:
    assert tuple(MAIN_FILES) == EVERY
    for name, file in MAIN_FILES.items():
        made = packaged("one_element", packages=package_names(name)).files
        assert file in made
        row = re.escape(file.replace("Acme.one_element", "*"))
        assert re.search(rf"^\| `{row}` \| \S.*\S \|$", made["README.md"], re.MULTILINE)


def test_packages_change_no_file_of_the_plain_bundle_but_its_index() -> None:
    plain = packaged("digits", packages=("cmake",)).files
    made = packaged("digits").files
    different = {file for file, text in plain.items() if made[file] != text}
    # ESP-IDF takes its build from a branch of CMakeLists.txt.
    assert different == {"README.md", "REUSE.toml", "manifest.json", "CMakeLists.txt"}


def test_the_same_call_writes_the_same_bytes_in_any_order(tmp_path: Path) -> None:
    model = tmp_path / "digits.tflite"
    model.write_bytes(model_bytes("digits"))
    names = [name for name in EVERY if name != "cmake"]
    one = glowmcu.compile(model, output=tmp_path / "one", emit=",".join(names))
    two = glowmcu.compile(model, output=tmp_path / "two", emit=[*reversed(names), *names])
    assert one.manifest.packages == two.manifest.packages == EVERY
    files = [file.relative_to(one.path) for file in one.path.rglob("*") if file.is_file()]
    assert len(files) > 40
    assert all((one.path / f).read_bytes() == (two.path / f).read_bytes() for f in files)
    assert read_manifest(one.path).packages == EVERY


def test_a_plain_bundle_is_a_package_of_cmake_alone(tmp_path: Path) -> None:
    model = tmp_path / "digits.tflite"
    model.write_bytes(model_bytes("digits"))
    assert glowmcu.compile(model, output=tmp_path / "out").manifest.packages == ("cmake",)


def test_an_unknown_build_system_is_refused_with_all_that_are_known(tmp_path: Path) -> None:
    model = tmp_path / "digits.tflite"
    model.write_bytes(model_bytes("digits"))
    with pytest.raises(GlowmcuError) as caught:
        glowmcu.compile(model, output=tmp_path / "out", emit="make,platform-io")
    assert caught.value.code == "GM520"
    assert caught.value.exit_code is ExitCode.USAGE
    assert "there is no package for 'platform-io'" in str(caught.value)
    assert "did you mean platformio?" in str(caught.value)
    assert all(name in str(caught.value) for name in EVERY)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "setting",
    [
        "version=1.2", "version=1.2.3.4", "version=01.2.3", "version=1.2.3+build", "version=",
        'version=1.2.3"', "vendor=", "vendor=Two Words", "vendor=a\nb", "vendor=Arduino",
        "url=ftp://acme.example", "url=javascript:x", 'url=http://a"b', "url=http://a b",
        "license=MIT\nx: y", "license=<MIT>", "name=x", "version", "", "=1.0.0",
    ],
)  # fmt: skip
def test_a_detail_that_could_break_a_file_is_refused(setting: str) -> None:
    with pytest.raises(GlowmcuError) as caught:
        package_details([setting])
    assert caught.value.code == "GM521"
    assert caught.value.problems[0].hint


def test_details_are_taken_as_they_are_and_the_last_one_counts() -> None:
    given_details = ["version=2.0.0-rc.1", "license=Apache-2.0 OR MIT"]
    assert package_details(given_details) == PackageDetails(
        version="2.0.0-rc.1", license="Apache-2.0 OR MIT"
    )


def test_names_of_build_systems_may_be_text_with_commas_and_spaces() -> None:
    assert package_names(" zephyr, make,,") == ("cmake", "make", "zephyr")


def check_texts(files: dict[str, str], name: str) -> None:
    """Every package file that has a grammar of its own reads as such and says the right thing."""
    library = json.loads(files["library.json"])
    assert library["version"] == "1.2.0"
    assert re.fullmatch(r"[^:;/,@<>]{1,50}", library["name"])
    crate = TOML.loads(files["Cargo.toml"])["package"]
    assert re.fullmatch(r"[a-z][a-z0-9_]*-sys", crate["name"])
    shipped = [pattern.removeprefix("/") for pattern in crate["include"]]
    left_out = {file for file in files if not any(fnmatch(file, one) for one in shipped)}
    assert not any(file.endswith((".c", ".h")) or "LICENSE" in file for file in left_out)
    assert re.fullmatch(r"[A-Za-z0-9_ .-]{1,32}", properties(files["library.properties"])["name"])
    pack = ET.fromstring(files[f"Acme.{name}.pdsc"])
    assert [pack.findtext(key) for key in ("vendor", "name")] == ["Acme", name]
    assert pack.findtext("url") == "https://acme.example/kws?a=1&b=2"
    for component in pack.iter("component"):
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_+():/. -]{0,31}", component.attrib["Csub"])
    named = [*(f.attrib["name"] for f in pack.iter("file")), *library_sources(library)]
    for layer in (f"{name}.clayer.yml", f"{name}_selftest.clayer.yml"):
        named += re.findall(r"^ +- file: (.+)$", files[layer], re.MULTILINE)
    assert len(named) > 8
    assert all(file.endswith("/") or file in files for file in named)
    for file, text in files.items():
        if file.startswith("src/") and file.endswith((".c", ".h")):
            assert re.search('"../(.+)"', text)[1] in files  # type: ignore[index]


def library_sources(library: dict[str, dict[str, list[str]]]) -> list[str]:
    return [rule[2:-1] for rule in library["build"]["srcFilter"] if rule.startswith("+")]


NAMES_OF_BUNDLES = [
    "k", "KWS", "a" * 48, "Arduino_library", "x_arduino", "test", "install", "std", "z9",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES_OF_BUNDLES)
def test_any_bundle_name_gives_files_that_can_be_read(name: str) -> None:
    check_texts(dict(packaged("one_element", name).files), name)


@settings(max_examples=12)
@given(st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,47}", fullmatch=True))
def test_made_up_bundle_names_give_files_that_can_be_read(name: str) -> None:
    try:
        check_bundle_name(name)
    except GlowmcuError:
        return
    check_texts(dict(packaged("one_element", name).files), name)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
def test_hostile_names_in_a_model_stay_inside_their_strings(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.bundle.packages.model_bytes", lambda model: model_named(name))
    files = dict(packaged(name[:60].replace("/", "_"), "m").files)
    check_texts(files, "m")
    for file, text in files.items():
        assert text.isascii() or file == "README.md", file


@pytest.mark.parametrize("name", ["time", "String", "stdint", "Arduino", "features"])
def test_a_bundle_may_not_hide_a_standard_header(name: str) -> None:
    with pytest.raises(GlowmcuError, match=f"name='m_{name.lower()}'") as caught:
        check_bundle_name(name)
    assert caught.value.code == "GM503"


def test_a_model_file_called_like_a_header_gets_another_name() -> None:
    assert default_name(Path("time.tflite")) == check_bundle_name(bundle_name("time")) == "m_time"


@pytest.mark.parametrize("name", ["aux", "con", "NUL", "com1", "lpt9"])
def test_a_name_that_windows_keeps_for_a_device_names_no_bundle(name: str) -> None:
    with pytest.raises(GlowmcuError, match="device of Windows"):
        check_bundle_name(name)
    assert default_name(Path(f"{name}.onnx")) == check_bundle_name(f"m_{name.lower()}")
