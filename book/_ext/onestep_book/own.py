"""A reader's own activation and target: own.js, on pages that hold a `<figure class="os-own">`."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

MARK = '<figure class="os-own"'


def connect(app: Sphinx) -> None:
    app.connect("html-page-context", add_script)


def add_script(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    if MARK in context.get("body", ""):
        app.add_js_file("own.js", loading_method="defer")
