"""The arena over time, for the page: columns are steps, heights are addresses."""

from __future__ import annotations

from typing import Any

from glowmcu.manifest import BufferEntry, Manifest
from glowmcu.report.arena_map import by_life, used_bytes
from glowmcu.report.short_names import layer_names

#: The picture in pixels: height of the arena, room for addresses at the left and steps below.
_HEIGHT, _LEFT, _BELOW = 320, 64, 22
_WIDEST, _STEP_LEAST, _STEP_MOST = 900, 3, 40
_COLORS = 8
_TICKS = 4


def arena_view(manifest: Manifest) -> dict[str, Any]:
    """Boxes in pixels, and what the fullest step is made of, the largest first."""
    buffers, total, steps = by_life(manifest), max(used_bytes(manifest), 1), len(manifest.layers)
    columns = steps + 2  # before the first and after the last, an input and an output are there
    step = min(max(_WIDEST / columns, _STEP_LEAST), _STEP_MOST)
    scale = _HEIGHT / total
    layers = [layer.name for layer in manifest.layers]
    names = dict(zip(layers, layer_names(layers), strict=True))
    boxes: list[dict[str, Any]] = [
        {
            "x": _LEFT + step * (item.first_step + 1),
            "y": _HEIGHT - (item.offset + item.bytes) * scale,
            "width": step * (item.last_step - item.first_step + 1),
            "height": item.bytes * scale,
            "color": index % _COLORS,
            "buffer": item,
            "name": _name(item, names),
        }
        for index, item in enumerate(buffers)
    ]
    peak, peak_bytes = _peak(buffers, steps)
    every = max(1, -(-columns * 24 // _WIDEST))
    return {
        "width": _LEFT + step * columns + 1,
        "height": _HEIGHT + _BELOW,
        "bottom": _HEIGHT,
        "left": _LEFT,
        "boxes": boxes,
        "peak": {
            "step": peak,
            "bytes": peak_bytes,
            "overlaps": sum(i.bytes for i in buffers if _is_alive(i, peak)) > peak_bytes,
            "x": _LEFT + step * (peak + 1),
            "width": step,
            "boxes": sorted(
                (box for box in boxes if _is_alive(box["buffer"], peak)),
                key=lambda box: -box["buffer"].bytes,
            ),
        },
        "addresses": [
            (total * tick // _TICKS, _HEIGHT - _HEIGHT * tick / _TICKS)
            for tick in range(_TICKS + 1)
        ],
        "steps": [(number, _LEFT + step * (number + 1.5)) for number in range(0, steps, every)],
    }


def _name(item: BufferEntry, names: dict[str, str]) -> str:
    """What it holds; a layer's own memory keeps the word that says what for."""
    base, _, use = item.name.rpartition("/")
    own = f"{names[base]}: {use}" if base in names else item.name
    return names.get(item.name, own)


def _peak(buffers: list[BufferEntry], steps: int) -> tuple[int, int]:
    """The step with most bytes of the arena in use, and how many."""
    used = {
        step: _covered([item for item in buffers if _is_alive(item, step)])
        for step in range(-1, steps + 1)
    }
    peak = max(used, key=lambda step: used[step])
    return peak, used[peak]


def _covered(buffers: list[BufferEntry]) -> int:
    """Bytes that lie in at least one: a result may take the place of what it is made of."""
    end = total = 0
    for item in sorted(buffers, key=lambda item: item.offset):
        top = item.offset + item.bytes
        total += max(0, top - max(end, item.offset))
        end = max(end, top)
    return total


def _is_alive(item: BufferEntry, step: int) -> bool:
    return item.first_step <= step <= item.last_step
