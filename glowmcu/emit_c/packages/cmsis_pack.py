"""CMSIS-Pack: a pack description; the folder, zipped, is the pack."""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.emit_c.packages.package import PackageView, package


@package("cmsis-pack", "*.pdsc", "`cpackget add` it, then select the component in the project")
def cmsis_pack(view: PackageView) -> Mapping[str, str]:
    file = f"{view.details.vendor}.{view.m.name}.pdsc"
    return {file: view.text("cmsis-pack/bundle.pdsc.j2")}
