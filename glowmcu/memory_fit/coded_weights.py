"""A layer whose largest constant array is stored in fewer bytes and decoded to its scratch."""

from __future__ import annotations

from dataclasses import replace

from glowmcu.ir.coding import encoded
from glowmcu.ir.instructions import POINTER_ALIGN, aligned
from glowmcu.ir.kernel_code import Coding, ConstantArray, KernelCode, Parameters, StagedWeights
from glowmcu.memory_fit.staging import largest_array, member_count


def coded(code: KernelCode, coding: Coding) -> KernelCode | None:
    """The same with its largest array by `coding`; None where that takes no fewer bytes, or where
    the function is called more than once: it would decode as often.
    """
    if code.parameters is None or code.staged is not None or code.batches > 1:
        return None
    name, array = largest_array(code.parameters)
    made = encoded(coding, array.data) if array is not None else None
    if array is None or made is None or made.data.nbytes >= array.data.nbytes:
        return None
    stored = replace(array, data=made.data, comment=f"{coding.value} of {array.data.nbytes} B")
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
