"""`--input-shape`, `--define`, `--bind`: what the user says about a model's inputs."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from glowmcu.cli.memory_limit import memory_limit_option
from glowmcu.errors import error
from glowmcu.given_once import given_once
from glowmcu.input_options import Defined, GivenShape, InputOptions, channels_last, inputs_of
from glowmcu.slides import Slide, slide_of, unfit

if TYPE_CHECKING:
    from glowmcu.verify.measurement import Array

_SAVE = "save it with numpy.save(file, array), one array a file, one --input a file"
_F = TypeVar("_F", bound=Callable[..., object])


def input_options(function: _F) -> _F:
    """The three options, as one argument `inputs`."""

    @functools.wraps(function)
    def with_inputs(
        input_shapes: tuple[str, ...],
        define: tuple[str, ...],
        bind: tuple[str, ...],
        states: tuple[str, ...],
        custom: tuple[str, ...],
        **others: Any,  # noqa: ANN401 - whatever the command takes besides
    ) -> object:
        inputs = inputs_of(
            parse_input_shapes(input_shapes), parse_defines(define), read_bound(bind),
            parse_states(states) if states else None, custom=parse_custom(custom),
        )  # fmt: skip
        return function(inputs=inputs, **others)

    options = (
        click.option("--input-shape", "input_shapes", multiple=True, metavar="NAME=1x8x8x1",
                     help="Fix the shape of an input that the model leaves open; a letter is "
                          "a size that --define gives."),
        click.option("--define", multiple=True, metavar="N=1",
                     help="Give a symbolic size of an ONNX model its value, or (T=1..200) the "
                          "range of one that each run is given; T=4..200:4 has a step."),
        bind_option,
        click.option("--state", "states", multiple=True, metavar="INPUT=OUTPUT",
                     help="What comes out comes in again in the next run: no input, no output any "
                          "more. Plain names (h0=hn) are found; `none` leaves them."),
        click.option("--custom", multiple=True, metavar="NAME=FILE.c",
                     help="What the custom operator NAME of the model means: C of yours, or a "
                          "definition in index notation (FILE.py)."),
    )  # fmt: skip
    wrapped: Any = with_inputs
    for option in (*options, memory_limit_option):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]


#: Options that `input_options` adds, by the parameter that has their values.
_OF_INPUTS = {
    "input_shapes": "--input-shape",
    "define": "--define",
    "bind": "--bind",
    "states": "--state",
    "custom": "--custom",
}


def inputs_again() -> list[str]:
    """The options of `input_options` as this call had them, for a command that goes on from it."""
    params = click.get_current_context().params
    return [
        word
        for name, option in _OF_INPUTS.items()
        for value in params[name]
        for word in (option, str(value))
    ]


def parse_layouts(texts: tuple[str, ...]) -> dict[str, str]:
    """`NAME=nhwc`, several times, as a dictionary. Raises GM121, GM154."""
    return given_once("--input-layout", texts, _layout)


def _layout(text: str) -> tuple[str, str]:
    name, _, layout = text.rpartition("=")
    if not name:
        raise error(
            "GM121",
            f"--input-layout takes NAME=nhwc, got {text!r}",
            hint="for example --input-layout image=nhwc",
        )
    return name, layout


def place_options(function: _F) -> _F:
    """`--stream-input`, `--outside-input`, `--input-layout`, `--slide` and `--camera`, into the
    argument `inputs` that `input_options` makes.
    """

    @functools.wraps(function)
    def with_places(
        inputs: InputOptions,
        streamed: tuple[str, ...],
        outside: tuple[str, ...],
        layouts: tuple[str, ...],
        slides: tuple[str, ...],
        cameras: tuple[str, ...],
        **others: Any,  # noqa: ANN401 - whatever the command takes besides
    ) -> object:
        nhwc = channels_last(parse_layouts(layouts))
        inputs = dataclasses.replace(
            inputs, streamed=streamed, external=outside, nhwc=nhwc, slides=parse_slides(slides),
            cameras=parse_cameras(cameras),
        )  # fmt: skip
        return function(inputs=inputs, **others)

    options = (
        click.option("--stream-input", "streamed", multiple=True, metavar="NAME",
                     help="The application pushes this input row by row as it comes."),
        click.option("--outside-input", "outside", multiple=True, metavar="NAME",
                     help="This input stays in memory of yours (frame buffer, flash)."),
        click.option("--input-layout", "layouts", multiple=True, metavar="NAME=nhwc",
                     help="An NCHW input or output has its channels last in C."),
        click.option("--slide", "slides", metavar="NAME=ROWS[@AXIS]", multiple=True,
                     help="Windows of this input overlap: ROWS rows are new in a run, and only "
                          "what they change is computed. x=2@3: the rows lie in axis 3."),
        click.option("--camera", "cameras", metavar="NAME=FORMAT:WxH", multiple=True,
                     help="This image comes as a camera's frame (grey, rgb888, rgb565, rgb565be, "
                          "yuyv, uyvy), is cropped to its middle (…:stretch: is not) and resized."),
    )  # fmt: skip
    wrapped: Any = with_places
    for option in options:
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]


def bind_option(function: _F) -> _F:
    """`--bind`, as `bind`."""
    return click.option("--bind", multiple=True, metavar="NAME=FILE.npy",
                        help="An input whose value is always the same becomes a constant.")(
        function
    )  # fmt: skip


def parse_input_shapes(texts: tuple[str, ...]) -> dict[str, GivenShape]:
    """`NAME=1x49x10x1`, several times, as a dictionary; a letter is a symbol. Raises GM154,
    GM711.
    """
    return given_once("--input-shape", texts, _input_shape)


def _input_shape(text: str) -> tuple[str, GivenShape]:
    name, _, sizes = text.rpartition("=")
    one = r"(\d{1,9}|[A-WYZa-wyz])"
    is_shape = re.fullmatch(rf"{one}(x{one})*", sizes) is not None
    shape = tuple(int(size) if size.isdigit() else size for size in sizes.split("x"))
    numbers = [size for size in shape if isinstance(size, int)]
    if not name or not is_shape or not 0 < math.prod(numbers) < 2**31:
        raise error(
            "GM711",
            f"--input-shape takes NAME=SIZExSIZEx…, every size at least 1, or a letter that "
            f"--define explains, got {text!r}",
            hint="for example --input-shape input_1=1x49x10x1",
        )
    return name, shape


def parse_defines(texts: tuple[str, ...]) -> dict[str, Defined]:
    """`N=1`, `T=1..200` or `T=4..200:4`, several times, as a dictionary. Raises GM154, GM714."""
    return given_once("--define", texts, _define)


def _define(text: str) -> tuple[str, Defined]:
    name, _, size = text.rpartition("=")
    found = re.fullmatch(r"([1-9]\d{0,8})(?:\.\.([1-9]\d{0,8})(?::([1-9]\d{0,8}))?)?", size)
    if not name or found is None:
        raise error(
            "GM714",
            f"--define takes SYMBOL=SIZE, the size at least 1, or SYMBOL=FROM..TO[:STEP], "
            f"got {text!r}",
            hint="for example --define batch_size=1, --define time=1..200 or time=4..200:4",
        )
    if found[2] is None:
        return name, int(found[1])
    ends = (int(found[1]), int(found[2]))
    return name, ends if found[3] is None else (*ends, int(found[3]))


def parse_slides(texts: tuple[str, ...]) -> dict[str, Slide]:
    """`NAME=ROWS` or `NAME=ROWS@AXIS` as a dictionary. Raises GM154, GM732."""
    return given_once("--slide", texts, _slide)


def _slide(text: str) -> tuple[str, Slide]:
    name, _, rows = text.rpartition("=")
    if not name:
        raise unfit(text)
    return name, slide_of(name, rows)


def parse_cameras(texts: tuple[str, ...]) -> dict[str, str]:
    """`NAME=FORMAT:WIDTHxHEIGHT` as a dictionary. Raises GM154, GM733."""
    example = "for example --camera input_1=rgb565:320x240"
    form = "--camera takes NAME=FORMAT:WIDTHxHEIGHT"
    return given_once("--camera", texts, lambda text: _pair(text, "GM733", form, example))


def parse_custom(texts: tuple[str, ...]) -> dict[str, str]:
    """`NAME=FILE.c`, several times, as a dictionary. Raises GM154, GM761."""
    example = "for example --custom AcmeClip=clip.c"
    form = "--custom takes NAME=FILE.c"

    def pair(text: str) -> tuple[str, str]:
        # Operators have no equals signs in their names, folders may.
        name, _, path = text.partition("=")
        if not name or not path:
            raise error("GM761", f"{form}, got {text!r}", hint=example)
        return name, path

    return given_once("--custom", texts, pair)


def parse_states(texts: tuple[str, ...]) -> dict[str, str]:
    """`INPUT=OUTPUT`, several times, as a dictionary; `none` alone is no state. Raises GM154,
    GM731.
    """
    return {} if texts == ("none",) else given_once("--state", texts, _state)


def _state(text: str) -> tuple[str, str]:
    name, _, result = text.partition("=")
    if not name or not result:
        raise error(
            "GM731",
            f"--state takes INPUT=OUTPUT, got {text!r}",
            hint="for example --state h0=hn; `--state none` keeps inputs and outputs apart",
        )
    return name, result


def read_bound(texts: tuple[str, ...]) -> Mapping[str, Array]:
    """`NAME=FILE.npy`, several times, as arrays by name. Raises GM154, GM712, GM715."""
    # A file's name holds an equals sign less often than an input's.
    example = "for example --bind axes=axes.npy"
    form = "--bind takes NAME=FILE.npy"
    files = given_once("--bind", texts, lambda text: _pair(text, "GM715", form, example))
    return {name: read_array(Path(file)) for name, file in files.items()}


def _pair(text: str, code: str, form: str, example: str) -> tuple[str, str]:
    """What stands before the last equals sign and behind it. Raises `code` without either."""
    name, _, value = text.rpartition("=")
    if not name or not value:
        raise error(code, f"{form}, got {text!r}", hint=example)
    return name, value


def read_array(path: Path) -> Array:
    """The array in a .npy file. Raises GM712."""
    from glowmcu.array_files import ArrayFileError, load_npy

    try:
        return load_npy(path)
    except (OSError, ArrayFileError) as cause:
        reason = cause.strerror if isinstance(cause, OSError) else str(cause)
        hint = "check the path" if isinstance(cause, FileNotFoundError) else _SAVE
        raise error("GM712", f"cannot read an input array: {reason}", str(path), hint) from cause
