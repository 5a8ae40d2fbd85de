"""Speech out of espeak-ng (Debian: `apt-get install espeak-ng`), at 16 kHz.

A voice is an accent of English and a variant of espeak-ng (its vocal tract); pitch and speed come
with each utterance. Each variant belongs to one of three groups: training, choosing and test, and
so does an accent that the groups before have not heard.
"""

from __future__ import annotations

import math
import subprocess
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from examples.wake_word import voices
from examples.wake_word.front_end import SAMPLE_RATE

Sound = npt.NDArray[np.float64]

#: Network and ranges are learned from "training"; of several settings "choosing" tells the best and
#: its threshold; "test" is listened to once, when nothing changes any more.
Group = Literal["training", "choosing", "test"]

ACCENTS = ("en-us", "en-gb", "en-gb-x-rp", "en-029", "en-gb-x-gbclan", "en-gb-x-gbcwmd")
#: A fifth of the utterances of a group are in an accent that is its own.
OWN_ACCENT = {"choosing": "en-gb-scotland", "test": "en-us-nyc"}
#: Variants with one name (iven, iven2) are in one group. Those of the test were drawn by lot.
VARIANTS: dict[Group, tuple[str, ...]] = {
    "training": (
        *("f1", "f4", "m1", "m2", "m5", "m6", "Alex", "Alicia", "Andrea", "Demonic", "Diogo"),
        *("Gene", "Gene2", "Jacky", "Lee", "Marco", "Michael", "Mike", "RicishayMax"),
        *("RicishayMax2", "RicishayMax3", "Tweaky", "adam", "announcer", "antonio", "aunty"),
        *("benjamin", "david", "ed", "edward", "edward2", "gustave", "kaukovalta", "klatt"),
        *("klatt2", "klatt3", "klatt4", "klatt5", "max", "pedro", "quincy", "robert", "robosoft"),
        *("robosoft6", "sandro", "shelby", "whisper", "zac"),
    ),
    "choosing": (
        *("f3", "m4", "m7", "Annie", "Andy", "Denis", "Storm", "belinda", "croak", "grandpa"),
        *("john", "michel", "paul", "rob", "steph", "steph2", "steph3", "victor"),
    ),
    "test": (
        *("f2", "f5", "m3", "m8", "Henrique", "Hugo", "Mario", "Nguyen", "anika", "boris"),
        *("grandma", "iven", "iven2", "iven3", "iven4", "linda", "marcelo", "miguel", "norbert"),
        *("pablo", "travis"),
    ),
}
#: Below this part of the loudest sample, an utterance has not begun or is over.
_SILENCE = 0.03


#: Samples are brought to 16 kHz in blocks of so many, 1.28 s, which transforms are fast for.
_BLOCK = 20480


@dataclass(frozen=True)
class Voice:
    """espeak-ng's options: voice, words a minute, pitch (0 to 99), gap between words in 10 ms; and
    by how much all its frequencies are higher than the variant's, as of a shorter vocal tract.
    """

    accent: str
    variant: str
    speed: int
    pitch: int
    gap: int
    height: float = 1.0


def any_voice(rng: np.random.Generator, group: Group) -> Voice:
    """Somebody, speaking slower or faster, lower or higher; in training, two of three have a voice
    drawn by lot, and half are larger or smaller than the variant.
    """
    variant = str(rng.choice(VARIANTS[group]))
    accent = str(rng.choice(ACCENTS))
    if group == "training":
        if rng.random() < 2 / 3:
            variant = str(rng.choice(voices.NAMES))
        height = float(rng.choice([1.0, rng.uniform(0.88, 1.15)]))
        speed, pitch, gap = rng.integers([125, 10, 0], [235, 90, 5])
        return Voice(accent, variant, int(speed / height), int(pitch), int(gap), height)
    if rng.random() < 0.2:
        accent = OWN_ACCENT[group]
    speed, pitch, gap = rng.integers([135, 25, 0], [215, 80, 4])
    return Voice(accent, variant, int(speed), int(pitch), int(gap))


def say(text: str, voice: Voice) -> Sound:
    """Samples between -1 and 1 without the silence around them."""
    options = [f"--path={voices.FOLDER}"] if voice.variant in voices.NAMES else []
    options += ["-v", f"{voice.accent}+{voice.variant}", "-s", str(voice.speed)]
    options += ["-p", str(voice.pitch), "-g", str(voice.gap), "--stdout"]
    done = subprocess.run(["espeak-ng", *options, text], capture_output=True, check=True)
    rate = int.from_bytes(done.stdout[24:28], "little")
    samples = np.frombuffer(done.stdout[44:], np.int16)
    return _trimmed(_resampled(samples / 32768, rate * voice.height))


def _resampled(samples: Sound, rate: float) -> Sound:
    """At SAMPLE_RATE, by the discrete Fourier transform; silence fills the last block."""
    blocks = math.ceil(len(samples) * SAMPLE_RATE / rate / _BLOCK)
    filled = np.zeros(round(blocks * _BLOCK * rate / SAMPLE_RATE / 64) * 64 + 64)
    filled[: len(samples)] = samples
    count = round(len(filled) * SAMPLE_RATE / rate / 64) * 64
    spectrum = np.fft.rfft(filled)
    spectrum = np.pad(spectrum, (0, max(0, count // 2 + 1 - len(spectrum))))[: count // 2 + 1]
    return np.asarray(np.fft.irfft(spectrum, count) * (count / len(filled)))


def _trimmed(samples: Sound) -> Sound:
    loud = np.flatnonzero(np.abs(samples) > _SILENCE * np.abs(samples).max(initial=1e-9))
    return samples[loud[0] : loud[-1] + 1] if len(loud) else samples[:1]
