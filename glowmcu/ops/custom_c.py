"""`custom_c`: an operator whose meaning is C of the user's (`glowmcu/custom_c.py`).

What it means is what that C computes here: it is compiled by this computer's compiler, and called
with memory that has guards around it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from glowmcu.custom_c import (
    CustomFile,
    CustomSignature,
    Number,
    TensorForm,
    bring,
    evaluated,
)
from glowmcu.errors import GlowmcuError, error
from glowmcu.host_compiler import SharedLibrary, complaint, library_command, loaded
from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.types import Shape, TensorType
from glowmcu.libjit_headers import libjit_closure
from glowmcu.limits import tensor_bytes
from glowmcu.ops.registry import operation
from glowmcu.ops.user_file import UserOperation
from glowmcu.trial_call import trial_call

_GUARD_BYTES = 64
#: What calls the user's function.
_NAME = "glowmcu_custom"
#: What memory holds before a call: once this, once that.
_FILLS = (0xA5, 0x5A)


@operation("custom_c")
class CustomC(UserOperation):
    """C, with a signature in a comment."""

    @property
    def declared(self) -> CustomSignature:
        """What its comment says."""
        return self.source.signature

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        known, declared = self._known(inputs), self.declared
        return tuple(
            tuple(self._size(size, known, form) for size in form.sizes) for form in declared.outputs
        )

    def _size(self, text: str, known: dict[str, Number], form: TensorForm) -> int:
        size = self._value(text, known)
        if not isinstance(size, int) or not 0 < size <= tensor_bytes():
            raise OperationError(f"{form.name} has a size {text} of {size}")
        return size

    def _value(
        self, text: str, known: dict[str, Number], signature: Signature | None = None
    ) -> Number:
        tensors = {} if signature is None else self._tensors(signature)
        try:
            return evaluated(text, known, tensors)
        except (ValueError, ArithmeticError) as cause:
            raise OperationError(f"{text!r}: {cause}") from cause

    def _tensors(self, signature: Signature) -> dict[str, tuple[float, int]]:
        forms = (*self.declared.inputs, *self.declared.outputs)
        types = (*signature.inputs, *signature.outputs)
        return {
            form.name: (type_.scale, type_.zero_point)
            for form, type_ in zip(forms, types, strict=True)
            if type_.quantization is not None
        }

    def _known(self, inputs: Sequence[TensorType]) -> dict[str, Number]:
        """Sizes and attributes by name. Raises OperationError for operands of other shapes."""
        declared = self.declared
        if len(inputs) != len(declared.inputs):
            raise OperationError(f"it takes {len(declared.inputs)} operands, got {len(inputs)}")
        if len(self.numbers) != len(declared.attributes):
            count = len(declared.attributes)
            raise OperationError(f"it has {count} attributes, got {len(self.numbers)} numbers")
        known: dict[str, Number] = {}
        for form, type_ in zip(declared.inputs, inputs, strict=True):
            shown = f"{form.name} is {form.dtype}[{', '.join(form.sizes)}], got {type_}"
            if type_.rank != len(form.sizes) or str(type_.element.numpy) != form.dtype:
                raise OperationError(shown)
            for text, size in zip(form.sizes, type_.shape, strict=True):
                if known.setdefault(text, size) != size or (text.isdecimal() and int(text) != size):
                    raise OperationError(f"{shown}, and {text} is {known[text]}")
        return known | dict(zip(declared.attributes, self.numbers, strict=True))

    def verify(self, signature: Signature) -> None:
        for form, type_ in zip(self.declared.outputs, signature.outputs, strict=True):
            if str(type_.element.numpy) != form.dtype:
                raise OperationError(f"{form.name} is {form.dtype}, the model says {type_}")
        self.parameters(signature)
        self.scratch_bytes(signature)

    def parameters(self, signature: Signature) -> tuple[Number, ...]:
        """The numbers behind the pointers: int32 or float."""
        known = self._known(signature.inputs)
        found = tuple(self._value(text, known, signature) for text in self.declared.parameters)
        for text, value in zip(self.declared.parameters, found, strict=True):
            if isinstance(value, int) and not -(2**31) <= value < 2**31:
                raise OperationError(
                    f"the parameter {text} is {value}, which int32_t does not hold"
                )
        return found

    def scratch_bytes(self, signature: Signature) -> int:
        """What it wants of the arena."""
        text = self.declared.scratch_bytes
        size = self._value(text, self._known(signature.inputs), signature) if text else 0
        if not isinstance(size, int) or not 0 <= size <= tensor_bytes():
            raise OperationError(f"scratch_bytes is {size}")
        return size

    @property
    def float_reason(self) -> str:
        return "its meaning is C of the user's"

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return _loaded(self.source, self._declaration(signature)).results(self, inputs, signature)

    def _declaration(self, signature: Signature) -> tuple[str, ...]:
        """The types of the function's arguments, in C."""
        scratch = ("void *",) if self.scratch_bytes(signature) else ()
        return (
            *(f"const {type_.element.c_name} *" for type_ in signature.inputs),
            *(f"{type_.element.c_name} *" for type_ in signature.outputs),
            *scratch,
            *("int32_t" if isinstance(n, int) else "float" for n in self.parameters(signature)),
        )


class _Loaded:
    """The user's function on this computer."""

    def __init__(self, source: CustomFile, declaration: tuple[str, ...]) -> None:
        import cffi

        self._ffi: Any = cffi.FFI()
        self._declaration = declaration
        self._library = SharedLibrary()
        self._checked: set[Signature] = set()
        arguments = [f"{kind} a{at}" for at, kind in enumerate(declaration)]
        head = f"void {_NAME}({', '.join(arguments)})"
        call = f"{source.signature.function}({', '.join(f'a{at}' for at in range(len(arguments)))})"
        header = bring(source)
        self._compile(source, header, head, call)
        self._ffi.cdef(f"{head};")
        self._function = loaded(self._ffi, self._library).glowmcu_custom

    def _compile(self, source: CustomFile, header: str, head: str, call: str) -> None:
        """Make the library, of two files that have the C as bundles of one program do; GM762."""
        with tempfile.TemporaryDirectory(prefix="glowmcu_custom_") as scratch:
            folder = Path(scratch)
            for name, text in _included(source, header).items():
                (folder / name).write_text(text, encoding="utf-8")
            paths = [str(folder / name) for name in ("custom.c", "another.c")]
            for path, name in zip(paths, (_NAME, "glowmcu_another"), strict=True):
                here = head.replace(_NAME, name)
                code = f'#include "{header}"\n{here};\n{here}\n{{\n    {call};\n}}\n'
                Path(path).write_text(code, encoding="utf-8")
            command = [*library_command(()), f"-I{folder}"]
            refused = complaint([*command, *paths], self._library).replace(f"{folder}/", "")
            if not refused:
                return
            is_alone = not complaint([*command, paths[0]], self._library)
        if is_alone:
            raise error(
                "GM762", f"the C of an operator cannot be in two bundles of a program:\n{refused}",
                source.name, "everything in it has to be static, and it has no main",
            )  # fmt: skip
        raise error(
            "GM762", f"the C of an operator does not compile:\n{refused}", source.name,
            "its function takes pointers to operands and results, scratch if it has any, then "
            f"its parameters: ({', '.join(self._declaration)})",
        )  # fmt: skip

    def results(
        self, op: CustomC, inputs: Sequence[Array], signature: Signature
    ) -> tuple[Array, ...]:
        """Of these operands. The first call is made in another process, and then twice, with memory
        that holds other bytes before. Raises GM763.
        """
        if signature not in self._checked:
            self._try(op, inputs, signature)
        found = self._called(op, inputs, signature, _FILLS[0])
        if signature not in self._checked:
            again = self._called(op, inputs, signature, _FILLS[1])
            pairs = zip(found, again, op.declared.outputs, strict=True)
            for one, other, form in pairs:
                if one.tobytes() != other.tobytes():
                    raise _wrong(
                        op, f"{form.name} depends on what memory held before: some of it is not "
                        "written, or scratch is read before it is written",
                    )  # fmt: skip
            self._checked.add(signature)
        return found

    def _try(self, op: CustomC, inputs: Sequence[Array], signature: Signature) -> None:
        """Raise GM763 for a call that does not come back."""
        blocks = [type_.size_bytes for type_ in signature.outputs]
        blocks += [n] if (n := op.scratch_bytes(signature)) else []
        arguments = [array.tobytes() for array in inputs]
        arguments += [bytes([_FILLS[0]]) * size for size in blocks]
        numbers = op.parameters(signature)
        with self._library.file() as path:
            said = trial_call(path, _NAME, (*arguments, *numbers))
        if said:
            raise _wrong(op, said)

    def _called(
        self, op: CustomC, inputs: Sequence[Array], signature: Signature, fill: int
    ) -> tuple[Array, ...]:
        given = [np.ascontiguousarray(array) for array in inputs]
        copies = [array.copy() for array in given]
        blocks = [_Block(type_.size_bytes, fill) for type_ in signature.outputs]
        scratch = [_Block(n, fill)] if (n := op.scratch_bytes(signature)) else []
        addresses = [copy.ctypes.data for copy in copies]
        addresses += [block.address for block in (*blocks, *scratch)]
        pointers = [
            self._ffi.cast(kind, address)
            for kind, address in zip(self._declaration, addresses, strict=False)
        ]
        self._function(*pointers, *op.parameters(signature))
        if not all(block.is_guarded for block in (*blocks, *scratch)):
            raise _wrong(op, "it writes outside of its results or its scratch")
        if any(
            copy.tobytes() != array.tobytes() for copy, array in zip(copies, given, strict=True)
        ):
            raise _wrong(op, "it writes to an operand")
        return tuple(
            np.frombuffer(block.content, type_.element.numpy).reshape(type_.shape)
            for block, type_ in zip(blocks, signature.outputs, strict=True)
        )


def _included(source: CustomFile, header: str) -> dict[str, str]:
    """The file as a header, and those of libjit that it includes. Raises GM762 for others."""
    try:
        return dict(libjit_closure((header,)))
    except GlowmcuError as cause:
        raise error(
            "GM762", f"the C of an operator does not compile: {cause.problems[0].message}",
            source.name, "one file is all that --custom takes; beside it there are the headers of "
            "C99 that need no library, as <stdint.h>, and glowmcu_*.h of libjit",
        ) from cause  # fmt: skip


class _Block:
    """Memory between guards."""

    def __init__(self, size_bytes: int, fill: int) -> None:
        self._fill = fill
        self._memory = np.full(size_bytes + 3 * _GUARD_BYTES, fill, np.uint8)
        self._start = _GUARD_BYTES + -(self._memory.ctypes.data + _GUARD_BYTES) % 16
        self._end = self._start + size_bytes

    @property
    def address(self) -> int:
        return int(self._memory.ctypes.data) + self._start

    @property
    def content(self) -> bytes:
        return self._memory[self._start : self._end].tobytes()

    @property
    def is_guarded(self) -> bool:
        around = (self._memory[: self._start], self._memory[self._end :])
        return all(bool((part == self._fill).all()) for part in around)


def _wrong(op: CustomC, what: str) -> Exception:
    place = f'{op.file}, operator "{op.kind}"'
    return error("GM763", f"the C of an operator is wrong: {what}", place,
                 "compile it with -fsanitize=address,undefined, and look at its loops")  # fmt: skip


@cache
def _loaded(source: CustomFile, declaration: tuple[str, ...]) -> _Loaded:
    return _Loaded(source, declaration)
