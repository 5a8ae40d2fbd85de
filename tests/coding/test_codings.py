"""Arrays in fewer bytes: back again in Python and in C, whatever they hold, corrupt ones too."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glowmcu.ir.coding import Coded, decoded, encoded, entropy
from glowmcu.ir.coding.kinds import ONE_KIND, kinds_of
from glowmcu.ir.kernel_code import Coding
from tests.support.kernel_files import include_flags

CODINGS = (Coding.NIBBLES, Coding.ENTROPY)
DECODER = {Coding.NIBBLES: "glowmcu_unpack_nibbles", Coding.ENTROPY: "glowmcu_decode_entropy"}
#: Decodes a file; each buffer is exactly as large as it says, so that ASan sees what is beyond.
MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "HEADER"
int main(int count, char **words)
{
    const int32_t size = atoi(words[1]), stored = atoi(words[2]);
    int8_t *to = calloc(1, (size_t)size), *from = malloc((size_t)stored);
    if (count != 3 || fread(from, 1, (size_t)stored, stdin) != (size_t)stored) {
        return 2;
    }
    FUNCTION(to, from, size, stored);
    (void)fwrite(to, 1, (size_t)size, stdout);
    free(to);
    free(from);
    return 0;
}
"""


def weights(low: int, high: int, count: int) -> np.ndarray:
    return np.random.default_rng(count).integers(low, high + 1, count).astype(np.int8)


def weights_among_constants(period: int, constants: int, count: int) -> np.ndarray:
    """Words of four small weights, and in each period some that hold numbers of 20 bits."""
    small = weights(-8, 7, 4 * period * count).reshape(count, period, 4)
    numbers = np.random.default_rng(period).integers(-(1 << 19), 1 << 19, (count, constants))
    small[:, -constants:] = numbers.astype("<i4").view(np.int8).reshape(count, constants, 4)
    return small.reshape(-1)[: 4 * period * count - 4 * (period // 3)]


def high_and_low(count: int) -> np.ndarray:
    high, low = weights(-8, 7, count).astype(np.int16), weights(-8, 7, count + 1)[:count]
    return (256 * high + low).astype(np.int16)


FORMS = {
    "signed bytes": weights(-8, 7, 4000),
    "bytes + 128": (weights(-8, 7, 4000).astype(np.int16) + 128).astype(np.uint8),
    "256 * high + low": high_and_low(2000),
}
#: Streams of weights and other constants: words of a period, those that are no weights, periods.
STREAMS = {
    "a third": (3, 1, 300), "half": (4, 2, 90), "few in many": (73, 9, 16),
    "a long period": (700, 60, 5),
}  # fmt: skip


@pytest.fixture(scope="module", params=CODINGS, ids=lambda coding: coding.value)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple:
    coding, folder = request.param, tmp_path_factory.mktemp("c")
    text = MAIN.replace("HEADER", f"glowmcu_stage_{coding.value}.h")
    (folder / "m.c").write_text(text.replace("FUNCTION", DECODER[coding]))
    flags = ["-std=c99", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command = ["gcc", *flags, *include_flags(), str(folder / "m.c"), "-o", str(folder / "m")]
    subprocess.run(command, check=True)
    return coding, folder / "m"


def in_c(file: Path, stored: bytes, size_bytes: int) -> bytes:
    command = [str(file), str(size_bytes), str(len(stored))]
    return subprocess.run(command, input=stored, capture_output=True, check=True).stdout


@pytest.mark.parametrize("coding", Coding)
@given(st.binary(min_size=1, max_size=700))
def test_what_is_decoded_is_what_was_encoded(coding: Coding, data: bytes) -> None:
    made = encoded(coding, np.frombuffer(data, np.int8))
    assert made is not None
    assert decoded(made) == data + bytes(-len(data) % 4)


@pytest.mark.parametrize("coding", CODINGS)
@given(st.lists(st.integers(-8, 7), min_size=1, max_size=700), st.binary(max_size=40))
def test_small_weights_among_other_bytes_come_back(
    coding: Coding, small: list[int], other: bytes
) -> None:
    data = np.array(small, np.int8).tobytes() + other + np.array(small, np.int8).tobytes()
    made = encoded(coding, np.frombuffer(data, np.int8))
    assert made is not None
    assert decoded(made) == data + bytes(-len(data) % 4)


@pytest.mark.parametrize("form", FORMS)
def test_four_bits_in_every_form_take_half_a_byte(form: str) -> None:
    made = encoded(Coding.NIBBLES, FORMS[form])
    assert made is not None
    assert made.data.nbytes == 12 + 2000
    assert made.data.dtype == FORMS[form].dtype


def test_a_long_stretch_of_either_kind_is_counted_in_parts() -> None:
    for array in (weights(-8, 7, 4 * 140_000), weights(20, 90, 4 * 70_000)):
        both = np.concatenate([array, weights(-8, 7, 400)])
        made = encoded(Coding.NIBBLES, both)
        assert made is not None
        assert decoded(made) == both.tobytes()


def test_codes_come_near_to_the_entropy() -> None:
    array = np.clip(np.random.default_rng(3).normal(0, 20, 16_000).round(), -127, 127)
    made = encoded(Coding.ENTROPY, array.astype(np.int8))
    assert made is not None
    share = np.unique(array, return_counts=True)[1] / array.size
    assert made.data.nbytes <= 1.03 * float(-(share * np.log2(share)).sum()) * array.size / 8


@pytest.mark.parametrize("name", STREAMS)
def test_constants_between_weights_have_a_code_of_their_own(name: str) -> None:
    period, constants, count = STREAMS[name]
    data = weights_among_constants(period, constants, count)
    found = kinds_of(data.tobytes())
    kinds = found.of_words(period)
    assert len(found.phases) % period == 0
    assert len(set(kinds[: period - constants].tolist())) == 1
    assert set(kinds[period - constants :].tolist()) == {1 - kinds[0]}
    made = encoded(Coding.ENTROPY, data)
    assert made is not None
    assert decoded(made) == data.tobytes()
    assert made.data.nbytes <= 0.95 * len(entropy.stream(data.tobytes(), ONE_KIND))


@pytest.mark.parametrize("name", FORMS)
def test_words_that_are_alike_have_one_code(name: str) -> None:
    assert kinds_of(FORMS[name].tobytes()) is ONE_KIND


def test_elements_of_eight_bytes_are_not_coded() -> None:
    assert encoded(Coding.NIBBLES, np.zeros(8, np.int64)) is None


ARRAYS = {
    **FORMS, "any bytes": weights(-128, 127, 1000), "one byte": weights(5, 5, 1),
    **{name: weights_among_constants(*numbers) for name, numbers in STREAMS.items()},
}  # fmt: skip


@pytest.mark.parametrize("form", ARRAYS)
def test_c_decodes_the_same(program: tuple[Coding, Path], form: str) -> None:
    coding, file = program
    made = encoded(coding, ARRAYS[form])
    assert made is not None
    assert in_c(file, made.data.tobytes(), made.size_bytes) == decoded(made)


@pytest.mark.parametrize("form", ["alike", "half"])
def test_corrupt_flash_leads_nowhere_outside(program: tuple[Coding, Path], form: str) -> None:
    coding, file = program
    rng = np.random.default_rng(7)
    made = encoded(coding, ARRAYS.get(form, weights(-8, 7, 400)))
    assert made is not None
    for number in range(60):
        stored = np.frombuffer(made.data.tobytes(), np.uint8).copy()
        stored[rng.integers(0, stored.size if number % 2 else 24, 3)] = rng.integers(0, 256, 3)
        cut = stored[: int(rng.integers(0, stored.size // 4 + 1)) * 4]
        for one in (stored, cut, rng.integers(0, 256, 40).astype(np.uint8)):
            assert len(in_c(file, one.tobytes(), made.size_bytes)) == made.size_bytes


def test_a_wrong_byte_is_noticed() -> None:
    """That the comparisons above can fail."""
    made = encoded(Coding.NIBBLES, FORMS["signed bytes"])
    assert made is not None
    data = made.data.copy()
    data[20] ^= 1
    assert decoded(Coded(made.coding, data, made.size_bytes)) != FORMS["signed bytes"].tobytes()
