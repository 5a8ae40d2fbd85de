"""What a job is asked to do. Every setting is an option and an environment variable, so that an
action's inputs and a template's variables never become part of a shell command.
"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from glowmcu.given_amount import bytes_of, cycles_of
from glowmcu.lazy_dataclass import dataclass

_F = TypeVar("_F", bound=Callable[..., object])

#: The executors that `glowmcu bench` measures with.
_MODELLED = ("cortex-m", "riscv")


@dataclass(frozen=True)
class Settings:
    """`model` or `bundle`, a path below the current folder; `options` as for a shell."""

    model: str
    bundle: str
    board: str
    options: tuple[str, ...]
    verify_on: str
    max_growth: tuple[str, ...]
    max_cycles: str
    max_stack: str
    base: str
    title: str
    output: Path
    comment: bool

    @property
    def path(self) -> str:
        """What is watched."""
        return self.model or self.bundle

    @property
    def limits(self) -> list[str]:
        """Options of `glowmcu bench`."""
        pairs = (("--max-cycles", self.max_cycles), ("--max-stack", self.max_stack))
        return [word for option, value in pairs if value for word in (option, value)]

    @property
    def can_bench(self) -> bool:
        """Whether the modelled core is to be there; a limit asks for it, too."""
        return bool(self.limits) or any(name in self.executors for name in _MODELLED)

    @property
    def executors(self) -> list[str]:
        """Of `verify_on`."""
        return self.verify_on.replace(",", " ").split()


_TEXTS = (
    ("model", "", "The .tflite, .onnx or pipeline .toml to watch."),
    ("bundle", "", "The folder of a committed bundle to watch, in place of a model."),
    ("board", "", "As for `glowmcu compile`."),
    ("options", "", "More options of `glowmcu compile`, as typed in a shell."),
    ("verify-on", "host,cortex-m", "Executors that must compute the same bytes."),
    ("max-growth", "", "Limits of `glowmcu diff --max-growth`, with spaces between."),
    ("max-cycles", "", "Limit of `glowmcu bench`: 100000, 100K, 1.5M."),
    ("max-stack", "", "Limit of `glowmcu bench`: 2048, 2K."),
    ("base", "", "The commit to compare with; default: what the CI service says."),
    ("title", "", "Name of the comment, one a title; default: the path."),
    ("output", "build/glowmcu-ci", "Folder of the bundles, the comment and the report."),
    ("comment", "true", "Whether a pull request gets a comment: true or false."),
)


def setting_options(function: _F) -> _F:
    """The options, as one argument `settings` beside `what`. An empty value is the default."""

    @functools.wraps(function)
    def with_settings(what: str, **given: str) -> object:
        return function(what=what, settings=_settings(**given))

    wrapped: Any = with_settings
    for name, default, text in reversed(_TEXTS):
        variable = f"GLOWMCU_{name.replace('-', '_').upper()}"
        wrapped = click.option(
            f"--{name}", default=default, envvar=variable, show_envvar=True, metavar="TEXT",
            show_default=bool(default), help=text,
        )(wrapped)  # fmt: skip
    return wrapped  # type: ignore[no-any-return]


def _settings(**given: str) -> Settings:
    texts = {name: value.strip() for name, value in given.items()}
    if bool(texts["model"]) == bool(texts["bundle"]):
        raise click.UsageError("name either the model or the bundle that is to be watched")
    answers = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if texts["comment"].lower() not in answers:
        raise click.UsageError(f"comment is true or false, not {texts['comment']!r}")
    try:
        options = tuple(shlex.split(texts.pop("options")))
    except ValueError as cause:
        raise click.UsageError(f"the options end within quotes: {cause}") from cause
    _check_amount("max-cycles", texts["max_cycles"], cycles_of)
    _check_amount("max-stack", texts["max_stack"], bytes_of)
    path = texts["model"] or texts["bundle"]
    if Path(path).is_absolute() or ".." in Path(path).parts:
        raise click.UsageError(f"{path}: name a path below the current folder, without ..")
    return Settings(
        model=_plain(texts["model"]),
        bundle=_plain(texts["bundle"]),
        board=texts["board"],
        options=options,
        verify_on=texts["verify_on"],
        max_growth=tuple(texts["max_growth"].split()),
        max_cycles=texts["max_cycles"],
        max_stack=texts["max_stack"],
        base=texts["base"],
        title=texts["title"] or path,
        output=Path(texts["output"]),
        comment=answers[texts["comment"].lower()],
    )


def _check_amount(name: str, text: str, read: Callable[[str], int]) -> None:
    """Before anything is compiled: `glowmcu bench`, which reads it too, comes last."""
    try:
        if text:
            read(text)
    except ValueError as cause:
        raise click.UsageError(f"{name}: {cause}") from cause


def _plain(path: str) -> str:
    """As git writes it: `./kws.tflite` and `out/` become `kws.tflite` and `out`."""
    return Path(path).as_posix() if path else ""
