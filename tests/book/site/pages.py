"""Which pages the site has."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SITE = Path(os.environ.get("ONESTEP_SITE", ROOT / "_build" / "html"))
SIZES = {"desktop": (1280, 900), "phone": (375, 812)}
PAGES = sorted(
    page
    for path in SITE.rglob("*.html")
    if not (page := path.relative_to(SITE).as_posix()).startswith(("_static/", "_sources/"))
)
BOOK = [page for page in PAGES if page.startswith("book/")]  # what a reader reads
READ = [page for page in BOOK if not page.startswith("book/api/")]
CHAPTERS = [page for page in READ if page[len("book/") :][:2].isdigit()]
WELCOME = "book/intro.html"
SLIDES = [page for page in PAGES if page.startswith("slides/")]
# Two pages stand outside the book's frame: one sends the reader on at once, one is for lost addresses.
VISITED = [page for page in PAGES if page not in ("index.html", "404.html", *SLIDES)]
