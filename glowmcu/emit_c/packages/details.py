"""What a package says about itself that no model file knows: version, vendor, URL, license."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields

from glowmcu.errors import error
from glowmcu.given_once import given_once
from glowmcu.lazy_dataclass import dataclass

_NUMBER = r"(?:0|[1-9]\d{0,8})"
_WORD = r"(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)"
#: Semantic versioning without build metadata, which not every registry takes.
_VERSION = rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_WORD}(?:\.{_WORD})*)?"


@dataclass(frozen=True)
class PackageDetails:
    """Checked: every value can stand in every package's files as it is.

    `version` is the model's, not the compiler's: raise it when the model is trained again. `url`
    and `license` (an SPDX expression) are left out of packages if they are empty.
    """

    version: str = "0.1.0"
    vendor: str = "GlowMCU"
    url: str = ""
    license: str = ""


#: What each value must look like, and that in words.
_FORMS = {
    "version": (_VERSION, "a semantic version such as 1.2.0 or 1.2.0-beta.1"),
    "vendor": (r"(?i:(?!arduino))[A-Za-z0-9][A-Za-z0-9_-]{0,31}",
               "letters, digits, - and _, at most 32, not beginning with arduino"),
    "url": (r"https?://[A-Za-z0-9][A-Za-z0-9.-]*(?::\d{1,5})?(?:/[A-Za-z0-9._~/%#?&=+-]*)?",
            "an http or https address"),
    "license": (r"[A-Za-z0-9][A-Za-z0-9.+ ()-]{0,99}", "an SPDX expression such as Apache-2.0"),
}  # fmt: skip


def package_details(settings: Iterable[str]) -> PackageDetails:
    """The details that `KEY=VALUE` settings give. Raises GM154, GM521."""
    return PackageDetails(**given_once("--package", settings, _detail))


def _detail(setting: str) -> tuple[str, str]:
    known = tuple(field.name for field in fields(PackageDetails))
    key, equals, value = setting.partition("=")
    if not equals or key not in known:
        raise error(
            "GM521",
            f"{setting!r} says nothing about a package: expected KEY=VALUE",
            hint=f"KEY is one of {', '.join(known)}: version=1.2.0",
        )
    pattern, form = _FORMS[key]
    if re.fullmatch(pattern, value) is None:
        raise error(
            "GM521",
            f"{value!r} cannot be the {key} of a package: expected {form}",
            hint="it has to be valid in every build system's files",
        )
    return key, value
