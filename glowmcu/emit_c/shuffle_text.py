"""The loop of a layer that is computed as blocks of pixels, which are put where they belong."""

from __future__ import annotations

from glowmcu.emit_c.c_text import wrap_call
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
    shape = {
        "rows of a block": shuffle.strides[0],
        "above": shuffle.above,
        "height": result.shape[1],
        "bytes of a row": result.size_bytes // result.shape[1],
        "blocks": shuffle.width,
        "bytes of a block in a row": piece,
        "left": shuffle.left * result.shape[3],
    }
    numbers = ", ".join(map(str, shape.values()))
    before = shuffle.before
    first = f"((y > {before}) ? (y - {before}) * {pitch} : 0)" if before else f"y * {pitch}"
    end = "y + 1"
    lines = [
        "    {",
        f"        const {struct} *const p = {given};",
        f"        const glowmcu_pixel_shuffle s = {{{numbers}}};",
        "",
        f"        for (int32_t y = 0; y < {shuffle.rows}; y += {shuffle.at_once}) {{",
    ]
    if shuffle.at_once > 1:
        end = "end"
        whole = f"y + {shuffle.at_once}"
        lines.append(
            f"            const int32_t end = ({whole} < {shuffle.rows}) ? {whole} : {shuffle.rows};"
        )
    own = [f"{scratch} + {shuffle.rows_bytes}"] if shuffle.own_bytes else []
    call = ["p", f"{x} + {first}", scratch, *own, "y", end]
    lines += [
        wrap_call(function, call, 12),
        wrap_call("glowmcu_shuffle_rows", ["&s", scratch, out, "y", end], 12),
        "        }",
        "    }",
    ]
    return "\n".join(lines)
