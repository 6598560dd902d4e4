r"""The giant step: from a network after one step of size :math:`\eta=\tilde\eta\sqrt N` to spiked features.

With a readout of signs :math:`a_j=s_j/\sqrt N` (or of any values :math:`s_j` of a vocabulary), one step of
size eta changes every row by an amount of order one,

.. math:: w_j=w_j^0+\tilde\eta\,s_j\frac1{n_0}\sum_iy_i\,\sigma'(w_j^0\cdot x_i)\,x_i,\qquad
          \tilde\eta=\eta/\sqrt N

(the residual is y for ``output="centred"``, and in the limit for ``"scaled"``; the sum runs over the
gradient's own batch of :math:`n_0` samples, and the ridge batch enters the losses only). Split
:math:`\sigma'` into its mean :math:`c_1`, its linear part :math:`c'_2\,(w\cdot x)`,
:math:`c'_2=\mathbb E[\zeta\sigma'(\zeta)]=2c_2`, and the rest. The mean moves all rows along
:math:`\hat g=\frac1{n_0}\sum_iy_ix_i`: spikes :math:`u_j=s_jr` along :math:`v=\hat g/|\hat g|`,

.. math:: r=\tilde\eta\,c_1\sqrt B,\qquad \gamma=v\cdot\theta=\frac{b_1}{\sqrt B},\qquad
          B=b_1^2+\frac{\bar y^2}{\alpha_0} ,

with :math:`\alpha_0=n_0/d`, :math:`b_1=c_{*,1}`, :math:`\bar y^2=\mathbb Ey^2`, :math:`b_0=\mathbb Ey`. The
rest widens the bulk,

.. math:: |w_j|^2\to c_\pm^2=(1\pm\tilde\eta c'_2b_0)^2
          +\tilde\eta^2\,\mathrm{Var}(\sigma')\,\frac{\bar y^2}{\alpha_0}

(derived in the chapter on spiked random features; Cui et al., arXiv 2402.04980, have the same map in their
normalisation). In full, a bulk row has the covariance

.. math:: \Sigma_\pm/d,\quad\Sigma_\pm=(I\pm\tilde\eta c'_2\hat H)^2+eH,\qquad
          e=\tilde\eta^2\,\frac{\mathrm{Var}(\sigma')-c_2'^2}{\alpha_0},

with the batch matrices :math:`\hat H` and H of :mod:`onestep_lib.large_step.batch_signed`; for :math:`c_2=0`
:mod:`onestep_lib.large_step.batch_squared` has it in closed form. For :math:`c_2\ne0` only the diagonal of H
in the basis of :math:`\hat H` is kept (within 1 % of the test loss at :math:`\eta=n^{0.62}` for relu).

A Gaussian readout is a vocabulary up to a quadrature in z. The mean part of the fit is kernel ridge with the
kernel :math:`\mathbb E_z[\mu_0(u\kappa)\mu_0(u\kappa')c(z)]` and ridge 1/d, so that the nodes must resolve
:math:`\mu_0(u_1z\kappa)` in z: `readout_nodes` does, Gauss-Hermite does not.

**Lengths of the rows.** Off the spike direction a row becomes :math:`b=w+\delta g`,
:math:`\delta=\eta z/\sqrt N` with the readout :math:`a_j=z/\sqrt N`, and

.. math:: g=\frac1n\sum_iy_if(w\cdot x_i)x_i,\quad f=\sigma'-c_1,\qquad
          \nu=\frac d2\frac{\mathrm{Var}|b|^2}{(\mathbb E|b|^2)^2}
             =\frac{p^\top\mathcal Cp}{(\bar q\cdot p)^2},\quad p=(1,\delta,\delta^2),

with the mean :math:`\bar q` and (d/2 times) the covariance :math:`\mathcal C` of
:math:`q=(|w|^2,2w\cdot g,|g|^2)` over the rows w at a fixed batch. Every entry is closed, in the limit of
large n and d at :math:`\phi=d/n`, n the samples of the gradient's batch (:math:`n_0` of a setting); at finite
size it is off by O(1/n) + O(1/d).

**Derivation.** Let :math:`\xi_i=w\cdot x_i` and :math:`x_i^\perp` the part of :math:`x_i` across w. Then

.. math:: w\cdot g=S=\frac1n\sum_iy_i\xi_if(\xi_i),\qquad |g|^2=\frac{S^2}{|w|^2}+D+O,\qquad
          D=\frac\phi n\sum_iy_i^2f(\xi_i)^2,

and O is the sum over :math:`i\ne j` of :math:`y_iy_jf(\xi_i)f(\xi_j)\,x_i^\perp\cdot x_j^\perp/n^2`. The
:math:`x_i^\perp` do not depend on the :math:`\xi_i`, so that O has mean 0, no covariance with the rest and
the variance :math:`2(\phi\,\mathrm{Var}(\sigma')\,\mathbb Ey^2)^2/d`. Averages over the samples such as S
and D share what all samples have in common: the component of w along the target and, for Gaussian rows,
the length of w. The Hermite expansion in :math:`\xi` with the correlations :math:`x_i\cdot x_j/d` gives

.. math:: d\,\mathrm{Cov}\Big(\frac1n\sum_iA(\xi_i,y_i),\frac1n\sum_iB(\xi_i,y_i)\Big)

          =\phi\,\mathbb E_y\mathrm{Cov}_\zeta(A,B)+\mathbb E[A\zeta\zeta_*]\,\mathbb E[B\zeta\zeta_*]
          +\tfrac12\mathbb E[A\,He_2(\zeta)]\,\mathbb E[B\,He_2(\zeta)],

the last term for Gaussian rows only, :math:`\zeta` independent of :math:`y=\sigma_*(\zeta_*)+` noise;
:math:`|w|^2-1` joins with the value 2 for its :math:`\mathbb E[A\,He_2]` and 0 for the rest. To leading
order :math:`\delta(S^2/|w|^2)=2\bar S\,\delta S-\bar S^2\,\delta|w|^2` with
:math:`\bar S=\mathbb Ey\,\mathbb E[\zeta\sigma']`, which makes

.. math:: \bar q=\big(1,\ 2\bar S,\ \bar S^2+\phi\,\mathrm{Var}(\sigma')\,\mathbb Ey^2\big).

**Lengths and the rows along v.** Over rows on a sphere

.. math:: d\,\mathrm{Cov}(|b|^2,b\cdot v)=12\delta\,c_3\sqrt B
          +\delta^3\phi^2\,\mathbb E[f^3]\,\frac{b_1\mathbb E[y^3\zeta_*]+\phi\,\mathbb Ey^4}{\sqrt B} .

The first term is the part :math:`6c_3\,w\cdot\hat g` of S that is linear in w
(:math:`\mathbb E[\zeta^2f]=6c_3`); the second is what each sample adds both to D and to :math:`g\cdot v`,
:math:`\phi y^2f^2/n` and :math:`y f\,x\cdot v/n`, with :math:`\phi y/\sqrt B` in :math:`x\cdot v`. Gaussian
rows have in addition the mean slope :math:`c_1+3c_3(|w|^2-1)`: a longer initial row has another spike, which
adds :math:`18c_3^2\delta^2B\,vv^\top/d` to the covariance of the rows and correlates it with their length.
What is left of a length is taken as independent of the row.

These are all terms of order one for an odd activation, less a constant, and for :math:`\sigma(x)-c_1x` even
(all 0). Of any other one, a label with a mean or with :math:`\mathbb E[y^2x]\ne0` has terms of order
:math:`\delta^2` besides, which are left out.

Gaussian rows of the same covariance would give up to nine times too much for relu at eta ~ sqrt(N): w.g
is a quadratic form in w that largely cancels the tilt by :math:`\hat H`.

Functions
---------
stepped_model   the spiked random features of one step size
expected_lengths   how much row lengths fluctuate
readout_nodes   the quadrature over a Gaussian readout
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import check_choice, check_instance, check_nonnegative, check_number
from onestep_lib.activations import Activation, Target
from onestep_lib.large_step.batch_signed import signed_covariance
from onestep_lib.large_step.batch_squared import squared_covariance
from onestep_lib.quadrature import gauss_legendre, gaussian_quadrature
from onestep_lib.settings import Setting
from onestep_lib.small_step.gradient import Gradient, gradient_of
from onestep_lib.spiked_features.model import BulkCovariance, SpikedModel

__all__ = [
    "readout_nodes",
    "stepped_model",
]


@dataclass(frozen=True, eq=False)
class RowLengths:
    r"""Moments of the three parts of a row's squared length, :math:`q=(|w|^2,2w\cdot g,|g|^2)`.

    The bulk row is :math:`w+\delta g`, :math:`\delta=\eta z/\sqrt N`,
    :math:`g=\frac1n\sum_iy_i(\sigma'(w\cdot x_i)-c_1)x_i`.

    Parameters
    ----------
    mean : ndarray, shape (3,)
    covariance : ndarray, shape (3, 3)
        (d/2) Cov(q) over rows at a fixed batch.
    along : ndarray, shape (4,)
        :math:`d\,\mathrm{Cov}(|b|^2,b\cdot v)` over rows on a sphere, by powers of :math:`\delta`.
    lean : float
        The share of :math:`\delta(|w|^2-1)` in :math:`b\cdot v`: :math:`3c_3\sqrt B` for Gaussian rows.
    """

    mean: np.ndarray
    covariance: np.ndarray
    along: np.ndarray
    lean: float

    def nu(self, shift: ArrayLike) -> np.ndarray:
        r"""Return :math:`\nu=\frac d2\mathrm{Var}|b|^2/(\mathbb E|b|^2)^2` at each shift, of any shape."""
        shift = np.asarray(shift, dtype=float)
        powers = np.stack([np.ones_like(shift), shift, shift**2], axis=-1)
        variance = np.sum((powers @ self.covariance) * powers, axis=-1)
        return np.maximum(variance, 0.0) / (powers @ self.mean) ** 2

    def parts(self, shift: np.ndarray, spread: np.ndarray) -> dict[str, np.ndarray]:
        """Return the fields of a `SpikedModel` on lengths; d times the variance of b.v is c^2 `spread`."""
        powers = np.power.outer(shift, np.arange(4))
        square = powers[:, :3] @ self.mean
        slope = powers @ self.along / (square**1.5 * spread)
        initial = powers[:, :3] @ self.covariance[0] / square, shift * self.lean / np.sqrt(square)
        # More than the whole is explained where `spread` is not that of the rows (an isotropic bulk).
        rest = np.maximum(self.nu(shift) - initial[0] ** 2 - slope**2 * spread / 2, 0.0)
        return {"row_variance": rest, "slope": slope, "initial": np.stack(initial)}


def expected_lengths(gradient: Gradient, gaussian: bool) -> RowLengths:
    r"""Return the row lengths after a step, one value for all its sizes, penalties and widths.

    The formulas of this module, in the limit of large n and d.

    Parameters
    ----------
    gradient : Gradient
        Its activation, labels (also with a mean) and d/n_0: `onestep_lib.small_step.gradient.gradient_of`.
    gaussian : bool
        Whether the initial rows are Gaussian; else they lie on a sphere.

    Raises
    ------
    ValueError
        If the activation has no derivative.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.large_step.stepped_model import expected_lengths
    >>> from onestep_lib.small_step import gradient_of
    >>> gradient = gradient_of(Setting(n=400, d=200, N=300))
    >>> for gaussian in (True, False):
    ...     print(expected_lengths(gradient, gaussian).nu([0, 1]).round(3))
    [1.    1.356]
    [0.    0.409]
    """
    sigma, labels, phi = gradient.activation, gradient.labels, gradient.phi
    zeta, weights = gaussian_quadrature(sigma.kinks)
    slope = sigma.require_slope()(zeta)
    rest = slope - weights @ slope
    power = np.array([1.0, labels.mean, labels.square, labels.cube, labels.fourth])
    seen = np.array([labels.linear, labels.square_linear])
    # The two averages over the samples, S and D, are products of a power of y and one of these.
    parts = np.stack([zeta * rest, phi * rest**2])
    means = parts @ weights
    centred = parts - means[:, None]
    apart = phi * power[[[2, 3], [3, 4]]] * ((centred * weights) @ centred.T)
    linear = parts @ (weights * zeta)
    shared = seen * linear
    variances = np.zeros((3, 3))
    variances[1:, 1:] = apart + np.outer(shared, shared)
    if gaussian:
        length = np.append(2.0, power[1:3] * (parts @ (weights * (zeta**2 - 1))))
        variances += np.outer(length, length) / 2
    tilt, spread = labels.mean * means[0], labels.square * means[1]
    response = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [-(tilt**2), 2 * tilt, 1.0]])
    covariance = response @ variances @ response.T / 2
    covariance[2, 2] += spread**2
    root = np.sqrt(labels.direction_power(phi))
    own = phi**2 * (weights @ rest**3) * (labels.linear * labels.cube_linear + phi * labels.fourth)
    along = np.array([0.0, 2 * linear[0] * root, 0.0, own / root])
    lean = gaussian * linear[0] / 2 * root
    return RowLengths(np.array([1.0, 2 * tilt, tilt**2 + spread]), covariance, along, lean)


BULKS = ("full", "isotropic")
# The strength of a covariance below which it is the identity.
_NARROW = 1e-12
_LARGEST = 4.0
_POWER = 1.5
# Nodes a half line: of the test loss 4e-4 is left for spikes u_1 up to 20, 4e-3 at 100.
_ODD_NODES, _NODES = 24, 16


def readout_nodes(count: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Return nodes z > 0 and weights for averages over the half-normal law, dense near 0.

    Gauss-Legendre in s on (0, 1) with :math:`z=4s^{3/2}`: the spacing near 0 shrinks like the width
    :math:`1/(u_1\kappa)` of the features' turn-over asks for.

    Examples
    --------
    >>> from onestep_lib.large_step import readout_nodes
    >>> z, weights = readout_nodes(12)
    >>> print(f"{weights @ z:.2f} {weights @ z**2:.2f}")  # sqrt(2/pi) and 1
    0.80 1.00
    """
    points, weights = gauss_legendre(count)
    s = (points + 1) / 2
    z = _LARGEST * s**_POWER
    mass = weights * s ** (_POWER - 1) * np.exp(-(z**2) / 2)
    return z, mass / mass.sum()


def stepped_model(setting: Setting, step: float, bulk: str = "full") -> SpikedModel:
    r"""Return the spiked random features equivalent to the network after one step of size eta.

    Parameters
    ----------
    setting : Setting
        With ``output="centred"`` or ``"scaled"``, Gaussian inputs, and an activation with a derivative. Any
        readout: with z = 1 alone, ``readout=[1]``, the model has the spike r, the overlap gamma and the bulk
        scale of a neuron with :math:`a_j=1/\sqrt N`.
    step : float
        The step size eta >= 0.
    bulk : {"full", "isotropic"}
        The whole covariance of the bulk rows, or their scales only.

    Returns
    -------
    SpikedModel
        One group a value of z; z and -z are one for an odd activation. For a Gaussian readout the nodes are
        those of `readout_nodes`: 24 for an odd activation, 16 of either sign otherwise.

    Raises
    ------
    ValueError
        For a setting outside these conditions.
    ConvergenceError
        If the spectrum of the batch is not resolved.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.large_step import stepped_model
    >>> setting = Setting(n=400, d=200, N=300, activation="relu", readout="signs")
    >>> model = stepped_model(setting, step=20, bulk="isotropic")
    >>> print(model.spikes.round(3), model.fractions)
    [ 0.707 -0.707] [0.5 0.5]
    """
    check_instance("setting", setting, Setting)
    return next(stepped_models(setting, [check_number("step", step, check_nonnegative)], bulk))


def stepped_models(setting: Setting, steps: Iterable[float], bulk: str = "full") -> Iterator[SpikedModel]:
    """`stepped_model` along a curve of step sizes, which share one spectrum."""
    require_stepped(setting)
    target, gradient, (z, shares) = setting.single_index(), gradient_of(setting), readout_groups(setting)
    if gradient.labels.square == 0:
        raise ValueError("target must not be 0 without noise: the gradient would vanish")
    # Without a step all neurons are equal.
    groups = [
        (rate * z, shares) if rate else (np.zeros(1), np.ones(1))
        for rate in np.asarray(steps) / np.sqrt(setting.N)
    ]
    covariances: Iterable[BulkCovariance | None] = repeat(None)
    if check_choice("bulk", bulk, BULKS) == "full":
        batch, shifts = (target, setting.noise, 1 / gradient.phi), [shift for shift, _ in groups]
        covariances = bulk_covariances(batch, gradient.tilt, gradient.excess, shifts)
    labels, sigma = gradient.labels, gradient.activation
    lengths = expected_lengths(gradient, setting.rows == "gaussian")
    for (shift, shares), covariance in zip(groups, covariances, strict=False):
        spread = np.ones(shift.size) if covariance is None else covariance.scales @ covariance.vv
        yield SpikedModel(
            activation=sigma,
            spikes=shift * sigma.c1 * np.sqrt(gradient.power),
            fractions=shares,
            target=target,
            alignment=gradient.alignment,
            noise=setting.noise,
            scales=np.sqrt((1 + shift * gradient.tilt * labels.mean) ** 2 + shift**2 * gradient.spread),
            bulk=covariance,
            **lengths.parts(shift, spread),
        )


def require_stepped(setting: Setting) -> None:
    """Raise unless the theory of the stepped network covers the setting."""
    setting.require_theory()
    setting.require_small_output()
    if setting.inputs != "gaussian":
        raise ValueError(f"inputs must be 'gaussian' for the stepped network, got {setting.inputs!r}")
    if setting.output == "raw":
        raise ValueError(
            "output must be 'centred' or 'scaled' for the stepped network, got 'raw': its residual contains "
            "the network's own output, so that the spike is correlated with the rows"
        )
    setting.activation.require_slope()


def readout_groups(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    """The values of z and their shares, as groups of equal neurons.

    For an odd activation z and -z are one group; for a linear one all are: its features are linear in z, and
    only the mean of z^2 counts.
    """
    sigma, vocabulary = setting.activation, setting.vocabulary
    odd = _is_odd(sigma)
    if vocabulary is not None:
        z, shares = vocabulary.arrays
    else:
        z, shares = readout_nodes(_ODD_NODES if odd else _NODES)
        z, shares = np.concatenate([-z[::-1], z]), np.concatenate([shares[::-1], shares]) / 2
    if odd and sigma.nonlinear_power == 0:
        return np.ones(1) * np.sqrt(setting.readout_power), np.ones(1)
    if odd:
        z, group = np.unique(np.abs(z), return_inverse=True)
        shares = np.bincount(group, shares)
    return z, shares


def _is_odd(sigma: Activation) -> bool:
    x = np.linspace(0.05, 8, 160)
    return bool(np.allclose(sigma(x), -sigma(-x), rtol=1e-13, atol=1e-13))


def bulk_covariances(
    batch: tuple[Target, float, float], tilt: float, excess: float, shifts: list[np.ndarray]
) -> Iterator[BulkCovariance | None]:
    """The bulk covariances of the rows with these shifts, one a step size; None for the identity.

    `batch` is the target, the noise and n_0/d; `tilt` and `excess` are those of a `Gradient`.
    """
    strengths = [shift**2 * excess for shift in shifts]
    if abs(tilt) >= 1e-12:
        for shift, strength in zip(shifts, strengths, strict=True):
            yield signed_covariance(*batch, shift * tilt, strength) if np.any(shift) else None
        return
    # One spectrum serves the whole curve: the steps differ by the strength e of its matrix only.
    wide = [bool(np.any(strength > _NARROW)) for strength in strengths]
    shared = squared_covariance(*batch, np.concatenate(strengths)) if any(wide) else None
    ends = np.cumsum([strength.size for strength in strengths])[:-1]
    for seen, rows in zip(wide, np.split(np.arange(sum(map(np.size, strengths))), ends), strict=True):
        yield replace(shared, scales=shared.scales[rows]) if seen and shared is not None else None
