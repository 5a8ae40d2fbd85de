"""Own frames of what calls kernels in a bundle: `NAME_run`, cascades, the rest of the API."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from benchmarks.stack_samples import linked
from benchmarks.stack_walk import StackWalk
from glowmcu.compilation import Compilation
from glowmcu.emit_c.build_views import Layers
from glowmcu.emit_c.build_views import layers as body_of
from glowmcu.emit_c.stack_bound import POINTER_BYTES, functions, kernel_stack, made_bytes
from glowmcu.emit_c.write_bundle import write_bundle
from glowmcu.ir.cascade import Cascade
from glowmcu.ir.program import Program
from glowmcu.stack_use import CoreStacks, FrameStacks

_LIBRARY = ("memcpy", "memmove", "memset")


def nothing_taken() -> dict[str, int]:
    """To add what is found to."""
    return {field.name: 0 for field in fields(FrameStacks)}


def walked(compilation: Compilation, core_name: str, folder: Path) -> StackWalk:
    """The program of a bundle's whole API and of its self test."""
    name = compilation.manifest.name
    write_bundle(compilation.files, folder, name)
    sources = [folder / f"{name}.c", folder / f"{name}_weights.c"]
    sources.append(folder / "selftest" / f"{name}_selftest.c")
    return linked(sources, folder, core_name, tuple(entry_functions(compilation).values()))


def entry_functions(compilation: Compilation) -> dict[str, str]:
    """What each entry point is called in C, and whatever else the bundle states a bound for."""
    name, found = compilation.manifest.name, _inferring(compilation)
    stated = (f for f in compilation.manifest.costs.stack_bytes if f not in found.values())
    return found | {function.removeprefix(f"{name}_"): function for function in stated}


def _inferring(compilation: Compilation) -> dict[str, str]:
    """Those that every bundle has."""
    manifest, name = compilation.manifest, compilation.manifest.name
    found = {"infer": f"{name}_infer", "check": f"{name}_check", "selftest": f"{name}_selftest"}
    last = manifest.entry_points[-1]
    if manifest.streamed_input is not None:
        return {"push": last, "begin": f"{name}_start", **found}
    steps = "_run_steps_from" if manifest.external else "_run_steps"
    if f"{name}{steps}(" in compilation.files[f"{name}.h"]:
        found |= {"steps": f"{name}{steps}", "begin": f"{name}_begin"}
    return {"run": last, **found}


def frames(compilation: Compilation, found: StackWalk, known: CoreStacks) -> dict[str, int]:
    """Of the bundle's functions, as `FrameStacks` means them."""
    taken, entries = nothing_taken(), entry_functions(compilation)
    program, chosen = compilation.plan.program, compilation.selections
    body = body_of(program, chosen, compilation.manifest.name)
    taken["rows"], inside = _in_cascades(
        program, _added(compilation, body, known, "steps" in entries), found
    )
    for entry in ("run", "push", "steps"):
        if entry in entries:
            taken[entry] = found.frame(entries[entry]).own_bytes - inside
    main = entries.get("run") or entries["push"]
    inference = max(found.depth(entries[e]) for e in ("run", "push", "steps") if e in entries)
    check = found.depth(entries["check"])
    pointers = sum(not line.bytes for line in body.integrity.lines)
    taken["infer"] = found.depth(entries["infer"]) - found.depth(main)
    taken["selftest"] = found.depth(entries["selftest"]) - max(inference, check)
    taken["check"] = check - POINTER_BYTES * pointers
    taken["begin"] = found.depth(entries["begin"]) if "begin" in entries else 0
    taken["library"] = max((found.depth(n) for n in _LIBRARY if found.has(n)), default=0)
    return taken


def _added(compilation: Compilation, body: Layers, known: CoreStacks, in_parts: bool) -> list[int]:
    """What each kernel adds to its caller's frame."""
    stacks = []
    program, chosen = compilation.plan.program, compilation.selections
    for function in functions(program, chosen, body, in_parts):
        stack = kernel_stack(function, known)
        assert stack is not None, f"no program of the table has {function}"
        stacks.append(stack.inlined_bytes)
    return stacks


def _in_cascades(program: Program, added: list[int], found: StackWalk) -> tuple[int, int]:
    """The most that a cascade's function takes, kernels and counts apart; and what the program's
    kernels add to the frame of what runs it.
    """
    rows, inside, step = 0, 0, 0
    for item in program.steps:
        if not isinstance(item, Cascade):
            inside, step = max(inside, added[step]), step + 1
            continue
        end = step + len(item.runs)
        own = made_bytes(item) + max(added[step:end])
        names = [n for n in found.names if n.partition(".")[0] == f"rows_{step}_to_{end - 1}"]
        if item.input_stage is not None or not names:
            inside = max(inside, own)
        rows = max([rows, *(found.frame(name).own_bytes - own for name in names)])
        step = end
    return rows, inside
