"""The lab: choose an experiment, see the theory at once, and networks while they run.

``lab()`` shows it in any notebook with a kernel (ipywidgets 7 or 8); on a website it is a still figure and
the way to a kernel. `Session` is what happens behind the widgets, and works without them.
"""

from __future__ import annotations

import asyncio
import base64
import csv
import io
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from html import escape
from importlib.util import find_spec
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onestep_lib.convergence import ConvergenceError
from onestep_lib.experiment.simulation import one_repeat
from onestep_lib.experiment.trial import BATCHES, SEED, VARIED, Trial
from onestep_lib.figures.look import COLOURS, linestyle
from onestep_lib.figures.plotting import figure, legend, log_axis, picture, theory_and_simulation
from onestep_lib.large_step.one_curve import nearest_setting, one_step, step_regimes
from onestep_lib.repeats import mean_and_error
from onestep_lib.settings import READOUTS, ROWS, Setting

__all__ = ["lab"]

_LOSSES = (("test", "orange", "circle", "solid"), ("train", "blue", "square", "dashed"))
# Seconds between two pictures while networks run.
_REDRAW = 0.7
# Fewer repeats say too little of their own scatter.
_ENOUGH = 5


@dataclass
class Session:
    """A trial with its theory, and what has been simulated of it so far."""

    trial: Trial
    theory: np.ndarray | None = None  # (2, line values): test and train
    note: str = ""
    regimes: str = ""
    draws: list[np.ndarray] = field(default_factory=list)  # each (2, dot values)

    def compute(self) -> None:
        """The theory of the trial, or of the nearest one that it covers and a sentence that says so."""
        trial = self.trial
        trial.require_room()
        near = [nearest_setting(setting) for setting in trial.settings(trial.dot_values)]
        met = np.concatenate([step_regimes(setting).ravel() for setting in near])
        self.regimes = f"Regime from left to right: {', '.join(dict.fromkeys(met))}."
        settings = trial.settings(trial.line_values)
        try:
            try:
                self.theory = _theory(settings)
            except ValueError as error:
                self.theory = _theory([nearest_setting(setting) for setting in settings])
                self.note = f"No theory covers this ({error}): the line is that of a fresh batch."
        except (ValueError, ConvergenceError) as error:
            self.note = f"There is no theory here: {error}."

    @property
    def beside(self) -> np.ndarray | None:
        """The theory at the dots, (2, dot values)."""
        return None if self.theory is None else self.theory[:, :: self.trial.between]

    def repeat(self) -> None:
        """One more repeat, the same that the lines of `Trial.code` draw."""
        parts = []
        for setting in self.trial.settings(self.trial.dot_values):
            stream = np.random.default_rng(SEED).spawn(len(self.draws) + 1)[-1]
            parts.append(one_repeat(setting, stream)[[1, 0]].reshape(2, -1))
        self.draws.append(np.concatenate(parts, axis=1))

    def means(self) -> tuple[np.ndarray, np.ndarray]:
        """Means of the repeats and their standard errors, each (2, dot values); one repeat has no error."""
        if len(self.draws) == 1:
            return self.draws[0], np.zeros_like(self.draws[0])
        return mean_and_error(np.array(self.draws))

    def words(self) -> str:
        """What the picture shows, in words."""
        trial, said = self.trial, [self.regimes]
        if self.theory is not None:
            x, y = trial.line_values, self.theory[0]
            said.append(
                f"The test loss of the theory is {y[0]:.3g} at the left end, {y[-1]:.3g} at the right, and "
                f"smallest ({y.min():.3g}) at {VARIED[trial.vary]} = {x[y.argmin()]:.3g}."
            )
        if len(self.draws) >= _ENOUGH and self.beside is not None:
            mean, error = self.means()
            gaps = (mean[0] - self.beside[0]) / error[0]
            said.append(
                f"{len(self.draws)} networks a dot, whose test losses lie "
                f"{', '.join(f'{gap:+.1f}' for gap in gaps)} standard errors from it."
            )
        return " ".join([*said, self.note]).strip()

    def draw(self) -> Figure:
        """The figure: theory as lines, networks as dots."""
        trial = self.trial
        drawn, ax = figure()
        assert isinstance(ax, Axes)
        x, dots = trial.line_values, trial.dot_values
        theory = np.full((2, x.size), np.nan) if self.theory is None else self.theory
        for row, (name, colour, marker, dash) in enumerate(_LOSSES):
            if self.draws:
                mean, error = self.means()
                theory_and_simulation(
                    ax, dots, theory[row], mean[row], error[row],
                    label=f"{name} loss", colour=colour, dash=dash, marker=marker, x_theory=x,
                )  # fmt: skip
            else:
                ax.plot(x, theory[row], color=COLOURS[colour], ls=linestyle(dash), label=f"{name} loss")
        ax.set(xlabel=VARIED[trial.vary], ylabel="loss", ylim=(0, None))
        if trial.vary != "step":
            marks = np.outer(10.0 ** np.arange(-9, 9), [1, 2, 5] if x[-1] < 100 * x[0] else [1]).ravel()
            log_axis(ax, [mark for mark in marks if x[0] <= mark <= x[-1]], VARIED[trial.vary])
        legend(ax)
        return drawn

    def table(self) -> str:
        """The numbers as CSV."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([VARIED[self.trial.vary], "loss", "theory", "networks", "standard error", "repeats"])
        for row, (name, *_) in enumerate(_LOSSES):
            for k, value in enumerate(self.trial.dot_values):
                theory = "" if self.beside is None else f"{self.beside[row, k]:.8g}"
                seen = [f"{part[row, k]:.8g}" for part in self.means()] if self.draws else ["", ""]
                writer.writerow([f"{value:.6g}", name, theory, *seen, len(self.draws)])
        return text.getvalue()


def _theory(settings: list[Setting]) -> np.ndarray:
    losses = one_step(settings)
    return np.array([np.ravel(getattr(losses, name)) for name, *_ in _LOSSES])


@dataclass(frozen=True, eq=False)
class StillFigure:
    """HTML of a picture where no simulation can be run."""

    html: str
    words: str

    def __repr__(self) -> str:
        return f"<live figure: {' '.join(self.words.split())}>"

    def _repr_html_(self) -> str:
        return self.html


def has_kernel() -> bool:
    """Whether widgets work here: a kernel runs, ipywidgets is there, and no website is being built."""
    if os.environ.get("ONESTEP_STATIC") == "1" or not find_spec("ipywidgets"):
        return False
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    return getattr(get_ipython(), "kernel", None) is not None


def lab(state: str = "", presets: Mapping[str, str] | None = None) -> object:
    """Show the lab: fields for an experiment, its theory, and networks that run on request.

    Parameters
    ----------
    state : str
        What it opens with, as its own line of state gives it: ``"activation=relu; vary=width"``
        (:class:`onestep_lib.experiment.trial.Trial`).
    presets : mapping of str to str, optional
        Names of experiments and their states, offered as a list.

    Returns
    -------
    object to be shown as the last value of a cell
        In a kernel an ipywidgets box. Without a kernel or ipywidgets (``pip install 'onestep_lib[live]'``),
        or where the environment variable ONESTEP_STATIC is 1 (a website being built), a still figure.

    Examples
    --------
    >>> from onestep_lib.figures import lab
    >>> print(repr(lab("n=80; d=40; N=60"))[:21])  # without a kernel: a picture
    <live figure: The lab
    """
    session = Session(Trial.from_line(state))
    if has_kernel():
        return _Panel(session, dict(presets or {})).box
    session.compute()
    image = picture(session.draw(), alt=f"The lab. {session.words()}")._repr_html_()
    return StillFigure(
        f'<div class="onestep-live">{image}<p>In a running notebook you choose the experiment here, and '
        'networks run beside the theory. <span class="onestep-binder"></span></p></div>',
        f"The lab. {session.words()}",
    )


class _Panel:
    """The widgets of a lab. Long work runs in a thread, so that the kernel answers and Stop stops."""

    def __init__(self, session: Session, presets: dict[str, str]) -> None:
        import ipywidgets as w

        wide = {"description_width": "8.5em"}
        box = {"width": "min(100%, 21em)"}
        choices = {"rows": ROWS, "readout": READOUTS, "batch": BATCHES, "vary": tuple(VARIED)}
        names = {"step": "step η/√N", "ridge": "penalty λ", "vary": "vary"}
        self.session, self.ran = session, True
        self.presets = {name: Trial.from_line(line).line() for name, line in presets.items()}
        self.task: asyncio.Task[None] | None = None
        self.inputs: dict[str, Any] = {}
        for entry in fields(Trial):
            style = {"description": names.get(entry.name, entry.name), "style": wide, "layout": box}
            value = getattr(session.trial, entry.name)
            if entry.name in choices:
                self.inputs[entry.name] = w.Dropdown(options=choices[entry.name], value=value, **style)
            else:
                text = value if isinstance(value, str) else f"{value:g}"
                self.inputs[entry.name] = w.Text(value=text, continuous_update=False, **style)
        self.preset = w.Dropdown(options=["", *presets], description="preset", style=wide, layout=box)
        self.repeats = w.BoundedIntText(
            value=20, min=2, max=1000, description="networks", style=wide, layout=box
        )
        self.state = w.Text(
            description="state", continuous_update=False, style=wide, layout={"width": "auto"}
        )
        self.run = w.Button(description="Run networks", button_style="primary")
        self.stop = w.Button(description="Stop", disabled=True)
        self.progress = w.FloatProgress(min=0.0, max=1.0, layout={"width": "12em"})
        self.picture, self.said, self.exports = w.HTML(), w.HTML(), w.HTML()
        for field_ in self.inputs.values():
            field_.observe(self._changed, "value")
        self.preset.observe(
            lambda change: self._load(self.presets.get(change.new, self.state.value)), "value"
        )
        self.state.observe(lambda change: self._load(change.new), "value")
        self.run.on_click(lambda _: self._start(self._simulate))
        self.stop.on_click(lambda _: setattr(self, "ran", False))
        grid = w.Box(list(self.inputs.values()), layout={"flex_flow": "row wrap"})
        self.box = w.VBox(
            [
                *([self.preset] if presets else []),
                grid,
                w.HBox([self.repeats, self.run, self.stop, self.progress], layout={"flex_flow": "row wrap"}),
                self.picture,
                self.said,
                self.state,
                self.exports,
            ]
        )
        self._start(self._compute)

    def _changed(self, _: object) -> None:
        self._open("; ".join(f"{name}={field_.value}" for name, field_ in self.inputs.items()))

    def _load(self, line: str) -> None:
        """Take a state that was typed or chosen: set the fields, which then compute."""
        if line == self.session.trial.line():
            return
        self._open(line)
        for name, field_ in self.inputs.items():
            field_.unobserve(self._changed, "value")
            value = getattr(self.session.trial, name)
            field_.value = f"{value:g}" if isinstance(value, int | float) else value
            field_.observe(self._changed, "value")

    def _open(self, line: str) -> None:
        if self.task is not None:  # what it says would take the place of what is wrong
            self.task.cancel()
        try:
            trial = Trial.from_line(line)
        except ValueError as error:
            self._say(f"That cannot be read: {error}")
            return
        self.session = Session(trial)
        self._start(self._compute)

    def _start(self, work: Any) -> None:
        """Stop what runs, and do this on the kernel's own loop."""
        if self.task is not None:
            self.task.cancel()
        self.ran = True
        self.task = asyncio.get_running_loop().create_task(work(self.session))

    async def _compute(self, session: Session) -> None:
        self._say("The theory is being computed (relu and its like take two seconds, once).")
        try:
            await asyncio.to_thread(session.compute)
        except ValueError as error:
            self._say(f"That cannot be done: {error}")
            return
        self._show(session)

    async def _simulate(self, session: Session) -> None:
        if not session.regimes:
            await self._compute(session)
        self.run.disabled, self.stop.disabled = True, False
        wanted, before = self.repeats.value, len(session.draws)
        start, drawn = time.perf_counter(), 0.0
        try:
            while self.ran and session.regimes and (done := len(session.draws)) < wanted:
                await asyncio.to_thread(session.repeat)
                now = time.perf_counter()
                self.progress.value = (done + 1) / wanted
                left = (now - start) / (done + 1 - before) * (wanted - done - 1)
                self.progress.description = f"{left:.0f} s left"
                if now - drawn > _REDRAW:
                    self._show(session)
                    drawn = now
        except (ValueError, MemoryError, np.linalg.LinAlgError) as error:
            self._say(f"The networks cannot be run: {error}")
            return
        finally:
            self.run.disabled, self.stop.disabled, self.progress.description = False, True, ""
        self._show(session)

    def _say(self, text: str) -> None:
        self.said.value = f'<p role="status" aria-live="polite">{escape(text)}</p>'

    def _show(self, session: Session) -> None:
        drawn = session.draw()
        files = {}
        for kind in ("svg", "png"):
            buffer = io.BytesIO()
            drawn.savefig(buffer, format=kind, facecolor="white", dpi=200)
            files[f"figure as {kind.upper()}"] = (f"lab.{kind}", buffer.getvalue())
        files["table as CSV"] = ("lab.csv", session.table().encode())
        words = session.words()
        self.picture.value = picture(drawn, alt=words)._repr_html_()
        seconds, size = session.trial.cost()
        self._say(f"{words} A network at every dot takes about {seconds:.2g} s and {size / 2**20:.0f} MB.")
        self.state.unobserve_all("value")
        self.state.value = line = session.trial.line()
        self.preset.value = next((name for name, own in self.presets.items() if own == line), "")
        self.state.observe(lambda change: self._load(change.new), "value")
        links = " · ".join(_link(label, *file) for label, file in files.items())
        code = escape(session.trial.code(max(2, len(session.draws) or self.repeats.value)))
        self.exports.value = f"<p>{links}</p><details><summary>as code</summary><pre>{code}</pre></details>"


def _link(label: str, name: str, data: bytes) -> str:
    return f'<a download="{name}" href="data:;base64,{base64.b64encode(data).decode()}">{label}</a>'
