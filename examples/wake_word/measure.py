"""How often the wake word is heard, and how often something else, by voices of the test.

    python -m examples.wake_word.measure     writes results.json and the table in README.md anew

The last step of training, which listens to the test when nothing changes any more. The generated C
of front end and int8 network listens, with the decision that was chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from examples.wake_word.decision import Decision, Scores, detections, judge, sample_of
from examples.wake_word.front_end import SAMPLE_RATE
from examples.wake_word.results import chosen, features_of, read, scores_of, update, write_readme
from examples.wake_word.scenes import Cast, Utterance, scenes
from examples.wake_word.speech import OWN_ACCENT, Group

#: Minutes with the wake word, and without.
WORD_MINUTES, OTHER_MINUTES = 40, 120
#: Decibels above the noise: from each of these on, up to the next.
BANDS = {"less than 6 dB": -100, "6 to 12 dB": 6, "12 to 20 dB": 12, "20 dB and more": 20}
_SEEDS: dict[Group, int] = {"training": 0, "choosing": 2, "test": 4}


@dataclass(frozen=True)
class Heard:
    """What was said in minutes with and without the wake word, and the network's answers."""

    group: Group
    said: tuple[Utterance, ...]
    scores: Scores
    others_said: tuple[Utterance, ...]
    others_scores: Scores

    @property
    def words(self) -> list[Utterance]:
        """The wake words."""
        return [one for one in self.said if one.kind == "wake"]


def listen(group: Group) -> Heard:
    """To scenes of a group's voices, words and noises."""
    words = Cast(_SEEDS[group] + 1, group, wake=0.5, near=0.1, silent=0.05)
    others = Cast(_SEEDS[group] + 2, group, wake=0.0, near=0.1, silent=0.25)
    with_word, without = scenes(words, WORD_MINUTES), scenes(others, OTHER_MINUTES)
    return Heard(
        group, with_word.said, scores_of(features_of(with_word.samples)),
        without.said, scores_of(features_of(without.samples)),
    )  # fmt: skip


def figures(heard: Heard, decision: Decision) -> dict[str, Any]:
    """Pairs: all words and those that were heard, minutes and false accepts, near misses and those
    within a second of which a word was heard.
    """
    ends = np.array([one.end for one in heard.words], np.int64)
    judged = judge(detections(heard.scores, decision), ends)
    found = detections(heard.others_scores, decision)
    accents = np.array([one.accent for one in heard.words])
    decibels = np.array([one.decibels for one in heard.words])
    limits = np.array(list(BANDS.values()))
    band_of = np.searchsorted(limits, decibels, "right") - 1

    def pair(which: Any) -> list[int]:
        return [int(which.sum()), int(judged.heard[which].sum())]

    near = np.array([one.end for one in heard.others_said if one.kind == "near"])
    seconds = [np.abs(sample_of(answer) - near).min() / SAMPLE_RATE for answer in found]
    return {
        "heard": pair(np.ones(len(ends), bool)),
        "false": [OTHER_MINUTES, len(found)],
        "bands": {name: pair(band_of == at) for at, name in enumerate(BANDS)},
        "accent": pair(accents == OWN_ACCENT[heard.group]),
        "near": [len(near), sum(float(second) <= 1.0 for second in seconds)],
        "median_delay_ms": round(1000 * float(np.median(judged.delays))),
    }


def main() -> None:
    """Listens to the test, and writes the table."""
    test = figures(listen("test"), chosen())
    update(test=test)
    write_readme(read())
    print(f"test: [words, heard] {test['heard']}, [minutes, false accepts] {test['false']}")


if __name__ == "__main__":
    main()
