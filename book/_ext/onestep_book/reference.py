"""The library's pages: one for each of its folders, from the docstrings.

    .. room:: onestep_lib.no_step

shows the public names of every module of a folder, as autodoc does.
"""

import importlib
import pkgutil
import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

LIBRARY = "onestep_lib"
SOURCE = "_sources"  # of the site


def connect(app: Sphinx) -> None:
    app.add_directive("room", Room)
    app.setup_extension("sphinx.ext.autodoc")
    # Before napoleon turns the sections into directives.
    app.connect("autodoc-process-docstring", fit_to_page, priority=400)
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
    inside = pkgutil.iter_modules(importlib.import_module(folder).__path__)
    return [f"{folder}.{info.name}" for info in inside if not (info.ispkg or info.name.startswith("_"))]


def fit_to_page(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    if what == "module" and "Functions" in lines:
        del lines[lines.index("Functions") :]  # a list of what follows on the page
    # A link says the last part of a dotted name.
    lines[:] = [re.sub(r"(?<![:`])`(?=onestep_lib\.)", "`~", line) for line in lines]


def source_link(domain: str, info: dict[str, str]) -> str:
    """The source of a name, as a text beside the pages that the browser scrolls to the definition."""
    path, name = info["module"].replace(".", "/"), info["fullname"].rpartition(".")[2]
    return f"../../{SOURCE}/{path}.py.txt#:~:text={'class' if name[:1].isupper() else 'def'}%20{name}"


def copy_source(app: Sphinx, exception: Exception | None) -> None:
    """The library's modules, where `source_link` leads."""
    if exception is None and app.builder.format == "html":
        for file in Path(app.srcdir, LIBRARY).rglob("*.py"):
            copy = Path(app.outdir, SOURCE, f"{file.relative_to(app.srcdir)}.txt")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
