"""A model of which each run is given a size, `--define T=1..200`: between its file and its kernels.

It is read, quantized and lowered at several sizes, as it would be at a fixed one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from glowmcu.compilation import Options, Prepared
from glowmcu.emit_c.golden_text import GoldenVector
from glowmcu.errors import ExitCode, GlowmcuError, error
from glowmcu.instrument import Instrument
from glowmcu.interface_options import Weights
from glowmcu.ir.graph import Graph
from glowmcu.ir.vector_search import vector_runs
from glowmcu.open_size.graphs import OpenGraphs, open_graphs
from glowmcu.open_size.working_range import working_range
from glowmcu.size_forms import OpenSize

#: Golden vectors of each size that has some.
_VECTORS = 2

Prepare = Callable[[bytes, str, Options], Prepared]


def prepared_at_sizes(data: bytes, file_name: str, options: Options, prepare: Prepare) -> Prepared:
    """What `prepare` makes of the model; of a size that is open at the largest, with `sizes`.

    Raises GM144, GM147 and what `prepare` raises; a range that works is in the hint.
    """
    size = options.inputs.open_size
    if size is None:
        return prepare(data, file_name, options)
    try:
        return _prepared_at_sizes(data, file_name, options, size, prepare)
    except GlowmcuError as problem:
        if problem.exit_code is ExitCode.USAGE:
            raise

        def sized(at: int) -> tuple[Graph, Graph]:
            inputs = replace(options.inputs.at(at), io="")
            given = replace(options, inputs=inputs, quantization=None, dump_ir=None)
            found = prepare(data, file_name, given)
            return found.imported, found.lowered

        works = working_range(size, sized, file_name)
        if works is None:
            raise
        first = problem.problems[0]
        raise error(
            "GM144",
            first.message
            if first.code == "GM144"
            else f"{size}: {first.message} (at {size.symbol}={size.largest})",
            file_name,
            f"the layers fit together in another range: --define {works}",
            ExitCode.UNSUPPORTED,
        ) from problem


def _prepared_at_sizes(
    data: bytes, file_name: str, options: Options, size: OpenSize, prepare: Prepare
) -> Prepared:
    largest = prepare(data, file_name, replace(options, inputs=options.inputs.at(size.largest)))
    _expect_alone(largest, options, size, file_name)

    def sized(at: int) -> tuple[Graph, Graph]:
        if at == size.largest:
            return largest.imported, largest.lowered
        request = options.quantization
        if request is not None and largest.quantized is not None:
            profile = largest.quantized.profile
            request = replace(request, profile=profile, samples=None, of_another_size=True)
        fixed = options.inputs.at(at)
        given = replace(options, inputs=fixed, quantization=request, dump_ir=None)
        found = prepare(data, file_name, given)
        return found.imported, found.lowered

    return replace(
        largest, sizes=open_graphs(size, sized, file_name, options.quantization is not None)
    )


def golden_vectors_at_sizes(graphs: OpenGraphs, exact: Sequence[bool]) -> tuple[GoldenVector, ...]:
    """Of the largest size first, then of others; what is stored of an output is of one kind."""
    size = graphs.size
    found: list[GoldenVector] = []
    for at in dict.fromkeys((size.largest, size.smallest, size.middle)):
        runs = vector_runs(graphs.by_size[at], _VECTORS)
        found += (GoldenVector(seed, outputs, at) for seed, outputs in runs)
    kinds = [[type(one) for one in vector.expected(exact)] for vector in found]
    pairs = zip(found, kinds, strict=True)
    return tuple(vector for vector, kind in pairs if kind == kinds[0])


def _expect_alone(largest: Prepared, options: Options, size: OpenSize, file_name: str) -> None:
    """Raise GM147 for options that need every size fixed."""
    inputs, interface = options.inputs, options.interface
    given = [
        name
        for name, is_given in (
            ("--stream-input", inputs.streamed), ("--outside-input", inputs.outside),
            ("--slide", inputs.slides), ("--camera", inputs.cameras),
            ("a state (--state none leaves it to the application)", largest.imported.states),
            ("--steps", interface.steps), ("--pareto", options.wants_curve),
            ("--weights pointer", interface.weights is Weights.POINTER),
            ("--instrument or --dump-tensors", options.instrument is not Instrument.OFF),
        )
        if is_given
    ]  # fmt: skip
    if given:
        raise error(
            "GM147",
            f"{size} does not go together with {', '.join(given)}",
            file_name,
            f"leave that out, or give one size: --define {size.symbol}={size.largest}",
            ExitCode.USAGE,
        )
