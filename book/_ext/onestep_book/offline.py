"""Keep every request inside the site.

MathJax is copied from a Python wheel at build time, so that neither the network nor Node is needed
to read or to build the book. Scripts that would fetch a kernel or a widget manager are dropped:
no page of this book holds widget state.
"""

import shutil
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

WHEEL = "sphinx-mathjax-offline"
MATHJAX_VERSION = '"3.2.2"'
# The component the pages load, the fonts it uses, and the TeX extensions it loads on demand.
MATHJAX_PARTS = (
    "tex-chtml.js",
    "output/chtml/fonts/woff-v2/",
    "input/tex/extensions/",
    "ui/lazy.js",
)
UNWANTED_SCRIPTS = ("thebe", "require.js", "html-manager", "embed-amd")


def connect(app: Sphinx) -> None:
    app.connect("builder-inited", copy_mathjax)
    # After the themes and extensions have added their scripts.
    app.connect("html-page-context", drop_unwanted_scripts, priority=900)


def copy_mathjax(app: Sphinx) -> None:
    if app.builder.format != "html":
        return
    target = Path(app.outdir) / "_static" / "vendor" / "mathjax"
    copied = 0
    for file in distribution(WHEEL).files or []:
        _, _, part = file.as_posix().partition("/static/mathjax/")
        if part.startswith(MATHJAX_PARTS):
            destination = target / part
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.locate(), destination)
            copied += 1
    main = target / "tex-chtml.js"
    if not copied or MATHJAX_VERSION not in main.read_text(encoding="utf-8"):
        raise ExtensionError(f"{WHEEL} does not hold MathJax {MATHJAX_VERSION}")


def drop_unwanted_scripts(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    seen: set[str] = set()
    kept = []
    for script in context.get("script_files", []):
        text = f"{getattr(script, 'filename', script)} {getattr(script, 'attributes', {})}"
        if text in seen or any(word in text.lower() for word in UNWANTED_SCRIPTS):
            continue
        seen.add(text)
        kept.append(script)
    context["script_files"] = kept
    context["css_files"] = [
        sheet for sheet in context.get("css_files", []) if "thebe" not in str(sheet.filename)
    ]
