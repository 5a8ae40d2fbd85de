"""Jinja2 for the folders `templates/firmware/` and `templates/renode/`."""

from __future__ import annotations

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from glowmcu.resources import resource_dir


def render(template: str, view: object) -> str:
    """Text of `template` (`renode/test.robot.j2`), which sees `view` and nothing else."""
    environment = Environment(
        loader=FileSystemLoader(resource_dir("templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(view=view)
