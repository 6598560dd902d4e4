"""The lab without a browser: its numbers are the library's, its code gives them, it says what it refuses."""

import asyncio
import contextlib
import io

import IPython
import nbformat
import numpy as np
import psutil
import pytest
from nbclient import NotebookClient

from onestep_lib import one_step, simulate
from onestep_lib.experiment import trial as trials
from onestep_lib.experiment.trial import SEED, Trial
from onestep_lib.figures import lab, laboratory
from onestep_lib.figures.laboratory import Session, _Panel

SMALL = "n=60; d=30; N=45; "


def ran(line: str, repeats: int = 0) -> Session:
    session = Session(Trial.from_line(SMALL + line))
    session.compute()
    for _ in range(repeats):
        session.repeat()
    return session


@pytest.mark.parametrize("vary", ["step", "penalty", "width", "samples"])
def test_lines_and_dots_are_those_of_the_library(vary):
    session = ran(f"vary={vary}; target=He_1 + He_3/4", repeats=5)
    settings = session.trial.settings(session.trial.dot_values)
    theory = np.concatenate([np.ravel(one_step(setting).test) for setting in settings])
    np.testing.assert_allclose(session.beside[0], theory, rtol=1e-7)
    losses = [simulate(setting, np.random.default_rng(SEED), repeats=5) for setting in settings]
    mean, error = session.means()
    np.testing.assert_array_equal(mean[0], np.concatenate([np.ravel(x.test) for x in losses]))
    np.testing.assert_array_equal(mean[1], np.concatenate([np.ravel(x.train) for x in losses]))
    np.testing.assert_allclose(error[0], np.concatenate([np.ravel(x.test_se) for x in losses]), rtol=1e-12)
    assert "5 networks a dot" in session.words()


@pytest.mark.parametrize("line", ["vary=width; activation=max(z, 0) - 0.1; target=z^2 + z", "vary=step"])
def test_as_code_gives_the_numbers_of_the_lab(line):
    session, said = ran(line, repeats=2), io.StringIO()
    with contextlib.redirect_stdout(said), np.printoptions(precision=17):
        exec(session.trial.code(2), {})
    printed = np.array([float(word) for word in said.getvalue().replace("[", " ").replace("]", " ").split()])
    mean, error = session.means()
    rows = [session.beside[0], mean[0], error[0]]
    found = printed.reshape(-1, 3).T if "width" in line else printed.reshape(3, -1)
    # The code prints the varied quantity to six digits.
    np.testing.assert_allclose(found[0], rows[0], rtol=1e-4)
    np.testing.assert_allclose(found[1:], rows[1:], rtol=1e-3)


def test_where_no_theory_applies_the_nearest_is_drawn_and_named():
    session = ran("batch=same", repeats=0)
    assert "fresh must be True" in session.words()
    np.testing.assert_array_equal(session.theory, ran("batch=fresh").theory)


def test_a_state_is_a_line_and_back():
    line = "activation=abs(z); target=0, 0, 1; N=77; ridge=0.003; readout=gaussian; vary=penalty"
    assert Trial.from_line(line).line() == line
    assert Trial.from_line("").line() == ""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("n=many", "n must be a whole number"),
        ("colour=red", "name=value with a name of activation"),
        ("rows=square", "rows must be one of gaussian, spherical"),
        ("activation=2z", "no formula"),
        ("target=1/z", "finite|jump"),
        ("n=0", "n must be"),
        ("noise=-1", "noise must be"),
    ],
)
def test_what_cannot_be_read_is_said(line, words):
    with pytest.raises(ValueError, match=words):
        Session(Trial.from_line(line)).compute()


def test_too_much_memory_is_refused_and_work_is_estimated(monkeypatch):
    monkeypatch.setattr(trials, "memory", lambda: 1e9)
    Trial().require_room()
    with pytest.raises(ValueError, match=r"need about \d+\.\d GB and 0\.9 GB are there"):
        Trial(n=20_000, N=20_000).require_room()
    small, large = (Trial(n=n, d=n // 2, N=n, vary="penalty").cost()[0] for n in (100, 400))
    assert 8 < large / small < 64  # between the square and the cube


def test_the_table_holds_every_dot():
    rows = ran("", repeats=3).table().splitlines()
    assert len(rows) == 1 + 2 * 7
    assert rows[1].startswith("0,test,")
    assert rows[1].endswith(",3")


def test_sizes_that_do_not_fit_beside_the_process_are_refused(monkeypatch):
    trial = Trial.from_line("n=20000; d=200; N=400")
    monkeypatch.setenv("MEM_LIMIT", str(psutil.Process().memory_info().rss + 2 * trial.cost()[1]))
    trial.require_room()
    monkeypatch.setenv("MEM_LIMIT", str(psutil.Process().memory_info().rss + trial.cost()[1] / 2))
    with pytest.raises(ValueError, match="take a smaller n"):
        trial.require_room()


def test_without_a_kernel_a_still_figure_stands():
    html = lab(SMALL)._repr_html_()
    assert "onestep-binder" in html
    assert "Regime from left to right" in html


def test_widgets_run_stop_and_refuse():
    async def visit() -> None:
        panel = _Panel(Session(Trial.from_line(SMALL)), {"wide": SMALL + "vary=width"})
        await panel.task
        assert "smallest" in panel.said.value
        panel.repeats.value = 1000
        panel.run.click()
        while not panel.session.draws:
            await asyncio.sleep(0.01)
        panel.stop.click()
        await panel.task
        assert len(panel.session.draws) < 1000
        assert not panel.run.disabled
        panel.inputs["activation"].value = "2z"
        await panel.task
        assert "no formula" in panel.said.value
        panel.preset.value = "wide"
        await panel.task
        assert panel.inputs["vary"].value == "width"
        assert panel.inputs["activation"].value == "tanh"
        panel.state.value = SMALL + "ridge=0.5"
        await panel.task
        assert panel.inputs["ridge"].value == "0.5"
        assert panel.preset.value == ""
        panel.preset.value = "wide"  # chosen again, it comes back
        await panel.task
        assert panel.inputs["ridge"].value == "0.1"
        assert panel.preset.value == "wide"
        assert "download" in panel.exports.value

    asyncio.run(visit())


def test_without_ipywidgets_a_picture_stands(monkeypatch):
    monkeypatch.delenv("ONESTEP_STATIC", raising=False)
    monkeypatch.setattr(IPython, "get_ipython", lambda: type("Shell", (), {"kernel": 1})())
    assert laboratory.has_kernel()
    monkeypatch.setattr(laboratory, "find_spec", lambda name: None)
    assert "data:image/png" in lab(SMALL)._repr_html_()


@pytest.mark.parametrize("static", [True, False])
def test_a_page_built_statically_holds_no_widget_state(monkeypatch, static):
    monkeypatch.setenv("ONESTEP_STATIC", "1" if static else "0")
    source = f"from onestep_lib.figures import lab\nlab({SMALL!r})"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    NotebookClient(notebook, timeout=120).execute()
    (output,) = notebook.cells[0].outputs
    assert ("widgets" in notebook.metadata) is not static
    assert ("application/vnd.jupyter.widget-view+json" in output.data) is not static
