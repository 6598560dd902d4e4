"""Read the library's docstrings, which are written for people, as reStructuredText.

In a docstring |y - F a|^2 is a norm and sigma_* a name; reStructuredText would read a substitution,
an emphasis or a link. Outside maths and literals those signs are escaped; a name in single backquotes becomes
a link, or code where it names a parameter; the headings of a module's docstring become rubrics, because a
heading would be a section of the page, and its table of functions a list of links.
"""

import importlib
import re
import sys
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
NAME = re.compile(r"`([A-Za-z_][\w.]*)`")
TABLE = ".. rubric:: Functions"
ENTRY = re.compile(r"(\w+(?:, \w+)*) {2,}(\S.*)")
# These import names from their modules.
FOLDERS = ("onestep_lib", "onestep_lib.experiment", "onestep_lib.figures")
UNTOUCHED = re.compile(r"^(\s*)(\.\. (?:math|code-block)::|.*::$)")


def connect(app: Sphinx) -> None:
    # Before napoleon turns the sections into directives.
    app.connect("autodoc-process-docstring", escape_docstring, priority=400)
    app.connect("missing-reference", follow_shortcut)
    app.connect("doctree-read", drop_inner_documents)


def escape_docstring(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    module = name
    while module not in sys.modules:
        module = module.rpartition(".")[0]
    if what == "module":
        lines[:] = table_to_list(headings_to_rubrics(lines))
    lines[:] = escape(lines, module)


def headings_to_rubrics(lines: list[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        if found and found[-1].strip() and re.fullmatch(r"[-=~]{3,}", line):
            found[-1:] = [f".. rubric:: {found[-1]}", ""]
        else:
            found.append(line)
    return found


def table_to_list(lines: list[str]) -> list[str]:
    """Turn the lines `names    what they are` under the heading Functions into a list."""
    if TABLE not in lines:
        return lines
    start = lines.index(TABLE) + 1
    found = lines[:start]
    for line in lines[start:]:
        entry = ENTRY.fullmatch(line)
        if entry:
            names = ", ".join(f"`{name}`" for name in entry[1].split(", "))
            found.append(f"* {names}: {entry[2]}")
        else:
            found.append(f"  {line.strip()}" if line.startswith(" ") else line)
    return found


def link(module: str, name: str) -> str:
    """The role of a name in single backquotes in a module's docstring."""
    if name.startswith("onestep_lib."):
        return f":py:obj:`~{name}`"
    public = getattr(importlib.import_module(module), "__all__", ()) if module else ()
    return f":py:obj:`~{module}.{name}`" if name.partition(".")[0] in public else f"``{name}``"


def escape(lines: list[str], module: str = "") -> list[str]:
    """Escape what reStructuredText would misread, outside markup and indented maths; make links."""
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
                pieces[1::2] = [
                    link(module, name[1]) if (name := NAME.fullmatch(piece)) else piece
                    for piece in pieces[1::2]
                ]
                line = "".join(pieces)
        found.append(line)
    return found


def drop_inner_documents(app: Sphinx, doctree: nodes.document) -> None:
    """Make every node belong to its page.

    Nodes of an `eval-rst` block belong to an inner document whose settings hold Sphinx's whole environment,
    and that was stored with each reference page: 3 MB a page, read again by every build.
    """
    for node in doctree.findall():
        if node.document is not doctree:
            node.document = doctree


def follow_shortcut(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, text: nodes.TextElement
) -> nodes.reference | None:
    """Resolve a name imported from a folder (onestep_lib.experiment.simulate) to the module that has it."""
    package, _, name = node.get("reftarget", "").rpartition(".")
    if node.get("refdomain") != "py" or package not in FOLDERS:
        return None
    defined = getattr(importlib.import_module(package), name, None)
    target = f"{getattr(defined, '__module__', package)}.{name}"
    if target == node["reftarget"]:
        return None
    domain = env.get_domain("py")
    return domain.resolve_xref(env, node["refdoc"], app.builder, node["reftype"], target, node, text)
