"""Read the source that `glowmcu.compile` is given: a model, or a pipeline with all it names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from glowmcu.api.given_model import (
    ExampleInputs,
    GivenModel,
    ModelGiven,
    file_of,
    read_given,
)
from glowmcu.api.model_file import read_model_file

if TYPE_CHECKING:
    from glowmcu.multirate.compilation import PipelineFiles

#: Of files that describe pipelines.
_SUFFIX = ".toml"


def read_source(
    model: ModelGiven,
    preprocess: str | Path | None = None,
    example_inputs: ExampleInputs | None = None,
) -> tuple[GivenModel, PipelineFiles | None]:
    """The model (of a pipeline without bytes), and the pipeline if it is one. Raises as
    `read_given`, GM150.
    """
    path = file_of(model)
    if path is not None and path.suffix.lower() == _SUFFIX:
        pipeline = GivenModel(b"", str(path), path)
        return pipeline, read_pipeline(path, preprocess)
    return read_given(model, example_inputs), None


def read_pipeline(path: Path, preprocess: str | Path | None = None) -> PipelineFiles:
    """The pipeline with all that it names. Raises GM110 and GM150, GM3xx for samples."""
    from glowmcu.multirate.compilation import PipelineFiles
    from glowmcu.multirate.description import read_description

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
