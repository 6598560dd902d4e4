"""Explorers in a browser: they draw what Python would, at once, by keyboard, for everyone."""

from itertools import product

import pytest
from explorer_example import RIDGE, STEP, linked, page, words
from pages import SIZES
from visits import AXE, MOVE, STATE, WCAG

from onestep_lib.figures import Explorer, HLine, Panel, Slider, plotting

TAGS = [*WCAG["values"], "best-practice"]


@pytest.fixture
def show(browser, tmp_path):
    """show(*explorers, size=, theme=, scripts=) -> page from disk; no fault may have been reported."""
    contexts, faults = [], []

    def open_it(*explorers, size="desktop", theme="light", scripts=True):
        width, height = SIZES[size]
        context = browser.new_context(
            viewport={"width": width, "height": height}, java_script_enabled=scripts
        )
        contexts.append(context)
        opened = context.new_page()
        opened.on("console", lambda message: faults.append(message.text))
        opened.on("pageerror", lambda error: faults.append(str(error)))
        path = tmp_path / "page.html"
        path.write_text(page(*explorers, theme=theme), encoding="utf-8")
        opened.goto(path.as_uri())
        return opened

    yield open_it
    for context in contexts:
        context.close()
    assert faults == []


def test_every_position_draws_what_python_would(show):
    explorer = linked()
    figure = show(explorer).locator("figure")
    for positions in product(range(len(RIDGE)), range(len(STEP))):
        figure.evaluate(MOVE, positions)
        state = figure.evaluate(STATE)
        assert state["paths"] == explorer.paths(positions)
        assert state["readouts"] == explorer.readout_texts(positions)
        texts = [RIDGE.texts[positions[0]], STEP.texts[positions[1]]]
        assert state["said"] == [[text, text] for text in texts]
        assert state["alts"] == explorer.alts(positions)


def test_arrow_keys_move_the_curve(show):
    explorer = linked()
    shown = show(explorer)
    shown.keyboard.press("Tab")
    assert shown.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    shown.keyboard.press("ArrowRight")
    shown.keyboard.press("Tab")
    shown.keyboard.press("ArrowLeft")
    shown.keyboard.press("ArrowLeft")
    state = shown.locator("figure").evaluate(STATE)
    assert state["paths"] == explorer.paths((5, 0))
    assert [shown.get_by_role("slider", name=s.label, exact=True).count() for s in (RIDGE, STEP)] == [1, 1]


def test_copies_on_one_page_move_alone(show):
    explorer = linked()
    figures = show(explorer, words(), explorer).locator("figure")
    figures.nth(2).evaluate(MOVE, [0, 0])
    assert figures.nth(0).evaluate(STATE)["paths"] == explorer.paths(explorer.start)
    assert figures.nth(1).evaluate(STATE)["paths"] == words().paths((0,))
    assert figures.nth(2).evaluate(STATE)["paths"] == explorer.paths((0, 0))


def test_axe_finds_nothing_in_series_that_no_chapter_uses(show):
    shown = show(linked(), words(), size="phone")
    shown.evaluate(AXE)
    found = shown.evaluate("tags => axe.run(document, {runOnly: {type: 'tag', values: tags}})", TAGS)
    assert [(v["id"], [n["html"] for n in v["nodes"]]) for v in found["violations"]] == []


def test_radio_buttons_and_lists_draw_what_python_would(show):
    many = Slider("letter", list("abcdefgh"), label="letter")
    listed = Explorer(
        "Letters",
        [many],
        [Panel([HLine(range(8), sliders="letter")], "x", "y", "One line.", x_limits=(0, 1))],
    )
    figures = show(words(), listed).locator("figure")
    for number, explorer in enumerate((words(), listed)):
        for position in range(len(explorer.sliders[0])):
            figures.nth(number).evaluate(MOVE, [position])
            state = figures.nth(number).evaluate(STATE)
            assert state["positions"] == [position]
            assert (state["paths"], state["alts"]) == (explorer.paths([position]), explorer.alts([position]))


def test_reset_goes_back_to_the_first_picture(show):
    figure = show(linked()).locator("figure")
    figure.evaluate(MOVE, [0, 0])
    figure.get_by_role("button", name="Reset").click()
    assert figure.evaluate(STATE)["paths"] == linked().paths((4, 2))


def test_a_link_to_a_state_restores_it(show):
    explorer = linked()
    shown = show(words(), explorer, size="phone")
    shown.locator("figure").nth(1).evaluate(MOVE, [7, 0])
    shown.locator("figure").nth(1).get_by_role("button", name="Copy link").click()
    shown.wait_for_function("document.querySelectorAll('.os-said')[1].textContent")
    link = shown.evaluate("location.href")
    assert link.endswith("#explorer-errors-steps?ridge=3.16&step=%E2%88%921.00")
    shown.goto("about:blank")
    shown.goto(link)
    figures = shown.locator("figure")
    assert figures.nth(1).evaluate(STATE)["paths"] == explorer.paths((7, 0))
    assert figures.nth(0).evaluate(STATE)["paths"] == words().paths((0,))
    assert figures.nth(1).evaluate("figure => figure.getBoundingClientRect().top") < 10
    # What the sliders no longer have is passed over.
    shown.evaluate("location.hash = 'explorer-errors-steps?ridge=3.17&step=0.00&other=1'")
    shown.wait_for_function("document.querySelectorAll('.os-slider output')[1].textContent === '0.00'")
    assert figures.nth(1).evaluate(STATE)["paths"] == explorer.paths((4, 1))


def test_copies_have_their_own_identifiers(show):
    ids = show(linked(), linked(), words()).evaluate(
        "[...document.querySelectorAll('figure')].map(f => f.id)"
    )
    assert ids == ["explorer-errors-steps", "explorer-errors-steps-again", "explorer-coefficients"]


def test_a_readout_that_stays_is_not_announced_again(show):
    figure = show(linked()).locator("figure")
    figure.evaluate(MOVE, [0, 3])
    figure.evaluate(
        """figure => { window.written = []; new MutationObserver(found => written.push(...found)).observe(
             figure.querySelector('.os-readouts'), {subtree: true, childList: true, characterData: true}) }"""
    )
    figure.evaluate(MOVE, [0, 4])
    written = figure.evaluate("() => written.map(change => change.target.parentElement.textContent)")
    assert [row.split(" ")[0] for row in written] == ["first", "mean"]
    live = figure.evaluate("f => [...f.querySelectorAll('.os-readouts output')].map(o => o.ariaLive)")
    assert live == ["polite"] * 3


def test_a_track_keeps_its_width_and_two_panels_with_their_sliders_fit_a_phone(show):
    shown = show(linked(), size="phone")
    figure = shown.locator("figure").first
    widths = "f => [...f.querySelectorAll('input')].map(i => i.getBoundingClientRect().width)"
    first = figure.evaluate(widths)
    assert min(first) > 300
    for positions in product((0, 8), (0, 4)):
        figure.evaluate(MOVE, positions)
        assert figure.evaluate(widths) == first
    box = """f => [f.querySelector('.os-controls').getBoundingClientRect().top,
                   [...f.querySelectorAll('.os-panel')].at(-1).getBoundingClientRect().bottom]"""
    top, bottom = figure.evaluate(box)
    assert bottom - top <= SIZES["phone"][1]
    # Scrolled to the second panel, the sliders are still there.
    shown.evaluate("document.body.style.paddingBottom = '2000px'; scrollTo(0, 300)")
    assert figure.evaluate(box)[0] >= 0


def test_paper_shows_the_state_and_no_control(show):
    shown = show(linked(), theme="dark")
    figure = shown.locator("figure")
    figure.evaluate(MOVE, [0, 4])
    shown.emulate_media(media="print")
    assert figure.locator(".os-still").inner_text() == "Shown for penalty λ = 0.001; step size η = 3.00."
    assert not figure.locator(".os-controls").is_visible()
    assert not figure.locator(".os-buttons").is_visible()
    assert figure.evaluate("f => getComputedStyle(f.querySelector('text')).fill") == "rgb(34, 34, 34)"


def test_colours_follow_the_page(show):
    ink = "figure => getComputedStyle(figure.querySelector('text')).fill"
    fills = [show(words(), theme=theme).locator("figure").evaluate(ink) for theme in ("light", "dark")]
    assert fills == ["rgb(34, 34, 34)", "rgb(232, 232, 232)"]


def test_phone_keeps_text_and_targets_large_enough(show):
    figures = show(linked(), size="phone").locator("figure")
    heights = figures.evaluate(
        "f => [...f.querySelectorAll('input')].map(i => i.getBoundingClientRect().height)"
    )
    assert min(heights) >= 24
    sizes = figures.evaluate(
        "f => [...f.querySelectorAll('.os-panel > svg')].map(svg => "
        "parseFloat(getComputedStyle(svg.querySelector('text')).fontSize) * svg.getScreenCTM().a)"
    )
    assert min(sizes) >= 11
    tops = figures.evaluate(
        "f => [...f.querySelectorAll('.os-panel')].map(p => p.getBoundingClientRect().top)"
    )
    assert tops[1] > tops[0] + 200, "panels are stacked on a phone"


def test_without_scripts_the_figure_stands_and_says_what_it_shows(show):
    shown = show(linked(), scripts=False)
    assert not shown.locator(".os-controls").is_visible()
    assert shown.locator(".os-still").inner_text() == (
        "Shown for penalty λ = 0.1; step size η = 1.00. The sliders need JavaScript."
    )
    curves = shown.locator("path[data-mark]")
    assert [curves.nth(k).get_attribute("d") for k in range(curves.count())] == linked().paths((4, 2))
    assert shown.locator("figure svg[role=img]").count() == 2


def test_a_picture_has_a_light_ground_in_jupyterlab_only(show):
    picture = plotting.picture(plotting.figure()[0], alt="An empty figure.")
    shown = show(picture)
    ground = "() => getComputedStyle(document.querySelector('img')).backgroundColor"
    assert shown.evaluate(ground) == "rgba(0, 0, 0, 0)"
    shown.evaluate("document.body.style.setProperty('--jp-layout-color0', '#111')")
    assert shown.evaluate(ground) == "color(srgb 1 1 1)"
