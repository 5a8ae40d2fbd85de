"""`dataclass`, whose methods are made when one of them is first wanted.

Python's own compiles the text of up to six methods a class when a module is imported, which was a
quarter of the time of compiling a small model; most operators and kernels are not in it. Here the
class waits as it was written; the first to make, print, compare or list the fields of one completes
it, and from then on it is what Python's decorator makes of it. Other threads wait for that.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - for whoever imports it here
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:  # noqa: ANN401
        """As `dataclasses.dataclass`; classes that it completes at once are listed in `_waits`."""

        def decorated(made: type) -> type:
            if not _waits(made, options):
                return dataclasses.dataclass(**options)(made)
            _Waiting(made, options)
            return made

        return decorated if cls is None else decorated(cls)


#: What may differ from Python's defaults.
_KNOWN = {"frozen", "eq"}
_RECORDS = ("__dataclass_fields__", "__dataclass_params__", "__match_args__")
#: What a class has of its own that no other class gets.
_OWN = ("__dict__", "__weakref__")
_LOCK = threading.RLock()


def _waits(cls: type, options: Mapping[str, bool]) -> bool:
    """Not what has slots or another metaclass, nor what is told of its subclasses: those notice
    that there is a second class for a moment.
    """
    told = any("__init_subclass__" in vars(base) for base in cls.__mro__[:-1])
    return type(cls) is type and "__slots__" not in vars(cls) and not told and {*options} <= _KNOWN


class _Waiting:
    """A class with its body as written, until somebody asks for what a dataclass has."""

    def __init__(self, cls: type, options: Mapping[str, bool]) -> None:
        self.cls, self._options, self._body = cls, options, dict(vars(cls))
        frozen, compared = options.get("frozen", False), options.get("eq", True)
        own_hash = self._body.get("__hash__", dataclasses.MISSING)
        if own_hash is None and "__eq__" in self._body:
            own_hash = dataclasses.MISSING  # Python's, for want of one
        wanted = [*_RECORDS, "__init__", "__repr__"]
        wanted += ["__eq__"] if compared else []
        names = [name for name in wanted if name not in self._body]
        if compared and own_hash is dataclasses.MISSING:
            names += ["__hash__"]
        for name in names:
            setattr(cls, name, _Later(self, name))
        if frozen:
            for function in _guards(cls):
                assert function.__name__ not in self._body, f"{cls} has its own"
                setattr(cls, function.__name__, function)

    def complete(self) -> None:
        """Give the class what Python's decorator makes; each name changes at once."""
        with _LOCK:
            if not self._body:
                return
            twin = self._twin()
            for name, value in vars(twin).items():
                if value is not self._body.get(name) and name not in _OWN:
                    self._replace(name, value)
            for name in self._body.keys() - vars(twin).keys():  # fields without a default
                if name not in _OWN:
                    delattr(self.cls, name)
            self._body = {}

    def _twin(self) -> type:
        body = {name: value for name, value in self._body.items() if name not in _OWN}
        body["__qualname__"] = self.cls.__qualname__
        twin = type(self.cls.__name__, self.cls.__bases__, body)
        return dataclasses.dataclass(**self._options)(twin)

    def _replace(self, name: str, value: object) -> None:
        """What was set since the class was written stays."""
        now = vars(self.cls).get(name, self._body.get(name))
        if isinstance(now, _Later) or now is self._body.get(name):
            setattr(self.cls, name, value)


class _Later:
    """An attribute of a class that is not complete."""

    def __init__(self, waiting: _Waiting, name: str) -> None:
        self._waiting, self._name = waiting, name

    def __get__(self, instance: object, owner: type | None = None) -> object:
        self._waiting.complete()
        value = vars(self._waiting.cls)[self._name]
        bind = getattr(type(value), "__get__", None)
        return value if bind is None else bind(value, instance, owner)


def _guards(cls: type) -> tuple[Callable[..., None], Callable[..., None]]:
    """What makes instances immutable: as Python's, which name the class that they are made for."""
    owner: Any = cls

    def is_fixed(instance: object, name: str) -> bool:
        return type(instance) is cls or name in {each.name for each in dataclasses.fields(cls)}

    def __setattr__(self: object, name: str, value: object) -> None:
        if is_fixed(self, name):
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(owner, self).__setattr__(name, value)

    def __delattr__(self: object, name: str) -> None:
        if is_fixed(self, name):
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(owner, self).__delattr__(name)

    return __setattr__, __delattr__
