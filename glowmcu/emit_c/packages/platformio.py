"""PlatformIO: a library."""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.emit_c.packages.package import PackageView, package


@package("platformio", "library.json", "copy this folder into the project's `lib/`")
def platformio(view: PackageView) -> Mapping[str, str]:
    return {"library.json": view.text("platformio/library.json.j2")}
