"""`glowmcu.example`: a trained model and samples to begin with."""

from __future__ import annotations

from pathlib import Path

from glowmcu.argument_types import arguments_checked
from glowmcu.examples import find_example, write_example
from glowmcu.option_words import ExampleName


@arguments_checked
def example(name: ExampleName, output: str | Path = ".", *, force: bool = False) -> list[Path]:
    """Write the files of an example (digits, vowels, wake_word) into a folder; returns their paths.

    Raises GM160 for an unknown name, GM161 if another file would be lost and not `force`, GM162.

    >>> [file.name for file in glowmcu.example("digits", "somewhere")][:2]
    ['digits_int8.tflite', 'seven.npy']
    """
    return write_example(find_example(name), Path(output), force)
