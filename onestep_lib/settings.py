r"""One description of an experiment, and the losses that every theory and the simulator return.

**The normalisation, stated once.** A batch has n samples :math:`x_i\sim N(0,I_d)` with labels
:math:`y_i=\sigma_*(\langle\beta_*,x_i\rangle)+\varepsilon_i`, :math:`|\beta_*|=1`,
:math:`\varepsilon_i\sim N(0,\text{noise}^2)`. The features are :math:`F=\sigma(XW^\top)`, n by N, with
**no** factor :math:`1/\sqrt N`, and the second layer is fitted on a fresh batch by ridge regression
(:eq:`eq-ridge-problem`),

.. math:: \hat a=\arg\min_a\ \tfrac1n|y-Fa|^2+\lambda|a|^2 .

The three losses (:eq:`eq-three-losses`) are

* ``train`` :math:`=\frac1n|y-F\hat a|^2`, without the penalty;
* ``objective`` :math:`=` ``train`` :math:`+\lambda|\hat a|^2`, the minimum itself (the training loss of
  Moniri et al.);
* ``test`` :math:`=\mathbb E(y-f(x))^2` on new data, the label noise included.

The first layer starts at :math:`W_0` with rows :math:`N(0,I_d/d)` (``rows="gaussian"``) or uniform on the
unit sphere (``"spherical"``), and may take one gradient step of size :math:`\eta` on its own batch, of
:math:`n_0` samples (n unless the setting says otherwise),

.. math:: W_1=W_0+\eta\,G,\qquad
          G=\tfrac1{n_0}\big[(a\,r^\top)\circ\sigma'(W_0X^\top)\big]X ,

with the readout :math:`a\sim N(0,I_N/N)` (``readout="gaussian"``), :math:`a_j=\pm1/\sqrt N`
(``"signs"``), or :math:`a_j=z_j/\sqrt N` with the values z of a
:class:`~onestep_lib.initialisation.Vocabulary`. What the residual r subtracts from y is ``output``: nothing
(``"centred"``, the network with its initial output removed), :math:`a^\top\sigma(W_0x)/\sqrt N`
(``"scaled"``: Ba et al. and Cui et al.; it vanishes as N grows, and the factor they put before the gradient
of their loss is this :math:`\eta` times :math:`\sqrt N`), or :math:`a^\top\sigma(W_0x)` (``"raw"``, of
order one).

Initial rows may be correlated: with ``shared`` = s they have a component in common,
:math:`w_j=\sqrt s\,m+\sqrt{1-s}\,w_j'`, m and the :math:`w_j'` drawn as rows are (on the sphere:
:math:`w_j'` across m), so that two rows have the inner product s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import (
    check_choice,
    check_count,
    check_flag,
    check_matrix,
    check_nonnegative,
    check_number,
    check_path,
    check_size,
    shown,
)
from onestep_lib._values import plain
from onestep_lib.activations import Activation, Target
from onestep_lib.activations import activation as as_activation
from onestep_lib.activations import target as as_target
from onestep_lib.initialisation import GivenRows, Vocabulary
from onestep_lib.quadrature import ScalarFunction
from onestep_lib.repeats import mean_and_error
from onestep_lib.schedules import Schedule
from onestep_lib.two_index import TwoIndexTarget

__all__ = [
    "Losses",
    "Setting",
]

ROWS = ("gaussian", "spherical")
READOUTS = ("gaussian", "signs")
OUTPUTS = ("centred", "scaled", "raw")
INPUTS = ("gaussian", "spherical", "rademacher", "uniform", "student", "correlated", "digits")
THEORY_INPUTS = ("gaussian", "spherical")
"""The distributions of the inputs that the theories cover."""
LOSSES = ("train", "test", "objective")


def _path(name: str, value: ArrayLike) -> float | tuple[float, ...]:
    array = check_path(name, value)
    return float(array) if array.ndim == 0 else tuple(array.tolist())


def _readout(value: Any) -> str | Vocabulary:
    """A readout by its name, or a vocabulary, or the values of one with equal shares."""
    if isinstance(value, Vocabulary):
        return value
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        try:
            return Vocabulary(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"readout must hold the values of a vocabulary: {error}") from None
    if isinstance(value, str) and value in READOUTS:
        return value
    raise ValueError(
        f"readout must be one of {', '.join(map(repr, READOUTS))}, a Vocabulary or its values, "
        f"got {shown(value)}"
    )


def _rows(value: Any, shape: tuple[int, int]) -> str | GivenRows:
    """Rows by the name of their law, or given by hand."""
    if isinstance(value, list | tuple | np.ndarray):
        value = GivenRows(check_matrix("rows", value))
    if not isinstance(value, GivenRows):
        return check_choice("rows", value, ROWS)
    if value.weights.shape != shape:
        raise ValueError(f"rows must have the shape (N, d) = {shape}, got {value.weights.shape}")
    return value


def _shared(value: Any, rows: str | GivenRows) -> float:
    shared = check_number("shared", value, check_nonnegative)
    if shared >= 1:
        raise ValueError(f"shared must be below 1, got {shown(value)}")
    if shared and isinstance(rows, GivenRows):
        raise ValueError(f"shared must be 0 with rows given by hand, got {shown(value)}")
    return shared


def _updates(value: Any, n: int, fresh: bool) -> int | Schedule:
    if isinstance(value, Schedule):
        if not fresh and (value.batches == "fresh" or max(value.sizes(n)) > n):
            raise ValueError(
                "updates must take their steps on the first samples of the ridge batch with fresh=False, "
                f"n = {n}, got {shown(value)}"
            )
        return value
    return check_count("updates", value)


@dataclass(frozen=True, init=False)
class Setting:
    r"""An experiment; the normalisation is that of :mod:`onestep_lib.settings`.

    The fields in groups: sizes (n, d, N, n_0), the problem (activation, target, noise), the fit (ridge), the
    start (rows, readout, shared), the step (step, output), and what no theory covers but the simulator does
    (other ``inputs``, ``fresh=False``, several ``updates``, rows by hand).

    Parameters
    ----------
    n, d, N : int
        Sizes: samples of the ridge batch, input dimension, hidden width.
    activation : str, callable or Activation
        See ``activations.ACTIVATIONS``.
    target : sequence of float, str, callable, Target or TwoIndexTarget
        Hermite coefficients of the target, or one of its other forms; or a target of two directions
        (:mod:`onestep_lib.two_index`).
    noise : float
        Standard deviation of the label noise.
    ridge : float or sequence of float
        The fit: the penalty lambda >= 0 in ``(1/n)|y - Fa|^2 + lambda |a|^2``; a sequence is a path.
    step : float or sequence of float
        The step size eta >= 0 (0: random features); a sequence shares its draws.
    rows : str or array_like, shape (N, d)
        The start: one of ``ROWS``, or the initial rows themselves.
    readout : str, Vocabulary or sequence of float
        One of ``READOUTS``, or a :class:`~onestep_lib.initialisation.Vocabulary`, or its values alone
        (equal shares; ``[1]``: all ones).
    inputs : str
        One of ``INPUTS`` (:mod:`onestep_lib.experiment.batches`); the theories cover ``THEORY_INPUTS``.
    output : str
        What the residual of the step subtracts, one of ``OUTPUTS``.
    fresh : bool
        Fit the second layer on a batch of its own; False reuses the gradient's batch.
    updates : int or Schedule
        Gradient steps of size eta on the same batch, or a :class:`~onestep_lib.schedules.Schedule` of steps.
    shared : float
        The inner product of two initial rows, in [0, 1).
    n_0 : int, optional
        Samples of the gradient's batch; None: as many as n. With ``fresh=False`` there is one batch.

    Raises
    ------
    TypeError, ValueError
        Naming the argument, its value and what is allowed.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> s = Setting(n=1000, d=600, N=800, activation="tanh", target=(0, 1), ridge=[0.1, 1])
    >>> s.phi, s.psi, s.shape
    (0.6, 0.75, (2,))
    >>> s.phi_0, s.replace(n=2000).phi_0, s.replace(n_0=3000).phi_0
    (0.6, 0.3, 0.2)
    """

    n: int
    d: int
    N: int
    activation: Activation
    target: Target | TwoIndexTarget
    noise: float
    ridge: float | tuple[float, ...]
    step: float | tuple[float, ...]
    rows: str | GivenRows
    readout: str | Vocabulary
    inputs: str
    output: str
    fresh: bool
    updates: int | Schedule
    shared: float
    n_0: int | None

    # Written out, so that the arguments may be wide (a name, a callable, a list) and the fields narrow.
    def __init__(
        self,
        n: int,
        d: int,
        N: int,
        activation: Activation | str | ScalarFunction = "tanh",
        target: Target | TwoIndexTarget | str | Sequence[float] | ScalarFunction = (0.0, 1.0),
        noise: float = 0.0,
        ridge: ArrayLike = 0.1,
        step: ArrayLike = 0.0,
        rows: str | ArrayLike | GivenRows = "gaussian",
        readout: str | Sequence[float] | Vocabulary = "gaussian",
        inputs: str = "gaussian",
        output: str = "centred",
        fresh: bool = True,
        updates: int | Schedule = 1,
        shared: float = 0.0,
        n_0: int | None = None,
    ) -> None:
        given = _rows(rows, (check_count("N", N), check_count("d", d)))
        fields: dict[str, Any] = {
            "n": check_count("n", n),
            "d": check_count("d", d),
            "N": check_count("N", N),
            "activation": as_activation(activation),
            "target": target if isinstance(target, TwoIndexTarget) else as_target(target),
            "noise": check_number("noise", noise, check_nonnegative),
            "ridge": _path("ridge", ridge),
            "step": _path("step", step),
            "rows": given,
            "readout": _readout(readout),
            "inputs": check_choice("inputs", inputs, INPUTS),
            "output": check_choice("output", output, OUTPUTS),
            "fresh": check_flag("fresh", fresh),
            "updates": _updates(updates, n, fresh),
            "shared": _shared(shared, given),
            "n_0": None if n_0 is None else check_count("n_0", n_0),
        }
        if not fields["fresh"] and fields["n_0"] not in (None, fields["n"]):
            raise ValueError(f"n_0 must be None or n = {n} with fresh=False, got {n_0}: there is one batch")
        for name in ("noise", "ridge", "step"):
            check_size(name, fields[name])
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def phi(self) -> float:
        """The ratio d/n of the ridge batch."""
        return self.d / self.n

    @property
    def step_samples(self) -> int:
        """The samples of the gradient's batch: n_0, or n if that is None."""
        return self.n if self.n_0 is None else self.n_0

    @property
    def phi_0(self) -> float:
        """The ratio d/n_0 of the gradient's batch."""
        return self.d / self.step_samples

    @property
    def psi(self) -> float:
        """The ratio d/N."""
        return self.d / self.N

    @property
    def ridges(self) -> np.ndarray:
        """The penalties as an array: shape () or (L,)."""
        return np.asarray(self.ridge)

    @property
    def steps(self) -> np.ndarray:
        """The step sizes as an array: shape () or (S,)."""
        return np.asarray(self.step)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of every loss: steps.shape + ridges.shape."""
        return self.steps.shape + self.ridges.shape

    @property
    def total_steps(self) -> np.ndarray:
        """The total size of all gradient steps, of the shape of the steps."""
        updates = self.updates
        return self.steps * (updates.total if isinstance(updates, Schedule) else updates)

    @property
    def vocabulary(self) -> Vocabulary | None:
        r"""The values of :math:`z=\sqrt N\,a_j` and their shares; None for a Gaussian readout."""
        if isinstance(self.readout, Vocabulary):
            return self.readout
        return Vocabulary((1.0, -1.0)) if self.readout == "signs" else None

    @property
    def readout_power(self) -> float:
        r""":math:`\mathbb E|a|^2=\mathbb Ez^2`, 1 unless the readout is a vocabulary."""
        return self.readout.moment(2) if isinstance(self.readout, Vocabulary) else 1.0

    def require_theory(self, stepped: bool = False) -> None:
        """Raise where an assumption of all theories fails; what else a theory refuses it says itself.

        They assume Gaussian-like inputs, rows that are drawn and independent, features that are not constant,
        and one step on fresh data. With `stepped` the theory describes a step whatever the setting's step
        sizes.
        """
        if not self.activation.nonlinear_power and not self.activation.c1:
            raise ValueError(f"activation must not be constant here, got {shown(self.activation.name)}")
        if self.inputs not in THEORY_INPUTS:
            raise ValueError(
                f"inputs must be one of {', '.join(map(repr, THEORY_INPUTS))} for a theory, got "
                f"{self.inputs!r} (simulate it, and compare with the theory of Gaussian inputs)"
            )
        if isinstance(self.rows, GivenRows):
            raise ValueError(f"rows must be one of {', '.join(map(repr, ROWS))} here, got rows by hand")
        if self.shared:
            raise ValueError(
                f"shared must be 0 here, got {self.shared:.6g} (onestep_lib.beyond.shared_features covers it)"
            )
        if (stepped or np.any(self.step)) and not (self.fresh and self.updates == 1):
            raise ValueError(
                f"fresh must be True and updates 1 for a theory with a step, got fresh={self.fresh}, "
                f"updates={self.updates}"
            )

    def single_index(self) -> Target:
        """Return the target, or raise if it has two directions."""
        if isinstance(self.target, TwoIndexTarget):
            raise ValueError(
                f"target must have one direction here, got {shown(self.target.name)} of two (simulate it)"
            )
        return self.target

    def require_centred(self) -> None:
        """Raise unless the target has mean zero."""
        if abs(self.target.c0) > 1e-12:
            raise ValueError(
                f"target must have mean zero (c_*0 = 0) here, got {shown(self.target.name)} with c_*0 = "
                f"{self.target.c0:.6g}: subtract its mean"
            )

    def require_small_output(self) -> None:
        """Raise where a vocabulary of readouts gives the network an output that no theory of a step has."""
        readout = self.readout
        if not isinstance(readout, Vocabulary):
            return
        # A raw output grows with |a|, which is 1 in the theories of raw networks.
        if self.output == "raw":
            raise ValueError(
                f"output must be 'centred' or 'scaled' for a vocabulary of readouts, got {self.output!r}"
            )
        mean = readout.moment(1) * self.activation.c0
        if self.output == "scaled" and abs(mean) > 1e-12:
            raise ValueError(
                f"output must be 'centred' for a readout of mean {readout.moment(1):.6g} and an activation "
                f"with c_0 = {self.activation.c0:.6g}, got 'scaled': the output has the mean {mean:.6g}"
            )

    def replace(self, **changes: Any) -> Setting:
        """Return a copy with some fields changed (and checked again)."""
        return replace(self, **changes)


@dataclass(frozen=True, eq=False)
class Losses:
    r"""Train, test and objective in the normalisation of :mod:`onestep_lib.settings`.

    Theories and simulations return the same form. Each field has the shape of the setting's
    ``steps.shape + ridges.shape``. ``losses["test"]`` is the pair of a loss and its standard error.

    Parameters
    ----------
    train, test, objective : float or ndarray
        The three losses (means over repeats for a simulation).
    train_se, test_se, objective_se : float or ndarray
        Their standard errors; 0 for a theory.
    draws : ndarray, shape (repeats, 3) + shape, or None
        The single repeats of a simulation, in the order train, test, objective. Losses at different
        steps or penalties share their draws, so differences are taken draw by draw.

    Examples
    --------
    >>> from onestep_lib import Losses
    >>> mean, se = Losses(0.1, 0.2, 0.3, test_se=0.01)["test"]
    >>> mean, se
    (0.2, 0.01)
    """

    train: float | np.ndarray
    test: float | np.ndarray
    objective: float | np.ndarray
    train_se: float | np.ndarray = 0.0
    test_se: float | np.ndarray = 0.0
    objective_se: float | np.ndarray = 0.0
    draws: np.ndarray | None = field(default=None, repr=False)

    def __getitem__(self, name: str) -> tuple[float | np.ndarray, float | np.ndarray]:
        """Return a loss, one of ``LOSSES``, and its standard error."""
        check_choice("name", name, LOSSES)
        return getattr(self, name), getattr(self, f"{name}_se")

    @classmethod
    def from_values(cls, values: np.ndarray) -> Losses:
        """Return a theory's losses from an array of shape (3, ...), floats for one point."""
        train, test, objective = map(plain, values)
        return cls(train, test, objective)

    @classmethod
    def joined(cls, each: Sequence[Losses], shape: tuple[int, ...]) -> Losses:
        """Join a theory's losses along an axis before theirs, in a shape with as many elements."""
        rows = np.array([(one.train, one.test, one.objective) for one in each])
        return cls.from_values(np.moveaxis(rows, 0, 1).reshape(3, *shape))

    @classmethod
    def from_draws(cls, draws: np.ndarray) -> Losses:
        """Return means and standard errors of repeats, shape (repeats, 3) + shape, repeats >= 2."""
        mean, error = mean_and_error(draws)
        train, test, objective = map(plain, mean)
        train_se, test_se, objective_se = map(plain, error)
        return cls(train, test, objective, train_se, test_se, objective_se, draws)
