"""What is heard besides speech: noises out of numpy, and the echo of a room."""

from __future__ import annotations

import numpy as np

from examples.wake_word.front_end import SAMPLE_RATE
from examples.wake_word.speech import Group, Sound

#: Kinds that every group hears, and those that are one's own.
KINDS = ("white", "pink", "brown", "hum", "clicks", "tones")
OWN_KINDS: dict[Group, tuple[str, ...]] = {
    "training": (), "choosing": ("waves",), "test": ("engine", "rain"),
}  # fmt: skip


def noise(rng: np.random.Generator, kind: str, count: int) -> Sound:
    """`count` samples with a mean square of 1."""
    if kind in ("white", "pink", "brown"):
        samples = _colored(rng, count, {"white": 0.0, "pink": 0.5, "brown": 1.0}[kind])
    elif kind == "waves":  # pink noise that swells, as of passing cars
        swell = 1 + np.sin(_turns(rng.uniform(0.1, 0.7), count) + rng.uniform(0, 6))
        samples = _colored(rng, count, 0.6) * (0.1 + swell)
    elif kind == "hum":
        samples = _hum(rng, count)
    elif kind == "clicks":
        samples = _clicks(rng, count)
    elif kind == "engine":
        samples = _engine(rng, count)
    elif kind == "rain":
        samples = _rain(rng, count)
    else:
        samples = _tones(rng, count)
    return samples / max(float(np.sqrt(np.mean(samples**2))), 1e-9)


def echo(rng: np.random.Generator, samples: Sound) -> Sound:
    """The same in a room: what is reflected decays to a thousandth in 0.1 to 0.6 seconds."""
    decay_seconds, share = rng.uniform(0.1, 0.6), rng.uniform(0.05, 0.5)
    count = int(decay_seconds * SAMPLE_RATE)
    response = rng.normal(size=count) * np.exp(-6.9 * np.arange(count) / count)
    response[: int(0.003 * SAMPLE_RATE)] = 0
    response *= share / np.sqrt(np.sum(response**2))
    response[0] = 1
    size = 1 << (len(samples) + count).bit_length()
    spectrum = np.fft.rfft(samples, size) * np.fft.rfft(response, size)
    return np.asarray(np.fft.irfft(spectrum, size)[: len(samples)])


def microphone(rng: np.random.Generator, samples: Sound) -> Sound:
    """The same through a microphone that hears some of eight octaves up to 10 dB less or more."""
    spectrum = np.fft.rfft(samples)
    hz = np.fft.rfftfreq(len(samples), 1 / SAMPLE_RATE)
    octaves = np.log2(np.maximum(hz, 31) / 31)
    decibels = np.interp(octaves, np.arange(9), rng.uniform(-10, 10, 9))
    return np.asarray(np.fft.irfft(spectrum * 10 ** (decibels / 20), len(samples)))


def _colored(rng: np.random.Generator, count: int, exponent: float) -> Sound:
    """Noise whose amplitudes fall with frequency^exponent from 50 Hz on."""
    spectrum = np.fft.rfft(rng.normal(size=count))
    hz = np.fft.rfftfreq(count, 1 / SAMPLE_RATE)
    return np.asarray(np.fft.irfft(spectrum / np.maximum(hz, 50) ** exponent, count))


def _hum(rng: np.random.Generator, count: int) -> Sound:
    """The mains and its overtones, with a little noise."""
    base = float(rng.choice([50.0, 60.0, 120.0]))
    samples = 0.05 * rng.normal(size=count)
    for overtone in range(1, 12):
        strength = rng.uniform(0, 1) / overtone
        samples = samples + strength * np.sin(_turns(base * overtone, count) + rng.uniform(0, 6))
    return np.asarray(samples)


def _clicks(rng: np.random.Generator, count: int) -> Sound:
    """Keys, dishes, steps: short bursts over faint noise."""
    samples = 0.02 * rng.normal(size=count)
    for start in rng.integers(0, count, max(1, int(count / SAMPLE_RATE * rng.uniform(1, 6)))):
        length = min(int(rng.uniform(0.003, 0.06) * SAMPLE_RATE), count - int(start))
        burst = rng.normal(size=length) * np.exp(-5 * np.arange(length) / length)
        ring = np.sin(_turns(rng.uniform(400, 5000), length))
        samples[start : start + length] += burst * (1 + ring) * rng.uniform(0.2, 1.5)
    return samples


def _engine(rng: np.random.Generator, count: int) -> Sound:
    """A motor whose speed wanders: overtones of its strokes, and what they blow."""
    wander = np.interp(
        np.arange(count), np.linspace(0, count, 40), rng.uniform(25, 90) * rng.uniform(0.8, 1.2, 40)
    )
    turns = 2 * np.pi * np.cumsum(wander) / SAMPLE_RATE
    strokes = sum(np.sin(turns * k) * rng.uniform(0.2, 1) / k**0.7 for k in range(1, 16))
    return np.asarray(strokes + _colored(rng, count, 0.7) * 0.02 * (1 + np.sin(turns)))


def _rain(rng: np.random.Generator, count: int) -> Sound:
    """Many drops, each a short ring, in a hiss."""
    drops = np.zeros(count)
    places = rng.integers(0, count, int(count / SAMPLE_RATE * rng.uniform(20, 150)))
    drops[places] = rng.exponential(1.0, len(places))
    length = 200
    ring = np.sin(_turns(rng.uniform(1500, 5000), length)) * np.exp(-np.arange(length) / 30)
    return np.convolve(drops, ring)[:count] + 0.1 * _colored(rng, count, 0.3)


def _tones(rng: np.random.Generator, count: int) -> Sound:
    """Chords, one after the other."""
    parts: list[Sound] = []
    while sum(map(len, parts)) < count:
        length = int(rng.uniform(0.15, 0.8) * SAMPLE_RATE)
        notes = 110 * 2 ** (rng.integers(0, 36, 3) / 12)
        chord = sum(
            np.sin(_turns(note * overtone, length)) / overtone
            for note in notes for overtone in (1, 2, 3)
        )  # fmt: skip
        parts.append(np.asarray(chord) * np.exp(-2 * np.arange(length) / length))
    return np.concatenate(parts)[:count] + 0.01 * rng.normal(size=count)


def _turns(hz: float, count: int) -> Sound:
    return 2 * np.pi * hz * np.arange(count) / SAMPLE_RATE
