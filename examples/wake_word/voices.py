"""Voices that nobody has, for training: files of espeak-ng's variants with numbers drawn by lot.

espeak-ng has a hundred variants, of which a network learns the very sounds by heart; of hundreds
more it learns what they have in common.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np

#: What they are called. espeak-ng reads 350 at most.
NAMES = tuple(f"r{number}" for number in range(300))
#: Where espeak-ng finds them: links to its own data, and these voices.
FOLDER = (Path("build") / "wake_word" / "voices").resolve()


def write() -> None:
    """Into FOLDER, which is for espeak-ng's --path. Raises FileNotFoundError without espeak-ng."""
    if shutil.which("espeak-ng") is None:
        raise FileNotFoundError("the voices are espeak-ng's: apt-get install espeak-ng")
    shutil.rmtree(FOLDER, ignore_errors=True)
    version = subprocess.run(["espeak-ng", "--version"], capture_output=True, text=True, check=True)
    own, data = Path(version.stdout.split("Data at: ")[1].strip()), FOLDER / "espeak-ng-data"
    (data / "voices" / "!v").mkdir(parents=True)
    for path in own.iterdir():
        if path.is_file():
            (data / path.name).symlink_to(path)
    shutil.copytree(own / "lang" / "gmw", data / "lang" / "gmw")
    for number, name in enumerate(NAMES):
        (data / "voices" / "!v" / name).write_text(variant(number), encoding="utf-8")


def variant(number: int) -> str:
    """One of the files: pitch, formants, voicing, breath and rhythm."""
    rng = np.random.default_rng([97, number])
    pitch = int(rng.uniform(55, 210))
    size = rng.uniform(0.88, 1.2)
    lines = ["language variant", f"name {NAMES[number]}"]
    lines.append(f"pitch {pitch} {int(pitch * rng.uniform(1.1, 1.7))}")
    for formant in range(9):
        hertz = 100 * size * rng.uniform(0.9, 1.1)
        height, width = rng.uniform(60, 125), rng.uniform(60, 150)
        lines.append(f"formant {formant} {hertz:.0f} {height:.0f} {width:.0f}")
    lines.append(f"voicing {rng.integers(60, 190)}")
    lines.append(f"consonants {rng.integers(60, 130)} {rng.integers(60, 130)}")
    lines.append(f"flutter {rng.integers(0, 8)}")
    lines.append(f"roughness {rng.integers(0, 5)}")
    if rng.random() < 0.3:
        levels = " ".join(str(level) for level in rng.integers(0, 12, 8))
        lines.append(f"breath {levels}")
    if rng.random() < 0.4:
        lengths = np.sort(rng.integers(120, 300, 8))
        lines.append("stressLength " + " ".join(str(length) for length in lengths))
    if rng.random() < 0.4:
        high = np.sort(rng.integers(80, 255, 2))[::-1]
        lines.append(f"tone 600 {high[0]} 1200 {high[1]} 2000 {rng.integers(40, 200)} 3000 40")
    if rng.random() < 0.3:
        lines.append(f"intonation {rng.integers(1, 5)}")
    return "\n".join(lines) + "\n"
