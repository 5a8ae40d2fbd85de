"""Regions in C and for the linker: sections, their macros, and which region each belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from glowmcu.board import Board, Places
from glowmcu.emit_c.c_text import c_identifier, comment_text
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import PlacementEntry


class PlacedArray(Protocol):
    """What placing needs of an `ArrayView`."""

    @property
    def region(self) -> str: ...
    @property
    def size_bytes(self) -> int: ...


@dataclass(frozen=True)
class Placed:
    """Where a bundle's parts go on a board."""

    board: Board
    places: Places


@dataclass(frozen=True)
class SectionView:
    """Things of one kind (`arena`, `weights`, `code`) in one region: macro and section."""

    kind: str
    region: str
    macro: str
    section: str


@dataclass(frozen=True)
class RegionView:
    """A region in the linker fragment. `load_region` holds the image of what is copied at start,
    empty if nothing is: in flash it stays where it is.
    """

    name: str
    symbol: str
    note: str
    initialised: tuple[SectionView, ...]
    arena: SectionView | None
    load_region: str


@dataclass(frozen=True)
class PlacementView:
    """Everything of a bundle that has a section of its own."""

    board: str
    sections: tuple[SectionView, ...]
    regions: tuple[RegionView, ...]

    @property
    def copied(self) -> tuple[RegionView, ...]:
        """Regions that have to be filled before the first run."""
        return tuple(region for region in self.regions if region.load_region)


def section_of(name: str, kind: str, region: str) -> SectionView:
    """The section of the bundle `name` for `kind` in `region`.

    An arena's is called like what start-up code clears, so that it is RAM under any script.
    """
    word = c_identifier(region)
    part = "ARENA" if kind == "arena" else f"{kind}_{word}".upper()
    start = ".bss." if kind == "arena" else "."
    section = f"{start}glowmcu_{kind}_{word}.{name}"
    return SectionView(kind, region, f"{name.upper()}_{part}_SECTION", section)


def placement_view(
    name: str, placed: Placed | None, arrays: Sequence[PlacedArray], code: Sequence[str]
) -> PlacementView | None:
    """What the bundle `name` puts elsewhere; None if everything is where such things go. `code`
    are the regions of the steps' code.
    """
    if placed is None:
        return None
    places = placed.places
    sections = [
        *_sections(name, "arena", [places.arena]),
        *_sections(name, "code", [places.code, *code]),
        *_sections(name, "weights", [array.region for array in arrays]),
    ]
    if not sections:
        return None
    regions = dict.fromkeys(section.region for section in sections)
    views = tuple(_region_view(name, placed.board, region, sections) for region in regions)
    return PlacementView(placed.board.name, tuple(sections), views)


def _sections(name: str, kind: str, regions: Iterable[str]) -> list[SectionView]:
    return [section_of(name, kind, region) for region in dict.fromkeys(filter(None, regions))]


def _region_view(
    name: str, board: Board, region_name: str, sections: list[SectionView]
) -> RegionView:
    assert board.placement is not None
    region = board.region(region_name)
    here = [section for section in sections if section.region == region_name]
    initialised = tuple(section for section in here if section.kind != "arena")
    arena = next((section for section in here if section.kind == "arena"), None)
    is_copied = bool(initialised) and region.kind != "flash"
    return RegionView(
        region_name,
        f"{name}_{c_identifier(region_name)}",
        comment_text(f"{region.kind}, {region.size_bytes} B"),
        initialised,
        arena,
        board.placement.constants if is_copied else "",
    )


def placement_entries(
    name: str,
    placed: Placed | None,
    arena_bytes: int,
    weights_bytes: Sequence[int],
    arrays: Sequence[PlacedArray],
    code: Sequence[str],
) -> tuple[PlacementEntry, ...]:
    """What lies where, for the manifest; nothing on a board without regions. `weights_bytes` and
    `code` (regions) are by step.
    """
    if placed is None or placed.board.placement is None:
        return ()
    places = placed.places
    board = placed.board
    entries = [_entry(name, board, "arena", places.arena, arena_bytes, ())]
    for region in dict.fromkeys(array.region for array in arrays):
        size = sum(array.size_bytes for array in arrays if array.region == region)
        layers = [
            index
            for index, (place, own) in enumerate(zip(places.weights, weights_bytes, strict=True))
            if own and place == region
        ]
        entries.append(_entry(name, board, "weights", region, size, layers))
    for region in dict.fromkeys([places.code, *code]):
        layers = [index for index, place in enumerate(code) if place == region]
        entries.append(_entry(name, board, "code", region, None, layers))
    return tuple(entries)


def _entry(
    name: str, board: Board, kind: str, region: str, size: int | None, layers: Sequence[int]
) -> PlacementEntry:
    usual = board.placement
    assert usual is not None
    if not region:
        there = {"arena": usual.arena, "weights": usual.constants, "code": usual.code}[kind]
        return PlacementEntry(kind, there, "", size, tuple(layers))
    section = section_of(name, kind, region).section
    is_copied = kind != "arena" and board.region(region).kind != "flash"
    image = usual.constants if is_copied else ""
    return PlacementEntry(kind, region, section, size, tuple(layers), image)
