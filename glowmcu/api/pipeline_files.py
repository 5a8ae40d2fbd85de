"""What `glowmcu.compile` is given: a model file, or a pipeline with all that it names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from glowmcu.api.model_file import read_model_file
from glowmcu.compilation import Compilation, Options
from glowmcu.multirate.compilation import PipelineFiles, compile_pipeline
from glowmcu.multirate.description import SUFFIX, read_description
from glowmcu.pipeline import compile_model


def read_source(
    path: Path, preprocess: str | Path | None = None
) -> tuple[bytes, Callable[[Options], Compilation]]:
    """The model's bytes (none of a pipeline), and what compiles it. Raises GM110, GM150."""
    if path.suffix.lower() == SUFFIX:
        return b"", partial(compile_pipeline, read_pipeline(path, preprocess))
    data = read_model_file(path)
    return data, partial(compile_model, data, str(path))


def read_pipeline(path: Path, preprocess: str | Path | None = None) -> PipelineFiles:
    """The pipeline with all that it names. Raises GM110 and GM150, GM3xx for samples."""
    description = read_description(path)
    models = {stage.name: read_model_file(stage.model) for stage in description.stages}
    requests = {}
    for stage in description.stages:
        if stage.samples is not None or stage.profile is not None:
            from glowmcu.api.quantization import quantization_request

            request = quantization_request(stage.profile, stage.samples, preprocess, None)
            assert request is not None
            requests[stage.name] = request
    return PipelineFiles(description, models, requests)
