"""Layers whose largest constant array is stored in fewer bytes and decoded to their scratch."""

from __future__ import annotations

from dataclasses import replace

from glowmcu.goals import Budgets, Goal
from glowmcu.ir.coding import encoded
from glowmcu.ir.graph import Value
from glowmcu.ir.instructions import POINTER_ALIGN, aligned
from glowmcu.ir.kernel_code import Coding, ConstantArray, KernelCode, Parameters, StagedWeights
from glowmcu.kernels.selection.select import Selection
from glowmcu.memory_fit.fitted_plan import FittedPlan
from glowmcu.memory_fit.staging import Copy, largest_array, member_count, with_copies

#: Cycles of a byte of nibbles, and of a call and the first words.
_NIBBLE_CYCLES, _CALL_CYCLES = 2.2, 150.0
#: Cycles of a byte by the prefix code, measured on the models of cores with MLPerf Tiny's weights.
_ENTROPY_CYCLES = {
    "cortex-m0": 36.0, "cortex-m0plus": 35.0, "cortex-m3": 24.0, "cortex-m4": 24.0,
    "cortex-m7": 16.0, "cortex-m33": 19.5, "cortex-m55": 24.0, "cortex-m85": 24.0,
}  # fmt: skip
_OTHER_CYCLES = 24.0
#: Bytes of the function that unpacks, which layers share.
_CODE_BYTES = 300
#: Largest growth of a layer's cycles, and the least share of its array that must be saved.
_MOST_SLOWER, _LEAST_SAVED = 0.15, 0.4
#: Bytes of flash that have to be saved for a byte of arena.
_FLASH_FOR_ARENA = {Goal.BALANCED: 2, Goal.SIZE: 1}


def pack_weights(
    fit: FittedPlan,
    goal: Goal,
    budgets: Budgets,
    streamed_input: str | None = None,
    external: frozenset[Value] = frozenset(),
    room_bytes: int | None = None,
) -> FittedPlan:
    """The plan with weights of four bits stored two to a byte if their kernels read a byte each:
    unpacked to the arena while a layer runs. `fit` itself if that does not pay.

    `room_bytes` is the largest arena that the board has room for.
    """
    if goal not in _FLASH_FOR_ARENA:
        return fit
    packed = {
        node: copy
        for node, chosen in fit.selections.items()
        if node not in fit.cascaded
        for copy in [_packed(chosen, goal)]
        if copy is not None
    }
    flash_for_arena = _FLASH_FOR_ARENA[goal]
    most = fit.arena_bytes + int(sum(copy.saved for copy in packed.values())) // flash_for_arena
    for limit in (budgets.arena_bytes, room_bytes):
        most = most if limit is None else max(min(most, limit), fit.arena_bytes)
    found = with_copies(fit, packed, most, streamed_input, external)
    taken = [copy for node, copy in packed.items() if found.selections[node].holds_pointers]
    saved = sum(copy.saved for copy in taken)
    grown = flash_for_arena * (found.arena_bytes - fit.arena_bytes)
    return found if saved - _CODE_BYTES > grown else fit


def _packed(chosen: Selection, goal: Goal) -> Copy | None:
    code = coded(chosen.code, Coding.NIBBLES)
    if code is None or code.staged is None:
        return None
    size, stored = code.staged.size_bytes, code.staged.stored_bytes
    cycles = _NIBBLE_CYCLES * size + _CALL_CYCLES
    is_slow = goal is Goal.BALANCED and cycles > _MOST_SLOWER * chosen.cost.cycles
    if is_slow or size - stored < _LEAST_SAVED * size:
        return None
    cost = replace(
        chosen.cost,
        cycles=chosen.cost.cycles + cycles,
        flash_bytes=chosen.cost.flash_bytes - (size - stored),
        scratch_bytes=code.scratch_bytes,
    )
    return Copy(replace(chosen, code=code, cost=cost), float(size - stored), size)


def decoding_cycles(coding: Coding, size_bytes: int, core_name: str) -> float:
    """Cycles to decode an array of `size_bytes` once, by the coding, on a core."""
    each = _NIBBLE_CYCLES
    if coding is Coding.ENTROPY:
        each = _ENTROPY_CYCLES.get(core_name, _OTHER_CYCLES)
    return each * size_bytes + _CALL_CYCLES


def coded(code: KernelCode, coding: Coding) -> KernelCode | None:
    """The code with its largest array stored by `coding`; None if that takes no fewer bytes, or if
    the function is called more than once: it would decode as often.
    """
    if code.parameters is None or code.staged is not None or code.batches > 1:
        return None
    name, array = largest_array(code.parameters)
    made = encoded(coding, array.data) if array is not None else None
    if array is None or made is None or made.data.nbytes >= array.data.nbytes:
        return None
    size = int(array.data.nbytes)
    comment = f"{coding.value} of {size} B"
    stored = replace(array, data=made.data, comment=comment, coding=coding, unpacked_bytes=size)
    end = aligned(aligned(code.scratch_bytes) + made.size_bytes, POINTER_ALIGN)
    note = f"{name}: {made.data.nbytes} B in flash ({coding.value}), {array.data.nbytes} B in RAM"
    size_bytes, stored_bytes = made.size_bytes, int(made.data.nbytes)
    staged = StagedWeights(name, code.scratch_bytes, size_bytes, end, coding, stored_bytes)
    return replace(
        code,
        parameters=_with_array(code.parameters, name, stored),
        scratch_bytes=end + POINTER_ALIGN * member_count(code.parameters),
        staged=staged,
        notes=(*code.notes, note),
    )


def _with_array(parameters: Parameters, path: str, array: ConstantArray) -> Parameters:
    """With another array at a path as `offsetof` takes it."""
    first, _, rest = path.partition(".")
    fields = []
    for item in parameters.fields:
        if item.name == first:
            inner = item.value
            value = _with_array(inner, rest, array) if isinstance(inner, Parameters) else array
            fields.append(replace(item, value=value))
        else:
            fields.append(item)
    return replace(parameters, fields=tuple(fields))
