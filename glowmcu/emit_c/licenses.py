"""Under which terms each file of a bundle stands, in its first lines, as SPDX asks for, and in
`REUSE.toml`, as REUSE does.

Code comes from this project's templates and libjit and is Apache-2.0. Numbers come from the model:
glowmcu claims nothing of them, so the file with the weights names the model's terms, which are
whatever its owner says. Headers of plug-ins and of `--custom` are their authors'.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from glowmcu.emit_c.texts import Texts
from glowmcu.resources import find_resource, headers_in, resource_dir

CODE_LICENSE = "Apache-2.0"
MODEL_LICENSE = "LicenseRef-Model"
AUTHOR_LICENSE = "LicenseRef-Author"
#: Where SPDX and REUSE look for it; no file of a project's own has that name by chance.
LICENSE_FILE = "LICENSES/Apache-2.0.txt"
TERMS_FILE = "REUSE.toml"
#: What is told of the bundle's files when they are there.
_BESIDE = ("manifest.json", "facts.json")
_MARK = "SPDX-License-Identifier:"

#: How a file's first lines can say something that nothing reads; JSON, hexadecimal and `.su` files
#: cannot.
_COMMENTS = {
    ".c": "/* {} */",
    ".h": "/* {} */",
    ".ino": "/* {} */",
    ".ld": "/* {} */",
    ".rs": "// {}",
    ".repl": "// {}",
    ".md": "<!-- {} -->",
    ".pdsc": "<!-- {} -->",
    **dict.fromkeys((".cmake", ".mk", ".yml", ".toml", ".txt", ".properties"), "# {}"),
    **dict.fromkeys((".resc", ".robot"), "# {}"),
}
_NAMES = {"Kconfig": "# {}", "Makefile": "# {}", ".gitignore": "# {}"}


def licensed(files: Texts, name: str, model_license: str = "") -> Texts:
    """The files of bundle `name` with their terms.

    `model_license` is an SPDX expression for the weights, where the user gave one.
    """
    weights = f"{name}_weights.c"
    terms = {weights: model_license or MODEL_LICENSE}

    def stated(file: str, text: str) -> str:
        return text if _is_foreign(file, name) else _licensed(file, text, terms.get(file, ""))

    return files.changed(stated)


def terms(files: Texts, name: str, model_license: str = "") -> dict[str, str]:
    """The terms of all `files` of bundle `name`: texts of licenses, and a list of who has the
    copyright of which file. It has no patterns, since the folder may hold files of others.

    `model_license` is as in `licensed`.
    """
    weights = {f"{name}_weights.c", f"{name}_weights.hex"} & files.keys()
    foreign = {file for file in files if _is_foreign(file, name)}
    silent = {file for file in foreign if _MARK not in files.outlines[file]}
    ours = {*files, *_BESIDE} - weights - foreign
    rows = [
        (ours, "GlowMCU contributors", CODE_LICENSE),
        (weights, "The owner of the model", model_license or MODEL_LICENSE),
        (silent, "The author of the file", AUTHOR_LICENSE),
        (foreign - silent, "The author of the file", ""),
    ]
    used = {license for paths, _, license in rows if paths}
    texts = {
        f"LICENSES/{license}.txt": find_resource("templates", f"bundle/LICENSES/{license}.txt")
        for license in (CODE_LICENSE, MODEL_LICENSE, AUTHOR_LICENSE)
        if license in used
    }
    head = f"# {_MARK} {CODE_LICENSE}\nversion = 1\n"
    return {
        **{file: path.read_text(encoding="utf-8") for file, path in texts.items()},
        TERMS_FILE: "\n".join((head, *(_annotation(*row) for row in rows if row[0]))),
    }


def _annotation(paths: Iterable[str], holder: str, license: str) -> str:
    """A table of `REUSE.toml`. What a file says itself counts more."""
    listed = "".join(f"  {json.dumps(path)},\n" for path in sorted(paths))
    stated = f"SPDX-License-Identifier = {json.dumps(license)}\n" if license else ""
    return (
        f"[[annotations]]\npath = [\n{listed}]\n"
        f"SPDX-FileCopyrightText = {json.dumps(holder)}\n{stated}"
    )


def _licensed(file: str, text: str, model_license: str) -> str:
    path = PurePosixPath(file)
    comment = _NAMES.get(path.name) or _COMMENTS.get(path.suffix)
    if comment is None or _MARK in text[:500]:
        return text
    line = comment.format(f"{_MARK} {model_license or CODE_LICENSE}") + "\n"
    declaration = re.match(r"<\?xml.*?\?>\n", text)
    at = declaration.end() if declaration else 0
    return text[:at] + line + text[at:]


def _is_foreign(file: str, name: str) -> bool:
    """Whether a header is a plug-in's, which says its terms itself."""
    own = {f"{name}.h", f"{name}_weights.h", f"{name}_model.h"}
    is_header = file.endswith(".h") and "/" not in file and file not in own
    return is_header and file not in headers_in(resource_dir("libjit"))
