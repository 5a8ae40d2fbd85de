"""Serial: the test firmware of `--on serial:PORT` in source, in a folder of its own.

What is in it follows from the board's file, which no package sees: the pipeline adds the files,
made by `glowmcu.verify.serial`, where this one is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.emit_c.packages.package import PackageView, package


@package(
    "serial", "serial/main.c", "`make -C {name}/serial`, or compile it into your application: "
    "`serial/port_serial.h`",
)  # fmt: skip
def serial(_view: PackageView) -> Mapping[str, str]:
    return {}
