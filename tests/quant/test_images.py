"""Settings of images, each by itself, and pixels that become what they say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glowmcu import limits
from glowmcu.errors import GlowmcuError
from glowmcu.quant import images
from glowmcu.quant.images import Preprocessing, read_image, read_preprocessing
from glowmcu.quant.sample_files import read_samples
from glowmcu.quant.sample_source import SampleSource
from tests.quant.networks import convolutions

GOOD: dict[str, Any] = {"size": [2, 3], "mean": 1.0, "scale": 2.0}


def settings(folder: Path, text: str, name: str = "s.json") -> Preprocessing:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_preprocessing(path)


def refused(folder: Path, **changes: Any) -> str:
    with pytest.raises(GlowmcuError) as caught:
        settings(folder, json.dumps({**GOOD, **changes}))
    assert caught.value.code == "GM308"
    return caught.value.problems[0].message


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, Preprocessing((2, 3), (1.0,), (2.0,))),
        ({"mean": [1, 2, 3], "scale": [4]}, Preprocessing((2, 3), (1.0, 2.0, 3.0), (4.0,))),
        ({"size": [1, 4096], "scale": -1}, Preprocessing((1, 4096), (1.0,), (-1.0,))),
        ({"layout": "NCHW", "color": "bgr"}, Preprocessing((2, 3), (1.0,), (2.0,), "NCHW", "bgr")),
        ({"color": "gray", "mean": [7]}, Preprocessing((2, 3), (7.0,), (2.0,), color="gray")),
        ({"layout": "nchw", "color": "RGB"}, Preprocessing((2, 3), (1.0,), (2.0,), "NCHW")),
        ({"color": "grey"}, Preprocessing((2, 3), (1.0,), (2.0,), color="gray")),
        ({"mean": 3e38}, Preprocessing((2, 3), (3e38,), (2.0,))),
    ],
    ids=str,
)  # fmt: skip
def test_settings_are_what_the_file_says(
    changes: dict[str, Any], wanted: Preprocessing, tmp_path: Path
) -> None:
    assert settings(tmp_path, json.dumps({**GOOD, **changes})) == wanted


def test_settings_may_be_toml(tmp_path: Path) -> None:
    text = 'size = [2, 3]\nmean = 1.0\nscale = 2.0\nlayout = "NCHW"\n'
    wanted = Preprocessing((2, 3), (1.0,), (2.0,), "NCHW")
    assert settings(tmp_path, text, "s.toml") == wanted


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"colour": "rgb"}, "unknown setting 'colour'"),
        *(({"size": size}, "size must be [height, width], got ")
          for size in (3, [3], [3, 3, 3], [0, 3], [3, 0], [4097, 3], [3, 4097], [1.5, 3],
                       ["3", 3])),
        *(({"layout": layout}, f"layout must be one of NHWC, NCHW, got {layout!r}")
          for layout in ("HWC", "", 3, None, [])),
        *(({"color": color}, f"color must be one of rgb, bgr, gray, got {color!r}")
          for color in ("greyscale", "L", 1, {})),
        *(({"mean": mean}, "mean must be a number or one for each of 3 channels")
          for mean in ([1, 2], [1, 2, 3, 4], [], "1", ["1"], [1, 2, None], 4e38, -4e38)),
        ({"color": "gray", "mean": [1, 2, 3]}, "mean must be a number or one for each of 1 "),
        ({"scale": [1, 2]}, "scale must be a number or one for each of 3 channels"),
        ({"scale": 0}, "scale must not be 0: it divides"),
        ({"scale": [1, 0, 1]}, "scale must not be 0: it divides"),
    ],
    ids=str,
)  # fmt: skip
def test_a_setting_that_is_none_is_refused(
    changes: dict[str, Any], words: str, tmp_path: Path
) -> None:
    assert refused(tmp_path, **changes).startswith(words)


@pytest.mark.parametrize("key", GOOD)
def test_a_setting_that_lacks_is_named(key: str, tmp_path: Path) -> None:
    with pytest.raises(GlowmcuError) as caught:
        settings(tmp_path, json.dumps({k: v for k, v in GOOD.items() if k != key}))
    assert caught.value.problems[0].message == f"no setting {key!r}"


@pytest.mark.parametrize(
    ("text", "words"),
    [("[1]", "expected a table of settings"), ("{", "cannot read the preprocessing: ")],
)
def test_a_file_without_settings_is_refused(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(GlowmcuError) as caught:
        settings(tmp_path, text)
    assert caught.value.problems[0].message.startswith(words)


PIXELS = np.arange(18, dtype=np.uint8).reshape(2, 3, 3) * 14


def drawn(folder: Path, pixels: Any = PIXELS) -> Path:
    image = pytest.importorskip("PIL.Image", reason="pip install glowmcu[images]")
    image.fromarray(pixels).save(folder / "x.png")
    return folder / "x.png"


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("color", ["rgb", "bgr"])
def test_pixels_become_what_the_settings_say(layout: str, color: str, tmp_path: Path) -> None:
    how = Preprocessing((2, 3), (1.0, 2.0, 3.0), (2.0, 4.0, 8.0), layout, color)
    got = read_image(drawn(tmp_path), how)
    wanted = (PIXELS[..., ::-1] if color == "bgr" else PIXELS).astype(np.float32)
    wanted = (wanted - np.float32(how.mean)) / np.float32(how.scale)  # type: ignore[arg-type]
    wanted = wanted.transpose(2, 0, 1) if layout == "NCHW" else wanted
    assert got.dtype == np.float32
    assert np.array_equal(got, wanted[np.newaxis])


def test_gray_is_one_channel_and_sizes_are_height_and_width(tmp_path: Path) -> None:
    path = drawn(tmp_path, np.full((6, 4), 100, np.uint8))
    got = read_image(path, Preprocessing((2, 3), (20.0,), (4.0,), color="gray"))
    assert got.shape == (1, 2, 3, 1)
    assert (got == 20.0).all()
    got = read_image(path, Preprocessing((2, 3), (20.0,), (4.0,), "NCHW"))
    assert got.shape == (1, 3, 2, 3)


def test_pixels_of_16_bits_are_those_of_8_and_not_white(tmp_path: Path) -> None:
    how = Preprocessing((2, 3), (0.0,), (1.0,), color="gray")
    pixels = np.array([[0, 257, 300], [25700, 40000, 65535]], np.uint16)
    got = read_image(drawn(tmp_path, pixels), how)
    assert got[0, ..., 0].tolist() == [[0, 1, 1], [100, 156, 255]]
    colored = read_image(tmp_path / "x.png", Preprocessing((2, 3), (0.0,), (1.0,)))
    assert np.array_equal(colored, np.repeat(got, 3, axis=3))


@pytest.mark.parametrize(
    "pixels",
    [
        np.zeros((2, 3), np.float32),
        np.full((2, 3), 65536, np.int32),
        np.array([[0, 0, -1], [0, 0, 9]], np.int32),
        np.array([[0, 0, 0], [0, 0, 65536]], np.int32),
    ],
)
def test_pixels_of_32_bits_have_no_range(pixels: Any, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="pip install glowmcu[images]")
    image.fromarray(pixels).save(tmp_path / "x.tiff")
    with pytest.raises(GlowmcuError, match="pixels of 32 bits") as caught:
        read_image(tmp_path / "x.tiff", Preprocessing((2, 3), (0.0,), (1.0,)))
    assert caught.value.code == "GM307"


def test_an_image_that_is_not_there_is_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(GlowmcuError, match="no such file or folder") as caught:
        read_samples(convolutions(), tmp_path / "x.png", Preprocessing((9, 7), (0.0,), (1.0,)))
    assert caught.value.code == "GM307"


def test_numbers_are_taken_as_they_are_whatever_the_preprocessing_is() -> None:
    how = Preprocessing((9, 7), (0.0,), (1.0,))
    pixels = np.zeros((2, 9, 7, 3), np.float32)
    for data in (pixels, {"image": pixels}):
        assert SampleSource(data, how)._in_memory is data
    assert SampleSource([pixels], None)._in_memory == [pixels]
    assert SampleSource([pixels], how)._in_memory != [pixels]


def test_an_error_without_words_is_told_by_its_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words, told in (("", "ZeroDivisionError"), ("one\n  two", "one two")):
        monkeypatch.setattr(images, "_pixels", raising(ZeroDivisionError(words)))
        with pytest.raises(GlowmcuError, match=f"cannot read the image: {told}\n") as caught:
            read_image(tmp_path / "x.png", Preprocessing((2, 3), (0.0,), (1.0,)))
        assert caught.value.code == "GM307"


def raising(error: Exception) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise error

    return fail


def test_an_image_larger_than_the_memory_that_is_allowed_is_refused(tmp_path: Path) -> None:
    path, how = drawn(tmp_path, np.zeros((64, 64), np.uint8)), Preprocessing((2, 3), (0.0,), (1.0,))
    needed = 16 * 64 * 64
    with limits.memory_limit(needed):
        assert read_image(path, how).shape == (1, 2, 3, 3)
    with limits.memory_limit(needed - 1), pytest.raises(GlowmcuError) as caught:
        read_image(path, how)
    assert caught.value.code == "GM307"
    assert caught.value.problems[0].message.startswith("the image is 64 x 64: 16 bytes a pixel")
