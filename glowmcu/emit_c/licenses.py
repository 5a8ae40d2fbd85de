"""Under which terms each file of a bundle stands, in its first lines, as SPDX asks for.

Code comes from this project's templates and libjit and is Apache-2.0. Numbers come from the model:
glowmcu claims nothing of them, so the file with the weights names the model's terms, which are
whatever its owner says.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from glowmcu.emit_c.texts import Texts
from glowmcu.resources import find_resource, headers_in, resource_dir

CODE_LICENSE = "Apache-2.0"
MODEL_LICENSE = "LicenseRef-Model"
#: Where SPDX and REUSE look for it; no file of a project's own has that name by chance.
LICENSE_FILE = "LICENSES/Apache-2.0.txt"
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
    """The files of bundle `name` with their terms, and the text of the license of all code.

    `model_license` is an SPDX expression for the weights, where the user gave one.
    """
    weights = f"{name}_weights.c"
    terms = {weights: model_license or MODEL_LICENSE}

    def stated(file: str, text: str) -> str:
        return text if _is_foreign(file, name) else _licensed(file, text, terms.get(file, ""))

    text = find_resource("templates", "bundle/LICENSE").read_text(encoding="utf-8")
    return files.changed(stated).joined({LICENSE_FILE: text})


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
