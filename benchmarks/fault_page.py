"""faults.json and faults.md: what runs with a flipped bit came to; nothing is typed by hand.

python -m benchmarks.fault_page      # where kernels changed: whose figures are older than they
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.fault_outcomes import RESULTS, WILD, Outcome
from benchmarks.fault_run import Ran
from benchmarks.kernel_sources import is_of_today, kernel_sources_digest
from benchmarks.ledger import read_ledger, write_ledger
from glowmcu.report.tables import count

RECORD = Path(__file__).resolve().parent / "faults.json"
PAGE = RECORD.with_suffix(".md")
DOCUMENT = RECORD.parents[1] / "docs" / "integrity.md"
#: In the order of the page.
PLACES = ("arena", "weights", "parameters", "registers", "vectors", "stack", "code")
#: Kinds of places whose every flip `<name>_check` must notice.
CHECKED = ("weights", "parameters")
#: How many failures are kept by name.
_MOST_BROKEN = 20

_HEAD = """# Single bits that flip while a bundle runs

Written by `python -m benchmarks.fault_campaign` from `faults.json`; do not edit. A bundle runs on a
modelled core, all memory around its own unmapped or watched. At a drawn instruction one drawn bit
flips, and the run goes on; then `NAME_check` is called. What is drawn follows from a seed. Of a
model with states a run is its reset and an inference, of a pipeline the samples that make its last
stage compute twice, of a bundle that learns a step of learning.

| place | what may hold the bit |
|---|---|
| arena | any byte of the arena: inputs, activations, scratch, progress of a run in steps |
| weights | weights, biases, tables in flash |
| parameters | the other constants: layers' parameters, loops, orders of rows, offsets |
| registers | r0 to r12, sp, lr, pc and the flags N, Z, C, V, Q |
| vectors | Helium's q0 to q7 and the predicates of vpr |
| stack | what the run has on the stack at that moment |
| code | the instructions of the bundle, in flash |

| result | what the run did |
|---|---|
| same | it gave the bytes of a run without a fault |
| other | it gave other bytes |
| stopped | a status said that nothing was run |
| fault | HardFault: an illegal instruction, a bus error of a read, a jump to where no code is |
| endless | it did not end within four times its instructions |
| wild, RAM | it wrote outside arena and stack within 256 KiB of them, where a chip has RAM |
| wild, elsewhere | it wrote farther away: to flash or to nothing, a fault on most chips |

A read outside that lies within 256 KiB of arena, stack or code finds something there and the run
goes on; one elsewhere is a fault. The Cortex-M55 is a board that QEMU emulates, as Unicorn has no
Helium: the run is unprivileged, and an MPU refuses each write but to arena and stack, so that its
fault tells where the run would have written. Reads there find what the board has.
"""


@dataclass
class Ledger:
    """By case: `digest` of its program and of the kernels' sources, `instructions` of a run, the
    next seed, and counts by kind and result (`noticed` and `wild_noticed` beside the results).
    `broken` are flips against a guarantee.
    """

    cases: dict[str, dict[str, Any]] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)

    @classmethod
    def stored(cls) -> Ledger:
        """What the record has; an empty ledger without one."""
        return cls(**read_ledger(RECORD, {"cases": {}, "broken": []}))

    def add(self, name: str, ran: Ran) -> None:
        """Runs of one case; those of another program are forgotten."""
        entry = self.cases.get(name)
        if entry is None or entry["digest"] != ran.digest:
            entry = {"next_seed": 0, "counts": {}}
            self.broken = [text for text in self.broken if not text.startswith(f"{name}: ")]
        entry["digest"], entry["kernels"] = ran.digest, kernel_sources_digest()
        entry["instructions"], entry["constants_bytes"] = ran.instructions, ran.constants_bytes
        entry["next_seed"] = max(entry["next_seed"], ran.seeds.stop)
        for outcome in ran.outcomes:
            counts = Counter(entry["counts"].get(outcome.flip.kind, {}))
            counts.update(_words(outcome))
            entry["counts"][outcome.flip.kind] = dict(counts)
        self.broken += [f"{name}: {text}" for text in map(breaks, ran.outcomes) if text]
        del self.broken[_MOST_BROKEN:]
        self.cases[name] = entry

    def store(self) -> None:
        """Write record and page."""
        write_ledger(RECORD, {"cases": self.cases, "broken": self.broken}, page(self))
        text = documented(DOCUMENT.read_text(encoding="utf-8"), self)
        DOCUMENT.write_text(text, encoding="utf-8")

    def forget_others(self, names: Sequence[str]) -> None:
        """Keep the cases that there are."""
        self.cases = {name: entry for name, entry in self.cases.items() if name in names}

    def next_seed(self, name: str) -> int:
        return int(self.cases.get(name, {"next_seed": 0})["next_seed"])

    def instructions(self, name: str) -> int | None:
        return self.cases[name]["instructions"] if name in self.cases else None

    def runs(self, name: str) -> int:
        return sum(runs_of(counts) for counts in self.cases[name]["counts"].values())

    def old(self) -> set[str]:
        """Cases since whose runs kernels have changed, their own or others."""
        states = {entry["kernels"] for entry in self.cases.values()}
        today = {digest for digest in states if is_of_today(digest)}
        return {name for name, entry in self.cases.items() if entry["kernels"] not in today}

    def totals(self, names: Iterable[str]) -> dict[str, Counter[str]]:
        """Counts by kind over the cases `names`."""
        found: dict[str, Counter[str]] = {kind: Counter() for kind in PLACES}
        for name in names:
            for kind, counts in self.cases[name]["counts"].items():
                found[kind].update(counts)
        return found


def breaks(outcome: Outcome) -> str:
    """What of the guarantees a run breaks, in words; nothing where it keeps them."""
    if outcome.flip.kind == "arena" and outcome.result in WILD:
        return f"{outcome.flip}: a flip in the arena, and the run {outcome.detail}"
    if outcome.flip.kind in CHECKED and not outcome.noticed:
        return f"{outcome.flip}: not noticed by the check, result {outcome.result}"
    return ""


def runs_of(counts: Mapping[str, int]) -> int:
    """How many runs these are."""
    return sum(counts.get(result, 0) for result in RESULTS)


def wild_of(counts: Mapping[str, int]) -> int:
    """How many of them wrote where they must not."""
    return sum(counts.get(result, 0) for result in WILD)


def _words(outcome: Outcome) -> list[str]:
    words = [outcome.result]
    if outcome.noticed:
        words.append("noticed")
        if outcome.result in WILD:
            words.append("wild_noticed")
    return words


def figures(ledger: Ledger) -> str:
    """What the runs come to, in sentences."""
    totals = ledger.totals(ledger.cases)
    arena, checked = totals["arena"], totals["weights"] + totals["parameters"]
    others = ", ".join(
        f"{_share(wild_of(totals[kind]), runs_of(totals[kind]))} in {kind}"
        for kind in ("registers", "vectors", "stack", "code")
        if totals[kind]
    )
    return (
        f"**{count(sum(map(runs_of, totals.values())))} runs of {len(ledger.cases)} bundles.** Of "
        f"{count(runs_of(arena))} flips in the arena {count(wild_of(arena))} led to a write "
        f"outside of arena and stack, {count(arena['fault'])} to a fault, "
        f"{count(arena['endless'])} to a run without end. Of "
        f"{count(runs_of(checked))} flips in constants `NAME_check` noticed "
        f"{count(checked['noticed'])}; after {count(wild_of(checked))} of these the run wrote "
        f"outside, and {count(checked['wild_noticed'])} of them were noticed. Elsewhere flips led "
        f"to such a write in {others}.{_age(ledger)}"
    )


def _age(ledger: Ledger) -> str:
    """A sentence, if not all figures are of today's kernels."""
    old = len(ledger.old())
    whose = "These figures" if old == len(ledger.cases) else f"Those of {old} bundles"
    return f" {whose} are of kernels of an earlier state." if old else ""


def documented(text: str, ledger: Ledger) -> str:
    """docs/integrity.md with today's figures."""
    begin, end = "<!-- figures -->\n", "<!-- end -->"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}{figures(ledger)}\n{end}{after}"


def page(ledger: Ledger) -> str:
    """The record for a reader."""
    lines = [
        _HEAD,
        figures(ledger),
        "",
        *_by_kind(ledger.totals(ledger.cases)),
    ]
    for core in sorted({name.rpartition(" on ")[2] for name in ledger.cases}):
        names = [name for name in ledger.cases if name.endswith(f" on {core}")]
        lines += [f"## {core}", "", *_by_kind(ledger.totals(names))]
    lines += ["## Bundles", "", *_by_case(ledger)]
    if ledger.broken:
        lines += ["## Guarantees broken", "", *(f"- {text}" for text in ledger.broken), ""]
    return "\n".join(lines)


_TITLES = {"near": "wild, RAM", "far": "wild, elsewhere"}


def _by_kind(totals: Mapping[str, Mapping[str, int]]) -> list[str]:
    head = " | ".join(_TITLES.get(result, result) for result in RESULTS)
    lines = [
        f"| place | runs | {head} | noticed by the check |",
        f"|---|{'--:|' * (len(RESULTS) + 2)}",
    ]
    for kind, counts in totals.items():
        runs = runs_of(counts)
        if runs:
            cells = [_share(counts.get(result, 0), runs) for result in RESULTS]
            noticed = _share(counts.get("noticed", 0), runs)
            lines.append(f"| {kind} | {count(runs)} | {' | '.join(cells)} | {noticed} |")
    return [*lines, ""]


def _share(part: int, whole: int) -> str:
    """A share of two digits; only nothing is 0 and only all is 100 %."""
    if part in (0, whole):
        return "100 %" if part else "0"
    return f"{min(99.9, max(0.01, 100 * part / whole)):.2g} %" if part < 0.995 * whole else ">99 %"


def _by_case(ledger: Ledger) -> list[str]:
    lines = [
        "| bundle | program | of kernels | instructions | constants | runs | arena: wild "
        "| constants: missed |",
        "|---|---|---|--:|--:|--:|--:|--:|",
    ]
    old = ledger.old()
    for name, entry in sorted(ledger.cases.items()):
        counts = {kind: Counter(entry["counts"].get(kind, {})) for kind in PLACES}
        missed = sum(runs_of(counts[kind]) - counts[kind]["noticed"] for kind in CHECKED)
        lines.append(
            f"| {name} | `{entry['digest']}` "
            f"| {'of an earlier state' if name in old else 'of today'} "
            f"| {count(entry['instructions'])} "
            f"| {count(entry['constants_bytes'])} B | {count(ledger.runs(name))} "
            f"| {count(wild_of(counts['arena']))} | {count(missed)} |"
        )
    return [*lines, ""]


if __name__ == "__main__":
    Ledger.stored().store()
