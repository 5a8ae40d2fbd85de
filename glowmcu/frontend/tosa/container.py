"""The text of a module with one function of the `tosa` dialect becomes records.

Both forms are read: MLIR's generic one, and the pretty ones of several releases, whose attributes
stand in a dictionary (`{axis = 3 : i32}`) or behind their names (`axis(3)`, `rounding_mode<…>`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from glowmcu.frontend.graph_builder import MAX_NODES
from glowmcu.frontend.tosa.attributes import AttributeReader, Parsed, TextScanner
from glowmcu.frontend.tosa.notes import graph_note, origin_of
from glowmcu.frontend.tosa.records import Attribute, Ref, TosaFunction, TosaOp
from glowmcu.frontend.tosa.text import GRAPH, NODE
from glowmcu.ir.types import ElementType, TensorType, element_type_of

_VALUE = re.compile(r"%[\w$.-]+")
_NAME = re.compile(r"[A-Za-z_][\w$.]*")
_SYMBOL = re.compile(r"@(?:[\w$.-]+|\"[^\"\n]*\")")
_LABEL = re.compile(r"\^[\w$.-]+")
_RANK = re.compile(r"!tosa\.shape<\s*(\d{1,3})\s*>")
#: Attributes of a release that say what is so anyway.
_DEFAULTS = {"nan_mode": "PROPAGATE"}
_RESOURCES = re.compile(r"\{-#(.*?)#-\}", re.DOTALL)
_BLOB = re.compile(r'([\w$.-]+|"[^"\n]*")\s*:\s*"0x((?:[0-9A-Fa-f]{2})*)"')
OTHER_DIALECT = "only the dialect `tosa` is read: lower the model to it"
_CONSTANTS = ("tosa.const", "tosa.const_shape", "arith.constant")


def read_container(text: str, name: str) -> TosaFunction:
    """Raises GlowmcuError: GM101 with the line for what is no such text, GM102 for regions and
    other dialects, GM104, GM105 and GM114 for tensors that cannot be.
    """
    resources = {
        found[1].strip('"'): bytes.fromhex(found[2])[4:]
        for block in _RESOURCES.finditer(text)
        for found in _BLOB.finditer(block[1])
    }
    # Blank out the blobs; lines stay where they are.
    text = _RESOURCES.sub(lambda block: "\n" * block[0].count("\n"), text)
    return _Reader(TextScanner(text, name), resources).function()


class _Reader:
    def __init__(self, scanner: TextScanner, resources: dict[str, bytes]) -> None:
        self._scanner = scanner
        self._attributes = AttributeReader(scanner, resources)
        self._values: dict[str, Ref] = {}
        self._operations: list[TosaOp] = []
        self._line, self._counted = 1, 0
        self._returned: tuple[Ref, ...] | None = None

    def function(self) -> TosaFunction:
        scanner = self._scanner
        self._skip_aliases()
        is_generic = scanner.accept('"builtin.module"')
        in_module = is_generic or scanner.accept("module")
        if in_module:
            self._open_module(is_generic)
        found = self._function()
        if in_module and (scanner.peek("func.func") or scanner.peek('"func.func"')):
            raise scanner.fail(
                "GM105", "the module has several functions", "one is read: leave the model's own"
            )
        if in_module:
            scanner.expect("}")
        if is_generic:
            scanner.expect(")")
            self._signature_of_none()
        self._location()
        self._skip_aliases()
        if scanner.position != len(scanner.text):
            raise scanner.unexpected("the end of the text: one function is read")
        return found

    def _open_module(self, is_generic: bool) -> None:
        scanner = self._scanner
        if not is_generic:
            scanner.try_match(_SYMBOL)
            if scanner.accept("attributes"):
                self._skip_balanced("{", "}")
            scanner.expect("{")
        else:
            scanner.expect("(", ")")
            if scanner.peek("<"):
                self._skip_balanced("<", ">")
            scanner.expect("(", "{")
            if scanner.try_match(_LABEL):
                scanner.expect(":")

    def _skip_aliases(self) -> None:
        """`#loc = loc(…)` and other definitions that nothing here depends on."""
        while self._scanner.peek("#"):
            end = self._scanner.text.find("\n", self._scanner.position)
            self._scanner.position = len(self._scanner.text) if end < 0 else end
            self._scanner.skip()

    def _function(self) -> TosaFunction:
        scanner = self._scanner
        if scanner.accept('"func.func"'):
            return self._generic_function()
        scanner.expect("func.func")
        for word in ("public", "private"):
            scanner.accept(word)
        name = scanner.match(_SYMBOL, "a function's name")[1:]
        arguments = scanner.sequence("(", self._argument, ")")
        if scanner.accept("->"):
            self._result_types()
        attributes = self._attributes.dictionary() if scanner.accept("attributes") else {}
        scanner.expect("{")
        self._body()
        scanner.expect("}")
        self._location()
        return self._built(name, arguments, attributes)

    def _generic_function(self) -> TosaFunction:
        scanner = self._scanner
        scanner.expect("(", ")")
        attributes: dict[str, Parsed] = {}
        name = "main"
        if scanner.accept("<"):
            name = self._function_properties(attributes)
            scanner.expect(">")
        scanner.expect("(", "{")
        arguments: list[Ref] = []
        if scanner.try_match(_LABEL):
            if scanner.peek("("):
                arguments = scanner.sequence("(", self._argument, ")")
            scanner.expect(":")
        self._body()
        scanner.expect("}", ")")
        if scanner.peek("{"):
            attributes |= self._attributes.dictionary()
        self._signature_of_none()
        return self._built(name, arguments, attributes)

    def _function_properties(self, attributes: dict[str, Parsed]) -> str:
        """`{function_type = (…) -> (…), sym_name = "main", …}`, whose name it is."""
        scanner = self._scanner

        def entry() -> None:
            key = scanner.match(_NAME, "a name")
            if key == "function_type" and scanner.accept("="):
                self._types()
            else:
                attributes[key] = self._attributes.value() if scanner.accept("=") else None

        scanner.sequence("{", entry, "}")
        return str(attributes.pop("sym_name", "main"))

    def _built(
        self, name: str, arguments: list[Ref], attributes: dict[str, Parsed]
    ) -> TosaFunction:
        assert self._returned is not None
        note = graph_note(attributes.get(GRAPH), self._scanner.name)
        return TosaFunction(name, tuple(arguments), tuple(self._operations), self._returned, note)

    def _argument(self) -> Ref:
        scanner, start = self._scanner, self._scanner.position
        name = scanner.match(_VALUE, "an argument such as %x")
        scanner.expect(":")
        ref = Ref(self._attributes.tensor_type(), name=name[1:])
        if scanner.peek("{"):
            self._attributes.dictionary()
        self._location()
        return self._define(name, ref, start)

    def _define(self, name: str, ref: Ref, at: int) -> Ref:
        if name in self._values:
            raise self._scanner.fail("GM101", f"{name[:80]} is defined twice", at=at)
        self._values[name] = ref
        return ref

    def _find(self) -> Ref:
        start = self._scanner.position
        name = self._scanner.match(_VALUE, "a value such as %x")
        if name not in self._values:
            message, hint = f"{name[:80]} is not defined", "a value is defined before its use"
            raise self._scanner.fail("GM101", message, hint, start)
        return self._values[name]

    def _body(self) -> None:
        scanner = self._scanner
        while self._returned is None:
            start, results = scanner.position, []
            while scanner.peek("%"):
                results.append(scanner.match(_VALUE, "a value"))
                if not scanner.accept(","):
                    scanner.expect("=")
                    break
            is_generic = scanner.peek('"')
            name = scanner.string() if is_generic else scanner.match(_NAME, "an operation")
            if name in ("return", "func.return"):
                self._return(is_generic)
            else:
                self._operation(name, results, start, is_generic)

    def _return(self, is_generic: bool) -> None:
        scanner = self._scanner
        operands = self._operands("(" if is_generic else "")
        if is_generic and scanner.peek("{"):
            self._attributes.dictionary()
        if scanner.accept(":"):
            if is_generic:
                self._types()
            elif operands:
                self._listed(self._type)
        self._location()
        self._returned = tuple(operands)

    def _operands(self, opening: str) -> list[Ref]:
        """In parentheses, or without any in front of something else."""
        scanner = self._scanner
        if opening:
            return scanner.sequence(opening, self._find, ")")
        operands: list[Ref] = []
        while scanner.peek("%"):
            operands.append(self._find())
            if not scanner.accept(","):
                break
        return operands

    def _operation(self, name: str, results: list[str], start: int, is_generic: bool) -> None:
        scanner = self._scanner
        if name == "arith.constant" and not is_generic:
            self._dictionaries()
            data = self._attributes.elements()
            self._location()
            self._add(name, [], [Ref(_type_of(data))], results, {"values": data}, start)
            return
        operands = self._operands("(" if is_generic else "")
        attributes = self._dictionaries() if is_generic else self._pretty_attributes()
        if scanner.peek("("):
            hint = "only straight code is read" if name.startswith("tosa.") else OTHER_DIALECT
            raise scanner.fail("GM102", f"{name} has regions", hint, start)
        scanner.expect(":")
        types, refs = self._types()
        self._location()
        if len(types) != len(operands):
            raise scanner.fail("GM101", f"{name}: values and types differ in number", at=start)
        self._expect_types(name, operands, types, start)
        if len(self._operations) >= MAX_NODES:
            raise scanner.fail("GM115", f"more than {MAX_NODES} operations")
        self._add(name, operands, refs, results, attributes, start)

    def _add(
        self,
        name: str,
        operands: list[Ref],
        refs: list[Ref],
        results: list[str],
        attributes: dict[str, Parsed],
        start: int,
    ) -> None:
        if len(refs) != len(results):
            raise self._scanner.fail(
                "GM101", f"{name}: values and types differ in number", at=start
            )
        refs = [replace(ref, name=each[1:]) for ref, each in zip(refs, results, strict=True)]
        if name in _CONSTANTS and len(refs) == 1:
            refs = [self._constant(name, refs[0], attributes, start)]
        else:
            kind = name.removeprefix("tosa.")
            origin = origin_of(attributes.pop(NODE, None))
            plain = {key: _attribute(value) for key, value in attributes.items()}
            self._operations.append(
                TosaOp(
                    kind if name.startswith("tosa.") else name, tuple(operands), tuple(refs),
                    {k: v for k, v in plain.items() if v is not None and _DEFAULTS.get(k) != v},
                    origin, self._line_of(start),
                )
            )  # fmt: skip
        for each, ref in zip(results, refs, strict=True):
            self._define(each, ref, start)

    def _constant(self, name: str, ref: Ref, attributes: dict[str, Parsed], start: int) -> Ref:
        data = attributes.get("values", attributes.get("value"))
        count = ref.type.element_count
        if not isinstance(data, np.ndarray) or data.size != count:
            raise self._scanner.fail("GM101", f"{name} has no elements of its type", at=start)
        if not ref.is_shape and _type_of(data) != ref.type:
            raise self._scanner.fail("GM101", f"{name} has elements of another type", at=start)
        return replace(ref, data=data.reshape(ref.type.shape))

    def _dictionaries(self) -> dict[str, Parsed]:
        """`<{properties}> {attributes}`, both as they may be missing."""
        scanner, found = self._scanner, {}
        if scanner.accept("<"):
            found = self._attributes.dictionary()
            scanner.expect(">")
        if scanner.peek("{"):
            found = found | self._attributes.dictionary()
        return found

    def _pretty_attributes(self) -> dict[str, Parsed]:
        scanner, found = self._scanner, self._dictionaries()
        while (word := scanner.try_match(_NAME)) is not None:
            if scanner.accept("("):
                found[word[0]] = self._attributes.value()
                scanner.expect(")")
            elif scanner.accept("<"):
                found[word[0]] = scanner.match(_NAME, "a word")
                scanner.expect(">")
            else:
                scanner.expect("=")
                found[word[0]] = self._attributes.value()
            scanner.accept(",")
        return found | (self._attributes.dictionary() if scanner.peek("{") else {})

    def _types(self) -> tuple[list[TensorType], list[Ref]]:
        """`(types) -> (types)`; a single result may stand without parentheses."""
        operands = [ref.type for ref in self._scanner.sequence("(", self._type, ")")]
        self._scanner.expect("->")
        return operands, self._result_types()

    def _result_types(self) -> list[Ref]:
        if self._scanner.peek("("):
            return self._scanner.sequence("(", self._result_type, ")")
        return [self._type()]

    def _result_type(self) -> Ref:
        """In a list results may have attributes."""
        found = self._type()
        if self._scanner.peek("{"):
            self._attributes.dictionary()
        return found

    def _type(self) -> Ref:
        rank = self._scanner.try_match(_RANK)
        if rank is not None:
            return Ref(TensorType((int(rank[1]),), ElementType.I64), is_shape=True)
        return Ref(self._attributes.tensor_type())

    def _listed(self, item: Callable[[], Ref]) -> None:
        item()
        while self._scanner.accept(","):
            item()

    def _expect_types(
        self, name: str, operands: list[Ref], types: list[TensorType], start: int
    ) -> None:
        for ref, type_ in zip(operands, types, strict=False):
            if ref.type != type_:
                message = f"{name}: an operand is {ref.type}, and is used as {type_}"
                raise self._scanner.fail("GM101", message, at=start)

    def _signature_of_none(self) -> None:
        self._scanner.expect(":", "(", ")", "->", "(", ")")
        self._location()

    def _location(self) -> None:
        if self._scanner.peek("loc("):
            self._scanner.accept("loc")
            self._skip_balanced("(", ")")

    def _skip_balanced(self, opening: str, closing: str) -> None:
        """Over brackets with whatever is inside; strings are not looked into."""
        scanner, depth = self._scanner, 0
        while True:
            if scanner.peek('"'):
                scanner.string()
                continue
            depth += scanner.peek(opening) - scanner.peek(closing)
            if scanner.position >= len(scanner.text):
                raise scanner.unexpected(repr(closing))
            scanner.position += 1
            scanner.skip()
            if depth == 0:
                return

    def _line_of(self, position: int) -> int:
        self._line += self._scanner.text.count("\n", self._counted, position)
        self._counted = position
        return self._line


def _type_of(data: Parsed) -> TensorType:
    return TensorType(tuple(data.shape), element_type_of(data.dtype))


def _attribute(value: Parsed) -> Attribute | None:
    """A value as records have it; None for what no TOSA operator has."""
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, list) and all(type(item) is int for item in value):
        return tuple(value)
    return None
