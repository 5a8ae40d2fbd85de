"""rich's console for text of which a part comes from a model file."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from glowmcu.cli.standard_streams import visible
from glowmcu.report.unbroken import Line

_ENDING_SPACES = re.compile(r" +$", re.MULTILINE)


class SafeConsole(Console):
    """Names cannot steer the terminal, and a closed pipe is the caller's to judge."""

    def on_broken_pipe(self) -> None:
        """rich would end the process as if it had failed."""
        raise BrokenPipeError(errno.EPIPE, "nobody reads the output")

    def print(  # type: ignore[override]
        self, *objects: object, markup: bool | None = None, soft_wrap: bool = False
    ) -> None:
        """As rich does, but a number is never broken at the end of a line.

        What a file or a program reads has no spaces at the ends of lines.
        """
        read = Text if markup is False else Text.from_markup
        lines = [Line(read(one)) if isinstance(one, str) else one for one in objects]
        if self.is_terminal:
            super().print(*lines, soft_wrap=soft_wrap, crop=False)
            return
        with self.capture() as captured:
            super().print(*lines, soft_wrap=soft_wrap, crop=False)
        self.file.write(_ENDING_SPACES.sub("", captured.get()))
        self.file.flush()

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """No name may move the cursor or change colours: what does is shown as an escape."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))
