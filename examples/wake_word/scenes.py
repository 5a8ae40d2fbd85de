"""Minutes of a room: people speak, with echo, in noise; where the wake word ends is known.

A scene is a function of its number alone: processes share the work, the result stays the same.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from examples.wake_word import voices
from examples.wake_word.front_end import SAMPLE_RATE
from examples.wake_word.noise import KINDS, OWN_KINDS, echo, microphone, noise
from examples.wake_word.speech import Group, Sound, any_voice, say
from examples.wake_word.texts import near_miss, sentence, wake_text

Samples = npt.NDArray[np.int16]

SECONDS = 60
PROCESSES = 2


@dataclass(frozen=True)
class Cast:
    """Which group speaks (its voices, words and noises) and how often the wake word is said.

    `wake` and `near` are the shares of utterances that are the wake word or a near miss; `silent`
    is the share of scenes in which nobody speaks in the foreground.
    """

    seed: int
    group: Group
    wake: float
    near: float
    silent: float


@dataclass(frozen=True)
class Utterance:
    """Who said what: `kind` is "wake", "near" or "other"; samples up to its end; how far it is
    above the noise.
    """

    end: int
    kind: str
    accent: str
    variant: str
    text: str
    decibels: float


@dataclass(frozen=True)
class Scene:
    """16-bit samples, and what was said in the foreground, in order."""

    samples: Samples
    said: tuple[Utterance, ...]

    @property
    def words(self) -> tuple[Utterance, ...]:
        """The wake words."""
        return tuple(one for one in self.said if one.kind == "wake")

    @property
    def ends(self) -> npt.NDArray[np.int64]:
        """Of the wake words."""
        return np.array([one.end for one in self.words], np.int64)

    def count(self, kind: str) -> int:
        """How often that was said."""
        return sum(one.kind == kind for one in self.said)


def scenes(cast: Cast, count: int) -> Scene:
    """So many scenes, one after the other."""
    voices.write()
    with ProcessPoolExecutor(PROCESSES) as pool:
        parts = list(pool.map(scene, [cast] * count, range(count), chunksize=4))
    said = [
        replace(one, end=one.end + number * SECONDS * SAMPLE_RATE)
        for number, part in enumerate(parts) for one in part.said
    ]  # fmt: skip
    return Scene(np.concatenate([part.samples for part in parts]), tuple(said))


def scene(cast: Cast, number: int) -> Scene:
    """One of SECONDS seconds."""
    rng = np.random.default_rng([cast.seed, number])
    speech, said = np.zeros(SECONDS * SAMPLE_RATE), list[Utterance]()
    at = int(rng.uniform(0.8, 2) * SAMPLE_RATE)
    is_silent = rng.random() < cast.silent
    while not is_silent:
        kind, text = _next(rng, cast)
        voice = any_voice(rng, cast.group)
        decibels = rng.uniform(-6, 3)
        sound = _leveled(say(text, voice)) * 10 ** (decibels / 20)
        end = at + len(sound)
        if end > len(speech) - SAMPLE_RATE // 2:
            break
        speech[at:end] += sound
        said.append(Utterance(end, kind, voice.accent, voice.variant, text, decibels))
        at = end + int(_pause(rng) * SAMPLE_RATE)
    samples, above = _mixed(rng, speech, cast)
    return Scene(samples, tuple(replace(one, decibels=one.decibels + above) for one in said))


def _next(rng: np.random.Generator, cast: Cast) -> tuple[str, str]:
    """Kind and text of the next utterance."""
    draw = rng.random()
    if draw < cast.wake:
        return "wake", wake_text(rng, cast.group)
    if draw < cast.wake + cast.near:
        return "near", near_miss(rng, cast.group)
    return "other", sentence(rng, cast.group)


def _pause(rng: np.random.Generator) -> float:
    """Seconds until somebody speaks again: often at once."""
    return float(rng.choice([rng.uniform(0.05, 0.3), rng.uniform(0.3, 1.5)]))


def _mixed(rng: np.random.Generator, speech: Sound, cast: Cast) -> tuple[Samples, float]:
    """Speech, quiet or loud, as 16-bit samples; by how many decibels, 3 to 30, it is above the
    noise.
    """
    if rng.random() < 0.6:
        speech = echo(rng, speech)
    level, above = 10 ** (rng.uniform(-40, -16) / 20), rng.uniform(3, 30)
    kinds = rng.choice([*KINDS, *OWN_KINDS[cast.group], "babble", "none"], 2)
    background = sum(
        _background(rng, str(kind), len(speech), cast) * share
        for kind, share in zip(kinds, (1.0, rng.uniform(0, 0.5)), strict=True)
    )
    mixed = level * (speech + 10 ** (-above / 20) * background)
    if cast.group == "training":
        mixed = microphone(rng, mixed)
    mixed = mixed + 10 ** (rng.uniform(-80, -65) / 20) * rng.normal(size=len(speech))
    return np.clip(np.rint(mixed * 32768), -32768, 32767).astype(np.int16), above


def _background(rng: np.random.Generator, kind: str, count: int, cast: Cast) -> Sound:
    if kind == "none":
        return np.zeros(count)
    return _babble(rng, count, cast) if kind == "babble" else noise(rng, kind, count)


def _babble(rng: np.random.Generator, count: int, cast: Cast) -> Sound:
    """Five people who speak at once, none to us."""
    total = np.zeros(count)
    for _ in range(5):
        voice = any_voice(rng, cast.group)
        text = ", ".join(sentence(rng, cast.group) for _ in range(6))
        track = _leveled(say(text, voice))
        total += np.roll(np.tile(track, -(-count // len(track)))[:count], rng.integers(count))
    return _leveled(total)


def _leveled(samples: Sound) -> Sound:
    """With a mean square of 1."""
    return samples / max(float(np.sqrt(np.mean(samples**2))), 1e-9)
