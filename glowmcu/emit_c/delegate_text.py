"""Regions of an accelerator in C: a function that hands them over, and the same on the core.

#ifdef GLOWMCU_USE_ACME: acme_begin(…), acme_conv_2d(…) a layer, acme_end(…); else portable kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Protocol

from glowmcu.delegated import DelegationNotes
from glowmcu.emit_c.body_text import MoveView, PlaceView, body_symbols, place_views
from glowmcu.emit_c.c_text import c_number, c_string, comment_text, thousands
from glowmcu.emit_c.constant_pool import ConstantPool
from glowmcu.emit_c.layer_text import LayerText
from glowmcu.ir.graph import Node
from glowmcu.ir.kernel_code import KernelCode
from glowmcu.ir.program import Buffer, Program, Run
from glowmcu.ir.types import TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.delegate import Delegate, EthosU

#: Axes of a tensor as hooks see them.
_RANK = 4
#: The macro that hands regions to an Ethos-U.
ETHOS_U = "ethos_u"


def use_macro(prefix: str) -> str:
    """What a firmware defines to have regions computed by the accelerator."""
    return f"GLOWMCU_USE_{prefix.upper()}"


@dataclass(frozen=True)
class DelegatedLayerView:
    """A layer of a region: the kernel's `call`, and `hook` with its arguments. `number` counts
    layers of all regions; `result` is where what it makes begins.
    """

    number: int
    comment: tuple[str, ...]
    definition: str
    summary: str
    call: str
    label: str
    name: str
    operands: tuple[str, ...]
    output: str
    hook: str
    result: str
    result_bytes: int
    kernel: str


@dataclass(frozen=True)
class MemoryView:
    """An operand or a result of a region."""

    pointer: str
    bytes: int
    offset: int = 0


@dataclass(frozen=True)
class RegionView:
    """The function of a region: `macro` hands it to the device, `moves` copy what the core's
    kernels left in the scratch to the results.
    """

    macro: str
    prefix: str
    label: str
    parameters: tuple[str, ...]
    unused: tuple[str, ...]
    places: tuple[PlaceView, ...]
    layers: tuple[DelegatedLayerView, ...]
    read: tuple[MemoryView, ...]
    written: tuple[MemoryView, ...]
    moves: tuple[MoveView, ...]
    scratch_bytes: int

    @property
    def kernels(self) -> tuple[str, ...]:
        """The core's functions of headers, each once."""
        return tuple(dict.fromkeys(layer.kernel for layer in self.layers if layer.kernel))


@dataclass(frozen=True)
class HookView:
    """A function that an accelerator's owner writes, for an operator whose parameters are a
    `struct` of `header`. `kernel` computes the same on the core.
    """

    function: str
    operator: str
    struct: str
    header: str
    operands: int
    kernel: str
    takes_rows: bool


@dataclass(frozen=True)
class DelegatesView:
    """All regions of a bundle: `hooks` by name, none where a region is one call. Headers of what
    stands in for the device alone are not included where that computes.
    """

    device: str
    prefix: str
    macro: str
    hooks: tuple[HookView, ...]
    layers: tuple[str, ...]
    stand_in_headers: tuple[str, ...] = ()
    estimate: str = ""

    @property
    def shown(self) -> str:
        """The device's name in a comment."""
        return comment_text(self.device, 60)

    @property
    def is_ethos_u(self) -> bool:
        """Whether Arm's driver runs the regions."""
        return self.prefix == ETHOS_U

    @property
    def functions(self) -> tuple[str, ...]:
        """Those that the firmware has, in the order of a run's first calls."""
        if self.is_ethos_u:
            return ("glowmcu_ethos_u_run",)
        around = (f"{self.prefix}_begin", f"{self.prefix}_end")
        return (*around, *(hook.function for hook in self.hooks))

    @property
    def headers(self) -> tuple[str, ...]:
        """Of libjit: those with the parameters of the hooks."""
        return tuple(dict.fromkeys(("glowmcu_hooks.h", *(hook.header for hook in self.hooks))))


@dataclass(frozen=True)
class RegionPlaces:
    """Where the tensors of a region's body are: `symbols` of buffers, of which `outside` are
    results that are made where they belong.
    """

    symbols: Mapping[Buffer, str]
    outside: frozenset[Buffer]

    def of(self, root: Buffer, first: int) -> str:
        """A pointer to the byte `first` of a root buffer: a part of a result that is another."""
        if root not in self.outside:
            return f"a + {self.symbols[root]} + {first}"
        return f"{self.symbols[root]} + {first // root.type.element.size_bytes}"


def region_places(program: Program, label: str) -> RegionPlaces:
    """Results that are a buffer of their own are made in place of the region's."""
    names = [f"in{number}" for number in range(len(program.inputs))]
    symbols = body_symbols(program, label, names)
    outside: dict[Buffer, str] = {}
    for number, buffer in enumerate(program.outputs):
        root, first = program.root(buffer)
        is_whole = first == 0 and root.size_bytes == buffer.size_bytes
        same = root.type.element is buffer.type.element and root in program.lives
        if is_whole and same and root not in outside:
            outside[root] = f"out{number}"
    return RegionPlaces({**symbols, **outside}, frozenset(outside))


def delegated_layer(layer: LayerText, prefix: str, number: int) -> DelegatedLayerView:
    """A layer of a region of hooks, or of what stands in for an Ethos-U."""
    view, node, pointers = layer.view(), layer.run.node, layer.pointers()
    operands = [item.text for item in pointers[: len(layer.run.inputs)]]
    result = pointers[len(operands)].text
    arguments = [f"&h_{layer.label}", f"&p_{layer.label}", *operands, result]
    return DelegatedLayerView(
        number, view.comment, view.definition, view.summary, view.call, layer.label,
        c_string(node.name),
        tuple(_tensor(node.signature.inputs[position]) for position in layer.run.positions),
        _tensor(node.signature.output), f"{prefix}_{node.op.name}({', '.join(arguments)})", result,
        node.signature.output.size_bytes, "" if layer.code.template else layer.function,
    )  # fmt: skip


def _tensor(type_: TensorType) -> str:
    """Initializers of a `glowmcu_hook_tensor`: four sizes, zero point, scale."""
    shape = (*(1,) * (_RANK - type_.rank), *type_.shape)
    outer = len(shape) - _RANK + 1
    shape = (prod(shape[:outer]), *shape[outer:])
    quantized = type_.quantization is not None
    numbers = (*shape, type_.zero_point if quantized else 0)
    scale = c_number(type_.scale) if quantized else "0.0f"
    return "{" + ", ".join([*map(str, numbers), scale]) + "}"


def region_view(
    run: Run, program: Program, places: RegionPlaces, layers: Sequence[DelegatedLayerView],
    label: str,
) -> dict[str, object]:  # fmt: skip
    """What the template of a region needs."""
    op, signature = run.node.op, run.node.signature
    assert isinstance(op, Delegate)
    inputs = signature.inputs[: len(op.body.inputs)]
    pairs = [(f"in{i}", t, "const ") for i, t in enumerate(inputs)]
    pairs += [(f"out{i}", t, "") for i, t in enumerate(signature.outputs)]
    parameters = (*(f"{c}{t.element.c_name} *{name}" for name, t, c in pairs), "int8_t *a")
    offsets: Sequence[Sequence[int]] = ((0,) * len(inputs), (0,) * len(signature.outputs))
    if isinstance(op, EthosU):
        offsets = (op.input_offsets, op.output_offsets)
    read = _memory("in", inputs, offsets[0])
    written = _memory("out", signature.outputs, offsets[1])
    inside = [item for item in place_views(program, dict(places.symbols))
              if item.symbol not in _outside_symbols(places)]  # fmt: skip
    calls = " ".join(f"{layer.call} {layer.hook}" for layer in layers)
    moves = tuple(
        MoveView(f"out{i}", places.of(root, first), buffer.size_bytes)
        for i, buffer in enumerate(program.outputs)
        for root, first in [program.root(buffer)] if places.symbols[root] != f"out{i}"
    )  # fmt: skip
    names = [*(f"in{i}" for i in range(len(inputs))), "a"]
    sources = " ".join(move.source for move in moves)
    unused = tuple(name for name in names if not _mentions(f"{calls} {sources}", name))
    macro = use_macro(op.prefix)
    scratch = 0 if run.scratch is None else run.scratch.size_bytes
    region = RegionView(
        macro, op.prefix, label, parameters, unused, tuple(inside), tuple(layers), read, written,
        moves, scratch,
    )  # fmt: skip
    return {"region": region}


def _memory(
    word: str, types: Sequence[TensorType], offsets: Sequence[int]
) -> tuple[MemoryView, ...]:
    pairs = enumerate(zip(types, offsets, strict=True))
    return tuple(MemoryView(f"{word}{i}", t.size_bytes, offset) for i, (t, offset) in pairs)


def _outside_symbols(places: RegionPlaces) -> set[str]:
    return {places.symbols[buffer] for buffer in places.outside}


def _mentions(text: str, name: str) -> bool:
    for mark in ",();+":
        text = text.replace(mark, " ")
    return name in text.split()


def hook_view(run: Run, layer: LayerText, prefix: str) -> HookView:
    """The function for a layer's operator."""
    code, op = layer.code, run.node.op
    assert code.parameters is not None and code.header
    return HookView(
        f"{prefix}_{op.name}", op.name, code.parameters.struct, code.header, len(run.inputs),
        code.function, bool(code.rows),
    )  # fmt: skip


class RegionBody(Protocol):
    """A region's planned body, as emission sees it."""

    @property
    def program(self) -> Program: ...
    @property
    def selections(self) -> Mapping[Node, RegionKernel]: ...


class RegionKernel(Protocol):
    """The kernel that stands in for a device."""

    @property
    def code(self) -> KernelCode: ...


@dataclass(frozen=True)
class Place:
    """Where a region stands: a step, and what its names have in place of a number."""

    pool: ConstantPool
    step: int
    label: str


class Regions:
    """All regions of a bundle, one after another."""

    def __init__(self) -> None:
        self._layers: list[str] = []
        self._hooks: dict[str, HookView] = {}
        self._device: tuple[str, str] | None = None

    def with_region(
        self, run: Run, op: Delegate, body: RegionBody, code: KernelCode, place: Place,
        note: Callable[[LayerText, str], None],
    ) -> KernelCode:  # fmt: skip
        """The code of a region, with what its template needs. `note` is told of each layer and of
        the macro where that is not there: what stands in for an Ethos-U is not where that computes.
        """
        is_whole = isinstance(op, EthosU)
        places = region_places(body.program, f"{place.label}r")
        unless = use_macro(op.prefix) if is_whole else ""
        layers = []
        for number, each in enumerate(body.program.runs):
            layer = LayerText(
                body.program, places.symbols, place.pool, place.step, each,
                body.selections[each.node].code, f"{place.label}r{number}",
                outside=places.outside,
            )  # fmt: skip
            with place.pool.read_by_device(1 if is_whole else op.weights_align, unless):
                layers.append(delegated_layer(layer, op.prefix, len(self._layers)))
                note(layer, unless)
            self._layers.append(each.node.name)
            if not is_whole:
                hook = hook_view(each, layer, op.prefix)
                self._hooks[hook.function] = hook
        self._device = op.device, op.prefix
        view = region_view(run, body.program, places, layers, place.label)
        return replace(code, view={**code.view, **view})

    def view(self, stand_in: Sequence[str]) -> DelegatesView | None:
        """What an accelerator computes, if it does; `stand_in` are headers of what is not there
        where it does.
        """
        if self._device is None:
            return None
        device, prefix = self._device
        hooks = tuple(hook for _, hook in sorted(self._hooks.items()))
        return DelegatesView(
            device, prefix, use_macro(prefix), hooks, tuple(self._layers), tuple(sorted(stand_in))
        )


def with_estimate(
    view: DelegatesView | None, notes: DelegationNotes | None
) -> DelegatesView | None:
    """With what a run takes there, in a sentence that says whose figures these are."""
    if view is None or notes is None:
        return view
    cycles = sum(note.cycles + note.transfer_cycles for note in notes.regions.values())
    core = sum(note.core_cycles for note in notes.regions.values())
    text = (
        f"That takes about {thousands(cycles)} cycles in place of {thousands(core)}, an estimate "
        f"by {comment_text(notes.estimated_by, 60)}."
    )
    return replace(view, estimate=text)
