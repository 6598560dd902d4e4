"""The site as one PDF, printed by Chromium: `make pdf`.

    python -m book._tools.paper [--chromium <path>]

The pages of the contents, without the library's reference, stand one after another in one document, so that
links between them, formulas, figures and the outline are what they are on the pages.
"""

import argparse
import re
import shutil
import sys
from html import escape
from pathlib import Path

import yaml
from sphinx_external_toc.parsing import parse_toc_yaml

ROOT = Path(__file__).resolve().parents[2]
SITE, NAME = ROOT / "_build" / "html", "one-gradient-step.pdf"
ARTICLE = re.compile(r'(<article class="bd-article">)(.*?)(</article>)', re.DOTALL)
HEADING = re.compile(r'<h1>(.*?)<a class="headerlink"', re.DOTALL)
OWN = re.compile(r'\b(id|for|aria-labelledby|aria-describedby|aria-controls)="([^"]+)"')
HEAD = """<style>
.bd-article > section { break-before: page; }
.bd-article > .os-title { height: 230mm; display: grid; align-content: center; text-align: center; }
</style></head>"""
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


def print_pages(page: Path, out: Path, chromium: str) -> None:
    """Print a page as onestep.js prepares it for paper."""
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
        browser.close()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Print the site as one PDF.")
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("google-chrome"))
    chromium = parser.parse_args(arguments).chromium
    if chromium is None:
        print("No Chromium found: install one, or name it with --chromium.")
        return 1
    title = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["title"]
    names = [name for name in parse_toc_yaml(ROOT / "_toc.yml") if "/api/" not in name]
    whole = SITE / "book" / "all-pages.html"
    whole.write_text(combine(SITE, names, title), "utf-8")
    try:
        print_pages(whole, SITE / NAME, chromium)
    finally:
        whole.unlink()
    told = SITE / "book" / "how-to-run.html"  # where the file is named, there it is linked
    told.write_text(
        told.read_text("utf-8").replace(f"_build/html/{NAME}", f'<a href="../{NAME}">{NAME}</a>'), "utf-8"
    )
    print(SITE / NAME)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
