"""Read the library's docstrings, which are written for people, as reStructuredText.

In a docstring |y - F a|^2 is a norm and sigma_* a name; reStructuredText would read a substitution,
an emphasis or a link. Outside maths and literals those signs are escaped, and the headings of a module's
docstring become rubrics, because a heading would be a section of the page.
"""

import re
from typing import Any

from sphinx.application import Sphinx

# Left as they are: literals, roles, strong and emphasised words, the mark of a list item.
MARKUP = re.compile(
    r"(``.+?``|:[\w:+-]+:`[^`]*`|`[^`]*`_?|\*\*.+?\*\*|(?<![\w*{])\*\w[^*]*?\*(?![\w*])|^\s*\* )"
)
SPECIAL = re.compile(r"(?<!\\)(\||\*|(?<=\w)_(?![\w]))")
UNTOUCHED = re.compile(r"^(\s*)(\.\. (?:math|code-block)::|.*::$)")


def connect(app: Sphinx) -> None:
    # Before napoleon turns the sections into directives.
    app.connect("autodoc-process-docstring", escape_docstring, priority=400)


def escape_docstring(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    if what == "module":
        lines[:] = headings_to_rubrics(lines)
    lines[:] = escape(lines)


def headings_to_rubrics(lines: list[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        if found and found[-1].strip() and re.fullmatch(r"[-=~]{3,}", line):
            found[-1:] = [f".. rubric:: {found[-1]}", ""]
        else:
            found.append(line)
    return found


def escape(lines: list[str]) -> list[str]:
    """Escape what reStructuredText would misread, outside markup and indented maths."""
    found, block = [], None
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if block is not None and line.strip() and indent <= block:
            block = None
        if block is None and line.strip():
            start = UNTOUCHED.match(line)
            if start:
                block = len(start[1])
            elif not line.lstrip().startswith(">>>"):
                pieces = MARKUP.split(line)
                pieces[::2] = [SPECIAL.sub(r"\\\1", piece) for piece in pieces[::2]]
                line = "".join(pieces)
        found.append(line)
    return found
