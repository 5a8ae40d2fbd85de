"""ESP-IDF: a component. Its build is a branch of CMakeLists.txt, which IDF demands by that name."""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.emit_c.packages.package import PackageView, package


@package("esp-idf", "idf_component.yml", "copy this folder into the project's `components/`")
def esp_idf(view: PackageView) -> Mapping[str, str]:
    return {"idf_component.yml": view.text("esp-idf/idf_component.yml.j2")}
