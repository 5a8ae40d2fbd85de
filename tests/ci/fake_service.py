"""The part of GitHub's and GitLab's API that comments need, on this computer, with a memory."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

ME, SOMEBODY = 7, 8


class FakeService:
    """`comments` by number. A token of an application (`is_app`) has no user of its own."""

    def __init__(self) -> None:
        self.comments: dict[int, dict[str, Any]] = {}
        self.calls: list[tuple[str, str]] = []
        self.tokens: set[str | None] = set()
        self.is_app = True
        self.refuses_writing = 0
        self.url = ""

    def add(self, body: str, author: int = ME) -> int:
        number = 100 + len(self.comments)
        user = {"id": author, "type": "Bot" if author == ME else "User"}
        self.comments[number] = {
            "id": number, "body": body, "user": user, "author": user,
            "html_url": f"{self.url}/comment/{number}",
        }  # fmt: skip
        return number

    def answer(self, method: str, target: str, body: dict[str, Any]) -> tuple[int, object]:
        address = urlsplit(target)
        self.calls.append((method, address.path))
        if address.path.endswith("/user"):
            return (403, {}) if self.is_app else (200, {"id": ME})
        if method == "GET":
            asked = {key: int(value[0]) for key, value in parse_qs(address.query).items()}
            start = asked["per_page"] * (asked["page"] - 1)
            return 200, list(self.comments.values())[start : start + asked["per_page"]]
        if self.refuses_writing:
            return self.refuses_writing, {"message": "not accessible by integration"}
        if method == "POST":
            return 201, self.comments[self.add(body["body"])]
        number = int(re.findall(r"\d+$", address.path)[0])
        self.comments[number]["body"] = body["body"]
        return 200, self.comments[number]


@contextmanager
def serving() -> Iterator[FakeService]:
    service = FakeService()

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else {}
            service.tokens.add(self.headers.get("Authorization") or self.headers["PRIVATE-TOKEN"])
            status, found = service.answer(self.command, self.path, body)
            content = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = do_PUT = handle_any

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
