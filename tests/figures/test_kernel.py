"""Live simulations: a picture without widget state on a static page, sliders and a button in a kernel."""

import matplotlib.pyplot as plt
import nbformat
import pytest
from ipywidgets import Button, FloatProgress, SelectionSlider
from nbclient import NotebookClient

from onestep_lib.figures import Slider, kernel, live, plotting

SLIDERS = [
    Slider("width", [100, 200, 400], label="width N"),
    Slider("name", ["tanh", "relu"], initial="tanh"),
]
CALLS = []


@pytest.fixture(autouse=True)
def _calls():
    CALLS.clear()


def simulate(width, name):
    CALLS.append((width, name))
    figure, ax = plotting.figure()
    ax.set_title(f"{width} {name}")
    return figure


def in_steps(width, name):
    for step in (0.5, 1.0):
        figure, ax = plotting.figure()
        ax.plot([0, step])
        yield step, figure


def widgets_of(box, kind):
    found = [box] if isinstance(box, kind) else []
    return found + [w for child in getattr(box, "children", ()) for w in widgets_of(child, kind)]


def test_static_page_gets_a_picture_with_alt_text_and_a_way_to_a_kernel(monkeypatch):
    monkeypatch.setenv("ONESTEP_STATIC", "1")
    html = live(simulate, SLIDERS, alt="A figure <of nothing>.")._repr_html_()
    assert CALLS == [(200, "tanh")]
    assert 'alt="A figure &lt;of nothing&gt;. (width N = 200, name = tanh)"' in html
    assert '<span class="onestep-binder"></span>' in html
    assert "Simulated for width N = 200, name = tanh." in html


def test_a_given_picture_spares_the_first_run():
    figure, _ = plotting.figure()
    assert "data:image/png" in live(simulate, SLIDERS, alt="words", static=figure)._repr_html_()
    assert CALLS == []


def test_a_generator_leaves_its_last_figure_and_none_open():
    first = list(in_steps(200, "tanh"))[-1][1]
    expected = plotting.picture(first, alt="words (width N = 200, name = tanh)")._repr_html_()
    plt.close("all")
    assert expected in live(in_steps, SLIDERS, alt="words")._repr_html_()
    assert plt.get_fignums() == []


def test_without_ipywidgets_the_picture_stands(monkeypatch):
    import IPython

    monkeypatch.delenv("ONESTEP_STATIC", raising=False)
    monkeypatch.setattr(IPython, "get_ipython", lambda: type("Shell", (), {"kernel": 1})())
    assert kernel.has_kernel()
    monkeypatch.setattr(kernel, "find_spec", lambda name: None)
    assert "data:image/png" in live(simulate, SLIDERS, alt="words")._repr_html_()


@pytest.fixture
def box(monkeypatch):
    monkeypatch.setattr(kernel, "has_kernel", lambda: True)
    return live(simulate, SLIDERS, alt="words")


def test_button_runs_the_simulation_for_the_sliders(box):
    width, name = widgets_of(box, SelectionSlider)
    assert (width.description, name.description) == ("width N", "name")
    width.value, name.value = 400, "relu"
    assert len(CALLS) == 1
    before = box.children[-2].value
    (button,) = widgets_of(box, Button)
    button.click()
    assert CALLS[1:] == [(400, "relu")]
    assert box.children[-2].value != before
    assert 'alt="words (width N = 400, name = relu)"' in box.children[-2].value
    assert not button.disabled


def test_progress_follows_a_generator(monkeypatch):
    monkeypatch.setattr(kernel, "has_kernel", lambda: True)
    box = live(in_steps, SLIDERS, alt="words")
    (progress,) = widgets_of(box, FloatProgress)
    seen = []
    progress.observe(lambda change: seen.append(change["new"]), "value")
    widgets_of(box, Button)[0].click()
    assert seen == [0.5, 1.0]
    assert progress.layout.visibility == "hidden"


@pytest.mark.parametrize("static", [True, False])
def test_a_page_built_statically_holds_no_widget_state(monkeypatch, static):
    monkeypatch.setenv("ONESTEP_STATIC", "1" if static else "0")
    source = (
        "from onestep_lib.figures import Slider, live, plotting\n"
        "live(lambda width: plotting.figure()[0], [Slider('width', [1, 2])], alt='words')"
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    NotebookClient(notebook, timeout=120).execute()
    (output,) = notebook.cells[0].outputs
    assert ("widgets" in notebook.metadata) is not static
    assert ("application/vnd.jupyter.widget-view+json" in output.data) is not static
