"""The head of every page (description, social card), its way back, and repairs of the theme's HTML."""

import re
import struct
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from .formulas import with_rooms

SOCIAL_CARD = "_static/social-card.png"
LONGEST_DESCRIPTION = 200
REFERENCE = "book/api/"


def connect(app: Sphinx) -> None:
    app.connect("html-page-context", add_description)
    app.connect("html-page-context", lead_back_past_the_reference)
    app.connect("build-finished", repair_pages, priority=900)


def add_description(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    """Describe the page by its first paragraph, for search engines and shared links."""
    title = re.sub(r"<[^>]+>", "", context.get("title", "")) or app.config.html_title
    text = first_paragraph(doctree) or f"{title}: a page of {app.config.html_title}."
    card = context["pathto"](SOCIAL_CARD, resource=True)
    tags = [
        ("name", "description", text),
        ("property", "og:title", title),
        ("property", "og:description", text),
        ("property", "og:type", "article"),
        ("property", "og:site_name", app.config.html_title),
        ("property", "og:image", card),
        ("property", "og:image:alt", "One Gradient Step: theory lines through simulated dots"),
        ("name", "twitter:card", "summary_large_image"),
    ]
    context["metatags"] = context.get("metatags", "") + "\n".join(
        f'<meta {kind}="{key}" content="{escape(value)}">' for kind, key, value in tags
    )


def lead_back_past_the_reference(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """The page behind the library's reference leads back to its index, not to its last module."""
    relations = app.env.collect_relations()
    before = relations.get(pagename, [None, None, None])[1]
    if before is None or not before.startswith(REFERENCE) or pagename.startswith(REFERENCE):
        return
    index = f"{REFERENCE}index"
    context["prev"] = {
        "link": app.builder.get_relative_uri(pagename, index),
        "title": app.env.titles[index].astext(),
    }


def first_paragraph(doctree: nodes.document | None) -> str:
    """Text of the first paragraph long enough to say something, cut at a word."""
    for paragraph in doctree.findall(nodes.paragraph) if doctree is not None else ():
        has_maths = next(iter(paragraph.findall(nodes.math)), None) is not None
        text = " ".join(paragraph.astext().split())
        if len(text) < 60 or has_maths:
            continue
        if len(text) <= LONGEST_DESCRIPTION:
            return text
        return text[:LONGEST_DESCRIPTION].rsplit(" ", 1)[0] + " …"
    return ""


def repair_pages(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        if "_static" in path.relative_to(app.outdir).parts:
            continue
        page = path.read_text(encoding="utf-8")
        repaired = with_rooms(with_sizes(repair(page), path.parent))
        if path.name != "search.html":
            repaired = SEARCH_SCRIPTS.sub("", repaired)
        if repaired != page:
            path.write_text(repaired, encoding="utf-8")


# Faults of the theme and of Sphinx in the HTML they write, and what stands in their place.
REPAIRS = [
    # A 1.5 MB script that draws icons: onestep.css does it with the icon font.
    (re.compile(r'\s*<script defer src="[^"]*scripts/fontawesome\.js[^"]*"></script>'), ""),
    # Settings of a service that this site does not use.
    (re.compile(r'\s*<script type="text/x-thebe-config">.*?</script>', re.DOTALL), ""),
    (re.compile(r"\s*<script>kernelName = [^<]*</script>"), ""),
    # Not an attribute that HTML validators know.
    (re.compile(r'\s+autocorrect="off"'), ""),
    # Paragraphs inside the button that unfolds a cell; its words are its name.
    (
        re.compile(
            r'<summary aria-label="Toggle hidden content">\s*<p class="(collapsed[^"]*)">([^<]*)</p>'
            r'\s*<p class="(expanded[^"]*)">([^<]*)</p>\s*</summary>'
        ),
        r'<summary><span class="\1">\2</span><span class="\3">\4</span></summary>',
    ),
    # Every exercise, solution and theorem carries the same id.
    (
        re.compile(r'(<section (?:class="[^"]*" )?)id="((?:exercise|solution|proof)-content)"'),
        r'\1data-part="\2"',
    ),
    # A role that is no longer in use; the entries stand in an element of role `list`.
    (re.compile(r'role="doc-biblioentry"'), 'role="listitem"'),
    # The space before a link to an exercise stands in it and is underlined.
    (re.compile(r"(>Solution to)(<a [^>]*>) (?=\w)"), r"\1 \2"),
    # Several returned values: Sphinx puts their list into a paragraph.
    (re.compile(r'<p>(<ul class="simple">(?:(?!</ul>).)*</ul>)\s*</p>', re.DOTALL), r"\1"),
    # The arrow that opens a part of the table of contents has no name.
    (
        re.compile(r"<summary>(<span class=\"toctree-toggle\")"),
        r'<summary aria-label="Show or hide the pages of this part">\1',
    ),
]
# The index of all words: only the page that searches needs it.
SEARCH_SCRIPTS = re.compile(
    r'\s*<script src="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*"></script>'
)
PICTURE = re.compile(r'<img\b[^>]*\bsrc="([^":]+\.png)"[^>]*>')
SOURCE_LISTING = re.compile(r"<pre>.*?</pre>", re.DOTALL)
REDIRECT = re.compile(r'^<meta http-equiv="Refresh" content="0; url=([^"]+)" />\s*$')
REDIRECT_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={target}">
<title>One Gradient Step</title>
<link rel="icon" href="_static/favicon.svg">
</head>
<body><main><h1>One Gradient Step</h1><p><a href="{target}">Go to the book</a></p></main></body>
</html>
"""


def with_sizes(page: str, folder: Path) -> str:
    """A page whose pictures say their sizes; running it twice changes nothing more."""
    return PICTURE.sub(lambda found: with_size(found[0], folder / found[1]), page)


def with_size(image: str, file: Path) -> str:
    """A picture that says its size, so that the page keeps room for it."""
    if "height=" in image or "width:" in image or not file.is_file():
        return image
    width, height = png_size(file.read_bytes())
    return image.replace("<img ", f'<img width="{width}" height="{height}" ', 1)


def png_size(png: bytes) -> tuple[int, int]:
    """Width and height in the header of a PNG."""
    return struct.unpack(">II", png[16:24])


def repair(page: str) -> str:
    """Mend known faults of the theme's HTML; running it twice changes nothing more."""
    redirect = REDIRECT.match(page)
    if redirect:
        return REDIRECT_PAGE.format(target=redirect[1])
    for fault, replacement in REPAIRS:
        page = fault.sub(replacement, page)
    if 'class="viewcode-block"' in page:
        page = SOURCE_LISTING.sub(lambda listing: spans_for_blocks(listing[0]), page)
    return page


def spans_for_blocks(listing: str) -> str:
    """A `pre` may not hold `div`: the blocks of a source listing become spans."""
    return listing.replace('<div class="viewcode-block"', '<span class="viewcode-block"').replace(
        "</div>", "</span>"
    )
