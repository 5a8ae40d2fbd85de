"""`dataclasses.dataclass`, whose methods are written when the first object of a class is made.

The standard decorator compiles up to six methods of each class while its module is imported: half a
millisecond a class, a quarter of a short compilation, and three classes in five are of operators,
kernels and passes that the model at hand does not have. What a class is does not change: `fields`,
`replace`, `is_dataclass`, pickles and inheritance, by dataclasses of plug-ins too, find what the
standard decorator would have left.
"""

from __future__ import annotations

import dataclasses
import inspect
from copy import copy
from dataclasses import fields
from reprlib import recursive_repr
from threading import RLock
from typing import TYPE_CHECKING

__all__ = ["dataclass"]

if TYPE_CHECKING:
    # To type checkers it is the standard one.
    from dataclasses import dataclass

    from _typeshed import DataclassInstance
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> object:
        """The decorator, with the options of the standard one but `slots`: that makes a class."""
        if cls is None:
            return lambda decorated: _defer(decorated, options)
        return _defer(cls, options)


_FIELDS = "__dataclass_fields__"
#: Making one class makes its bases.
_making = RLock()


class _Unmade:
    """In place of a class's fields: asking for them makes the class, as its first object does."""

    def __init__(self, owner: type, options: dict[str, bool]) -> None:
        self.owner = owner
        self.options = options
        self.made = False

    def __get__(self, _: object, asked: type) -> object:
        self.make()
        return getattr(asked, _FIELDS)

    def make(self) -> None:
        """Let the standard decorator do its work, once.

        `__init__` is written on a class beside it and then replaced, so that there is one at each
        moment: other threads make objects too.
        """
        owner = self.owner
        with _making:
            if self.made:
                return
            # Without a text the standard decorator writes one, which takes as long as the rest.
            owner.__doc__ = owner.__doc__ or owner.__name__
            if "__repr__" not in owner.__dict__:
                owner.__repr__ = _shown  # type: ignore[assignment]
            dataclasses.dataclass(init=False, repr=False, **self.options)(owner)
            written = vars(_beside(owner, frozen=self.options.get("frozen", False)))["__init__"]
            written.__qualname__ = f"{owner.__qualname__}.__init__"
            owner.__init__ = written  # type: ignore[misc]
            delattr(owner, "__setstate__")
            self.made = True


class _Signature:
    """A class's signature, which `inspect` and help pages ask for: that of its `__init__`."""

    def __init__(self, unmade: _Unmade) -> None:
        self.unmade = unmade

    def __get__(self, _: object, asked: type) -> inspect.Signature:
        self.unmade.make()
        made = inspect.signature(asked.__init__)  # type: ignore[misc]
        _, *given = made.parameters.values()
        return made.replace(parameters=given)


def _beside(owner: type, *, frozen: bool) -> type:
    """A class of the same fields, made for its `__init__`."""
    named = {each.name: copy(each) for each in fields(owner)}
    body = {
        "__module__": owner.__module__,
        "__doc__": owner.__doc__,
        "__annotations__": {name: each.type for name, each in named.items()},
        **named,
    }
    if hasattr(owner, "__post_init__"):
        body["__post_init__"] = None
    decorate = dataclasses.dataclass(eq=False, repr=False, frozen=frozen)
    return decorate(type(owner.__name__, (), body))


@recursive_repr()
def _shown(one: DataclassInstance) -> str:
    """As the standard decorator's methods show an object, by one function for all classes."""
    shown = (f"{each.name}={getattr(one, each.name)!r}" for each in fields(one) if each.repr)
    return f"{type(one).__qualname__}({', '.join(shown)})"


def _defer(cls: type, options: dict[str, bool]) -> type:
    if not {"__init__", "__setstate__"}.isdisjoint(cls.__dict__):
        return dataclasses.dataclass(**options)(cls)
    unmade = _Unmade(cls, options)

    def first(self: object, *values: object, **named: object) -> None:
        unmade.make()
        cls.__init__(self, *values, **named)  # type: ignore[misc]

    def unpickled(self: object, state: dict[str, object]) -> None:
        unmade.make()
        vars(self).update(state)

    cls.__init__ = first  # type: ignore[misc]
    cls.__setstate__ = unpickled  # type: ignore[attr-defined]
    cls.__signature__ = _Signature(unmade)  # type: ignore[attr-defined]
    setattr(cls, _FIELDS, unmade)
    return cls
