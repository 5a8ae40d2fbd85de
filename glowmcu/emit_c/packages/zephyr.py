"""Zephyr: a module."""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.emit_c.packages.package import PackageView, package


@package(
    "zephyr",
    "zephyr/module.yml",
    "name this folder in `EXTRA_ZEPHYR_MODULES` or the west manifest, set `CONFIG_GLOWMCU_…=y`",
)
def zephyr(view: PackageView) -> Mapping[str, str]:
    return {
        f"zephyr/{file}": view.text(f"zephyr/{file}.j2")
        for file in ("module.yml", "CMakeLists.txt", "Kconfig")
    }
