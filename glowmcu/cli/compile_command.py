"""`glowmcu compile`."""

from __future__ import annotations

import math
import re
from pathlib import Path

import click

from glowmcu.api import compile as compile_model
from glowmcu.cli.output import console, json_option, print_json
from glowmcu.errors import error
from glowmcu.report.json_report import compile_json
from glowmcu.report.tables import layer_table, summary_lines


def parse_input_shapes(texts: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    """`NAME=1x49x10x1`, several times, as a dictionary. Raises GM711."""
    shapes: dict[str, tuple[int, ...]] = {}
    for text in texts:
        name, _, sizes = text.rpartition("=")
        shape = (
            tuple(map(int, sizes.split("x"))) if re.fullmatch(r"\d{1,9}(x\d{1,9})*", sizes) else ()
        )
        if not name or not shape or not 0 < math.prod(shape) < 2**31:
            raise error(
                "GM711",
                f"--input-shape takes NAME=SIZExSIZEx…, every size at least 1, got {text!r}",
                hint="for example --input-shape input_1=1x49x10x1",
            )
        shapes[name] = shape
    return shapes


@click.command("compile")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--board", default="generic", show_default=True, help="See `glowmcu boards`.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Default: build/<name>.")
@click.option("--name", help="Prefix of the C API. Default: the model file's name.")
@click.option(
    "--optimize",
    type=click.Choice(["balanced", "speed", "size", "ram"]),
    default="balanced",
    show_default=True,
    help="What to minimise first.",
)
@click.option(
    "--rounding",
    type=click.Choice(["double", "single"]),
    default="double",
    show_default=True,
    help="double: TensorFlow Lite Micro's numbers; single: XNNPACK's.",
)
@click.option("--input-shape", "input_shapes", multiple=True, metavar="NAME=1x8x8x1",
              help="Fix the shape of an input that the model leaves open.")  # fmt: skip
@click.option("--dump-ir", type=click.Path(path_type=Path), help="Write the IR after every pass.")
@json_option
def compile_command(
    model: Path,
    board: str,
    output: Path | None,
    name: str | None,
    optimize: str,
    rounding: str,
    input_shapes: tuple[str, ...],
    dump_ir: Path | None,
    as_json: bool,
) -> None:
    """Compile MODEL (.tflite) into a C bundle."""
    bundle = compile_model(
        model,
        board=board,
        output=output,
        name=name,
        optimize=optimize,
        rounding=rounding,
        input_shapes=parse_input_shapes(input_shapes),
        dump_ir=dump_ir,
    )
    if as_json:
        print_json(compile_json(bundle))
        return
    out = console()
    out.print(layer_table(bundle.manifest))
    for line in summary_lines(bundle):
        out.print(line)
    out.print(f"  next     glowmcu verify {bundle.path} --on host,cortex-m", markup=False)
