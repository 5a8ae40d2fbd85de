"""What the user says about a model's inputs: shapes, symbolic sizes, values known beforehand,
and which of them outlive a run.

An input that is bound to a value (`--bind NAME=value.npy`) becomes a constant of the graph: a shape
or an axis that the model leaves to its caller, or weights that are handed in.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from glowmcu.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

from glowmcu.custom_c import CustomFile, CustomGiven, read_custom
from glowmcu.errors import error
from glowmcu.name_lists import read_names, read_pairs
from glowmcu.size_forms import OpenSize
from glowmcu.slides import GivenSlide, Slide, read_slides, slides_of
from glowmcu.training import Training, training_of_bundle

#: The shape of an input, with symbols for sizes that stand elsewhere.
GivenShape = tuple[int | str, ...]
#: A size, or the smallest and the largest of one that each run is given, and perhaps its step.
Defined = int | tuple[int, int] | tuple[int, int, int]

#: How many sizes one may have: code is proved for each.
MOST_SIZES = 1024


@dataclass(frozen=True)
class InputOptions:
    """`shapes` and `bind` by input name; `symbols` gives ONNX's symbolic sizes their values; `kept`
    names the inputs that hold after a run what was written to them before it, `streamed` those
    whose rows the application hands over as they come, `external` those that stay in memory of the
    application's. `io` is int8 or uint8 where what the model quantizes at its border is handed over
    so; `nhwc` names inputs and outputs (NCHW in the file) with channels last. `states` are inputs
    by name and the outputs that they become for the next run; without them such pairs are looked
    for unless `finds_states` is false. `slides` says of how many rows a run gets new ones, and
    `slide_layers` how many layers keep theirs; without it all that can. `cameras` are inputs that
    come as frames, `FORMAT:WIDTHxHEIGHT`. `open_size` is a symbol of which each run is given a
    size; in `shapes` and `symbols` it is the largest, `open_shapes` are those of `shapes` in which
    the user wrote it. With `training` the model has a label to learn from, and a loss. `custom` are
    operators whose meaning is C of the user's, by what the model calls them.
    """

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    symbols: Mapping[str, int] = field(default_factory=dict)
    bind: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    streamed: tuple[str, ...] = ()
    external: tuple[str, ...] = ()
    io: str = ""
    nhwc: tuple[str, ...] = ()
    states: Mapping[str, str] = field(default_factory=dict)
    finds_states: bool = True
    slides: Mapping[str, Slide] = field(default_factory=dict)
    slide_layers: int | None = None
    cameras: Mapping[str, str] = field(default_factory=dict)
    open_size: OpenSize | None = None
    open_shapes: Mapping[str, GivenShape] = field(default_factory=dict)
    training: Training | None = None
    custom: Mapping[str, CustomFile] = field(default_factory=dict)

    @property
    def given_shapes(self) -> dict[str, GivenShape]:
        """Shapes by input, as they were given."""
        return {**self.shapes, **self.open_shapes}

    @property
    def define(self) -> dict[str, Defined]:
        """Sizes by symbol, as they were given."""
        given: dict[str, Defined] = dict(self.symbols)
        if self.open_size is not None:
            size = self.open_size
            ends = (size.smallest, size.largest)
            given[size.symbol] = ends if size.step == 1 else (*ends, size.step)
        return given

    def at(self, size: int) -> InputOptions:
        """The same where `open_size` is fixed."""
        assert self.open_size is not None
        symbol = self.open_size.symbol
        shapes = {name: _sized(shape, {symbol: size}) for name, shape in self.open_shapes.items()}
        symbols = {**self.symbols, symbol: size} if symbol in self.symbols else self.symbols
        return replace(
            self, shapes={**self.shapes, **shapes}, symbols=symbols, open_size=None, open_shapes={}
        )

    @property
    def states_given(self) -> Mapping[str, str] | None:
        """As Python's API takes them: None if they are looked for."""
        return None if self.finds_states else self.states


def inputs_of(
    shapes: Mapping[str, GivenShape] | None,
    define: Mapping[str, Defined] | None,
    bind: Mapping[str, npt.NDArray[Any]] | None,
    states: Mapping[str, str] | None = None,
    slides: Mapping[str, GivenSlide] | None = None,
    cameras: Mapping[str, str] | None = None,
    custom: Mapping[str, CustomGiven] | None = None,
) -> InputOptions:
    """What a function of the API was given; without `states` they are looked for.

    A shape may have symbols, which `define` gives sizes. Raises GM711, GM714, GM732, GM760, GM761.
    """
    symbols, open_size = defined(define or {})
    named, fixed = {size for shape in (shapes or {}).values() for size in shape}, {}
    for name, shape in (shapes or {}).items():
        _expect_known(name, shape, symbols)
        fixed[name] = _sized(shape, symbols)
    open_shapes = {
        name: tuple(
            size if isinstance(size, int) or size == open_size.symbol else symbols[size]
            for size in shape
        )
        for name, shape in (shapes or {}).items()
        if open_size is not None and open_size.symbol in shape
    }
    return InputOptions(
        fixed, {name: size for name, size in symbols.items() if name not in named}, bind or {},
        states=states or {}, finds_states=states is None, slides=slides_of(slides or {}),
        cameras=cameras or {}, open_size=open_size, open_shapes=open_shapes,
        custom=read_custom(custom),
    )  # fmt: skip


def _sized(shape: GivenShape, symbols: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(size if isinstance(size, int) else symbols[size] for size in shape)


def _expect_known(name: str, shape: GivenShape, symbols: Mapping[str, int]) -> None:
    """Raise GM711 if a symbol of the shape has no size."""
    for size in shape:
        if isinstance(size, str) and size not in symbols:
            text = "x".join(map(str, shape))
            raise error(
                "GM711",
                f"the shape of {name!r} is {text}; {size!r} in it has no size",
                hint=f"for example --define {size}=1, or --define {size}=1..200 for each run",
            )


def defined(define: Mapping[str, Defined]) -> tuple[dict[str, int], OpenSize | None]:
    """Sizes by symbol, the largest of one that is a range, and that. Raises GM714."""
    sizes = {name: _size_or_range(name, size) for name, size in define.items()}
    ranges = {name: size for name, size in sizes.items() if len(size) > 1}
    fixed = {name: size[0] for name, size in sizes.items() if len(size) == 1}
    if len(ranges) > 1:
        names = ", ".join(ranges)
        raise error(
            "GM714",
            f"one size can be given at run time, not {len(ranges)}: {names}",
            hint=f"fix the others: --define {names.split(', ')[1]}=1",
        )
    for name, parts in ranges.items():
        size = _open_size(name, *parts)
        return {**fixed, name: size.largest}, size
    return fixed, None


def _open_size(name: str, smallest: int, largest: int, step: int = 1) -> OpenSize:
    """Raises GM714 unless there are some sizes, and not too many."""
    size = OpenSize(name, smallest, largest, step) if step > 0 else None
    if size is None or not 1 <= smallest < largest or not 2 <= len(size.sizes) <= MOST_SIZES:
        given = f"{smallest}..{largest}" if step == 1 else f"{smallest}..{largest}:{step}"
        raise error(
            "GM714",
            f"{name} must have a range of 2 to {MOST_SIZES} sizes from 1 on, got {given}",
            hint=_range_hint(name, smallest, largest, step),
        )
    if size.sizes[-1] != largest:
        nearest = replace(size, largest=size.sizes[-1])
        raise error(
            "GM714",
            f"{name} in steps of {step} from {smallest} on is never {largest}",
            hint=f"--define {nearest}, or --define "
            f"{replace(nearest, largest=nearest.largest + step)}",
        )
    return size


def _size_or_range(name: str, given: object) -> tuple[int, ...]:
    """One size or two as Python's integers, which numpy's are not. Raises GM714."""
    parts = given if isinstance(given, tuple | list) else (given,)
    try:
        sizes = tuple(operator.index(part) for part in parts)
    except TypeError:
        sizes = ()
    if len(sizes) not in (1, 2, 3) or (len(sizes) == 1 and sizes[0] < 1):
        raise error(
            "GM714",
            f"{name} must be a size of at least 1, or two: the smallest and the largest, and "
            f"perhaps a step; got {given!r}",
            hint=f"for example define={{{name!r}: 1}}, define={{{name!r}: (1, 200)}} or "
            f"define={{{name!r}: (4, 200, 4)}}",
        )
    return sizes


def _range_hint(name: str, smallest: int, largest: int, step: int) -> str:
    if smallest == largest:
        return f"one size is --define {name}={smallest}"
    if step < 1:
        return f"a step is at least 1: --define {name}={smallest}..{largest}"
    if largest - smallest < step and smallest < largest:
        return f"one size is --define {name}={smallest}; a second is {smallest + step}"
    if largest < smallest:
        return f"the smallest comes first: --define {name}={max(largest, 1)}..{smallest}"
    return f"for example --define {name}=1..{min(largest, MOST_SIZES)}"


def options_of_bundle(
    said: Mapping[str, str],
    inputs: Mapping[str, tuple[int, ...]],
    bind: Mapping[str, npt.NDArray[Any]],
    custom: Mapping[str, CustomFile] | None = None,
) -> InputOptions:
    """What decides the numbers of a bundle that says `said` and takes `inputs`."""
    nhwc = read_names(said.get("layout_nhwc", ""))
    # The model has the whole window of an input that slides, and the file its shape.
    slides = read_slides(said.get("slide", ""))
    cameras = read_pairs(said.get("camera", ""))
    shapes = {
        name: (shape[0], shape[3], shape[1], shape[2]) if name in nhwc else shape
        for name, shape in inputs.items()
        if name not in slides and name not in cameras
    }
    states = read_pairs(said.get("state", ""))
    return InputOptions(
        shapes, bind=bind, io=said.get("border", ""), nhwc=nhwc, states=states,
        finds_states=False, slides=slides, cameras=cameras, training=training_of_bundle(said),
        custom=custom or {},
    )  # fmt: skip


def bound_text(bind: Mapping[str, npt.NDArray[Any]]) -> str:
    """Names of bound inputs with a digest of what they are bound to; empty if there are none."""
    return ",".join(f"{name}:{_digest(bind[name])}" for name in sorted(bind))


def _digest(data: npt.NDArray[Any]) -> str:
    head = f"{data.dtype}{data.shape}".encode()
    return hashlib.sha256(head + data.tobytes()).hexdigest()[:12]


def channels_last(layouts: Mapping[str, str]) -> tuple[str, ...]:
    """Names of tensors that are NHWC. Raises GM121 for another layout."""
    for name, layout in layouts.items():
        if layout not in ("nhwc", "nchw"):
            raise error(
                "GM121",
                f"the layout of {name!r} must be nhwc or nchw, got {layout!r}",
                hint=f"for example --input-layout {name}=nhwc; nchw leaves it as the file has it",
            )
    return tuple(name for name, layout in layouts.items() if layout == "nhwc")


def streamed_input_name(inputs: InputOptions, file_name: str) -> str | None:
    """The streamed input's name, if any. Raises GM410 for more than one, or one that is
    bound, kept or slides.
    """
    names = tuple(dict.fromkeys(inputs.streamed))
    if len(names) > 1:
        raise error(
            "GM410",
            f"one input can be streamed, not {len(names)}: {', '.join(map(repr, names))}",
            file_name,
            "layers would have to wait for rows of both in one order; stream the larger one",
        )
    for others, option in (
        (inputs.bind, "--bind"), (inputs.kept, "--keep-input"), (inputs.slides, "--slide"),
    ):  # fmt: skip
        if names and names[0] in others:
            raise error(
                "GM410",
                f"input {names[0]!r} is streamed: it never is in memory as a whole",
                file_name,
                f"leave out {option} or --stream-input",
            )
    return names[0] if names else None
