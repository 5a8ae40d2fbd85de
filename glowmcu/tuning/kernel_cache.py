"""Measured cycles on disk, one small file each, so that they are measured once on a machine."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from glowmcu.errors import error
from glowmcu.user_cache import cache_folder


def default_cache() -> Path:
    """`glowmcu/kernels` in the user's cache folder. Raises GM348 for a user without one."""
    try:
        return cache_folder("kernels")
    except RuntimeError as cause:
        raise error(
            "GM348",
            f"there is no cache of measured kernels: {cause}",
            hint="name a folder with --cache, or set HOME",
        ) from cause


class KernelCache:
    """Cycles by key. A damaged file counts as absent. `folder` is made when something is kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: str) -> float | None:
        try:
            body = json.loads(self._file(key).read_text(encoding="utf-8"))
            return float(body["cycles"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, key: str, cycles: float, what: str) -> None:
        """Keep it; `what` is for people. Raises GM348 if the folder cannot be written."""
        file = self._file(key)
        text = json.dumps({"cycles": cycles, "what": what}) + "\n"
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(
                "w", encoding="utf-8", dir=file.parent, delete=False
            ) as stream:
                stream.write(text)
            Path(stream.name).replace(file)
        except OSError as cause:
            raise error(
                "GM348",
                f"cannot write the cache of measured kernels: {cause.strerror}",
                str(self._folder),
                "name another folder with --cache",
            ) from cause

    def _file(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"
