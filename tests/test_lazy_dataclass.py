"""Classes whose methods wait are those of Python's decorator for whoever looks."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from glowmcu import lazy_dataclass

#: What dataclasses may differ in; bodies are written once, for both decorators.
OPTIONS: dict[str, dict[str, bool]] = {
    "plain": {},
    "frozen": {"frozen": True},
    "by identity": {"frozen": True, "eq": False},
    "plain, by identity": {"eq": False},
}


def classes(decorator: Callable[..., Any], **options: bool) -> tuple[type, type, type]:
    """A class, one that adds to it, and one with methods of its own."""

    @decorator(**options)
    class Base:
        """A text."""

        size: int
        name: str = "none"
        kind: ClassVar[str] = "base"

        def doubled(self) -> int:
            return 2 * self.size

    @decorator(**options)
    class Derived(Base):
        items: tuple[int, ...] = ()
        extra: list[int] = dataclasses.field(default_factory=list, compare=False, repr=False)

        def doubled(self) -> int:
            return super().doubled() + 1

    @decorator(**options)
    class Own:
        size: int = 1

        def __post_init__(self) -> None:
            object.__setattr__(self, "half", self.size / 2)

        def __repr__(self) -> str:
            return f"<{self.size}>"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self)) and other.size % 10 == self.size % 10

        def __hash__(self) -> int:
            return self.size % 10

    return Base, Derived, Own


Made = tuple[type, type, type]
#: What a class or an instance shows. The first question completes a class that waits.
QUESTIONS: dict[str, Callable[[Made], object]] = {
    "printed": lambda made: repr(made[0](1, "a")).rpartition(".")[2],
    "printed, derived": lambda made: repr(made[1](1, "a", (2,))).rpartition(".")[2],
    "printed by itself": lambda made: repr(made[2](3)),
    "equal": lambda made: (made[0](1) == made[0](1), made[0](1) == made[0](2)),
    "equal to derived": lambda made: made[0](1) == made[1](1),
    "equal by itself": lambda made: made[2](1) == made[2](11),
    "without what is not compared": lambda made: made[1](1, extra=[1]) == made[1](1, extra=[2]),
    "fields": lambda made: [[field.name for field in dataclasses.fields(one)] for one in made],
    "is one": lambda made: [dataclasses.is_dataclass(one) for one in made],
    "matched": lambda made: [one.__match_args__ for one in made],  # type: ignore[attr-defined]
    "replaced": lambda made: dataclasses.replace(made[1](1), size=5).size,
    "as a dict": lambda made: dataclasses.asdict(made[1](1)),
    "a default of the class": lambda made: made[0].name,  # type: ignore[attr-defined]
    "an overridden method": lambda made: made[1](4).doubled(),
    "after making": lambda made: made[2](4).half,
    "a text": lambda made: made[0].__doc__,
    "copied": lambda made: copy.copy(made[1](1, "b")).name,
    "hashes of equals": lambda made: hash(made[2](1)) == hash(made[2](11)),
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_whatever_is_asked_first_the_answer_is_that_of_pythons_decorator(
    question: str, options: str
) -> None:
    ask, given = QUESTIONS[question], OPTIONS[options]
    expected = ask(classes(dataclasses.dataclass, **given))
    made = classes(lazy_dataclass.dataclass, **given)
    assert ask(made) == expected
    assert ask(made) == expected


@pytest.mark.parametrize("options", OPTIONS)
def test_hashes_are_refused_where_python_refuses_them(options: str) -> None:
    def hashes(decorator: Callable[..., Any]) -> list[int]:
        found = []
        for one in classes(decorator, **OPTIONS[options]):
            try:
                found.append(len({one(1), one(1)}))
            except TypeError:
                found.append(0)
        return found

    assert hashes(lazy_dataclass.dataclass) == hashes(dataclasses.dataclass)


@pytest.mark.parametrize("name", ["size", "unknown"])
def test_frozen_instances_stay_as_they_are(name: str) -> None:
    for one in classes(lazy_dataclass.dataclass, frozen=True):
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"assign to field '{name}'"):
            setattr(one(1), name, 2)
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"delete field '{name}'"):
            delattr(one(1), name)


def test_a_class_inherits_from_one_that_waits_by_pythons_decorator_too() -> None:
    base, *_ = classes(lazy_dataclass.dataclass, frozen=True)

    @dataclasses.dataclass(frozen=True)
    class Plugin(base):  # type: ignore[misc, valid-type]
        more: int = 3

    assert [field.name for field in dataclasses.fields(Plugin)] == ["size", "name", "more"]
    with pytest.raises(TypeError, match="cannot inherit non-frozen"):
        dataclasses.dataclass(type("Loose", (base,), {"__annotations__": {}}))


def test_methods_are_made_when_the_first_instance_is(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def counted(**options: bool) -> Callable[[type], type]:
        def decorated(cls: type) -> type:
            made.append(cls.__name__)
            return original(**options)(cls)

        return decorated

    original = dataclasses.dataclass
    monkeypatch.setattr(dataclasses, "dataclass", counted)
    base, derived, _ = classes(lazy_dataclass.dataclass, frozen=True)
    assert made == []
    for _ in range(2):
        base(1)
        assert made == ["Base"]
    assert derived(1) == derived(1)
    assert made == ["Base", "Derived"]


def test_what_was_set_on_a_class_that_waits_stays() -> None:
    base, *_ = classes(lazy_dataclass.dataclass, frozen=True)
    setattr(base, "__repr__", lambda _: "ours")  # noqa: B010 - mypy knows methods do not change
    base.kind = "registered"  # type: ignore[attr-defined]
    assert repr(base(1)) == "ours"
    assert base(1).kind == "registered"


@lazy_dataclass.dataclass(frozen=True)
class Sent:
    """What goes to another process."""

    size: int


def test_an_instance_goes_through_a_pickle() -> None:
    again = pickle.loads(pickle.dumps(Sent(3)))
    assert again == Sent(3)


def test_several_threads_that_come_first_all_find_a_complete_class() -> None:
    for _ in range(50):
        base, derived, _ = classes(lazy_dataclass.dataclass, frozen=True)
        begin, found = threading.Barrier(4), list[str]()

        def use(
            one: type = derived,
            begin: threading.Barrier = begin,
            found: list[str] = found,
        ) -> None:
            begin.wait()
            found.append(f"{one(1) == one(1)} {len({one(1), one(1)})} {repr(one(1))[-8:]}")

        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 4
        assert len(set(found)) == 1
        assert base(1).doubled() == 2
