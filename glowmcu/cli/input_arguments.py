"""`--input-shape`, `--define`, `--bind`: what the user says about a model's inputs."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np

from glowmcu.errors import error
from glowmcu.input_options import InputOptions
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
        **others: Any,  # noqa: ANN401 - whatever the command takes besides
    ) -> object:
        inputs = InputOptions(
            parse_input_shapes(input_shapes), parse_defines(define), read_bound(bind)
        )
        return function(inputs=inputs, **others)

    options = (
        click.option("--input-shape", "input_shapes", multiple=True, metavar="NAME=1x8x8x1",
                     help="Fix the shape of an input that the model leaves open."),
        click.option("--define", multiple=True, metavar="N=1",
                     help="Give a symbolic size of an ONNX model its value."),
        bind_option,
    )  # fmt: skip
    wrapped: Any = with_inputs
    for option in options:
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]


def place_options(function: _F) -> _F:
    """`--stream-input` and `--outside-input`, into the argument `inputs` that `input_options`
    makes.
    """

    @functools.wraps(function)
    def with_places(
        inputs: InputOptions,
        streamed: tuple[str, ...],
        outside: tuple[str, ...],
        **others: Any,  # noqa: ANN401 - whatever the command takes besides
    ) -> object:
        inputs = dataclasses.replace(inputs, streamed=streamed, outside=outside)
        return function(inputs=inputs, **others)

    options = (
        click.option("--stream-input", "streamed", multiple=True, metavar="NAME",
                     help="The application pushes this input row by row as it comes."),
        click.option("--outside-input", "outside", multiple=True, metavar="NAME",
                     help="This input stays in memory of yours (frame buffer, flash)."),
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


def parse_input_shapes(texts: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    """`NAME=1x49x10x1`, several times, as a dictionary. Raises GM711."""
    shapes: dict[str, tuple[int, ...]] = {}
    for text in texts:
        name, _, sizes = text.rpartition("=")
        shape = (
            tuple(map(int, sizes.split("x"))) if re.fullmatch(r"\d{1,9}(x\d{1,9})*", sizes) else ()
        )
        if not name or not shape or not 0 < math.prod(shape) < 2**31:
            raise error(
                "GM711",
                f"--input-shape takes NAME=SIZExSIZEx…, every size at least 1, got {text!r}",
                hint="for example --input-shape input_1=1x49x10x1",
            )
        shapes[name] = shape
    return shapes


def parse_defines(texts: tuple[str, ...]) -> dict[str, int]:
    """`N=1`, several times, as a dictionary. Raises GM714."""
    symbols: dict[str, int] = {}
    for text in texts:
        name, _, size = text.rpartition("=")
        if not name or not re.fullmatch(r"[1-9]\d{0,8}", size):
            raise error(
                "GM714",
                f"--define takes SYMBOL=SIZE, the size at least 1, got {text!r}",
                hint="for example --define batch_size=1",
            )
        symbols[name] = int(size)
    return symbols


def read_bound(texts: tuple[str, ...]) -> Mapping[str, Array]:
    """`NAME=FILE.npy`, several times, as arrays by name. Raises GM712, GM715."""
    arrays: dict[str, Array] = {}
    for text in texts:
        # A file's name holds an equals sign less often than an input's.
        name, _, file = text.rpartition("=")
        if not name or not file:
            raise error(
                "GM715",
                f"--bind takes NAME=FILE.npy, got {text!r}",
                hint="for example --bind axes=axes.npy",
            )
        arrays[name] = read_array(Path(file))
    return arrays


def read_array(path: Path) -> Array:
    """The array in a .npy file. Raises GM712."""
    try:
        array = np.load(path, allow_pickle=False)
    except OSError as cause:
        reason = cause.strerror or "not a complete .npy file"
        raise error("GM712", f"cannot read an input array: {reason}", str(path), _SAVE) from cause
    except (ValueError, EOFError) as cause:
        raise error("GM712", "an input is no .npy file", str(path), _SAVE) from cause
    if not isinstance(array, np.ndarray):
        raise error("GM712", "expected one array, got an archive", str(path), _SAVE)
    return array
