"""Which operators exist: classes decorated with `@operation`, found by importing this package's
modules in sorted order and the `glowmcu.ops` entry points of installed plug-ins.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeVar

from glowmcu.discovery import enter, import_members
from glowmcu.ir.operation import Constant, Operation

_Op = TypeVar("_Op", bound=Operation)
_OPERATIONS: dict[str, type[Operation]] = {"constant": Constant}


def operation(name: str) -> Callable[[type[_Op]], type[_Op]]:
    """Class decorator: register an operator under `name`, its name in the IR's text."""

    def register(cls: type[_Op]) -> type[_Op]:
        registered: type[Operation] = cls
        enter(_OPERATIONS, name, registered, "an operator")
        cls.name = name
        return cls

    return register


@cache
def load_operations() -> dict[str, type[Operation]]:
    """All operators by name, sorted."""
    import_members("glowmcu.ops")
    return dict(sorted(_OPERATIONS.items()))
