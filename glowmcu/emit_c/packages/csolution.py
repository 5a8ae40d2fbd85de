"""CMSIS-Toolbox: layers for a csolution project."""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.emit_c.packages.package import PackageView, package


@package("csolution", "{name}.clayer.yml", "name it under `layers:` in the `.cproject.yml`")
def csolution(view: PackageView) -> Mapping[str, str]:
    name = view.m.name
    return {
        f"{name}.clayer.yml": view.text("csolution/bundle.clayer.yml.j2"),
        f"{name}_selftest.clayer.yml": view.text("csolution/selftest.clayer.yml.j2"),
    }
