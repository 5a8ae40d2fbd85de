"""Functions that several layers of a bundle call, each with its C name, text and place."""

from __future__ import annotations

from collections.abc import Iterator

from glowmcu.emit_c.c_text import wrap_words
from glowmcu.emit_c.code_places import CodeSwitch
from glowmcu.emit_c.rendering import render
from glowmcu.ir.function_names import c_name, known_facts
from glowmcu.ir.kernel_code import KernelCode
from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True)
class FunctionView:
    """A kernel's function that several layers call, known as `function`, in C as `name`."""

    code_switch: str
    text: str
    function: str
    name: str


@dataclass
class _Shared:
    name: str
    text: str
    region: str
    unless: str


class SharedFunctions:
    """Those of a bundle in the order in which layers ask for them; `default` is the region of those
    that layers of several regions call.
    """

    def __init__(self, default: str = "") -> None:
        self._default = default
        self._names: dict[str, str] = {}
        self._found: dict[str, _Shared] = {}

    def name(self, function: str) -> str:
        """The C name of a function, the same whoever asks, and no other function's."""
        if function not in self._names:
            taken, others = set(self._names.values()), 0
            while (name := c_name(function, others)) in taken:
                others += 1
            self._names[function] = name
        return self._names[function]

    def add(self, code: KernelCode, region: str, unless: str = "") -> None:
        """What a layer in `region` calls, which is not there where `unless` is defined, if nobody
        else calls it.
        """
        name = self.name(code.function)
        text = render(f"kernels/{code.template}", function=name, **code.view).rstrip()
        known = self._found.setdefault(code.function, _Shared(name, text, region, unless))
        assert known.text == text, f"{code.function} has two meanings"
        known.region = region if known.region == self._default else known.region
        known.unless = unless and known.unless

    def always_there(self) -> Iterator[str]:
        """Texts of those that no macro takes away."""
        return (item.text for item in self._found.values() if not item.unless)

    def views(self, switch: CodeSwitch) -> tuple[FunctionView, ...]:
        """All of them, each with the words that it is known by above it."""
        return tuple(
            FunctionView(switch.to(item.region), _whole(function, item), function, item.name)
            for function, item in self._found.items()
        )


def _whole(function: str, item: _Shared) -> str:
    about = ""
    if item.name != function:
        facts = f"{item.name} is made for: {known_facts(function) or 'any layer'}."
        about = "\n".join(["/*", *wrap_words(facts, " * "), " */\n"])
    text = f"{about}{item.text}"
    return f"#ifndef {item.unless}\n{text}\n#endif" if item.unless else text
