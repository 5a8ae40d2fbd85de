"""Images as samples: resized, (pixel - mean) / scale, in the model's layout.

Nothing is guessed: a wrong mean is the commonest reason for a bad quantization, so the file of
settings has to say it. Needs Pillow (`pip install glowmcu[images]`).
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from glowmcu import installation, limits
from glowmcu.errors import GlowmcuError, error
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass

_TOML = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
IMAGE_SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
#: In all modes, decoded, converted and resampled at once, with what decoders keep.
_BYTES_A_PIXEL = 16
#: What float32 holds; NaN compares with nothing.
_LARGEST_NUMBER = 3e38
_WHITE_OF_16_BITS = 65535
_LAYOUTS = {"nhwc": "NHWC", "nchw": "NCHW"}
#: `--camera` spells it grey.
_COLORS = {"rgb": "rgb", "bgr": "bgr", "gray": "gray", "grey": "gray"}


@dataclass(frozen=True)
class Preprocessing:
    """What a pixel (0 to 255) becomes: (pixel - mean) / scale, one number or one a channel."""

    size: tuple[int, int]  # height, width
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    layout: str = "NHWC"
    color: str = "rgb"


def read_preprocessing(path: Path) -> Preprocessing:
    """Settings from a TOML or JSON file. Raises GM308 with what is wrong in it."""
    where = str(path)
    try:
        text = path.read_text(encoding="utf-8")
        record = json.loads(text) if path.suffix == ".json" else _TOML.loads(text)
    except OSError as cause:
        raise error(
            "GM308", f"cannot read the preprocessing: {cause.strerror}", where, "check the path"
        ) from cause
    except (ValueError, RecursionError) as cause:
        raise error("GM308", f"cannot read the preprocessing: {cause}", where) from cause
    if not isinstance(record, dict):
        raise error("GM308", "expected a table of settings", where)
    return _settings(record, where)


def _settings(record: dict[str, Any], where: str) -> Preprocessing:
    known = ("size", "mean", "scale", "layout", "color")
    unknown = [key for key in record if key not in known]
    missing = [key for key in known[:3] if key not in record]
    if unknown or missing:
        what = f"unknown setting {unknown[0]!r}" if unknown else f"no setting {missing[0]!r}"
        raise error("GM308", what, where, f"the settings are: {', '.join(known)}")
    size = record["size"]
    sizes_fit = isinstance(size, list) and len(size) == 2
    if not sizes_fit or not all(isinstance(n, int) and 0 < n <= 4096 for n in size):
        raise error("GM308", f"size must be [height, width], got {size!r}", where)
    layout = _word(record, "layout", _LAYOUTS, where)
    color = _word(record, "color", _COLORS, where)
    channels = 1 if color == "gray" else 3
    mean, scale = (_numbers(record, key, channels, where) for key in ("mean", "scale"))
    if 0.0 in scale:
        raise error("GM308", "scale must not be 0: it divides", where)
    return Preprocessing((size[0], size[1]), mean, scale, layout, color)


def _word(record: dict[str, Any], key: str, known: Mapping[str, str], where: str) -> str:
    """One of the words for a setting, whatever its case; the first where there is none."""
    given = record.get(key, next(iter(known)))
    found = known.get(given.lower()) if isinstance(given, str) else None
    if found is None:
        words = ", ".join(dict.fromkeys(known.values()))
        raise error("GM308", f"{key} must be one of {words}, got {given!r}", where)
    return found


def _numbers(record: dict[str, Any], key: str, channels: int, where: str) -> tuple[float, ...]:
    values = record[key] if isinstance(record[key], list) else [record[key]]
    numbers = all(isinstance(v, int | float) and abs(v) <= _LARGEST_NUMBER for v in values)
    if not numbers or len(values) not in (1, channels):
        raise error(
            "GM308", f"{key} must be a number or one for each of {channels} channels, "
            f"got {record[key]!r}", where,
        )  # fmt: skip
    return tuple(map(float, values))


def read_image(path: Path, settings: Preprocessing) -> Array:
    """One image as float32 `(1, height, width, channels)` or `(1, channels, height, width)`.

    Raises GM307 for what is no image, GM309 without Pillow.
    """
    try:
        pixels = _pixels(path, settings)
    except GlowmcuError:
        raise
    except Exception as cause:
        text = " ".join(str(cause).split())[:200] or type(cause).__name__
        raise error(
            "GM307", f"cannot read the image: {text}", str(path), "does an image viewer show it?"
        ) from cause
    return _numbered(pixels, settings)


class _Numbered(Sequence[Any]):
    def __init__(self, items: Sequence[Any], settings: Preprocessing) -> None:
        self._items, self._settings = items, settings

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return map(self._of, self._items)

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401 - as `Sequence` has it
        return self._of(self._items[index])

    def _of(self, item: Any) -> Any:  # noqa: ANN401 - of whatever data set
        if isinstance(item, Mapping):
            return {name: self._of(cell) for name, cell in item.items()}
        if isinstance(item, tuple | list):
            return [self._of(part) for part in item]
        if not hasattr(item, "getbands"):
            return item  # no image of Pillow's
        return _numbered(_resized(item, "samples", self._settings), self._settings)


def with_images(items: Sequence[Any], settings: Preprocessing) -> Sequence[Any]:
    """Items of a data set with numbers for the images of Pillow in them, when they are asked for.

    Items raise as `read_image`.
    """
    return _Numbered(items, settings)


def _numbered(pixels: Array, settings: Preprocessing) -> Array:
    height, width = settings.size
    pixels = pixels.reshape(height, width, -1)
    pixels = pixels[..., ::-1] if settings.color == "bgr" else pixels
    real = (pixels.astype(np.float32) - np.array(settings.mean, np.float32)) / np.array(
        settings.scale, np.float32
    )
    laid_out = real.transpose(2, 0, 1) if settings.layout == "NCHW" else real
    return np.ascontiguousarray(laid_out[np.newaxis], np.float32)


def _pixels(path: Path, settings: Preprocessing) -> Array:
    """Pixels in the size wanted. Pillow warns of large images; here the limit is the user's."""
    image = _pillow()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", image.DecompressionBombWarning)
        with image.open(path) as opened:
            pixels = opened.width * opened.height
            if _BYTES_A_PIXEL * pixels > limits.memory_bytes():
                raise error(
                    "GM307",
                    f"the image is {opened.width} x {opened.height}: {_BYTES_A_PIXEL} bytes a "
                    f"pixel are beyond {limits.size_text(limits.memory_bytes())}",
                    str(path),
                    limits.hint(_BYTES_A_PIXEL * pixels, limits.memory_bytes()),
                )
            return _resized(opened, str(path), settings)


def _resized(opened: Any, where: str, settings: Preprocessing) -> Array:  # noqa: ANN401
    """Pixels of an image of Pillow."""
    height, width = settings.size
    # A camera that was turned says so beside its pixels, and viewers turn them back.
    upright = _of_bytes(_pillow("ImageOps").exif_transpose(opened), where)
    picture = upright.convert("L" if settings.color == "gray" else "RGB")
    return np.asarray(picture.resize((width, height), _pillow().Resampling.BILINEAR))


def _of_bytes(picture: Any, where: str) -> Any:  # noqa: ANN401 - an image of Pillow
    """An image of 16 bits a pixel with 0 to 255 for its 0 to 65535: Pillow cuts off what is above
    255 instead, which leaves white. Raises GM307 for numbers without a stated range.
    """
    if not picture.mode.startswith(("I", "F")):
        return picture
    values = np.asarray(picture)
    is_narrow = np.array_equal(values, np.clip(values, 0, _WHITE_OF_16_BITS))
    if not picture.mode.startswith("I") or not is_narrow:
        raise error(
            "GM307",
            f"the image has pixels of 32 bits (mode {picture.mode}), which say nothing of their "
            "range",
            where,
            "save it with 8 or 16 bits a pixel, or give arrays as training read them: .npy",
        )
    scaled = np.rint(values / (_WHITE_OF_16_BITS / 255)).astype(np.uint8)
    return _pillow().fromarray(scaled)


def _pillow(part: str = "Image") -> ModuleType:
    try:
        return importlib.import_module(f"PIL.{part}")
    except ImportError as cause:
        raise _no_pillow() from cause


def _no_pillow() -> GlowmcuError:
    return error("GM309", "reading images needs Pillow", hint=installation.extra("images"))
