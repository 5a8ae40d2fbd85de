"""Links of pages as the repository has them, into links of the documentation site.

A page under docs/ may link to any file of the repository, which is right where the repository is
shown. On the site pages from elsewhere (a stage's README, a benchmark's record) become pages under
`repository/`; a file that is no page is linked where the repository is published, and where that is
not known its name stays as text.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
#: Code, fenced or in a line, holds no links.
_CODE = re.compile(r"^( *)```.*?^\1```$|(`+).+?\2(?!`)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^()\s]+)\)")
_ELSEWHERE = re.compile(r"[a-z]+:|#|//")


def page_of(path: str) -> str | None:
    """The page that a path of the repository shows: itself, or the README of a folder."""
    for candidate in (path, posixpath.join(path, "README.md")):
        if candidate.endswith(".md") and (REPO / candidate).is_file():
            return posixpath.normpath(candidate)
    return None


def place_on_site(page: str) -> str:
    """Where the site has a page of the repository."""
    return page.removeprefix("docs/") if page.startswith("docs/") else f"repository/{page}"


def place_in_repository(site: str) -> str:
    """The opposite."""
    return site.removeprefix("repository/") if site.startswith("repository/") else f"docs/{site}"


def _outside_code(text: str, change: Callable[[re.Match[str]], str]) -> str:
    """Links change, code stays. A link's own text may hold code."""
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(found[0])
        return f"\0{len(kept) - 1}\0"

    changed = _LINK.sub(change, _CODE.sub(keep, text))
    return re.sub(r"\0(\d+)\0", lambda found: kept[int(found[1])], changed)


def targets(text: str, page: str) -> Iterator[str]:
    """Paths of the repository that a page of it links to."""
    found: list[str] = []

    def note(link: re.Match[str]) -> str:
        if not _ELSEWHERE.match(link["target"]):
            path = link["target"].partition("#")[0]
            found.append(posixpath.normpath(posixpath.join(posixpath.dirname(page), path)))
        return link[0]

    _outside_code(text, note)
    yield from found


def pages_elsewhere(first: dict[str, str]) -> dict[str, str]:
    """Text of every page outside docs/ that is reached from these pages, by its path."""
    reached: dict[str, str] = {}
    waiting = [target for page, text in first.items() for target in targets(text, page)]
    while waiting:
        page = page_of(waiting.pop())
        if page is None or page in reached or page.startswith("docs/"):
            continue
        reached[page] = (REPO / page).read_text(encoding="utf-8")
        waiting += targets(reached[page], page)
    return reached


def links_for_site(text: str, page: str, published: str | None) -> str:
    """`text` of the repository's `page` with its links as the site has them.

    A link to nothing stays, for mkdocs to complain about. `published` is the repository's address.
    """
    here = posixpath.dirname(place_on_site(page))

    def changed(link: re.Match[str]) -> str:
        path, hash_mark, anchor = link["target"].partition("#")
        if _ELSEWHERE.match(link["target"]) or not path:
            return link[0]
        whole = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        if whole.startswith("docs/") and whole.endswith(".ipynb"):
            whole = whole.removesuffix(".ipynb") + ".md"
            return f"[{link['text']}]({posixpath.relpath(place_on_site(whole), here or '.')})"
        shown = page_of(whole)
        if shown is None and whole.startswith("docs/"):
            return link[0]
        if shown is not None:
            target = posixpath.relpath(place_on_site(shown), here or ".")
            return f"{link[1]}[{link['text']}]({target}{hash_mark}{anchor})"
        if not (REPO / whole).exists():
            return link[0]
        if published is None:
            return link["text"]
        return f"{link[1]}[{link['text']}]({published.rstrip('/')}/blob/main/{whole})"

    return _outside_code(text, changed)
