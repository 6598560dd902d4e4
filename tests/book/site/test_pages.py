"""Every page in a real browser: clean, accessible, light enough, inside its window."""

import gzip
from pathlib import Path

import axe_playwright_python
import pytest
from conftest import PATIENCE, book_pages, html_pages

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
LARGEST_VISIT = 1_500_000  # bytes a first visit loads, gzipped
VIEWS = [(size, mode) for size in ("desktop", "phone") for mode in ("light", "dark")]
# Reference and source pages all have one template: they take the two opposite views in turn.
OPPOSITE = [("desktop", "light"), ("phone", "dark")]
BOOK = book_pages()
READ = [page for page in BOOK if "/api/" not in page]

CASES = [
    pytest.param(page, size, mode, id=f"{page}-{size}-{mode}")
    for number, page in enumerate(html_pages())
    if page != "index.html"  # sends the reader on at once
    for size, mode in (VIEWS if page in READ else [OPPOSITE[number % 2]])
]

SPILLING = """() => {
  const spills = e => {
    const box = e.getBoundingClientRect();
    if (!box.width || box.right <= innerWidth + 1) return false;
    for (let p = e.parentElement; p; p = p.parentElement)
      if (/auto|scroll|hidden|clip/.test(getComputedStyle(p).overflowX) && p !== document.body
          && p !== document.documentElement) return false;
    return getComputedStyle(e).position !== 'fixed';
  };
  const names = [...document.querySelectorAll('main *')].filter(spills)
    .map(e => e.tagName + '.' + e.getAttribute('class'));
  return {wide: document.documentElement.scrollWidth - innerWidth, names: names.slice(0, 5)};
}"""


def violations(page) -> list[str]:
    """What axe-core finds against WCAG 2.2 AA, one line each.

    Without its preloading: it would fetch the theme's @import relative to the page and miss.
    """
    page.evaluate(AXE)
    found = page.evaluate(
        """tags => axe.run(document, {
            runOnly: {type: 'tag', values: tags}, resultTypes: ['violations'], preload: false})""",
        WCAG,
    )["violations"]
    return [f"{v['id']}: {n['html'][:200]} {n['target']}" for v in found for n in v["nodes"]]


@pytest.mark.parametrize(("path", "size", "mode"), CASES)
def test_page_is_accessible_and_stays_inside_its_window(open_page, path, size, mode):
    page = open_page(path, size, mode).page
    assert page.evaluate("document.documentElement.dataset.theme") == mode
    spilling = page.evaluate(SPILLING)
    assert spilling["wide"] <= 0, spilling
    assert spilling["names"] == []
    assert violations(page) == []


@pytest.mark.parametrize("path", BOOK)
def test_page_works_from_disk(open_page, path):
    page = open_page(path, over="file").page
    assert page.locator("article.bd-article h1").count() == 1
    if page.locator(".math").count():
        assert page.locator("mjx-container").count() > 0
        assert page.locator("mjx-merror").count() == 0


def test_first_visit_is_light_enough(browser, site_url):
    weights = {path: first_visit(browser, site_url + path) for path in READ}
    largest = max(weights, key=weights.get)
    print(f"largest first visit: {largest}, {weights[largest] / 1e6:.2f} MB gzipped")
    assert weights[largest] <= LARGEST_VISIT, weights


def first_visit(browser, url: str) -> int:
    """Gzipped bytes of everything that a browser with an empty cache loads for one page."""
    context, finished = browser.new_context(), []
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.on("requestfinished", lambda request: finished.append(request))
    page.goto(url, wait_until="networkidle")
    page.evaluate("() => window.MathJax?.startup?.promise")
    page.wait_for_load_state("networkidle")
    size = sum(map(gzipped_size, finished))
    context.close()
    return size


def gzipped_size(request) -> int:
    if not request.url.startswith("http"):
        return 0
    return len(gzip.compress(request.response().body(), compresslevel=6))


def test_search_finds_a_word_over_http(open_page):
    page = open_page("search.html?q=ridge").page
    page.wait_for_selector("#search-results li a")
    assert page.locator("#search-results li").count() > 0


def test_search_box_opens_by_keyboard(open_page):
    page = open_page("book/intro.html").page
    page.keyboard.press("Control+k")
    assert page.evaluate("document.activeElement.type") == "search"


def test_wide_things_scroll_and_take_the_focus(open_page):
    page = open_page("book/04-gaussian-equivalence.html", "phone").page
    scrolling = page.evaluate(
        """() => [...document.querySelectorAll('main *')]
          .filter(e => /auto|scroll/.test(getComputedStyle(e).overflowX)
                       && e.scrollWidth > e.clientWidth + 1)
          .map(e => e.tabIndex >= 0 || !!e.querySelector('a[href],button,input,[tabindex="0"]'))"""
    )
    assert scrolling, "on a phone the chapter's long equations are expected to scroll"
    assert all(scrolling)
