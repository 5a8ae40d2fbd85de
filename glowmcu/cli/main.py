"""`glowmcu`: the command group, and how every ending becomes an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

import click

from glowmcu.cli.bench_command import bench_command
from glowmcu.cli.compile_command import compile_command
from glowmcu.cli.execute_commands import run_command
from glowmcu.cli.list_commands import boards_command, inspect_command, ops_command
from glowmcu.cli.profile_command import export_command, profile_command
from glowmcu.cli.tune_command import tune_command
from glowmcu.cli.verify_command import verify_command
from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.version import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="glowmcu")
def group() -> None:
    """Compile neural networks to plain C99 for microcontrollers.

    An int8 model: glowmcu compile model.tflite --board nrf52

    \b
    A float one:   glowmcu profile model.onnx --samples data/ -o model.profile.json
                   glowmcu compile model.onnx --profile model.profile.json --board nrf52
    """


for command in (
    compile_command, profile_command, tune_command, export_command, inspect_command, run_command,
    verify_command, bench_command, boards_command, ops_command,
):  # fmt: skip
    group.add_command(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit code (see `ExitCode`)."""
    try:
        result = group.main(args=arguments, prog_name="glowmcu", standalone_mode=False)
        return int(result) if isinstance(result, int) else int(ExitCode.OK)
    except GlowmcuError as cause:
        click.echo(str(cause), err=True)
        return int(cause.exit_code)
    except click.ClickException as cause:
        cause.show()
        return int(ExitCode.USAGE)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        return 130
    except BrokenPipeError:
        # The reader (head, say) has enough; leave nothing for the interpreter to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.OK)
    except Exception as cause:  # noqa: BLE001 - the last resort: anything else is our bug
        return _our_bug(cause)


def _our_bug(cause: Exception) -> int:
    lines = traceback.format_exception(cause)
    shown = "".join(lines) if os.environ.get("GLOWMCU_DEBUG") else "".join(lines[-3:])
    click.echo(
        f"error[GM900]: internal error, a bug of glowmcu {__version__}: {cause}\n{shown}"
        "  hint: please report it with the model if you may share it; "
        "GLOWMCU_DEBUG=1 shows the whole trace",
        err=True,
    )
    return int(ExitCode.OUR_BUG)
