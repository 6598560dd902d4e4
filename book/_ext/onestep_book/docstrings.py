"""Read the library's docstrings, which are written for people, as reStructuredText.

In a docstring |y - F a|^2 is a norm and sigma_* a name; reStructuredText would read a substitution,
an emphasis or a link. Outside maths and literals those signs are escaped, and the headings of a module's
docstring become rubrics, because a heading would be a section of the page.
"""

import importlib
import re
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

# Left as they are: literals, roles, strong and emphasised words, the mark of a list item.
MARKUP = re.compile(
    r"(``.+?``|:[\w:+-]+:`[^`]*`|`[^`]*`_?|\*\*.+?\*\*|(?<![\w*{])\*\w[^*]*?\*(?![\w*])|^\s*\* )"
)
SPECIAL = re.compile(r"(?<!\\)(\||\*|(?<=\w)_(?![\w]))")
UNTOUCHED = re.compile(r"^(\s*)(\.\. (?:math|code-block)::|.*::$)")


def connect(app: Sphinx) -> None:
    # Before napoleon turns the sections into directives.
    app.connect("autodoc-process-docstring", escape_docstring, priority=400)
    app.connect("missing-reference", follow_shortcut)


def escape_docstring(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
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


def follow_shortcut(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, text: nodes.TextElement
) -> nodes.reference | None:
    """Resolve `onestep_lib.name` to the module that defines and documents it."""
    package, _, name = node.get("reftarget", "").rpartition(".")
    if node.get("refdomain") != "py" or package != "onestep_lib":
        return None
    defined = getattr(importlib.import_module(package), name, None)
    target = f"{getattr(defined, '__module__', package)}.{name}"
    if target == node["reftarget"]:
        return None
    domain = env.get_domain("py")
    return domain.resolve_xref(env, node["refdoc"], app.builder, node["reftype"], target, node, text)
