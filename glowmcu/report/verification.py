"""What `glowmcu verify` shows."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from glowmcu.api.runtime_comparison import RuntimeReport
from glowmcu.api.verification import VerificationReport
from glowmcu.report.tables import plain_table


def verification_table(report: VerificationReport) -> Table:
    """The report for the terminal."""
    table = plain_table(
        f"against {report.reference}", ("executor", "l"), ("vectors", "r"), ("result", "t")
    )
    for check in report.checks:
        result = escape(check.equality) if check.passed else f"[red]{check.wrong_vectors} differ[/]"
        detail = f"\n{escape(check.first_difference)}" if check.first_difference else ""
        hint = f"\nhint: {escape(check.hint)}" if check.hint else ""
        table.add_row(check.executor, str(check.vectors), result + detail + hint)
    for name, lacking in report.skipped:
        # Where that fails, the error below says what to install.
        said = f"[yellow]could not run[/]: {escape(lacking)}"
        table.add_row(name, "-", said if report.allow_missing else "[red]could not run[/]")
    return table


def runtime_table(report: RuntimeReport) -> Table:
    """A bundle beside a file in each runtime, for the terminal."""
    table = plain_table(
        f"against {report.file}", ("runtime", "l"), ("rounding", "l"), ("equal", "r"),
        ("result", "t"),
    )  # fmt: skip
    for check in report.checks:
        color = "red" if check.promised and not check.passed else "none"
        mark = "[bold]*[/]" if check.promised else ""
        equal = f"{check.equal}/{check.samples}" if check.samples else "-"
        result = f"[{color}]{escape(check.result)}[/]"
        table.add_row(escape(check.title) + mark, check.rounding, equal, result)
    return table


def runtime_lines(report: RuntimeReport) -> list[str]:
    """What stands below the table, in rich markup, a line each."""
    note = [f"note: {escape(report.note)}"] if report.note else []
    return ["* whose numbers the bundle was compiled to give", *note]
