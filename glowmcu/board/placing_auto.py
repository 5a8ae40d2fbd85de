"""`--place auto`: what goes into the memories of a board that are quicker than its flash.

Code goes into `fast_code`. Weights, those with the most multiplications a byte first, since these
are read most often, go into what the board calls fast, then into its RAM for variables where flash
makes the core wait and that does not; of this a part stays the application's.
"""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.board.model import Board, Region
from glowmcu.lazy_dataclass import dataclass

#: Code sizes are estimates until a compiler has seen the code.
_CODE_MARGIN = 1.25
#: Stack that a firmware needs besides the arena; measured runs stay far below.
STACK_RESERVE_BYTES = 1024
#: Largest part that weights take of the room beside the application's variables.
_MOST_OF_RAM = 0.75


@dataclass(frozen=True)
class LayerFacts:
    """A layer as placing sees it; `macs` are those of one inference."""

    index: int
    name: str
    kernel: str
    macs: int
    weights_bytes: int


def arena_room(board: Board, region: Region) -> int:
    """Bytes that an arena may take of a region: a stack is left where variables go, too."""
    assert board.placement is not None
    shares = region.name == board.placement.data
    return region.size_bytes - (STACK_RESERVE_BYTES if shares else 0)


def has_quick_regions(board: Board) -> bool:
    """Whether anything is won by `--place auto`."""
    if board.placement is None:
        return False
    return bool(board.placement.fast_code or _for_weights(board))


def fill_quick_regions(
    board: Board,
    whole: dict[str, str],
    of_layer: dict[tuple[str, int], str],
    layers: Sequence[LayerFacts],
    arena: str,
    arena_bytes: int,
    code_bytes: int,
) -> None:
    """Adds rules for what the user said nothing about."""
    placement = board.placement
    assert placement is not None
    shared = {placement.data, placement.arena}
    names = dict.fromkeys(filter(None, (*_for_weights(board), placement.fast_code)))
    room = {name: arena_room(board, board.region(name)) for name in names}
    if arena in room:
        room[arena] -= arena_bytes
    code = int(code_bytes * _CODE_MARGIN)
    wanted = whole.get("code", placement.fast_code)
    if wanted and room.get(wanted, 0) >= code:
        whole["code"] = wanted
        room[wanted] -= code
    if "weights" in whole:
        return
    for name in shared & room.keys():
        if name not in (placement.fast_data, placement.fast_code):
            room[name] = int(room[name] * _MOST_OF_RAM)
    for layer in layers:
        taken = of_layer.get(("weights", layer.index), "")
        if taken in room:
            room[taken] -= layer.weights_bytes
    by_reads = sorted(
        layers, key=lambda item: (-item.macs / max(item.weights_bytes, 1), item.index)
    )
    for layer in by_reads:
        if not layer.weights_bytes or ("weights", layer.index) in of_layer:
            continue
        for name in _for_weights(board):
            if layer.weights_bytes <= room[name]:
                of_layer["weights", layer.index] = name
                room[name] -= layer.weights_bytes
                break


def _for_weights(board: Board) -> list[str]:
    """Regions that weights may be read from without waiting, the best first.

    Code that runs from an ordinary RAM needs its port for itself: weights go there only if it is
    coupled to the core.
    """
    placement = board.placement
    assert placement is not None
    found = [placement.fast_data]
    if placement.fast_code and board.region(placement.fast_code).kind == "tcm":
        found.append(placement.fast_code)
    if is_slow(board, placement.constants):
        coupled = [region.name for region in board.memory if region.kind == "tcm"]
        for name in (*coupled, placement.data, placement.arena):
            if not is_slow(board, name):
                found.append(name)
    return list(dict.fromkeys(filter(None, found)))


def is_slow(board: Board, region: str) -> bool:
    """Whether its reads make the core wait, by any of the board's timings."""
    memories = (timing.memory(region) for timing in board.timing)
    return any(memory is not None and memory.line_waits(4) > 0 for memory in memories)
