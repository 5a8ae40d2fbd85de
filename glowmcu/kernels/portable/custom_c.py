"""The kernel of `custom_c`: a function of the layer's own calls the user's with its numbers."""

from __future__ import annotations

from glowmcu.custom_c import bring, plain
from glowmcu.ir.kernel_code import KernelCode
from glowmcu.kernels.kernel import Cost, Kernel, Site, Target, kernel
from glowmcu.ops.custom_c import CustomC


@kernel("custom_c.user", CustomC)
class UserKernel(Kernel):
    """C of the user's; nobody knows what it costs, and there is nothing to choose from."""

    def cost(self, site: Site, target: Target) -> Cost:
        op = site.node.op
        assert isinstance(op, CustomC)
        elements = sum(type_.element_count for type_ in site.signature.outputs)
        return Cost(10.0 * elements, 0, 0, op.scratch_bytes(site.signature), layer_code_bytes=100)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, signature = site.node.op, site.signature
        assert isinstance(op, CustomC)
        scratch = op.scratch_bytes(signature)
        pointers = [f"const {type_.element.c_name} *x{i}"
                    for i, type_ in enumerate(signature.inputs)]  # fmt: skip
        pointers += [f"{type_.element.c_name} *y{i}" for i, type_ in enumerate(signature.outputs)]
        pointers += ["int8_t *scratch"] if scratch else []
        names = [pointer.rpartition("*")[2] for pointer in pointers]
        names = ["(void *)scratch" if name == "scratch" else name for name in names]
        return KernelCode(
            function="",
            operands=tuple(range(len(signature.inputs))),
            header=bring(op.source),
            template="portable/custom_c.c.j2",
            view={
                "pointers": tuple(pointers),
                "user_function": op.declared.function,
                "arguments": tuple(names),
                "numbers": op.parameters(signature),
            },
            scratch_bytes=scratch,
            notes=(f'the model calls it "{plain(op.kind)}"; {op.source.shown} has its C',),
        )
