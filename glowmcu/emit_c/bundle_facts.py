"""What is known of a bundle besides its program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from glowmcu.delegated import DelegationNotes
from glowmcu.emit_c.golden_text import GoldenVector
from glowmcu.emit_c.packages.package import Packaging
from glowmcu.emit_c.placement_text import Placed
from glowmcu.emit_c.sized_layers import SizedProgram
from glowmcu.instrument import Instrument
from glowmcu.interface_options import Weights
from glowmcu.ir.run_progress import RunProgress
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import PipelineEntry
from glowmcu.quality import QualityEntry
from glowmcu.simplified import SimplificationEntry
from glowmcu.stack_use import KnownCosts
from glowmcu.training import TrainingEntry


@dataclass(frozen=True)
class BundleFacts:
    """What is known of a bundle besides its program."""

    name: str
    tool_version: str
    model_file: str
    model_sha256: str
    board: str
    options: Mapping[str, str]
    arena_bytes: int
    arena_lower_bound_bytes: int
    arena_align: int
    #: `double`, `single`, or `mixed` where it depends on the layer.
    rounding: str
    exact_outputs: tuple[bool, ...]
    rounded_outputs: tuple[bool, ...]
    vectors: tuple[GoldenVector, ...] = ()
    simplification: SimplificationEntry | None = None
    packaging: Packaging = field(default_factory=Packaging)
    instrument: Instrument = Instrument.OFF
    placed: Placed | None = None
    extra_macs: int = 0
    progress: RunProgress | None = None
    labels: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    string_inputs: tuple[str, ...] = ()
    costs: KnownCosts | None = None
    weights: Weights = Weights.LINKED
    pipeline: PipelineEntry | None = None
    sized: SizedProgram | None = None
    quality: tuple[QualityEntry, ...] = ()
    training: TrainingEntry | None = None
    delegation: DelegationNotes | None = None

    @property
    def asked(self) -> frozenset[str]:
        """Inputs and outputs that learning added to those of the model."""
        return frozenset() if self.training is None else frozenset(self.training.tensors)
