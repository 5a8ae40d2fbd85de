"""An accelerator that a file describes: `--accelerator FILE.toml`.

Its functions are the user's, one an operator (`kernels/common/hooks.py`); the file says which
layers they take and what they cost.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from glowmcu.delegation.back_end import Lowered, RegionCost, border_bytes
from glowmcu.delegation.conditions import Condition, names_of, numbers_of, read_condition
from glowmcu.errors import GlowmcuError, Problem, error
from glowmcu.ir.body import body_of
from glowmcu.ir.graph import Graph, Node
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.hooks import HOOKED
from glowmcu.kernels.kernel import Target, load_kernels, site_of
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.delegate import Delegate

# The standard library has the TOML reader since Python 3.11; `tomli` is the same code before that.
_TOML = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
_MOST_BYTES = 1 << 20
_PREFIX = re.compile(r"[a-z][a-z0-9_]{0,11}")
_OPERATIONS: dict[str, type[Operation]] = {item.name: item for item in HOOKED}
#: Prefixes that are other functions' or other files' of a bundle already.
_TAKEN = ("glowmcu", "ethos_u", "model", "weights")
_MOST_ALIGN = 16
_KEYS = ("name", "prefix", "boards", "align", "weights_align", "weights_memory", "cost", "accepts")
_NUMBER = "a number that is not negative, and below 1e9"


@dataclass(frozen=True)
class Acceptance:
    """Layers of an operator that are accepted where all conditions hold, and what they cost."""

    operation: type[Operation]
    conditions: tuple[Condition, ...]
    cycles_per_mac: float
    cycles_per_output: float


@dataclass(frozen=True)
class DescribedBackEnd:
    """An accelerator as its file has it."""

    name: str
    prefix: str
    accepts: tuple[Acceptance, ...]
    target: Target
    boards: tuple[str, ...] = ()
    align: int = 1
    weights_align: int = 1
    weights_memory: str = ""
    cycles_per_call: float = 0.0
    cycles_per_region: float = 0.0
    bytes_per_cycle: float = 0.0
    file: str = ""

    @property
    def estimated_by(self) -> str:
        return f"the costs in {self.file}"

    def refusal(self, node: Node, graph: Graph) -> str:
        op = type(node.op)
        rules = [rule for rule in self.accepts if rule.operation is op]
        if not rules:
            return f"{self.name} has no {node.op.name}"
        signature = node.signature
        if any(t.element is not ElementType.I8 for t in (signature.inputs[0], signature.output)):
            return f"{self.name} computes int8, and this is {signature.output.element.value}"
        variant = next(item for item in load_kernels()[op] if item.name == HOOKED[op])
        if not variant.accepts(site_of(graph, node), self.target):
            return "its weights are computed, or its form has no parameters for a hook"
        numbers = numbers_of(node)
        wrong = [[c.text for c in rule.conditions if not c.holds(numbers)] for rule in rules]
        return "" if [] in wrong else f"not {min(wrong, key=len)[0]}"

    def lowered(self, region: Graph) -> Lowered:
        body = body_of(region)
        op = Delegate(
            body, self.name, self.prefix, align=self.align, weights_align=self.weights_align
        )
        cycles = round(self.cost(region, op).cycles)
        op = Delegate(body, self.name, self.prefix, cycles, self.align, self.weights_align)
        return Lowered(op, weights_memory=self.weights_memory)

    def cost(self, region: Graph, op: Delegate) -> RegionCost:
        compute = sum(self._cycles(node) for node in region.nodes if type(node.op) in HOOKED)
        moved = border_bytes(region) / self.bytes_per_cycle if self.bytes_per_cycle else 0.0
        return RegionCost(compute, self.cycles_per_region + moved)

    def _cycles(self, node: Node) -> float:
        """By the cheapest rule whose conditions hold."""
        numbers, elements = numbers_of(node), node.output.type.element_count
        costs = [
            rule.cycles_per_mac * node.macs + rule.cycles_per_output * elements
            for rule in self.accepts
            if rule.operation is type(node.op) and all(c.holds(numbers) for c in rule.conditions)
        ]
        return self.cycles_per_call + min(costs, default=0.0)


def read_described(path: Path, target: Target) -> DescribedBackEnd:
    """Raises GM770 with every mistake of the file at once."""
    body = _body(path)
    reader = _Reader(path.name, body)
    cost = reader.table("cost")
    accepts = tuple(reader.acceptances())
    reader.unknown(body, _KEYS)
    reader.unknown(cost, ("cycles_per_call", "cycles_per_region", "bytes_per_cycle"), "cost.")
    back_end = DescribedBackEnd(
        reader.text("name"), reader.prefix(), accepts, target, reader.boards(),
        reader.align("align"), reader.align("weights_align"), reader.memory(),
        reader.number(cost, "cycles_per_call", "cost."),
        reader.number(cost, "cycles_per_region", "cost."),
        reader.number(cost, "bytes_per_cycle", "cost."), path.name,
    )  # fmt: skip
    if reader.problems:
        raise GlowmcuError(reader.problems)
    return back_end


def _body(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise ValueError(f"it is larger than {_MOST_BYTES} bytes")
        found: dict[str, Any] = _TOML.loads(data.decode("utf-8"))
        return found
    except (OSError, ValueError, RecursionError) as cause:
        text = getattr(cause, "strerror", None) or str(cause)
        raise error("GM770", f"the accelerator's file cannot be read: {text}", str(path),
                    "docs/accelerators.md has a complete one") from cause  # fmt: skip


class _Reader:
    """Collects what is wrong."""

    def __init__(self, file: str, body: dict[str, Any]) -> None:
        self._file, self._body = file, body
        self.problems: list[Problem] = []

    def add(self, what: str, hint: str = "docs/accelerators.md has a complete file") -> None:
        message = f"in an accelerator's file: {what}"
        self.problems.append(Problem("GM770", message, self._file, hint))

    def unknown(self, table: dict[str, Any], known: tuple[str, ...], where: str = "") -> None:
        for key in table:
            if key not in known:
                self.add(f"unknown key {where + key!r}", f"known: {', '.join(known)}")

    def text(self, key: str) -> str:
        value = self._body.get(key)
        if not isinstance(value, str) or not value.strip() or len(value) > 60:
            self.add(f"{key} is {value!r}; it must be a text of 1 to 60 characters")
            return ""
        if not value.isprintable():
            self.add(f"{key} is {value!r}; it must be one line, of characters that can be printed")
            return ""
        return value

    def prefix(self) -> str:
        value = self._body.get("prefix")
        if not isinstance(value, str) or not _PREFIX.fullmatch(value) or value in _TAKEN:
            self.add(
                f"prefix is {value!r}; C functions begin with it: 1 to 12 of a-z, 0-9 and _, a "
                f"letter first, and not {', '.join(_TAKEN)}"
            )
            return ""
        return value

    def boards(self) -> tuple[str, ...]:
        value = self._body.get("boards", [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.add(f"boards is {value!r}; it must be a list of names of boards")
            return ()
        return tuple(value)

    def memory(self) -> str:
        value = self._body.get("weights_memory", "")
        if not isinstance(value, str):
            self.add(f"weights_memory is {value!r}; it must be the name of a region of the board")
            return ""
        return value

    def align(self, key: str) -> int:
        value = self._body.get(key, 1)
        if type(value) is not int or value not in (1, 2, 4, 8, _MOST_ALIGN):
            self.add(f"{key} is {value!r}; it must be 1, 2, 4, 8 or {_MOST_ALIGN}")
            return 1
        return value

    def table(self, key: str) -> dict[str, Any]:
        value = self._body.get(key, {})
        if not isinstance(value, dict):
            self.add(f"{key} is {value!r}; it must be a table")
            return {}
        return value

    def number(self, table: dict[str, Any], key: str, where: str) -> float:
        value = table.get(key, 0)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= value < 1e9:
            self.add(f"{where}{key} is {value!r}; it must be {_NUMBER}")
            return 0.0
        return float(value)

    def acceptances(self) -> Iterator[Acceptance]:
        rows = self._body.get("accepts")
        if not isinstance(rows, list) or not rows:
            self.add("it accepts nothing", "write [[accepts]] with an operator at least once")
            return
        for number, row in enumerate(rows, 1):
            if not isinstance(row, dict):
                self.add(f"accepts {number} is {row!r}; it must be a table")
                continue
            where = f"accepts {number}: "
            known = ("operator", "types", "when", "cycles_per_mac", "cycles_per_output")
            self.unknown(row, known, where)
            operation = _OPERATIONS.get(str(row.get("operator")))
            if operation is None:
                names = ", ".join(sorted(_OPERATIONS))
                self.add(f"{where}operator is {row.get('operator')!r}", f"known: {names}")
                continue
            if row.get("types", ["int8"]) != ["int8"]:
                self.add(f'{where}types is {row["types"]!r}; hooks compute ["int8"] alone')
            yield Acceptance(
                operation, tuple(self._conditions(row, operation, where)),
                self.number(row, "cycles_per_mac", where),
                self.number(row, "cycles_per_output", where),
            )  # fmt: skip

    def _conditions(
        self, row: dict[str, Any], operation: type[Operation], where: str
    ) -> Iterator[Condition]:
        texts = row.get("when", [])
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            self.add(f"{where}when is {texts!r}; it must be a list of conditions")
            return
        for text in texts:
            try:
                yield read_condition(text, names_of(operation))
            except ValueError as cause:
                self.add(f"{where}the condition {text[:60]!r} cannot be read: {cause}")
