"""Small models whose rows can stream: one way to read or write rows each."""

from __future__ import annotations

from collections.abc import Callable

from tests.memplan.spatial_models import Image, SpatialModel, Window

_POINT = Window((1, 1))


def _separable(model: SpatialModel, x: Image, channels: int, window: Window) -> Image:
    return model.conv(model.depthwise(x, window, activation="RELU"), channels, _POINT, "RELU")


def separable() -> bytes:
    model = SpatialModel(1)
    x = model.conv(model.input(31, 7, 1), 8, Window(stride=(2, 1)), "RELU")
    for channels in (8, 12, 8):
        x = _separable(model, x, channels, Window())
    return model.finish(model.conv(x, 2, Window(stride=(4, 4))))


def residual() -> bytes:
    model = SpatialModel(2)
    x = model.conv(model.input(16, 8, 2), 8, Window())
    inner = model.conv(x, 8, Window(), "RELU")
    x = model.add(model.conv(inner, 8, Window()), x, "RELU")
    inner = model.conv(x, 12, Window(stride=(2, 2)), "RELU")
    short = model.conv(x, 12, Window((1, 1), (2, 2)))
    return model.finish(model.add(model.conv(inner, 12, Window()), short))


def dilated() -> bytes:
    model = SpatialModel(3)
    x = model.conv(model.input(21, 5, 3), 6, Window(dilation=(2, 1)), "RELU")
    for dilation in ((2, 2), (3, 1)):
        x = _separable(model, x, 8, Window(dilation=dilation))
    return model.finish(model.conv(x, 2, Window(stride=(3, 3))))


def inverted_bottlenecks() -> bytes:
    model = SpatialModel(4)
    x = model.conv(model.input(18, 10, 3), 4, Window(stride=(2, 2)), "RELU")
    for stride, channels in ((1, 4), (2, 6), (1, 6)):
        wide = model.conv(x, 6 * x.shape[2], _POINT, "RELU")
        deep = model.depthwise(wide, Window(stride=(stride, stride)), activation="RELU")
        narrow = model.conv(deep, channels, _POINT)
        x = model.add(x, narrow) if narrow.shape == x.shape else narrow
    return model.finish(x)


def one_column() -> bytes:
    model = SpatialModel(5)
    x = model.conv(model.input(49, 1, 6), 16, Window((3, 1), padding="VALID"), "RELU")
    x = _separable(model, x, 16, Window((5, 1), padding="VALID"))
    x = _separable(model, x, 16, Window((9, 1), (2, 1), padding="VALID"))
    return model.finish(x)


def valid_windows() -> bytes:
    model = SpatialModel(6)
    x = model.input(23, 9, 2)
    for kernel, stride in (((3, 3), (1, 1)), ((2, 3), (1, 2)), ((4, 1), (2, 1))):
        x = model.conv(x, 8, Window(kernel, stride, padding="VALID"), "RELU")
    return model.finish(x)


def poolings() -> bytes:
    model = SpatialModel(7)
    x = model.conv(model.input(21, 11, 2), 8, Window(), "RELU")
    x = model.pool(x, "MAX_POOL_2D", Window((2, 2), (2, 2), padding="VALID"))
    x = model.conv(x, 8, Window(), "RELU")
    return model.finish(model.pool(x, "AVERAGE_POOL_2D", Window((3, 3), (2, 2))))


def global_pooling() -> bytes:
    model = SpatialModel(8)
    x = model.conv(model.input(20, 6, 2), 12, Window(stride=(2, 1)), "RELU")
    x = _separable(model, x, 16, Window())
    x = _separable(model, x, 24, Window())
    return model.finish(model.pool(x, "AVERAGE_POOL_2D", Window(x.shape[:2], padding="VALID")))


def joined_branches() -> bytes:
    model = SpatialModel(9)
    x = model.conv(model.input(19, 7, 3), 12, Window(), "RELU")
    x = model.conv(model.conv(x, 12, Window(), "RELU"), 4, Window(stride=(2, 2)))
    x = model.concat(model.pool(x, "MAX_POOL_2D", Window()), x)
    return model.finish(model.conv(x, 3, Window(stride=(2, 2))))


def two_inputs() -> bytes:
    model = SpatialModel(10)
    a, b = model.input(15, 5, 2), model.input(15, 5, 3)
    x = model.add(model.conv(a, 8, Window()), model.conv(b, 8, Window((5, 1))))
    return model.finish(model.conv(x, 4, Window(stride=(2, 1))))


def two_outputs() -> bytes:
    model = SpatialModel(11)
    x = model.conv(model.input(17, 6, 2), 10, Window(stride=(2, 1)), "RELU")
    early = model.conv(_separable(model, x, 10, Window()), 2, Window(stride=(2, 2)))
    x = model.conv(model.conv(early, 14, Window(), "RELU"), 3, Window())
    return model.finish(early, x)


def skipped_rows() -> bytes:
    """Strides beyond the window: some rows are made for nobody."""
    model = SpatialModel(12)
    x = model.conv(model.input(25, 6, 2), 10, Window(), "RELU")
    x = model.conv(x, 10, Window((1, 2), (3, 2), padding="VALID"), "RELU")
    return model.finish(model.conv(x, 4, Window((2, 2), (2, 1))))


def padding_beyond_windows() -> bytes:
    """The windows of the first and of the last row lie in padding as a whole."""
    model = SpatialModel(13)
    x = model.conv(model.input(9, 5, 2), 8, Window(), "RELU")
    x = model.conv(model.pad(x, 4, 3), 6, Window(padding="VALID"), "RELU")
    x = model.depthwise(model.pad(x, 3, 3), Window((3, 1), padding="VALID"))
    x = model.pool(x, "MAX_POOL_2D", Window((2, 1), (2, 1), padding="VALID"))
    return model.finish(model.conv(x, 4, _POINT))


MODELS: dict[str, Callable[[], bytes]] = {
    "separable, odd size": separable,
    "residual blocks with a stride": residual,
    "dilation": dilated,
    "inverted bottlenecks": inverted_bottlenecks,
    "one column": one_column,
    "valid windows": valid_windows,
    "poolings": poolings,
    "global pooling": global_pooling,
    "joined branches": joined_branches,
    "two inputs": two_inputs,
    "two outputs": two_outputs,
    "skipped rows": skipped_rows,
    "padding beyond windows": padding_beyond_windows,
}
