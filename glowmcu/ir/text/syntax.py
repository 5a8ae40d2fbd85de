"""The frame that both IRs share: module, function, operations with results and attributes.

%a, %b = "name"(%x) {attributes} : (types) -> (types)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from glowmcu.ir.text.attribute_text import AttributeParser, Raw, braced
from glowmcu.ir.text.scanner import Scanner, quoted
from glowmcu.lazy_dataclass import dataclass

_T = TypeVar("_T")
_VALUE_NAME = re.compile(r"%[A-Za-z_$.\d][\w$.-]*")


def print_operation(
    results: Iterable[str],
    name: str,
    operands: Iterable[str],
    attributes: Mapping[str, str],
    operand_types: Iterable[str],
    result_types: Iterable[str],
) -> str:
    """One line; `results` and `operands` are names without their `%`."""
    defined = ", ".join(f"%{result}" for result in results)
    dictionary = f" {braced(attributes)}" if attributes else ""
    used = ", ".join(f"%{operand}" for operand in operands)
    types = f"({', '.join(operand_types)}) -> ({', '.join(result_types)})"
    return f"{defined}{' = ' if defined else ''}{quoted(name)}({used}){dictionary} : {types}"


def print_function(
    name: str,
    arguments: Sequence[tuple[str, str]],
    result_types: Sequence[str],
    body: Iterable[str],
    attributes: Mapping[str, str],
) -> str:
    """A module with one function. `arguments` are names with their types."""
    types = ", ".join(type_ for _, type_ in arguments)
    properties = {
        "function_type": f"({types}) -> ({', '.join(result_types)})",
        "sym_name": quoted(name),
    }
    label = ", ".join(f"%{argument}: {type_}" for argument, type_ in arguments)
    lines = [
        '"builtin.module"() ({',
        f'  "func.func"() <{braced(properties)}> ({{',
        *([f"  ^bb0({label}):"] if arguments else []),
        *(f"    {line}" for line in body),
        f"  }}) {braced(attributes)} : () -> ()",
        "}) : () -> ()",
        "",
    ]
    return "\n".join(lines)


@dataclass(frozen=True)
class OperationText(Generic[_T]):
    """A parsed line: names without `%`, raw attributes, types; `at` is its position."""

    at: int
    results: tuple[str, ...]
    name: str
    operands: tuple[str, ...]
    attributes: dict[str, Raw]
    operand_types: tuple[_T, ...]
    result_types: tuple[_T, ...]


@dataclass(frozen=True)
class FunctionText(Generic[_T]):
    """A parsed function; its last operation is `func.return`."""

    name: str
    arguments: tuple[tuple[str, _T], ...]
    operations: tuple[OperationText[_T], ...]
    attributes: dict[str, Raw]


class FunctionParser(Generic[_T]):
    """Parses a module with one function whose values have types read by `parse_type`."""

    def __init__(
        self, scanner: Scanner, attributes: AttributeParser, parse_type: Callable[[], _T]
    ) -> None:
        self._scanner = scanner
        self._attributes = attributes
        self._parse_type = parse_type

    def function(self) -> FunctionText[_T]:
        """The whole module; GM210 for anything behind it."""
        scanner = self._scanner
        scanner.expect('"builtin.module"', "(", ")", "(", "{", '"func.func"', "(", ")", "<", "{")
        scanner.expect("function_type", "=")
        argument_types, result_types = self._types()
        scanner.expect(",", "sym_name", "=")
        name = scanner.string()
        scanner.expect("}", ">", "(", "{")
        arguments = self._label() if scanner.peek("^") else []
        self._expect_same([type_ for _, type_ in arguments], argument_types, "argument")
        operations = self._body(result_types)
        scanner.expect("}", ")")
        attributes = self._attributes.dictionary() if scanner.peek("{") else {}
        scanner.expect(":", "(", ")", "->", "(", ")", "}", ")", ":", "(", ")", "->", "(", ")")
        if scanner.position != len(scanner.text):
            raise scanner.unexpected("the end of the text")
        return FunctionText(name, tuple(arguments), tuple(operations), attributes)

    def _label(self) -> list[tuple[str, _T]]:
        self._scanner.expect("^bb0")
        arguments = self._scanner.sequence("(", self._argument, ")")
        self._scanner.expect(":")
        return arguments

    def _argument(self) -> tuple[str, _T]:
        name = self._value_name()
        self._scanner.expect(":")
        return name, self._parse_type()

    def _body(self, result_types: list[_T]) -> list[OperationText[_T]]:
        operations: list[OperationText[_T]] = []
        while not operations or operations[-1].name != "func.return":
            operations.append(self._operation())
        self._expect_same(list(operations[-1].operand_types), result_types, "result")
        return operations

    def _operation(self) -> OperationText[_T]:
        scanner, at = self._scanner, self._scanner.position
        results: list[str] = []
        while scanner.peek("%"):
            results.append(self._value_name())
            if not scanner.accept(","):
                scanner.expect("=")
                break
        name = scanner.string("an operation in quotes")
        operands = scanner.sequence("(", self._value_name, ")")
        attributes = self._attributes.dictionary() if scanner.peek("{") else {}
        scanner.expect(":")
        operand_types, result_types = self._types()
        for names, types in ((operands, operand_types), (results, result_types)):
            if len(names) != len(types):
                message = f"{name}: {len(names)} values have {len(types)} types"
                raise scanner.fail("GM216", message, at=at)
        return OperationText(
            at,
            tuple(results),
            name,
            tuple(operands),
            attributes,
            tuple(operand_types),
            tuple(result_types),
        )

    def _types(self) -> tuple[list[_T], list[_T]]:
        operands = self._scanner.sequence("(", self._parse_type, ")")
        self._scanner.expect("->")
        return operands, self._scanner.sequence("(", self._parse_type, ")")

    def _value_name(self) -> str:
        return self._scanner.match(_VALUE_NAME, "a value such as %x")[1:]

    def _expect_same(self, got: list[_T], declared: list[_T], what: str) -> None:
        if got != declared:
            raise self._scanner.fail("GM216", f"the function declares other {what} types")


class Definitions(Generic[_T]):
    """Definitions by SSA name. Raises GM216 for a name defined twice or not at all."""

    def __init__(self, scanner: Scanner) -> None:
        self._scanner = scanner
        self._values: dict[str, _T] = {}

    def define(self, name: str, value: _T, at: int) -> _T:
        if name in self._values:
            raise self._scanner.fail("GM216", f"%{name} is defined twice", at=at)
        self._values[name] = value
        return value

    def find(self, name: str, at: int) -> _T:
        if name not in self._values:
            hint = "a value must be defined before it is used"
            raise self._scanner.fail("GM216", f"%{name} is not defined", hint, at)
        return self._values[name]
