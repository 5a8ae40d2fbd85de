"""`glowmcu`: the command group, and how every ending becomes an exit code."""

from __future__ import annotations

import difflib
import gc
import importlib
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from glowmcu.cli.help_groups import write_groups
from glowmcu.cli.interrupts import heeded_interrupts, interrupted
from glowmcu.cli.resource_errors import resource_error
from glowmcu.cli.standard_streams import (
    drop_standard_output,
    may_fail,
    prepare_standard_streams,
    say,
)
from glowmcu.discovery import Plugin, plugin_behind, said
from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.shell_words import command_line
from glowmcu.version import __version__

#: How many objects come before Python looks for cycles among them; it would at 700 or 2,000.
_NEW_OBJECTS = 50_000
#: Where each command is, and its line of `glowmcu --help`, for which none need be imported.
COMMANDS = {
    "bench": (
        "bench_command",
        "Cost of BUNDLE per layer on the modelled core: instructions, cycles, stack.",
    ),
    "boards": ("list_commands", "List the boards: core, memory, emulators."),
    "compile": (
        "compile_command",
        "Compile MODEL (.tflite, .onnx or TOSA's .mlir) into a C bundle.",
    ),
    "diff": (
        "diff_command",
        "Compare the bundles BEFORE and AFTER: memory, cycles, layers, interface, options.",
    ),
    "doctor": (
        "doctor_command",
        "Say which tools are installed here, and what to install for what is not.",
    ),
    "example": (
        "example_command",
        "Write the example NAME here: a trained model and samples; without it, list all.",
    ),
    "explain": (
        "explain_command",
        "Say what an error CODE (GM409) or exit code means and what to do; without it, list all.",
    ),
    "export": (
        "profile_command",
        "Write MODEL as a .tflite that TensorFlow Lite Micro runs, in int8 with a profile.",
    ),
    "flash": (
        "flash_command",
        "Build the test firmware of BUNDLE and write it to a connected board.",
    ),
    "inspect": (
        "list_commands",
        "Show what is in MODEL: tensors, operators, work, and what is not supported.",
    ),
    "ops": (
        "list_commands",
        "List the operators that can be compiled; with WORD (conv, say) those that hold it.",
    ),
    "plugins": (
        "plugins_command",
        "List what installed packages add to glowmcu, and what is wrong with it.",
    ),
    "profile": (
        "profile_command",
        "Measure what every tensor of the float MODEL holds, for `compile --profile`.",
    ),
    "report": (
        "report_command",
        "Write all that compile, verify and bench found out about BUNDLE as one HTML file.",
    ),
    "run": ("execute_commands", "Run one inference of BUNDLE and show its outputs."),
    "tune": (
        "tune_command",
        "Search the quantization of the float MODEL that is best on SAMPLES, for "
        "`compile --profile`.",
    ),
    "verify": (
        "verify_command",
        "Check that BUNDLE computes the same bytes on every executor; exit code 1 if not.",
    ),
}
#: The headings of `glowmcu --help`, most wanted first.
GROUPS = {
    "From a model to C": ("compile", "verify", "run", "bench", "flash", "diff", "report"),
    "Float models": ("profile", "tune", "export"),
    "To look up": ("example", "inspect", "boards", "ops", "plugins", "doctor", "explain"),
}


#: What other tools call an option of these commands.
_OTHER_WORDS = dict.fromkeys(("--target", "--device", "--mcu", "--chip", "--core"), "--board")


def _meant(typed: list[str]) -> str:
    """The command line that was meant by one that begins with no command; empty if nobody knows."""
    first, *rest = typed
    if first == "version":
        return "glowmcu --version"
    if first == "help":
        return command_line(["glowmcu", *(word for word in rest[:1] if word in COMMANDS), "--help"])
    if first.lower().endswith((".tflite", ".onnx", ".mlir")):
        return command_line(["glowmcu", "compile", *typed])
    return ""


class _Commands(click.Group):
    """Commands that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name == "compile":
            # Its matrices are small: most of BLAS's threads would only wait for the others.
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        module = importlib.import_module(f"glowmcu.cli.{COMMANDS[cmd_name][0]}")
        command = getattr(module, f"{cmd_name}_command")
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """click proposes options that are near to a wrong one; here commands, too."""
        typed = args[0]
        if typed not in COMMANDS and not ctx.resilient_parsing:
            meant = _meant(args)
            if meant:
                ctx.fail(f"No such command {typed!r}. Did you mean `{meant}`?")
        near = difflib.get_close_matches(typed, COMMANDS, n=1)
        if near and typed not in COMMANDS and not ctx.resilient_parsing:
            ctx.fail(f"No such command {typed!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """click would answer Ctrl-C by an empty line of its own."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as cause:
            raise click.Abort from cause

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        records = {name: (name, text) for name, (_, text) in COMMANDS.items()}
        write_groups(formatter, GROUPS, records)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", prog_name="glowmcu")
def group() -> None:
    """Compile neural networks to plain C99 for microcontrollers.

    An int8 model: glowmcu compile model.tflite --board nrf52

    \b
    A float one:   glowmcu profile model.onnx --samples data/ -o model.profile.json
                   glowmcu compile model.onnx --profile model.profile.json --board nrf52
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit code (see `ExitCode`)."""
    try:
        prepare_standard_streams()
        with heeded_interrupts(), rare_collections():
            return _ended(arguments)
    except KeyboardInterrupt:
        say("interrupted")
        return interrupted()


@contextmanager
def rare_collections() -> Iterator[None]:
    """Look for cycles of objects less often: a tenth of what a small model takes, for nothing.

    Modules and graphs are many objects that stay; what goes by the way is in no cycle.
    """
    thresholds = gc.get_threshold()
    if 0 < thresholds[0] < _NEW_OBJECTS:
        gc.set_threshold(_NEW_OBJECTS, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def _ended(arguments: Sequence[str] | None) -> int:
    """The exit code of however it ends."""
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except GlowmcuError as cause:
        say(cause.for_shell)
        return int(cause.exit_code)
    except click.ClickException as cause:
        say_usage(cause)
        return int(ExitCode.USAGE)
    except (click.exceptions.Abort, KeyboardInterrupt):
        say("interrupted")
        return interrupted()
    except BrokenPipeError:
        # The reader (head, say) has enough.
        drop_standard_output()
        return int(ExitCode.OK)
    except (OSError, MemoryError) as cause:
        refused = resource_error(cause)
        if refused is None:
            return _our_bug(cause)
        drop_standard_output()
        say(refused.for_shell)
        return int(refused.exit_code)
    except Exception as cause:  # noqa: BLE001 - the last resort: anything else is our bug
        return _our_bug(cause)


def _run(arguments: Sequence[str] | None) -> int:
    output = sys.stdout
    try:
        result = group.main(args=arguments, prog_name="glowmcu", standalone_mode=False)
    except SystemExit as cause:
        # click puts another stream in its place and ends the process where the reader is gone.
        if sys.stdout is output:
            raise
        sys.stdout = output
        raise BrokenPipeError from cause
    return int(result) if isinstance(result, int) else int(ExitCode.OK)


def say_usage(cause: click.ClickException) -> None:
    """click's own text, as far as it can be written."""
    with may_fail():
        _with_advice(cause).show()


def _with_advice(cause: click.ClickException) -> click.ClickException:
    if isinstance(cause, click.NoSuchOption) and cause.option_name in _OTHER_WORDS:
        text = f"{cause.message} Did you mean {_OTHER_WORDS[cause.option_name]!r}?"
        return click.UsageError(text, cause.ctx)
    if (
        isinstance(cause, click.UsageError)
        and cause.message.startswith("Got unexpected extra argument")
        and cause.ctx
        and cause.ctx.info_name == "run"
    ):
        return click.UsageError(f"{cause.message}: inputs go with --input", cause.ctx)
    return cause


def _our_bug(cause: Exception) -> int:
    plugin = plugin_behind(cause)
    if plugin is not None:
        return _bug_of_plugin(plugin, cause)
    lines = traceback.format_exception(cause)
    shown = "".join(lines) if os.environ.get("GLOWMCU_DEBUG") else "".join(lines[-3:])
    say(
        f"error[GM900]: internal error, a bug of glowmcu {__version__}: {cause}\n{shown}"
        "  hint: please report it with the model if you may share it; "
        "GLOWMCU_DEBUG=1 shows the whole trace"
    )
    return int(ExitCode.OUR_BUG)


def _bug_of_plugin(plugin: Plugin, cause: Exception) -> int:
    """GM754: an installed package's own code raised it, or called ours as it may not."""
    problem = plugin.problem("GM754", f"a plug-in failed: {said(cause)}")
    trace = traceback.format_exception(cause) if os.environ.get("GLOWMCU_DEBUG") else []
    say("".join(trace) + problem.for_shell + "; GLOWMCU_DEBUG=1 shows the whole trace")
    return int(ExitCode.USAGE)
