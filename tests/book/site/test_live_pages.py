"""Explorers in a browser: they draw what Python would, at once, by keyboard, for everyone."""

from itertools import product

import pytest
from explorer_example import RIDGE, STEP, linked, page, words
from pages import SIZES
from visits import AXE, STATE, TIMES, WCAG

from onestep_lib.figures import plotting

TAGS = [*WCAG, "best-practice"]
FRAME = 1000 / 60

MOVE = """(figure, positions) => [...figure.querySelectorAll("input")].forEach((input, k) => {
  input.value = positions[k];
  input.dispatchEvent(new Event("input", {bubbles: true}));
})"""


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
        assert state["sliders"] == [[text, text] for text in texts]


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
    assert [shown.get_by_label(slider.label).count() for slider in (RIDGE, STEP)] == [1, 1]


def test_an_update_fits_into_a_frame(show):
    times = show(linked()).locator("figure").evaluate(TIMES)
    median, worst = times[len(times) // 2], times[-1]
    print(f"update of an explorer: median {median:.2f} ms, longest {worst:.2f} ms; a frame is {FRAME:.1f} ms")
    assert median < 3 * FRAME


def test_copies_on_one_page_move_alone(show):
    explorer = linked()
    figures = show(explorer, words(), explorer).locator("figure")
    figures.nth(2).evaluate(MOVE, [0, 0])
    assert figures.nth(0).evaluate(STATE)["paths"] == explorer.paths(explorer.start)
    assert figures.nth(1).evaluate(STATE)["paths"] == words().paths((0,))
    assert figures.nth(2).evaluate(STATE)["paths"] == explorer.paths((0, 0))


@pytest.mark.parametrize(("size", "theme"), [*product(SIZES, ("light", "dark"))])
def test_axe_finds_nothing_and_nothing_spills(show, size, theme):
    shown = show(linked(), words(), size=size, theme=theme)
    shown.evaluate(AXE)
    found = shown.evaluate("tags => axe.run(document, {runOnly: {type: 'tag', values: tags}})", TAGS)
    assert [(v["id"], [n["html"] for n in v["nodes"]]) for v in found["violations"]] == []
    assert shown.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]


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
