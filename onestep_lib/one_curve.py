r"""One curve: the network after one gradient step of any size, from random features to the giant step.

A row of the stepped weights with readout :math:`a_j=z/\sqrt N` is a spike along the gradient direction
v plus a bulk,

.. math:: w=u(z)\,v+b,\qquad u(z)=\frac{\eta c_1\sqrt B}{\sqrt N}z,\qquad b\sim N(0,\Sigma(z)/d),

.. math:: \Sigma(z)=(I+t\hat H)^2+e\,H,\qquad t=\frac{\eta\,c'_2z}{\sqrt N},\qquad
          e=\frac{\eta^2z^2}N\,\frac{\mathrm{Var}(\sigma')-c_2'^2}\alpha,

with :math:`c'_2=\mathbb E[\zeta\sigma'(\zeta)]=2c_2`, :math:`B=c_{*,1}^2+\bar y^2/\alpha` and the batch
matrices of :mod:`onestep_lib.batch_spectrum` and :mod:`onestep_lib.signed_spectrum`. Given its readout
the network is therefore a spiked-random-features model (:mod:`onestep_lib.spiked_features`) with a
vocabulary of spikes, one a value of z. A Gaussian readout is a vocabulary only up to a quadrature in z;
the mean part of the fit is kernel ridge with the kernel
:math:`\mathbb E_z[\mu_0(u\kappa)\mu_0(u\kappa')c(z)]` and ridge 1/d, so the nodes must resolve
:math:`\mu_0(u_1z\kappa)` in z (Gauss-Hermite does not), and the finite-d penalty is part of the theory.

A cavity calculation, not a proof (derived in chapter 12), compared with the network in
``tests/data/one_curve.json`` (:mod:`onestep_lib.sweeps`). It holds for the centred or scaled network and
targets of mean zero. For c_2 != 0 it keeps only the diagonal of H in the basis of H-hat (0.7 % of the test
loss at :math:`\eta=n^{0.62}` for relu) and takes the fluctuation of the row lengths from sampled rows
(:mod:`onestep_lib.row_lengths`).

Its limits: random features at :math:`\eta=0`, :mod:`onestep_lib.giant_step` for a readout of signs, and for
small steps the staircase of the exact step (:func:`onestep_lib.step.exact_spike`).

Functions
---------
one_step             losses of a Setting at every step size
stepped_vocabulary   the spiked random features of one step size
readout_nodes        the quadrature over the readout
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from onestep_lib import signed_spectrum as signed_spectrum_module
from onestep_lib._cache import memory, values_of, version_of
from onestep_lib._checks import check_count, check_nonnegative
from onestep_lib._threads import one_thread
from onestep_lib.activations import Activation, Target
from onestep_lib.batch_spectrum import spectral_bulk
from onestep_lib.giant_step import require_stepped
from onestep_lib.row_lengths import expected_lengths
from onestep_lib.settings import Losses, Setting
from onestep_lib.signed_spectrum import SignedSpectrum, signed_spectrum
from onestep_lib.spiked_features import SpikedFeatures, spiked_losses
from onestep_lib.spiked_resolvent import Bulk
from onestep_lib.step import slope_moments

__all__ = ["one_step", "readout_nodes", "stepped_vocabulary"]

_LARGEST = 4.0
_POWER = 1.5
# Where u_1 > 12 the bulk scale grows like the spike, u/c no more: 20 nodes leave 2e-3 of the test loss.
_MOST_NODES = 20
# Far below the error of the readout nodes.
_TOLERANCE = 1e-8


def readout_nodes(count: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Return nodes z > 0 and weights for averages over the half-normal law, dense near 0.

    Gauss-Legendre in s on (0, 1) with :math:`z=4s^{3/2}`: the spacing near 0 shrinks like the width
    :math:`1/(u_1\kappa)` of the features' turn-over asks for.
    """
    check_count("count", count)
    points, weights = np.polynomial.legendre.leggauss(count)
    s = (points + 1) / 2
    z = _LARGEST * s**_POWER
    mass = weights * s ** (_POWER - 1) * np.exp(-(z**2) / 2)
    return z, mass / mass.sum()


@memory.cache(ignore=["labels"])
def _kept_spectrum(key: tuple[str, str], labels: Target, noise: float, alpha: float) -> SignedSpectrum:
    return signed_spectrum(labels, noise, alpha)


@lru_cache(maxsize=32)
def _spectrum(labels: Target, noise: float, alpha: float) -> SignedSpectrum:
    """The set-up for c_2 != 0 (seconds), kept on disk."""
    return _kept_spectrum((version_of(signed_spectrum_module), values_of(labels)), labels, noise, alpha)


def stepped_vocabulary(setting: Setting, step: float, count: int | None = None) -> SpikedFeatures:
    r"""Return the spiked random features equivalent to the network after one step of size eta.

    Parameters
    ----------
    setting : Setting
        See `one_step` for what it covers.
    step : float
        The step size eta >= 0.
    count : int, optional
        Readout nodes a half line; by default :math:`8+\lceil u_1\rceil`, at most 20. A readout of signs
        needs one.
    """
    _require(setting)
    sigma, alpha = setting.activation, 1 / setting.phi
    rate = float(check_nonnegative("step", step)) / np.sqrt(setting.N)
    mean_slope, linear_slope, slope_power = slope_moments(sigma)
    power = setting.target.power + setting.noise**2
    B = setting.target.linear**2 + power / alpha
    strength = rate * mean_slope * np.sqrt(B)
    z, fractions = _vocabulary(setting, abs(strength), count)
    tau = rate * z
    # Exactly 0 for a linear activation, where rounding could leave less.
    noise_share = tau**2 * max(slope_power - linear_slope**2, 0.0) / alpha
    bulk: Bulk | None = None
    squared: np.ndarray | float = 1.0
    if rate > 0 and abs(linear_slope) >= 1e-12:
        bulk, squared = _tilted_bulk(setting, tau * linear_slope, noise_share)
    elif np.any(noise_share > 1e-12):
        bulk = spectral_bulk(setting.target, setting.noise, alpha, noise_share)
        squared = 1 + noise_share * power
    return SpikedFeatures(
        activation=sigma,
        spikes=strength * z,
        fractions=fractions,
        target=setting.target,
        alignment=setting.target.linear / np.sqrt(B),
        noise=setting.noise,
        scales=np.sqrt(squared),
        row_variance=expected_lengths(setting).nu(tau),
        bulk=bulk,
    )


def _require(setting: Setting) -> None:
    require_stepped(setting)
    setting.target.require_centred()


def _vocabulary(setting: Setting, strength: float, count: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The values of z and their fractions; z and -z are one group for an odd activation."""
    if setting.readout == "signs" or strength == 0:
        z, fractions = np.ones(1), np.ones(1)
    else:
        z, fractions = readout_nodes(min(8 + int(np.ceil(strength)), _MOST_NODES) if count is None else count)
    if _is_odd(setting.activation):
        return z, fractions
    return np.concatenate([-z[::-1], z]), np.concatenate([fractions[::-1], fractions]) / 2


def _is_odd(sigma: Activation) -> bool:
    x = np.linspace(0.05, 8, 160)
    return bool(np.allclose(sigma(x), -sigma(-x), rtol=1e-13, atol=1e-13))


def _tilted_bulk(setting: Setting, tilt: np.ndarray, noise_share: np.ndarray) -> tuple[Bulk, np.ndarray]:
    r"""Bulk data of :math:`(I+t\hat H)^2+eH` in the basis of H-hat, and the squared bulk scales."""
    data = _spectrum(setting.target, setting.noise, 1 / setting.phi)
    scales = 1 + np.outer(2 * tilt, data.h) + np.outer(tilt**2, data.square) + np.outer(noise_share, data.hd)
    squared = scales @ data.weights
    return Bulk(data.weights, data.vv, data.vt, data.tt, scales / squared[:, None]), squared


def one_step(setting: Setting, count: int | None = None, leverage: bool = True) -> Losses:
    r"""Return the losses after one exact gradient step, at every step size of the setting.

    At step 0 they are those of random features, for small steps those of the staircase, for
    :math:`\eta\sim\sqrt N` those of the giant step. Fixed points and averages are good to 1e-8, the readout
    nodes to 5e-4 of the test loss (odd activations, :math:`\eta\ge n^{0.6}`; 1e-4 elsewhere; 4e-3 at
    :math:`u_1\sim100`).

    Parameters
    ----------
    setting : Setting
        With ``output="centred"`` or ``"scaled"``, Gaussian inputs, a target of mean zero, ridge > 0;
        either readout, either kind of rows.
    count : int, optional
        See `stepped_vocabulary`.
    leverage : bool
        Keep the O(1/d) leverage of the mean part.

    Returns
    -------
    Losses
        Of the shape ``setting.shape``, in the normalisation of :mod:`onestep_lib.settings`.

    Raises
    ------
    ValueError
        For a setting outside these conditions.
    ConvergenceError
        If a solver does not reach its tolerance.
    """
    _require(setting)
    point = setting.phi, setting.psi, setting.ridges, setting.d, leverage, _TOLERANCE
    models = (stepped_vocabulary(setting, step, count) for step in np.atleast_1d(setting.steps))
    with one_thread():
        losses = [spiked_losses(model, *point) for model in models]
    return Losses.from_steps(losses, setting)
