"""Which pages the site has, and which of them a run visits."""

import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SITE = Path(os.environ.get("ONESTEP_SITE", ROOT / "_build" / "html"))
SIZES = {"desktop": (1280, 900), "phone": (375, 812)}
VIEWS = [(size, mode) for size in SIZES for mode in ("light", "dark")]
CHOSEN = 3  # pages of one template that their hashes choose, beside its index and its longest page


def html_pages() -> list[str]:
    """Every page of the site, as a path relative to its root."""
    found = (p.relative_to(SITE).as_posix() for p in SITE.rglob("*.html"))
    return sorted(p for p in found if not p.startswith(("_static/", "_sources/")))


def is_reference(page: str) -> bool:
    """True for pages that Sphinx writes from the library, all from one template."""
    return page.startswith(("book/api/", "_modules/"))


def sample(pages: Sequence[str], site: Path = SITE) -> set[str]:
    """The index, the longest and a few more of one template's pages.

    The few have the smallest hashes of their content, so that they change when the pages do, and a
    run on the same site visits the same ones.
    """
    texts = {page: (site / page).read_bytes() for page in pages}
    indices = [page for page in pages if page.endswith("/index.html")]
    by_length = sorted(pages, key=lambda page: len(texts[page]))
    by_hash = sorted(pages, key=lambda page: hashlib.sha256(texts[page]).digest())
    return {*indices, *by_length[-1:], *by_hash[:CHOSEN]}


PAGES = html_pages()
BOOK = [page for page in PAGES if page.startswith("book/")]  # what a reader reads
REFERENCE = [page for page in PAGES if is_reference(page)]
READ = [page for page in BOOK if not is_reference(page)]
CHAPTERS = [page for page in READ if page[len("book/") :][:2].isdigit()]
WELCOME = "book/intro.html"
# Two pages stand outside the book's frame: one sends the reader on at once, one is for lost addresses.
VISITED = [page for page in PAGES if page not in ("index.html", "404.html")]
SAMPLED = {
    page
    for template in ("book/api/", "_modules/")
    for page in sample([page for page in REFERENCE if page.startswith(template)])
}


def views(page: str) -> list[tuple[str, str]]:
    """Size and mode in which a page is looked at; reference pages take the two opposite ones."""
    return [("desktop", "light"), ("phone", "dark")] if is_reference(page) else VIEWS


def marks(page: str) -> list[pytest.MarkDecorator]:
    """`make check` takes all reference pages, `make test` a sample."""
    if not is_reference(page):
        return []
    return [pytest.mark.reference] if page in SAMPLED else [pytest.mark.reference, pytest.mark.slow]


def each(pages: Iterable[str]) -> pytest.MarkDecorator:
    """Parametrise a test over pages that are visited."""
    return pytest.mark.parametrize("path", [pytest.param(page, marks=marks(page)) for page in pages])


def each_view(pages: Iterable[str]) -> pytest.MarkDecorator:
    """Parametrise a test over pages and the views of each."""
    cases = [
        pytest.param(page, f"{size}-{mode}", marks=marks(page))
        for page in pages
        for size, mode in views(page)
    ]
    return pytest.mark.parametrize(("path", "view"), cases)
