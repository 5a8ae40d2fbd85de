"""Kernel of int8 sums and means with the DSP instructions: four results a word."""

from __future__ import annotations

from glowmcu.ir.types import ElementType
from glowmcu.kernels.kernel import Cost, Field, Kernel, KernelCode, Parameters, Site, Target, kernel
from glowmcu.kernels.portable.reduction import reduction_loops, sum_bound
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.reduction import Mean, Sum, is_plain


@dataclass(frozen=True)
class _Layout:
    """Groups of `width` results side by side; the `count` elements of one are `step` apart."""

    groups: int
    group_step: int
    width: int
    count: int
    step: int


def _layout(site: Site) -> _Layout | None:
    """How the loops of the reduction fit the kernel, None if they do not."""
    kept, reduced = reduction_loops(site)
    if not 1 <= len(kept) <= 2 or len(reduced) != 1:
        return None
    (width, neighbour), (count, step) = kept[-1], reduced[0]
    groups, group_step = kept[0] if len(kept) == 2 else (1, 0)
    if neighbour != 1 or width < 4:
        return None
    return _Layout(groups, group_step, width, count, step)


@kernel("reduce_sum.dsp", Mean, Sum)
class ReduceSumDsp(Kernel):
    """Over the pixels of an image, four channels at once; cores with DSP instructions."""

    def accepts(self, site: Site, target: Target) -> bool:
        x = site.signature.inputs[0]
        return (
            target.core.has_dsp
            and x.element is ElementType.I8
            and not is_plain(x)
            and _layout(site) is not None
        )

    def work(self, site: Site, target: Target) -> dict[str, float]:
        layout = _layout(site)
        assert layout is not None
        words = layout.groups * -(-layout.width // 4)
        return {"call": 1.0, "word": words, "word_element": words * layout.count}

    def flash_bytes(self, site: Site, target: Target) -> int:
        return 36

    def cost(self, site: Site, target: Target) -> Cost:
        work = self.work(site, target)
        return Cost(60.0 + 150.0 * work["word"] + 6.0 * work["word_element"], 330, 36)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, layout = site.node.op, _layout(site)
        assert isinstance(op, (Mean, Sum)) and layout is not None
        x, out = site.signature.inputs[0], site.signature.output
        bound = sum_bound(site, layout.count)
        scale = op.requantization(site.signature)
        fields = (
            Field("groups", layout.groups),
            Field("group_step", layout.group_step),
            Field("width", layout.width),
            Field("count", layout.count),
            Field("step", layout.step),
            Field("offset", -x.zero_point * layout.count),
            Field("multiplier", int(scale.multipliers[0])),
            Field("shift", int(scale.shifts[0])),
            Field("out_zero_point", out.zero_point),
        )
        text = f"{layout.count:,} elements a result; |acc| <= {bound:,} < 2^31".replace(",", " ")
        return KernelCode(
            function="glowmcu_reduce_sum_dsp_s8",
            operands=(0,),
            header="glowmcu_reduce_sum_dsp.h",
            parameters=Parameters("glowmcu_reduce_sum_dsp", fields),
            notes=(text,),
        )
