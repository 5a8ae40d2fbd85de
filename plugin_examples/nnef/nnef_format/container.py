"""What is in an NNEF file: a tar of `graph.nnef`, in the flat syntax, and a `.dat` a variable.

Source: The Khronos NNEF specification 1.0.5: syntax, storage of tensors, container.
"""

from __future__ import annotations

import ast
import io
import math
import re
import struct
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, Union

import numpy as np
import numpy.typing as npt

from glowmcu.errors import GlowmcuError, error

Array: TypeAlias = npt.NDArray[np.float32]
#: `Name`s, numbers, texts, lists and tuples of them.
Argument: TypeAlias = Union["Name", int, float, bool, str, list["Argument"], tuple["Argument", ...]]

_MOST_BYTES, _MOST_OPERATIONS = 2**28, 20_000
_GRAPH = re.compile(r"\bgraph\s+\w+\s*\(([\w\s,]*)\)\s*->\s*\(([\w\s,]*)\)\s*\{(.*)\}", re.DOTALL)
_HEADER = struct.Struct("<2sBBII8III76x")


@dataclass(frozen=True)
class Name:
    """A tensor, by its identifier."""

    name: str


@dataclass(frozen=True)
class Invocation:
    """`results = operation(arguments)`; arguments without a name go by position."""

    index: int
    operation: str
    results: tuple[str, ...]
    positional: tuple[Argument, ...]
    named: Mapping[str, Argument]


@dataclass(frozen=True)
class Model:
    """A graph; `variables` by their label."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    invocations: tuple[Invocation, ...]
    variables: Mapping[str, Array]


def members(data: bytes, file_name: str) -> dict[str, bytes]:
    """The files of the archive. Raises GM101."""
    files: dict[str, bytes] = {}
    left = _MOST_BYTES
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:*") as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isfile() else None
                if content is not None:
                    left -= member.size
                    if left < 0:
                        raise _damaged("its files are larger than any model's", file_name)
                    files[member.name.removeprefix("./")] = content.read()
    except (tarfile.TarError, OSError, EOFError, ValueError) as cause:
        raise _damaged(str(cause), file_name) from cause
    return files


def read_container(data: bytes, file_name: str) -> Model:
    """Raises GM101 for what is no NNEF."""
    files = members(data, file_name)
    if "graph.nnef" not in files:
        raise _damaged("there is no graph.nnef in it", file_name)
    try:
        text = re.sub(r"#.*", "", files["graph.nnef"].decode("utf-8"))
        found = _GRAPH.search(text)
        if found is None:
            raise ValueError("there is no graph in graph.nnef")
        invocations = tuple(_invocations(found[3]))
        variables = {
            name.removesuffix(".dat"): _tensor(content, name)
            for name, content in files.items() if name.endswith(".dat")
        }  # fmt: skip
    except (ValueError, SyntaxError, RecursionError, MemoryError) as cause:
        raise _damaged(str(cause)[:200], file_name) from cause
    return Model(_names(found[1]), _names(found[2]), invocations, variables)


def _damaged(why: str, file_name: str) -> GlowmcuError:
    return error("GM101", f"not an NNEF model: {why}", file_name, "export the model again")


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip() for name in text.split(","))))


def _invocations(body: str) -> Iterator[Invocation]:
    """A statement is Python's syntax for a call, but for `true`, `false` and `<scalar>`."""
    statements = [text.strip() for text in body.split(";") if text.strip()]
    if len(statements) > _MOST_OPERATIONS:
        raise ValueError(f"{len(statements)} operations are more than any model has")
    for index, text in enumerate(statements):
        left, _, right = text.partition("=")
        call = ast.parse(re.sub(r"^\s*(\w+)\s*<\w+>", r"\1", right.strip()), mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError(f"not an operation of the flat syntax: {text[:80]}")
        positional = tuple(map(_argument, call.args))
        named = {word.arg or "": _argument(word.value) for word in call.keywords}
        results = _names(left.strip().strip("[]()"))
        yield Invocation(index, call.func.id, results, positional, named)


def _argument(node: ast.expr) -> Argument:
    if isinstance(node, ast.Name):
        words: dict[str, Argument] = {"true": True, "false": False}
        return words.get(node.id, Name(node.id))
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _argument(node.operand)
        if isinstance(value, int | float):
            return -value
    if isinstance(node, ast.List):
        return [_argument(item) for item in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_argument(item) for item in node.elts)
    raise ValueError(f"{ast.unparse(node)[:80]} is no argument of the flat syntax")


def _tensor(content: bytes, name: str) -> Array:
    """A tensor file: a header of 128 bytes, then float32."""
    if len(content) < _HEADER.size:
        raise ValueError(f"{name} is shorter than its header")
    magic, major, _, length, rank, *rest = _HEADER.unpack_from(content)
    extents, bits, kind = rest[:8], rest[8], rest[9]
    if magic != b"N\xef" or major != 1 or rank > 8:
        raise ValueError(f"{name} is no tensor file of NNEF 1.0")
    if (bits, kind) != (32, 0):
        raise ValueError(f"{name} has {bits} bits of kind {kind:#x}; expected float32")
    shape = tuple(extents[:rank])
    if length != 4 * math.prod(shape) or len(content) - _HEADER.size < length:
        raise ValueError(f"{name} has {len(content)} B; {shape} was expected")
    return np.frombuffer(content, "<f4", math.prod(shape), _HEADER.size).reshape(shape)
