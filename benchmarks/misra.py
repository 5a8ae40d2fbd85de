"""Bundles for every family of cores under cppcheck's MISRA C:2012 addon: benchmarks/misra.md.

    python -m benchmarks.misra [--bundle NAME] [--page]

A finding of a Required rule without a deviation for its place (`glowmcu.emit_c.misra_record`) is
printed and fails the run, as does a deviation that no finding needs. `--page` also writes
docs/misra.md, which says the same of what is emitted.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.random_layers import random_model
from glowmcu.compilation import Options
from glowmcu.emit_c.assembly_text import assembly_strings
from glowmcu.emit_c.misra import category, disapplied_table, explains, places, table
from glowmcu.emit_c.misra_record import DEVIATIONS, DISAPPLIED
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.input_options import InputOptions
from glowmcu.interface_options import InterfaceOptions
from glowmcu.pipeline import compile_model
from glowmcu.resources import headers_in, resource_dir
from tests.bundle.models import SHARED, digits, float_borders, rows_and_offsets
from tests.support.check_model import write_bundle
from tests.support.misra import Finding, findings
from tests.support.stream_models import random_stream_model

REPO = Path(__file__).resolve().parents[1]
PAGE = Path(__file__).resolve().with_suffix(".md")
DOCUMENT = REPO / "docs" / "misra.md"
_CORES = ("cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m33", "cortex-m55", "generic")
_FAMILIES = (
    "conv_2d", "depthwise_conv_2d", "fully_connected", "elementwise", "reduction",
    "conv_2d of int16", "depthwise_conv_2d of int16",
)  # fmt: skip


@dataclass(frozen=True)
class Checked:
    """A bundle's model and how it is compiled."""

    model: Callable[[], bytes]
    core: str
    streamed: tuple[str, ...] = ()
    cores: int = 1

    def write(self, folder: Path) -> Path:
        """The bundle `net` in `folder`."""
        options = Options(
            "net",
            core=self.core,
            inputs=InputOptions(streamed=self.streamed),
            interface=InterfaceOptions(cores=self.cores),
        )
        return write_bundle(compile_model(self.model(), "net.tflite", options), folder)


def _shared(name: str) -> bytes:
    return (SHARED / f"{name}.tflite").read_bytes()


def _softmax_of_int16() -> bytes:
    model = ModelBuilder()
    x = model.input("x", (2, 10), "int16", 1 / 4096, 0)
    y = model.tensor("y", (2, 10), "int16", 1 / 32768, 0)
    model.op("SOFTMAX", [x], [y], {"beta": 1.0})
    model.output(y)
    return model.finish()


def bundles() -> dict[str, Checked]:
    """All that is checked, by name."""
    found = {f"digits, {core}": Checked(digits, core) for core in _CORES}
    found["digits on two cores, cortex-m0plus"] = Checked(digits, "cortex-m0plus", cores=2)
    found["rows streamed, cortex-m4"] = Checked(rows_and_offsets, "cortex-m4", ("lines",))
    found["float borders, cortex-m4"] = Checked(float_borders, "cortex-m4")
    found["softmax of int16, cortex-m4"] = Checked(_softmax_of_int16, "cortex-m4")
    found["stream, cortex-m4"] = Checked(partial(random_stream_model, 6), "cortex-m4")
    for core in ("cortex-m0plus", "cortex-m4", "cortex-m55"):
        for name in ("kws_int8", "sww_int8", "kws_float"):
            found[f"{name}, {core}"] = Checked(partial(_shared, name), core)
        for family in _FAMILIES:
            model = partial(random_model, family, 5, range(8))
            found[f"random {family}, {core}"] = Checked(model, core)
    return found


def unexplained(found: Iterable[Finding]) -> list[Finding]:
    """Findings of rules that are not Advisory without a deviation for their place, and Advisory
    ones of a rule that is not disapplied.
    """
    disapplied = {item.rule for item in DISAPPLIED}
    return [
        item
        for item in found
        if item.rule not in disapplied and not explains(DEVIATIONS, item.rule, item.file, item.code)
    ]


def needed(found: Iterable[Finding]) -> Counter[str]:
    """How many findings each deviation explains, by its key."""
    keys = Counter[str]()
    for item in found:
        keys.update(d.key for d in explains(DEVIATIONS, item.rule, item.file, item.code))
    return keys


def emitted() -> dict[str, str]:
    """All C that can be emitted: headers, and templates under the names of what they make."""
    code = {
        name: path.read_text("utf-8") for name, path in headers_in(resource_dir("libjit")).items()
    }
    templates = resource_dir("templates")
    for path in sorted((*templates.glob("kernels/**/*.j2"), *templates.glob("bundle/*.j2"))):
        code[path.name.removesuffix(".j2")] = path.read_text("utf-8")
    code["assembly.c"] = assembly_strings(("ldr r2, [r1, \\x]",))  # what macros in all of them have
    return code


def document() -> str:
    """docs/misra.md: where deviations stand."""
    head = (REPO / "docs" / "misra_head.md").read_text("utf-8")
    found = places(DEVIATIONS, emitted())
    return (
        f"{head}\n## Deviations\n\n{table(found)}\n"
        f"## Advisory rules that are disapplied\n\n{disapplied_table(DISAPPLIED)}"
    )


def page(rows: Mapping[str, Counter[str]], counts: Counter[str]) -> str:
    """benchmarks/misra.md."""
    lines = [
        "# MISRA C:2012 findings in bundles",
        "",
        "By cppcheck's addon, as `python -m benchmarks.misra --page` ran it; the deviations are in",
        "[docs/misra.md](../docs/misra.md). Every finding that is not Advisory has one.",
        "",
        "| bundle | Required | by rule | Advisory |",
        "|---|--:|---|--:|",
    ]
    for name, rules in rows.items():
        required = {rule: n for rule, n in rules.items() if category(rule) != "Advisory"}
        text = ", ".join(f"{rule} ({n})" for rule, n in sorted(required.items(), key=_by_number))
        all_required = sum(required.values())
        lines.append(f"| {name} | {all_required} | {text} | {rules.total() - all_required} |")
    lines += ["", "| deviation | rule | findings |", "|---|---|--:|"]
    lines += [f"| {item.key} | {item.rule} | {counts[item.key]} |" for item in DEVIATIONS]
    return "\n".join([*lines, ""])


def _by_number(item: tuple[str, int]) -> tuple[int, ...]:
    return tuple(int(part) for part in item[0].split("."))


def main() -> None:
    """Exit code 1 when something is unexplained or, over all bundles, a deviation is stale."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.misra")
    parser.add_argument("--bundle", action="append", choices=list(bundles()))
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    rows: dict[str, Counter[str]] = {}
    counts: Counter[str] = Counter()
    wrong: list[Finding] = []
    for name in given.bundle or bundles():
        with tempfile.TemporaryDirectory() as folder:
            found = findings(bundles()[name].write(Path(folder) / "net"), bundles()[name].core)
        rows[name] = Counter(item.rule for item in found)
        counts += needed(found)
        wrong += unexplained(found)
        print(f"{name}: {len(found)} findings, {len(unexplained(found))} unexplained", flush=True)
    looked_for = [] if given.bundle else [item for item in DEVIATIONS if not item.newer]
    stale = [item.key for item in looked_for if not counts[item.key]]
    for item in dict.fromkeys(wrong):
        print(f"Rule {item.rule} at {item.file}: {item.code}")
    print(*(f"{key}: no finding needs it" for key in stale), sep="\n")
    if given.page:
        PAGE.write_text(page(rows, counts), encoding="utf-8")
        DOCUMENT.write_text(document(), encoding="utf-8")
    raise SystemExit(1 if wrong or stale else 0)


if __name__ == "__main__":
    main()
