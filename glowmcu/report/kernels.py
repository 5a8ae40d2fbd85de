"""Which kernels were chosen, what else was possible, and what it would cost: table and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape as html_escape

from rich.markup import escape
from rich.table import Table

from glowmcu.bundle import Bundle, KernelOption, LayerChoice
from glowmcu.report.arena_map import arena_svg
from glowmcu.report.memory_passes import memory_passes_html
from glowmcu.report.simplification import simplification_html
from glowmcu.report.tables import count, plain_table, region_sentences

_HEADINGS = ("cycles", "code B", "flash B", "scratch B")


def _numbers(option: KernelOption) -> tuple[str, ...]:
    shared = "" if option.function or not option.code_bytes else " own"
    return (
        count(option.cycles),
        f"{count(option.code_bytes)}{shared}",
        count(option.flash_bytes),
        count(option.scratch_bytes),
    )


def _slower(option: KernelOption, chosen: KernelOption) -> str:
    """How many times the chosen kernel's cycles."""
    return f"{option.cycles / max(chosen.cycles, 1):.2f}x"


def choice_table(choices: Sequence[LayerChoice]) -> Table:
    """A row a possible kernel, the chosen one of each layer first and bold."""
    table = plain_table(
        "kernels: estimates for one inference",
        ("step", "r"), ("kernel", "l"), *((heading, "r") for heading in _HEADINGS), ("", "r"),
        ("layer", "l"),
    )  # fmt: skip
    for choice in choices:
        table.add_row(
            str(choice.index), choice.chosen.kernel, *_numbers(choice.chosen), "",
            escape(choice.name), style="bold",
        )  # fmt: skip
        for option in choice.others:
            table.add_row("", option.kernel, *_numbers(option), _slower(option, choice.chosen), "")
    return table


_STYLE = """\
body { font: 15px/1.4 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .2em .6em; text-align: right; font-variant-numeric: tabular-nums; }
th:nth-child(2), td:nth-child(2), th:last-child, td:last-child { text-align: left; }
tr.chosen td { border-top: 1px solid #bbb; font-weight: 600; }
td:last-child { color: #666; overflow-wrap: anywhere; font-size: 85%; }
"""


def choices_html(bundle: Bundle) -> str:
    """A page without scripts or links: totals, and every layer with all that was possible."""
    report, manifest = bundle.report, bundle.manifest
    facts = [
        ("board", f"{bundle.board.title} ({bundle.board.core})"),
        ("options", ", ".join(f"{k} {v}" for k, v in manifest.options.items())),
        ("arena", f"{count(report.arena_bytes)} B"),
        ("constants", f"{count(report.weights_bytes)} B"),
        ("code", "not measured" if report.code_bytes is None else f"{count(report.code_bytes)} B"),
        ("estimated", f"{count(sum(c.chosen.cycles for c in bundle.choices))} cycles"),
        *region_sentences(bundle),
    ]
    listed = "".join(f"<li>{name}: {html_escape(text)}</li>\n" for name, text in facts)
    headings = "".join(f"<th>{text}</th>" for text in ("step", "kernel", *_HEADINGS, "", "layer"))
    rows = "".join(_html_rows(choice) for choice in bundle.choices)
    simplified = simplification_html(manifest)
    title = f"Kernels of {html_escape(manifest.name)}"
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f"<style>\n{_STYLE}</style>\n<h1>{title}</h1>\n<ul>\n{listed}</ul>\n"
        "<p>For each layer the kernel that was chosen, then what else was possible. Code counts "
        "once for all layers that share a function; “own” is a function of this layer alone.</p>\n"
        f"<table>\n<tr>{headings}</tr>\n{rows}</table>\n{simplified}"
        f"{memory_passes_html(bundle.memory_passes)}"
        f"<h2>Arena over time</h2>\n<p>Columns are steps, heights are addresses.</p>\n"
        f"{arena_svg(manifest)}</html>\n"
    )


def _html_rows(choice: LayerChoice) -> str:
    rows = [_html_row("chosen", str(choice.index), choice.chosen, "", choice.name)]
    for option in choice.others:
        rows.append(_html_row("other", "", option, _slower(option, choice.chosen), ""))
    return "".join(rows)


def _html_row(kind: str, step: str, option: KernelOption, slower: str, layer: str) -> str:
    texts = (step, option.kernel, *_numbers(option), slower, layer)
    cells = "".join(f"<td>{html_escape(text)}</td>" for text in texts)
    return f'<tr class="{kind}">{cells}</tr>\n'
