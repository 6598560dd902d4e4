"""Which pages the site has, and which of them a run visits."""

import hashlib
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SITE = Path(os.environ.get("ONESTEP_SITE", ROOT / "_build" / "html"))
SIZES = {"desktop": (1280, 900), "phone": (375, 812)}
FEW, MORE = 5, 15  # reference pages that `make test` visits, and `make check`


def is_reference(page: str) -> bool:
    """True for pages that Sphinx writes from the library, all from one template."""
    return page.startswith("book/api/")


def sample(site: Path, pages: list[str]) -> list[str]:
    """The index, the longest page, and then others as the hashes of their content choose.

    So the sample changes when the pages do, and a run on the same site visits the same ones.
    """
    texts = {page: (site / page).read_bytes() for page in pages}
    longest = max(pages, key=lambda page: len(texts[page]), default="")

    def order(page: str) -> tuple[bool, bool, bytes]:
        return not page.endswith("api/index.html"), page != longest, hashlib.sha256(texts[page]).digest()

    return sorted(pages, key=order)[:MORE]


PAGES = sorted(
    page
    for path in SITE.rglob("*.html")
    if not (page := path.relative_to(SITE).as_posix()).startswith(("_static/", "_sources/"))
)
BOOK = [page for page in PAGES if page.startswith("book/")]  # what a reader reads
READ = [page for page in BOOK if not is_reference(page)]
CHAPTERS = [page for page in READ if page[len("book/") :][:2].isdigit()]
WELCOME = "book/intro.html"
# Two pages stand outside the book's frame: one sends the reader on at once, one is for lost addresses.
APART = ("index.html", "404.html")
VISITED = [page for page in PAGES if not is_reference(page) and page not in APART] + [
    pytest.param(page, marks=[pytest.mark.slow] if k >= FEW else [])
    for k, page in enumerate(sample(SITE, [page for page in PAGES if is_reference(page)]))
]
