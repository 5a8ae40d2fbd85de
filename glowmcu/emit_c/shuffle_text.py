"""The loop of a layer that is computed as blocks of pixels, which are put where they belong."""

from __future__ import annotations

from glowmcu.emit_c.c_text import wrap_call, wrap_items
from glowmcu.ir.kernel_code import PixelShuffle
from glowmcu.ir.operation import Signature


def shuffled_call(
    shuffle: PixelShuffle,
    signature: Signature,
    function: str,
    given: str,
    struct: str,
    pointers: list[str],
) -> str:
    """Statements of a layer; `given` is the function's parameters, of type `struct`, and `pointers`
    are the input, the result and the scratch.
    """  # fmt: skip
    x, out, scratch = pointers
    operand, result = signature.inputs[0], signature.output
    pitch = operand.size_bytes // operand.shape[1]
    piece = shuffle.strides[1] * result.shape[3]
    numbers = {
        "stride": shuffle.strides[0],
        "above": shuffle.above,
        "height": result.shape[1],
        "row_bytes": result.size_bytes // result.shape[1],
        "width": shuffle.width,
        "piece": piece,
        "left": shuffle.left * result.shape[3],
    }
    items = wrap_items([f"/* {name} */ {number}" for name, number in numbers.items()], " " * 12)
    before = shuffle.before
    first = f"((row > {before}) ? (row - {before}) * {pitch} : 0)" if before else f"row * {pitch}"
    end = "row + 1"
    lines = [
        "    {",
        f"        const {struct} *const given = {given};",
        f"        const glowmcu_pixel_shuffle shuffle = {{\n{items}\n        }};",
        "",
        f"        for (int32_t row = 0; row < {shuffle.rows}; row += {shuffle.at_once}) {{",
    ]
    if shuffle.at_once > 1:
        end, next_y = "last", f"row + {shuffle.at_once}"
        chosen = f"({next_y} < {shuffle.rows}) ? {next_y} : {shuffle.rows}"
        lines.append(f"            const int32_t last = {chosen};")
    own = [f"{scratch} + {shuffle.rows_bytes}"] if shuffle.own_bytes else []
    call = ["given", f"{x} + {first}", scratch, *own, "row", end]
    lines += [
        wrap_call(function, call, 12),
        wrap_call("glowmcu_shuffle_rows", ["&shuffle", scratch, out, "row", end], 12),
        "        }",
        "    }",
    ]
    return "\n".join(lines)
