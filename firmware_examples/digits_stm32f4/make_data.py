"""Held-out digits as C arrays. Usage: make_data.py COUNT test_samples.npz OUT.h."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HEADER = """/* samples.h: held-out digits, written by make_data.py. */
#include <stdint.h>

#define SAMPLE_COUNT {count}

static const int8_t sample_pixels[SAMPLE_COUNT][{pixels}] = {{
{rows}
}};
static const int8_t sample_labels[SAMPLE_COUNT] = {{ {labels} }};
"""


def main() -> None:
    """Write the header."""
    count, target = int(sys.argv[1]), Path(sys.argv[3])
    samples = np.load(sys.argv[2])
    images = samples["inputs"][:count].reshape(count, -1)
    text = HEADER.format(
        count=count,
        pixels=images.shape[1],
        rows=",\n".join("    { " + ", ".join(map(str, image)) + " }" for image in images),
        labels=", ".join(map(str, samples["labels"][:count])),
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
