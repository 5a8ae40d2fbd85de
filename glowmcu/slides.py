"""Which input is a window that slides, by how much, along which of its axes: `--slide x=2@3`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from glowmcu.errors import GlowmcuError, error
from glowmcu.lazy_dataclass import dataclass
from glowmcu.name_lists import pairs_text, read_pairs


@dataclass(frozen=True)
class Slide:
    """`rows` of a window are new in a run; they lie in `axis` of the input, or without one where
    layers see its height.
    """

    rows: int
    axis: int | None = None

    def __str__(self) -> str:
        return str(self.rows) if self.axis is None else f"{self.rows}@{self.axis}"


#: As Python takes it: rows, or as on the command line.
GivenSlide = int | str | Slide


def slides_of(given: Mapping[str, GivenSlide]) -> dict[str, Slide]:
    """By input. Raises GM732 for what is neither a number of rows nor `ROWS@AXIS`."""
    return {
        name: slide if isinstance(slide, Slide) else slide_of(name, str(slide))
        for name, slide in given.items()
    }


def slide_of(name: str, text: str) -> Slide:
    """Of `2` or `2@3`. Raises GM732."""
    found = re.fullmatch(r"([1-9]\d{0,8})(?:@(\d))?", text)
    if not name or found is None:
        raise unfit(f"{name}={text}")
    return Slide(int(found[1]), int(found[2]) if found[2] else None)


def unfit(text: str) -> GlowmcuError:
    return error(
        "GM732",
        "--slide takes NAME=ROWS, the number of rows that are new in a run, or NAME=ROWS@AXIS, "
        f"got {text!r}",
        hint="for example --slide input_1=2, or --slide spectrogram=2@3 where time is axis 3",
    )


def slides_text(slides: Mapping[str, Slide]) -> str:
    """Inputs that slide with their hops, as a bundle's options say it."""
    return pairs_text({name: str(slide) for name, slide in slides.items()})


def read_slides(text: str) -> dict[str, Slide]:
    """The inverse of `slides_text`."""
    return slides_of(read_pairs(text))
