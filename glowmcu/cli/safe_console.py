"""rich's console for text of which a part comes from a model file."""

from __future__ import annotations

import errno
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from glowmcu.cli.standard_streams import visible


class SafeConsole(Console):
    """Names cannot steer the terminal, and a closed pipe is the caller's to judge."""

    def on_broken_pipe(self) -> None:
        """rich would end the process as if it had failed."""
        raise BrokenPipeError(errno.EPIPE, "nobody reads the output")

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """No name may move the cursor or change colours: what does is shown as an escape."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))
