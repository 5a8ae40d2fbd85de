"""Two bundles side by side: tables for the terminal, markdown for a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.markup import escape
from rich.table import Table

from glowmcu.facts.bundle_diff import BundleDiff, LayerDiff, Pair, Quantity
from glowmcu.report.tables import count, plain_table

#: By this line a script finds its own comment again.
MARK = "<!-- glowmcu diff -->"
#: GitHub takes 65 536 characters a comment.
_MOST_ROWS, _MOST_CHARACTERS = 40, 80
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def diff_tables(found: BundleDiff) -> list[Table]:
    """Costs, layers that changed, and what else did; the latter two only if there are any."""
    costs = plain_table(
        "", ("", "n"), ("before", "r"), ("after", "r"), ("growth", "r"), ("%", "r"), ("", "n")
    )
    for quantity in found.quantities:
        costs.add_row(*_cost_row(quantity))
    tables: list[Table] = [costs]
    changed = [layer for layer in found.layers if layer.differs]
    if changed:
        layers = plain_table(
            "", ("cycles before", "r"), ("after", "r"), ("weights before", "r"), ("after ", "r"),
            ("kernel", "l"), ("layer", "l"), dispensable=["kernel"],
        )  # fmt: skip
        for layer in changed:
            layers.add_row(*_numbers(layer), escape(_kernels(layer)), escape(_clean(layer.name)))
        tables.append(layers)
    changes = (*found.interface, *found.compilation, *found.accuracy)
    if changes:
        others = plain_table("", ("what", "l"), ("before", "l"), ("after", "l"))
        for change in changes:
            cells = (change.what, change.before or "-", change.after or "-")
            others.add_row(*(escape(_clean(text)) for text in cells))
        tables.append(others)
    return tables


def diff_lines(found: BundleDiff) -> list[str]:
    """What stands below the tables, in rich markup."""
    first = "" if found.differs else "no difference"
    if found.same_files:
        first = "every file is the same, byte for byte"
    lines = [first] if first else []
    if found.interface:
        lines.append("[bold]the interface changed[/]: the application may have to change with it")
    return [*lines, *(f"note: {escape(_clean(note))}" for note in found.notes)]


def diff_markdown(found: BundleDiff) -> str:
    """A comment on a pull request. Names come from the model, which may be a stranger's: they stand
    in code spans, so that none mentions a person, links or draws.
    """
    head = ("", "before", "after", "growth", "%", "")
    lines = [MARK, "### GlowMCU", ""]
    lines += _markdown_table(head, [_cost_row(quantity) for quantity in found.quantities])
    changed = [layer for layer in found.layers if layer.differs]
    if changed:
        lines += ["", f"<details><summary>{len(changed)} layers changed</summary>", ""]
        rows = [(code_span(x.name), *_numbers(x), code_span(_kernels(x))) for x in changed]
        head = ("layer", "cycles before", "after", "weights before", "after", "kernel")
        lines += [*_markdown_table(head, rows), "", "</details>"]
    sections = (
        ("Interface", found.interface),
        ("Compilation", found.compilation),
        ("Accuracy", found.accuracy),
    )
    for title, changes in sections:
        if changes:
            cells = [(code_span(c.what), code_span(c.before), code_span(c.after)) for c in changes]
            lines += ["", *_markdown_table((title, "before", "after"), cells)]
    if not found.differs:
        lines += ["", "No difference."]
    lines += ["", *(f"- {code_span(note)}" for note in found.notes)]
    return "\n".join(lines).rstrip() + "\n"


def _markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows[:_MOST_ROWS]:
        yield f"| {' | '.join(row)} |"
    if len(rows) > _MOST_ROWS:
        yield f"| … and {len(rows) - _MOST_ROWS} more |{' |' * (len(head) - 1)}"


def code_span(text: str) -> str:
    """A code span, also in a table's cell: only a backtick could end it, only a bar the cell."""
    clean = _clean(text).replace("`", "'").replace("|", "\\|").strip()
    long = len(clean) > _MOST_CHARACTERS and " " not in clean
    return f"`{clean[:_MOST_CHARACTERS] + '…' if long else clean[:400]}`" if clean else "-"


def _clean(text: str) -> str:
    return _UNPRINTABLE.sub(" ", text)


def _cost_row(quantity: Quantity) -> tuple[str, ...]:
    unit = f" {quantity.unit}" if quantity.unit else ""
    known = quantity.before is not None or quantity.after is not None
    return (
        quantity.name,
        *(count(v, unit) for v in (quantity.before, quantity.after)),
        _signed(quantity.growth),
        _percent(quantity),
        quantity.how if known else "not known",
    )


def _signed(value: int | None) -> str:
    if value is None:
        return "-"
    return ("+" if value > 0 else "-" if value < 0 else "") + count(abs(value))


def _percent(quantity: Quantity) -> str:
    if not quantity.growth or not quantity.before:
        return "-" if quantity.growth is None or quantity.growth else "0.0"
    return f"{100 * quantity.growth / quantity.before:+.1f}"


def _numbers(layer: LayerDiff) -> tuple[str, ...]:
    pairs: tuple[Pair, ...] = (layer.cycles, layer.weights_bytes)
    return tuple(count(value) for pair in pairs for value in pair)


def _kernels(layer: LayerDiff) -> str:
    before, after = layer.kernels
    if before is None or after is None:
        return f"{after} (new)" if before is None else f"{before} (gone)"
    return after if before == after else f"{before} -> {after}"
