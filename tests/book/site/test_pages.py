"""Every page in a real browser: clean, accessible, light, inside its window; and what a reader does there."""

import pytest
import yaml
from pages import CHAPTERS, ROOT, VISITED, WELCOME
from visits import MODES, visit, window


@pytest.mark.parametrize("path", VISITED)
def test_nothing_is_wrong_with_a_page(browser, site, site_url, path):
    found = visit(browser, site, site_url, path, MODES[:: 1 - 2 * (VISITED.index(path) % 2)])
    assert not found, "\n".join(found)


# Without a line of each page that is found: each of them would be fetched, and none changes the order.
ASK = """word => {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  document.querySelector('#search-results').replaceChildren();
  Search.performSearch(word);
}"""
ANSWERED = "/match|found/.test(document.querySelector('#search-results > p')?.innerText)"


def test_a_word_finds_the_page_that_explains_it_first(open_page):
    page = open_page("search.html?q=ridge")
    page.wait_for_function(ANSWERED)
    wanted = yaml.safe_load((ROOT / "book" / "keywords.yml").read_text("utf-8"))
    wrong = []
    for name, words in wanted.items():
        for word in words:
            page.evaluate(ASK, word)
            page.wait_for_function(ANSWERED)
            first = page.locator("#search-results li a").first.get_attribute("href").partition("?")[0]
            if first != f"{name}.html":
                wrong.append(f"{word} finds {first} and not {name}")
    assert wrong == []


def test_names_with_and_without_accents_and_numbers_are_found_and_no_word_hangs(open_page):
    page, found = open_page("search.html?q=ridge"), {}
    page.wait_for_function(ANSWERED)
    for word in ("Marčenko", "Marcenko", "2310.07891", "2022", "3.5", "constructor", "__proto__"):
        page.evaluate(ASK, word)
        page.wait_for_function(ANSWERED)
        found[word] = page.locator("#search-results li a").count()
    assert found["Marčenko"] == found["Marcenko"] > 0
    assert all(found[number] for number in ("2310.07891", "2022", "3.5"))
    assert not found["__proto__"]


def test_paper_holds_no_name_of_a_button(open_page):
    page = open_page("book/notation.html")
    page.hover(".theme-switch-button")
    page.wait_for_selector(".tooltip")
    page.emulate_media(media="print")
    assert not page.locator(".tooltip").is_visible()


def test_the_first_screen_shows_the_moving_picture_and_no_code(open_page):
    page = open_page(WELCOME)
    for panel in page.locator("figure.onestep-explorer .os-panel").all():
        box = panel.bounding_box()
        assert box["y"] + box["height"] <= 800
    tops = page.evaluate(
        "() => [...document.querySelectorAll('main :is(details, .cell_input)')]"
        ".filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect().top)"
    )
    assert min(tops) > 800
    assert page.locator("a.right-next").get_attribute("href") == CHAPTERS[0].removeprefix("book/")


@pytest.mark.parametrize(
    ("address", "asked"), [("book/08-spikes/in-features.html", "spikes in features"), ("nowhere", None)]
)
def test_an_address_that_leads_nowhere_leads_back(browser, site, site_url, address, asked):
    with window(browser, "phone", "light") as page:
        lost = (site / "404.html").read_text("utf-8")
        page.route(
            f"**/{address}", lambda route: route.fulfill(status=404, body=lost, content_type="text/html")
        )
        page.goto(site_url + address)
        links = page.evaluate("() => [...document.links].map(link => link.href)")
    assert links[:2] == [f"{site_url}book/intro.html", f"{site_url}book/map.html"]
    assert links[2] == f"{site_url}search.html" + (f"?q={asked.replace(' ', '%20')}" if asked else "")


def test_the_answer_waits_until_the_reader_has_chosen_asks_prints_or_follows_a_link(browser, site_url):
    address = site_url + CHAPTERS[0]
    with window(browser, "desktop", "light") as page:

        def seen() -> list[bool]:
            answer, figure = page.locator("p:has(> strong:text('The answer.'))"), page.locator("main figure")
            return [answer.is_visible(), figure.first.is_visible()]

        page.goto(address)
        assert seen() == [False, False]
        page.emulate_media(media="print")
        assert seen() == [True, True]
        page.emulate_media(media="screen")
        page.locator(".os-choice").first.click()
        assert seen() == [True, True]
        page.reload()
        assert seen() == [False, False]
        page.get_by_role("button", name="Show the answer").click()
        assert seen() == [True, True]
        name = page.locator("main figure").first.get_attribute("id")
        page.goto("about:blank")
        page.goto(f"{address}#{name}")
        assert seen() == [True, True]
    with window(browser, "desktop", "light", scripts=False) as page:
        page.goto(address)
        assert page.locator("main figure").first.is_visible()


def test_wide_things_scroll_and_take_the_focus(open_page):
    page = open_page("book/03-random-features.html", "phone")
    for title in page.locator(".solution > .admonition-title").all():
        title.click(position={"x": 20, "y": 8})
    page.wait_for_timeout(400)  # onestep.js waits until the page rests
    scrolling = page.evaluate(
        """() => [...document.querySelectorAll('main *')]
          .filter(e => /auto|scroll/.test(getComputedStyle(e).overflowX)
                       && e.scrollWidth > e.clientWidth + 1)
          .map(e => [!!e.closest('.solution'),
                     e.tabIndex >= 0 || !!e.querySelector('a[href],button,input,[tabindex="0"]')])"""
    )
    assert {inside for inside, _ in scrolling} == {True, False}, "equations and lines of solutions scroll"
    assert all(focused for _, focused in scrolling)


def test_paper_shows_what_was_folded_at_once(browser, site_url):
    """Paper holds the first moment, so that what fades in when it is unfolded would not be seen."""
    with window(browser, "desktop", "light") as page:
        page.emulate_media(reduced_motion="no-preference")
        page.goto(site_url + CHAPTERS[0])
        page.wait_for_load_state("networkidle")
        page.emulate_media(media="print")
        page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
        opacity = page.evaluate(
            """() => [...document.querySelectorAll('details[open] > .cell_output')]
              .filter(e => e.checkVisibility()).map(e => getComputedStyle(e).opacity)"""
        )
    assert set(opacity) == {"1"}


def test_a_picture_on_a_phone_is_shown_large_by_keyboard_too(open_page):
    page = open_page("book/01-the-question.html", "phone")
    drawn = int(page.locator("main figure img").first.get_attribute("width"))
    width = "() => document.querySelector('main figure img').clientWidth"
    button = page.locator(".onestep-picture button").first
    assert page.evaluate(width) < 0.75 * drawn
    button.focus()
    page.keyboard.press("Enter")
    assert page.evaluate(width) == drawn
    assert button.get_attribute("aria-expanded") == "true"
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    page.keyboard.press("Enter")
    assert page.evaluate(width) < 0.75 * drawn
