"""Explorers in Python: what is packed, what is drawn, what is refused."""

import base64
import itertools
import json
import re
from html.parser import HTMLParser

import nbconvert
import numpy as np
import pytest
from explorer_example import RIDGE, STEP, X, error, linked, words
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.formatters import DisplayFormatter
from nbformat.v4 import new_code_cell, new_notebook, new_output

from onestep_lib.figures import (
    Bars,
    Dots,
    Explorer,
    HLine,
    Line,
    Panel,
    Readout,
    Slider,
    VLine,
    tabulate,
)
from onestep_lib.figures import svg as _svg
from onestep_lib.figures.look import COLOURS, DARK_COLOURS

POSITIONS = list(itertools.product(range(len(RIDGE)), range(len(STEP))))


class Outline(HTMLParser):
    """Tags and attributes of an explorer; fails on a tag that is not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.data = [], [], {}
        self.feed(text)
        assert self.open == []

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag != "input":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.data.setdefault(self.open[-1] if self.open else "", []).append(text)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def shipped(explorer):
    """What the script receives."""
    return json.loads(
        re.search(r'<script type="application/json">(.*?)</script>', explorer._repr_html_(), re.S)[1]
    )


def unpacked(column, sizes):
    """A column as an array, decoded as the format says and by nothing of the library."""
    table = np.frombuffer(base64.b64decode(column["table"]), dtype="<i2")
    return table.reshape(*(sizes[slider] for slider in column["sliders"]), column["points"])


def test_packed_curves_give_back_the_data():
    explorer = linked()
    column = shipped(explorer)["marks"][0]["columns"]["y"]
    heights = unpacked(column, (len(RIDGE), len(STEP))).astype(float)
    axis = explorer.panels[0].y_axis
    fraction = (heights - axis.start) / (axis.stop - axis.start)
    values = axis.low * (axis.high / axis.low) ** fraction
    expected = np.stack([[error(r, s) for s in STEP.values] for r in RIDGE.values])
    hole = np.isnan(expected)
    assert np.array_equal(heights == _svg.GAP, hole)
    # Half a unit of the viewBox, on a logarithmic axis.
    tolerance = 0.51 * np.log(axis.high / axis.low) / abs(axis.stop - axis.start)
    assert np.max(np.abs(np.log(values[~hole] / expected[~hole]))) < tolerance


def test_series_may_name_sliders_in_any_order():
    explorer = linked()
    for position in POSITIONS:
        theory, swapped, *_ = explorer.paths(position)
        assert theory == swapped
    assert len({explorer.paths(position)[0] for position in POSITIONS}) == len(POSITIONS)


def test_first_picture_is_the_start_position():
    explorer = linked()
    outline = Outline(explorer._repr_html_())
    drawn = [path["d"] for path in outline.all("path") if "data-mark" in path]
    assert drawn == explorer.paths((4, 2))
    assert [slider["value"] for slider in outline.all("input")] == ["4", "2"]
    assert [slider["aria-valuetext"] for slider in outline.all("input")] == ["0.1", "1.00"]


def test_lines_stand_at_their_places():
    panel = Panel([VLine(2.0), HLine(0.5)], "x", "y", alt="Two lines.", x_limits=(0, 4), y_limits=(0, 1))
    vertical, horizontal = Explorer("t", [STEP], [panel]).paths((0,))
    middle = (_svg.LEFT + _svg.RIGHT) // 2, (_svg.BOTTOM + _svg.TOP) // 2
    assert vertical == f"M{middle[0]} {_svg.BOTTOM}L{middle[0]} {_svg.TOP}"
    assert horizontal == f"M{_svg.LEFT} {middle[1]}L{_svg.RIGHT} {middle[1]}"


def test_error_bars_reach_two_standard_errors():
    dots = Dots(np.array([1.0]), np.array([5.0]), np.array([1.5]))
    panel = Panel([dots], "x", "y", alt="A dot.", x_limits=(0, 2), y_limits=(0, 10))
    bar, _ = Explorer("t", [STEP], [panel]).paths((0,))
    height = _svg.BOTTOM - _svg.TOP
    assert bar == f"M4000 {_svg.BOTTOM - 0.2 * height:.0f}V{_svg.BOTTOM - 0.8 * height:.0f}"


def test_paths_of_each_kind():
    gap = _svg.GAP
    assert _svg.path("line", {"x": [0, 1, 2, 3, 4], "y": [5, 6, gap, 7, 8]}) == "M0 5L1 6M3 7L4 8"
    assert _svg.path("dots", {"x": [1, 2], "y": [3, gap]}, "h9z") == "M1 3h9z"
    assert _svg.path("error", {"x": [1, 2], "low": [9, 9], "high": [3, 4]}) == "M1 9V3M2 9V4"
    assert _svg.path("bars", {"x": [0, 10, 20], "y": [5, 7]}, base=9) == "M0 9V5H10V9zM10 9V7H20V9z"


def test_positions_beyond_the_panel_stay_finite():
    axis = _svg.Axis("log", 0.01, 100, 1000, 5000)
    places = axis.positions(np.array([0.01, 1, 100, 0.0, np.inf, np.nan, 1e300]))
    assert places.tolist()[:3] == [1000, 3000, 5000]
    assert places.tolist()[3:] == [-_svg.FAR, _svg.FAR, _svg.GAP, _svg.FAR]


@given(
    st.sampled_from(["linear", "log"]),
    st.floats(1e-6, 1e6),
    st.floats(1e-3, 1e8),
)
def test_ticks_are_few_and_inside(scale, low, span):
    high = low * (1 + span) if scale == "log" else low + span
    marks = np.array(_svg.ticks(_svg.Axis(scale, low, high, 0, 1)))
    assert 2 <= len(marks) <= 8
    assert np.all((marks - low >= -1e-6 * (high - low)) & (high - marks >= -1e-6 * (high - low)))
    assert np.all(np.diff(marks) > 0)


@pytest.mark.parametrize(
    ("value", "template", "text"),
    [
        (0.01, "{:.6g}", "0.01"),
        (-1, "{:.6g}", "−1"),
        (1e-7, "{:.3g}", "10⁻⁷"),
        (2.5e12, "{:.2e}", "2.5·10¹²"),
        (0.5, "{:.0%}", "50%"),
        (np.inf, "{:.3g}", "inf"),
    ],
)
def test_numbers_as_text(value, template, text):
    assert _svg.number_text(value, template) == text


def test_html_repeats_and_carries_one_identifier():
    first, second = linked()._repr_html_(), linked()._repr_html_()
    assert first == second
    outline = Outline(first)
    ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert ids == [linked().anchor] == ["explorer-errors-steps"]
    assert not any("for" in attributes for _, attributes in outline.tags)
    assert not re.search(r"https?://", first)


@pytest.mark.parametrize(("title", "anchor"), [("Étude: λ > 0", "explorer-tude-0"), ("λ", "explorer-figure")])
def test_an_identifier_is_plain(title, anchor):
    assert Explorer(title, [STEP], [PLAIN]).anchor == anchor


def test_html_names_what_it_shows():
    outline = Outline(linked()._repr_html_())
    images = [svg for svg in outline.all("svg") if svg.get("role") == "img"]
    state = "Shown for penalty λ = 0.1; step size η = 1.00. first error: 0.603; mean: 0.33; verdict: a < b."
    assert [svg["aria-label"] for svg in images] == [
        f"The error peaks at N = n. {state}",
        f"A bell moves to the right. {state}",
    ]
    assert outline.all("figure")[0]["aria-label"] == "Errors & <steps>"
    assert all(slider["data-lm-suppress-shortcuts"] == "true" for slider in outline.all("input"))
    assert "penalty λ" in outline.data["span"]
    assert {"width N/n", "test error", "projection", "density"} <= set(outline.data["text"])


def test_hostile_text_stays_text():
    panel = Panel([VLine(0.5, label="<i>")], "</text>", "y", alt='"quoted"', x_limits=(0, 1), y_limits=(0, 1))
    slider = Slider("s", ["</script><script>x", "b"])
    outline = Outline(Explorer("</figure>", [slider], [panel], caption="<b>")._repr_html_())
    assert len(outline.all("script")) == 2
    assert not outline.all("i") + outline.all("b")


def test_readouts_follow_their_sliders():
    explorer = linked()
    assert explorer.readout_texts((0, 0))[1:] == ["−0.33", "a ≥ b"]
    assert explorer.readout_texts((0, 4))[1:] == ["1.00", "a < b"]
    assert explorer.readout_texts((8, 4))[0] == f"{error(10.0, 3.0)[0]:.3g}"


def test_what_is_told_without_seeing_follows_the_sliders():
    first, last = linked().alts((0, 0)), linked().alts((8, 4))
    assert first[0].startswith("The error peaks at N = n. Shown for penalty λ = 0.001; step size η = −1.00.")
    assert last[0].endswith("mean: 1.00; verdict: a < b.")
    assert words().alts((1,)) == ["Coefficients. Shown for activation σ = relu."]


def controls(slider):
    outline = Outline(Explorer("t", [slider], [PLAIN])._repr_html_())
    return outline, {tag: len(outline.all(tag)) for tag in ("input", "select", "option")}


def test_names_are_chosen_and_numbers_slide():
    outline, counted = controls(Slider("s", ["tanh", "relu", "<i>"], initial="relu", label="activation"))
    assert counted == {"input": 3, "select": 0, "option": 0}
    assert [("checked" in button, button["type"]) for button in outline.all("input")] == [
        (False, "radio"),
        (True, "radio"),
        (False, "radio"),
    ]
    assert outline.data["legend"] == ["activation"]
    assert controls(Slider("s", ["n" * 40, "d" * 40]))[1] == {"input": 0, "select": 1, "option": 2}
    assert controls(Slider("s", list("abcdefg")))[1] == {"input": 0, "select": 1, "option": 7}
    assert controls(Slider("s", [1, 2, 3]))[1] == {"input": 1, "select": 0, "option": 0}


def test_the_value_of_a_slider_keeps_room_for_its_longest_text():
    outline, _ = controls(Slider("s", [0.1, 1e-7, 2.5e-12], format="{:.3g}"))
    assert outline.all("output")[0]["style"] == f"min-width:{len('2.5·10⁻¹²')}ch"


def test_plain_text_is_one_line():
    text = DisplayFormatter().format(linked(), include={"text/plain"})[0]["text/plain"]
    assert text == "<Explorer 'Errors & <steps>': The error peaks at N = n. A bell moves to the right.>"
    broken = Panel([Line(X, X)], "x", "y", alt="one\ntwo")
    assert "\n" not in repr(Explorer("a\nb", [STEP], [broken]))


def exported(exporter, *shown):
    """Notebook with one output a value, as IPython would store it, and exported."""
    outputs = []
    for value in shown:
        data, _ = DisplayFormatter().format(value)
        outputs.append(new_output("display_data", data))
    notebook = new_notebook(cells=[new_code_cell("shown", outputs=outputs)])
    return exporter.from_notebook_node(notebook)


def test_latex_shows_words_and_no_number_of_the_others():
    text, _ = exported(nbconvert.LatexExporter(), linked(), words())
    assert "Explorer" in text
    assert max(map(len, text.splitlines())) < 500


def test_markdown_shows_the_still_figure():
    text, _ = exported(nbconvert.MarkdownExporter(), linked())
    assert linked().paths(linked().start)[0] in text
    assert "Shown for penalty λ = 0.1; step size η = 1.00." in text


def test_tabulate_puts_sliders_before_points():
    table = tabulate(lambda ridge, step: ridge + step * X, RIDGE, STEP)
    assert table.shape == (9, 5, 60)
    assert np.array_equal(table[3, 1], RIDGE.values[3] + STEP.values[1] * X)
    with pytest.raises(ValueError, match="one shape"):
        tabulate(lambda step: X[step < X], STEP)


def test_slider_starts_near_its_initial_value():
    assert Slider("s", [1.0, 2.0, 4.0], initial=3.2).start == 2
    assert Slider("s", [1.0, 2.0, 4.0]).start == 1
    assert words().start == (0,)


def test_axes_cover_all_positions():
    panel = linked().panels[1]
    assert panel.y_axis.low == 0.0
    assert panel.y_axis.high > panel.series[0].heights.max()
    assert panel.x_axis.low < -3 < 3.2 < panel.x_axis.high


def luminance(colour):
    channels = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", COLOURS)
def test_colours_stand_out_on_both_papers(name):
    least = 7 if name == "ink" else 3
    assert contrast(COLOURS[name], "#ffffff") >= least
    assert contrast(DARK_COLOURS[name], "#121212") >= least
    assert contrast(DARK_COLOURS[name], "#111111") >= least


def explorer_of(*series, **options):
    return Explorer("t", [RIDGE, STEP], [Panel(series, "x", "y", alt="words", **options)])


PLAIN = Panel([Line(X, X)], "x", "y", alt="words")


REFUSED = {
    "too heavy": (
        lambda: explorer_of(Line(np.arange(2000), np.ones((9, 5, 2000)), sliders=("ridge", "step"))),
        "more than 150000",
    ),
    "shape": (lambda: explorer_of(Line(X, np.ones((9, 60)), sliders="step")), r"\(9,\).*\(5,\)"),
    "slider name": (lambda: explorer_of(Line(X, np.ones((9, 60)), sliders="width")), "'width'"),
    "points": (lambda: Line(X, X[1:]), "same points"),
    "colour": (lambda: Line(X, X, colour="red"), "colour.*'red'"),
    "dash": (lambda: Line(X, X, dash="wavy"), "dash.*'wavy'"),
    "marker": (lambda: Dots(X, X, marker="star"), "marker.*'star'"),
    "se sign": (lambda: Dots(X, X, -X), "se must be >= 0"),
    "edges": (lambda: Bars([0, 1, 2], [1.0, 2, 3]), "edges"),
    "scale": (lambda: explorer_of(Line(X, X), x_scale="cubic"), "x_scale.*'cubic'"),
    "limits": (lambda: explorer_of(Line(X, X), x_limits=(1, 1)), "x_limits"),
    "alt": (lambda: Panel([Line(X, X)], "x", "y", alt=" "), "alt"),
    "readout": (
        lambda: Explorer("t", [STEP], [PLAIN], [Readout("r", np.ones(4), "step")]),
        r"readout 'r'.*\(5,\).*\(4,\)",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_by_name(case):
    build, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        build()
