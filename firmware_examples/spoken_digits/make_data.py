"""Data of the spoken digits example. Run with the repository's top on PYTHONPATH.

Usage: make_data.py tables front_end.py OUT.h    tables of the front end
       make_data.py sound sound.npz OUT.h        a sound with digits, letters and noise
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from examples.spoken_digits import front_end

TABLES = """/* front_end_tables.h: written by make_data.py. */
#ifndef FRONT_END_TABLES_H
#define FRONT_END_TABLES_H

#include <stdint.h>

#define FRONT_END_FRAME {frame}
#define FRONT_END_HOP {hop}
#define FRONT_END_BANDS {bands}
#define FRONT_END_WEIGHT_BITS {weight_bits}
#define FRONT_END_OFFSET {offset}

{arrays}
#endif
"""
SOUND = """/* sound.h: digits, letters and noise, 8 kHz, written by make_data.py. */
#include <stdint.h>

#define SOUND_SAMPLES {count}
#define SOUND_TEXT "{text}"

/* The upper eight bits of each sample. */
static const int8_t sound[SOUND_SAMPLES] = {{
{samples}
}};
"""


def lines(values: Iterable[int]) -> str:
    """Sixteen numbers a line."""
    texts = [str(int(value)) for value in values]
    rows = [", ".join(texts[i : i + 16]) for i in range(0, len(texts), 16)]
    return ",\n".join(f"    {row}" for row in rows)


def tables() -> str:
    """The header with the front end's constants."""
    cos, sin = front_end.twiddles()
    first, weights = front_end.bands()
    stages = front_end.FRAME.bit_length() - 1
    reverse = [int(f"{i:0{stages}b}"[::-1], 2) for i in range(front_end.FRAME)]
    arrays = [
        ("int16_t", "window", front_end.window()),
        ("int16_t", "cos", cos),
        ("int16_t", "sin", sin),
        ("uint8_t", "reverse", reverse),
        ("uint8_t", "first_bin", first),
        ("uint8_t", "bins", [len(item) for item in weights]),
        ("uint16_t", "weights", np.concatenate(weights)),
    ]
    texts = (
        f"static const {type_} front_end_{name}[{len(values)}] = {{\n{lines(values)}\n}};\n"
        for type_, name, values in arrays
    )
    return TABLES.format(
        frame=front_end.FRAME,
        hop=front_end.HOP,
        bands=front_end.BANDS,
        weight_bits=front_end.WEIGHT_BITS,
        offset=front_end.FEATURE_OFFSET,
        arrays="\n".join(texts),
    )


def sound() -> str:
    """The header with the mixed sound."""
    mixed = np.load(sys.argv[2])
    samples = mixed["samples"]
    return SOUND.format(count=len(samples), text=mixed["text"], samples=lines(samples))


def main() -> None:
    """Write the header."""
    text = {"tables": tables, "sound": sound}[sys.argv[1]]()
    target = Path(sys.argv[3])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
