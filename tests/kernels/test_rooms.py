"""Rooms of kernels that are for some cores alone: what they say of that, and what is imported."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from glowmcu.compilation import Options
from glowmcu.cores import core, core_names
from glowmcu.kernels.kernel import Target, load_kernels, site_of
from glowmcu.pipeline import compile_model
from tests.test_contract import computing_node, samples

ROOMS = ("dsp", "helium", "nodsp", "riscv")
#: What a process imports that asks for the kernels of a core, and what an element's code is.
_ASK = """
import sys
from glowmcu.cores import core
from glowmcu.kernels.common.element_code import load_element_codes
from glowmcu.kernels.kernel import load_kernels
load_element_codes()
load_kernels(core(sys.argv[1]))
print(*sys.modules)
"""


def test_kernels_of_a_room_accept_nothing_on_cores_that_it_does_not_serve() -> None:
    rooms = {name: import_module(f"glowmcu.kernels.{name}") for name in ROOMS}
    reached: set[str] = set()
    for sample in samples():
        graph = compile_model(samples()[sample], "m.onnx", Options("m")).graph
        node = computing_node(graph)
        site = site_of(graph, node)
        for variant in load_kernels()[type(node.op)]:
            room = type(variant).__module__.split(".")[2]
            for name in core_names() if room in rooms else ():
                if variant.accepts(site, Target(core(name))):
                    assert rooms[room].serves(core(name)), (variant.name, name)
                    reached.add(room)
    assert reached == set(ROOMS)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cortex-m4", {"dsp"}),
        ("cortex-m55", {"dsp", "helium"}),
        ("cortex-m0plus", {"nodsp"}),
        ("rv32imac", {"nodsp", "riscv"}),
        ("generic", {"nodsp"}),
    ],
)
def test_rooms_that_serve_other_cores_are_not_imported(name: str, expected: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ASK, name], capture_output=True, text=True, check=True
    )
    modules = set(done.stdout.split())
    found = {room for room in ROOMS if f"glowmcu.kernels.{room}.convolution" in modules}
    assert found == expected
    assert "glowmcu.kernels.portable.convolution" in modules
