"""Two explorers that use every kind of series, for the tests here and in the browser."""

import numpy as np

from onestep_lib.figures import Bars, Dots, Explorer, HLine, Line, Panel, Readout, Slider, VLine, tabulate

X = np.linspace(0.1, 4, 60)
RIDGE = Slider("ridge", np.logspace(-3, 1, 9), label="penalty λ", initial=0.1)
STEP = Slider("step", np.linspace(-1, 3, 5), label="step size η", initial=1, format="{:.2f}")


def error(ridge: float, step: float) -> np.ndarray:
    """A curve with a peak at 1 that sinks with both sliders, and a hole where x > 3.5."""
    curve = 0.3 + 1 / ((np.abs(X - 1) + 0.1 + ridge) * (2 + step))
    return np.where(X > 3.5, np.nan, curve)


def linked() -> Explorer:
    """Two sliders, two panels, all kinds of series; x, y or nothing follows a slider."""
    curves = tabulate(error, RIDGE, STEP)
    few = curves[:, 1, ::6]
    edges = np.linspace(-3, 3, 25)
    middles = (edges[1:] + edges[:-1]) / 2
    density = tabulate(lambda step: np.exp(-((middles - step / 3) ** 2) / 2) / 2.5, STEP)
    return Explorer(
        "Errors & <steps>",
        [RIDGE, STEP],
        [
            Panel(
                [
                    Line(X, curves, label="theory", sliders=("ridge", "step"), colour="blue"),
                    Line(X, curves.swapaxes(0, 1), sliders=("step", "ridge"), dash="dotted"),
                    Dots(X[::6], few, 0.1 * few, label="± 2 s.e.", sliders="ridge"),
                    HLine(curves[:, :, 0], sliders=("ridge", "step")),
                    VLine(1.0, label="N = n"),
                ],
                "width N/n",
                "test error",
                alt="The error peaks at N = n.",
                y_scale="log",
                title="Error",
            ),
            Panel(
                [
                    Bars(edges, density, label="simulated", sliders="step", colour="green"),
                    Line(middles + 0.1 * STEP.values[:, None], density, label="density", sliders="step"),
                    VLine(STEP.values / 3, label="mean", sliders="step"),
                    Dots(np.array([0.0]), np.array([0.1])),
                ],
                "projection",
                "density",
                alt="A bell moves to the right.",
                title="Projection",
            ),
        ],
        [
            Readout("first error", curves[:, :, 0], ("ridge", "step")),
            Readout("mean", STEP.values / 3, "step", "{:.2f}"),
            Readout("verdict", np.where(STEP.values > 0, "a < b", "a ≥ b"), "step"),
        ],
        caption="Move the penalty: the peak sinks.",
    )


def words() -> Explorer:
    """One slider over names."""
    name = Slider("activation", ["tanh", "relu", "He₂"], label="activation σ", initial="tanh")
    heights = np.array([[0, 0.6, 0, -0.1], [0.4, 0.5, 0.3, 0], [0, 0, 1, 0]])
    bars = Bars(np.arange(5) - 0.5, heights, sliders="activation")
    return Explorer("Coefficients", [name], [Panel([bars], "degree k", "c", alt="Coefficients.")])


def page(*explorers: Explorer, theme: str = "light") -> str:
    """A page of HTML around explorers, as bare as can be."""
    outputs = "\n".join(explorer._repr_html_() for explorer in explorers)
    return (
        f'<!DOCTYPE html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Explorers</title>'
        "<style>body{margin:16px} html[data-theme=dark] body{background:#121212;color:#eee}</style>"
        f"</head><body><main><h1>Explorers</h1>{outputs}</main></body></html>"
    )
