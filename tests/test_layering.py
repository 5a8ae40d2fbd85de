"""Who may import whom inside the package, as data, checked on the syntax tree of every module.

A unit is a module or folder directly under `glowmcu/`. Lazy imports inside functions count too:
an import that is hidden is still a dependency.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]
PACKAGE = REPO / "glowmcu"

LEAVES = {
    "argument_types", "array_files", "asked_in_python", "column_names", "compiler_digest", "cores",
    "custom_c", "delegated", "discovery", "error_codes", "errors", "examples", "file_writing",
    "given_amount", "given_once", "given_paths", "goals",
    "host_compiler", "index_notation", "input_options", "installation",
    "installed_packages", "instrument",
    "interface_options", "labels", "lazy", "lazy_dataclass", "libjit_headers", "limits", "manifest",
    "name_lists", "notebook", "number_text",
    "option_words", "paired_names", "planning_progress", "quality", "quality_text", "real_units",
    "resources",
    "shell_words", "simplified", "size_forms", "slides", "sound_files", "stack_use",
    "string_categories", "temporary_files", "test_vectors", "training", "trial_call", "typed_json",
    "user_cache", "version",
}  # fmt: skip
SHARED = LEAVES | {"board"}
MEANING = {"ir", "ops"}

# A stage sees the IR, the meaning of operators and shared leaf modules, never another stage.
STAGES = {"frontend", "lowering", "quant", "memplan", "kernels", "emit_c", "verify"}

ALLOWED: dict[str, set[str]] = {
    **{leaf: LEAVES - {leaf} for leaf in LEAVES},
    **dict.fromkeys(STAGES, SHARED | MEANING),
    "board": LEAVES,
    "ir": SHARED,
    "ops": SHARED | {"ir"},
    # Rules of differentiation, in operators.
    "gradient": SHARED | MEANING,
    # What a compilation takes and makes, as data.
    "compilation": SHARED | MEANING | STAGES | {"open_size"},
    # A choice between compilations of one model.
    "kept_layers": SHARED | {"compilation"},
    # One model at all the sizes that a run may be given: graphs, kernels, one plan.
    "open_size": SHARED | MEANING | {"emit_c", "kernels", "memory_fit", "memplan"},
    "given_size": SHARED | MEANING | {"compilation", "emit_c", "open_size"},
    # A model's graph with a stage that learns, and what a bundle says of it.
    "learning": SHARED | MEANING | {"compilation", "gradient", "lowering", "memory_fit"},
    # Which regions of a graph an accelerator computes: between lowering and kernels.
    "delegation": SHARED | MEANING | {"compilation", "frontend", "kernels"},
    # The stage between lowering and files: which fit the options ask for.
    "fit_as_asked": SHARED
    | MEANING
    | {"compilation", "emit_c", "kernels", "memory_fit", "open_size"},
    # What a self test compares with.
    "golden_vectors": SHARED | MEANING | {"compilation", "emit_c", "given_size", "open_size"},
    # Alone knows the order of the stages.
    "pipeline": SHARED
    | MEANING
    | STAGES
    | {
        "compilation",
        "delegation",
        "fit_as_asked",
        "given_size",
        "golden_vectors",
        "kept_layers",
        "learning",
        "memory_fit",
        "open_size",
    },
    # Several models behind each other: each through the stages, then all as one.
    "multirate": SHARED | MEANING | {"compilation", "lowering", "pipeline", "quant"},
    # Selection and planning, again and again until the arena fits: a part of the pipeline.
    "memory_fit": SHARED | MEANING | {"kernels", "memplan"},
    # A stream of its runs.
    "session": SHARED | {"verify"},
    "bundle": SHARED | {"session", "verify"},  # what a compiled bundle can do, from its files alone
    # What commands found out about a bundle, as data: the source of all that shows it.
    "facts": SHARED | MEANING | {"bundle"},
    # A search over compilations: quantizes, costs and measures many.
    "tuning": SHARED | MEANING | STAGES | {"compilation", "pipeline", "memory_fit", "bundle"},
    # Of quant the API and what shows it take data types and files: choices, samples, profiles; of
    # the front ends what tells formats apart.
    "api": SHARED
    | MEANING
    | {
        "bundle",
        "compilation",
        "facts",
        "frontend",
        "kernels",
        "multirate",
        "open_size",
        "pipeline",
        "quant",
        "session",
        "tuning",
        "verify",
    },
    # Shows the data of a model file, a compilation and a run; nothing depends on it but the CLI.
    "report": SHARED
    | MEANING
    | {"api", "bundle", "facts", "frontend", "memplan", "quant", "tuning", "verify"},
    # What `onnx.backend` wants: compile, then run on this computer.
    "onnx_backend": SHARED | MEANING | {"api", "compilation", "pipeline", "verify"},
    "__init__": SHARED | {"api", "bundle", "report", "session"},
    # Arguments in, text out: no way into a stage but through the public API, save to list things.
    "__main__": {"cli"},
    # A job of a CI service: calls the command line, and words what came of it.
    "ci": SHARED | {"bundle", "facts", "report"},
    # Every plug-in there is, as the stages load them.
    "plugin_states": SHARED | MEANING | STAGES | {"delegation", "report"},
    "cli": SHARED
    | {"__init__", "api", "bundle", "facts", "ops", "plugin_states", "report", "verify"},
}


def unit_of(module: tuple[str, ...]) -> str:
    """The unit of a dotted name such as `("glowmcu", "ir", "graph")`; `__init__` for the API."""
    if len(module) < 2:
        return "__init__"
    found = (PACKAGE / module[1]).is_dir() or (PACKAGE / f"{module[1]}.py").is_file()
    return module[1] if found else "__init__"


def imported_modules(tree: ast.AST, package: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Dotted names that code in `package` imports, as far as they lie in glowmcu."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else ()
            stem = base + tuple((node.module or "").split(".") if node.module else ())
            names = [(*stem, alias.name) for alias in node.names]
        else:
            continue
        yield from (name for name in names if name[0] == "glowmcu")


def imported_units(source: str, package: tuple[str, ...] = ("glowmcu",)) -> set[str]:
    return {unit_of(name) for name in imported_modules(ast.parse(source), package)}


def modules() -> list[Path]:
    return sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("module", modules(), ids=str)
def test_a_module_imports_only_what_its_layer_may(module: Path) -> None:
    unit = module.parts[0].removesuffix(".py")
    assert unit in ALLOWED, f"new unit {unit}: add it to ALLOWED with what it may import"
    source = (PACKAGE / module).read_text(encoding="utf-8")
    imported = imported_units(source, ("glowmcu", *module.parent.parts))
    forbidden = sorted(imported - ALLOWED[unit] - {unit})
    assert not forbidden, f"{module}: {unit} must not import {', '.join(forbidden)}"


# In kernels/: what a variant is, what variants share, a folder for each family of cores, and what
# chooses among all of them through the register. No family knows another.
ROOMS: dict[str, set[str]] = {
    "cost_table": set(),
    "memory_table": {"cost_table"},
    "memory_waits": {"memory_table"},
    "kernel": {"cost_table", "memory_table", "memory_waits"},
    "common": {"kernel"},
    "requantization": {"common", "kernel"},
    "portable": {"common", "kernel", "requantization"},
    "dsp": {"common", "kernel", "portable", "requantization"},
    "helium": {"common", "kernel", "portable", "requantization"},
    "nodsp": {"common", "kernel", "requantization"},
    "riscv": {"common", "kernel", "requantization"},
    "float": {"common", "cost_table", "kernel", "portable"},
    "selection": {"common", "kernel", "memory_waits"},
}


@pytest.mark.parametrize(
    "module", [path for path in modules() if path.parts[0] == "kernels"], ids=str
)
def test_a_kernel_imports_only_what_its_room_may(module: Path) -> None:
    room = module.parts[1].removesuffix(".py")
    assert room in (*ROOMS, "__init__"), f"new room {room}: add it to ROOMS with what it may import"
    tree = ast.parse((PACKAGE / module).read_text(encoding="utf-8"))
    imported = {
        name[2]
        for name in imported_modules(tree, ("glowmcu", *module.parent.parts))
        if name[1] == "kernels"
    }
    forbidden = sorted(imported - ROOMS.get(room, set()) - {room})
    assert not forbidden, f"{module}: {room} must not import {', '.join(forbidden)}"


def test_the_table_allows_no_cycle() -> None:
    rest = {unit: ALLOWED[unit] - {unit} for unit in ALLOWED if unit not in LEAVES}
    while rest:
        free = [unit for unit, needs in rest.items() if not needs & rest.keys()]
        assert free, f"import cycle among {sorted(rest)}"
        for unit in free:
            del rest[unit]


@pytest.mark.parametrize(
    ("source", "units"),
    [
        ("import glowmcu.ir.graph", {"ir"}),
        ("import glowmcu", {"__init__"}),
        ("from glowmcu import errors", {"errors"}),
        ("from glowmcu import compile", {"__init__"}),
        ("from glowmcu.frontend.tflite.reader import read_tflite", {"frontend"}),
        ("def f():\n    from glowmcu.verify import host", {"verify"}),
        ("from ..verify import host", {"verify"}),
        ("from . import planner", {"memplan"}),
        ("import numpy as np", set()),
    ],
)
def test_imports_are_attributed_to_their_unit(source: str, units: set[str]) -> None:
    assert imported_units(source, ("glowmcu", "memplan")) == units


# What is only needed to run, draw or import one kind of file is loaded when that is asked for.
HEAVY = {
    "ai_edge_litert", "capstone", "elftools", "matplotlib", "onnx", "rich", "tflite_micro",
    "unicorn",
}  # fmt: skip


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, glowmcu; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPO, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "glowmcu" in loaded
    assert not loaded & HEAVY
