"""Modes that seeds from `WIDE_FROM` on draw for a network: ways to compile it, and to run it, that
leave its numbers what they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import tflite

import glowmcu
from benchmarks.differential_executors import Calls, have_one_layout, port_flags, weights_of
from benchmarks.random_draws import Generator, pick
from glowmcu.frontend.tflite.schema import schema_enum
from glowmcu.kernels.common.hooks import HOOKED
from glowmcu.memory_fit import divisible, partner, staging
from glowmcu.tuning.kernel_file import KernelFile, kernel_file_text
from glowmcu.version import __version__

#: Seeds before that drew some of the options only.
WIDE_FROM = 107_088
STEPS, CORES, PREFETCH, POINTER, KERNELS, ACCELERATOR, OBSERVED, NAMED, PLACED, FLASH = (
    "steps", "two cores", "prefetch", "weights by pointer", "kernels of a file", "accelerator",
    "observed", "named", "placed by name", "flash budget",
)  # fmt: skip
#: How often each is drawn, of the networks that get one of them.
_SHARES = {
    STEPS: 0.12, CORES: 0.2, PREFETCH: 0.14, POINTER: 0.12, KERNELS: 0.1, ACCELERATOR: 0.08,
    OBSERVED: 0.06, NAMED: 0.04, PLACED: 0.06, FLASH: 0.08,
}  # fmt: skip
_SECOND = 0.25
#: Seeds from then on have a budget for flash as often as one for the arena.
BUDGETS_FROM = 115_512
_BUDGETS = 0.15
_OF_TWO_CORES = ("rp2040", "rp2350", "rp2350-riscv", "stm32h745")
#: Boards whose flash is slow enough that copies are worth the arena.
_SLOW_FLASH = ("nrf52", "rp2040", "nucleo-l4r5zi", "stm32f746-discovery", "nrf5340")
_NAMES = ("n", "Net_2", "a_network_with_a_name_of_more_than_31_characters")
#: All that hooks can compute, for nothing.
_FREE_ACCELERATOR = """
name = "All"
prefix = "all"
align = 16
weights_align = 16
""" + "".join(f'[[accepts]]\noperator = "{item.name}"\n' for item in HOOKED)
#: Arguments that a bundle made without them decides.
Second = Callable[[glowmcu.Bundle, Generator], dict[str, Any]]


@dataclass(frozen=True)
class Modes:
    """What was drawn: names for the ledger, `arguments` of `glowmcu.compile` and those that the
    bundle made with these decides (`second`), the `board` that they need, how the bundle is called
    and with which `flags` it is compiled. `eager`: layers are shared and weights are copied though
    it saves nothing. With `exchanged` the code is that of a network with other weights.
    """

    names: tuple[str, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    second: Mapping[str, Second] = field(default_factory=dict)
    board: str = ""
    calls: Calls = field(default_factory=Calls)
    flags: tuple[str, ...] = ()
    eager: bool = False
    exchanged: bool = False

    def without(self, names: Sequence[str]) -> Modes:
        """The same but for what `second` could not be given."""
        left = {name: ask for name, ask in self.second.items() if name not in names}
        return replace(self, second=left, names=tuple(n for n in self.names if n not in names))

    @contextmanager
    def while_compiling(self) -> Iterator[None]:
        """Nothing is too small to be shared or copied where that was drawn."""
        with ExitStack() as stack:
            if self.eager:
                for name in ("LEAST_CYCLES", "CALL_CYCLES", "MEETING_CYCLES"):
                    stack.enter_context(mock.patch.object(divisible, name, 0.0))
                stack.enter_context(mock.patch.object(partner, "LINE_CYCLES", 0.0))
                stack.enter_context(mock.patch.object(staging, "_LEAST_GAIN", -1e9))
                stack.enter_context(mock.patch.object(staging, "_GROWTH_AHEAD", 1e6))
            yield


def draw_modes(random: Generator, data: bytes, folder: Path, has_states: bool) -> Modes:
    """One mode or two, each with what it needs; files go to `folder`."""
    names = [str(random.choice(list(_SHARES), p=list(_SHARES.values())))]
    if random.random() < _SECOND:
        names.append(str(random.choice(list(_SHARES), p=list(_SHARES.values()))))
    if has_states:
        names = [name for name in names if name != CORES]
    modes = Modes()
    for name in dict.fromkeys(names):
        modes = _DRAWS[name](random, modes, data, folder)
    return replace(modes, eager=bool(random.random() < 0.7))


def with_flash_budget(modes: Modes, seed: int) -> Modes:
    """The modes of a seed, in a share of them with a budget for flash; drawn apart, so that all
    else stays as it was drawn.
    """
    own = np.random.default_rng([8149, seed])
    if seed < BUDGETS_FROM or FLASH in modes.names or own.random() >= _BUDGETS:
        return modes
    return _flash(own, modes, b"", Path())


def _asking(modes: Modes, mode: str, /, **arguments: Any) -> Modes:
    return replace(modes, names=(*modes.names, mode), arguments={**modes.arguments, **arguments})


def _steps(random: Generator, modes: Modes, data: bytes, folder: Path) -> Modes:
    counts = tuple(int(n) for n in random.integers(1, 7, int(random.integers(1, 5))))
    modes = replace(modes, calls=replace(modes.calls, steps=counts))
    return _asking(modes, STEPS, steps=True)


def _cores(random: Generator, modes: Modes, data: bytes, folder: Path) -> Modes:
    return _asking(replace(modes, board=str(pick(random, _OF_TWO_CORES))), CORES, cores=2)


def _prefetch(random: Generator, modes: Modes, data: bytes, folder: Path) -> Modes:
    kind = pick(random, ("", "early", "late", "late"))
    flags = port_flags(kind, folder) if kind else ()
    board = modes.board or str(pick(random, _SLOW_FLASH))
    return _asking(replace(modes, board=board, flags=flags), PREFETCH, prefetch=True)


def _pointer(random: Generator, modes: Modes, data: bytes, folder: Path) -> Modes:
    modes = replace(modes, exchanged=bool(random.random() < 0.7))
    return _asking(modes, POINTER, weights="pointer")


def _accelerator(random: Generator, modes: Modes, data: bytes, folder: Path) -> Modes:
    file = folder / "all.toml"
    file.write_text(_FREE_ACCELERATOR, encoding="utf-8")
    return _asking(modes, ACCELERATOR, accelerator=file)


def _observed(random: Generator, modes: Modes, data: bytes, folder: Path) -> Modes:
    modes = replace(modes, calls=replace(modes.calls, observed=True))
    return _asking(modes, OBSERVED, instrument=True, dump_tensors=bool(random.random() < 0.5))


def _named(random: Generator, modes: Modes, data: bytes, folder: Path) -> Modes:
    return _asking(modes, NAMED, name=str(pick(random, _NAMES)))


def _kernels(random: Generator, modes: Modes, data: bytes, folder: Path) -> Modes:
    def choose(bundle: glowmcu.Bundle, random: Generator) -> dict[str, Any]:
        file = folder / "kernels.json"
        chosen = {
            layer.name: str(pick(random, tuple(
                option.kernel for option in (layer.chosen, *layer.others)
            )))
            for layer in bundle.choices
        }  # fmt: skip
        sha = hashlib.sha256(data).hexdigest()
        stored = KernelFile(sha, bundle.board.core, "balanced", __version__, chosen)
        file.write_text(kernel_file_text(stored), encoding="utf-8")
        return {"kernels": file}

    return replace(modes, names=(*modes.names, KERNELS), second={**modes.second, KERNELS: choose})


def _placed(random: Generator, modes: Modes, data: bytes, folder: Path) -> Modes:
    def choose(bundle: glowmcu.Bundle, random: Generator) -> dict[str, Any]:
        regions = tuple(region.name for region in bundle.board.memory)
        layers = tuple(layer.name for layer in bundle.manifest.layers if layer.weights_bytes)
        what = ["arena", "weights", "code"]
        what += [f"{kind}:{pick(random, layers)}" for kind in ("weights", "code") if layers]
        return {"place": {str(pick(random, tuple(what))): str(pick(random, regions))}}

    modes = replace(modes, second={**modes.second, PLACED: choose})
    board = modes.board or str(pick(random, ("stm32f746-discovery", "nucleo-h743zi", "nrf52")))
    return _asking(replace(modes, board=board), PLACED)


def _flash(random: Generator, modes: Modes, data: bytes, folder: Path) -> Modes:
    def choose(bundle: glowmcu.Bundle, random: Generator) -> dict[str, Any]:
        # Without a cross compiler, as most seeds are compiled, the estimate has to do.
        code = bundle.report.code_bytes or bundle.manifest.costs.code_bytes_estimate or 0
        taken = bundle.manifest.weights_bytes + code
        return {"flash_budget": max(1, int(taken * random.uniform(0.93, 1.05)))}

    return replace(modes, names=(*modes.names, FLASH), second={**modes.second, FLASH: choose})


_DRAWS: dict[str, Callable[[Generator, Modes, bytes, Path], Modes]] = {
    STEPS: _steps, CORES: _cores, PREFETCH: _prefetch, POINTER: _pointer, KERNELS: _kernels,
    ACCELERATOR: _accelerator, OBSERVED: _observed, NAMED: _named, PLACED: _placed, FLASH: _flash,
}  # fmt: skip


def with_other_weights(data: bytes, random: Generator) -> bytes:
    """The network with the same weights in other places: within the ranges that they had."""
    changed = bytearray(data)
    model = tflite.Model.GetRootAs(changed)
    graph = model.Subgraphs(0)
    words = {number: word for word, number in schema_enum("BuiltinOperator").items()}
    done: set[int] = set()
    for number in range(graph.OperatorsLength()):
        operator = graph.Operators(number)
        kind = words[model.OperatorCodes(operator.OpcodeIndex()).BuiltinCode()]
        if kind in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"):
            buffer = graph.Tensors(operator.Inputs(1)).Buffer()
            values = model.Buffers(buffer).DataAsNumpy()
            if buffer not in done and isinstance(values, np.ndarray):
                values[:] = random.permutation(values)
                done.add(buffer)
    return bytes(changed)


def exchanged(calls: Calls, bundle: glowmcu.Bundle, other: glowmcu.Bundle) -> tuple[Calls, bool]:
    """How the code of `other` runs with the weights of `bundle`, and whether it can."""
    weights = weights_of(bundle.path)
    if not have_one_layout(weights, weights_of(other.path)):
        return replace(calls, weights=weights), False
    return replace(calls, weights=weights, code=other.path), True
