"""Every plug-in that is installed, and whether it works: each group is loaded as the stage that has
a use for it loads it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping

from glowmcu.board.catalogue import board_names, find_board
from glowmcu.cores import core_names
from glowmcu.delegation.find_back_end import package_back_ends
from glowmcu.discovery import GROUPS, Plugin, all_plugins, loaded
from glowmcu.emit_c.packages.package import all_packages
from glowmcu.emit_c.rendering import render
from glowmcu.errors import GlowmcuError, Problem
from glowmcu.frontend.formats import model_formats
from glowmcu.frontend.onnx.importer import load_importers as load_onnx_importers
from glowmcu.frontend.tflite.importer import load_importers as load_tflite_importers
from glowmcu.kernels.kernel import load_kernels
from glowmcu.lazy_dataclass import dataclass
from glowmcu.lowering.passes import all_passes
from glowmcu.ops.registry import load_operations
from glowmcu.report.sections import section_functions
from glowmcu.resources import all_headers
from glowmcu.verify.executors import executor_factories


@dataclass(frozen=True)
class PluginState:
    """A plug-in; `problem` is what keeps it from working, None where nothing does."""

    plugin: Plugin
    problem: Problem | None

    def json(self) -> dict[str, object]:
        """For scripts."""
        plugin, problem = self.plugin, self.problem
        return {
            "group": plugin.group,
            "adds": GROUPS.get(plugin.group),
            "name": plugin.name,
            "module": plugin.value,
            "package": plugin.package,
            "version": plugin.package_version,
            "interface": list(plugin.interfaces) or ["1"],
            "works": problem is None,
            "code": problem.code if problem else None,
            "problem": problem.message if problem else None,
            "hint": problem.hint if problem else None,
        }


def _read_boards() -> None:
    for name in board_names():
        find_board(name)


#: What loads the plug-ins of each group, and finds what is wrong between them.
_LOADERS: Mapping[str, Callable[[], object]] = {
    "glowmcu.back_ends": package_back_ends,
    "glowmcu.boards": _read_boards,
    "glowmcu.cores": core_names,
    "glowmcu.emit_c.packages": all_packages,
    "glowmcu.executors": executor_factories,
    "glowmcu.formats": model_formats,
    "glowmcu.frontend.onnx": load_onnx_importers,
    "glowmcu.frontend.tflite": load_tflite_importers,
    "glowmcu.kernels": load_kernels,
    "glowmcu.libjit": all_headers,
    "glowmcu.ops": load_operations,
    "glowmcu.passes": all_passes,
    "glowmcu.report_sections": section_functions,
    "glowmcu.templates": lambda: render("bundle/LICENSES/Apache-2.0.txt"),
}


def plugin_states() -> list[PluginState]:
    """All plug-ins by group and name, each tried on its own and with those of its group."""
    found = all_plugins()
    together = {group: _problems(_LOADERS[group]) for group in sorted({p.group for p in found})
                if group in _LOADERS}  # fmt: skip
    return [PluginState(plugin, _problem(plugin, together)) for plugin in found]


def _problem(plugin: Plugin, together: Mapping[str, list[Problem]]) -> Problem | None:
    if plugin.group not in GROUPS:
        near = difflib.get_close_matches(plugin.group, GROUPS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"groups are {', '.join(GROUPS)}"
        return plugin.problem("GM756", f"there is no group {plugin.group} of plug-ins", hint)
    alone = loaded(plugin)
    if isinstance(alone, Problem):
        return alone
    said = [problem for problem in together[plugin.group] if plugin.place in problem.where]
    return said[0] if said else None


def _problems(load: Callable[[], object]) -> list[Problem]:
    try:
        load()
    except GlowmcuError as cause:
        return list(cause.problems)
    return []
