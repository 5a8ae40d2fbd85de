"""What simplification found, as a bundle's manifest says it."""

from __future__ import annotations

from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True)
class SimplifiedLayer:
    """A layer that lost output channels, which never change or nobody reads, or input channels."""

    name: str
    op: str
    channels_before: int
    channels_after: int
    constant_channels: int
    unread_channels: int
    macs_saved: int
    weights_bytes_saved: int


@dataclass(frozen=True)
class SimplificationEntry:
    """What interval analysis proved not to matter. Weights in bytes of the model's own type.

    By the name of their result: nodes that became constants, nodes that are no more, operators
    whose clamp never binds.
    """

    macs_before: int
    macs_after: int
    weights_bytes_before: int
    weights_bytes_after: int
    layers: tuple[SimplifiedLayer, ...]
    constant_results: tuple[str, ...]
    removed_nodes: tuple[str, ...]
    dropped_clamps: tuple[str, ...]
