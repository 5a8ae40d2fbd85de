"""Which image a streamed input is, and why some input cannot be pushed.

Rows are those of the one image `(1, rows, columns, channels)` that layers see, also where the model
says it as a list of numbers. All layers that read it must take rows as they come: there is no row
to read again.
"""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.errors import ExitCode, GlowmcuError, error
from glowmcu.ir.program import Buffer, Program, Run, ViewRole
from glowmcu.ops.copy import Copy

_HINT = (
    "rows are streamed into convolutions, poolings and what works element by element on images "
    "[1, rows, columns, channels]; leave out --stream-input"
)
_NHWC_HINT = (
    "an image of ONNX comes channel by channel, and by rows with --input-layout {}=nhwc, as "
    "layers read it; or leave out --stream-input"
)
_TIME_HINT = (
    "rows of [1, channels, time] are channels: export the model with an input [1, time, channels] "
    "that it transposes itself, as PyTorch's x.transpose(1, 2); or leave out --stream-input"
)


def streamed_image(program: Program) -> Buffer:
    """The buffer by which runs read the streamed input. Raises GM409 if that is not one image."""
    read = dict.fromkeys(buffer for run in program.runs for buffer in run.inputs)
    seen = [buffer for buffer in read if _is_it(program, buffer)]
    output = next((item for item in program.outputs if _shows_it(program, item)), None)
    if output is not None:
        said = f"it is an output, too, {output.name!r}, which the application reads as a whole"
        raise _cannot(program, said)
    if not seen:
        raise _cannot(program, "no layer reads it")
    image, *others = seen
    if others:
        kinds = " and as ".join(str(buffer.type) for buffer in seen)
        raise _cannot(program, f"layers read it as {kinds}, whose rows are not the same")
    readers = [run for run in program.runs if image in run.inputs]
    shape = image.type.shape
    assert program.streamed_input is not None
    if image.size_bytes != program.streamed_input.buffer.size_bytes:
        part = f"only a part of it, {image.type} of {program.streamed_input.buffer.type}"
        raise _cannot(program, f"{_said(readers[0])} reads {part}")
    if len(shape) != 4 or shape[0] != 1:
        raise _cannot(
            program, f"{_said(readers[0])} reads it as {image.type}, which is no image with rows"
        )
    if shape[1] == 1:
        raise _cannot(program, f"{_said(readers[0])} reads it as {image.type}: a single row")
    whole = next((run for run in readers if run.rows is None), None)
    if whole is not None:
        streamed, hint = program.streamed_input.buffer, _HINT
        if whole.node.op.name == "transpose":
            hints = {3: _TIME_HINT, 4: _NHWC_HINT.format(streamed.name)}
            hint = hints.get(streamed.type.rank, _HINT)
        raise _cannot(program, f"{_said(whole)} needs all of it at a time", hint)
    return image


def rows_do_not_last(program: Program, readers: Sequence[int]) -> GlowmcuError:
    """GM409 for layers of which some, by their number, read the input when its rows are gone."""
    between = program.runs[readers[0] : readers[-1]]
    whole = next((run for run in between if run.rows is None), None)
    last = _said(program.runs[readers[-1]])
    if whole is None:
        return _cannot(program, f"its rows do not last until {last} reads them")
    return _cannot(
        program,
        f"{last} reads it, too, and only after {_said(whole)}, which needs its operands whole",
    )


def _is_it(program: Program, buffer: Buffer) -> bool:
    """Whether a buffer holds what the application streams, under whatever shape."""
    assert program.streamed_input is not None
    view = program.views.get(buffer)
    while view is not None and view.role is ViewRole.SLICE:
        buffer = view.base
        view = program.views.get(buffer)
    return buffer is program.streamed_input.buffer


def _shows_it(program: Program, output: Buffer) -> bool:
    """Whether an output is what the application streams, a reshape or a part of it, or its copy."""
    makers = (run for run in program.runs if output in run.outputs)
    copied = next((run.inputs[0] for run in makers if isinstance(run.node.op, Copy)), output)
    return _is_it(program, copied)


def _said(run: Run) -> str:
    return f'{run.node.op.name} "{run.node.name}"'


def _cannot(program: Program, why: str, hint: str = _HINT) -> GlowmcuError:
    assert program.streamed_input is not None
    return error(
        "GM409",
        f"input {program.streamed_input.buffer.name!r} cannot be streamed: {why}",
        program.name,
        hint,
        ExitCode.UNSUPPORTED,
    )
