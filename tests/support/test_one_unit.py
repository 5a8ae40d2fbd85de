"""A bundle as one unit is watched as its files are: what is put in is found."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.errors import GlowmcuError
from glowmcu.ir.interpreter import run_graph
from glowmcu.pipeline import compile_model
from glowmcu.verify.host import Host
from tests.support.check_model import random_inputs
from tests.support.one_unit import QUICK_LINK, write_unit
from tests.support.single_op import Tensor, single_op_model


def _layer(size: int = 2, core: str = "generic") -> Compilation:
    weights = np.arange(16 * size, dtype=np.int8).reshape(size, 16)
    operands = [Tensor((1, 16)), weights, np.arange(size, dtype=np.int32)]
    data = single_op_model("FULLY_CONNECTED", operands, [Tensor((1, size), scale=40.0)])
    return compile_model(data, "m.tflite", Options("m", core=core))


def _with(compilation: Compilation, file: str, pattern: str, text: str) -> Compilation:
    changed, count = re.subn(pattern, text, compilation.files[file], count=1, flags=re.MULTILINE)
    assert count == 1
    files = compilation.files.joined({file: changed})
    return dataclasses.replace(compilation, files=files)


def test_a_unit_computes_what_the_bundle_means(tmp_path: Path) -> None:
    compilation = _layer()
    sets = random_inputs(compilation, 2)
    for core in ("generic", "cortex-m4", "cortex-m0plus"):
        folder = write_unit(_layer(core=core), tmp_path / core)
        for arrays, found in zip(sets, Host(QUICK_LINK).run(folder, sets), strict=True):
            (want,) = run_graph(compilation.imported, arrays)
            assert found.outputs[0].tobytes() == want.tobytes()


def test_another_weight_is_another_library(tmp_path: Path) -> None:
    """One folder, one name of a file: what is in it counts."""
    write_unit(_layer(), tmp_path)
    (first,) = Host(QUICK_LINK).run(tmp_path, [random_inputs(_layer(), 1)[0]])
    write_unit(_layer(3), tmp_path)
    (second,) = Host(QUICK_LINK).run(tmp_path, [random_inputs(_layer(), 1)[0]])
    assert (first.outputs[0].shape, second.outputs[0].shape) == ((1, 2), (1, 3))


@pytest.mark.parametrize(
    ("file", "pattern", "text", "said"),
    [
        ("m.c", r"^    GLOWMCU_STEP\(0\);", r"    nowhere();\n    GLOWMCU_STEP(0);", "nowhere"),
        ("m_weights.c", r"\A", "static int idle(void) { return 0; }\n", "idle"),
        ("m_model.c", r"\Z", "int bad(void) { int a; return 0; }\n", "unused variable"),
    ],
    ids=["a function that is nowhere", "one that nobody calls", "a warning"],
)
def test_what_does_not_compile_is_said(
    file: str, pattern: str, text: str, said: str, tmp_path: Path
) -> None:
    folder = write_unit(_with(_layer(), file, pattern, text), tmp_path)
    with pytest.raises(GlowmcuError, match=said):
        Host(QUICK_LINK).run(folder, random_inputs(_layer(), 1))


def test_a_name_that_nothing_defines_is_missed_when_the_library_is_loaded(tmp_path: Path) -> None:
    text = r"extern void nowhere(void);\nextern void (*const at)(void);\nvoid (*const at)(void) = "
    broken = _with(_layer(), "m_weights.c", r"\Z", text + r"nowhere;\n")
    folder = write_unit(broken, tmp_path)
    with pytest.raises(GlowmcuError, match=r"GM602.*nowhere"):
        Host(QUICK_LINK).run(folder, random_inputs(broken, 1))


def test_a_changed_constant_is_noticed(tmp_path: Path) -> None:
    broken = _with(_layer(), "m_weights.c", r"(?<=\{\n)(\s*)(-?\d+), ", r"\g<1>99, ")
    with pytest.raises(GlowmcuError, match="GM620"):
        Host(QUICK_LINK).run(write_unit(broken, tmp_path), random_inputs(broken, 1))
