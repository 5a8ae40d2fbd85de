"""Tables for the terminal (rich): what was compiled, what a run cost, which boards there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from glowmcu.board import Board
from glowmcu.facts.flash_parts import unpacked_bytes
from glowmcu.labels import labels_text
from glowmcu.manifest import Manifest
from glowmcu.number_text import count as count  # noqa: PLC0414 - who shows things looks here
from glowmcu.number_text import counted
from glowmcu.report.devices import device_table
from glowmcu.report.fitting_table import plain_table as plain_table  # noqa: PLC0414 - as above
from glowmcu.report.quality import quality_lines
from glowmcu.simplified import SimplificationEntry
from glowmcu.training import TrainingEntry

if TYPE_CHECKING:
    from glowmcu.bundle import Bundle
    from glowmcu.verify.measurement import CycleRange, LayerCost, Measurement

_MOST_NOTES = 12


def summary_lines(bundle: Bundle) -> list[str]:
    """What a compilation came to, in rich markup, a line each."""
    report, manifest, board = bundle.report, bundle.manifest, bundle.board
    proof = "optimal" if report.arena_optimal else "not proved optimal"
    lines = [
        f"[bold]{escape(manifest.name)}[/] for {escape(board.title)} ({board.core})",
        f"  arena    {count(report.arena_bytes)} B, "
        f"lower bound {count(report.arena_lower_bound_bytes)} B, {proof}",
        f"  weights  {count(report.weights_bytes)} B{_decoded(manifest)}",
    ]
    if manifest.states:
        # The first is the mark of a stream.
        names = ", ".join(escape(entry.name) for entry in manifest.states[1:])
        held = sum(entry.bytes for entry in manifest.states[1:])
        lines.insert(2, f"  state    {count(held)} B of it outlive a run: {names}")
    if manifest.training is not None:
        lines += _learning_lines(manifest.training)
    external = [f"{escape(entry.name)} ({count(entry.bytes)} B)" for entry in manifest.external]
    if external:
        lines.insert(2, f"  outside  {', '.join(external)}: read where the application has it")
    if manifest.labels:
        lines.insert(1, f"  classes  {escape(labels_text(manifest.labels, 6))}")
    if report.code_bytes is None:
        lines.append(f"  code     not measured: {escape(bundle.missing_compiler or '')}")
    else:
        lines.append(f"  code     {count(report.code_bytes)} B at -O2 for {board.core}")
    lines += _cost_lines(manifest)
    lines += _streamed_lines(bundle)
    again = ""
    if manifest.extra_macs > 0:
        part = 100 * manifest.extra_macs / (manifest.macs - manifest.extra_macs)
        again = f", +{part:.1f} % of them again in the halos of strips"
    lines.append(
        f"  compute  {count(report.macs)} MACs in {counted(len(report.layers), 'step')}{again}"
    )
    if manifest.simplification is not None:
        said = simplification_sentences(manifest.simplification)
        lines += [f"  proved   {text}" for text in said]
    if manifest.delegation is not None:
        lines.append(f"  device   {escape(manifest.delegation.summary)}")
    lines += [f"  {word:<8} {text}" for word, text in region_sentences(bundle)]
    lines += _quantization_lines(manifest)
    lines += [escape(line) for line in quality_lines(manifest.quality, with_warnings=False)]
    lines += [f"  note     {escape(note)}" for note in bundle.notes[:_MOST_NOTES]]
    if len(bundle.notes) > _MOST_NOTES:
        lines.append(
            f"  note     … and {len(bundle.notes) - _MOST_NOTES} more: --json has them all"
        )
    return lines


def _learning_lines(training: TrainingEntry) -> list[str]:
    """What learning costs over inference."""
    lines = [
        f"  learns   {count(training.parameter_bytes)} B of parameters; without learning the arena "
        f"is {count(training.inference_arena_bytes)} B"
    ]
    if training.learning_cycles is not None and training.inference_cycles:
        part = 100 * training.learning_cycles / training.inference_cycles
        lines[0] += (
            f"; a step adds about {count(training.learning_cycles)} cycles to an inference, "
            f"{part:.1f} %"
        )
    return lines


def learning_line(manifest: Manifest, measured: Measurement) -> str | None:
    """What of a run that learns is learning, in a sentence; None if it is not known."""
    training = manifest.training
    if training is None or measured.cycles is None or not measured.layers:
        return None
    steps = [layer.cycles or 0 for layer in measured.layers if layer.index in training.steps]
    return (
        f"above: a run with a label; {count(sum(steps))} of its cycles are learning, and a run "
        f"that only infers takes {count(measured.cycles - sum(steps))}"
    )


def _decoded(manifest: Manifest) -> str:
    """What coded constants come to if they are decoded."""
    whole = unpacked_bytes(manifest)
    if whole == manifest.weights_bytes:
        return ""
    return f", {count(whole)} B decoded: layer by layer, in the arena"


def _cost_lines(manifest: Manifest) -> list[str]:
    """Stack and time, if they are known before the bundle is compiled."""
    costs, lines = manifest.costs, []
    if costs.stack_bytes:
        function, size = next(iter(costs.stack_bytes.items()))
        lines.append(f"  stack    {count(size)} B at most in {escape(function)}")
    if costs.cycles_estimate is not None:
        cycles = count(costs.cycles_estimate)
        lines.append(f"  time     about {cycles} cycles, estimated without wait states")
    return lines


def _streamed_lines(bundle: Bundle) -> list[str]:
    """How rows come in, where they do."""
    manifest = bundle.manifest
    if manifest.streamed_input is None:
        return []
    entry = manifest.inputs[manifest.streamed_input]
    assert entry.rows is not None
    rows = entry.rows
    pieces = f"{count(rows.count)} rows of {count(rows.bytes)} B ({rows.function})"
    whole = f"the arena never holds all {count(rows.count * rows.bytes)} B"
    return [f"  rows     {escape(entry.name)} comes in {pieces}: {whole}"]


def simplification_sentences(entry: SimplificationEntry) -> list[str]:
    """What went, and why."""
    constant = sum(layer.constant_channels for layer in entry.layers)
    unread = sum(layer.unread_channels for layer in entry.layers)
    others = (
        (len(entry.constant_results), "results never change"),
        (len(entry.removed_nodes), "operators change nothing or are not needed"),
        (len(entry.dropped_clamps), "clamps are wider than what they clamp"),
    )
    rest = [f"{number} {what}" for number, what in others if number]
    sentences = [", ".join(rest)] if rest else []
    if constant + unread == 0:
        return sentences
    macs = count(entry.macs_before - entry.macs_after)
    weights = count(entry.weights_bytes_before - entry.weights_bytes_after)
    return [
        f"{count(constant)} channels never change, {count(unread)} are never read: "
        f"{macs} MACs and {weights} B of weights less",
        *sentences,
    ]


def _quantization_lines(manifest: Manifest) -> list[str]:
    said = manifest.options
    if "profile" not in said:
        return []
    name, _, digest = said["profile"].rpartition(":")
    choices = [said["schema"], said["calibration"]]
    more = (
        "int16", "four_bit_weights", "keep_float", "per_tensor_weights", "bias_correction",
        "equalize", "adaround",
    )  # fmt: skip
    # Layers that were chosen by the samples stand in a line of their own, with their share.
    told = {"four_bit_weights"} if any(entry.bits for entry in manifest.quality) else set()
    choices += [f"{key} {said[key]}" for key in more if key in said and key not in told]
    return [
        f"  int8     {escape(', '.join(choices))}, from {said['samples']} samples "
        f"({escape(name)} {digest})"
    ]


def region_sentences(bundle: Bundle) -> list[tuple[str, str]]:
    """How full the regions get, and what lies elsewhere than such things usually do."""
    board, usual = bundle.board, bundle.board.placement
    if usual is None:
        return []
    entries, code = bundle.manifest.placement, bundle.code_by_region or {}
    sizes = [
        (entry, code.get(entry.region if entry.section else "", 0) if entry.bytes is None
         else entry.bytes)
        for entry in entries
    ]  # fmt: skip
    there = {region.name for region in board.memory}  # of another board than it was compiled for
    places = {"arena": usual.arena, "weights": usual.constants, "code": usual.code}
    used = {usual.constants: 0}
    for entry, size in sizes:
        region = entry.region if entry.section else places.get(entry.what, "")
        if region not in there:
            continue
        used[region] = used.get(region, 0) + size
        if entry.what != "arena" and board.region(region).kind != "flash":
            used[usual.constants] += size  # the image that is copied
    parts = [
        f"{100 * size / board.region(name).size_bytes:.1f} % of {name} "
        f"({count(board.region(name).size_bytes // 1024)} KiB)"
        for name, size in used.items()
        if size
    ]
    placed = [
        f"{entry.what} {count(size)} B in {entry.region}" + _layers_text(entry.layers)
        for entry, size in sizes
        if entry.section
    ]
    return [("fits", ", ".join(parts)), *(("placed", text) for text in placed)]


def _layers_text(layers: Sequence[int]) -> str:
    if not layers:
        return ""
    shown = ", ".join(map(str, layers[:_MOST_NOTES]))
    return f" (steps {shown}{', …' if len(layers) > _MOST_NOTES else ''})"


def layer_table(manifest: Manifest) -> Table:
    """Steps of the bundle; with an accelerator, who computes each, and why."""
    if manifest.delegation is not None:
        return device_table(manifest)
    table = plain_table(
        "", ("step", "r"), ("operator", "l"), ("kernel", "l"), ("MACs", "r"), ("weights B", "r"),
        ("scratch B", "r"), ("layer", "l"), dispensable=["operator"],
    )  # fmt: skip
    for layer in manifest.layers:
        table.add_row(
            str(layer.index), layer.op, layer.kernel, count(layer.macs),
            count(layer.weights_bytes), count(layer.scratch_bytes), escape(layer.name),
        )  # fmt: skip
    return table


def bench_table(
    manifest: Manifest,
    measured: Measurement,
    nanojoules: Callable[[float], float | None] | None = None,
) -> Table:
    """Instructions and cycles a layer, and the rest that belongs to none: the call, and what code
    that ships takes more or less for where it lies. `nanojoules` estimates the energy of cycles.
    """
    known = nanojoules is not None and nanojoules(1.0) is not None
    energies = _energies(nanojoules) if known and nanojoules is not None else None
    board = [("on the board", "r")] if measured.board_cycles is not None else []
    table = plain_table(
        "", ("step", "r"), ("operator", "l"), ("instructions", "r"), ("cycles", "r"),
        *board, ("share", "r"), ("MACs", "r"), ("cycles/MAC", "r"),
        *([("nJ", "r")] if energies else []), ("layer", "l"),
        dispensable=["nJ", "MACs", "layer"],
    )  # fmt: skip
    total = measured.cycles or measured.instructions or 1
    for cost in measured.layers:
        layer = manifest.layers[cost.index]
        work = cost.cycles if cost.cycles is not None else cost.instructions or 0
        table.add_row(
            str(cost.index), layer.op, count(cost.instructions), count(cost.cycles),
            *([_range(cost.board_cycles)] if board else []), f"{100 * work / total:.1f} %",
            count(layer.macs), f"{work / layer.macs:.2f}" if layer.macs else "-",
            *([energies(cost)] if energies else []), escape(layer.name),
        )  # fmt: skip
    if measured.layers:
        rest = (
            _rest(measured.instructions, (c.instructions or 0 for c in measured.layers)),
            _rest(measured.cycles, (c.cycles or 0 for c in measured.layers)),
        )
        what = "(other layout)" if measured.is_laid_out_otherwise else "(call, return)"
        table.add_row("", what, *map(count, rest))
    table.add_row(
        "", "total", count(measured.instructions), count(measured.cycles),
        *([_range(measured.board_cycles)] if board else []), "",
        count(manifest.macs), f"{total / manifest.macs:.2f}" if manifest.macs else "-",
        *([energies(measured)] if energies else []), style="bold",
    )  # fmt: skip
    return table


def _energies(
    nanojoules: Callable[[float], float | None],
) -> Callable[[LayerCost | Measurement], str]:
    """Of a layer's cycles, those on the board at most, or the core's."""

    def text(cost: LayerCost | Measurement) -> str:
        known = cost.cycles if cost.board_cycles is None else cost.board_cycles.high
        found = None if known is None else nanojoules(known)
        return "-" if found is None else count(round(found))

    return text


def _range(cycles: CycleRange | None) -> str:
    return "-" if cycles is None else cycles.text


def _rest(total: int | None, parts: Iterable[int]) -> int | None:
    """What belongs to no layer, below 0 where the code that ships takes less."""
    return None if total is None else total - sum(parts)


def _platform(board: Board) -> str:
    if board.renode is None:
        return "-"
    return (board.renode.platform or "own .repl").rpartition("/")[2]


def board_table(boards: Sequence[Board]) -> Table:
    """All boards."""
    table = plain_table(
        "", ("board", "n"), ("MCU", "l"), ("core", "n"), ("flash KiB", "r"), ("RAM KiB", "r"),
        ("MHz", "r"), ("QEMU", "n"), ("Renode", "l"), dispensable=["Renode", "MCU", "QEMU"],
    )  # fmt: skip
    for board in boards:
        flash = sum(r.size_bytes for r in board.memory if r.kind == "flash")
        ram = sum(r.size_bytes for r in board.memory if r.kind != "flash")
        table.add_row(
            board.name, board.mcu, board.core, count(flash // 1024) if flash else "any",
            count(ram // 1024) if ram else "any",
            str(board.clock_hz // 1_000_000) if board.clock_hz else "-",
            board.qemu.machine if board.qemu else "-",
            _platform(board),
        )  # fmt: skip
    return table
