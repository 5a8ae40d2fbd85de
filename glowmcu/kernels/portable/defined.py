"""The kernel of `defined`: the definition's loops in C, at the shapes of the layer."""

from __future__ import annotations

from glowmcu.custom_c import plain, wrapped
from glowmcu.index_notation.c_code import body, headers, scratch_bytes
from glowmcu.ir.kernel_code import KernelCode
from glowmcu.kernels.kernel import Cost, Kernel, Site, Target, kernel
from glowmcu.libjit_headers import bring_header
from glowmcu.ops.defined import Defined

#: Of a step of a loop, roughly: with an FPU, and without.
_CYCLES = (8.0, 60.0)


@kernel("defined.portable", Defined)
class PortableDefinition(Kernel):
    """One loop an index, in the order of the definition; any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        op = site.node.op
        assert isinstance(op, Defined)
        plan = op.plan(site.signature.inputs)
        cycles = _CYCLES[0 if target.core.has_fpu else 1] * plan.steps
        code_bytes = 60 * len(plan.spaces)
        return Cost(cycles, 0, 0, scratch_bytes(plan), layer_code_bytes=code_bytes)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, signature = site.node.op, site.signature
        assert isinstance(op, Defined)
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
        # The header's text names what this definition calls, whatever the shapes.
        bring_header(op.source.header, wrapped(op.source, headers(plan)))
        return KernelCode(
            function="",
            operands=tuple(range(len(signature.inputs))),
            header=op.source.header,
            template="portable/defined.c.j2",
            view={"pointers": tuple(pointers), "lines": body(plan)},
            scratch_bytes=scratch,
            notes=(f'the model calls it "{plain(op.kind)}"; {op.source.shown} defines it',),
        )
