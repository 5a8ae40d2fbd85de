"""What an importer makes of damaged records, as text to be read and compared.

A table has one line a verdict, and behind it all damages that come to it: the refusal, or nodes. In
it the type of the tensor that is damaged is `{}`, as most refusals say what they got.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum

import numpy as np

from glowmcu.frontend.graph_builder import GraphBuilder
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.operation import Array, Operation
from glowmcu.ir.types import TensorType

_SHOWN_ELEMENTS = 8
#: Of a verdict; of what is behind it there is a checksum.
_LONGEST = 100


def refusal(cause: Unsupported) -> str:
    """In one line, with its code."""
    problem = cause.problem("")
    return f"{problem.code} {problem.message}".replace("\n", " ")


def emitted(
    builder: GraphBuilder,
    results: Iterable[tuple[str, Value | None]],
    given: Mapping[str, bytes],
) -> str:
    """Nodes, states and results, without the constants `given` by the file."""
    lines = [_node(node) for node in builder.nodes if node.inputs]
    for node in builder.nodes:
        if not node.inputs:
            data, name = builder.known[node.output], node.output.name
            if given.get(name) != data.tobytes():
                lines.append(f"{name} = {_data(data)}")
    for state, value in builder.states.items():
        first = _data(state.initial)
        lines.append(f"{state.value.name}: {state.value.type} from {first} to {value.name}")
    lines += [f"run goes on from {place} by {value.name}" for place, value in builder.goes_on]
    for name, found in results:
        if found is None:
            lines.append(f"no {name}")
        elif found.name != name:
            lines.append(f"{name} is {found.name}: {found.type}")
    lines.append(f"{builder._result_bytes} B paid for")
    return "; ".join(lines)


def _node(node: Node) -> str:
    operands = ", ".join(value.name for value in node.inputs)
    made = ", ".join(f"{value.name} {value.type}" for value in node.outputs)
    return f"{made} = {node.op.name}({operands}){_attributes(node.op)}"


def _attributes(operation: Operation) -> str:
    shown = ((field.name, getattr(operation, field.name)) for field in fields(operation))
    return "".join(f" {name}={_plain(value)}" for name, value in shown)


def _plain(value: object) -> str:
    if isinstance(value, np.ndarray):
        return _data(value)
    if isinstance(value, TensorType):
        return str(value).replace(" ", "_")
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Operation):
        return value.name + _attributes(value).replace(" ", "_")
    if is_dataclass(value):
        return f"[{';'.join(_plain(getattr(value, field.name)) for field in fields(value))}]"
    if isinstance(value, tuple) and any(map(is_dataclass, value)):
        return ",".join(map(_plain, value))
    return str(value).replace(" ", "")


def _data(data: Array) -> str:
    flat = _rounded(data).reshape(-1)
    if flat.size and (flat == flat[0]).all():
        text = f"all {_number(flat[0].item())}"
    elif flat.size <= _SHOWN_ELEMENTS:
        text = " ".join(map(_number, flat.tolist()))
    else:
        text = f"crc {zlib.crc32(flat.tobytes()):08x}"
    return f"{data.dtype}{list(data.shape)} {text}"


def _changed(whole: str, other: str) -> str:
    """What is not as it was of nodes: words of those that are as many and alike, else parts."""
    if other.startswith("GM") or whole.startswith("GM"):
        return _short(other)
    before, after = whole.split(" "), other.split(" ")
    if len(before) == len(after):
        words = zip(before, after, strict=True)
        return _short("but " + " ".join(new for old, new in words if new != old))
    parts = whole.split("; ")
    new = [part for part in other.split("; ") if part not in parts]
    gone = len([part for part in parts if part not in other.split("; ")])
    return _short(f"in place of {gone} parts: {'; '.join(new)}")


def _short(text: str, longest: int = _LONGEST) -> str:
    rest = text[longest:]
    return text if not rest else f"{text[:longest]}… {zlib.crc32(rest.encode()):08x}"


def _number(number: float) -> str:
    return f"{number:.4g}" if isinstance(number, float) else str(number)


def _rounded(data: Array) -> Array:
    """Real numbers to 12 bits: the last ones are the C library's."""
    if data.dtype != np.float32:
        return data
    bits = (np.ascontiguousarray(data).view(np.int32) + 0x800) & ~0xFFF
    return np.where(np.isfinite(data), bits.view(np.float32), data)


def table(whole: str, found: Iterable[tuple[str, str]]) -> str:
    """`found` are damages and verdicts; those that change nothing come first."""
    groups: dict[str, list[str]] = {}
    for damage, verdict in found:
        what = "as it was" if verdict == whole else _changed(whole, verdict)
        groups.setdefault(what, []).append(damage)
    lines = [f"= {_short(whole, 3 * _LONGEST)}"]
    for verdict in sorted(groups, key=lambda verdict: (verdict != "as it was", verdict)):
        lines.append(f"  {verdict} <- {', '.join(groups[verdict])}")
    return "\n".join(lines) + "\n"


def said(call: Callable[[], str], damaged: tuple[type[BaseException], ...]) -> str:
    """What `call` gives, or its refusal; `damaged` are errors that mean a damaged file."""
    try:
        return call()
    except Unsupported as cause:
        return refusal(cause)
    except damaged:
        return "GM101 is damaged"
