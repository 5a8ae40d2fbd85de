"""docs/plugins.md: the package that its blocks make is installed, and every group of it is used."""

from __future__ import annotations

import importlib
import json
import os
import re
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from glowmcu.discovery import GROUPS
from glowmcu.frontend.tflite.writer import ModelBuilder
from tests.docs.blocks import blocks
from tests.plugin.installed import REPO, glowmcu, run, write_package

TEXT = (REPO / "docs" / "plugins.md").read_text(encoding="utf-8")
TOML = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
BOARD = """
name = "acme-board"
title = "Acme's"
mcu = "ACME1"
core = "acme-1"
"""
CHECK = """
import sys
import numpy as np
import glowmcu

bundle = glowmcu.compile(sys.argv[1], output=sys.argv[2])
x = np.linspace(-2, 2, bundle.manifest.inputs[0].shape[1], dtype=np.float32)[None]
wanted = eval(sys.argv[3], {"x": x})
assert np.allclose(bundle.run([x])[0], wanted, rtol=1e-6), bundle.run([x])
print(*[layer.op for layer in bundle.report.layers])
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's package, and a board for its core."""
    found = list(blocks(TEXT))
    (project,) = (TOML.loads(block.text) for block in found if block.language == "toml")
    files = {block.title: block.text for block in found if block.title}
    files |= {"acme_boards/__init__.py": "", "acme_boards/acme-board.toml": BOARD}
    entries = {**project["project"]["entry-points"], "glowmcu.boards": {"acme": "acme_boards"}}
    about = project["project"]
    folder = tmp_path_factory.mktemp("page") / "site"
    return write_package(folder, about["name"], entries, files, about["version"])


@pytest.mark.slow
def test_pip_builds_the_package_as_it_stands_on_the_page(tmp_path: Path) -> None:
    pytest.importorskip("build")
    files = {block.title: block.text for block in blocks(TEXT) if block.title}
    names = {"pyproject.toml", *(title for title in files if title.startswith("acme_"))}
    for name in names:
        (tmp_path / name).write_text(files[name], encoding="utf-8")
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", "dist", "."]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if "/" not in name}
        (entries,) = (name for name in archive.namelist() if name.endswith("entry_points.txt"))
        groups = re.findall(r"^\[(.*)\]$", archive.read(entries).decode(), re.MULTILINE)
    assert packed == names - {"pyproject.toml"}
    assert set(groups) == set(TOML.loads(files["pyproject.toml"])["project"]["entry-points"])


def test_every_group_has_its_row() -> None:
    for group in GROUPS:
        assert f"| `{group}` |" in TEXT


def test_the_package_works_and_has_nearly_all_groups(site: Path) -> None:
    done = glowmcu(site, "plugins", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert {row["group"] for row in rows} == set(GROUPS) - {"glowmcu.libjit", "glowmcu.templates"}
    assert all(row["works"] for row in rows)


@pytest.mark.slow
def test_its_modules_and_the_examples_have_the_types_that_the_interface_says(
    site: Path, tmp_path: Path
) -> None:
    pytest.importorskip("mypy")
    names = [block.title[:-3] for block in blocks(TEXT) if block.title.startswith("acme")]
    examples = [REPO / "plugin_examples" / name for name in ("vector_core", "nnef")]
    environment = os.environ | {"MYPYPATH": os.pathsep.join(map(str, [REPO, site, *examples]))}
    packages = [word for name in ("vector_core", "nnef_format") for word in ("-p", name)]
    modules = [word for name in names for word in ("-m", name)]
    command = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports",
               "--follow-imports", "silent", *packages, *modules]  # fmt: skip
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_its_format_is_read_and_shown(site: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.acme"
    model.write_bytes(b"ACME" + struct.pack("<H", 13))
    done = run(site, "-c", CHECK, model, tmp_path / "out", "x ** 3")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "acme.cube\n"
    shown = json.loads(glowmcu(site, "inspect", model, "--json").stdout)
    assert shown["format"] == "acme"
    assert [op["op"] for op in shown["operators"]] == ["cube"]


def test_its_custom_operator_and_its_pass_compile(site: Path, tmp_path: Path) -> None:
    b = ModelBuilder()
    x = b.input("x", (1, 9), "float32")
    names = ("abs", "square", "y")
    refs = [b.tensor(name, (1, 9), "float32") for name in names]
    for op, before, after in zip(("ABS", "SQUARE"), [x, *refs], refs, strict=False):
        b.op(op, [before], [after])
    b.custom_op("AcmeCube", [refs[1]], [refs[2]])
    b.output(refs[2])
    model = tmp_path / "m.tflite"
    model.write_bytes(b.finish())
    done = run(site, "-c", CHECK, model, tmp_path / "out", "x ** 6")
    assert done.returncode == 0, done.stderr
    assert "abs" not in done.stdout


def test_its_onnx_operator_compiles(site: Path, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    x, y = (helper.make_tensor_value_info(name, 1, [1, 7]) for name in "xy")
    node = helper.make_node("Cube", ["x"], ["y"], domain="com.acme")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.acme", 1)]
    graph = helper.make_graph([node], "cube", [x], [y])
    model = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets), model)
    done = run(site, "-c", CHECK, model, tmp_path / "out", "x ** 3")
    assert done.returncode == 0, done.stderr


def test_its_core_executor_build_system_and_section_are_used(site: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.acme"
    model.write_bytes(b"ACME" + struct.pack("<H", 20))
    done = glowmcu(
        site, "compile", model, "--board", "acme-board", "--emit", "acme", "-o", "out",
        folder=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "install acme-elf-gcc" in done.stdout
    assert "--on host,acme_lab" in done.stdout
    assert (tmp_path / "out" / "m.acme").read_text() == "m.c\nm_weights.c\n"
    verified = glowmcu(site, "verify", "out", "--on", "host,acme_lab", folder=tmp_path)
    assert verified.returncode == 0, verified.stderr
    counted = glowmcu(site, "bench", "out", "--json", folder=tmp_path)
    assert json.loads(counted.stdout)["cycles"] == 4 * 20
    assert glowmcu(site, "report", "out", folder=tmp_path).returncode == 0
    page = (tmp_path / "out.report.html").read_text(encoding="utf-8")
    assert "<h2>Largest layer</h2>" in page
    other = glowmcu(site, "verify", "out", "--on", "cortex-m", folder=tmp_path)
    assert "error[GM670]" in other.stderr
    assert "use --on acme_lab" in other.stderr


def test_its_operator_in_c_is_compiled_and_verified(tmp_path: Path) -> None:
    (text,) = (block.text for block in blocks(TEXT) if block.language == "c")
    (tmp_path / "clip.c").write_text(text)
    b = ModelBuilder()
    x, y = b.input("x", (2, 9), "float32"), b.tensor("y", (2, 9), "float32")
    b.custom_op("AcmeClip", [x], [y])
    b.output(y)
    (tmp_path / "m.tflite").write_bytes(b.finish())
    asked = ("compile", "m.tflite", "--custom", "AcmeClip=clip.c", "-o", "out")
    done = glowmcu(None, *asked, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    verified = glowmcu(None, "verify", "out", "--model", "m.tflite", folder=tmp_path)
    assert verified.returncode == 0, verified.stderr
    without = glowmcu(None, "compile", "m.tflite", folder=tmp_path)
    assert "--custom AcmeClip=FILE.c" in without.stderr


def sound_model(path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    x = helper.make_tensor_value_info("x", 1, [2, 16, 3])
    y = helper.make_tensor_value_info("y", 1, [2, 13])
    w = onnx.numpy_helper.from_array(np.array([0.5, 1, 2], np.float32), "w")
    node = helper.make_node("Energy", ["x", "w"], ["y"], domain="com.acme")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.acme", 1)]
    graph = helper.make_graph([node], "sound", [x], [y], [w])
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


def test_its_definition_is_a_verified_bundle_in_at_most_15_lines(tmp_path: Path) -> None:
    titled = {block.title: block.text for block in blocks(TEXT)}
    files = {name: titled[name] for name in ("energy.py", "verified.py")}
    lines = [line for text in files.values() for line in text.splitlines() if line.strip()]
    assert len(lines) <= 15
    sound_model(tmp_path / "sound.onnx")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = run(None, "verified.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "energy.py").write_text(files["energy.py"].replace("t + d, c]", "t + d + 1, c]"))
    asked = ("compile", "sound.onnx", "--custom", "com.acme.Energy=energy.py")
    refused = glowmcu(None, *asked, folder=tmp_path)
    assert refused.returncode == 3
    (shown,) = (block.text for block in blocks(TEXT) if block.language == "text")
    assert refused.stderr.startswith(shown)
