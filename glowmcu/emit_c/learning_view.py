"""The API of a bundle that learns: what templates say of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from glowmcu.emit_c.build_views import Layers
from glowmcu.emit_c.stream_view import StateView
from glowmcu.emit_c.views import StepView, TensorView
from glowmcu.ir.cascade import Cascade
from glowmcu.ir.program import Program
from glowmcu.lazy_dataclass import dataclass
from glowmcu.training import TrainingEntry

#: Of saved parameters: a word that says what it is, the format, whose they are, how many bytes
#: follow, and the sum of all of it.
HEADER_BYTES = 4 + 4 + 16 + 4 + 4


@dataclass(frozen=True)
class LearningPart:
    """Steps behind each other that infer, or that learn."""

    function: str
    learns: bool
    steps: tuple[StepView, ...]


@dataclass(frozen=True)
class SettingView:
    """A number that the application may change, at `place` in the arena."""

    name: str
    place: int


@dataclass(frozen=True)
class LearningView:
    """`label` asks for learning; `target` is what an output should be, where there is no class."""

    entry: TrainingEntry
    label: TensorView
    target: TensorView | None
    loss: TensorView
    data: tuple[TensorView, ...]
    parts: tuple[LearningPart, ...]
    parameters: tuple[StateView, ...]
    momenta: tuple[StateView, ...]
    settings: tuple[SettingView, ...]

    @property
    def tensors(self) -> tuple[TensorView, ...]:
        """Inputs and outputs that the model does not have."""
        return tuple(item for item in (self.label, self.target, self.loss) if item is not None)

    @property
    def asked(self) -> TensorView:
        """What NAME_train is told to learn."""
        return self.target or self.label

    @property
    def parameter_bytes(self) -> int:
        """What saved parameters take."""
        return HEADER_BYTES + self.entry.parameter_bytes

    @property
    def digest_bytes(self) -> tuple[str, ...]:
        """C literals."""
        return tuple(f"0x{byte:02x}u" for byte in bytes.fromhex(self.entry.digest))


def learning_view(
    program: Program,
    body: Layers,
    inputs: Sequence[TensorView],
    outputs: Sequence[TensorView],
    entry: TrainingEntry | None,
) -> LearningView | None:
    """None for a bundle that does not learn."""
    if entry is None:
        return None
    assert body.stream is not None, "parameters are states"
    names = [state.buffer.name for state in program.states]
    views = dict(zip(names, body.stream.states, strict=True))
    places = {state.buffer.name: program.offset(state.buffer) for state in program.states}
    given = dict(zip((buffer.name for buffer in program.inputs), inputs, strict=True))
    shown = dict(zip((buffer.name for buffer in program.outputs), outputs, strict=True))
    return LearningView(
        entry,
        given[entry.argument],
        given.get(entry.target),
        shown[entry.loss],
        tuple(view for name, view in given.items() if name not in entry.tensors),
        tuple(_parts(program, body.steps)),
        tuple(views[name] for name in entry.parameters),
        tuple(views[name] for name in entry.momenta),
        tuple(SettingView(name, places[name]) for name in entry.settings),
    )


def _parts(program: Program, steps: Sequence[StepView]) -> Iterator[LearningPart]:
    """The steps in order, cut where learning begins or ends."""
    for item in program.steps:
        if isinstance(item, Cascade):
            assert len({run.node.stage for run in item.runs}) == 1, "a cascade of two stages"
    always = [rate.is_always_due for rate in program.rates]
    numbered = zip((always[run.node.stage] for run in program.runs), steps, strict=True)
    counts = {True: 0, False: 0}
    for infers, group in groupby(numbered, key=lambda item: item[0]):
        counts[infers] += 1
        number = str(counts[infers]) if counts[infers] > 1 else ""
        name = f"{'infer' if infers else 'descend'}_steps{number}"
        yield LearningPart(name, not infers, tuple(step for _, step in group))
