"""Operators that a user writes: a file with a definition (`index_notation/`), or one in C with one
function, and in it a comment that says what goes in and comes out.

    /* glowmcu
    function = "clipped"
    inputs = { x = "float32[n, c]" }
    outputs = { y = "float32[n, c]" }
    attributes = { limit = 1.0 }
    scratch_bytes = "4 * c"
    parameters = ["n * c", "limit"]
    */
    static void clipped(const float *x, float *y, void *scratch, int32_t count, float limit)

Sizes are numbers or symbols that the operands' shapes give their values; results, scratch and
parameters are expressions of these, of attributes and of `x.scale` and `x.zero_point`.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import operator
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Any

from glowmcu.errors import GlowmcuError, error
from glowmcu.index_notation import Definition, DefinitionError, read_definition
from glowmcu.index_notation.expressions import headers
from glowmcu.lazy_dataclass import dataclass
from glowmcu.libjit_headers import bring_header
from glowmcu.name_lists import pairs_text, read_pairs

#: The standard library has the TOML reader since Python 3.11; `tomli` is the same before that.
_TOML = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
_COMMENT = re.compile(r"/\*\s*glowmcu\s*\n(.*?)\*/", re.DOTALL)
_TENSOR = re.compile(r"(\w+)\s*\[(.*)\]")
_KEYS = {
    "function": str, "inputs": dict, "outputs": dict, "attributes": dict, "scratch_bytes": str,
    "parameters": list,
}  # fmt: skip
_DTYPES = ("float32", "int8", "uint8", "int16", "int32", "int64", "bool")
_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Div: operator.truediv,
}  # fmt: skip
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {"min": min, "max": max}
_WRAPPED = re.compile(r'#include "glowmcu_base.h"\n\n(.*)\n\n#endif /\*[^*]*\*/\s*$', re.DOTALL)
_WRAPPED_DEFINITION = re.compile(r"author's\.\n \*\n(.*)\n \*/\n#ifndef", re.DOTALL)
_MOST_CHARACTERS = 200
_MOST_BYTES = 2**20
#: Stands for a size where expressions are tried before there is a model.
_ANY_SIZE = 10_007

Number = int | float


@dataclass(frozen=True)
class TensorForm:
    """`dtype[size, size]`: sizes are numbers, symbols or expressions."""

    name: str
    dtype: str
    sizes: tuple[str, ...]


@dataclass(frozen=True)
class CustomSignature:
    """What the comment says; `attributes` are what the model may give, with their defaults."""

    function: str
    inputs: tuple[TensorForm, ...]
    outputs: tuple[TensorForm, ...]
    attributes: Mapping[str, Number] = field(default_factory=dict)
    scratch_bytes: str = ""
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True)
class CustomFile:
    """A file of the user's: its name and its text, C or a definition in Python."""

    name: str
    text: str

    @property
    def signature(self) -> CustomSignature:
        """What its comment says. Raises GM760."""
        return signature_of(self.text, self.name)

    @property
    def is_definition(self) -> bool:
        """Whether it is index notation (`index_notation/`), not C."""
        return self.name.endswith(".py")

    @property
    def attributes(self) -> Mapping[str, Number]:
        """What the model may give, with defaults. Raises GM760, GM766."""
        return self.definition.attributes if self.is_definition else self.signature.attributes

    @property
    def result_dtypes(self) -> tuple[str, ...]:
        """Element types of the results. Raises GM760, GM766."""
        forms = self.definition.outputs if self.is_definition else self.signature.outputs
        return tuple(form.dtype for form in forms)

    @property
    def definition(self) -> Definition:
        """What its function says. Raises GM766."""
        try:
            return read_definition(self.text)
        except DefinitionError as cause:
            raise wrong_definition(self, cause) from cause

    @property
    def shown(self) -> str:
        """The name where only plain characters may stand."""
        return plain(self.name)

    @property
    def header(self) -> str:
        """What the file is called in a bundle: its name, and a digest, since two may have one."""
        stem = re.sub(r"\W+", "_", Path(self.name).stem, flags=re.ASCII)[:24].lower()
        kind = "def_" if self.is_definition else ""
        return f"custom_{kind}{stem}_{hashlib.sha256(self.text.encode()).hexdigest()[:8]}.h"


def wrong_definition(file: CustomFile, cause: DefinitionError) -> GlowmcuError:
    """GM766, at its line."""
    place = f"{file.name}, line {cause.line}" if cause.line else file.name
    return error("GM766", f"the definition of an operator is wrong: {cause}", place,
                 "docs/plugins.md#operators-by-definition says what may stand in one")  # fmt: skip


def plain(text: str) -> str:
    """Of a name what may stand in a comment of C."""
    return re.sub(r"[^\w. -]", "_", text)[:80]


#: A file in C, or one that was read already.
CustomGiven = str | os.PathLike[str] | CustomFile


def read_custom(files: Mapping[str, CustomGiven] | None) -> dict[str, CustomFile]:
    """Files by the operator that they are. Raises GM760, GM761."""
    found = {}
    for kind, path in (files or {}).items():
        if isinstance(path, CustomFile):
            found[kind] = path
            continue
        try:
            text = _text_of(Path(path))
        except (OSError, ValueError) as cause:
            reason = cause.strerror if isinstance(cause, OSError) else cause
            if isinstance(cause, UnicodeError):
                reason = "it is no text in UTF-8"
            raise error(
                "GM761", f"cannot read the C of {kind!r}: {reason}", str(path),
                "--custom NAME=FILE.c names a file with one function in C99, NAME=FILE.py one with "
                "a definition",
            ) from cause  # fmt: skip
        found[kind] = CustomFile(Path(path).name, text)
        found[kind].attributes  # noqa: B018 - raises what is wrong with it
    return found


def _text_of(path: Path) -> str:
    """With line feeds between lines, and one at the end. Raises OSError, ValueError."""
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"it has more than {_MOST_BYTES} bytes")
    text = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    return text.rstrip() + "\n"


def custom_of_bundle(folder: Path, said: str) -> dict[str, CustomFile]:
    """The files that a bundle says, from its folder. Raises GM765 for one that is changed."""
    found = {}
    for kind, label in read_pairs(said).items():
        header = folder / f"custom_{label}.h"
        try:
            text = header.read_text(encoding="utf-8")
        except (OSError, ValueError):
            text = ""
        is_definition = label.startswith("def_")
        inner = (_WRAPPED_DEFINITION if is_definition else _WRAPPED).search(text)
        name = f"{label[4:-9]}.py" if is_definition else f"{label[:-9]}.c"
        file = CustomFile(name, f"{inner[1]}\n" if inner else "")
        if file.header != header.name:
            raise error(
                "GM765", f"the C of the operator {kind!r} is not as it was compiled", str(header),
                "compile the model again",
            )  # fmt: skip
        found[kind] = file
    return found


def bring(file: CustomFile) -> str:
    """The name of the header that the file is in a bundle; there is one from now on."""
    bring_header(file.header, _wrapped(file))
    return file.header


def custom_headers(said: str) -> tuple[str, ...]:
    """Names of the headers of all files that a bundle says (`custom_text`)."""
    return tuple(f"custom_{label}.h" for label in read_pairs(said).values())


def _wrapped(file: CustomFile) -> str:
    """The file as a header; of a definition a comment above the headers that its C needs."""
    guard = file.header.upper().replace(".", "_")
    if file.is_definition:
        included = "".join(f'#include "{name}"\n' for name in _included(file))
        return (
            f"/*\n * {file.header}: what an operator means, as it was given with --custom;\n"
            f" * its terms are its author's.\n *\n{file.text} */\n"
            f"#ifndef {guard}\n#define {guard}\n\n{included}\n#endif /* {guard} */\n"
        )
    return (
        f"/*\n * {file.header}: a file that was given with --custom; "
        "its terms are its author's.\n */\n"
        f"#ifndef {guard}\n#define {guard}\n\n"
        f'#include "glowmcu_base.h"\n\n{file.text}\n#endif /* {guard} */\n'
    )


def _included(file: CustomFile) -> tuple[str, ...]:
    return ("glowmcu_base.h", *headers(file.definition))


def custom_text(files: Mapping[str, CustomFile]) -> str:
    """For the options that a bundle names: operators with digests of their files."""
    return pairs_text({kind: files[kind].header[7:-2] for kind in sorted(files)})


@cache
def signature_of(text: str, file: str) -> CustomSignature:
    """The signature in a file's comment. Raises GM760 with what is wrong."""
    found = _COMMENT.search(text)
    if found is None:
        raise _wrong("it has no comment that begins with /* glowmcu", file)
    lines = [re.sub(r"^\s*\*\s?", "", line) for line in found[1].splitlines()]
    try:
        said = _TOML.loads("\n".join(lines))
    except ValueError as cause:
        raise _wrong(f"the comment is no TOML: {cause}", file) from cause
    for key, value in said.items():
        if key not in _KEYS or not isinstance(value, _KEYS[key]):
            raise _wrong(f"{key} = {value!r} is not known; keys are {', '.join(_KEYS)}", file)
    signature = _checked(said, file)
    name = signature.function
    if not re.search(rf"^\s*static\s[^;{{}}]*\b{re.escape(name)}\s*\(", text, re.MULTILINE):
        raise _wrong(f"it has no `static void {name}(…)`: two bundles could not be linked", file)
    return signature


def _checked(said: Mapping[str, Any], file: str) -> CustomSignature:
    """Every name is known where it is used."""
    attributes = {name: _number(name, value, file) for name, value in
                  said.get("attributes", {}).items()}  # fmt: skip
    forms = [[_form(name, text, file) for name, text in said.get(key, {}).items()]
             for key in ("inputs", "outputs")]  # fmt: skip
    if not forms[0] or not forms[1] or not said.get("function", "").isidentifier():
        raise _wrong("function, inputs and outputs have to be there", file)
    signature = CustomSignature(
        said["function"], tuple(forms[0]), tuple(forms[1]), attributes,
        said.get("scratch_bytes", ""), tuple(map(str, said.get("parameters", []))),
    )  # fmt: skip
    symbols = {size for form in signature.inputs for size in form.sizes if size.isidentifier()}
    if symbols & set(attributes):
        raise _wrong(f"{min(symbols & set(attributes))} is a size and an attribute", file)
    known: dict[str, Number] = dict.fromkeys(symbols, _ANY_SIZE) | attributes
    tensors = {form.name: (1.0, 0) for form in (*signature.inputs, *signature.outputs)}
    for form in signature.inputs:
        for size in form.sizes:
            if not size.isidentifier() and not size.isdecimal():
                raise _wrong(f"a size of {form.name} is {size!r}: a number or a symbol", file)
    sizes = [size for form in signature.outputs for size in form.sizes]
    for text in filter(None, (*sizes, signature.scratch_bytes, *signature.parameters)):
        try:
            value = evaluated(text, known, tensors)
        except (ValueError, ArithmeticError) as cause:
            raise _wrong(f"{text!r}: {cause}", file) from cause
        if text not in signature.parameters and not isinstance(value, int):
            raise _wrong(f"{text!r} is no whole number", file)
    return signature


def _number(name: str, value: object, file: str) -> Number:
    if isinstance(value, bool) or not isinstance(value, int | float) or not name.isidentifier():
        raise _wrong(f"the attribute {name} = {value!r} has no number as its default", file)
    return value


def _form(name: str, text: object, file: str) -> TensorForm:
    found = _TENSOR.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None or found[1] not in _DTYPES or not name.isidentifier():
        kinds = ", ".join(_DTYPES)
        raise _wrong(f'{name} = {text!r} is not like "float32[n, c]"; types are {kinds}', file)
    sizes = tuple(size.strip() for size in found[2].split(",")) if found[2].strip() else ()
    return TensorForm(name, found[1], sizes)


def _wrong(what: str, file: str) -> GlowmcuError:
    return error("GM760", f"the signature of an operator in C cannot be read: {what}", file,
                 "docs/plugins.md#operators-in-c has a complete one")  # fmt: skip


def evaluated(
    text: str, known: Mapping[str, Number], tensors: Mapping[str, tuple[float, int]]
) -> Number:
    """The value of an expression; `tensors` have a scale and a zero point. Raises ValueError."""
    if len(text) > _MOST_CHARACTERS:
        raise ValueError("too long")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as cause:
        raise ValueError("it is no expression") from cause
    return _value(tree, known, tensors)


def _value(
    node: ast.expr, known: Mapping[str, Number], tensors: Mapping[str, tuple[float, int]]
) -> Number:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value  # type: ignore[return-value]  # one of these
    if isinstance(node, ast.Name):
        if node.id not in known:
            raise ValueError(f"{node.id} is no size of an operand and no attribute")
        return known[node.id]
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        names = {"scale": 0, "zero_point": 1}
        if node.value.id in tensors and node.attr in names:
            return tensors[node.value.id][names[node.attr]]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, known, tensors)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = (_value(side, known, tensors) for side in (node.left, node.right))
        found: Number = _OPERATORS[type(node.op)](left, right)
        return found
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        arguments = [_value(item, known, tensors) for item in node.args]
        if node.func.id in _FUNCTIONS and len(arguments) > 1:
            chosen: Number = _FUNCTIONS[node.func.id](*arguments)
            return chosen
    raise ValueError(f"{ast.unparse(node)[:60]} is no sum, product, quotient, min or max")
