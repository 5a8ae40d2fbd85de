"""Make: a fragment to include."""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.emit_c.packages.package import PackageView, package


@package("make", "{name}.mk", "`include {name}/{name}.mk`, then link its library")
def make(view: PackageView) -> Mapping[str, str]:
    return {f"{view.m.name}.mk": view.text("make/bundle.mk.j2")}
