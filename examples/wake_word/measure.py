"""How often the wake word is heard, and how often something else: voices that are held out.

    python -m examples.wake_word.measure     writes results.json and the table in README.md anew

The generated C of front end and int8 network listens; the threshold is the one that training chose.
"""

from __future__ import annotations

import numpy as np

from examples.wake_word.decision import Judgement, detections, judge, sample_of
from examples.wake_word.front_end import SAMPLE_RATE
from examples.wake_word.results import features_of, read, scores_of, update, write_readme
from examples.wake_word.scenes import Cast, Scene, scenes
from examples.wake_word.speech import HELD_OUT_ACCENT

#: Scenes of a minute with the wake word, and without.
WORDS = Cast(seed=4, is_held_out=True, wake=0.5, near=0.1, silent=0.05)
WORD_MINUTES = 60
OTHERS = Cast(seed=5, is_held_out=True, wake=0.0, near=0.1, silent=0.25)
OTHER_MINUTES = 60
CLEAR_DECIBELS = 15


def listen(scene: Scene, threshold: int) -> tuple[list[int], Judgement]:
    """Detections, and how right they are."""
    found = detections(scores_of(features_of(scene.samples)), threshold)
    return found, judge(found, scene.ends)


def near_misses_taken(scene: Scene, found: list[int]) -> int:
    """Detections within a second of the end of a near miss."""
    ends = np.array([one.end for one in scene.said if one.kind == "near"])
    seconds = [np.abs(sample_of(answer) - ends).min() / SAMPLE_RATE for answer in found]
    return sum(float(second) <= 1.0 for second in seconds)


def main() -> None:
    """Both, and the table."""
    threshold = int(read()["threshold"])
    words = scenes(WORDS, WORD_MINUTES)
    _, judged = listen(words, threshold)
    others = scenes(OTHERS, OTHER_MINUTES)
    found, wrong = listen(others, threshold)
    accents = np.array([one.accent for one in words.words])
    clear = np.array([one.decibels >= CLEAR_DECIBELS for one in words.words])
    is_new = accents == HELD_OUT_ACCENT
    figures = update(
        test_minutes=WORD_MINUTES, test_words=len(words.words), test_heard=int(judged.heard.sum()),
        test_false=judged.false_accepts,
        accent_words=int(is_new.sum()), accent_heard=int(judged.heard[is_new].sum()),
        clear_words=int(clear.sum()), clear_heard=int(judged.heard[clear].sum()),
        hour_minutes=OTHER_MINUTES, hour_false=wrong.false_accepts,
        hour_near_misses=others.count("near"), hour_sentences=others.count("other"),
        near_miss_false=near_misses_taken(others, found),
        median_delay_ms=round(1000 * float(np.median(judged.delays))),
    )  # fmt: skip
    write_readme(figures)
    print(f"{figures['test_heard']} of {figures['test_words']} wake words heard")
    print(f"{wrong.false_accepts} false accepts in {OTHER_MINUTES} minutes")


if __name__ == "__main__":
    main()
