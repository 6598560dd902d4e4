"""Pictures say their size, names break between parts, ids are unique, idle files go."""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

PICTURE = re.compile(r'<img\b[^>]*\bsrc="([^":]+\.svg)"[^>]*>')
SVG = re.compile(rb'<svg\b[^>]*? width="([\d.]+)(pt)?" height="([\d.]+)(pt)?"')
NAME = re.compile(r'(?<=<span class="pre">)[^<]+')  # a word of code in a sentence
POINT = 110 / 72  # pixels: figures are drawn for screens of 110 dots an inch
# The theme has its icons twice: as fonts, and as a script of 1.5 MB, which every page names.
EMPTY, UNUSED = "scripts/fontawesome.js", ("**/*.map", "**/*.LICENSE.txt", "vendor/fontawesome/**/*.ttf")


def connect(app: Sphinx) -> None:
    app.connect("doctree-resolved", drop_repeated_ids)
    app.connect("html-page-context", say_sizes)
    app.connect("html-page-context", break_names)
    app.connect("build-finished", lighten)


def drop_repeated_ids(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Every exercise, solution and theorem of a page calls its body by the same name."""
    for body in doctree.findall(nodes.section):
        body["ids"] = [
            name for name in body["ids"] if not re.fullmatch(r"(exercise|solution|proof)-content", name)
        ]


def say_sizes(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """A page keeps room for its pictures while they load."""
    # They are copied beside the pages when all are written.
    origins = {copy: Path(app.srcdir) / origin for origin, copy in app.builder.images.items()}

    def with_size(found: re.Match) -> str:
        file = origins.get(found[1].rpartition("/")[2])
        if "height=" in found[0] or "width:" in found[0] or file is None:
            return found[0]
        width, height = size_of(file.read_bytes())
        return found[0].replace("<img ", f'<img width="{width}" height="{height}" ', 1)

    context["body"] = PICTURE.sub(with_size, context.get("body", ""))


def break_names(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """A line ends between the parts of a long name, not inside one; what a reader copies stays the name."""
    context["body"] = NAME.sub(
        lambda found: re.sub(r"(::|(?<=\w)[/_.-])(?=\w)", r"\1<wbr>", found[0]), context.get("body", "")
    )


def size_of(picture: bytes) -> tuple[int, int]:
    """Width and height in the head of an SVG."""
    drawn = SVG.search(picture[:2000])
    width, height = (round(float(drawn[k]) * (POINT if drawn[k + 1] else 1)) for k in (1, 3))
    return width, height


def lighten(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    (static / EMPTY).write_text("")
    for pattern in UNUSED:
        for file in static.glob(pattern):
            file.unlink()
