"""The recordings that stand in for a microphone. Run with the repository's top on PYTHONPATH.

Usage: make_data.py sound heard.wav OUT.h     that sound, then not_heard.wav beside it
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from examples.wake_word.sounds import NOT_HEARD, read

SOUND = """/* sound.h: speech with and without the wake word, 16 kHz, written by make_data.py. */
#include <stdint.h>

#define SOUND_SAMPLES {count}u

/* The upper eight bits of each sample. */
static const int8_t sound[SOUND_SAMPLES] = {{
{samples}
}};
"""


def main() -> None:
    """Write the header."""
    source, target = Path(sys.argv[2]), Path(sys.argv[3])
    samples = np.concatenate([read(source), read(source.parent / NOT_HEARD.name)]) >> 8
    rows = [samples[first : first + 24] for first in range(0, len(samples), 24)]
    text = ",\n".join("    " + ", ".join(map(str, row.tolist())) for row in rows)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(SOUND.format(count=len(samples), samples=text), encoding="utf-8")


if __name__ == "__main__":
    main()
