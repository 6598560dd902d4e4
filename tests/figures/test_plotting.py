"""Printed figures: what is drawn where, the style's reach, the table of gaps."""

import io
from xml.etree import ElementTree

import matplotlib as mpl
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
from matplotlib.colors import to_hex
from nbclient import NotebookClient

from onestep_lib import Losses
from onestep_lib.figures import plotting

X = np.array([0.5, 1.0, 2.0])
MEAN = np.array([1.0, 4.0, 2.0])
SE = np.array([0.1, 0.5, 0.2])


@pytest.fixture
def ax():
    return plotting.figure()[1]


def test_theory_is_a_line_and_simulation_dots_with_two_standard_errors(ax):
    grid = np.linspace(0.5, 2, 7)
    line, dots = plotting.theory_and_simulation(
        ax, X, grid**2, MEAN, SE, label="test", colour="orange", dash="dashed", x_theory=grid
    )
    assert np.array_equal(line.get_xydata(), np.column_stack([grid, grid**2]))
    points, _, (bars,) = dots
    assert np.array_equal(points.get_xydata(), np.column_stack([X, MEAN]))
    assert points.get_linestyle() == "None"
    ends = np.array(bars.get_segments())
    assert np.allclose(ends[:, 0, 1], MEAN - 2 * SE)
    assert np.allclose(ends[:, 1, 1], MEAN + 2 * SE)
    assert to_hex(line.get_color()) == to_hex(points.get_color()) == plotting.COLOURS["orange"]
    assert line.get_linestyle() == "--"


def test_data_limits_hold_every_error_bar(ax):
    plotting.theory_and_simulation(ax, X, MEAN, MEAN, SE, label="test")
    low, high = ax.get_ylim()
    assert low < np.min(MEAN - 2 * SE)
    assert high > np.max(MEAN + 2 * SE)


def test_legend_has_one_entry_a_curve(ax):
    plotting.theory_and_simulation(ax, X, MEAN, MEAN, SE, label="test")
    plotting.theory_and_simulation(ax, X, MEAN, MEAN, SE, label="train", colour="green")
    ax.plot(X, X, label="plain")
    legend = plotting.legend(ax, loc="upper left")
    assert [text.get_text() for text in legend.get_texts()] == ["test", "train", "plain"]
    assert legend.get_title().get_text() == "line: theory, dots: simulation ± 2 s.e."


def test_legend_of_lines_alone_has_no_heading(ax):
    ax.plot(X, X, label="plain")
    assert plotting.legend(ax).get_title().get_text() == ""


def test_histogram_has_unit_area_and_the_density_is_drawn_as_given(ax):
    samples = np.random.default_rng(3).normal(size=500)
    x = np.linspace(-3, 3, 50)
    bars, line = plotting.histogram_and_density(ax, samples, x, x**2, bins=20, label="law")
    assert sum(bar.get_width() * bar.get_height() for bar in bars) == pytest.approx(1)
    assert len(bars) == 20
    assert np.array_equal(line.get_ydata(), x**2)
    assert ax.get_legend_handles_labels()[1] == ["law, simulation", "law, theory"]


def test_only_use_style_changes_settings():
    before = dict(mpl.rcParams)
    _, ax = plotting.figure(2, 1, sharex=True)
    plotting.theory_and_simulation(ax[0], X, MEAN, MEAN, SE, label="test")
    plotting.legend(ax[0])
    assert dict(mpl.rcParams) == before
    with mpl.rc_context():
        plotting.use_style()
        assert all(mpl.rcParams[name] == value for name, value in plotting.STYLE.items())


def test_figure_is_transparent_with_dark_ink():
    figure, ax = plotting.figure()
    ax.plot(X, MEAN)
    ax.set(xlabel="x", ylabel="y")
    image = plt.imread(io.BytesIO(plotting.picture(figure, alt="words").png))
    assert image[0, 0, 3] == 0
    assert np.mean(image[..., 3] == 0) > 0.5
    dark = (image[..., 3] > 0.9) & (image[..., :3].max(axis=-1) < 0.3)
    assert dark.sum() > 200


def test_figures_grow_with_their_panels():
    (one, _), (stacked, axes), (beside, _) = plotting.figure(), plotting.figure(3), plotting.figure(1, 2)
    assert axes.shape == (3,)
    assert stacked.get_figheight() == pytest.approx(3 * one.get_figheight())
    assert one.get_figwidth() < beside.get_figwidth() < 2 * one.get_figwidth()


def test_picture_carries_its_alternative_text_and_closes_the_figure():
    figure, _ = plotting.figure()
    html = plotting.picture(figure, alt='a "peak" < 1')._repr_html_()
    assert 'alt="a &quot;peak&quot; &lt; 1"' in html
    assert not plt.fignum_exists(figure.number)


@pytest.mark.parametrize(("static", "kind"), [("0", "image/png"), ("1", "image/svg+xml")])
def test_every_cell_of_a_notebook_shows_its_figure(static, kind, monkeypatch):
    monkeypatch.setenv("ONESTEP_STATIC", static)
    source = "from onestep_lib.figures import plotting\nfig, ax = plotting.figure()"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for _ in range(2)])
    NotebookClient(notebook, timeout=120).execute()
    shown = [[output.get("data", {}).keys() for output in cell.outputs] for cell in notebook.cells]
    assert [[kind in keys for keys in cell] for cell in shown] == [[True], [True]]


ROWS = [
    ("test, N = 400", 0.51234, 0.5150, 0.0021),
    ("train", 1.234e-6, 1.2e-6, 1e-7),
    ("far", 123.456, 119.0, 3.3),
]


def test_gap_table_counts_standard_errors():
    assert plotting.gap_table(ROWS, title="loss").splitlines() == [
        "loss              theory  simulation      s.e.  gap/s.e.",
        "test, N = 400     0.5123      0.5150    0.0021      +1.3",
        "train          1.234e-06   1.200e-06   1.0e-07      -0.3",
        "far                123.5       119.0       3.3      -1.4",
        "largest gap: 1.4 standard errors",
    ]


def test_gap_summary_says_what_the_table_shows():
    line = plotting.gap_summary([("a", 1.0, 1.3, 0.1), ("b", 0.0, -0.8, 0.2)], title="losses")
    assert line == "losses: 2 numbers, rms gap 3.5 s.e., largest -4.0 (b)"
    assert plotting.gap_summary([("a", 1.0, 1.0 - 1e-15, 0.1)], title="x").endswith("largest +0.0 (a)")
    assert plotting.gap_summary([("a", 1.0, 1.0, 0.1)], title="x").startswith("x: 1 number, rms gap 0.0 s.e.")


def test_gap_table_does_not_show_the_last_digits_of_another_processor():
    nudged = [(name, *(value * (1 + 1e-12) for value in row)) for name, *row in ROWS]
    assert plotting.gap_table(nudged) == plotting.gap_table(ROWS)
    assert plotting.gap_table([("a", 1.0, 1.0 - 1e-15, 0.1)]).splitlines()[1].split()[-1] == "+0.0"


def test_what_a_reader_has_set_does_not_break_a_figure():
    with mpl.rc_context(
        {"text.usetex": True, "font.family": "no such font", "axes.formatter.use_mathtext": True}
    ):
        drawn, ax = plotting.figure()
        assert not mpl.rcParamsDefault["text.usetex"]
        assert plt.rcParams["text.usetex"]  # theirs outside
        plotting.use_style()
        ax.set(xlabel="κ", title="$\\kappa$")
        drawn.savefig(io.BytesIO())
        assert (plt.rcParams["text.usetex"], plt.rcParams["font.family"]) == (False, ["sans-serif"])
    plt.close(drawn)


def test_curves_draw_the_losses_that_they_are_given(ax):
    losses = {"train": X, "test": 2 * X, "objective": 3 * X}
    seen = Losses(**losses, train_se=SE, test_se=SE, objective_se=SE)
    plotting.curves(ax, X, Losses(**losses), seen, names=("test", "objective"), x_label="x")
    assert [line.get_ydata().tolist() for line in ax.lines[::2]] == [(2 * X).tolist(), (3 * X).tolist()]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["test", "objective"]
    plotting.curves(ax, X, Losses(**losses), names=("train",))
    assert ax.get_ylabel() == "train loss"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("network", ["first layer", "random, frozen", "readout", "fitted by ridge"]),
        (
            "pipeline",
            ["batch 1", "one gradient step", "batch 2", "ridge regression", "test samples", "test loss"],
        ),
    ],
)
def test_drawings_are_whole_and_name_their_parts(name, words):
    tree = ElementTree.fromstring(plotting.drawing(name)._repr_svg_())
    _, _, width, height = map(float, tree.get("viewBox").split())
    texts = [node for node in tree.iter() if node.tag.endswith("text")]
    said = " ".join(node.text for node in texts)
    places = [said.index(word) for word in words]
    assert places == sorted(places)
    for node in texts:  # half of a letter's usual width to either side, and more
        assert 4.2 * len(node.text) < float(node.get("x")) < width - 4.2 * len(node.text)
        assert 12 < float(node.get("y")) < height
