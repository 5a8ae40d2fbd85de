"""Two sounds for demo, tests and firmware: one with the wake word, one without.

    python -m examples.wake_word.sounds     writes heard.wav and not_heard.wav anew

Choosing voices, 16 kHz, 8 bits a sample: a part of what was committed otherwise, and quiet enough.
"""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import numpy.typing as npt

from examples.wake_word.front_end import SAMPLE_RATE
from examples.wake_word.noise import echo, noise
from examples.wake_word.results import HERE, update
from examples.wake_word.speech import OWN_ACCENT, Sound, Voice, say

HEARD, NOT_HEARD = HERE / "heard.wav", HERE / "not_heard.wav"
#: What is said after how many seconds of silence, by whom.
WITH_WORD = (
    (0.5, "good evening", Voice("en-us", "Annie", 175, 50, 0)),
    (0.4, "hey firefly", Voice("en-gb", "paul", 165, 45, 0)),
    (0.9, "hey firefly", Voice(OWN_ACCENT["choosing"], "f3", 170, 55, 0)),
)
WITHOUT_WORD = (
    (0.5, "hey butterfly", Voice("en-gb", "paul", 165, 45, 0)),
    (0.3, "may I reply", Voice("en-us", "Annie", 175, 50, 0)),
)
_TAIL_SECONDS, _DECIBELS, _PEAK = 0.5, 18.0, 0.6


def mix(script: tuple[tuple[float, str, Voice], ...], seed: int) -> tuple[Sound, list[float]]:
    """The words in a room, in pink noise, between -1 and 1; the seconds at which each ends."""
    rng = np.random.default_rng(seed)
    parts, ends = list[Sound](), list[float]()
    for seconds, text, voice in script:
        spoken = say(text, voice)
        parts += [np.zeros(int(seconds * SAMPLE_RATE)), spoken / np.sqrt(np.mean(spoken**2))]
        ends.append(round(sum(map(len, parts)) / SAMPLE_RATE, 2))
    speech = echo(rng, np.concatenate([*parts, np.zeros(int(_TAIL_SECONDS * SAMPLE_RATE))]))
    mixed = speech + 10 ** (-_DECIBELS / 20) * noise(rng, "pink", len(speech))
    return mixed * (_PEAK / np.abs(mixed).max()), ends


def write(path: Path, sound: Sound) -> None:
    """8-bit samples, as WAV has them: 128 is silence."""
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 1, SAMPLE_RATE, 0, "NONE", "not compressed"))
        file.writeframes((np.rint(sound * 127) + 128).astype(np.uint8).tobytes())


def read(path: Path) -> npt.NDArray[np.int16]:
    """Samples as a microphone gives them: 16 bits, of which the lower eight are zeros."""
    with wave.open(str(path)) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), np.uint8)
    return ((samples.astype(np.int16) - 128) * 256).astype(np.int16)


def main() -> None:
    """Both; results.json says where the wake words end."""
    heard, ends = mix(WITH_WORD, 1)
    write(HEARD, heard)
    write(NOT_HEARD, mix(WITHOUT_WORD, 2)[0])
    update(first_word_ends=ends[1], second_word_ends=ends[2])


if __name__ == "__main__":
    main()
