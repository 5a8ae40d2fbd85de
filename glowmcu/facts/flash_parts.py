"""What a bundle's flash is made of: code, and constants by kind and coding."""

from __future__ import annotations

from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import LayerEntry, Manifest

CODE = "code and parameters of layers"
STATES = "what states begin as"
#: Of a bundle that an older version made, whose manifest does not say.
UNKNOWN = "constants"


@dataclass(frozen=True)
class FlashPart:
    """Bytes in flash, and decoded; `coding` is "" if they are stored as they are."""

    what: str
    coding: str
    bytes: int
    unpacked_bytes: int


def flash_parts(manifest: Manifest, code_bytes: int | None) -> tuple[FlashPart, ...]:
    """The parts, the largest first. Code comes last, if it was measured."""
    found: dict[tuple[str, str], FlashPart] = {}
    for layer in manifest.layers:
        for part in layer_parts(layer):
            key = part.what, part.coding
            known = found.get(key, FlashPart(*key, 0, 0))
            found[key] = FlashPart(
                *key, known.bytes + part.bytes, known.unpacked_bytes + part.unpacked_bytes
            )
    initial = sum(state.initial_bytes for state in manifest.states)
    if initial:
        found[STATES, ""] = FlashPart(STATES, "", initial, initial)
    parts = sorted(found.values(), key=lambda part: (-part.bytes, part.what, part.coding))
    if code_bytes is not None:
        parts.append(FlashPart(CODE, "", code_bytes, code_bytes))
    return tuple(parts)


def layer_parts(layer: LayerEntry) -> tuple[FlashPart, ...]:
    """Of the constants that count as the layer's."""
    if not layer.constants and layer.weights_bytes:
        return (FlashPart(UNKNOWN, "", layer.weights_bytes, layer.weights_bytes),)
    return tuple(
        FlashPart(part.kind, part.coding, part.bytes, part.unpacked_bytes)
        for part in layer.constants
    )


def unpacked_bytes(manifest: Manifest) -> int:
    """What all constants would take as they are."""
    return sum(part.unpacked_bytes for part in flash_parts(manifest, None))
