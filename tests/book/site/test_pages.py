"""Every page in a real browser: clean, accessible, light enough, inside its window.

A page is opened by the first of its tests, see `visits`; reference pages are sampled in `make test`.
"""

from pages import BOOK, CHAPTERS, READ, VISITED, each, each_view

LARGEST_VISIT = 1_500_000  # bytes a first visit loads, gzipped
FRAME = 1000 / 60  # ms


@each(VISITED)
def test_page_asks_no_other_host(visited, path):
    assert visited(path).told("outside") == []


@each(VISITED)
def test_every_request_is_answered(visited, path):
    assert visited(path).told("failed") == []


@each(VISITED)
def test_console_stays_empty(visited, path):
    assert visited(path).told("console", "exception") == []


@each_view(VISITED)
def test_page_takes_the_readers_mode(visited, path, view):
    assert visited(path).views[view].theme == view.partition("-")[2]


@each_view(VISITED)
def test_page_stays_inside_its_window(visited, path, view):
    seen = visited(path).views[view]
    assert (seen.excess <= 0, seen.spilling) == (True, []), f"{seen.excess} pixels too wide"


@each_view(VISITED)
def test_page_is_accessible(visited, path, view):
    assert visited(path).views[view].violations == []


@each(BOOK)
def test_page_has_one_heading(visited, path):
    assert {over: seen.headings for over, seen in visited(path).openings.items()} == {"http": 1, "file": 1}


@each(BOOK)
def test_formulas_are_set(visited, path):
    for over, seen in visited(path).openings.items():
        assert seen.wrong == 0, over
        assert seen.set > 0 or seen.formulas == 0, over


@each(READ)
def test_first_visit_is_light_enough(visited, path):
    assert 0 < visited(path).weight <= LARGEST_VISIT


@each(CHAPTERS)
def test_every_slider_moves_its_figure_by_keyboard(visited, path):
    seen = visited(path)
    assert seen.explorers >= 1
    assert seen.stuck == []
    assert seen.update < 3 * FRAME


@each(CHAPTERS)
def test_explorers_stand_without_scripts(visited, path):
    seen = visited(path)
    assert seen.still == [{"controls": False, "still": True, "drawn": True}] * seen.explorers


def test_search_finds_a_word_over_http(open_page):
    page = open_page("search.html?q=ridge")
    page.wait_for_selector("#search-results li a")
    assert page.locator("#search-results li").count() > 0


def test_search_box_opens_by_keyboard(open_page):
    page = open_page("book/intro.html")
    page.keyboard.press("Control+k")
    assert page.evaluate("document.activeElement.type") == "search"


def test_wide_things_scroll_and_take_the_focus(open_page):
    page = open_page("book/04-gaussian-equivalence.html", "phone")
    scrolling = page.evaluate(
        """() => [...document.querySelectorAll('main *')]
          .filter(e => /auto|scroll/.test(getComputedStyle(e).overflowX)
                       && e.scrollWidth > e.clientWidth + 1)
          .map(e => e.tabIndex >= 0 || !!e.querySelector('a[href],button,input,[tabindex="0"]'))"""
    )
    assert scrolling, "on a phone the chapter's long equations are expected to scroll"
    assert all(scrolling)
