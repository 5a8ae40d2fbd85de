"""Measure what a quantization lost before anything is written, and try what would help."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from functools import partial

from glowmcu.errors import ExitCode, GlowmcuError, error
from glowmcu.input_options import InputOptions
from glowmcu.ir.operation import Rounding
from glowmcu.kernels.kernel import Target
from glowmcu.multirate.compilation import PipelineFiles
from glowmcu.pipeline import float_graph
from glowmcu.quality import Demands, QualityEntry, shortfalls_of, unmeasured
from glowmcu.quality_text import remedy_text
from glowmcu.quant.automatic import Needs
from glowmcu.quant.request import QuantizationRequest
from glowmcu.quant.settling import settle
from glowmcu.tuning.evaluation import estimated_cycles, estimated_flash
from glowmcu.tuning.remedies import with_remedies


def judged(
    data: bytes,
    name: str,
    request: QuantizationRequest,
    demands: Demands,
    target: Target,
    rounding: Rounding = Rounding.DOUBLE,
    inputs: InputOptions | None = None,
    flash_budget: int | None = None,
) -> QuantizationRequest:
    """The request with its profile, options that were found if these are open, what they come
    to, and remedies if that is little.

    Raises GM323 if it does not come to what is demanded, GM324 if nobody can tell, GM352
    where mixed weights do not meet `flash_budget`.
    """
    may_be_float = inputs is not None and not (inputs.io or inputs.cameras)
    inputs = inputs or InputOptions()
    if inputs.open_size is not None:
        inputs = inputs.at(inputs.open_size.largest)
    if request.samples is not None:
        graph = float_graph(data, name, rounding, inputs)
        sha256 = hashlib.sha256(data).hexdigest()
        cycles = partial(estimated_cycles, target=target)
        needs = Needs(demands, cycles, partial(estimated_flash, target=target), flash_budget)
        settled = settle(graph, request, request.samples, sha256, needs)
        request, judge = settled.request, settled.judge
        entry = judge.entry(request.options, demands, may_be_float)
        notes = (*settled.notes, *entry.notes)
        entry = replace(entry, tried=settled.tried, notes=notes, bits=settled.bits)
        if entry.shortfalls:
            entry = with_remedies(entry, judge, request.options, demands, target, may_be_float)
        request = replace(request, quality=(entry,))
    check_demands(request.quality, demands, name)
    return request


def judged_pipeline(
    files: PipelineFiles, demands: Demands, target: Target, rounding: Rounding
) -> PipelineFiles:
    """The pipeline with what its stages come to. Raises as `judged`."""
    if not files.quantization:
        raise unmeasured(str(files.description.file))
    requests = {
        stage.name: judged(
            files.models[stage.name], str(stage.model), files.quantization[stage.name], demands,
            target, rounding,
        )
        for stage in files.description.stages
        if stage.name in files.quantization
    }  # fmt: skip
    return replace(files, quantization=requests)


def check_demands(quality: tuple[QualityEntry, ...], demands: Demands, name: str) -> None:
    """Raises GM323 if quality is not what is demanded, GM324 if it is not known."""
    if not demands.are_made:
        return
    if not quality:
        raise unmeasured(name)
    for entry in quality:
        known = entry.held
        if demands.sqnr_db is not None and known.sqnr_db is None:
            raise _unknown("no output is a real number: there is no SQNR", "agreement", name)
        if demands.agreement is not None and known.agreement is None:
            raise _unknown("no output is a decision between classes", "sqnr", name)
        # What was not demanded is warned of only.
        asked = Demands(
            -math.inf if demands.sqnr_db is None else demands.sqnr_db,
            0.0 if demands.agreement is None else demands.agreement,
        )
        failed = shortfalls_of(entry.figures, entry.streamed, asked)
        if failed:
            raise error(
                "GM323",
                f"quantization loses more than is allowed: {'; '.join(failed)}",
                name,
                "; ".join(map(remedy_text, entry.remedies))
                or "nothing that was tried helps: glowmcu tune tries more",
                ExitCode.MISMATCH,
            )


def _unknown(what: str, other: str, name: str) -> GlowmcuError:
    return error("GM324", what, name, f"demand --require-{other} instead")
