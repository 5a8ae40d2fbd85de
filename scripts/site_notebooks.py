"""A notebook as a page of the site, with the outputs that are stored in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
from nbconvert import MarkdownExporter
from traitlets.config import Config


def as_page(path: Path) -> tuple[str, dict[str, bytes]]:
    """Markdown, and its pictures by name."""
    notebook: Any = nbformat.read(path, as_version=4)
    exporter = MarkdownExporter(config=Config({"NbConvertBase": {"display_data_priority": [
        "text/html", "text/markdown", "image/svg+xml", "image/png", "text/plain",
    ]}}))  # fmt: skip
    resources: dict[str, Any] = {"unique_key": path.stem, "output_files_dir": "."}
    text, resources = exporter.from_notebook_node(notebook, resources)
    pictures = {
        Path(name).name: content for name, content in (resources.get("outputs") or {}).items()
    }
    # An output is an indented block, which is shown as code of no language.
    text = re.sub(r"\]\(\./", "](", text)
    link = f'\n<a href="{path.name}" download>This notebook</a> was run as it stands here.\n'
    head, newline, rest = text.lstrip().partition("\n")
    return f"{head}{newline}{link}{rest}", pictures
