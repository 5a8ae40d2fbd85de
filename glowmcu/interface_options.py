"""What a bundle's C interface has beyond one function that runs it all."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

from glowmcu.errors import error
from glowmcu.lazy_dataclass import dataclass


class Weights(Enum):
    """Whether code names its constants, or reaches them through a pointer that can be changed."""

    LINKED = "linked"
    POINTER = "pointer"


@dataclass(frozen=True)
class InterfaceOptions:
    """`steps`: a run may be done in parts, layer by layer, its progress in the arena. `labels` are
    names of the classes, None for those in the model file. `cores`: how many share a run.
    `accelerator`: the name or the file of what computes regions of the model. `prefetch`: a DMA
    copies weights while the step before runs.
    """

    steps: bool = False
    labels: tuple[str, ...] | None = None
    weights: Weights = Weights.LINKED
    cores: int = 1
    accelerator: str = ""
    prefetch: bool = False

    @property
    def text(self) -> dict[str, str]:
        """What the bundle says of it; what is not used is not named."""
        steps = {"run_steps": "yes"} if self.steps else {}
        exchanged = self.weights is Weights.POINTER
        cores = {"cores": str(self.cores)} if self.cores > 1 else {}
        device = {"accelerator": Path(self.accelerator).name} if self.accelerator else {}
        ahead = {"prefetch": "yes"} if self.prefetch else {}
        weights = {"weights": self.weights.value} if exchanged else {}
        return steps | weights | cores | device | ahead

    def check(self, streamed_input: str | None, file_name: str) -> None:
        """Raises GM626 for a run in parts of a bundle whose input comes in parts."""
        if self.steps and streamed_input is not None:
            raise error(
                "GM626",
                f"input {streamed_input!r} is streamed: "
                "no function runs it all that could stop between",
                file_name,
                "leave out --steps or --stream-input: each call of NAME_push_rows does the work of "
                "its rows only",
            )
