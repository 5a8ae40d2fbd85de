"""What differs between two bundles, from what lies in their folders: `glowmcu diff`.

A figure is compared with one that came about alike: measured with measured (same core, same wait
states), else estimated with estimated. `notes` say what could not be compared and why.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from glowmcu.facts.kept_bundle import KeptBundle, read_kept
from glowmcu.given_paths import as_argument
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import LayerEntry, Manifest, TensorEntry
from glowmcu.notebook import Card, Column, Shown
from glowmcu.shell_words import quoted

Pair = tuple[int | None, int | None]
#: Fields of an input or output that the application's code depends on. Its place in the arena is
#: behind an accessor.
_INTERFACE = (
    "symbol", "shape", "dtype", "scale", "zero_point", "exact", "kept", "rows", "outside_align",
    "shape_forms",
)  # fmt: skip


@dataclass(frozen=True)
class Quantity:
    """One number of both bundles; None if it is not known. `how`: measured, estimated or ""."""

    name: str
    unit: str
    before: int | None
    after: int | None
    how: str = ""

    @property
    def growth(self) -> int | None:
        """Positive where the second bundle takes more."""
        if self.before is None or self.after is None:
            return None
        return self.after - self.before


@dataclass(frozen=True)
class LayerDiff:
    """A layer by its name. What one bundle does not have is None on its side."""

    name: str
    op: str
    kernels: tuple[str | None, str | None]
    cycles: Pair
    weights_bytes: Pair

    @property
    def differs(self) -> bool:
        """Whether the kernel, the cycles or the weights did change."""
        pairs = (self.kernels, self.cycles, self.weights_bytes)
        return any(before != after for before, after in pairs)


@dataclass(frozen=True)
class Change:
    """Something that is no cost: `before` and `after` as people read them, "" where there is
    none.
    """

    what: str
    before: str
    after: str


_COLUMNS = (
    Column("", "name"), Column("before", "before", "count"), Column("after", "after", "count"),
    Column("growth", "growth", "count"), Column("unit", "unit"), Column("", "how"),
)  # fmt: skip


@dataclass(frozen=True)
class BundleDiff(Shown):
    """`interface` are changes that the application's code may notice, `compilation` those of
    model, board, options and version. `accuracy` is what `glowmcu verify` found of either, changed
    or not.

    >>> bundle = glowmcu.compile("digits_int8.tflite", output="build/digits")
    >>> found = glowmcu.diff(bundle, bundle)
    >>> found.differs, found.same_files
    (False, True)
    """

    before: Path
    after: Path
    same_board: bool
    same_files: bool
    quantities: tuple[Quantity, ...]
    layers: tuple[LayerDiff, ...]
    interface: tuple[Change, ...]
    compilation: tuple[Change, ...]
    accuracy: tuple[Change, ...]
    notes: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether anything did change but how much is known."""
        costs = (*(q.growth for q in self.quantities), *(x.differs for x in self.layers))
        return not self.same_files or any((*costs, *self.interface, *self.compilation))

    def _card(self) -> Card:
        records = [{**dataclasses.asdict(q), "growth": q.growth} for q in self.quantities]
        changes = (*self.interface, *self.compilation, *self.accuracy)
        told = (f"{c.what}: {c.before or '-'} → {c.after or '-'}" for c in changes)
        facts = (("before", str(self.before)), ("after", str(self.after)))
        return Card("What changed", facts, _COLUMNS, records, (*told, *self.notes))

    def json(self) -> dict[str, object]:
        """Of `diff --json`. Field names are a contract."""
        return {
            "before": str(self.before),
            "after": str(self.after),
            "differs": self.differs,
            "same_board": self.same_board,
            "same_files": self.same_files,
            "quantities": [{**dataclasses.asdict(q), "growth": q.growth} for q in self.quantities],
            "layers": [{**dataclasses.asdict(x), "differs": x.differs} for x in self.layers],
            "interface": [dataclasses.asdict(change) for change in self.interface],
            "compilation": [dataclasses.asdict(change) for change in self.compilation],
            "accuracy": [dataclasses.asdict(change) for change in self.accuracy],
            "notes": list(self.notes),
        }


def diff_bundles(before: Path, after: Path) -> BundleDiff:
    """Both are folders of bundles. Raises GM171, GM172, GM601."""
    old, new = read_kept(before), read_kept(after)
    cycles, by_layer, how = _cycles(old, new)
    files = old.manifest.files, new.manifest.files
    return BundleDiff(
        before,
        after,
        same_board=old.manifest.board == new.manifest.board,
        same_files=files[0] == files[1] and bool(files[0]),
        quantities=tuple(_quantities(old, new, cycles, how)),
        layers=tuple(_layers(old.manifest, new.manifest, by_layer)),
        interface=tuple(_interface(old.manifest, new.manifest)),
        compilation=tuple(_compilation(old.manifest, new.manifest)),
        accuracy=tuple(_accuracy(old, new)),
        notes=tuple(_notes(old, new)),
    )


def _quantities(old: KeptBundle, new: KeptBundle, cycles: Pair, how: str) -> Iterator[Quantity]:
    a, b = old.manifest, new.manifest
    yield Quantity("arena", "B", a.arena_bytes, b.arena_bytes)
    # The first state is the mark of a stream.
    states = [sum(entry.bytes for entry in m.states[1:]) for m in (a, b)]
    if any(states):
        yield Quantity("state (in the arena)", "B", states[0], states[1])
    outside = [sum(entry.bytes for entry in m.external) for m in (a, b)]
    if any(outside):
        yield Quantity("inputs outside", "B", outside[0], outside[1])
    stacks = [next(iter(m.costs.stack_bytes.values()), None) for m in (a, b)]
    yield Quantity("stack", "B", stacks[0], stacks[1])
    yield Quantity("weights", "B", a.weights_bytes, b.weights_bytes)
    code, way = (_code(old), _code(new)), "measured"
    if None in code:
        code, way = (a.costs.code_bytes_estimate, b.costs.code_bytes_estimate), "estimated"
    yield Quantity("code", "B", *code, way)
    flash = [
        None if size is None else size + m.weights_bytes
        for size, m in zip(code, (a, b), strict=True)
    ]
    yield Quantity("flash", "B", flash[0], flash[1], way)
    if cycles != (None, None):
        yield Quantity("cycles", "", *cycles, how)
    counted = _bench(old, "instructions"), _bench(new, "instructions")
    if _benched_alike(old, new) and None not in counted:
        yield Quantity("instructions", "", *counted, "measured")
    yield Quantity("MACs", "", a.macs, b.macs)


def _cycles(old: KeptBundle, new: KeptBundle) -> tuple[Pair, list[dict[int, int]], str]:
    """Of the whole and by layer's number, and how they came about."""
    total = _bench(old, "cycles"), _bench(new, "cycles")
    if _benched_alike(old, new) and None not in total:
        return total, [_by_layer(side, "bench") for side in (old, new)], "measured"
    costs = old.manifest.costs, new.manifest.costs
    by_layer = [_by_layer(side, "compile") for side in (old, new)]
    return (costs[0].cycles_estimate, costs[1].cycles_estimate), by_layer, "estimated"


def _by_layer(side: KeptBundle, section: str) -> dict[int, int]:
    rows = _section(side, section).get("layers")
    found: dict[int, int] = {}
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict) or (index := _whole(row.get("index"))) is None:
            continue
        holder = row.get("estimate") if section == "compile" else row
        cycles = _whole(holder.get("cycles")) if isinstance(holder, dict) else None
        if cycles is not None:
            found[index] = cycles
    return found


def _layers(a: Manifest, b: Manifest, cycles: Sequence[dict[int, int]]) -> Iterator[LayerDiff]:
    """In the second bundle's order, then those that are no more."""
    old, new = _named(a.layers), _named(b.layers)
    for key in (*new, *(key for key in old if key not in new)):
        sides = old.get(key), new.get(key)
        known = sides[1] or sides[0]
        assert known is not None
        yield LayerDiff(
            known.name,
            known.op,
            (_kernel(sides[0]), _kernel(sides[1])),
            (
                None if sides[0] is None else cycles[0].get(sides[0].index),
                None if sides[1] is None else cycles[1].get(sides[1].index),
            ),
            (_weights(sides[0]), _weights(sides[1])),
        )


def _named(layers: Sequence[LayerEntry]) -> dict[tuple[str, int], LayerEntry]:
    """By name, and by which of that name it is."""
    seen: dict[str, int] = {}
    found = {}
    for layer in layers:
        seen[layer.name] = seen.get(layer.name, 0) + 1
        found[layer.name, seen[layer.name]] = layer
    return found


def _kernel(layer: LayerEntry | None) -> str | None:
    return None if layer is None else layer.kernel


def _weights(layer: LayerEntry | None) -> int | None:
    return None if layer is None else layer.weights_bytes


def _interface(a: Manifest, b: Manifest) -> Iterator[Change]:
    for kind, old, new in (("input", a.inputs, b.inputs), ("output", a.outputs, b.outputs)):
        yield from _tensors(kind, old, new)
    functions = ", ".join(a.functions), ", ".join(b.functions)
    sizes, pipelines = (a.size, b.size), (a.pipeline, b.pipeline)
    aligns = a.arena_align, b.arena_align
    yield from _changed("functions to call", *functions)
    yield from _changed("alignment of the arena", *aligns)
    yield from _changed("size given at run time", *sizes)
    yield from _changed("pipeline", *pipelines)
    yield from _changed("classes", ", ".join(a.labels), ", ".join(b.labels))


def _tensors(kind: str, old: Sequence[TensorEntry], new: Sequence[TensorEntry]) -> Iterator[Change]:
    names = [[entry.name for entry in side] for side in (old, new)]
    if names[0] != names[1]:
        yield Change(f"{kind}s", ", ".join(names[0]), ", ".join(names[1]))
    later = {entry.name: entry for entry in new}
    for entry in old:
        if (other := later.get(entry.name)) is not None:
            for field in _INTERFACE:
                what = f"{kind} {entry.name}: {field}"
                yield from _changed(what, getattr(entry, field), getattr(other, field))


def _compilation(a: Manifest, b: Manifest) -> Iterator[Change]:
    yield from _changed("board", a.board, b.board)
    yield from _changed("model", _model(a), _model(b))
    yield from _changed("glowmcu", a.tool_version, b.tool_version)
    yield from _changed("build systems", ", ".join(a.packages), ", ".join(b.packages))
    for name in dict.fromkeys((*a.options, *b.options)):
        yield from _changed(f"option {name}", a.options.get(name), b.options.get(name))


def _accuracy(old: KeptBundle, new: KeptBundle) -> Iterator[Change]:
    """Of `verify`, and of `verify --against float` on the data it was given."""
    compared = [_section(side, "comparison") for side in (old, new)]
    rows = (
        ("verified", [_section(side, "verify").get("passed") for side in (old, new)]),
        (
            "SQNR of the outputs against float, dB",
            [body.get("output_sqnr_db") for body in compared],
        ),
        ("accuracy of the float model", [body.get("float_accuracy") for body in compared]),
        ("samples", [body.get("samples") for body in compared]),
    )
    for what, values in rows:
        told = [_told(value) for value in values]
        if any(told):
            yield Change(what, *told)


def _told(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(_whole(value) or "")


def _model(manifest: Manifest) -> str:
    """Its content counts: the same file may lie elsewhere."""
    return f"sha256 {manifest.model_sha256[:12]}"


def _changed(what: str, before: object, after: object) -> Iterator[Change]:
    if before != after:
        yield Change(what, *("" if value is None else str(value) for value in (before, after)))


def _bench_call(side: KeptBundle) -> str:
    return f"`glowmcu bench {quoted(as_argument(side.folder))}`"


def _notes(old: KeptBundle, new: KeptBundle) -> Iterator[str]:
    a, b = old.manifest, new.manifest
    if old.folder.resolve() == new.folder.resolve():
        yield "both are the same folder: compile the other one into a folder of its own (-o)"
    if a.board != b.board:
        yield (
            f"not comparable: {a.board} and {b.board} are different boards, so that cycles, code "
            "and stack differ for that alone"
        )
    if a.model_sha256 != b.model_sha256:
        shared = {layer.name for layer in a.layers} & {layer.name for layer in b.layers}
        matched = "layers are matched by name" if shared else "no layer has a name in both"
        yield (
            f"the models differ: {matched}; what that does to accuracy is in neither bundle "
            "(`glowmcu verify --against float` tells it for each)"
        )
    for side in (old, new):
        if side.is_stale:
            yield (
                f"{side.folder}: facts.json is damaged or of another compilation, so that its "
                f"measurements are left out ({_bench_call(side)} writes new ones)"
            )
    missing = [_bench_call(side) for side in (old, new) if not _section(side, "bench")]
    if missing:
        calls = " and ".join(missing)
        yield f"cycles are estimates where they are known; {calls} would measure them"
    elif not _benched_alike(old, new):
        yield "not comparable: the two were measured on different cores or with other wait states"
    if a.board == b.board and a.costs.stack_found != b.costs.stack_found:
        yield (
            f"stack and code were found differently: {a.costs.stack_found or 'not at all'}; "
            f"{b.costs.stack_found or 'not at all'}"
        )


def _section(side: KeptBundle, name: str) -> Mapping[str, object]:
    found = side.facts.get(name)
    return found if isinstance(found, dict) else {}


def _bench(side: KeptBundle, key: str) -> int | None:
    return _whole(_section(side, "bench").get(key))


def _benched_alike(old: KeptBundle, new: KeptBundle) -> bool:
    a, b = _section(old, "bench"), _section(new, "bench")
    return bool(a and b) and all(a.get(key) == b.get(key) for key in ("core", "wait_states"))


def _code(side: KeptBundle) -> int | None:
    sizes = [_whole(size) for size in _section(side, "code").values()]
    known = [size for size in sizes if size is not None]
    return sum(known) if known and len(known) == len(sizes) else None


def _whole(value: object) -> int | None:
    """A count from a file that anyone may have written."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
    return value if is_count else None  # type: ignore[return-value]
