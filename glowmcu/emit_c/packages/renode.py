"""Renode: a firmware around the bundle and a test of it, in a folder of their own.

What is in it follows from the board's memory map, which no package sees: the pipeline adds the
files, made by `glowmcu.verify.renode`, where this one is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.emit_c.packages.package import PackageView, package


@package(
    "renode", "renode/{name}.robot", "`make -C {name}/renode test`, with `renode-test` on PATH"
)
def renode(_view: PackageView) -> Mapping[str, str]:
    return {}
