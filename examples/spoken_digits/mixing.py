"""A sound with digits, letters and noise, to be heard by the firmware example.

python -m examples.spoken_digits.mixing     writes sound.npz anew
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from examples.spoken_digits.recordings import load

#: What is said. The letters are none that the network was trained with.
SPOKEN = "3D14G15M926"
#: Samples from the start of one to the start of the next; loudness of the noise.
PACE, NOISE, SEED = 7200, 120.0, 2


def main() -> None:
    """Mix and write: `samples` are the upper eight bits of 16, 8 kHz; `text` is what is said."""
    rng = np.random.default_rng(SEED)
    samples = np.rint(rng.normal(0, NOISE, PACE * (len(SPOKEN) + 1))).astype(np.int64)
    for number, character in enumerate(SPOKEN):
        speech = load(character)
        samples[PACE // 2 + number * PACE :][: len(speech)] += speech
    stored = np.clip(samples >> 8, -128, 127).astype(np.int8)
    path = Path(__file__).resolve().parent / "sound.npz"
    np.savez_compressed(path, samples=stored, text=np.array(SPOKEN))


if __name__ == "__main__":
    main()
