"""Each package judged by its build system's own tool or schema, where that can be had.

Tools come with the extra `test`; schemas that only exist in repositories are read from the folder
that GLOWMCU_SCHEMAS names, and a test that lacks its schema is skipped with that reason.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from tests.bundle.packages import (
    missing,
    need_module,
    need_program,
    packaged,
    properties,
    run,
    schema,
)
from tests.support.check_model import write_bundle

NAMES = ("digits", "Arduino_library", "a" * 48)


@pytest.fixture(scope="module", params=NAMES, ids=["plain", "reserved words", "longest"])
def package(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages") / request.param
    return write_bundle(packaged("digits", request.param), folder)


def check_schema(body: object, file: str) -> None:
    """`body` against a JSON schema whose references are files beside it."""
    jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema (extra `test`)")
    referencing = pytest.importorskip("referencing")
    top = schema(file)
    resources = []
    for path in sorted(top.parent.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        resource = referencing.Resource.from_contents(
            content, default_specification=referencing.jsonschema.DRAFT7
        )
        resources += [(content.get("$id", path.name), resource), (path.name, resource)]
    registry = referencing.Registry().with_resources(resources)
    validator = jsonschema.Draft7Validator(
        json.loads(top.read_text(encoding="utf-8")),
        registry=registry,
        format_checker=jsonschema.FormatChecker(),
    )
    validator.validate(body)


def test_arduino_lint_s_strict_schema_takes_library_properties(package: Path) -> None:
    body = properties((package / "library.properties").read_text())
    check_schema(body, "arduino/arduino-library-properties-strict-schema.json")


def test_platformio_packs_the_library(package: Path, tmp_path: Path) -> None:
    pio = need_module("platformio")
    archive = tmp_path / "library.tar.gz"
    home = str(tmp_path / "home")
    run([*pio, "pkg", "pack", package, "-o", archive], tmp_path, PLATFORMIO_CORE_DIR=home)
    with tarfile.open(archive) as packed:
        names = {Path(name).as_posix() for name in packed.getnames()}
    library = json.loads((package / "library.json").read_text())
    assert {rule[2:-1] for rule in library["build"]["srcFilter"][1:]} <= names
    assert {file.name for file in package.glob("*.h")} <= names


def test_compote_lints_the_component_s_manifest(package: Path, tmp_path: Path) -> None:
    compote = need_program_of("idf_component_manager", "compote")
    manifest = tmp_path / "idf_component.yml"
    manifest.write_text((package / "idf_component.yml").read_text())
    run([compote, "manifest", "lint", manifest], tmp_path)
    manifest.write_text("version: nonsense\n")
    with pytest.raises(AssertionError, match="nonsense"):
        run([compote, "manifest", "lint", manifest], tmp_path)


def need_program_of(module: str, program: str) -> Path:
    """A console script that a Python package installs beside the interpreter."""
    script = Path(need_module(module)[0]).with_name(program)
    if not script.is_file():
        missing(program)
    return script


def test_the_pack_schema_takes_the_pack_description(package: Path) -> None:
    xmlschema = pytest.importorskip("xmlschema", reason="needs xmlschema (extra `test`)")
    (pdsc,) = package.glob("*.pdsc")
    xmlschema.XMLSchema(str(schema("PACK.xsd"))).validate(str(pdsc))


def test_the_toolbox_s_schema_takes_the_layers(package: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="needs PyYAML (extra `test`)")
    layers = sorted(package.glob("*.clayer.yml"))
    assert len(layers) == 2
    for layer in layers:
        check_schema(yaml.safe_load(layer.read_text()), "csolution/clayer.schema.json")


def test_the_zephyr_module_has_only_keys_that_zephyr_knows_and_files_that_exist(
    package: Path,
) -> None:
    yaml = pytest.importorskip("yaml", reason="needs PyYAML (extra `test`)")
    module = yaml.safe_load((package / "zephyr" / "module.yml").read_text())
    assert set(module) == {"name", "build"}
    assert set(module["build"]) == {"cmake", "kconfig"}
    assert (package / module["build"]["cmake"] / "CMakeLists.txt").is_file()
    assert (package / module["build"]["kconfig"]).is_file()


def test_kconfig_gives_the_symbols_that_the_module_s_build_reads(package: Path) -> None:
    kconfiglib = pytest.importorskip("kconfiglib", reason="needs kconfiglib (extra `test`)")
    kconfig = kconfiglib.Kconfig(str(package / "zephyr" / "Kconfig"))
    assert kconfig.warnings == []
    prefix = f"GLOWMCU_{package.name.upper()}"
    symbols = {name: kconfig.syms[f"{prefix}{name}"] for name in ("", "_OPTIMIZE", "_SELFTEST")}
    assert [symbol.str_value for symbol in symbols.values()] == ["n", "n", "n"]
    symbols[""].set_value("y")
    assert [symbol.str_value for symbol in symbols.values()] == ["y", "y", "n"]
    build = (package / "zephyr" / "CMakeLists.txt").read_text()
    assert all(f"CONFIG_{symbol.name}" in build for symbol in symbols.values())


@pytest.fixture(scope="session")
def cargo_target(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where cargo keeps the crates that are needed, which are compiled once for all tests."""
    return str(tmp_path_factory.mktemp("cargo"))


def test_cargo_builds_and_tests_the_crate(package: Path, tmp_path: Path, cargo_target: str) -> None:
    cargo = need_program("cargo")
    crate = tmp_path / "crate"
    run(["cp", "-r", package, crate], tmp_path)
    try:
        run([cargo, "fetch"], crate, CARGO_NET_RETRY="0")
    except AssertionError as cause:
        pytest.skip(f"needs the crate `cc`: {str(cause).strip().splitlines()[-1].strip()}")
    said = run([cargo, "test", "--features", "selftest"], crate, CARGO_TARGET_DIR=cargo_target)
    assert said.count("1 passed") == 2  # the self test and the example in the documentation
    assert "warning" not in said
