"""Functions that several layers of a bundle call, each with its C name, text and place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from glowmcu.emit_c.assembly_text import macro_definition, worthwhile_macros
from glowmcu.emit_c.c_text import wrap_words
from glowmcu.emit_c.code_places import CodeSwitch
from glowmcu.emit_c.rendering import render
from glowmcu.ir.assembly_macros import Assembly, AssemblyLine, Macro, MacroCall, calls
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
    code: KernelCode
    text: str
    region: str
    unless: str

    @property
    def assembly(self) -> Assembly:
        return tuple(self.code.view.get("assembly", ()))

    def with_macros(self, macros: set[Macro]) -> str:
        """The text, in which all calls but those of `macros` are what they stand for."""
        if all(call.macro in macros for call in calls(self.assembly)):
            return self.text
        written = tuple(part for line in self.assembly for part in _written(line, macros))
        return _text(self.code, self.name, assembly=written)


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
        text = _text(code, name)
        known = self._found.setdefault(code.function, _Shared(name, code, text, region, unless))
        assert known.text == text, f"{code.function} has two meanings"
        known.region = region if known.region == self._default else known.region
        known.unless = unless and known.unless

    def always_there(self) -> Iterator[str]:
        """Texts of those that no macro takes away."""
        return (item.text for item in self._found.values() if not item.unless)

    def views(self, switch: CodeSwitch) -> tuple[FunctionView, ...]:
        """All of them, each with the words that it is known by above it, behind the macros that it
        is the first to need.
        """
        macros = worthwhile_macros(item.assembly for item in self._found.values())
        assert len({macro.name for macro in macros}) == len(macros), "a macro has two meanings"
        defined: set[Macro] = set()
        views: list[FunctionView] = []
        for function, item in self._found.items():
            needed = dict.fromkeys(call.macro for call in calls(item.assembly))
            new = [macro for macro in needed if macro in macros - defined]
            defined.update(new)
            text = _defined(new) + _whole(function, item, item.with_macros(macros))
            views.append(FunctionView(switch.to(item.region), text, function, item.name))
        return tuple(views)


def _defined(macros: Iterable[Macro]) -> str:
    """Macros, each where its instructions are."""
    groups = groupby(macros, key=lambda macro: macro.feature)
    texts = ((feature, "\n\n".join(map(macro_definition, group))) for feature, group in groups)
    return "".join(f"#if {feature}\n{text}\n#endif\n\n" for feature, text in texts)


def _text(code: KernelCode, name: str, **other: object) -> str:
    return render(f"kernels/{code.template}", function=name, **{**code.view, **other}).rstrip()


def _written(line: AssemblyLine, macros: set[Macro]) -> Iterator[AssemblyLine]:
    if isinstance(line, MacroCall) and line.macro not in macros:
        yield from line.lines()
    else:
        yield line


def _whole(function: str, item: _Shared, text: str) -> str:
    about = ""
    if item.name != function:
        facts = f"{item.name} is made for: {known_facts(function) or 'any layer'}."
        about = "\n".join(["/*", *wrap_words(facts, " * "), " */\n"])
    text = f"{about}{text}"
    return f"#ifndef {item.unless}\n{text}\n#endif" if item.unless else text
