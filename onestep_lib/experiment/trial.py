r"""A trial: an experiment as the lab takes it, every field a word or a number, with one quantity varied.

Its state is one line of text, ``activation=tanh; n=400; step=2; vary=step``, that can be copied and shared.
Steps are in units of :math:`\sqrt N`. A trial knows its settings, what they cost, and the lines of Python
that give the same numbers.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from onestep_lib.activations import ACTIVATIONS, TARGETS, Activation, Target
from onestep_lib.activations import activation as named_activation
from onestep_lib.activations import target as named_target
from onestep_lib.experiment.simulation import peak_bytes, seconds
from onestep_lib.formulas import formula_activation, formula_target
from onestep_lib.settings import READOUTS, ROWS, Setting

VARIED = {"step": "step size η/√N", "width": "width N/n", "samples": "samples n/d", "penalty": "penalty λ"}
"""What may be varied, and the name of its axis."""
BATCHES = ("fresh", "same")
SEED = 1
"""The networks of the lab, and of the code that it writes, come from ``default_rng(SEED)``."""
_DOTS = 7
_BETWEEN = 4


@dataclass(frozen=True)
class Trial:
    r"""An experiment in words and numbers.

    Parameters
    ----------
    activation, target : str
        A name, a formula in z (:mod:`onestep_lib.formulas`), or for the target its Hermite coefficients,
        ``0, 1, 0.5``. A target's mean is subtracted.
    n, d, N : int
    noise, ridge : float
    step : float
        The step size in units of :math:`\sqrt N`; if the step is varied, the largest one.
    rows, readout, batch : str
        See `.Setting`; the batch of the ridge fit is ``fresh`` or the ``same``.
    vary : str
        One of `VARIED`.

    Examples
    --------
    >>> from onestep_lib.experiment.trial import Trial
    >>> trial = Trial.from_line("activation=max(z, 0); target=0, 1, 0.5; N=600; vary=width")
    >>> trial.N, trial.line()
    (600, 'activation=max(z, 0); target=0, 1, 0.5; N=600; vary=width')
    """

    activation: str = "tanh"
    target: str = "He_1"
    n: int = 400
    d: int = 200
    N: int = 300
    noise: float = 0.3
    ridge: float = 0.1
    step: float = 4.0
    rows: str = "gaussian"
    readout: str = "signs"
    batch: str = "fresh"
    vary: str = "step"

    def __post_init__(self) -> None:
        choices = {"rows": ROWS, "readout": READOUTS, "batch": BATCHES, "vary": tuple(VARIED)}
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}")

    @classmethod
    def from_line(cls, line: str) -> Trial:
        """Read a state, ``name=value`` between semicolons; what is not named keeps its default."""
        kinds: dict[str, Callable[[str], Any]] = {f.name: type(getattr(cls, f.name)) for f in fields(cls)}
        found: dict[str, Any] = {}
        for part in filter(None, map(str.strip, line.split(";"))):
            name, equals, value = (word.strip() for word in part.partition("="))
            if name not in kinds or not equals:
                raise ValueError(f"{part!r} must be name=value with a name of {', '.join(kinds)}")
            try:
                found[name] = kinds[name](value)
            except ValueError:
                wanted = "a whole number" if kinds[name] is int else "a number"
                raise ValueError(f"{name} must be {wanted}, got {value!r}") from None
        return cls(**found)

    def line(self) -> str:
        """The state as one line: what differs from the defaults."""
        pairs = ((f.name, getattr(self, f.name)) for f in fields(self) if getattr(self, f.name) != f.default)
        return "; ".join(
            f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in pairs
        )

    def sigma(self) -> Activation:
        """The activation by its name or formula."""
        known = self.activation.removeprefix("centred ") in ACTIVATIONS
        return named_activation(self.activation) if known else formula_activation(self.activation)

    def star(self) -> Target:
        """The target, less its mean."""
        found = _target(self.target)
        return (
            found if abs(found.c0) < 1e-14 else formula_target(f"{_as_formula(self.target)} - ({found.c0!r})")
        )

    def grid(self, points: int) -> np.ndarray:
        """Values of what is varied, from its smallest to its largest: steps and penalties, N/n or n/d."""
        match self.vary:
            case "step":
                return self.step * np.linspace(0, 1, points) ** 1.5
            case "penalty":
                return self.ridge * np.geomspace(1e-3, 1e2, points)
            case "width":
                return np.geomspace(0.2, 4, points)
            case _:
                return np.geomspace(0.3, 8, points)

    @property
    def between(self) -> int:
        """Steps of the theory's grid from one dot to the next."""
        # Where c_2 != 0 each number of samples costs a spectrum of its own, of up to a second.
        return 1 if self.vary == "samples" and self.sigma().c2 else _BETWEEN

    @property
    def line_values(self) -> np.ndarray:
        """Where the theory is drawn; every `between`-th has a dot."""
        return self.grid((_DOTS - 1) * self.between + 1)

    @property
    def dot_values(self) -> np.ndarray:
        """Where networks are simulated."""
        return self.grid(_DOTS)

    def settings(self, values: np.ndarray) -> list[Setting]:
        """One setting with a path for a step or a penalty that is varied, else one a value."""
        own: dict[str, Any] = {
            "activation": self.sigma(), "target": self.star(), "noise": self.noise, "rows": self.rows,
            "readout": self.readout, "fresh": self.batch == "fresh",
        }  # fmt: skip
        if self.vary in ("step", "penalty"):
            step, ridge = (values, self.ridge) if self.vary == "step" else (self.step, values)
            return [Setting(self.n, self.d, self.N, ridge=ridge, step=np.sqrt(self.N) * step, **own)]
        sizes = [
            (self.n, max(1, round(v * self.n)))
            if self.vary == "width"
            else (max(1, round(v * self.d)), self.N)
            for v in values
        ]
        return [Setting(n, self.d, N, ridge=self.ridge, step=np.sqrt(N) * self.step, **own) for n, N in sizes]

    def cost(self) -> tuple[float, float]:
        """Seconds of one repeat on this machine, and bytes at its peak."""
        settings = self.settings(self.dot_values)
        return sum(map(seconds, settings)), max(map(peak_bytes, settings))

    def require_room(self) -> None:
        """Raise if a repeat needs more memory than is there."""
        needed, there = self.cost()[1], memory()
        if needed > there:
            raise ValueError(
                f"these sizes need about {needed / 2**30:.1f} GB and {there / 2**30:.1f} GB are there: "
                "take a smaller n, d or N"
            )

    def code(self, repeats: int) -> str:
        """The lines of Python that give the numbers of the lab.

        Examples
        --------
        >>> from onestep_lib.experiment.trial import Trial
        >>> print(Trial(n=80, d=40, N=60, vary="penalty").code(repeats=4).splitlines()[0])
        import numpy as np
        """
        values = f"np.array({[float(f'{v:.6g}') for v in self.dot_values]})"
        n = "round(value * d)" if self.vary == "samples" else "n"
        N = "round(value * n)" if self.vary == "width" else "N"
        ridge = "values" if self.vary == "penalty" else f"{self.ridge!r}"
        rate = "values" if self.vary == "step" else f"{self.step!r}"
        made = (
            f"Setting({n}, d, {N}, {self._words()},\n"
            f"    noise={self.noise!r}, ridge={ridge}, step=np.sqrt({N}) * {rate}, "
            f"rows={self.rows!r}, readout={self.readout!r}, fresh={self.batch == 'fresh'})"
        )
        body = [f"setting = {made}"]
        if self.batch == "fresh":  # the theory needs a batch of its own
            body.append("print(one_step(setting).test)")
        body += [f"networks = simulate(setting, np.random.default_rng({SEED}), repeats={repeats})"]
        body += ["print(networks.test, networks.test_se)"]
        if self.vary not in ("step", "penalty"):
            body = ["for value in values:", *(f"    {line}" for line in body)]
        lines = ["import numpy as np", "from onestep_lib import Setting, one_step, simulate"]
        if "formula" in made:
            names = [name for name in ("formula_activation", "formula_target") if name in made]
            lines.append(f"from onestep_lib.formulas import {', '.join(names)}")
        lines += ["", f"n, d, N = {self.n}, {self.d}, {self.N}", f"values = {values}"]
        return "\n".join([*lines, *body])

    def _words(self) -> str:
        known = self.activation.removeprefix("centred ") in ACTIVATIONS
        sigma = repr(self.activation) if known else f"formula_activation({self.activation!r})"
        star = self.star()
        if star.polynomial is not None:
            return f"activation={sigma}, target={star.polynomial}"
        return f"activation={sigma}, target=" + (
            repr(self.target) if self.target in TARGETS else f"formula_target({star.name!r})"
        )


def _target(text: str) -> Target:
    if text in TARGETS:
        return TARGETS[text]
    try:
        return named_target([float(part) for part in text.split(",")])
    except ValueError:
        return formula_target(text)


def _as_formula(text: str) -> str:
    found = _target(text)
    if found.polynomial is None:
        return f"({text})"
    return " + ".join(f"({c!r})*He_{k}" for k, c in enumerate(found.polynomial) if c)


def memory() -> float:
    """Bytes that this process may still take: of the machine, of its container, of its notebook server."""
    limits = [float(os.environ.get("MEM_LIMIT") or np.inf)]
    cgroup, held = Path("/sys/fs/cgroup/memory.max"), Path("/proc/self/statm")
    if cgroup.exists() and (text := cgroup.read_text().strip()).isdigit():
        limits.append(float(text))
    if "SC_AVPHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return min(limits)
    page = os.sysconf("SC_PAGE_SIZE")
    own = int(held.read_text().split()[1]) * page if held.exists() else 0  # counts against a limit
    return min(min(limits) - own, float(os.sysconf("SC_AVPHYS_PAGES") * page))
