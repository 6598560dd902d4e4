"""The directive `room`: what each module of a folder is for, and each function, in a sentence.

The sentences are the first ones of the docstrings, so that the list cannot fall behind the library.
"""

import importlib
import pkgutil
import re
from types import ModuleType

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .docstrings import escape


def connect(app: Sphinx) -> None:
    app.add_directive("room", Room)


class Room(SphinxDirective):
    """.. room:: onestep_lib.no_step"""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        lines = room(self.arguments[0])
        container = nodes.container()
        self.state.nested_parse(StringList(lines, source=self.env.docname), 0, container)
        return container.children


def room(package: str) -> list[str]:
    """reStructuredText for the public modules of a folder, in the order of their names."""
    lines: list[str] = []
    folder = importlib.import_module(package)
    for info in pkgutil.iter_modules(folder.__path__):
        if not info.ispkg and not info.name.startswith("_"):
            lines += module_entry(importlib.import_module(f"{package}.{info.name}"), info.name)
    return lines


def module_entry(module: ModuleType, name: str) -> list[str]:
    path = module.__name__
    lines = [f":py:mod:`{name} <{path}>`", f"   {first_sentence(module, path)}", ""]
    for public in getattr(module, "__all__", ()):
        value = getattr(module, public)
        if callable(value) and value.__doc__:
            lines.append(f"   * :py:obj:`~{path}.{public}`: {first_sentence(value, path)}")
    return [*lines, ""]


def first_sentence(described: object, module: str) -> str:
    """The first sentence of a docstring as reStructuredText on one line."""
    text = (described.__doc__ or "").strip().partition("\n\n")[0]
    joined = " ".join(line.strip() for line in text.splitlines())
    sentence = re.split(r"(?<=[a-z)`\]0-9])\.\s", joined, maxsplit=1)[0].rstrip(".:,")
    return escape([f"{sentence}."], module)[0]
