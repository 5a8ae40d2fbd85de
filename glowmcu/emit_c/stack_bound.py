"""How deep the stack goes below each entry point of a bundle, at most: sums of measured parts.

    run = its own frame + what kernels inside it add to that + the deepest function below

What functions take by themselves is measured, on a core and at the optimization of the bundle, by
`python -m benchmarks.stack_table`. What differs from layer to layer stands in the generated text:
frames of assembly, lengths of local arrays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from glowmcu.emit_c.local_arrays import local_array_bytes
from glowmcu.emit_c.naked_frames import deepest_naked
from glowmcu.ir.cascade import Cascade
from glowmcu.ir.graph import Node
from glowmcu.ir.kernel_code import KernelCode
from glowmcu.ir.program import Buffer, Program, Run
from glowmcu.lazy_dataclass import dataclass
from glowmcu.stack_use import CoreStacks, FrameStacks, KernelStack

if TYPE_CHECKING:
    from glowmcu.emit_c.build_views import Chosen, Layers

#: The ABI keeps the stack pointer at multiples of this at every call.
STACK_ALIGN = 8
#: Frame of the self test for a further type of inputs or outputs, whose functions are inlined.
_KIND_BYTES = 64
#: What callers of other bundles may take more than those that were measured.
_MARGIN_BYTES = 32
#: Bytes of saved registers of a kernel that is inlined: they are its caller's then.
_SAVED_BYTES = 32
#: Of the third largest that is inlined: small code of a Cortex-M55 takes so much.
_THIRD_BYTES = 8
#: What the self test may keep of an input or output.
_TENSOR_BYTES = 8
#: Frames of what calls the stages of a pipeline, and of a stage.
_STAGE_BYTES = 48
#: Frame of what either core computes of a layer between two meetings.
_SHARE_BYTES = 24
#: Numbers and counters of layers that put pixels where they belong.
_SHUFFLE_BYTES = 96
#: What copies or unpacks weights before a layer, with `memcpy`; 64 bytes at most on any core.
_COPY_BYTES = 96
#: What saves or loads what was learnt takes, or what takes other weights: a header on the stack,
#: the C library's functions and a CRC; 80 bytes at most on any core.
_EXCHANGE_BYTES = 112
#: Frame of a region's function, which no compiler puts into its caller, by template.
_REGION_BYTES = 88
_REGIONS = ("portable/delegate.c.j2", "portable/ethos_u.c.j2")
#: What makes an inference; the self test calls these, and what else it calls.
_INFERS = ("run", "push", "steps")
_TESTED = (*_INFERS, "learn", "check")


@dataclass(frozen=True)
class KernelFunction:
    """The function of a layer: `kind` is its name without numbers, or its template; bytes of the
    stack that its text tells of: of assembly that it calls, and of its arrays, with what a size of
    the run takes. `is_called_once`: in one place of the program. `inside` are the layers of the
    bodies of a branch or loop.
    """

    variant: str
    kind: str
    is_called_once: bool = False
    naked_bytes: int = 0
    array_bytes: int = 0
    inside: tuple[KernelFunction, ...] = ()


@dataclass(frozen=True)
class StackBounds:
    """Bytes of the stack by entry point (`run`, `infer`, `check`, ...), nothing if they are not
    known: then `why` says so in a sentence.
    """

    entries: Mapping[str, int]
    compiler: str = ""
    why: str = ""


@dataclass(frozen=True)
class _Layer:
    """A layer of a program, or of a body inside one of its layers."""

    run: Run
    code: KernelCode
    is_called_twice: bool = False
    inside: tuple[_Layer, ...] = ()

    @property
    def everyone(self) -> Iterator[_Layer]:
        """The layer and all that are inside it."""
        yield self
        for layer in self.inside:
            yield from layer.everyone


def kernel_function(
    variant: str, code: KernelCode, body: Layers, definition: str
) -> KernelFunction:
    """That of a layer of a bundle, `definition` where the layer has one of its own."""
    is_own = bool(code.template) and not code.is_shared
    texts = [definition] if is_own else []
    if code.is_shared:
        texts = [item.text for item in body.functions if item.function == code.function]
    text = "\n".join(texts)
    kind = code.template if is_own else re.sub(r"\d+", "#", code.function)
    # Of one that is transposed or computes blocks of pixels, the variant itself.
    name = variant.removesuffix(".lying").removesuffix(".subpixel")
    return KernelFunction(name, kind, is_own, deepest_naked(text), local_array_bytes(text))


@dataclass(frozen=True)
class _Caller:
    """What calls kernels: how much they add to its own frame, and the deepest below that."""

    added_bytes: int
    below_bytes: int

    def depth(self, own_bytes: int) -> int:
        return own_bytes + self.added_bytes + self.below_bytes + _MARGIN_BYTES


def stack_bounds(
    program: Program,
    chosen: Mapping[Node, Chosen],
    body: Layers,
    measured: CoreStacks,
    entries: Iterable[str],
) -> StackBounds:
    """Of the `entries` that the bundle has: "run" or "push", "infer", "check", "selftest", "begin",
    "reset", "steps", "help", "learn", "train", "parameters_save", "parameters_load" and
    "set_weights".
    """
    kernels, missing = list[KernelStack](), list[str]()
    entries = tuple(entries)
    for function in functions(program, chosen, body, "steps" in entries):
        found = kernel_stack(function, measured)
        if found is None:
            missing += _unmeasured(function, measured)
        else:
            kernels.append(found)
    if missing:
        names = ", ".join(dict.fromkeys(missing))
        return StackBounds({}, why=f"that of {names} was not measured")
    caller = _caller(program, kernels, measured.frames)
    if program.rates:
        caller = replace(caller, added_bytes=caller.added_bytes + _STAGE_BYTES)
    if program.meetings is not None:
        caller = replace(caller, added_bytes=caller.added_bytes + _SHARE_BYTES)
    if any(item.code.shuffle is not None for item in chosen.values()):
        caller = replace(caller, added_bytes=caller.added_bytes + _SHUFFLE_BYTES)
    if any(item.code.staged is not None for item in chosen.values()):
        caller = replace(caller, below_bytes=max(caller.below_bytes, _COPY_BYTES))
    depths = _depths(caller, measured.frames)
    if "set_weights" in entries:
        depths["check"] = _EXCHANGE_BYTES  # the weights in use are looked at as new ones are
    inference = max(depths[entry] for entry in entries if entry in _INFERS)
    depths["infer"] = inference + measured.frames.infer
    tensors = _TENSOR_BYTES * (len(program.inputs) + len(program.outputs))
    tested = max(depths[entry] for entry in entries if entry in _TESTED)
    kinds = _KIND_BYTES * max(_kinds(program.inputs) + _kinds(program.outputs) - 2, 0)
    own = measured.frames.selftest + kinds + tensors + _pushed_bytes(program)
    depths["selftest"] = tested + own
    return StackBounds({entry: _aligned(depths[entry]) for entry in entries}, measured.compiler)


def _depths(caller: _Caller, frames: FrameStacks) -> dict[str, int]:
    """Of what calls no other entry point."""
    return {
        "run": caller.depth(frames.run),
        "help": caller.depth(frames.run),
        # A cascade of its own is in it: that of a large network takes what one of a run does.
        "push": caller.depth(max(frames.push, frames.rows)),
        "steps": caller.depth(frames.steps),
        "check": frames.check + _MARGIN_BYTES,
        "begin": frames.begin + _MARGIN_BYTES,
        "reset": frames.begin + frames.library + _MARGIN_BYTES,  # states are copied and cleared
        # One function is between it and the steps; NAME_train makes copies before it.
        "learn": caller.depth(frames.run + frames.begin),
        "train": caller.depth(frames.run + frames.begin + frames.infer),
        "parameters_save": _EXCHANGE_BYTES,
        "parameters_load": _EXCHANGE_BYTES,
        "set_weights": _EXCHANGE_BYTES,
    }


def kernel_stack(function: KernelFunction, measured: CoreStacks) -> KernelStack | None:
    """What a layer takes, with what its text tells of; None if it was not measured.

    Around a body as around the whole program: compilers put kernels into its function, and that
    into its caller or not.
    """
    found = _alone(function, measured)
    if found is None:
        return None
    added, below = 0, 0
    if function.inside:
        stacks = [kernel_stack(inner, measured) for inner in function.inside]
        known = [stack for stack in stacks if stack is not None]
        if len(known) < len(stacks):
            return None
        added = _together([stack.inlined_bytes for stack in known])
        below = max(measured.frames.library, *(stack.called_bytes for stack in known))
    own = function.array_bytes + added
    return KernelStack(
        found.called_bytes + function.naked_bytes + own + below,
        found.inlined_bytes + own if found.inlined_bytes else 0,
    )


def _alone(function: KernelFunction, measured: CoreStacks) -> KernelStack | None:
    """Of the function without what is inside it. What an accelerator's functions take is theirs."""
    if function.kind in _REGIONS:
        return KernelStack(_REGION_BYTES, 0)
    return measured.kernel(function.variant, function.kind, function.is_called_once)


def _unmeasured(function: KernelFunction, measured: CoreStacks) -> Iterator[str]:
    """Variants of the layer, and of those inside it, of which nothing is known."""
    if _alone(function, measured) is None:
        yield function.variant
    for inner in function.inside:
        yield from _unmeasured(inner, measured)


def functions(
    program: Program, chosen: Mapping[Node, Chosen], body: Layers, in_parts: bool
) -> Iterator[KernelFunction]:
    """The functions of all layers in order. A layer of its own that a run in steps may call, too,
    is called in two places.
    """
    layers: list[_Layer] = []
    for item in program.steps:
        if isinstance(item, Cascade):
            layers += [_Layer(run, chosen[run.node].row_code) for run in item.runs]
        else:
            selected = chosen[item.node]
            layers.append(_Layer(item, selected.code, in_parts, _inner_layers(selected)))
    called = Counter(inner.code.function for layer in layers for inner in layer.everyone)
    for layer, step in zip(layers, body.steps, strict=True):
        found = _function(layer, body, step.definition, called)
        yield replace(found, array_bytes=found.array_bytes + step.sized_bytes)


def _inner_layers(selected: Chosen) -> tuple[_Layer, ...]:
    """Those of the bodies of a branch or loop."""
    pairs = (
        (run, body.selections[run.node]) for body in selected.bodies for run in body.program.runs
    )
    return tuple(_Layer(run, inner.code, inside=_inner_layers(inner)) for run, inner in pairs)


def _function(
    layer: _Layer, body: Layers, definition: str, called: Mapping[str, int]
) -> KernelFunction:
    """What bodies define of their own stands in the definition of the layer around them."""
    found = kernel_function(layer.run.kernel, layer.code, body, definition)
    is_once = found.is_called_once or called[layer.code.function] == 1
    inside = tuple(_function(inner, body, "", called) for inner in layer.inside)
    return replace(found, is_called_once=is_once and not layer.is_called_twice, inside=inside)


def made_bytes(cascade: Cascade) -> int:
    """Counts of rows that a cascade keeps on the stack, in whole words."""
    if len(cascade.stages) == 1:
        return 0
    most = max(stage.rows for stage in cascade.stages)
    count_bytes = 1 if most < 1 << 8 else 2 if most < 1 << 16 else 4
    return -(-len(cascade.stages) * count_bytes // 4) * 4


def _caller(program: Program, kernels: Sequence[KernelStack], frames: FrameStacks) -> _Caller:
    """What runs the whole program. Rows that are pushed are the caller's own cascade."""
    step, added, below = 0, [0], frames.library
    for item in program.steps:
        if not isinstance(item, Cascade):
            kernel, step = kernels[step], step + 1
            added.append(kernel.inlined_bytes)
            below = max(below, kernel.called_bytes)
            continue
        inside = kernels[step : step + len(item.runs)]
        step += len(inside)
        own = made_bytes(item) + _together([kernel.inlined_bytes for kernel in inside])
        deepest = max(frames.library, *(kernel.called_bytes for kernel in inside))
        if item.input_stage is not None:
            added.append(own)
            below = max(below, deepest)
        else:
            below = max(below, frames.rows + own + deepest)
    return _Caller(_together(added), below)


def _kinds(buffers: Sequence[Buffer]) -> int:
    """Element types, of which the self test fills or compares each in a way of its own."""
    return len({buffer.type.element for buffer in buffers})


def _pushed_bytes(program: Program) -> int:
    """The row that the self test makes and pushes."""
    cascades = (item for item in program.steps if isinstance(item, Cascade))
    taking = (c.stages[c.input_stage] for c in cascades if c.input_stage is not None)
    return sum(stage.row.size_bytes for stage in taking)


def _together(inlined: Sequence[int]) -> int:
    """What kernels add to one frame: the largest, of the next the variables, and a little of a
    third. In all that was walked the others find room there, and saved registers are saved once.
    """
    largest, second, third, *_ = [*sorted(inlined, reverse=True), 0, 0]
    return largest + max(second - _SAVED_BYTES, 0) + min(third, _THIRD_BYTES)


def _aligned(size_bytes: int) -> int:
    return -(-size_bytes // STACK_ALIGN) * STACK_ALIGN
