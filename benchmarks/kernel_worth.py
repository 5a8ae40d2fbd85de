"""`python -m benchmarks.kernel_worth`: what each kernel is worth, by what models lose without it.

Every model is compiled with all kernels, then once without each variant that it uses: estimated
cycles, flash and arena. A variant that no model would miss by 2 % in any of them is not worth its
lines. `--family depthwise_conv_2d` looks at one operator's variants, `--core` at one core.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from unittest import mock

from benchmarks import foreign_models
from benchmarks.mcunet import mcunet_vww
from benchmarks.models import MODELS, REPO
from glowmcu.compilation import Compilation, Options
from glowmcu.cores import Core
from glowmcu.goals import Goal
from glowmcu.ir.operation import Operation
from glowmcu.kernels.kernel import Kernel, load_kernels
from glowmcu.kernels.selection import select
from glowmcu.kernels.selection.select import code_bytes
from glowmcu.kernels.selection.transposed_variants import untransposed
from glowmcu.pipeline import compile_model

#: A variant that saves less than this share of everything on every model is not worth its lines.
LEAST = 0.02
_STREAMS = REPO.parent / "shared" / "streams"


def models() -> Iterator[tuple[str, bytes]]:
    """Model files by name; those that are not here are left out."""
    files = [(model.name, model.path) for model in MODELS]
    files += [(path.stem, path) for path in sorted(_STREAMS.glob("*.tflite"))]
    yield from ((name, path.read_bytes()) for name, path in files if path.is_file())
    made: dict[str, Callable[[], bytes]] = {
        "MCUNet": mcunet_vww,
        "MobileNetV2 at 96x96": foreign_models.mobile_net_v2,
        "U-Net": foreign_models.u_net,
        "temporal network": foreign_models.temporal_net,
    }
    yield from ((name, build()) for name, build in made.items())


@dataclass(frozen=True)
class Total:
    """Of one compilation."""

    cycles: float
    flash_bytes: int
    arena_bytes: int

    @classmethod
    def of(cls, compilation: Compilation) -> Total:
        chosen = compilation.selections.values()
        flash = code_bytes(chosen) + sum(one.cost.flash_bytes for one in chosen)
        return cls(compilation.estimated_cycles, flash, compilation.manifest.arena_bytes)

    def lost(self, without: Total) -> dict[str, float]:
        """Shares that are added without a kernel."""
        return {
            name: after / before - 1.0 if before else 0.0
            for name, before, after in (
                ("cycles", self.cycles, without.cycles),
                ("flash", self.flash_bytes, without.flash_bytes),
                ("arena", self.arena_bytes, without.arena_bytes),
            )
        }


def compiled(data: bytes, core: str, goal: Goal, without: str = "") -> Compilation:
    """With all kernels but one."""
    known = {
        operation: tuple(variant for variant in variants if variant.name != without)
        for operation, variants in load_kernels().items()
    }

    def left(_: Core) -> dict[type[Operation], tuple[Kernel, ...]]:
        return known

    with mock.patch.object(select, "load_kernels", left):
        return compile_model(data, "m.tflite", Options("m", core=core, goal=goal))


def used_by(compilation: Compilation, family: str) -> set[str]:
    """Names of the variants that compute layers, whole or by rows, but for the portable ones."""
    chosen = (untransposed(selection.kernel) for selection in compilation.selections.values())
    names = {variant.name for variant in chosen}
    return {name for name in names if name.startswith(family) and ".portable" not in name}


def main() -> None:
    """A line for each model, goal and variant that it uses, then what each is worth at most."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernel_worth")
    parser.add_argument("--family", default="", help="the beginning of variants' names")
    parser.add_argument("--core", default="cortex-m4")
    parser.add_argument("--goal", action="append", choices=[goal.value for goal in Goal])
    parser.add_argument("--only", default="", help="comma-separated model names")
    asked = parser.parse_args()
    best: dict[str, tuple[float, str]] = {}
    for name, data in models():
        if asked.only and name not in asked.only.split(","):
            continue
        for goal in map(Goal, asked.goal or [goal.value for goal in Goal]):
            with_all = compiled(data, asked.core, goal)
            for variant in sorted(used_by(with_all, asked.family)):
                without = Total.of(compiled(data, asked.core, goal, variant))
                lost = Total.of(with_all).lost(without)
                shares = ", ".join(f"{what} {share:+.1%}" for what, share in lost.items())
                print(f"{name:24} {goal.value:9} {variant:36} {shares}", flush=True)
                what, share = max(lost.items(), key=lambda item: item[1])
                place = f"{what} of {name}, {goal.value}"
                best[variant] = max(best.get(variant, (0.0, "")), (share, place))
    for variant, (share, place) in sorted(best.items(), key=lambda item: item[1][0]):
        mark = "" if share >= LEAST else "   not worth its lines"
        print(f"{variant:36} {share:7.1%}  {place}{mark}")


if __name__ == "__main__":
    main()
