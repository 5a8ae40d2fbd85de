"""Arduino: a library of the recursive layout.

Arduino compiles what is under `src/` and looks for headers there alone, so `src/` holds one line a
file that includes the bundle's own.
"""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.emit_c.packages.package import PackageView, package

#: Headers of an instrumented bundle that a sketch includes.
_FOR_SKETCHES = ("glowmcu_observer.h", "glowmcu_profile.h")


@package("arduino", "library.properties", "copy this folder into the sketchbook's `libraries/`")
def arduino(view: PackageView) -> Mapping[str, str]:
    name = view.m.name
    own = (f"{name}.h", f"{name}_model.h", *_FOR_SKETCHES)
    headers = (*(h for h in view.headers if h in own), f"selftest/{name}_selftest.h")
    sources = (*view.sources, *view.model_sources, view.selftest_source)
    example = f"{name}_selftest"
    return {
        "library.properties": view.text("arduino/library.properties.j2"),
        f"examples/{example}/{example}.ino": view.text("arduino/selftest.ino.j2"),
        **{f"src/{file.rpartition('/')[2]}": _forward(file) for file in (*headers, *sources)},
    }


def _forward(file: str) -> str:
    # The self test includes its header beside it; that one finds the network's in the top folder.
    return f'/* Arduino looks in src/ only. */\n#include "../{file}"\n'
