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
from glowmcu.ir.interpreter import Session
from glowmcu.ir.vector_search import choose_vectors, pattern_inputs, vector_runs
from glowmcu.open_size.graphs import OpenGraphs, open_graphs
from glowmcu.open_size.working_range import working_range
from glowmcu.size_forms import OpenSize

#: Golden vectors of each size that has some.
_VECTORS = 2
#: How often a stream of golden vectors goes through its sizes.
_TURNS = 3

Prepare = Callable[[bytes, str, Options], Prepared]


def prepared_at_sizes(data: bytes, file_name: str, options: Options, prepare: Prepare) -> Prepared:
    """What `prepare` makes of the model at the largest of its open sizes, with `sizes`.

    Raises GM144, GM147, GM148 and what `prepare` raises; a range that works is in the hint.
    """
    size = options.inputs.open_size
    assert size is not None
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
        _expect_states_fixed(largest.imported, found.imported, size, at, file_name)
        return found.imported, found.lowered

    return replace(
        largest, sizes=open_graphs(size, sized, file_name, options.quantization is not None)
    )


def golden_vectors_at_sizes(graphs: OpenGraphs, exact: Sequence[bool]) -> tuple[GoldenVector, ...]:
    """Of the largest size first, then of others; what is stored of an output is of one kind."""
    size = graphs.size
    if graphs.largest.states:
        return _stream(graphs, exact)
    found: list[GoldenVector] = []
    for at in dict.fromkeys((size.largest, size.smallest, size.middle)):
        runs = vector_runs(graphs.by_size[at], _VECTORS)
        found += (GoldenVector(seed, outputs, at) for seed, outputs in runs)
    kinds = [[type(one) for one in vector.expected(exact)] for vector in found]
    pairs = zip(found, kinds, strict=True)
    return tuple(vector for vector, kind in pairs if kind == kinds[0])


def _stream(graphs: OpenGraphs, exact: Sequence[bool]) -> tuple[GoldenVector, ...]:
    """Runs of one stream, by turns of several sizes; of the largest alone where more is stored of
    outputs at one size than at another.
    """
    size = graphs.size
    sizes = tuple(dict.fromkeys((size.largest, size.smallest, size.middle)))
    for turns in (sizes, (size.largest,)):
        chosen = [(at, one.seed) for at in turns for one in choose_vectors(graphs.by_size[at], 1)]
        session, found = Session(graphs.largest), list[GoldenVector]()
        for turn in range(_TURNS):
            for at, seed in chosen:
                session.go_on_with(graphs.by_size[at])
                outputs = session.run(pattern_inputs(graphs.by_size[at], seed + turn))
                found.append(GoldenVector(seed + turn, tuple(outputs), at))
        kinds = {tuple(type(one) for one in vector.expected(exact)) for vector in found}
        if len(kinds) == 1:
            break
    return tuple(found)


def _expect_states_fixed(
    largest: Graph, graph: Graph, size: OpenSize, at: int, file_name: str
) -> None:
    """Raise GM148 for a state whose shape at this size is not that of the largest."""
    shapes = {state.value.name: state.value.type.shape for state in graph.states}
    for state in largest.states:
        name, shape = state.value.name, state.value.type.shape
        if shapes.get(name, shape) != shape:
            raise error(
                "GM148",
                f"the state {name!r} is {_text(shape)} at {size.symbol}={size.largest} and "
                f"{_text(shapes[name])} at {size.symbol}={at}; what lives from run to run has "
                "one shape",
                file_name,
                "leave it to the application (--state none), give one size "
                f"(--define {size.symbol}={size.largest}), or export a state of a fixed length",
                ExitCode.USAGE,
            )


def _text(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def _expect_alone(largest: Prepared, options: Options, size: OpenSize, file_name: str) -> None:
    """Raise GM147 for options that need every size fixed."""
    inputs, interface = options.inputs, options.interface
    given = [
        name
        for name, is_given in (
            ("--stream-input", inputs.streamed), ("--outside-input", inputs.external),
            ("--slide", inputs.slides), ("--camera", inputs.cameras),
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
