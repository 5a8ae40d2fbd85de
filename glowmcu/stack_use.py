"""What functions of bundles take of the stack on a core, as measured: data for bounds."""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True)
class KernelStack:
    """Bytes that a kernel takes below its caller's frame, and what it adds to that frame where
    compilers put it into the caller. Without those that its generated text tells of.
    """

    called_bytes: int
    inlined_bytes: int


def greatest(*stacks: KernelStack) -> KernelStack:
    """The most of each."""
    return KernelStack(
        max(item.called_bytes for item in stacks), max(item.inlined_bytes for item in stacks)
    )


@dataclass(frozen=True)
class KernelUse:
    """A function that a program calls in one place, as compilers like to put into the caller, and
    one that it calls more often; None of what was not measured.
    """

    once: KernelStack | None = None
    often: KernelStack | None = None


@dataclass(frozen=True)
class FrameStacks:
    """The greatest own frames of what calls kernels, kernels apart: `NAME_run`, cascades,
    `NAME_push_rows` and `NAME_run_steps`; what `NAME_infer` and the self test take beyond what they
    call; `NAME_check`; what begins a run in parts; the C library's.
    """

    run: int
    rows: int
    push: int
    steps: int
    infer: int
    selftest: int
    check: int
    begin: int
    library: int


@dataclass(frozen=True)
class CoreStacks:
    """All that is known of a core at one optimization: `kernels` by variant, and by the function's
    name without numbers or by its template.
    """

    compiler: str
    frames: FrameStacks
    kernels: Mapping[str, Mapping[str, KernelUse]]

    def kernel(self, variant: str, kind: str, is_called_once: bool) -> KernelStack | None:
        """The greatest of the variant's functions where this one was not measured; None if no
        other was. How often it is called decides what compilers put into the caller. It does not
        decide how deep the function goes: what that calls may serve other functions, too.
        """
        known = self.kernels.get(variant, {})
        everyone = [item for use in known.values() for item in (use.once, use.often) if item]
        if not everyone:
            return None
        use = known.get(kind, KernelUse())
        both = [item for item in (use.once, use.often) if item]
        called = both if use.often else everyone
        wanted = use.once if is_called_once else use.often
        inlined = [wanted] if wanted else everyone
        return KernelStack(greatest(*called).called_bytes, greatest(*inlined).inlined_bytes)


@dataclass(frozen=True)
class KnownCosts:
    """What is known of a bundle's costs before a compiler sees it: all are None or 0 if nothing is
    known, `cycles` are an estimate.
    """

    core: str
    cycles: int = 0
    code_bytes: int = 0
    stacks: CoreStacks | None = None
    #: Of another core that shares the runs.
    second_stacks: CoreStacks | None = None
