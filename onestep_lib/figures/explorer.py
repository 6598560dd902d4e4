"""Figures with sliders that live on a page without a kernel.

An `Explorer` is plain HTML: Python computes every curve for every position of the sliders, draws the
first picture itself as SVG and ships the rest as packed integers; a small script puts the curves of
the chosen position in place. It shows the same on the website, in JupyterLab and in a saved HTML
file, and remains a finished figure where scripts do not run. ::

    ridge = Slider("ridge", np.logspace(-3, 1, 25), label="penalty λ", initial=0.1)
    psi = np.linspace(0.1, 4, 120)
    curve = tabulate(lambda value: test_error(psi, value), ridge)          # (25, 120)
    Explorer(
        "Double descent",
        sliders=[ridge],
        panels=[Panel([Line(psi, curve, label="theory", sliders="ridge")], "N/n", "test error",
                      alt="The test error peaks where N = n; a larger penalty removes the peak.")],
        readouts=[Readout("smallest error", curve.min(axis=1), sliders="ridge")],
    )

`lab` runs networks beside the theory where there is a kernel, and leaves a picture elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from onestep_lib._checks import check_items, check_text, shown
from onestep_lib.figures import _html
from onestep_lib.figures.panels import Panel, Readout, Slider
from onestep_lib.figures.series import Mark

__all__ = [
    "Explorer",
]

MAX_BYTES = 150_000
"""Largest HTML of one explorer: a page must stay light."""


@dataclass(frozen=True, eq=False)
class Explorer:
    """A figure with sliders; as the last value of a notebook cell it is shown.

    Parameters
    ----------
    title : str
    sliders : sequence of Slider
    panels : sequence of Panel
        All of them follow the same sliders.
    readouts : sequence of Readout
    caption : str
        Below the figure: what to try and what to see.

    Raises
    ------
    ValueError
        If a shape does not fit the sliders, a name is unknown, or the HTML exceeds 150 kB.

    Examples
    --------
    >>> from onestep_lib.figures import Explorer, Line, Panel, Readout, Slider, tabulate
    >>> slope = Slider("slope", [1, 2, 3])
    >>> lines = Line([0, 1], tabulate(lambda value: [0, value], slope), sliders="slope")
    >>> panel = Panel([lines], "x", "y", alt="A line through 0.")
    >>> explorer = Explorer("Slopes", [slope], [panel], [Readout("at 1", [1, 2, 3], sliders="slope")])
    >>> explorer.readout_texts(explorer.start)
    ['2']
    """

    title: str
    sliders: Sequence[Slider]
    panels: Sequence[Panel]
    readouts: Sequence[Readout] = ()
    caption: str = ""

    def __post_init__(self) -> None:
        for name, kind in {"sliders": Slider, "panels": Panel, "readouts": Readout}.items():
            object.__setattr__(self, name, check_items(name, getattr(self, name), kind))
        for name in ("title", "caption"):
            check_text(name, getattr(self, name))
        names = [slider.name for slider in self.sliders]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"sliders must be one or more, of different names, got {names}")
        if not self.panels:
            raise ValueError("panels must hold at least one Panel, got none")
        size = len(self._html.encode())
        if size > MAX_BYTES:
            raise ValueError(
                f"the explorer {shown(self.title)} takes {size} bytes, more than {MAX_BYTES}: "
                "give the sliders fewer values or the curves fewer points"
            )

    @property
    def start(self) -> tuple[int, ...]:
        """Positions of the sliders in the first picture."""
        return tuple(slider.start for slider in self.sliders)

    def paths(self, positions: Sequence[int]) -> list[str]:
        """SVG paths of all marks at the sliders' positions, in the order of the page."""
        return [mark.path(positions) for marks in self._marks for mark in marks]

    def readout_texts(self, positions: Sequence[int]) -> list[str]:
        """Read-outs at the sliders' positions, in the order of the page."""
        tables = (readout.texts(self.sliders) for readout in self.readouts)
        return [str(texts[tuple(positions[s] for s in follow)]) for texts, follow in tables]

    def alts(self, positions: Sequence[int]) -> list[str]:
        """What a reader who does not see the panels is told at the sliders' positions."""
        choice = "; ".join(
            f"{slider.label or slider.name} = {slider.texts[position]}"
            for slider, position in zip(self.sliders, positions, strict=True)
        )
        rows = zip(self.readouts, self.readout_texts(positions), strict=True)
        told = "; ".join(f"{readout.label}: {text}" for readout, text in rows)
        state = f"Shown for {choice}." + (f" {told}." if told else "")
        return [f"{panel.alt} {state}" for panel in self.panels]

    @property
    def anchor(self) -> str:
        """The explorer's id on a page, from its title: a link to a state of the sliders starts with it."""
        words = re.sub(r"[^0-9a-z]+", "-", self.title.lower()).strip("-")
        return f"explorer-{words or 'figure'}"

    def __repr__(self) -> str:
        words = " ".join(" ".join(panel.alt for panel in self.panels).split())
        return f"<Explorer {' '.join(self.title.split())!r}: {words}>"

    def _repr_html_(self) -> str:
        return self._html

    @cached_property
    def _marks(self) -> list[list[Mark]]:
        return [panel.marks(self.sliders) for panel in self.panels]

    @cached_property
    def _html(self) -> str:
        panels = "".join(
            _html.panel(panel, marks, self.start, alt)
            for panel, marks, alt in zip(self.panels, self._marks, self.alts(self.start), strict=True)
        )
        readouts = zip([r.label for r in self.readouts], self.readout_texts(self.start), strict=True)
        return _html.page_part(
            self.anchor,
            self.title,
            sliders=self.sliders,
            panels=panels,
            readouts=_html.readouts(list(readouts)),
            data=self._data(),
            caption=self.caption,
        )

    def _data(self) -> str:
        readouts = [readout.texts(self.sliders) for readout in self.readouts]
        data = {
            "sliders": [{"name": s.name, "label": s.label or s.name, "texts": s.texts} for s in self.sliders],
            "marks": [mark.packed() for marks in self._marks for mark in marks],
            "readouts": [
                {"label": readout.label, "texts": texts.ravel().tolist(), "sliders": follow}
                for readout, (texts, follow) in zip(self.readouts, readouts, strict=True)
            ],
            "alts": [panel.alt for panel in self.panels],
        }
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        return text.replace("<", "\\u003c")  # keeps "</script>" in a label from ending the script
