"""Rust: a `no_std` crate that compiles the C and declares it."""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.emit_c.packages.package import PackageView, package


@package("rust", "Cargo.toml", "add this folder as a path dependency")
def rust(view: PackageView) -> Mapping[str, str]:
    return {
        "Cargo.toml": view.text("rust/Cargo.toml.j2"),
        "build.rs": view.text("rust/build.rs.j2"),
        "src/lib.rs": view.text("rust/lib.rs.j2"),
    }
