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

For Gaussian rows the variance along v is incomplete: the mean slope of a row depends on its length, which
adds :math:`18c_3^2(\tilde\eta z)^2B\,vv^\top/d` and more of higher orders (of order 1/d in the losses).

A Gaussian readout is a vocabulary up to a quadrature in z. The mean part of the fit is kernel ridge with the
kernel :math:`\mathbb E_z[\mu_0(u\kappa)\mu_0(u\kappa')c(z)]` and ridge 1/d, so that the nodes must resolve
:math:`\mu_0(u_1z\kappa)` in z: `readout_nodes` does, Gauss-Hermite does not.

Functions
---------
stepped_model   the spiked random features of one step size
readout_nodes   the quadrature over a Gaussian readout
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from onestep_lib._checks import check_choice, check_instance, check_nonnegative, check_number
from onestep_lib.activations import Activation, Target
from onestep_lib.initialisation import Vocabulary
from onestep_lib.large_step.batch_signed import signed_covariance
from onestep_lib.large_step.batch_squared import squared_covariance
from onestep_lib.large_step.row_lengths import expected_lengths
from onestep_lib.quadrature import gauss_legendre
from onestep_lib.settings import Setting
from onestep_lib.small_step.gradient import Gradient, gradient_of
from onestep_lib.spiked_features.model import BulkCovariance, SpikedModel

__all__ = [
    "readout_nodes",
    "stepped_model",
]

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
    # Without a step all neurons are equal.
    groups = [
        (rate * z, shares) if rate else (np.zeros(1), np.ones(1))
        for rate in np.asarray(steps) / np.sqrt(setting.N)
    ]
    full = check_choice("bulk", bulk, BULKS) == "full"
    covariances = (
        _covariances(target, setting.noise, gradient, [shift for shift, _ in groups]) if full else None
    )
    labels, sigma, lengths = gradient.labels, gradient.activation, expected_lengths(setting)
    for shift, shares in groups:
        yield SpikedModel(
            activation=sigma,
            spikes=shift * sigma.c1 * np.sqrt(gradient.power),
            fractions=shares,
            target=target,
            alignment=gradient.alignment,
            noise=setting.noise,
            scales=np.sqrt((1 + shift * gradient.tilt * labels.mean) ** 2 + shift**2 * gradient.spread),
            row_variance=lengths.nu(shift),
            bulk=None if covariances is None else next(covariances),
        )


def require_stepped(setting: Setting) -> None:
    """Raise unless the theory of the stepped network covers the setting."""
    setting.require_theory()
    setting.require_independent_rows()
    setting.require_small_output()
    if setting.inputs != "gaussian":
        raise ValueError(f"inputs must be 'gaussian' for the stepped network, got {setting.inputs!r}")
    if setting.output == "raw":
        raise ValueError(
            "output must be 'centred' or 'scaled' for the stepped network, got 'raw': its residual contains "
            "the network's own output, so that the spike is correlated with the rows"
        )
    setting.activation.require_slope()
    if gradient_of(setting).labels.square == 0:
        raise ValueError("target must not be 0 without noise: the gradient would vanish")


def readout_groups(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    """The values of z and their shares, as groups of equal neurons.

    For an odd activation z and -z are one group; for a linear one all are: its features are linear in z, and
    only the mean of z^2 counts.
    """
    sigma, readout = setting.activation, setting.readout
    odd = _is_odd(sigma)
    if isinstance(readout, Vocabulary):
        z, shares = np.array(readout.values), np.array(readout.shares)
    elif readout == "signs":
        z, shares = np.array([1.0, -1.0]), np.array([0.5, 0.5])
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


def _covariances(
    target: Target, noise: float, gradient: Gradient, shifts: list[np.ndarray]
) -> Iterator[BulkCovariance | None]:
    """The bulk covariances of the rows with these shifts, one a step size; None for the identity."""
    strengths = [shift**2 * gradient.excess for shift in shifts]
    batch = target, noise, 1 / gradient.phi
    if abs(gradient.tilt) >= 1e-12:
        for shift, strength in zip(shifts, strengths, strict=True):
            yield signed_covariance(*batch, shift * gradient.tilt, strength) if np.any(shift) else None
        return
    # One spectrum serves the whole curve: the steps differ by the strength e of its matrix only.
    wide = [bool(np.any(strength > _NARROW)) for strength in strengths]
    shared = squared_covariance(*batch, np.concatenate(strengths)) if any(wide) else None
    ends = np.cumsum([strength.size for strength in strengths])[:-1]
    for seen, rows in zip(wide, np.split(np.arange(sum(map(np.size, strengths))), ends), strict=True):
        yield replace(shared, scales=shared.scales[rows]) if seen and shared is not None else None
