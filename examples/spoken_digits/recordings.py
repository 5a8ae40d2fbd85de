"""Spoken digits and letters out of the captcha package: one voice, each said once."""

from __future__ import annotations

import importlib.util
import string
import wave
from pathlib import Path

import numpy as np

from examples.spoken_digits.front_end import SAMPLE_RATE, Ints

DIGITS = tuple(string.digits)
LETTERS = tuple(string.ascii_uppercase)


def load(character: str) -> Ints:
    """16-bit samples. Raises ModuleNotFoundError without captcha."""
    spec = importlib.util.find_spec("captcha")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("the data are in a package: pip install --no-deps captcha")
    folder = Path(spec.submodule_search_locations[0]) / "data" / character
    with wave.open(str(folder / "default.wav")) as file:
        assert (file.getframerate(), file.getsampwidth()) == (SAMPLE_RATE, 1)
        samples = np.frombuffer(file.readframes(file.getnframes()), np.uint8)
    return (samples.astype(np.int64) - 128) << 8
