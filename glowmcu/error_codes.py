"""What each error code means and what to do about it, from error_codes.toml."""

from __future__ import annotations

import importlib
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

from glowmcu.lazy_dataclass import dataclass

_FILE = Path(__file__).with_name("error_codes.toml")
#: What the first digit says.
FAMILIES = {
    "1": "Reading a model",
    "2": "The IR and its text",
    "3": "Quantization",
    "4": "Memory",
    "5": "Kernels and the bundle's files",
    "6": "Running and verifying",
    "7": "The command line and boards",
    "9": "Bugs",
}


@dataclass(frozen=True)
class Explanation:
    """A code's title, what is behind it, and what to do."""

    code: str
    title: str
    cause: str
    remedy: str

    def text(self) -> str:
        """For a reader."""
        return f"{self.code}: {self.title}\n\n{self.cause}\n\nWhat to do: {self.remedy}"


@cache
def _content() -> dict[str, Any]:
    # The standard library has the TOML reader since Python 3.11; `tomli` is the same before that.
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    content: dict[str, Any] = toml.loads(_FILE.read_text(encoding="utf-8"))
    return content


def explanations() -> dict[str, Explanation]:
    """All codes, in order."""
    codes = sorted(name for name in _content() if name.startswith("GM"))
    return {code: Explanation(code, **_content()[code]) for code in codes}


def exit_codes() -> dict[int, str]:
    """What the shell gets, and what that says."""
    return {int(number): text for number, text in _content()["exit"].items()}


def code_of(text: str) -> str | None:
    """The code that is meant by `GM409`, `gm409`, `409` or `error[GM409]:`; None for no code."""
    found = re.fullmatch(r"(?:error)?\W*(?:gm)?[\s-]*(\d{3})\W*", text.strip(), re.IGNORECASE)
    return None if found is None else f"GM{found[1]}"


def near_codes(code: str, most: int = 3) -> list[str]:
    """The known codes next to one that is not known, by number."""
    number = int(code[2:])
    known = sorted(explanations(), key=lambda other: (abs(int(other[2:]) - number), other))
    return sorted(known[:most])


def document() -> str:
    """docs/error_codes.md."""
    lines = [
        "# Exit codes and error codes", "",
        "<!-- Written by `python -m scripts.error_codes` from glowmcu/error_codes.toml. -->", "",
        "An error says what is wrong, where, and what to try next, after a code:", "",
        "```text", 'error[GM604]: expected int8[1x8x8x1], got int8[1x4x4x1]',
        "  --> digits, input 'pixels'", "```", "",
        "`glowmcu explain GM604` says more. One code is one cause.",
        "In Python it is `GlowmcuError.code`, and `.problems` has all findings at once.", "",
        "## Exit codes", "", "| code | meaning |", "|---:|---|",
    ]  # fmt: skip
    lines += [f"| {number} | {text} |" for number, text in exit_codes().items()]
    family = ""
    for code, entry in explanations().items():
        if code[2] != family:
            family = code[2]
            lines += ["", f"## GM{family}xx: {FAMILIES[family]}"]
        lines += ["", f"### {code}: {entry.title}", "", entry.cause, "", entry.remedy]
    return "\n".join(lines) + "\n"
