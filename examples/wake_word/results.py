"""The files of this folder, the bundles made of them, and the figures that README states."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

import glowmcu
from examples.wake_word.decision import AVERAGED, DISTANCE, STRIDE, Scores
from examples.wake_word.front_end import BANDS, HOP, SAMPLE_RATE
from examples.wake_word.native import Native
from examples.wake_word.texts import WAKE_WORD

Samples = npt.NDArray[np.int16]

HERE = Path(__file__).resolve().parent
FRONT_END, INT8_MODEL = HERE / "front_end.tflite", HERE / "wake_word_int8.tflite"
FLOAT_MODEL, RESULTS = HERE / "model_float.tflite", HERE / "results.json"
PIPELINE, README = HERE / "wake_word.toml", HERE / "README.md"
_MARKS = "<!-- results:begin -->\n", "<!-- results:end -->"
BOARD = "nrf52"


_PIPELINE = """# From samples to a decision; written by train.py. glowmcu compile wake_word.toml
labels = ["{word}"]

[input]
rate = {rate}

[[stage]]
name = "features"
model = "{front_end}"
hop = {hop}

[[stage]]
name = "word"
model = "{network}"
slide = {stride}
hop = {stride}

[decision]
average = {averaged}
threshold = {threshold} # {steps} of 256
distance = {distance}
"""


def write_pipeline(threshold: int) -> None:
    """All three stages, and the threshold that was chosen."""
    text = _PIPELINE.format(
        word=WAKE_WORD, rate=SAMPLE_RATE, front_end=FRONT_END.name, hop=HOP, stride=STRIDE,
        network=INT8_MODEL.name, averaged=AVERAGED, threshold=threshold / 256, steps=threshold,
        distance=DISTANCE,
    )  # fmt: skip
    PIPELINE.write_text(text, encoding="utf-8")


def bundle(model: Path, board: str = BOARD) -> glowmcu.Bundle:
    """The front end, or the network as it runs: STRIDE new frames at a time."""
    output = Path("build") / "wake_word" / board / model.stem
    slide = {} if model == FRONT_END else {"features": STRIDE}
    return glowmcu.compile(model, board, output, name=model.stem, slide=slide)


def native(model: Path) -> Native:
    """Its bundle as a function of a stream."""
    return Native.build(bundle(model))


def features_of(samples: Samples) -> npt.NDArray[np.int8]:
    """The front end's answers to a stream: the first for FRAME samples, then one for HOP each."""
    return native(FRONT_END).run(samples, HOP)


def scores_of(features: npt.NDArray[np.int8]) -> Scores:
    """The int8 network's: one for STRIDE frames."""
    return native(INT8_MODEL).run(features, STRIDE * BANDS)[:, 0]


def read() -> dict[str, float]:
    """Figures by name."""
    found: dict[str, float] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def update(**figures: float) -> dict[str, float]:
    """All figures, with these ones new."""
    known = read() if RESULTS.is_file() else {}
    both = {**known, **figures}
    RESULTS.write_text(json.dumps(both, indent=2) + "\n", encoding="utf-8")
    return both


def table(found: dict[str, float]) -> str:
    """What README says of the held-out voices."""
    words, heard = found["test_words"], found["test_heard"]
    accent_words, accent_heard = found["accent_words"], found["accent_heard"]
    return f"""| held-out voices | |
|---|---|
| wake words heard | **{heard / words:.1%}** ({heard} of {words}) |
| of them in the accent that training never heard | {accent_heard / accent_words:.1%} \
({accent_heard} of {accent_words}) |
| 15 dB and more above the noise | {found["clear_heard"] / found["clear_words"]:.1%} \
({found["clear_heard"]} of {found["clear_words"]}) |
| false accepts an hour | **{found["hour_false"] * 60 / found["hour_minutes"]:.1f}** \
({found["hour_false"]} in {found["hour_minutes"]} minutes) |
| near misses among what was said then | {found["hour_near_misses"]}, \
taken for the wake word {found["near_miss_false"]} times |
| heard so long behind the word's end, median | {found["median_delay_ms"]} ms |

{found["parameters"]} parameters, trained on {found["training_minutes"]} minutes of sound with \
{found["training_words"]} wake words; threshold {found["threshold"]} of 255.
"""


def write_readme(found: dict[str, float]) -> None:
    """Puts the table between README's marks."""
    text = README.read_text(encoding="utf-8")
    pattern = f"{_MARKS[0]}.*?{_MARKS[1]}"
    new = _MARKS[0] + table(found) + _MARKS[1]
    README.write_text(re.sub(pattern, lambda _: new, text, flags=re.DOTALL), encoding="utf-8")
