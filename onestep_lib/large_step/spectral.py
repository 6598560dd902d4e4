r"""A giant step finds the direction of an even target: the outlier of the weights along it.

For an even target the gradient's mean direction :math:`\hat g` is noise, and yet the weights learn. After a
step of size eta row j, with the readout :math:`a_j=z_j/\sqrt N`, is

.. math:: w_j^1=(I+t_j\hat H)\,w_j+\delta_jc_1\hat g+\text{noise},\qquad
          \delta_j=\frac{\eta z_j}{\sqrt N},\quad t_j=\delta_jc'_2,\quad
          \hat H=\frac1n\sum_iy_ix_ix_i^\top ,

since :math:`\sigma'(\xi)=c_1+c'_2\xi+\dots`, :math:`c'_2=2c_2`: every row takes one power iteration of the
*spectral method*, whose matrix :math:`\hat H` has an eigenvalue along :math:`\beta_*` outside its bulk. Here
n and :math:`\phi=d/n` are the gradient's batch (:math:`n_0`, :math:`\phi_0`).

**When** :math:`\hat H` **knows the direction** (Lu and Li, arXiv 1702.06435; Mondelli and Montanari, arXiv
1708.05932). At :math:`s=-m/\alpha`, m the trace of the resolvent, its bulk ends where
:math:`\mathbb E[(ys/(1-ys))^2]=1/\alpha`, and an eigenvalue stands beyond while
:math:`\mathbb E[(\zeta^2-1)\,ys/(1-ys)]>\mathbb E[(ys/(1-ys))^2]`. Equality is the threshold in
:math:`\alpha=n/d`.

**The weights.** Given the batch, the rows are independent. The rest of :math:`\sigma'` makes noise of
covariance :math:`e_jH/d`, :math:`e_j=\delta_j^2\phi(\mathrm{Var}\,\sigma'-c_2'^2)`,
:math:`H=\frac1n\sum_iy_i^2x_ix_i^\top`, so :math:`C_j=[(I+t_j\hat H)^2+e_jH]/d`, and the
resolvent :math:`R=(W_1^\top W_1-z)^{-1}` is equivalent to
:math:`(\sum_jC_j/(1+\operatorname{tr}C_jR)-z)^{-1}`. With c = N/d, averages over j, the traces
:math:`\tau=\frac1d\operatorname{tr}(R,\hat HR,\hat H^2R,HR)` and

.. math:: S=c\,\mathbb E\,\frac{(1,\,2t,\,t^2,\,e)}{1+\tau\cdot(1,\,2t,\,t^2,\,e)},\qquad x=z-S_0,\qquad
          R\simeq(S_1\hat H+S_2\hat H^2+S_3H-x)^{-1}.

This is the upper left block of the inverse of a matrix that is *linear* in the batch,

.. math:: -\begin{pmatrix}x&0\\0&1\end{pmatrix}\otimes I+\frac1n\sum_iK(y_i)\otimes x_ix_i^\top,\qquad
          K(y)=\begin{pmatrix}S_1y+S_3y^2&\sqrt{S_2}\,y\\\sqrt{S_2}\,y&0\end{pmatrix}

(its Schur complement). Leave one sample out: the block trace g, 2 by 2, and the block along
:math:`\beta_*`, where a sample counts :math:`\zeta^2` times (the target is even, so that no term mixes it
with :math:`\hat g`), are

.. math:: g=\Gamma(1)^{-1},\quad g_*=\Gamma(\zeta^2)^{-1},\qquad
          \Gamma(f)=-\begin{pmatrix}x&0\\0&1\end{pmatrix}+\mathbb E\big[f\,K(y)\,(I+\phi gK(y))^{-1}\big].

:math:`U=(g^{-1}+\phi K)^{-1}` gives the traces,
:math:`\tau=(g_{11},\,\mathbb E\,yU_{11},\,\mathbb E\,yU_{12}/\sqrt{S_2},\,\mathbb E\,y^2U_{11})`, and
:math:`g=\begin{pmatrix}\tau_0&\sqrt{S_2}\tau_1\\\sqrt{S_2}\tau_1&S_2\tau_2-1\end{pmatrix}`: four equations at
each z. The bulk of :math:`W_1^\top W_1` ends where their real solution does, coming from large z. An
eigenvalue stands where :math:`\det\Gamma(\zeta^2)=0` above, and its vector's squared overlap with
:math:`\beta_*` is the residue of :math:`-(g_*)_{11}` in z: derived by the cavity argument, not proved. A
larger one, of order N, is the noise spike along :math:`\hat g`.

**Unbounded labels** have no edge in the limit: the largest of n labels grows with n, like log n for
:math:`He_2`. What n draws do not show, the labels in a tail of mass 1/(2n) on each side, is
replaced by the tail's border, and so are the tails of mass 1/(2N) of a Gaussian readout.

:math:`c_2\ne0` is not needed: at steps far above :math:`\sqrt N` the term :math:`e_jH` alone, the spectral
method with :math:`y^2` for y, has an outlier for an odd activation, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, fsolve

from onestep_lib._checks import check_instance
from onestep_lib._values import plain
from onestep_lib.convergence import ConvergenceError
from onestep_lib.large_step.stepped_model import require_stepped
from onestep_lib.quadrature import gaussian_quadrature
from onestep_lib.settings import Setting
from onestep_lib.small_step.gradient import gradient_of

__all__ = [
    "even_outlier",
]

_NOISE_NODES = 12
_RATIO = 0.8
# What the four equations may miss, and how precisely the edge is found.
_TOLERANCE, _EDGE = 1e-9, 1e-7
# The logarithmic slope of the traces there, at least.
_STEEP = 30
# Nodes with less weight are left out.
_SMALLEST = 1e-14
# Steps between which a threshold is looked for, in units of sqrt(N).
_STEPS = np.geomspace(0.05, 200, 13)


@dataclass(frozen=True, eq=False)
class EvenOutlier:
    r"""The outlier of the weights along an even target; arrays of the shape of the steps.

    Parameters
    ----------
    edge : float or ndarray
        The right end of the bulk of singular values.
    outlier, overlap : float or ndarray
        The singular value beyond, and the squared overlap of its right vector with :math:`\beta_*`; the edge
        and 0 where there is none.
    threshold : float
        The smallest step with an outlier; inf if there is none up to 200 sqrt(N).
    ratio : float
        The n/d above which :math:`\hat H` has an eigenvalue along :math:`\beta_*`; inf if it never has.
    """

    edge: float | np.ndarray
    outlier: float | np.ndarray
    overlap: float | np.ndarray
    threshold: float
    ratio: float


def even_outlier(setting: Setting) -> EvenOutlier:
    r"""Return edge, outlier, overlap and thresholds of the weights after a step, for an even target.

    The formulas are those of :mod:`onestep_lib.large_step.spectral`, for steps of order :math:`\sqrt N`.

    Raises
    ------
    ValueError
        If the target is not even, or as for `giant_step`.
    ConvergenceError
        If the equations of the bulk have no solution along the way to its edge.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.large_step.spectral import even_outlier
    >>> bump = lambda z: 2.5 * np.tanh(z**2 - 1) + 0.471  # without a mean, which would widen the bulk
    >>> s = Setting(1600, 100, 400, "relu", bump, readout="signs", step=[10, 20, 40])
    >>> found = even_outlier(s)
    >>> print(found.edge.round(2), found.outlier.round(2), found.overlap.round(2))
    [3.01 3.06 3.27] [3.01 3.09 4.15] [0.   0.28 0.78]
    """
    require_even(setting)
    labels = _label_nodes(setting)
    found = [_Bulk(setting, step, labels).outlier() for step in np.atleast_1d(setting.steps)]
    edge, outlier, overlap = (
        plain(np.reshape(column, setting.steps.shape)) for column in np.transpose(found)
    )
    return EvenOutlier(edge, outlier, overlap, _step_threshold(setting, labels), _ratio(*labels))


def require_even(setting: Setting) -> None:
    """Raise unless the target is even, and the network one that a theory of the step covers."""
    check_instance("setting", setting, Setting)
    require_stepped(setting)
    target, grid = setting.single_index(), np.linspace(0.05, 6, 120)
    if not np.allclose(target(grid), target(-grid), rtol=1e-10, atol=1e-12):
        raise ValueError(f"target must be even, got {target.name!r}")


def readout_nodes(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    """Values of z and their shares."""
    if setting.vocabulary is not None:
        return setting.vocabulary.arrays
    z, weights = gaussian_quadrature()
    return _clipped(z, weights, setting.N), weights


def _clipped(values: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
    """Values, those in a tail of mass 1/(2 count) on each side replaced by its border."""
    order = np.argsort(values)
    above = np.cumsum(weights[order])
    seen = values[order][(above > 0.5 / count) & (above - weights[order] < 1 - 0.5 / count)]
    return np.clip(values, seen[0], seen[-1])


def _label_nodes(setting: Setting) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels y, zeta^2 and weights for averages over both."""
    target = setting.single_index()
    zeta, weights = gaussian_quadrature(target.kinks)
    half = zeta > 0
    zeta, weights = zeta[half], 2 * weights[half]
    points, mass = np.polynomial.hermite_e.hermegauss(_NOISE_NODES if setting.noise else 1)
    y = np.add.outer(target(zeta), setting.noise * points).ravel()
    weights = np.outer(weights, mass / mass.sum()).ravel()
    kept = weights > _SMALLEST
    y, square, weights = y[kept], np.repeat(zeta**2, points.size)[kept], weights[kept]
    return _clipped(y, weights, setting.step_samples), square, weights / weights.sum()


def _ratio(y: np.ndarray, square: np.ndarray, weights: np.ndarray) -> float:
    r"""The smallest n/d with an eigenvalue of :math:`\hat H` along :math:`\beta_*`, on either side."""
    ratios = [np.inf]
    for labels in (y, -y):
        top = labels.max()
        if top <= 0:
            continue

        def excess(share: float, labels: np.ndarray = labels / top) -> tuple[float, float]:
            pull = labels * share / (1 - labels * share)
            spread = float(weights @ pull**2)
            return float(weights @ ((square - 1) * pull)) - spread, spread

        shares = 1 - np.geomspace(1, 1e-9, 200)[1:]
        beyond = np.flatnonzero([excess(share)[0] > 0 for share in shares])
        if beyond.size and beyond[-1] + 1 < shares.size:
            last = shares[beyond[-1] : beyond[-1] + 2]
            ratios.append(1 / excess(brentq(lambda share: excess(share)[0], *last))[1])
    return float(min(ratios))


def _step_threshold(setting: Setting, labels: tuple[np.ndarray, ...]) -> float:
    def excess(step: float) -> float:
        return _Bulk(setting, step, labels).excess()

    low = 0.0
    for high in _STEPS * np.sqrt(setting.N):
        if excess(high) > 0:
            return high if low == 0 else float(brentq(excess, low, high, rtol=1e-4))
        low = high
    return np.inf


class _Bulk:
    """The equations of the module at one step size, solved from large z down to the edge."""

    def __init__(self, setting: Setting, step: float, labels: tuple[np.ndarray, ...]) -> None:
        gradient = gradient_of(setting)
        z, self.shares = readout_nodes(setting)
        shift, tilt = step / np.sqrt(setting.N) * z, gradient.tilt
        excess = gradient.excess * shift**2
        self.rows = np.stack([np.ones_like(z), 2 * tilt * shift, (tilt * shift) ** 2, excess])
        self.phi, self.c = gradient.phi, setting.N / setting.d
        self.y, self.square, self.weights = labels
        self.way = self._descend()

    def _dressed(self, tau: np.ndarray, z: float) -> tuple[np.ndarray, np.ndarray] | None:
        """The traces of U and the pair Gamma(1), Gamma(zeta^2) at tau; None beyond the edge."""
        weakened = 1 + tau @ self.rows
        if np.any(weakened <= 0):
            return None
        S = self.c * (self.rows / weakened) @ self.shares
        cross, last = np.sqrt(S[2]), S[2] * tau[2] - 1
        size = tau[0] * last - S[2] * tau[1] ** 2
        inverse = np.array([[last, -cross * tau[1]], [-cross * tau[1], tau[0]]]) / size
        first = inverse[0, 0] + self.phi * (S[1] * self.y + S[3] * self.y**2)
        # Divided by sqrt(S_2), which may be 0.
        mixed = self.phi * self.y - tau[1] / size
        det = first * inverse[1, 1] - S[2] * mixed**2
        if np.any(det <= 0) or np.any(first >= 0):
            return None
        U = np.array([[np.full_like(first, inverse[1, 1]), -cross * mixed], [-cross * mixed, first]]) / det
        y, w = self.y, self.weights
        traces = w @ np.stack([U[0, 0], y * U[0, 0], -y * mixed / det, y**2 * U[0, 0]], axis=-1)
        # E f K (I + phi g K)^-1 = g^-1 (E f - E[f U] g^-1)/phi.
        means = [inverse @ (f.sum() * np.eye(2) - U @ f @ inverse) / self.phi for f in (w, w * self.square)]
        return traces, np.array(means) - np.diag([z - S[0], 1.0])

    def _residual(self, scaled: np.ndarray, z: float) -> np.ndarray:
        """What the four equations miss at the traces, in units of 1/z."""
        dressed = self._dressed(scaled / z, z)
        if dressed is None:
            return np.full(4, 1e3)
        traces, (gamma, _) = dressed
        return z * np.append(np.linalg.inv(gamma)[0, 0], traces[1:]) - scaled

    def _solved(self, z: float, start: np.ndarray) -> np.ndarray | None:
        scaled, found, _, _ = fsolve(self._residual, start, args=(z,), xtol=1e-13, full_output=True)
        return scaled if np.max(np.abs(found["fvec"])) < _TOLERANCE else None

    def _descend(self) -> list[tuple[float, np.ndarray]]:
        """Follow the solution from far out, where R = -1/z, until there is none: z and z tau on the way."""
        mean, power = self.weights @ self.y, self.weights @ self.y**2
        scaled = -np.array([1.0, mean, mean**2 + self.phi * power, power])
        size = np.max(np.abs(self.y)) * (1 + np.sqrt(self.phi)) ** 2  # no eigenvalue of H-hat is larger
        z = 1e3 * (1 + self.c) * float(np.max(np.abs(self.rows).T @ [1, size, size**2, size**2]))
        way, ratio = [(z, scaled)], _RATIO
        while 1 - ratio > _EDGE:
            found = self._solved(way[-1][0] * ratio, way[-1][1])
            if found is None:
                ratio = np.sqrt(ratio)
            else:
                way.append((way[-1][0] * ratio, found))
        # At the edge the traces have an infinite slope.
        (last, end), (place, before) = way[-1], way[-2]
        change = float(np.linalg.norm(end - before) / np.linalg.norm(end) / (1 - last / place))
        if change < _STEEP:
            raise ConvergenceError("even_outlier", change, {"phi": self.phi, "c": self.c})
        return way

    def along(self, z: float) -> np.ndarray:
        """Return Gamma(zeta^2) at z."""
        start = next(scaled for place, scaled in reversed(self.way) if place >= z)
        found = self._solved(z, start)
        dressed = None if found is None else self._dressed(found / z, z)
        if dressed is None:
            raise ConvergenceError("even_outlier", np.nan, {"z": z, "phi": self.phi, "c": self.c})
        return dressed[1][1]

    def excess(self, z: float | None = None) -> float:
        """Return -det Gamma(zeta^2)/z: negative far out, and at the edge positive iff there is an outlier."""
        z = self.way[-1][0] if z is None else z
        return -float(np.linalg.det(self.along(z))) / z

    def outlier(self) -> tuple[float, float, float]:
        """Edge, singular value and squared overlap."""
        edge = self.way[-1][0]
        if self.excess() <= 0:
            return edge**0.5, edge**0.5, 0.0
        place = brentq(self.excess, edge, self.way[0][0], rtol=1e-13)
        # There (g_*)_11 is -overlap/(z - place).
        width = 1e-4 * (place - edge)
        below, above = (self.along(z) for z in (place - width, place + width))
        slope = np.linalg.det(above) / above[1, 1] - np.linalg.det(below) / below[1, 1]
        return edge**0.5, place**0.5, -2 * width / slope
