"""What the user wants least of."""

from __future__ import annotations

from enum import Enum


class Goal(Enum):
    """What kernel selection and memory planning minimise first."""

    BALANCED = "balanced"
    SPEED = "speed"
    SIZE = "size"
    RAM = "ram"
