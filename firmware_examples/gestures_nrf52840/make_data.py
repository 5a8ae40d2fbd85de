"""Data of the gestures example in the firmware's layout, step after step.

Usage: make_data.py calibration calibration.npz OUT.npz
       make_data.py recording test_samples.npz OUT.h
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

#: A held-out recording of each class: pendulum, abduction, pull, row.
RECORDINGS = (0, 8, 19, 24)
#: The sensor's unit: values are 16-bit integers, so many to a unit of the data set.
COUNTS_PER_UNIT = 1024
#: Test windows of a recording begin so many steps apart.
HOP = 5

HEADER = """/* recording.h: held-out motion of a smart watch, written by make_data.py. */
#include <stdint.h>

#define SENSOR_COUNTS_PER_UNIT {counts}
#define SENSOR_CHANNELS {channels}
#define RECORDING_STEPS {steps}

/* The gesture of each step: 0 pendulum, 1 abduction, 2 pull, 3 row. */
static const uint8_t recorded_gesture[RECORDING_STEPS] = {{
{labels}
}};
static const int16_t recorded_motion[RECORDING_STEPS][SENSOR_CHANNELS] = {{
{motion}
}};
"""


def calibration(source: Path, target: Path) -> None:
    """Windows with time first: N x 25 x 1 x 6."""
    target.parent.mkdir(parents=True, exist_ok=True)
    np.savez(target, inputs=np.load(source)["inputs"].transpose(0, 2, 3, 1))


def whole(windows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The recording that overlapping windows (20 x 6 x 25 x 1) were cut from: steps x 6."""
    steps = [window[:, : HOP if number < len(windows) - 1 else None, 0]
             for number, window in enumerate(windows)]  # fmt: skip
    return np.concatenate(steps, axis=1).T


def recording(source: Path, target: Path) -> None:
    """Recordings one after the other, as the sensor would give them."""
    samples = np.load(source)
    motion, labels = [], []
    for number in RECORDINGS:
        mine = samples["recordings"] == number
        steps = whole(samples["inputs"][mine])
        motion += np.rint(steps * COUNTS_PER_UNIT).astype(np.int16).tolist()
        labels += [int(samples["labels"][mine][0])] * len(steps)
    rows = ",\n".join("    { " + ", ".join(map(str, row)) + " }" for row in motion)
    text = HEADER.format(
        counts=COUNTS_PER_UNIT,
        channels=len(motion[0]),
        steps=len(motion),
        labels=_lines(labels),
        motion=rows,
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def _lines(values: list[int]) -> str:
    lines = [values[i : i + 25] for i in range(0, len(values), 25)]
    return ",\n".join("    " + ", ".join(map(str, line)) for line in lines)


if __name__ == "__main__":
    {"calibration": calibration, "recording": recording}[sys.argv[1]](
        Path(sys.argv[2]), Path(sys.argv[3])
    )
