"""Names of a package that are imported when somebody first asks for them (PEP 562).

`glowmcu --help` must not wait for numpy, nor a compilation for what runs bundles.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """A `__getattr__` for `package`, whose names live in these modules."""

    def found(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return found
