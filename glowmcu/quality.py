"""What a quantization lost against float, as a bundle's manifest says it, and what is too much.

SQNR is the signal to quantization noise of the outputs; agreement the share of decisions (the class
with the largest score) that are float's.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from glowmcu.errors import GlowmcuError, error
from glowmcu.lazy_dataclass import dataclass
from glowmcu.typed_json import typed

#: Below these a quantization is warned of. At 25 dB the error is an eighteenth of the signal; of 50
#: decisions one may fall on the border between two classes.
LOW_SQNR_DB = 25.0
LOW_AGREEMENT = 0.98
#: Less along a sequence than in single runs: errors add up from run to run.
_DRIFT_DB = 3.0
#: An SQNR that stands for outputs without any error; the opposite one for a signal that is lost.
BEST_DB = 200.0


class Origin(Enum):
    """Samples that were judged on: kept from calibration, the very ones of it, or given beside a
    profile.
    """

    HELD_BACK = "held back"
    CALIBRATION = "calibration"
    GIVEN = "given"


@dataclass(frozen=True)
class Figures:
    """`sqnr_db` is None if no output is a real number, `agreement` if none is a decision; of
    `decisions` compared, `differing` are not float's. Of samples that are `labelled`, `right` are
    decided as their labels say, and `float_right` by the float model.
    """

    sqnr_db: float | None
    agreement: float | None
    decisions: int
    differing: int
    labelled: int = 0
    right: int = 0
    float_right: int = 0

    def shortfalls(self, demands: Demands) -> tuple[str, ...]:
        """What is too low, in words. That a single decision differs is chance, unless all must
        agree that are demanded to.
        """
        found = []
        low_db = LOW_SQNR_DB if demands.sqnr_db is None else demands.sqnr_db
        if self.sqnr_db is not None and self.sqnr_db < low_db:
            found.append(f"SQNR is {self.sqnr_db:.1f} dB, below {low_db:g} dB")
        low = LOW_AGREEMENT if demands.agreement is None else demands.agreement / 100
        is_chance = self.differing <= 1 and demands.agreement is None
        if self.agreement is not None and self.agreement < low and not is_chance:
            found.append(f"{self.agreement_text}, less than {percent(low)}")
        return tuple(found)

    @property
    def agreement_text(self) -> str:
        """`51 of 52 decisions (98.1 %) are float's`."""
        same = self.decisions - self.differing
        share = percent(self.agreement or 0.0)
        return f"{same} of {self.decisions} decisions ({share}) are float's"

    @property
    def accuracy_text(self) -> str:
        """`96.2 % right (float 98.1 %)`, of samples with labels."""
        right, by_float = (
            percent(count / self.labelled) for count in (self.right, self.float_right)
        )
        return f"{right} right (float {by_float})"

    @property
    def text(self) -> str:
        """All of them, as far as they are known."""
        parts = []
        if self.sqnr_db is not None:
            parts.append("no error" if self.sqnr_db >= BEST_DB else f"SQNR {self.sqnr_db:.1f} dB")
        if self.agreement is not None:
            parts.append(self.agreement_text)
        if self.labelled:
            parts.append(self.accuracy_text)
        return ", ".join(parts) or "no output that could be compared"


@dataclass(frozen=True)
class HarmfulLayer:
    """A layer and its part in the error of the outputs; `node` is its name for options, empty for
    the mere conversion of a tensor.
    """

    node: str
    tensor: str
    op: str
    share: float


@dataclass(frozen=True)
class RemedyEntry:
    """Options of `compile` that were tried, what they come to and what they cost more, as estimated
    for the target. `is_enough`: with them nothing is left to warn of.
    """

    arguments: str
    figures: Figures
    cycles: int
    arena_bytes: int
    flash_bytes: int
    is_enough: bool


@dataclass(frozen=True)
class TriedEntry:
    """One of the choices that were compared, `defaults` or in the words of `compile`'s options, on
    parts of the samples that took turns at calibrating and judging. `loss` is how far outputs are
    from float's, as a share of what the default options lose.
    """

    choice: str
    figures: Figures
    loss: float
    is_chosen: bool


@dataclass(frozen=True)
class LayerBitsEntry:
    """A layer that could have weights of four bits, and what was chosen for it. `loss` is how far
    outputs are from float's where it alone has four, as a share of what they are if none has.
    """

    node: str
    op: str
    weights: int
    loss: float
    bits: int


@dataclass(frozen=True)
class QualityEntry:
    """`worst` are the most harmful layers, `shortfalls` what is too low, `remedies` what was found
    to help, `tried` the choices among which these options were found, the best first; `notes` say
    what was taken for granted of the samples. `stage` names the model in a pipeline. Of a model
    with states `figures` are of single runs, each from float's states, and `streamed` those along
    whole sequences with its own, by which `shortfalls`, `worst` and `remedies` go.
    """

    figures: Figures
    samples: int
    origin: str
    worst: tuple[HarmfulLayer, ...] = ()
    shortfalls: tuple[str, ...] = ()
    remedies: tuple[RemedyEntry, ...] = ()
    stage: str = ""
    tried: tuple[TriedEntry, ...] = ()
    notes: tuple[str, ...] = ()
    bits: tuple[LayerBitsEntry, ...] = ()
    streamed: Figures | None = None

    @property
    def held(self) -> Figures:
        """What is held to demands."""
        return self.figures if self.streamed is None else self.streamed

    @property
    def drifts(self) -> bool:
        """Whether errors of single runs add up to one that is to be warned of."""
        single, along = self.figures.sqnr_db, self.held.sqnr_db
        if single is None or along is None:
            return False
        return along < min(LOW_SQNR_DB, single - _DRIFT_DB)


@dataclass(frozen=True)
class Demands:
    """What a quantization has to come to: decibels, and decisions in per cent; None for any."""

    sqnr_db: float | None = None
    agreement: float | None = None

    @staticmethod
    def of(sqnr_db: float | None, agreement: float | None) -> Demands:
        """Raises GM325 for numbers that nothing could come to."""
        if sqnr_db is not None and not math.isfinite(sqnr_db):
            raise error("GM325", f"--require-sqnr takes decibels, as 30; got {sqnr_db}")
        if agreement is not None and not 0 <= agreement <= 100:
            raise error("GM325", f"--require-agreement takes 0 to 100 per cent; got {agreement}")
        return Demands(sqnr_db, agreement)

    @property
    def are_made(self) -> bool:
        """Whether there are any."""
        return self.sqnr_db is not None or self.agreement is not None


def shortfalls_of(figures: Figures, streamed: Figures | None, demands: Demands) -> tuple[str, ...]:
    """What is too low, along sequences where these were measured."""
    if streamed is None:
        return figures.shortfalls(demands)
    return tuple(f"along whole sequences {text}" for text in streamed.shortfalls(demands))


def unmeasured(name: str) -> GlowmcuError:
    """GM324 if something was demanded and nothing is known."""
    return error(
        "GM324",
        "nothing was measured that --require-sqnr or --require-agreement could be held to",
        name,
        "give samples: --samples DATA, beside a profile as well",
    )


def percent(share: float) -> str:
    """`98.4 %`; what is not all never reads as all."""
    text = f"{100 * share:.1f}"
    return "99.9 %" if text == "100.0" and share < 1 else f"{text.removesuffix('.0')} %"


def quality_record(entries: Sequence[QualityEntry]) -> list[dict[str, Any]]:
    """The entries as JSON, which `quality_of` reads."""
    return [dataclasses.asdict(entry) for entry in entries]


def quality_of(rows: Sequence[Mapping[str, Any]]) -> tuple[QualityEntry, ...]:
    """The entries of a record. Raises ValueError, KeyError for what is none."""
    entries: tuple[QualityEntry, ...] = typed(rows, tuple[QualityEntry, ...], "quality")
    return entries
