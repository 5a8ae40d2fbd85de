"""Which region arena, weights and code go to: the board's defaults, then the user's `--place`.

Layers are named by their number, their name, a part of it that only one has, or their kernel.
`auto` fills quick regions (`placing_auto.py`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from glowmcu.board.model import Board, Region
from glowmcu.board.placing_auto import (
    LayerFacts,
    arena_room,
    fill_quick_regions,
    has_quick_regions,
)
from glowmcu.errors import GlowmcuError, Problem
from glowmcu.lazy_dataclass import dataclass

AUTO = "auto"
_WHATS = ("arena", "weights", "code")


@dataclass(frozen=True)
class PlacementRequest:
    """`rules`: `arena`, `weights`, `code`, `weights:LAYER`, `code:LAYER` to a region's name, and
    `auto` to itself.
    """

    board: Board | None = None
    rules: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Places:
    """Regions by name; "" is where the firmware's linker script puts such things anyway.

    `weights` and `layer_code` are by layer; `code` is where all code goes that is no layer's own.
    """

    arena: str = ""
    code: str = ""
    weights: tuple[str, ...] = ()
    layer_code: tuple[str, ...] = ()


def place(
    request: PlacementRequest, layers: Sequence[LayerFacts], arena_bytes: int, code_bytes: int
) -> Places:
    """Places for a bundle on the board. `code_bytes` is an estimate.

    Raises GM404 (no such region), GM405 (nothing that can be placed), GM406 (a region that cannot
    hold it), GM407 (no such layer): all problems at once.
    """
    board = request.board
    if board is None or board.placement is None:
        if request.rules:
            raise GlowmcuError([_no_regions(board)])
        return Places(weights=("",) * len(layers), layer_code=("",) * len(layers))
    rules = _Rules(board, request.rules, layers)
    if rules.problems:
        raise GlowmcuError(rules.problems)
    arena = rules.whole.get("arena") or _default_arena(board, arena_bytes)
    if AUTO in request.rules:
        fill_quick_regions(
            board, rules.whole, rules.of_layer, layers, arena, arena_bytes, code_bytes
        )
    code = _unless(rules.whole.get("code", ""), board.placement.code)
    weights = _unless(rules.whole.get("weights", ""), board.placement.constants)
    return Places(
        _unless(arena, board.placement.arena),
        code,
        tuple(rules.region("weights", layer, weights) for layer in layers),
        tuple(rules.region("code", layer, code) for layer in layers),
    )


def room_for_arena(request: PlacementRequest, arena_bytes: int) -> int | None:
    """Bytes that an arena of that size could grow to in its region; None if no region is known."""
    board = request.board
    if board is None or board.placement is None:
        return None
    name = request.rules.get("arena") or _default_arena(board, arena_bytes)
    found = [region for region in board.memory if region.name == name]
    return arena_room(board, found[0]) if found else None


def arena_region(board: Board, places: Places) -> Region:
    """The region of the arena, on a board with regions."""
    assert board.placement is not None
    return board.region(places.arena or board.placement.arena)


def _unless(region: str, default: str) -> str:
    return "" if region == default else region


def _default_arena(board: Board, arena_bytes: int) -> str:
    assert board.placement is not None
    fast = board.placement.fast_data
    if fast and arena_bytes <= arena_room(board, board.region(fast)):
        return fast
    return board.placement.arena


class _Rules:
    """The user's rules, resolved: `whole` by what, `of_layer` by what and layer."""

    def __init__(
        self, board: Board, rules: Mapping[str, str], layers: Sequence[LayerFacts]
    ) -> None:
        self.board = board
        self.problems: list[Problem] = []
        self.whole: dict[str, str] = {}
        self.of_layer: dict[tuple[str, int], str] = {}
        for text, region in rules.items():
            if text == AUTO:
                self._check_auto()
                continue
            what, _, word = text.partition(":")
            self._check(text, what, region)
            if what in _WHATS and not word:
                self.whole[what] = region
            elif what in _WHATS[1:]:
                for layer in self._layers(text, word, layers):
                    self.of_layer[what, layer.index] = region

    def region(self, what: str, layer: LayerFacts, default: str) -> str:
        """Where the weights or the code of a layer go."""
        placement = self.board.placement
        assert placement is not None
        usual = placement.code if what == "code" else placement.constants
        found = self.of_layer.get((what, layer.index))
        return default if found is None else _unless(found, usual)

    def _check(self, text: str, what: str, region: str) -> None:
        rule = f"--place {text}={region}"
        if what not in _WHATS or (what == "arena" and ":" in text):
            near = difflib.get_close_matches(what, _WHATS, n=1)
            meant = f"did you mean {near[0]!r}? " if near else ""
            known = "arena, weights, code, weights:LAYER, code:LAYER and auto can be placed"
            self.problems.append(
                Problem("GM405", f"{text!r} cannot be placed", rule, meant + known)
            )
        names = [item.name for item in self.board.memory]
        if region not in names:
            self.problems.append(_unknown_region(self.board, region, names, rule))
        elif what == "arena" and self.board.region(region).kind == "flash":
            hint = "the arena is written: name RAM"
            self.problems.append(Problem("GM406", f"region {region!r} is flash", rule, hint))

    def _check_auto(self) -> None:
        if not has_quick_regions(self.board):
            message = f"{self.board.name} has no memory that is quicker than where things are"
            hint = (
                "leave it out, or set fast_data or fast_code in the [placement] of the board's file"
            )
            self.problems.append(Problem("GM406", message, "--place auto", hint))

    def _layers(self, text: str, word: str, layers: Sequence[LayerFacts]) -> Iterator[LayerFacts]:
        found = layers_called(word, layers)
        if len(found) == 1 or (found and all(layer.kernel == word for layer in found)):
            yield from found
            return
        names = [layer.name for layer in layers]
        if found:
            hint = "; ".join(f"{layer.index} is {layer.name!r}" for layer in found[:4])
            message = f"{word!r} is part of the names of {len(found)} layers"
        else:
            near = difflib.get_close_matches(word, [*names, *_words(names)], n=2, cutoff=0.5)
            meant = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
            last = len(names) - 1
            hint = f"{meant}a layer's number is in the table that compile prints: 0 to {last}"
            message = f"no layer and no kernel is called {word!r}"
        self.problems.append(Problem("GM407", message, f"--place {text}", hint))


def layers_called(word: str, layers: Sequence[LayerFacts]) -> list[LayerFacts]:
    """The layers that `word` means: by number, kernel, name or a part of the name."""
    if word.isdecimal():
        return [layer for layer in layers if layer.index == int(word)]
    by_kernel = [layer for layer in layers if layer.kernel == word]
    by_name = [layer for layer in layers if layer.name == word]
    return by_kernel or by_name or [layer for layer in layers if word in layer.name]


def _words(names: Sequence[str]) -> list[str]:
    """Parts of the names that TensorFlow joins."""
    parts = {part for name in names for path in name.split(";") for part in path.split("/")}
    return sorted(parts)


def _no_regions(board: Board | None) -> Problem:
    name = "no board" if board is None else board.name
    hint = "say which board it is for: --board nucleo-h743zi; `glowmcu boards` lists them"
    return Problem("GM404", f"{name} has no memory regions to place things in", "--place", hint)


def _unknown_region(board: Board, region: str, names: list[str], rule: str) -> Problem:
    near = difflib.get_close_matches(region, names, n=1, cutoff=0.5)
    meant = f"did you mean {near[0]!r}? " if near else ""
    listed = ", ".join(
        f"{item.name} ({item.kind}, {item.size_bytes // 1024} KiB)" for item in board.memory
    )
    message = f"{board.name} has no region {region!r}"
    return Problem("GM404", message, rule, f"{meant}it has {listed}")
