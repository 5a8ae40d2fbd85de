"""A model's image comes as a camera's frame: cropped, converted and resized in the bundle.

    frame (ui8) -> its middle, a whole multiple of the model's image -> i8 -> mean
    frame (ui8) -> i8 of the model's channels -> bilinear (`stretch`)

Means of squares of pixels leave no pixel out and need few rows at a time, so that frames may be
pushed row by row. Where a frame is smaller than the image, it is cropped to its aspect and widened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from glowmcu.errors import ExitCode, GlowmcuError, error
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Operation, OperationError
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.lowering.model_border import with_border
from glowmcu.ops.camera import CameraPixels, PixelFormat
from glowmcu.ops.pooling import AveragePool2D
from glowmcu.ops.quantization import Requantize
from glowmcu.ops.resize import ResizeBilinear

_HINT = "for example --camera input_1=rgb565:320x240, or …:stretch instead of cropping"
_LARGEST = 1 << 15
#: What networks are trained on, and by how much of it a measured range may miss it.
_RANGES_OF_PIXELS = ((0.0, 1.0), (-1.0, 1.0), (-0.5, 0.5), (0.0, 255.0), (-128.0, 127.0))
_NEAR = 0.02


@dataclass(frozen=True)
class _Frame:
    format: PixelFormat
    width: int
    height: int
    is_stretched: bool


def with_cameras(graph: Graph, cameras: Mapping[str, str], file_name: str) -> Graph:
    """The graph whose inputs of these names are frames, `FORMAT:WIDTHxHEIGHT`. Raises GM153."""
    for name, text in cameras.items():
        graph = _with_camera(graph, name, _frame(name, text, file_name), file_name)
    return graph


def _frame(name: str, text: str, file_name: str) -> _Frame:
    kind, _, rest = text.partition(":")
    sizes, _, how = rest.partition(":")
    width, _, height = sizes.partition("x")
    known = [item.value for item in PixelFormat]
    if kind not in known:
        raise _cannot(name, f"no format is {kind!r}; known: {', '.join(known)}", file_name)
    is_size = all(size.isdecimal() and 0 < len(size) < 6 for size in (width, height))
    if not is_size or how not in ("", "stretch") or not int(width) * int(height) > 0:
        raise _cannot(name, f"a frame is FORMAT:WIDTHxHEIGHT, got {text!r}", file_name)
    if max(int(width), int(height)) >= _LARGEST:
        raise _cannot(name, f"sizes are below {_LARGEST}, got {sizes}", file_name)
    return _Frame(PixelFormat(kind), int(width), int(height), how == "stretch")


def _with_camera(graph: Graph, name: str, frame: _Frame, file_name: str) -> Graph:
    found = [value for value in graph.arguments if value.name == name]
    if not found:
        names = [value.name for value in graph.arguments]
        said = f"no input has that name; the inputs are: {', '.join(names)}"
        hint = _HINT.replace("input_1", names[0]) if names else _HINT
        raise _cannot(name, said, file_name, hint)
    (image,) = found
    if _has_channels_first(image.type):
        graph = with_border(graph, InputOptions(nhwc=(name,)), file_name)
        image = next(value for value in graph.arguments if value.name == name)
    type_, quantization = image.type, image.type.quantization
    if type_.rank != 4 or type_.shape[0] != 1 or type_.shape[3] not in (1, 3):
        raise _cannot(name, f"it is {type_}, no image [1, height, width, 1 or 3]", file_name)
    if type_.element not in (ElementType.I8, ElementType.UI8) or quantization is None:
        said = f"it is {type_}: pixels are bytes, and the model must take bytes"
        raise _cannot(name, said, file_name, "quantize it: --samples or --profile, and --io int8")
    is_signed = type_.element is ElementType.I8
    zero = type_.zero_point if is_signed else type_.zero_point - 128
    stored = replace(
        type_, element=ElementType.I8, quantization=replace(quantization, zero_points=(zero,))
    )
    shape = (1, frame.height, frame.width, frame.format.pixel_bytes)
    given = Value(TensorType(shape, ElementType.UI8), name)
    nodes: list[Node] = []

    def add(op: Operation, x: Value, wanted: TensorType) -> Value:
        made = Value(wanted, f"{name}/{op.name}")
        nodes.append(Node(op, (x,), (made,), made.name, "camera"))
        return made

    pixels = _part(frame, type_.shape[1], type_.shape[2], type_.shape[3])
    try:
        (cut,) = pixels.infer([given.type])
    except OperationError as cause:
        raise _cannot(name, str(cause), file_name) from cause
    x = add(pixels, given, stored.with_shape(cut))
    times = cut[1] // type_.shape[1]
    if cut == type_.with_shape((1, times * type_.shape[1], times * type_.shape[2], cut[3])).shape:
        if times > 1:
            pair = (times, times)
            x = add(AveragePool2D(kernel=pair, strides=pair), x, stored)
    else:
        size = (type_.shape[1], type_.shape[2])
        x = add(ResizeBilinear(size, half_pixel_centers=True), x, stored)
    if not is_signed:
        x = add(Requantize(), x, type_)
    renamed = {image: x}
    return replace(
        graph,
        inputs=tuple(given if value is image else value for value in graph.inputs),
        nodes=(
            *nodes,
            *(
                replace(node, inputs=tuple(renamed.get(v, v) for v in node.inputs))
                for node in graph.nodes
            ),
        ),
        outputs=tuple(renamed.get(value, value) for value in graph.outputs),
    )


def _has_channels_first(type_: TensorType) -> bool:
    """Whether it is an image as ONNX has it: NCHW, and none in NHWC."""
    return type_.rank == 4 and type_.shape[3] not in (1, 3) and type_.shape[1] in (1, 3)


def camera_notes(graph: Graph, cameras: Mapping[str, str]) -> tuple[str, ...]:
    """Which images are quantized for other numbers than those of pixels in a usual range."""
    notes = []
    for value in graph.arguments:
        quantization = value.type.quantization
        if value.name not in cameras or quantization is None:
            continue
        scale, least = quantization.scales[0], value.type.element.limits[0]
        low = scale * (least - value.type.zero_point)
        high = low + 255 * scale
        if not any(
            max(abs(low - a), abs(high - b)) <= _NEAR * (b - a) for a, b in _RANGES_OF_PIXELS
        ):
            notes.append(
                f"--camera {value.name}: pixels from 0 to 255 become {low:.3g} to {high:.3g}; a "
                "network that was trained on other numbers has to begin with their scaling"
            )
    return tuple(notes)


def _part(frame: _Frame, height: int, width: int, channels: int) -> CameraPixels:
    """All of the frame, or in its middle the largest multiple of the image; if there is none,
    the largest part of its aspect.
    """
    rows, columns = frame.height, frame.width
    times = min(rows // height, columns // width)
    if times and not frame.is_stretched:
        rows, columns = times * height, times * width
    elif not frame.is_stretched:
        rows = min(rows, max(1, frame.width * height // width))
        columns = min(columns, max(1, frame.height * width // height))
    left = (frame.width - columns) // 2
    if frame.format.is_yuv:
        left -= left % 2
    return CameraPixels(frame.format, (frame.height - rows) // 2, left, (rows, columns), channels)


def _cannot(name: str, why: str, file_name: str, hint: str = _HINT) -> GlowmcuError:
    return error("GM153", f"camera of {name!r}: {why}", file_name, hint, ExitCode.USAGE)
