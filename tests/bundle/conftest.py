"""Bundles of the models, each compiled once a worker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from glowmcu.pipeline import compile_model
from tests.bundle.models import model_bytes, options_of
from tests.support.check_model import write_bundle

BundleOf = Callable[[str], Path]


@pytest.fixture(scope="session")
def bundle_of(tmp_path_factory: pytest.TempPathFactory) -> BundleOf:
    """`bundle_of("digits")`: the folder of its bundle, which tests must not change."""
    base = tmp_path_factory.mktemp("bundles")
    made: dict[str, Path] = {}

    def make(name: str) -> Path:
        if name not in made:
            compilation = compile_model(model_bytes(name), f"{name}.tflite", options_of(name))
            made[name] = write_bundle(compilation, base / name)
        return made[name]

    return make
