"""TOSA as MLIR's text, in the generic form: pretty forms differ between releases of MLIR.

Constants come first. What an export of ours knows beyond TOSA (scales, names, operators) stands in
attributes `glowmcu.*`, which other tools carry along or drop.
"""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.frontend.tosa.records import Attribute, GraphNote, Origin, Ref, TosaFunction, TosaOp
from glowmcu.frontend.tosa.rescaling import DOUBLE
from glowmcu.ir.text.attribute_text import AttributePrinter, braced
from glowmcu.ir.text.scanner import quoted
from glowmcu.ir.text.syntax import print_function, print_operation
from glowmcu.ir.text.type_text import print_type
from glowmcu.ir.types import TensorType

#: Attributes of ours: on an operation, and on the function.
NODE, GRAPH = "glowmcu.node", "glowmcu.graph"
_HEADER = "// TOSA 1.0, profile PRO-INT{}; written by GlowMCU.\n"
_ENUMS = ("rounding_mode", "nan_mode")
_INT32_ARRAYS = ("perms",)


def print_tosa(function: TosaFunction) -> str:
    """A module with one function; its first line says what of TOSA it is of."""
    rounds_twice = any(op.attributes.get("rounding_mode") == DOUBLE for op in function.operations)
    extension = ", extension DOUBLEROUND" if rounds_twice else ""
    return _HEADER.format(extension) + _Printer(function).text()


class _Printer:
    def __init__(self, function: TosaFunction) -> None:
        self._function = function
        self._names: dict[Ref, str] = {}
        for number, ref in enumerate(function.arguments):
            self._names[ref] = f"arg{number}"
        self._constants: list[Ref] = []
        for ref in [*(r for op in function.operations for r in op.operands), *function.results]:
            if ref.data is not None and ref not in self._names:
                self._names[ref] = f"c{len(self._constants)}"
                self._constants.append(ref)
        results = (ref for op in function.operations for ref in op.results)
        self._names.update((ref, str(number)) for number, ref in enumerate(results))

    def text(self) -> str:
        function = self._function
        body = [self._constant(ref) for ref in self._constants]
        body += [self._operation(op) for op in function.operations]
        types = [_type(ref) for ref in function.results]
        returned = [self._names[ref] for ref in function.results]
        body.append(print_operation([], "func.return", returned, {}, types, []))
        arguments = [(self._names[ref], _type(ref)) for ref in function.arguments]
        attributes = {} if function.note is None else {GRAPH: _note(function.note)}
        return print_function(function.name, arguments, types, body, attributes)

    def _constant(self, ref: Ref) -> str:
        assert ref.data is not None
        name = "tosa.const_shape" if ref.is_shape else "tosa.const"
        values = AttributePrinter(None).array(ref.data, "")
        if ref.is_shape:
            numbers = ", ".join(map(str, ref.data.tolist()))
            values = f"dense<[{numbers}]> : tensor<{ref.data.size}xindex>"
        return print_operation([self._names[ref]], name, [], {"values": values}, [], [_type(ref)])

    def _operation(self, op: TosaOp) -> str:
        attributes = {
            key: _attribute(key, value, op) for key, value in sorted(op.attributes.items())
        }
        if op.origin is not None:
            attributes[NODE] = _origin(op.origin)
        return print_operation(
            [self._names[ref] for ref in op.results],
            f"tosa.{op.name}",
            [self._names[ref] for ref in op.operands],
            attributes,
            [_type(ref) for ref in op.operands],
            [_type(ref) for ref in op.results],
        )


def _type(ref: Ref) -> str:
    return f"!tosa.shape<{ref.type.shape[0]}>" if ref.is_shape else print_type(ref.type)


def _origin(origin: Origin) -> str:
    node, printer = origin.node, AttributePrinter(None)
    found = {
        "op": printer.value(node.op, ""),
        "inputs": _type_texts([value.type for value in node.inputs]),
        "outputs": _type_texts([value.type for value in node.outputs]),
        "names": printer.value([node.name, *(v.name for v in (*node.outputs, *node.inputs))], ""),
        "source": quoted(node.source),
        "length": printer.value(origin.length, ""),
        "operands": printer.value(origin.operands, ""),
        "results": printer.value(origin.results, ""),
    }
    return braced(found)


def _note(note: GraphNote) -> str:
    printer = AttributePrinter(None)
    found = {
        "name": quoted(note.name),
        "rounding": quoted(note.rounding.value),
        "inputs": printer.value(note.inputs, ""),
        "types": _type_texts(note.types),
        "states": printer.value(note.states, ""),
        "metadata": printer.value(dict(note.metadata), ""),
    }
    return braced(found)


def _type_texts(types: Sequence[TensorType]) -> str:
    """As strings: not everybody's MLIR has the dialect `quant`."""
    return f"[{', '.join(quoted(print_type(type_)) for type_ in types)}]"


def _attribute(key: str, value: Attribute, op: TosaOp) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        kind = "i32" if key in _INT32_ARRAYS else "i64"
        numbers = ", ".join(map(str, value))
        return f"array<{kind}: {numbers}>" if value else f"array<{kind}>"
    if isinstance(value, str):
        return f"#tosa.{key}<{value}>" if key in _ENUMS else value
    kind = op.results[0].type.element.value if key in ("min_val", "max_val") else "i32"
    return f"{value} : {kind}"
