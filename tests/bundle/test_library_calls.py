"""The functions of the C library that a bundle's README names are all that its C calls."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.emit_c.library_calls import library_calls
from glowmcu.host_compiler import host_compiler
from glowmcu.interface_options import InterfaceOptions, Weights
from glowmcu.pipeline import compile_model
from tests.bundle.models import digits
from tests.support.check_model import write_bundle

POINTER = InterfaceOptions(weights=Weights.POINTER)


def said(readme: str) -> set[str]:
    found = re.search(r"of the C library\n(.*?)\. Compilers", readme)
    assert found is not None
    return set(re.findall(r"`(\w+)`", found[1]))


def compiled(core: str, interface: InterfaceOptions) -> Compilation:
    return compile_model(digits(), "d.tflite", Options("d", core=core, interface=interface))


@pytest.mark.parametrize(
    ("core", "interface", "one"),
    [
        ("cortex-m4", InterfaceOptions(), "memcpy"),
        ("cortex-m0", InterfaceOptions(), "memset"),
        ("cortex-m4", POINTER, "memcmp"),
        ("cortex-m4", InterfaceOptions(steps=True), "memset"),
    ],
)
def test_the_readme_names_every_function_of_the_c_library(
    core: str, interface: InterfaceOptions, one: str, tmp_path: Path
) -> None:
    made = compiled(core, interface)
    bundle = write_bundle(made, tmp_path / "d")
    compiler = host_compiler() or pytest.skip("needs a C compiler")
    command = [compiler, "-O1", "-ffreestanding", f"-I{bundle}", "-c", str(bundle / "d.c")]
    subprocess.run([*command, "-o", str(tmp_path / "d.o")], check=True)
    command = ["nm", "-u", str(tmp_path / "d.o")]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    called = set(re.findall(r"\b_?((?:mem|str)\w+)$", listed, re.MULTILINE))
    names = said(made.files["README.md"])
    assert one in names
    assert called - names == set()


def test_what_only_a_comment_or_a_function_that_nobody_calls_has_is_no_call() -> None:
    header = """static inline int first(void)
{
    return second(memcmp(1));
}

static inline int second(int a)
{
    return memmove(a);
}

static inline int third(void)
{
    return memset(0);
}
"""
    assert library_calls("/* third(); memcpy( */ my_memcpy(first());", [header]) == (
        "memcmp",
        "memmove",
    )
