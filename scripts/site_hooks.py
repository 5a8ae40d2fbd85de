"""Hooks of mkdocs: pages from the code and from notebooks, and links out of docs/."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts import site_links, site_notebooks, site_pages


def on_files(files: Files, config: Any) -> Files:
    for name, written in site_pages.PAGES.items():
        files.append(File.generated(config, name, content=written()))
    for file in list(files):
        if file.src_uri.endswith(".ipynb") and file.abs_src_path:
            page, pictures = site_notebooks.as_page(Path(file.abs_src_path))
            files.append(
                File.generated(config, file.src_uri.removesuffix(".ipynb") + ".md", content=page)
            )
            folder = file.src_uri.rpartition("/")[0]
            for name, content in pictures.items():
                files.append(File.generated(config, f"{folder}/{name}", content=content))
    own = {f"docs/{file.src_uri}": file.content_string for file in files.documentation_pages()}
    for name, text in site_links.pages_elsewhere(own).items():
        files.append(File.generated(config, site_links.place_on_site(name), content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    source = site_links.place_in_repository(page.file.src_uri)
    return site_links.links_for_site(markdown, source, config.repo_url or None)
