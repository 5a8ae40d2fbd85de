"""What a bundle tells an observer while it runs."""

from __future__ import annotations

from enum import Enum


class Instrument(Enum):
    """How much; each includes the ones before."""

    #: Nothing: no code, no data.
    OFF = "off"
    #: Before and after every step.
    STEPS = "steps"
    #: What the step made, too.
    TENSORS = "tensors"

    @classmethod
    def of(cls, instrument: bool, dump_tensors: bool) -> Instrument:
        """By the options of the command line."""
        if dump_tensors:
            return cls.TENSORS
        return cls.STEPS if instrument else cls.OFF
