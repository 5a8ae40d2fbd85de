"""CMake: a static library, or a component where ESP-IDF reads the same file."""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.emit_c.packages.package import PackageView, package


@package("cmake", "CMakeLists.txt", "`add_subdirectory({name})`, then link `{name}`")
def cmake(view: PackageView) -> Mapping[str, str]:
    return {"CMakeLists.txt": view.text("cmake/CMakeLists.txt.j2")}
