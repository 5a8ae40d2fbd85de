"""A class whose methods are written late is what the standard decorator makes of it at once."""

import copy
import dataclasses
import inspect
import pickle
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field, fields, replace
from pathlib import Path
from threading import Barrier

import pytest

import glowmcu
from glowmcu.discovery import import_members
from glowmcu.lazy_dataclass import dataclass


def test_nothing_is_written_before_the_first_object() -> None:
    @dataclass(frozen=True)
    class Late:
        """Of one field."""

        size: int

    assert "__eq__" not in vars(Late)
    assert Late(3) == Late(3) != Late(4)
    assert "__eq__" in vars(Late)


def test_an_object_is_what_the_standard_decorator_makes() -> None:
    def written(decorator: object) -> type:
        class Layer:
            """Of four fields."""

            name: str
            sizes: tuple[int, ...] = ()
            notes: list[str] = field(default_factory=list)
            cost: float = field(default=1.0, compare=False, repr=False)

        return decorator(frozen=True)(Layer)  # type: ignore[operator, no-any-return]

    late, now = written(dataclass), written(dataclasses.dataclass)
    assert repr(late("a", (1, 2))) == repr(now("a", (1, 2)))
    assert late("a", cost=2.0) == late("a", cost=3.0)
    assert inspect.signature(late) == inspect.signature(now)
    assert vars(late).keys() - {"__signature__"} == vars(now).keys()
    assert late.cost == now.cost == 1.0  # type: ignore[attr-defined]
    with pytest.raises(dataclasses.FrozenInstanceError):
        late("a").name = "b"
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        late()


def test_fields_are_known_before_the_first_object() -> None:
    @dataclass
    class Late:
        """Of two fields."""

        size: int
        name: str = "x"

    assert dataclasses.is_dataclass(Late)
    assert [each.name for each in fields(Late)] == ["size", "name"]
    assert replace(Late(1), size=2) == Late(2)


def test_the_signature_is_known_before_the_first_object() -> None:
    @dataclass
    class Late:
        """Of two fields."""

        size: int
        name: str = "x"

    assert str(inspect.signature(Late)) == "(size: int, name: str = 'x') -> None"
    assert str(inspect.signature(Late)) == str(Late.__signature__)  # type: ignore[attr-defined]

    class Other(Late):
        def __init__(self, half: int) -> None:
            super().__init__(2 * half)

    assert str(inspect.signature(Other)) == "(half: int) -> None"
    assert vars(Late)["__init__"].__module__ == __name__


@pytest.mark.parametrize("above", [dataclass, dataclasses.dataclass])
@pytest.mark.parametrize("below", [dataclass, dataclasses.dataclass])
def test_classes_inherit_from_each_other(above: object, below: object) -> None:
    class Base:
        """Of one field."""

        size: int

    base = above(frozen=True)(Base)  # type: ignore[operator]

    class Derived(base):  # type: ignore[misc, valid-type]
        """Of one more."""

        name: str = "x"

    derived = below(frozen=True)(Derived)  # type: ignore[operator]
    assert derived(1, "a") == derived(1, "a") != derived(1)
    assert [each.name for each in fields(derived)] == ["size", "name"]
    assert base(1) == base(1)


def test_a_subclass_without_the_decorator_has_its_own_start() -> None:
    @dataclass
    class Base:
        """Of one field."""

        size: int

    class Doubled(Base):
        def __init__(self, size: int) -> None:
            super().__init__(2 * size)

    assert Doubled(2) == Doubled(2)
    assert repr(Doubled(2)).endswith("Doubled(size=4)")


def test_an_unpickled_object_is_compared_by_its_fields() -> None:
    from glowmcu.errors import Problem

    one = Problem("GM101", "a message", "a place")
    assert copy.copy(one) == one
    text = (
        "import pickle, sys; one, other = pickle.loads(sys.stdin.buffer.read()); "
        "print(one == other, hash(one) == hash(other))"
    )
    both = pickle.dumps((one, pickle.loads(pickle.dumps(one))))
    done = subprocess.run([sys.executable, "-c", text], input=both, capture_output=True, check=True)
    assert done.stdout.split() == [b"True", b"True"]


def test_threads_make_a_class_once() -> None:
    for _ in range(50):

        @dataclass(frozen=True)
        class Late:
            """Of one field."""

            size: int

        together = Barrier(4)

        def make(size: int, late: type = Late, together: Barrier = together) -> object:
            together.wait()
            return late(size)

        with ThreadPoolExecutor(4) as pool:
            made = list(pool.map(make, range(4)))
        assert made == [Late(size) for size in range(4)]


def test_the_package_decorates_with_nothing_else() -> None:
    package = Path(glowmcu.__file__).parent
    standard = re.compile(r"^from dataclasses import .*\bdataclass\b", re.MULTILINE)
    found = [path for path in package.rglob("*.py") if standard.search(path.read_text("utf-8"))]
    assert not found


def test_every_class_of_the_package_can_be_made() -> None:
    """What the standard decorator refuses is refused late: here, not by the first user."""
    for package in ("glowmcu.ops", "glowmcu.kernels", "glowmcu.frontend.onnx", "glowmcu.emit_c"):
        import_members(package)
    modules = [module for name, module in sys.modules.items() if name.startswith("glowmcu.")]
    classes = {
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type) and each.__module__.startswith("glowmcu.")
    }
    assert sum(dataclasses.is_dataclass(each) and bool(fields(each)) for each in classes) > 400
