"""What `glowmcu tune` found, kept beside the profile that it wrote, for the bundle made of it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from glowmcu.facts.document import Facts

_MOST_BYTES = 1 << 24


def tuning_file(profile: Path) -> Path:
    """`kws.tuned.profile.pareto.json` of `kws.tuned.profile.json`."""
    return profile.with_suffix(".pareto.json")


def profile_digest(profile: Path) -> str:
    """What a tuning names the profile by that it wrote."""
    return hashlib.sha256(profile.read_bytes()).hexdigest()


def kept_tuning(profile: Path) -> Facts | None:
    """What tuning found where `profile` is what it wrote; None for any other profile, and where its
    file is gone or is no tuning's.
    """
    file = tuning_file(profile)
    try:
        if not file.is_file() or file.stat().st_size > _MOST_BYTES:
            return None
        body = json.loads(file.read_text(encoding="utf-8"))
        is_of_it = body["profile_sha256"] == profile_digest(profile)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return {**body, "profile": profile.name} if is_of_it else None
