"""fuzz.md: what was fuzzed, how much of it, and what was found."""

from __future__ import annotations

from typing import Any

from glowmcu.report.tables import count

_HEAD = """# Hostile files

Written by `python -m benchmarks.fuzz`; the figures are in `fuzz.json`. Every input is made by a
fuzzer guided by coverage and runs within 2 GB of address space and 20 s of the processor. It is
accepted, or refused by a message with a code; whatever else happens is a finding. Coverage counts
the edges of GlowMCU's own byte code that any input reached.

"""


def page(body: dict[str, Any]) -> str:
    targets = body["targets"]
    total = sum(entry["inputs"] for entry in targets.values())
    lines = [
        f"{count(total)} inputs in all.", "",
        "| target | inputs | accepted | refused | by codes | coverage | corpus | slowest s "
        "| peak MB | CPU s |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]  # fmt: skip
    lines += [_row(name, entry) for name, entry in sorted(targets.items())]
    lines += ["", "## Findings", ""]
    rows = body["findings"]
    still = sum(row["open"] for row in rows)
    lines += [f"{len(rows)} kinds of escape were found, {still} of them are open.", ""]
    if rows:
        lines += ["| target | what escaped | state |", "| --- | --- | --- |"]
    lines += [
        f"| {row['target']} | {row['kind']} | {'open' if row['open'] else 'not when run again'} |"
        for row in rows
    ]
    return _HEAD + "\n".join(lines) + "\n"


def _row(name: str, entry: dict[str, Any]) -> str:
    verdicts = dict(entry["verdicts"])
    accepted = verdicts.pop("accepted", 0)
    verdicts.pop("escaped", 0)
    cells = (
        name, count(entry["inputs"]), count(accepted), count(sum(verdicts.values())),
        len(verdicts), count(entry["coverage"]), count(entry["corpus"]), entry["slowest_s"],
        entry["peak_bytes"] >> 20, count(int(entry["cpu_s"])),
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"
