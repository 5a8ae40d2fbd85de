"""The wake word's firmware as the board runs it: the PDM's driver, on a model of the nRF52840."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from examples.wake_word.front_end import HOP
from examples.wake_word.sounds import HEARD, read
from tests.firmware_examples.test_examples import expected, make

pytest.importorskip("unicorn", reason="pip install '.[emulation]'")

from tests.firmware_examples.nrf52840 import Board

NAME = "wake_word_nrf52840"
RATIO, CLOCK, MODE, COUNT, GAIN = 0x520, 0x504, 0x508, 0x564, 0x518


@pytest.fixture(scope="module")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as for the board."""
    folder = tmp_path_factory.mktemp("build")
    done = make(NAME, "nrf52", folder, "all", MICROPHONE="pdm")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return folder / f"{NAME}.elf"


@pytest.mark.arm
def test_words_are_heard_through_the_pdm_when_they_are_in_a_recording(firmware: Path) -> None:
    board = Board(firmware, read(HEARD))
    assert list(board.lines()) == [line for line in expected(NAME) if line.endswith("firefly")]


@pytest.mark.arm
def test_two_halves_take_turns_and_no_sample_is_lost(firmware: Path) -> None:
    samples = np.zeros(20 * HOP, np.int16)
    board = Board(firmware, samples)
    assert list(board.lines()) == []
    assert len(board.buffers) == 20
    first, second = board.buffers[:2]
    assert abs(first - second) == HOP * samples.itemsize
    assert board.buffers == [first, second] * 10


@pytest.mark.arm
def test_the_pdm_is_set_to_16_khz_mono(firmware: Path) -> None:
    board = Board(firmware, np.zeros(HOP, np.int16))
    assert list(board.lines()) == []
    # 32 MHz / 25 = 1.28 MHz, by 80: 16 kHz.
    assert board.register(CLOCK) == 0x0A000000
    assert board.register(RATIO) == 1
    assert board.register(MODE) & 1 == 1
    assert board.register(COUNT) == HOP
    assert board.register(GAIN) == 0x28
