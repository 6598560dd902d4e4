"""The HTML of an explorer: controls, panels, legends, read-outs, and the style and script they need.

A slider over numbers is a range input; one over names is a row of radio buttons or, where the names are
many or long, a list to choose from.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import resources

from onestep_lib.figures import svg
from onestep_lib.figures.look import COLOURS, DARK_COLOURS
from onestep_lib.figures.panels import Panel, Slider
from onestep_lib.figures.series import Mark

MOST_BUTTONS = 6
LONGEST_ROW = 60  # letters of all names that still stand beside each other
# JupyterLab takes the arrow keys of a cell's output unless the control itself says no.
KEYS = 'data-lm-suppress-shortcuts="true"'


def page_part(
    anchor: str,
    title: str,
    *,
    sliders: Sequence[Slider],
    panels: str,
    readouts: str,
    data: str,
    caption: str,
) -> str:
    """The whole figure. Controls are shown by the script: without it they would be dead."""
    still = "; ".join(f"{s.label or s.name} = {s.texts[s.start]}" for s in sliders)
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    # A style element is valid in the middle of a page only inside an SVG. The form keeps the radio
    # buttons of two copies of one explorer apart.
    return (
        f'<figure class="onestep-explorer" id="{anchor}" aria-label="{escape(title)}">'
        f'<svg width="0" height="0" aria-hidden="true"><style>{_style()}</style></svg>'
        f'<p class="os-title">{escape(title)}</p>'
        f'<form class="os-controls" autocomplete="off" hidden>{"".join(map(control, sliders))}</form>'
        f'<p class="os-still"><span>Shown for {escape(still)}.</span> The sliders need JavaScript.</p>'
        f'<div class="os-panels">{panels}</div>{readouts}'
        '<div class="os-buttons" hidden><button type="button" class="os-reset">Reset</button>'
        '<button type="button" class="os-link">Copy link to this state</button>'
        '<span class="os-said" role="status"></span></div>'
        f'<script type="application/json">{data}</script>{below}</figure>'
        f"<script>{_static('explorer.js')}</script>"
    )


def control(slider: Slider) -> str:
    """What the reader moves: numbers slide, names are chosen."""
    name = escape(slider.label or slider.name)
    if not isinstance(slider.values[0], str):
        return _range(slider, name)
    few = len(slider) <= MOST_BUTTONS and sum(map(len, slider.texts)) <= LONGEST_ROW
    return _radios(slider, name) if few else _select(slider, name)


def _range(slider: Slider, name: str) -> str:
    text = escape(slider.texts[slider.start])
    room = max(map(len, slider.texts))  # the line keeps its place when the value gets longer
    return (
        f'<div class="os-slider"><label><span>{name}</span>'
        f'<input type="range" min="0" max="{len(slider) - 1}" step="1" value="{slider.start}" '
        f'aria-valuetext="{text}" {KEYS}></label>'
        f'<output aria-live="off" style="min-width:{room}ch">{text}</output></div>'
    )


def _radios(slider: Slider, name: str) -> str:
    buttons = "".join(
        f'<label><input type="radio" name="{escape(slider.name)}" value="{position}"'
        f"{' checked' * (position == slider.start)} {KEYS}>{escape(text)}</label>"
        for position, text in enumerate(slider.texts)
    )
    return f'<fieldset class="os-slider os-choice"><legend>{name}</legend>{buttons}</fieldset>'


def _select(slider: Slider, name: str) -> str:
    options = "".join(
        f'<option value="{position}"{" selected" * (position == slider.start)}>{escape(text)}</option>'
        for position, text in enumerate(slider.texts)
    )
    return (
        f'<div class="os-slider os-choice"><label><span>{name}</span>'
        f"<select {KEYS}>{options}</select></label></div>"
    )


def readouts(rows: Sequence[tuple[str, str]]) -> str:
    """Labels and values below the panels; a screen reader says a row that has changed when it is free."""
    told = "".join(
        f'<div role="listitem"><output aria-live="polite" aria-atomic="true">{escape(label)} '
        f"<b>{escape(text)}</b></output></div>"
        for label, text in rows
    )
    return f'<div class="os-readouts" role="list">{told}</div>' if told else ""


def panel(panel: Panel, marks: Sequence[Mark], start: Sequence[int], alt: str) -> str:
    title = f'<p class="os-panel-title">{escape(panel.title)}</p>' if panel.title else ""
    axes = svg.frame(panel.x_axis, panel.y_axis, panel.x_label, panel.y_label)
    curves = "".join(f'<path data-mark="" {mark.attributes} d="{mark.path(start)}"/>' for mark in marks)
    return (
        f'<div class="os-panel">{title}<svg role="img" aria-label="{escape(alt)}" '
        f'viewBox="0 0 {svg.WIDTH} {svg.HEIGHT}">{axes}{svg.window(curves)}</svg>'
        f"{_legend(panel)}</div>"
    )


def _legend(panel: Panel) -> str:
    """A swatch for every labelled series, drawn by the marks of the series itself."""
    rows = []
    for order, item in enumerate(panel.series):
        if item.label:
            marks = item.swatch(order)
            swatch = "".join(f'<path {mark.attributes} d="{mark.path(())}"/>' for mark in marks)
            rows.append(
                f'<div role="listitem"><svg viewBox="0 0 680 320" aria-hidden="true">{swatch}</svg>'
                f"{escape(item.label)}</div>"
            )
    return f'<div class="os-legend" role="list">{"".join(rows)}</div>' if rows else ""


def _style() -> str:
    light = _properties(COLOURS)
    dark = _properties(DARK_COLOURS)
    classes = "".join(f".os-{name}{{--os-c:var(--os-{name})}}" for name in COLOURS)
    return (
        f".onestep-explorer{{{light}}}"
        f'@media screen{{html[data-theme="dark"] .onestep-explorer,'
        f'body[data-jp-theme-light="false"] .onestep-explorer{{{dark}}}}}'
        f"{classes}{_static('explorer.css')}"
    )


def _properties(colours: dict[str, str]) -> str:
    return ";".join(f"--os-{name}:{value}" for name, value in colours.items())


def _static(name: str) -> str:
    """A file of the package, without the indentation and comments that a page need not carry."""
    text = (resources.files("onestep_lib.figures") / "static" / name).read_text(encoding="utf-8")
    text = text[text.index("*/") + 2 :]
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())
