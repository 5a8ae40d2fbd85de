"""Functions of the user's C (`--custom`) among those of a bundle: one name is one thing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from glowmcu.custom_c import CustomFile
from glowmcu.errors import error

#: What a file of the user's defines: everything in it is static.
_OF_THE_USER = re.compile(r"^\s*static\b[^;={}()]*?\b(\w+)\s*\(", re.MULTILINE)
#: What stands at the beginning of a line of the bundle's: functions and macros.
_OF_THE_BUNDLE = re.compile(r"^(?:#define\s+|\w[\w *]*?\b)(\w+)\(", re.MULTILINE)


def check_custom_names(texts: Mapping[str, str], name: str, custom: Iterable[CustomFile]) -> None:
    """That bundle `name`, whose files are `texts`, has no function of the user's. Raises GM762."""
    code = {file: text for file, text in texts.items() if re.fullmatch(r"[^/]*\.[ch]", file)}
    for source in custom:
        if source.is_definition:
            continue
        others = (text for file, text in code.items() if file != source.header)
        known = {found for text in others for found in _OF_THE_BUNDLE.findall(text)}
        taken = sorted(known.intersection(_OF_THE_USER.findall(source.text)))
        if taken:
            raise error(
                "GM762", f"{taken[0]} is a function of this C and of the bundle {name!r}, too",
                source.name,
                f"call it something else: names of the bundle begin with {name}_, glowmcu_ or k_",
            )  # fmt: skip
