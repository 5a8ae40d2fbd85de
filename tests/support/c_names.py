"""The identifiers of C, by a lexer: comments, strings, character constants, numbers and names of
included headers are none, whatever they hold.
"""

from __future__ import annotations

import re

#: C99 6.4, in the order in which its pieces are recognized; of a directive only #include differs.
_TOKEN = re.compile(
    r"""
      (?P<comment> /\*.*?\*/ | //[^\n]* )
    | (?P<header> (?m:^)[ \t]*\#[ \t]*include[ \t]*(?:<[^>\n]*>|"[^"\n]*") )
    | (?P<string> L?"(?:\\.|[^"\\\n])*" | L?'(?:\\.|[^'\\\n])*' )
    | (?P<number> \.?[0-9](?:[eEpP][+-]|[0-9A-Za-z_.])* )
    | (?P<name> [A-Za-z_][A-Za-z0-9_]* )
    | (?P<other> . )
    """,
    re.DOTALL | re.VERBOSE,
)


def c_names(text: str) -> set[str]:
    """Every identifier of the text; keywords and names of directives are among them."""
    return {found["name"] for found in _TOKEN.finditer(text) if found["name"] is not None}
