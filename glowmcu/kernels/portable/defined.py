"""The kernel of `defined`: the definition's loops in C, at the shapes of the layer."""

from __future__ import annotations

from glowmcu.custom_c import bring, plain
from glowmcu.index_notation.c_code import body, scratch_bytes
from glowmcu.ir.kernel_code import KernelCode
from glowmcu.ir.types import ElementType
from glowmcu.kernels.kernel import Cost, Kernel, Site, Target, kernel
from glowmcu.ops.defined import Defined, DefinedFunction

#: Of a step of a loop, roughly: with an FPU, and without.
_CYCLES = (8.0, 60.0)


@kernel("defined.portable", Defined, DefinedFunction)
class PortableDefinition(Kernel):
    """One loop an index, in the order of the definition; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return site.signature.output.element in (ElementType.F32, ElementType.I32)

    def cost(self, site: Site, target: Target) -> Cost:
        op = site.node.op
        assert isinstance(op, Defined | DefinedFunction)
        plan = op.plan(site.signature.inputs)
        cycles = _CYCLES[0 if target.core.has_fpu else 1] * plan.steps
        code_bytes = 60 * len(plan.spaces)
        return Cost(cycles, 0, 0, scratch_bytes(plan), layer_code_bytes=code_bytes)

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
            view={"pointers": tuple(pointers), "lines": body(plan)},
            scratch_bytes=scratch,
            notes=(f'the model calls it "{plain(op.kind)}"; {op.source.shown} defines it',),
        )
