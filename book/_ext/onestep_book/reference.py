"""The library's pages: one for each of its folders, from the docstrings.

    .. room:: onestep_lib.no_step

shows the public names of every module of a folder, as autodoc does. Docstrings are written for people: in
them |y - F a|^2 is a norm and sigma_* a name, where reStructuredText would read a substitution, an emphasis
or a link. Outside maths and literals those signs are escaped; a name in single backquotes becomes a link, or
code where it names a parameter; the headings of a module's docstring become rubrics.
"""

import importlib
import inspect
import pkgutil
import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

LIBRARY = "onestep_lib"
SOURCE = "_sources"  # of the site
# Left as they are: literals, roles, strong and emphasised words, the mark of a list item.
MARKUP = re.compile(
    r"(``.+?``|:[\w:+-]+:`[^`]*`|`[^`]*`_?|\*\*.+?\*\*|(?<![\w*{])\*\w[^*]*?\*(?![\w*])|^\s*\* )"
)
SPECIAL = re.compile(r"(?<!\\)(\||\*|(?<=\w)_(?![\w]))")
NAME = re.compile(r"`([A-Za-z_][\w.]*)`")
TABLE = ".. rubric:: Functions"
UNTOUCHED = re.compile(r"^(\s*)(\.\. (?:math|code-block)::|.*::$)")


def connect(app: Sphinx) -> None:
    app.add_directive("room", Room)
    app.setup_extension("sphinx.ext.autodoc")
    # Before napoleon turns the sections into directives.
    app.connect("autodoc-process-docstring", escape_docstring, priority=400)
    app.connect("missing-reference", follow_or_leave)
    app.connect("doctree-read", drop_inner_documents)
    app.connect("config-inited", lambda app, config: setattr(config, "linkcode_resolve", source_link))
    app.setup_extension("sphinx.ext.linkcode")
    app.connect("build-finished", copy_source)


class Room(SphinxDirective):
    """A section for each public module of a folder, in the order of their names."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        found: list[nodes.Node] = []
        for module in modules(self.arguments[0]):
            name = module.rpartition(".")[2]
            section = nodes.section(ids=[nodes.make_id(name)], names=[name])
            section += nodes.title("", "", nodes.literal("", name))
            lines = StringList([f".. automodule:: {module}", "   :members:"], self.env.docname)
            self.state.nested_parse(lines, 0, section)
            self.env.note_dependency(importlib.import_module(module).__file__)
            found.append(section)
        return found


def modules(folder: str) -> list[str]:
    """The public modules that stand directly in a folder of the library."""
    inside = pkgutil.iter_modules(importlib.import_module(folder).__path__, f"{folder}.")
    names = [info.name for info in inside if not info.ispkg]
    return [name for name in names if not name.rpartition(".")[2].startswith("_")]


def escape_docstring(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    if what == "module":
        text = headings_to_rubrics(lines)
        # The list of the module's functions, which follow on the page.
        start = text.index(TABLE) if TABLE in text else len(text)
        end = next(
            (k for k, line in enumerate(text) if k > start and line.startswith(".. rubric")), len(text)
        )
        lines[:] = text[:start] + text[end:]
    lines[:] = escape(lines, inspect.getmodule(obj))


def headings_to_rubrics(lines: list[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        if found and found[-1].strip() and re.fullmatch(r"[-=~]{3,}", line):
            found[-1:] = [f".. rubric:: {found[-1]}", ""]
        else:
            found.append(line)
    return found


def link(module: Any, name: str) -> str:
    """The role of a name in single backquotes in a module's docstring."""
    if name.startswith(f"{LIBRARY}."):
        return f":py:obj:`~{name}`"
    public = name.partition(".")[0] in getattr(module, "__all__", ())
    return f":py:obj:`~{module.__name__}.{name}`" if public else f"``{name}``"


def escape(lines: list[str], module: Any = None) -> list[str]:
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


def follow_or_leave(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, text: nodes.TextElement
) -> nodes.Node | None:
    """A name that a folder hands out leads to its module; one that is not public stays code."""
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py" or not target.startswith(f"{LIBRARY}."):
        return None
    found = resolve(target)
    if found is None:
        return None
    name = getattr(found, "__module__", None) and f"{found.__module__}.{getattr(found, '__qualname__', '')}"
    resolved = None
    if name and name != target:
        resolved = env.get_domain("py").resolve_xref(
            env, node["refdoc"], app.builder, node["reftype"], name, node, text
        )
    return resolved or text


def resolve(target: str) -> Any:
    """The object of a dotted name, or None."""
    try:
        return pkgutil.resolve_name(target)
    except (ImportError, AttributeError):
        return None


def source_link(domain: str, info: dict[str, str]) -> str | None:
    """The source of a name, as a text beside the pages that the browser scrolls to the definition."""
    if domain != "py" or not info["module"]:
        return None
    file = Path(find_spec(info["module"]).origin)
    path = file.relative_to(Path(find_spec(LIBRARY).origin).parents[1]).as_posix()
    kind = "class" if inspect.isclass(resolve(f"{info['module']}.{info['fullname']}")) else "def"
    return f"../../{SOURCE}/{path}.txt#:~:text={kind}%20{info['fullname'].rpartition('.')[2]}"


def copy_source(app: Sphinx, exception: Exception | None) -> None:
    """The library's modules, where `source_link` leads."""
    if exception is None and app.builder.format == "html":
        library = Path(find_spec(LIBRARY).origin).parent
        for file in library.rglob("*.py"):
            copy = Path(app.outdir) / SOURCE / LIBRARY / f"{file.relative_to(library)}.txt"
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
