"""What became of one case of the differential test."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """What became of a seed.

    `failure` is empty where every byte is right; `refused` says why there was nothing to compare
    (the oracle does not take the network), `unmet` which request was not met, `compiler` what made
    the library that ran on this computer. `oracle` is whose outputs these had to be.
    """

    seed: int
    board: str = ""
    goal: str = ""
    modes: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    executors: tuple[str, ...] = ()
    compiler: str = ""
    oracle: str = ""
    inputs: int = 0
    refused: str = ""
    unmet: str = ""
    failure: str = ""
