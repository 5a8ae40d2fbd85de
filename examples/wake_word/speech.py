"""Speech out of espeak-ng (Debian: `apt-get install espeak-ng`), at 16 kHz.

A voice is an accent of English and a variant of espeak-ng (its vocal tract); pitch and speed come
with each utterance. Variants and one accent are held out: nothing that they say is trained with.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from examples.wake_word.front_end import SAMPLE_RATE

Sound = npt.NDArray[np.float64]

ACCENTS = (
    "en-us", "en-gb", "en-gb-x-rp", "en-us-nyc", "en-029", "en-gb-x-gbclan", "en-gb-x-gbcwmd",
)  # fmt: skip
HELD_OUT_ACCENT = "en-gb-scotland"
VARIANTS = (
    *("f1", "f2", "f4", "f5", "m1", "m2", "m3", "m5", "m6", "m8", "Alex", "Alicia", "Andrea"),
    *("Gene", "Henrique", "Hugo", "Jacky", "Lee", "Marco", "Mario", "Michael", "Mike", "Diogo"),
    *("adam", "anika", "antonio", "aunty", "benjamin", "boris", "david", "ed", "edward"),
    *("grandma", "gustave", "iven", "iven2", "iven3", "kaukovalta", "klatt", "klatt2", "klatt3"),
    *("linda", "marcelo", "max", "miguel", "norbert", "pablo", "pedro", "quincy", "robert"),
    *("sandro", "shelby", "travis", "whisper", "zac"),
)
HELD_OUT_VARIANTS = (
    *("f3", "m4", "m7", "Annie", "Andy", "Denis", "Storm", "belinda", "croak", "grandpa", "john"),
    *("michel", "paul", "rob", "steph", "steph2", "steph3", "victor"),
)
#: Below this part of the loudest sample, an utterance has not begun or is over.
_SILENCE = 0.03


@dataclass(frozen=True)
class Voice:
    """espeak-ng's options: voice, words a minute, pitch (0 to 99), gap between words in 10 ms."""

    accent: str
    variant: str
    speed: int
    pitch: int
    gap: int


def any_voice(rng: np.random.Generator, *, is_held_out: bool) -> Voice:
    """Somebody, speaking slower or faster, lower or higher. Held out: a fifth in the accent that
    nobody had in training.
    """
    variant = str(rng.choice(HELD_OUT_VARIANTS if is_held_out else VARIANTS))
    accent = str(rng.choice(ACCENTS))
    if is_held_out and rng.random() < 0.2:
        accent = HELD_OUT_ACCENT
    speed, pitch, gap = rng.integers([135, 25, 0], [215, 80, 4])
    return Voice(accent, variant, int(speed), int(pitch), int(gap))


def say(text: str, voice: Voice) -> Sound:
    """Samples between -1 and 1 without the silence around them. Raises FileNotFoundError without
    espeak-ng.
    """
    program = shutil.which("espeak-ng")
    if program is None:
        raise FileNotFoundError("the voices are espeak-ng's: apt-get install espeak-ng")
    options = ["-v", f"{voice.accent}+{voice.variant}", "-s", str(voice.speed)]
    options += ["-p", str(voice.pitch), "-g", str(voice.gap), "--stdout"]
    done = subprocess.run([program, *options, text], capture_output=True, check=True)
    rate = int.from_bytes(done.stdout[24:28], "little")
    samples = np.frombuffer(done.stdout[44:], np.int16)
    return _trimmed(_resampled(samples / 32768, rate))


def _resampled(samples: Sound, rate: int) -> Sound:
    """At SAMPLE_RATE, by the discrete Fourier transform; utterances begin and end in silence."""
    count = round(len(samples) * SAMPLE_RATE / rate)
    spectrum = np.fft.rfft(samples)[: count // 2 + 1]
    return np.asarray(np.fft.irfft(spectrum, count) * (count / len(samples)))


def _trimmed(samples: Sound) -> Sound:
    loud = np.flatnonzero(np.abs(samples) > _SILENCE * np.abs(samples).max(initial=1e-9))
    return samples[loud[0] : loud[-1] + 1] if len(loud) else samples[:1]
