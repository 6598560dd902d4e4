"""A simulation behind sliders: run on request where there is a kernel, a picture elsewhere."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from onestep_lib._checks import check_callable, check_items, check_text, shown
from onestep_lib.figures.plotting import picture as as_picture
from onestep_lib.figures.sliders import Slider, value_text

__all__ = [
    "live",
]

Picture = Any
"""A matplotlib figure, or anything with `_repr_html_`."""


@dataclass(frozen=True, eq=False)
class StillFigure:
    """HTML of a picture where no simulation can be run."""

    html: str
    words: str

    def __repr__(self) -> str:
        return f"<live figure: {' '.join(self.words.split())}>"

    def _repr_html_(self) -> str:
        return self.html


def live(
    run: Callable[..., Picture | Iterator[tuple[float, Picture]]],
    sliders: Sequence[Slider],
    *,
    alt: str,
    static: Picture | None = None,
) -> object:
    """Sliders and a button that runs a simulation and draws its figure again.

    Parameters
    ----------
    run : callable
        Takes the sliders' values as keyword arguments, by their names. Returns a figure; or, a
        generator, yields pairs (fraction done, figure so far), which move the progress bar.
    sliders : sequence of Slider
    alt : str
        The figure in words. The values of the sliders are added.
    static : figure, optional
        The first picture; by default `run` at the first positions.

    Returns
    -------
    object to be shown as the last value of a cell
        In a kernel, an ipywidgets box. Without a kernel or without ipywidgets (``pip install
        'onestep_lib[live]'``), or where the environment variable
        ONESTEP_STATIC is 1 (a website being built), plain HTML: the first picture, and
        ``<span class="onestep-binder"></span>`` where the website puts its way to a kernel. No
        widget state is made then, so that no page loads the widget manager for it.

    Examples
    --------
    >>> from onestep_lib.figures import Slider, figure, live
    >>> from onestep_lib.figures.plotting import picture
    >>> def run(N):
    ...     return picture(figure(size=(2, 1))[0], alt=f"Nothing, of width {N}.")
    >>> shown = live(run, [Slider("N", [100, 200, 400])], alt="Nothing.")
    >>> "of width 200." in shown._repr_html_()  # without a kernel: the first picture
    True
    """
    check_callable("run", run)
    sliders = check_items("sliders", sliders, Slider)
    if not check_text("alt", alt).strip():
        raise ValueError(f"alt must describe the figure in words, got {shown(alt)}")
    _check_arguments(run, sliders)
    values = {slider.name: slider.values[slider.start] for slider in sliders}
    last = _last_frame(run, values) if static is None else static
    if static is not None and not isinstance(static, Figure) and not hasattr(static, "_repr_html_"):
        raise TypeError(f"static must be a matplotlib figure or an object with HTML, got {shown(static)}")
    first = _picture_html(last, alt, sliders, values)
    if not has_kernel():
        return StillFigure(_still_html(first, sliders, values), f"{alt} ({_values_text(sliders, values)})")
    return _widget(run, sliders, alt, first)


def _check_arguments(run: Callable[..., Picture], sliders: Sequence[Slider]) -> None:
    try:
        inspect.signature(run).bind(**{slider.name: None for slider in sliders})
    except TypeError as error:
        names = [slider.name for slider in sliders]
        raise TypeError(f"run must take the sliders' names {names} as arguments: {error}") from error


def _frames(run: Callable[..., Picture], values: dict) -> Iterator[tuple[float, Picture]]:
    """What `run` draws, with the fraction done; one frame where it is no generator."""
    result = run(**values)
    if not inspect.isgenerator(result):
        yield 1.0, result
        return
    yield from result


def _last_frame(run: Callable[..., Picture], values: dict) -> Picture:
    picture = None
    for _, picture in _frames(run, values):
        if isinstance(picture, Figure):
            plt.close(picture)  # or the notebook would show every frame; a closed figure still draws
    if picture is None:
        raise ValueError("run must return a figure or yield pairs (fraction done, figure), got none")
    return picture


def _values_text(sliders: Sequence[Slider], values: dict) -> str:
    pairs = ((s.label or s.name, value_text(values[s.name], s.format)) for s in sliders)
    return ", ".join(f"{label} = {text}" for label, text in pairs)


def _picture_html(picture: Picture, alt: str, sliders: Sequence[Slider], values: dict) -> str:
    if isinstance(picture, Figure):
        picture = as_picture(picture, alt=f"{alt} ({_values_text(sliders, values)})")
    if not hasattr(picture, "_repr_html_"):
        raise TypeError(f"run must draw a matplotlib figure or an object with HTML, got {shown(picture)}")
    return picture._repr_html_()


def _still_html(first: str, sliders: Sequence[Slider], values: dict) -> str:
    return (
        f'<div class="onestep-live">{first}<p>Simulated for '
        f"{escape(_values_text(sliders, values))}. In a running notebook this cell has sliders and "
        'a button that runs the simulation again. <span class="onestep-binder"></span></p></div>'
    )


def has_kernel() -> bool:
    """Whether widgets work here: a kernel runs, ipywidgets is there, and no website is being built."""
    if os.environ.get("ONESTEP_STATIC") == "1" or not find_spec("ipywidgets"):
        return False
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    return getattr(get_ipython(), "kernel", None) is not None


def _widget(run: Callable[..., Picture], sliders: Sequence[Slider], alt: str, first: str) -> object:
    import ipywidgets as widgets

    wide = {"description_width": "12em"}
    controls = [
        widgets.SelectionSlider(
            options=list(zip(s.texts, s.values, strict=True)),
            index=s.start,
            description=s.label or s.name,
            continuous_update=False,
            style=wide,
            layout={"width": "min(100%, 34em)"},
        )
        for s in sliders
    ]
    button = widgets.Button(description="Run the simulation", button_style="primary")
    progress = widgets.FloatProgress(min=0.0, max=1.0, layout={"visibility": "hidden"})
    picture, problems = widgets.HTML(first), widgets.Output()

    def refresh(_: object) -> None:
        values = {s.name: control.value for s, control in zip(sliders, controls, strict=True)}
        problems.clear_output()
        button.disabled, progress.value, progress.layout.visibility = True, 0.0, "visible"
        try:
            with problems:
                for progress.value, frame in _frames(run, values):
                    picture.value = _picture_html(frame, alt, sliders, values)
        finally:
            button.disabled, progress.layout.visibility = False, "hidden"

    button.on_click(refresh)
    return widgets.VBox([*controls, widgets.HBox([button, progress]), picture, problems])
