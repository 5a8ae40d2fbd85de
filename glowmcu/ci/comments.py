"""A comment on a pull request, made once and then updated in place. It is found again by its first
line and by who wrote it: anybody can write such a line.

Nothing here fails a job: a fork's token may not write, and a service may be down.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from glowmcu.lazy_dataclass import dataclass

_SECONDS = 30
_PAGE = 100
_MOST_PAGES = 50
_REFUSED = (401, 403, 404)


class NotWritten(Exception):
    """Why there is no comment, in a sentence."""


@dataclass(frozen=True)
class Comments(ABC):
    """`at` is the API's address of the repository, `api` that of the whole service."""

    at: str
    number: int
    token: str
    api: str

    def write(self, mark: str, body: str) -> str:
        """Update the comment that begins with `mark`, or make it; gives its address, where the
        service says one. Raises NotWritten.
        """
        if not self.token:
            raise NotWritten("no token was given, so that nothing can comment")
        try:
            known = self._mine(mark)
            made = self._save(known, body)
        except urllib.error.HTTPError as cause:
            if cause.code in _REFUSED:
                raise NotWritten(
                    f"the token may not comment here ({cause.code}), as that of a fork may not"
                ) from cause
            raise NotWritten(f"{self.at} answered {cause.code}") from cause
        except (OSError, ValueError) as cause:
            raise NotWritten(f"{self.at} could not be asked: {cause}") from cause
        return str(made.get("html_url", "")) if isinstance(made, dict) else ""

    def _mine(self, mark: str) -> str:
        """The number of the comment that is to be updated, or ""."""
        who = self._me()
        for item in self._listed():
            if str(item.get("body", "")).startswith(mark) and self._is_mine(item, who):
                return str(item["id"])
        return ""

    def _listed(self) -> Iterator[dict[str, Any]]:
        for page in range(1, _MOST_PAGES + 1):
            items = self._call("GET", f"{self._list()}?per_page={_PAGE}&page={page}")
            if not isinstance(items, list):
                raise ValueError("no list of comments came")
            yield from (item for item in items if isinstance(item, dict))
            if len(items) < _PAGE:
                return

    def _me(self) -> object:
        """What the service calls the token's owner; None if the token has none."""
        try:
            found = self._call("GET", f"{self.api}/user")
        except urllib.error.HTTPError as cause:
            if cause.code in _REFUSED:
                return None
            raise
        return found.get("id") if isinstance(found, dict) else None

    def _call(self, method: str, address: str, body: str | None = None) -> Any:  # noqa: ANN401
        data = None if body is None else json.dumps({"body": body}).encode()
        headers = {**self._headers(), "User-Agent": "glowmcu", "Accept": "application/json"}
        if data is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(address, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            return json.load(answer)

    @abstractmethod
    def _list(self) -> str: ...

    @abstractmethod
    def _save(self, known: str, body: str) -> object: ...

    @abstractmethod
    def _is_mine(self, item: dict[str, Any], who: object) -> bool: ...

    @abstractmethod
    def _headers(self) -> dict[str, str]: ...


class GitHubComments(Comments):
    """On a pull request, which is an issue here."""

    def _list(self) -> str:
        return f"{self.at}/issues/{self.number}/comments"

    def _save(self, known: str, body: str) -> object:
        if known:
            return self._call("PATCH", f"{self.at}/issues/comments/{quote(known)}", body)
        return self._call("POST", self._list(), body)

    def _is_mine(self, item: dict[str, Any], who: object) -> bool:
        """A token of an application, as the job's own is, has no user; it writes as a bot."""
        user = item.get("user") or {}
        return bool(user.get("type") == "Bot" if who is None else user.get("id") == who)

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


class GitLabNotes(Comments):
    """On a merge request."""

    def _list(self) -> str:
        return f"{self.at}/merge_requests/{self.number}/notes"

    def _save(self, known: str, body: str) -> object:
        if known:
            return self._call("PUT", f"{self._list()}/{quote(known)}", body)
        return self._call("POST", self._list(), body)

    def _is_mine(self, item: dict[str, Any], who: object) -> bool:
        return who is not None and (item.get("author") or {}).get("id") == who

    def _headers(self) -> dict[str, str]:
        return {"PRIVATE-TOKEN": self.token}
