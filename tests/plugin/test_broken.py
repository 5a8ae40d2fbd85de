"""A broken plug-in is named, with its package and entry point, by the command that meets it.

Each case is a package in a folder of its own, and a command in a Python of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.plugin.installed import REPO, glowmcu, write_package

DIGITS = str(REPO / "examples" / "digits" / "digits_int8.tflite")
COMPILE = ("compile", DIGITS, "-o", "out")
BOARD = (REPO / "boards" / "virt.toml").read_text(encoding="utf-8")

RAISES = "raise RuntimeError('no licence\\nfor this chip')\n"
LEAVES = "import sys\nsys.exit('goodbye')\n"
TAKES_A_NAME = """
from dataclasses import dataclass
from glowmcu.ir.operation import Operation
from glowmcu.ops.registry import operation

@operation("add")
@dataclass(frozen=True)
class Mine(Operation):
    pass
"""
IMPORTS_AGAIN = """
from glowmcu.frontend.tflite.importer import importer

@importer("ADD")
def mine(state, op):
    pass
"""
PASSES = """
def fails(graph):
    return graph.nodse

def gives_nothing(graph):
    pass

def takes_outputs_away(graph):
    from dataclasses import replace
    return replace(graph, nodes=graph.nodes[:-1])
"""
CORE = """
from glowmcu.cores import Core
MINE = Core("cortex-m4", (), "mine")
"""
EXECUTORS = """
def make(board, core):
    return object()
"""
SECTIONS = """
def facts(bundle, facts):
    return "<b>bold</b>"
"""
KERNEL = """
from glowmcu.kernels.kernel import Cost, Field, Kernel, KernelCode, Parameters, kernel
from glowmcu.ops.normalization import Softmax

@kernel("acme.softmax", Softmax)
class Mine(Kernel):
    def cost(self, site, target):
        return Cost(0.0, 0)

    def generate(self, site, target):
        return KernelCode("acme", (0,), "acme_nowhere.h", Parameters("acme", (Field("n", 1),)))
"""
SYSTEM = """
from glowmcu.emit_c.packages.package import package

@package("make", "{name}.mk", "build it")
def mine(view):
    return {}
"""


@dataclass(frozen=True)
class Case:
    """A package `acme` with one entry point; `said` is in what the command prints."""

    group: str
    value: str
    code: str
    said: str
    text: str = ""
    command: tuple[str, ...] = COMPILE
    more: Mapping[str, str] = field(default_factory=dict)
    interface: str = "1"

    def install(self, folder: Path) -> Path:
        entries = {self.group: {"one": self.value}, "glowmcu.interface": {self.interface: "acme"}}
        return write_package(folder, "acme", entries, {"acme.py": self.text, **self.more})


CASES = {
    "an error at import": Case(
        "glowmcu.kernels", "acme", "GM751", "RuntimeError: no licence for this chip", RAISES
    ),
    "an exit at import": Case("glowmcu.ops", "acme", "GM751", "SystemExit: goodbye", LEAVES),
    "no such module": Case(
        "glowmcu.frontend.tflite", "acme_two", "GM751", "No module named 'acme_two'"
    ),
    "no such object": Case("glowmcu.passes", "acme:run", "GM751", "has no attribute 'run'"),
    "an operator's name": Case(
        "glowmcu.ops", "acme", "GM753", "an operator 'add' is there already", TAKES_A_NAME
    ),
    "an importer's name": Case(
        "glowmcu.frontend.tflite", "acme", "GM753", "'ADD' is there already", IMPORTS_AGAIN
    ),
    "a build system's name": Case(
        "glowmcu.emit_c.packages", "acme", "GM753", "a build system 'make'", SYSTEM,
    ),
    "a core's name": Case(
        "glowmcu.cores", "acme:MINE", "GM753", "another core 'cortex-m4'", CORE, ("boards",)
    ),
    "a board's name": Case(
        "glowmcu.boards", "acme_boards", "GM753", "another board 'virt'", command=("boards",),
        more={"acme_boards/__init__.py": "", "acme_boards/virt.toml": BOARD},
    ),
    "no core": Case(
        "glowmcu.cores", "acme:CORE", "GM752", "of type dict, expected a Core", "CORE = {}\n"
    ),
    "no format": Case(
        "glowmcu.formats", "acme:read", "GM752", "expected a ModelFormat", "read = 'nnef'\n"
    ),
    "no folder": Case(
        "glowmcu.libjit", "acme:PLACE", "GM752", "expected a folder", "PLACE = '/no/such/place'\n"
    ),
    "a pass that fails": Case(
        "glowmcu.passes", "acme:fails", "GM754", "AttributeError: 'Graph' object", PASSES
    ),
    "a pass without a graph": Case(
        "glowmcu.passes", "acme:gives_nothing", "GM752", "of type NoneType, expected a graph",
        PASSES,
    ),
    "a pass with a wrong graph": Case(
        "glowmcu.passes", "acme:takes_outputs_away", "GM754", "output 'scores' is never computed",
        PASSES,
    ),
    "no header": Case("glowmcu.kernels", "acme", "GM755", "acme_nowhere.h", KERNEL),
    "a later interface": Case(
        "glowmcu.boards", "acme", "GM750", "pip install --upgrade glowmcu", command=("boards",),
        interface="2",
    ),
    "an earlier interface": Case(
        "glowmcu.kernels", "acme", "GM750", "pip install --upgrade acme", RAISES, interface="0"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_command_that_meets_it_names_package_and_entry_point(
    case: Case, tmp_path: Path
) -> None:
    command = (*case.command, "--emit", "make") if "package" in case.group else case.command
    done = glowmcu(case.install(tmp_path / "site"), *command, folder=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith(f"error[{case.code}]: ")
    assert case.said in done.stderr
    if case.code != "GM755":
        assert f'acme 1.0, entry point "one = {case.value}" of {case.group}' in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_all_that_are_broken_are_listed_with_what_is_wrong(tmp_path: Path) -> None:
    files: dict[str, str] = {"acme_fine.py": ""}
    entries: dict[str, dict[str, str]] = {
        "glowmcu.ops": {"fine": "acme_fine"},
        "glowmcu.kernel": {"typo": "acme_fine"},
    }
    shown = ("an error at import", "a build system's name", "no core", "no format", "no folder")
    for number, name in enumerate(shown):
        case = CASES[name]
        files[f"acme{number}.py"] = case.text
        value = case.value.replace("acme", f"acme{number}")
        entries.setdefault(case.group, {})[f"broken{number}"] = value
    site = write_package(tmp_path, "acme", entries, files, "2.1")
    done = glowmcu(site, "plugins", "--json")
    assert done.returncode == 2
    rows = json.loads(done.stdout)
    assert {row["name"]: row["code"] for row in rows} == {
        "broken0": "GM751", "broken1": "GM753", "broken2": "GM752", "broken3": "GM752",
        "broken4": "GM752", "fine": None, "typo": "GM756",
    }  # fmt: skip
    assert {(row["package"], row["version"], tuple(row["interface"])) for row in rows} == {
        ("acme", "2.1", ("1",))
    }
    assert done.stderr.count("error[") == 6
    assert "did you mean glowmcu.kernels?" in done.stderr


def test_an_executor_and_a_section_of_another_type_are_named(tmp_path: Path) -> None:
    entries = {
        "glowmcu.executors": {"acme": "acme_executors:make"},
        "glowmcu.report_sections": {"facts": "acme_sections:facts"},
    }
    files = {"acme_executors.py": EXECUTORS, "acme_sections.py": SECTIONS}
    site = write_package(tmp_path / "site", "acme", entries, files)
    assert glowmcu(site, *COMPILE, folder=tmp_path).returncode == 0
    verified = glowmcu(site, "verify", "out", "--on", "acme", folder=tmp_path)
    assert verified.returncode == 2
    assert "error[GM752]: a plug-in gives an object of type object, expected an Executor" in (
        verified.stderr
    )
    reported = glowmcu(site, "report", "out", folder=tmp_path)
    assert reported.returncode == 2
    assert "error[GM752]: a plug-in gives an object of type str, expected a Section" in (
        reported.stderr
    )


def test_a_package_that_says_nothing_is_taken_for_the_first_interface(tmp_path: Path) -> None:
    site = write_package(tmp_path, "acme", {"glowmcu.ops": {"acme": "acme"}}, {"acme.py": ""})
    done = glowmcu(site, "plugins", "--json")
    assert done.returncode == 0
    assert [row["interface"] for row in json.loads(done.stdout)] == [["1"]]


def test_a_package_for_both_interfaces_works_with_either(tmp_path: Path) -> None:
    entries = {"glowmcu.ops": {"acme": "acme"}, "glowmcu.interface": {"1": "acme", "2": "acme"}}
    site = write_package(tmp_path, "acme", entries, {"acme.py": ""})
    assert glowmcu(site, "plugins").returncode == 0


def test_without_plug_ins_the_list_says_so() -> None:
    done = glowmcu(None, "plugins")
    assert done.returncode == 0
    assert "no installed package adds anything" in done.stdout
