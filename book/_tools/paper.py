"""The site as one PDF, printed by Chromium, and as an EPUB: `make pdf`.

    python -m book._tools.paper [--chromium <path>]

The pages of the contents, without the library's reference, stand one after another in one document, so that
links between them, formulas, figures and the outline are what they are on the pages. The EPUB holds what
Chromium made of them, a page a file; its formulas are MathML, which is beside KaTeX's letters on each page.
"""

import argparse
import re
import shutil
import sys
from datetime import UTC, datetime
from html import escape
from mimetypes import guess_type
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import yaml
from sphinx_external_toc.parsing import parse_toc_yaml

ROOT = Path(__file__).resolve().parents[2]
SITE, NAMES = ROOT / "_build" / "html", ("one-gradient-step.pdf", "one-gradient-step.epub")
ARTICLE = re.compile(r'(<article class="bd-article">)(.*?)(</article>)', re.DOTALL)
HEADING = re.compile(r'<h1>(.*?)<a class="headerlink"', re.DOTALL)
OWN = re.compile(r'\b(id|for|aria-labelledby|aria-describedby|aria-controls)="([^"]+)"')
HEAD = """<style>
.bd-article > section { break-before: page; }
.bd-article > .os-title { height: 230mm; display: grid; align-content: center; text-align: center; }
</style></head>"""
# Each page as XML: what paper shows of it, with formulas as MathML and without what asks for a hand.
PAGES = """() => {
  const hidden = (part) => part instanceof HTMLElement && getComputedStyle(part).display === "none";
  document.querySelectorAll(".katex-html, input").forEach((part) => part.remove());
  [...document.querySelectorAll(".bd-article *")].filter(hidden).forEach((part) => part.remove());
  const bare = "a[download], summary > p, details:not(:has(> summary))";
  document.querySelectorAll(bare).forEach((part) => part.replaceWith(...part.childNodes));
  const pages = [...document.querySelectorAll(".bd-article > section:has(> a[id])")];
  const asXML = (page) => new XMLSerializer().serializeToString(page);
  return pages.map((page) => [page.querySelector("a").id, page.querySelector("h1").textContent, asXML(page)]);
}"""
CONTAINER = """<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"""
PACKAGE = """<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" xml:lang="en">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">{title}</dc:identifier><dc:title>{title}</dc:title><dc:language>en</dc:language>
<dc:creator>{author}</dc:creator><dc:rights>{copyright}</dc:rights>
<meta property="dcterms:modified">{now:%Y-%m-%dT%H:%M:%SZ}</meta></metadata>
<manifest>{items}</manifest><spine>{spine}</spine></package>"""
XHTML = """<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" xml:lang="en"
 data-theme="light"><head><title>{0}</title><link rel="stylesheet" href="_static/pygments.css"/>
<style>{style}</style></head><body>{1}</body></html>"""
STYLE = """
img, svg { max-width: 100%; height: auto; } pre { white-space: pre-wrap; } label { display: block; }
.admonition, .os-predict { border-left: 2px solid; padding-left: 1em; }
.admonition-title { font-weight: bold; } .eqno { float: right; } td p { margin: 0; }
"""
FOOTER = '<div style="width:100%;font-size:8px;text-align:center"><span class="pageNumber"></span></div>'


def combine(site: Path, names: list[str], title: str) -> str:
    """One document of the pages `names`, in the frame of a page that asks something."""
    texts = {Path(name).name: (site / f"{name}.html").read_text("utf-8") for name in names}
    articles = {stem: ARTICLE.search(text)[2] for stem, text in texts.items()}
    headings = {stem: HEADING.search(text)[1] for stem, text in articles.items()}
    contents = "".join(f'<li><a href="#{stem}">{heading}</a></li>' for stem, heading in headings.items())
    first = f'<div class="os-title"><p style="font-size:2.5rem">{escape(title)}</p></div>'
    first += f'<section><h1>Contents</h1><ul style="list-style:none">{contents}</ul></section>'
    pages = [own_section(text, stem, set(texts)) for stem, text in articles.items()]
    frame = next((text for text in texts.values() if "os-predict" in text), next(iter(texts.values())))
    whole = ARTICLE.sub(lambda found: "".join((found[1], first, *pages, found[3])), frame)
    return whole.replace("</head>", HEAD, 1)


def own_section(text: str, stem: str, stems: set[str]) -> str:
    """A page's article with names that no other page has, and links that lead to the others here."""

    def link(found: re.Match) -> str:
        page, _, anchor = found[1].partition("#")
        target = page.removesuffix(".html") or stem
        if re.match(r"\w+:", page):
            return found[0]
        return f'href="#{target}{f"--{anchor}" if anchor else ""}"' if target in stems else ""

    text = re.sub(r"<script\b.*?</script>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bhref="([^"]*)"', link, text)
    text = OWN.sub(lambda found: f'{found[1]}="{" ".join(f"{stem}--{x}" for x in found[2].split())}"', text)
    text = text.replace("url(#", f"url(#{stem}--")
    return re.sub(r"<section[^>]*>", rf'\g<0><a id="{stem}"></a>', text, count=1)


def print_pages(page: Path, out: Path, chromium: str) -> list[tuple[str, str, str]]:
    """Print a page as onestep.js prepares it for paper; return the name, title and XML of each part."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 680, "height": 1000}, color_scheme="light")
        tab.set_default_timeout(600_000)
        tab.goto(page.as_uri())
        tab.emulate_media(media="print")
        tab.evaluate("() => { dispatchEvent(new Event('beforeprint')); return document.fonts.ready; }")
        tab.pdf(
            path=out, format="A4", prefer_css_page_size=True, outline=True, tagged=True,
            display_header_footer=True, header_template="<span></span>", footer_template=FOOTER,
        )  # fmt: skip
        pages = tab.evaluate(PAGES)
        browser.close()
    return pages


def bind(out: Path, site: Path, pages: list[tuple[str, str, str]], about: dict[str, Any]) -> None:
    """Write the pages and what they show as an EPUB 3."""
    contents = "".join(f'<li><a href="{name}.xhtml">{escape(title)}</a></li>' for name, title, _ in pages)
    contents = f'<nav epub:type="toc"><h1>Contents</h1><ol>{contents}</ol></nav>'
    files = {"contents.xhtml": XHTML.format("Contents", contents, style=STYLE)}
    shown = {"_static/pygments.css"}
    for name, title, text in pages:
        text = re.sub(r'\bhref="#((?:(?!--)[^"])+)([^"?]*)[^"]*"', r'href="\1.xhtml#\1\2"', text)
        text = text.replace('src="../', 'src="')
        shown |= set(re.findall(r'\bsrc="([^":]+)"', text))
        files[f"{name}.xhtml"] = XHTML.format(escape(title), text, style=STYLE)
    items, spine = [], []
    for number, name in enumerate([*files, *sorted(shown)]):
        text = files.get(name, "")
        uses = [word for word, tag in (("nav", "<nav"), ("mathml", "<math"), ("svg", "<svg")) if tag in text]
        kind = "application/xhtml+xml" if text else guess_type(name)[0]
        has = f' properties="{" ".join(uses)}"' if uses else ""
        items.append(f'<item id="i{number}" href="{name}" media-type="{kind}"{has}/>')
        spine += [f'<itemref idref="i{number}"/>'] if text else []
    named = {key: escape(about[key]) for key in ("title", "author", "copyright")}
    package = PACKAGE.format(now=datetime.now(UTC), items="".join(items), spine="".join(spine), **named)
    with ZipFile(out, "w", ZIP_DEFLATED) as book:
        book.writestr("mimetype", "application/epub+zip", ZIP_STORED)
        for name, text in {"META-INF/container.xml": CONTAINER, "book.opf": package, **files}.items():
            book.writestr(name, text)
        for name in sorted(shown):
            book.write(site / name, name)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="The site as one PDF and as an EPUB.")
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("google-chrome"))
    chromium = parser.parse_args(arguments).chromium
    if chromium is None:
        print("No Chromium found: install one, or name it with --chromium.")
        return 1
    about = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    names = [name for name in parse_toc_yaml(ROOT / "_toc.yml") if "/api/" not in name]
    whole = SITE / "book" / "all-pages.html"
    whole.write_text(combine(SITE, names, about["title"]), "utf-8")
    try:
        pages = print_pages(whole, SITE / NAMES[0], chromium)
    finally:
        whole.unlink()
    bind(SITE / NAMES[1], SITE, pages, about)
    told = SITE / "book" / "how-to-run.html"  # where the files are named, there they are linked
    text = told.read_text("utf-8")
    for name in NAMES:
        text = text.replace(f"_build/html/{name}", f'<a href="../{name}">{name}</a>')
    told.write_text(text, "utf-8")
    print(*(SITE / name for name in NAMES))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
