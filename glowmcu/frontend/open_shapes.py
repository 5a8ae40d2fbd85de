"""What to say of an input whose shape the file leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glowmcu.errors import Problem
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.input_options import InputOptions
from glowmcu.shell_words import quoted


def open_shape(
    name: str, sizes: Sequence[int | str | None] | None, usual: Sequence[int] = ()
) -> Unsupported:
    """`sizes` are numbers, symbols, or None if a size has no name; None of an unknown rank.
    `usual` are sizes that the file would take, 1 each if it says none.
    """
    text = "unknown" if sizes is None else "x".join(str(size or "?") for size in sizes)
    symbols = list(dict.fromkeys(size for size in sizes or () if isinstance(size, str)))
    fixed = usual or [size if isinstance(size, int) else 1 for size in sizes or (1, 1)]
    nameless = any(size is None for size in sizes or ())
    if not symbols or nameless:
        options = [shape_option(name, fixed)]
    else:
        options = [_define_option(symbol) for symbol in symbols]
    hint = f"fix it: {' '.join(options)}"
    # Axis 0 tends to be a batch, and several open sizes an image.
    places = [axis for axis, size in enumerate(sizes or ()) if not isinstance(size, int)]
    lengths = [axis for axis in places if axis]
    if sizes is not None and len(lengths) == 1:
        symbol = sizes[lengths[0]]
        if isinstance(symbol, str) and not nameless:
            others = [_define_option(other) for other in symbols if other != symbol]
        else:
            symbol = "T"
            others = [shape_option(name, [*fixed[: lengths[0]], "T", *fixed[lengths[0] + 1 :]])]
        hint += f"; or each run says it: {' '.join((*others, _define_option(symbol, '1..200')))}"
    return Unsupported(
        "GM104",
        f"input {name!r} has a dynamic shape, {text}; expected every size fixed",
        hint,
    )


def with_hint_at_export(problem: Problem, options: InputOptions) -> Problem:
    """Of shapes that contradict each other where the user gave sizes that the file leaves open."""
    if problem.code != "GM106" or problem.hint or not (options.symbols or options.given_shapes):
        return problem
    return replace(
        problem,
        hint="a size of the export's example may stand in this layer as a constant: give that "
        "size, or export anew with a dynamic axis, in PyTorch by dynamo=True and dynamic_shapes",
    )


def shape_option(name: str, sizes: Sequence[int | str | None]) -> str:
    """The option that gives an input these sizes, in quotes where a shell needs them."""
    return f"--input-shape {quoted(name + '=' + 'x'.join(map(str, sizes)))}"


def _define_option(symbol: str, sizes: str = "1") -> str:
    return f"--define {quoted(f'{symbol}={sizes}')}"
