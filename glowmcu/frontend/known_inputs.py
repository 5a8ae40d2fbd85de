"""What the user says about a model's inputs (`InputOptions`), checked, and what needs no saying: a
batch that the file leaves open is 1. For every format.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from glowmcu.asked_in_python import is_in_memory
from glowmcu.errors import ExitCode, Problem
from glowmcu.frontend.open_shapes import shape_option
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.input_options import InputOptions
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, Shape

#: Sizes as a file declares them: numbers, symbols, None if it says nothing.
Sizes = Sequence[int | str | None]
#: Symbols that name another axis than the batch.
_OTHER_AXIS = re.compile("seq|len|time|step|height|width|frame|token", re.IGNORECASE)


def unknown_inputs(options: InputOptions, names: Sequence[str], file_name: str) -> list[Problem]:
    """GM107 for every option that names no input of the model, or keeps one that is bound."""
    unknown = [
        Problem("GM107", f"no input is named {name!r}", file_name, _known_names(name, names))
        for name in dict.fromkeys(
            (*options.shapes, *options.bind, *options.kept, *options.streamed, *options.external)
        )
        if name not in names
    ]
    hint = "a bound input is a constant: there is nothing to keep"
    return unknown + [
        Problem("GM107", f"input {name!r} is both bound and kept", file_name, hint)
        for name in options.kept
        if name in options.bind
    ]


def unknown_symbols(symbols: Iterable[str], known: Sequence[str], file_name: str) -> list[Problem]:
    """GM113 for every `--define` that no input's shape mentions."""
    listed = f"the symbolic sizes are: {', '.join(known)}" if known else "it has none"
    return [
        Problem("GM113", f"no input has a symbolic size {name!r}", file_name, listed)
        for name in symbols
        if name not in known
    ]


def _known_names(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    start = f"did you mean {near[0]!r}? " if near else ""
    return f"{start}the inputs are: {', '.join(names)}"


def bound_data(
    name: str, data: Array, element: ElementType, sizes: Sequence[int | None] | None
) -> Array:
    """`data` if it is what input `name` takes; None in `sizes` takes any size. Raises GM111."""
    fits = sizes is None or (
        len(sizes) == data.ndim
        and all(want in (None, got) for want, got in zip(sizes, data.shape, strict=True))
    )
    if not fits or data.dtype != element.numpy:
        text = "…" if sizes is None else "x".join("?" if n is None else str(n) for n in sizes)
        raise Unsupported(
            "GM111",
            f"input {name!r} is bound to {data.dtype}[{'x'.join(map(str, data.shape))}]; "
            f"the model takes {element.numpy}[{text}]",
            f"save it as that: numpy.save(file, array.astype({str(element.numpy)!r}))",
        )
    return np.ascontiguousarray(data).reshape(data.shape)


def must_be_known(operator: str, what: str, inputs: Sequence[str]) -> Unsupported:
    """GM112: an operand that decides shapes depends on `inputs` of the model."""
    flags = " ".join(f"--bind {name}=value.npy" for name in inputs)
    hint = f"if it is always the same: {flags}" if inputs else "make it a constant in the model"
    return Unsupported(
        "GM112",
        f"{operator} needs {what} known at compile time",
        f"{hint}; a static arena has no room for data-made shapes",
        tuple(inputs),
    )


def exit_code_for(problems: Sequence[Problem]) -> ExitCode:
    """Of problems that lie in the user's own words alone: usage; else the model is unsupported."""
    own_words = all(problem.code in ("GM107", "GM111", "GM113") for problem in problems)
    return ExitCode.USAGE if own_words else ExitCode.UNSUPPORTED


def open_batches(inputs: Mapping[str, Sizes | None], options: InputOptions) -> dict[str, Shape]:
    """Shapes of the inputs of which nothing is open but the batch, by name; the batch is 1.

    That is the first axis of two or more, a symbol that stands for the first axis of an input or
    says that it is a batch, or the only axis of all inputs where there are several: columns of a
    table. What the user has fixed, and inputs with other open sizes, are not among them.
    """
    known = {
        name: [_size(axis, size, options) for axis, size in enumerate(sizes)]
        for name, sizes in inputs.items()
        if sizes and not _is_given(name, options)
    }
    are_columns = _are_columns(known)
    symbols = {sizes[0] for sizes in known.values() if _starts_with_batch(sizes, are_columns)}
    found: dict[str, Shape] = {}
    for name, sizes in known.items():
        named = {size for size in sizes if isinstance(size, str)}
        nameless = [axis for axis, size in enumerate(sizes) if size is None]
        is_nameless_batch = nameless == [0] and not named and (len(sizes) > 1 or are_columns)
        if is_nameless_batch or (not nameless and len(named) == 1 and named <= symbols):
            found[name] = tuple(size if isinstance(size, int) else 1 for size in sizes)
    return found


def _are_columns(known: Mapping[str, Sizes]) -> bool:
    """Whether there are several inputs, all of one axis whose open size is the same."""
    sizes = {tuple(sizes) for sizes in known.values()}
    return len(known) > 1 and len(sizes) == 1 and not isinstance(sizes.pop()[0], int)


def _starts_with_batch(sizes: Sizes, are_columns: bool) -> bool:
    """Whether the first size is a symbol of the batch."""
    first = sizes[0]
    if not isinstance(first, str) or _OTHER_AXIS.search(first):
        return False
    return len(sizes) > 1 or are_columns or "batch" in first.lower()


def batch_note(
    inputs: Mapping[str, Sizes | None], options: InputOptions, file_name: str
) -> tuple[str, ...]:
    """Which inputs have a batch of 1 that the file leaves open."""
    shapes = open_batches(inputs, options)
    if not shapes:
        return ()
    texts = {name: "x".join(map(str, shape)) for name, shape in shapes.items()}
    listed = ", ".join(f"{name} is {text}" for name, text in texts.items())
    option = shape_option(*next(iter(shapes.items())))
    what = "model" if is_in_memory(file_name) else "file"
    return (
        f"the {what} leaves the batch open: it is 1 ({listed}); {option} says so, or another size",
    )


def hinted_at_batch(problems: Sequence[Problem], batches: Mapping[str, Shape]) -> list[Problem]:
    """Shapes that do not fit may fit with another batch than the 1 of `open_batches`: say so."""
    shapes = " ".join(shape_option(name, (4, *shape[1:])) for name, shape in batches.items())
    hint = f"the file leaves the batch open and it is 1 here; if that is too few: {shapes}, say"
    return [
        replace(problem, hint=hint)
        if batches and problem.code == "GM106" and not problem.hint
        else problem
        for problem in problems
    ]


def hinted_at_fixed_batch(
    problems: Sequence[Problem], inputs: Mapping[str, Sizes | None], options: InputOptions
) -> list[Problem]:
    """What takes too much memory may do so since the export's batch is in the file: say so."""
    shapes = " ".join(
        shape_option(name, (1, *sizes[1:]))
        for name, sizes in inputs.items()
        if sizes is not None and _has_fixed_batch(sizes) and not _is_given(name, options)
    )
    return [
        replace(problem, hint=f"{shapes} if the first axis is a batch; else {problem.hint}")
        if shapes and problem.code == "GM114" and problem.hint
        else problem
        for problem in problems
    ]


def _has_fixed_batch(sizes: Sizes) -> bool:
    numbers = [size for size in sizes if isinstance(size, int) and size > 0]
    return len(numbers) == len(sizes) > 1 and numbers[0] > 1


def _is_given(name: str, options: InputOptions) -> bool:
    return name in options.shapes or name in options.bind


def _size(axis: int, size: int | str | None, options: InputOptions) -> int | str | None:
    """A size with the user's value for a symbol; None if it is open and has no name."""
    if isinstance(size, str):
        return options.symbols.get(size, size)
    return None if size is None or size < 0 or (size == 0 and axis == 0) else size
