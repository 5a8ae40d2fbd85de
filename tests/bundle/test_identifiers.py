"""Identifiers of a bundle differ in what every compiler looks at: MISRA C:2012 5.1 to 5.5.

Of all its C at once: names that differ there are apart in every scope.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import Path

import pytest

from benchmarks.misra_bundles import bundles
from glowmcu.emit_c.shared_functions import SharedFunctions
from glowmcu.ir.function_names import LETTERS, SIGNIFICANT, c_name, part_name, specialized
from glowmcu.pipeline import reference_graph
from glowmcu.resources import resource_dir
from tests.conftest import REPO
from tests.support.c_names import c_names
from tests.support.forced_layers import compile_joined
from tests.test_contract import samples

#: Of an internal name, C99 5.2.4.1.
_LONGEST = 63
_CORES = ("cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m55", "hazard3")
#: Every core; of every kind of numbers and of what a bundle can be the smallest.
_QUICK = (
    *(name for name in bundles() if name.startswith("digits, ")),
    "digits on two cores, cortex-m0plus", "digits in steps, cortex-m4",
    "digits observed, cortex-m4", "stream, cortex-m4", "lstm, cortex-m4", "svdf, cortex-m4",
    "lstm of int16, cortex-m4", "kws_float in four bits, cortex-m4", "kws_float, cortex-m4",
    "kws_int8 by a pointer, cortex-m4", "a pipeline, cortex-m4", "learning last=2, cortex-m4",
    "random conv_2d of int16, cortex-m4", "random conv_2d of int16, cortex-m55",
    "random depthwise_conv_2d, hazard3", "a forest, cortex-m4",
)  # fmt: skip


def alike(texts: Iterable[str]) -> list[list[str]]:
    """Identifiers of the texts that are one to a compiler that looks at 31 characters, and those
    that are too long for any.
    """
    names = set[str]().union(*map(c_names, texts))
    by_start = defaultdict(set)
    for name in names:
        by_start[name[:SIGNIFICANT]].add(name)
    same = [sorted(found) for found in by_start.values() if len(found) > 1]
    return same + [[name] for name in sorted(names) if len(name) > _LONGEST]


def c_files(files: Mapping[str, str]) -> list[str]:
    return [text for name, text in files.items() if name.endswith((".c", ".h"))]


def c_files_of(name: str, folder: Path) -> list[str]:
    written = bundles()[name].write(folder / "net")
    paths = [path for path in written.rglob("*") if path.suffix in (".c", ".h")]
    assert len(paths) > 3
    return [path.read_text(encoding="utf-8") for path in paths]


@pytest.mark.parametrize("name", _QUICK)
def test_identifiers_differ_within_31_characters(name: str, tmp_path: Path) -> None:
    assert alike(c_files_of(name, tmp_path)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in bundles() if name not in _QUICK])
def test_identifiers_of_other_bundles_differ_as_well(name: str, tmp_path: Path) -> None:
    assert alike(c_files_of(name, tmp_path)) == []


@pytest.mark.slow
@pytest.mark.parametrize("core_name", _CORES)
def test_identifiers_of_many_layers_in_one_bundle_differ(core_name: str) -> None:
    graphs = [reference_graph(data, "m.onnx") for data in samples().values()]
    done = compile_joined(graphs, "", core_name)
    assert alike(c_files(done.files)) == []


def test_identifiers_that_are_alike_are_found() -> None:
    start = "a_name_of_thirty_one_characters"
    assert len(start) == SIGNIFICANT
    assert alike([f"int {start}_x;", f"int f(void) {{ return {start}_y; }}"]) == [
        [f"{start}_x", f"{start}_y"]
    ]
    assert alike(["int " + 64 * "x" + ";"]) == [[64 * "x"]]
    hidden = f'/* {start}_y */ // {start}_z\n#include "{start}_h.h"\n"{start}_s \\" {start}_t"'
    assert alike([f"int {start}_x = 0x1F; {hidden} '\\'' 1e+5f"]) == []
    assert c_names("#define A(b) b ## c\n x1 = 2u + .5e-3f;") == {"define", "A", "b", "c", "x1"}


def test_a_name_says_what_the_function_is_for_as_far_as_it_fits() -> None:
    short = specialized("straight", "64 inputs", "", "floor requantization", "shift 12")
    assert short == "straight: 64 inputs, floor requantization, shift 12"
    assert c_name(short) == "glowmcu_straight_64f12"
    assert part_name(c_name(short), "pairs") == "glowmcu_straight_pairs_64f12"
    facts = ("48x128 values", "to 48 columns", "stride 2x1", "literal requantization")
    names = [c_name(specialized("row", *facts, clamped)) for clamped in ("", "clamped")]
    assert all(name.startswith("glowmcu_row_48x128_") for name in names)
    assert len({*names}) == 2
    assert max(len(part_name(name, "pairs")) for name in names) <= SIGNIFICANT
    assert c_name("glowmcu_add_s8") == "glowmcu_add_s8"
    assert c_name(specialized("vectors")) == "glowmcu_vectors_any"
    assert c_name(specialized("near", "3 taps", "1/4 of *p")) == "glowmcu_near_3_1_4_p"


def test_functions_that_would_have_one_name_get_two() -> None:
    """Four characters of a digest fall together among some thousands."""
    known = dict[str, str]()
    for number in count():
        function = specialized("pointwise", "of anything that is long", f"shift {number}")
        other = known.setdefault(c_name(function), function)
        if other != function:
            break
    functions = SharedFunctions()
    names = [functions.name(item) for item in (other, function, other)]
    assert names[0] == names[2] == c_name(other) != names[1]
    assert functions.name(other) == SharedFunctions().name(other)
    assert len(part_name(names[1], "pairs")) <= SIGNIFICANT


def test_templates_name_helpers_by_the_filter() -> None:
    """`part`: what is put behind a name may lie beyond the 31st character."""
    folder = resource_dir("templates") / "kernels"
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.j2"))}
    shared = [text for path, text in texts.items() if "portable" not in path.parts]
    assert any("function | part(" in text for text in shared)
    assert not any("{{ function }}_" in text for text in shared)


def test_the_glossary_has_all_letters_of_names() -> None:
    text = " ".join((REPO / "docs" / "glossary.md").read_text(encoding="utf-8").split())
    for word, letter in LETTERS.items():
        if letter:
            assert f"`{letter}` {word}" in text, word
