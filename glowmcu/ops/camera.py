"""`camera_pixels`: a camera's frame becomes an image as networks read it.

Formats: 5, 6 and 5 bits of red, green and blue, widened by repeating their upper bits; YUV 4:2:2 in
the full range of JFIF (ITU-T T.871, section 7), whose matrix is in 1/256; luma of red, green and
blue by ITU-R BT.601 in 1/256.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, RowWindow, Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.registry import operation


class PixelFormat(Enum):
    """What the bytes of a frame are. RGB565 is a 16-bit word, low byte first or (`BE`) last."""

    GREY = "grey"
    RGB888 = "rgb888"
    RGB565 = "rgb565"
    RGB565BE = "rgb565be"
    YUYV = "yuyv"
    UYVY = "uyvy"

    @property
    def pixel_bytes(self) -> int:
        """Of one pixel."""
        return {PixelFormat.GREY: 1, PixelFormat.RGB888: 3}.get(self, 2)

    @property
    def is_yuv(self) -> bool:
        """Whether two pixels share their colour."""
        return self in (PixelFormat.YUYV, PixelFormat.UYVY)


@operation("camera_pixels")
@dataclass(frozen=True)
class CameraPixels(Operation):
    """Of a frame ui8[1, height, width, bytes of a pixel] the part of `size` (rows, columns) from
    (`top`, `left`), as i8[1, rows, columns, `channels`]: 0 to 255 less 128. One channel is luma.
    """

    format: PixelFormat = PixelFormat.GREY
    top: int = 0
    left: int = 0
    size: tuple[int, int] = (1, 1)
    channels: int = 1

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        if x.rank != 4 or x.shape[0] != 1 or x.shape[3] != self.format.pixel_bytes:
            raise OperationError(f"expected a frame of {self.format.value}, got {x}")
        height, width = x.shape[1:3]
        rows, columns = self.size
        inside = 0 <= self.top <= height - rows and 0 <= self.left <= width - columns
        if min(rows, columns) < 1 or not inside:
            raise OperationError(f"{self.size} from {self.top, self.left} is not in {x}")
        if self.format.is_yuv and (width % 2 or self.left % 2):
            raise OperationError("columns of YUV 4:2:2 come in pairs")
        if self.channels not in (1, 3):
            raise OperationError(f"expected 1 or 3 channels, got {self.channels}")
        return ((1, rows, columns, self.channels),)

    def verify(self, signature: Signature) -> None:
        if signature.inputs[0].element is not ElementType.UI8:
            raise OperationError(f"expected a frame of ui8, got {signature.inputs[0]}")
        if signature.output.element is not ElementType.I8:
            raise OperationError(f"expected a result of i8, got {signature.output}")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        rows, columns = self.size
        part = inputs[0][0, self.top : self.top + rows].astype(np.int64)
        if self.format.is_yuv:
            image = self._of_yuv(part)
        elif self.format is PixelFormat.GREY:
            image = part
        else:
            image = part if self.format is PixelFormat.RGB888 else self._of_words(part)
        image = image[:, self.left : self.left + columns]
        if image.shape[2] == 3 and self.channels == 1:
            image = (image @ np.array([[77], [150], [29]]) + 128) >> 8
        image = np.broadcast_to(image, (rows, columns, self.channels))
        return ((image - 128).astype(np.int8)[np.newaxis],)

    def _of_words(self, part: Array) -> Array:
        low, high = (1, 0) if self.format is PixelFormat.RGB565BE else (0, 1)
        word = part[..., low] | part[..., high] << 8
        red, green, blue = word >> 11, word >> 5 & 63, word & 31
        return np.stack([red << 3 | red >> 2, green << 2 | green >> 4, blue << 3 | blue >> 2], -1)

    def _of_yuv(self, part: Array) -> Array:
        luma_at = 0 if self.format is PixelFormat.YUYV else 1
        y = part[..., luma_at]
        if self.channels == 1:
            return y[..., np.newaxis]
        colour = np.repeat(part[..., 1 - luma_at].reshape(len(part), -1, 2), 2, axis=1) - 128
        u, v = colour[..., 0], colour[..., 1]
        red = y + ((359 * v + 128) >> 8)
        green = y - ((88 * u + 183 * v + 128) >> 8)
        blue = y + ((454 * u + 128) >> 8)
        image: Array = np.clip(np.stack([red, green, blue], -1), 0, 255)
        return image

    def input_rows(
        self, signature: Signature, first: int, end: int
    ) -> tuple[RowWindow | None, ...]:
        # Those above what is read, too: then windows follow each other, as rings of rows ask for.
        return (RowWindow(first, end + self.top),)
