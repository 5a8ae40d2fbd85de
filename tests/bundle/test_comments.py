"""Comments of a bundle name what is in it (files, functions, macros), nothing of the tool."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.goals import Goal
from glowmcu.pipeline import compile_model
from tests.bundle.models import model_bytes, options_of
from tests.bundle.test_generated_text import ASKED
from tests.support.kernel_files import header_paths

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
INCLUDE = re.compile(r'#include "([^"]+)"')
#: Files, folders of the tool, and names of libjit that are not part of a longer word or a family.
FILE = re.compile(r"[\w.-]+\.(?:py|j2|h|c|S|su)\b")
FOLDER = re.compile(r"\b(?:glowmcu|templates|libjit|tests|benchmarks)(?:/[\w./]*|'s\b)")
NAME = re.compile(r"\b(?:glowmcu|GLOWMCU)_\w*[A-Za-z0-9]\b(?!\.[ch]\b|[*…])")
#: What C itself has, and what an application may have.
ELSEWHERE = {"string.h", "stdint.h", "stddef.h", "main.c", "float.h", "math.h", "limits.h"}


def strangers(texts: Mapping[str, str], present: Mapping[str, str]) -> Iterator[str]:
    """What comments of C in `texts` name that is not in the files `present`."""
    code = {name: COMMENT.sub(" ", text) for name, text in present.items()}
    words = set(re.findall(r"\w+", " ".join(code.values()))) | {Path(name).stem for name in present}
    files = {Path(name).name for name in present} | ELSEWHERE
    for name, text in texts.items():
        for comment in COMMENT.findall(text):
            yield from (f"{name}: {found}" for found in FILE.findall(comment) if found not in files)
            yield from (f"{name}: {found}" for found in FOLDER.findall(comment))
            yield from (f"{name}: {found}" for found in NAME.findall(comment) if found not in words)


def is_c(name: str) -> bool:
    return Path(name).suffix in (".c", ".h")


@pytest.mark.parametrize(
    ("model", "core", "goal"),
    [pytest.param(*case, id=f"{case[0]} for {case[1]}, {case[2].value}") for case in ASKED],
)
def test_comments_name_nothing_that_is_not_in_the_bundle(model: str, core: str, goal: Goal) -> None:
    options = replace(options_of(model), core=core, goal=goal)
    files = compile_model(model_bytes(model), f"{model}.tflite", options).files
    text = {name: content for name, content in files.items() if isinstance(content, str)}
    assert list(strangers({name: text[name] for name in text if is_c(name)}, text)) == []


@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m4", "cortex-m55", "rv32imc"])
def test_a_layer_of_four_bits_says_so_and_its_weights_who_explains_them(core: str) -> None:
    model = ModelBuilder()
    x = model.input("x", (1, 5, 5, 64), "int8", 0.05, 3)
    w = np.random.default_rng(4).integers(-8, 8, (64, 1, 1, 64)).astype(np.int8)
    y = model.tensor("y", (1, 5, 5, 64), "int8", 0.5, -7)
    names = ("stride_h", "stride_w", "dilation_h_factor", "dilation_w_factor")
    options = {"padding": "VALID", **dict.fromkeys(names, 1)}
    model.op("CONV_2D", [x, model.constant("w", w, 0.01), None], [y], options)
    model.output(y)
    files = compile_model(model.finish(), "m.tflite", Options("m", core=core, goal=Goal.SIZE)).files
    assert "weights of four bits, two in a byte" in files["m.c"]
    beside = re.findall(r"^/\* \w+\[.*\*/$", files["m_weights.c"], re.MULTILINE)
    assert any("nibbles" in comment or "+ 8" in comment for comment in beside)
    assert not any("... */" in comment for comment in beside)


def test_a_header_names_only_what_it_brings_along() -> None:
    """Of every header of libjit, since a bundle has those that its kernels include."""
    headers = {name: path.read_text() for name, path in header_paths().items()}
    found = []
    for name, text in sorted(headers.items()):
        present = {brought: headers[brought] for brought in brought_along(name, headers)}
        found += strangers({name: text}, present)
    assert found == []


def brought_along(name: str, headers: Mapping[str, str]) -> set[str]:
    """The header and those that it includes, and that these include."""
    seen, waiting = set[str](), [name]
    while waiting:
        header = waiting.pop()
        if header in headers and header not in seen:
            seen.add(header)
            waiting += INCLUDE.findall(headers[header])
    return seen


#: Constants that are not an operand as the model has it.
PACKED = re.compile(
    r"/\* \w+\[[\dx]+\](.*) \*/\nGLOWMCU_IN_ORDER.*\nGLOWMCU_ALIGNED\(\d+\) const \w+ (\w+)\["
)
NAMES_OF_PACKED = ("stream", "blocks", "places", "extras", "starts", "factors")


@pytest.mark.parametrize(
    ("model", "core", "goal"),
    [
        ("vww", "cortex-m4", Goal.BALANCED),
        ("sww", "cortex-m4", Goal.BALANCED),
        ("ic", "cortex-m4", Goal.RAM),
        ("kws", "cortex-m0plus", Goal.BALANCED),
        ("ad", "cortex-m0plus", Goal.BALANCED),
        ("kws", "cortex-m55", Goal.BALANCED),
    ],
)
def test_packed_constants_say_what_they_hold(model: str, core: str, goal: Goal) -> None:
    options = replace(options_of(model), core=core, goal=goal)
    files = compile_model(model_bytes(model), f"{model}.tflite", options).files
    (text,) = (str(text) for name, text in files.items() if name.endswith("_weights.c"))
    found = {name: said.strip() for said, name in PACKED.findall(text)}
    assert len(found) == text.count("\nGLOWMCU_IN_ORDER ")
    packed = {name for name in found if name.rsplit("_", 1)[-1] in NAMES_OF_PACKED}
    assert packed
    assert sorted(name for name in packed if not found[name]) == []
    assert not [said for said in found.values() if said.endswith("...")]


def test_numbers_that_pack_or_cross_have_a_note() -> None:
    options = replace(options_of("vww"), core="cortex-m4")
    files = compile_model(model_bytes("vww"), "vww.tflite", options).files
    text = " ".join(str(files["vww.c"]).split())
    assert "/* in_zero_points: -128 in both halves */ -8323200" in text
    assert "/* rounding: 2 * -128 + 1 */ -255" in text
    assert "/* clamp_min: above clamp_max, no clamp */ 1, /* clamp_max */ 0" in text
    assert "/* clamp_min */ 1," not in text


def test_strangers_are_found() -> None:
    header = "/* glowmcu_a.h: see glowmcu/kernels/a.py, glowmcu_b.h, glowmcu_b, GLOWMCU_B. */\n"
    header += "/* glowmcu_a calls GLOWMCU_A_*, see string.h. */ void glowmcu_a(void);"
    text = {"glowmcu_a.h": header}
    assert list(strangers(text, text)) == [
        f"glowmcu_a.h: {found}"
        for found in ("a.py", "glowmcu_b.h", "glowmcu/kernels/a.py", "glowmcu_b", "GLOWMCU_B")
    ]
