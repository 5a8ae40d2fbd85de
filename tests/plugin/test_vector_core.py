"""plugin_examples/vector_core: installed as pip does, its page typed, its bytes compared."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from glowmcu.frontend.tflite.writer import ModelBuilder
from tests.docs.blocks import typed_lines
from tests.plugin.installed import REPO, glowmcu, install, run

SOURCE = REPO / "plugin_examples" / "vector_core"
COUNTED = """
import json, sys
import numpy as np
import glowmcu

bundle = glowmcu.compile(sys.argv[1], board=sys.argv[2], output=sys.argv[3])
x = np.random.default_rng(3).integers(-128, 128, (1, 37)).astype(np.int8)
found = bundle.measure([x], on="vx16")
same = np.array_equal(found.outputs[0], bundle.run([x])[0])
print(json.dumps({"kernels": [l.kernel for l in bundle.report.layers], "same": bool(same),
                  "instructions": found.instructions, "cycles": found.cycles}))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(SOURCE, tmp_path_factory.mktemp("vector_core") / "site")


def dense(path: Path) -> Path:
    """37 inputs, 5 outputs; every corner of int8 is among the weights."""
    b = ModelBuilder()
    weights = np.random.default_rng(1).integers(-127, 128, (5, 37)).astype(np.int8)
    weights[0, :3] = -127, 127, 0
    x = b.input("x", (1, 37), "int8", 0.05, -7)
    w = b.constant("w", weights, 0.01, 0)
    bias = b.constant("bias", np.arange(-2, 3, dtype=np.int32) * 1000, 0.0005, 0)
    y = b.tensor("y", (1, 5), "int8", 0.3, 4)
    b.op("FULLY_CONNECTED", [x, w, bias], [y])
    b.output(y)
    path.write_bytes(b.finish())
    return path


def test_it_has_at_most_300_lines() -> None:
    files = [
        path for path in SOURCE.rglob("*")
        if path.is_file() and path.name != "README.md" and "__pycache__" not in path.parts
    ]  # fmt: skip
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= 300


def test_nothing_of_it_is_in_the_tree() -> None:
    files = [path for name in ("glowmcu", "libjit", "templates", "boards")
             for path in sorted((REPO / name).rglob("*"))
             if path.suffix in (".py", ".h", ".c", ".j2", ".toml")]  # fmt: skip
    assert not [path for path in files if re.search(r"\bvx_?(16|unit|dense)", path.read_text())]


@pytest.mark.slow
def test_the_commands_of_its_page_do_what_it_says(site: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(REPO / "examples")
    text = (SOURCE / "README.md").read_text(encoding="utf-8")
    commands = [shlex.split(one.text) for one in typed_lines(text)]
    assert [words[1] for words in commands] == ["install", "plugins", "compile", "verify", "bench"]
    for words in commands[1:]:
        done = glowmcu(site, *words[1:], folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert not done.stderr
    shown = json.loads(glowmcu(site, "bench", commands[-1][-1], "--json", folder=tmp_path).stdout)
    assert (shown["core"], shown["on"]) == ("vx16", "vx16")
    assert shown["cycles"] > shown["instructions"] > 0


def test_its_kernel_computes_on_the_unit_what_any_core_computes(site: Path, tmp_path: Path) -> None:
    done = run(site, "-c", COUNTED, dense(tmp_path / "m.tflite"), "vx16-devkit", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    # An output of 37 inputs: zero, three times two loads and a product, and the sum.
    assert json.loads(done.stdout) == {
        "kernels": ["dense.vx16"], "same": True, "instructions": 5 * 11, "cycles": 5 * 17,
    }  # fmt: skip


def test_on_another_core_its_kernel_is_not_taken(site: Path, tmp_path: Path) -> None:
    model = dense(tmp_path / "m.tflite")
    done = glowmcu(site, "compile", model, "--board", "nrf52", "-o", "out", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "vx16" not in done.stdout
