"""The kernel of `defined`: the definition's loops in C, at the shapes of the layer."""

from __future__ import annotations

from glowmcu.custom_c import bring, plain
from glowmcu.index_notation.c_code import body, scratch_bytes
from glowmcu.index_notation.schedule import cycles
from glowmcu.ir.kernel_code import KernelCode
from glowmcu.ir.types import ElementType
from glowmcu.kernels.kernel import Cost, Kernel, Site, Target, kernel
from glowmcu.ops.defined import Defined, DefinedFunction

#: Of a line, roughly.
_LINE_BYTES = 5


@kernel("defined.portable", Defined, DefinedFunction)
class PortableDefinition(Kernel):
    """Loops in the order that the definition gives, or that takes the fewest cycles; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return site.signature.output.element in (ElementType.F32, ElementType.I32)

    def cost(self, site: Site, target: Target) -> Cost:
        op = site.node.op
        assert isinstance(op, Defined | DefinedFunction)
        plan = op.plan(site.signature.inputs)
        has_fpu = target.core.has_fpu
        code_bytes = _LINE_BYTES * len(body(plan, has_fpu))
        taken = cycles(plan, has_fpu)
        return Cost(taken, 0, 0, scratch_bytes(plan), layer_code_bytes=code_bytes)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, signature = site.node.op, site.signature
        assert isinstance(op, Defined | DefinedFunction)
        plan, definition = op.plan(signature.inputs), op.source.definition
        pointers = [
            f"const {type_.element.c_name} *p_{form.name}"
            for form, type_ in zip(definition.inputs, signature.inputs, strict=True)
        ]
        pointers += [
            f"{type_.element.c_name} *p_{form.name}"
            for form, type_ in zip(definition.outputs, signature.outputs, strict=True)
        ]
        scratch = scratch_bytes(plan)
        pointers += ["int8_t *scratch"] if scratch else []
        return KernelCode(
            function="",
            operands=tuple(range(len(signature.inputs))),
            header=bring(op.source),
            template="portable/defined.c.j2",
            view={"pointers": tuple(pointers), "lines": body(plan, target.core.has_fpu)},
            scratch_bytes=scratch,
            notes=(f'the model calls it "{plain(op.kind)}"; {op.source.shown} defines it',),
        )
