"""The files of this folder, the bundles made of them, and the figures that README states."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import glowmcu
from examples.wake_word.decision import DISTANCE, STRIDE, Decision, Scores
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


def write_pipeline(decision: Decision) -> None:
    """All three stages, and the decision that was chosen."""
    threshold = decision.threshold
    text = _PIPELINE.format(
        word=WAKE_WORD, rate=SAMPLE_RATE, front_end=FRONT_END.name, hop=HOP, stride=STRIDE,
        network=INT8_MODEL.name, averaged=decision.averaged, threshold=threshold / 256,
        steps=threshold, distance=DISTANCE,
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


def read() -> dict[str, Any]:
    """Figures by name."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def chosen() -> Decision:
    """The decision that training chose."""
    found = read()
    return Decision(found["averaged"], found["threshold"])


def update(**figures: object) -> dict[str, Any]:
    """All figures, with these ones new."""
    known = read() if RESULTS.is_file() else {}
    both = {**known, **figures}
    RESULTS.write_text(json.dumps(both, indent=2) + "\n", encoding="utf-8")
    return both


def share(counts: list[int]) -> str:
    """Of [all, heard] words."""
    words, heard = counts
    return f"{heard / words:.1%} ({heard} of {words})"


def false_an_hour(counts: list[int]) -> str:
    """Of [minutes, false accepts]."""
    minutes, wrong = counts
    return f"{wrong * 60 / minutes:.1f} ({wrong} in {minutes} minutes)"


def table(found: dict[str, Any]) -> str:
    """What README says of voices that training did not hear."""
    choosing, test = found["choosing"], found["test"]
    rows = [
        ("wake words heard", share(choosing["heard"]), f"**{share(test['heard'])}**"),
        ("false accepts an hour", false_an_hour(choosing["false"]),
         f"**{false_an_hour(test['false'])}**"),
        ("heard, by how far the word is above the noise", "", ""),
        *((f"- {band}", share(choosing["bands"][band]), share(counts))
          for band, counts in test["bands"].items()),
        ("heard in the accent that is the group's own", share(choosing["accent"]),
         share(test["accent"])),
        ("near misses in the hours without the word, taken for it",
         *(f"{group['near'][1]} of {group['near'][0]}" for group in (choosing, test))),
        ("heard so long behind the word's end, median",
         *(f"{group['median_delay_ms']} ms" for group in (choosing, test))),
    ]  # fmt: skip
    lines = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    return f"""| | choosing voices | test voices |
|---|---|---|
{lines}
{found["parameters"]} parameters, trained on {found["training_minutes"]} minutes of sound with \
{found["training_words"]} wake words; the mean of {found["averaged"]} scores, threshold \
{found["threshold"]} of 255.
"""


def write_readme(found: dict[str, Any]) -> None:
    """Puts the table between README's marks."""
    text = README.read_text(encoding="utf-8")
    pattern = f"{_MARKS[0]}.*?{_MARKS[1]}"
    new = _MARKS[0] + table(found) + _MARKS[1]
    README.write_text(re.sub(pattern, lambda _: new, text, flags=re.DOTALL), encoding="utf-8")
