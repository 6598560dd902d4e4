r"""The spectrum of the signed batch matrix, which tilts the weights when c_2 != 0.

On a batch of n samples one gradient step builds two d by d matrices,

.. math:: \hat H=\frac1n\sum_iy_ix_ix_i^\top,\qquad H=\frac1n\sum_iy_i^2x_ix_i^\top .

:mod:`onestep_lib.batch_spectrum` treats H, which is all that an odd activation needs. Here the basis
e_k is that of H-hat, whose eigenvalues have both signs, and H enters by its diagonal
:math:`e_k^\top He_k`. With alpha = n/d, :math:`G=(\hat H+x)^{-1}` at complex x and in the limit (a
cavity argument, checked against realised batches),

.. math:: m=\tfrac1d\operatorname{tr}G=\frac1{x+\mathbb E[yq]},\quad q=\frac1{1+ym/\alpha},\quad
          \tfrac1d\operatorname{tr}HG=m\,\mathbb E[y^2q],

   \theta^\top G\theta=\frac1{x+\mathbb E[y\zeta^2q]},\quad
   \theta^\top G\hat g=\theta^\top G\theta\;\mathbb E[y\zeta q],\quad
   \hat g^\top G\hat g=\frac m\alpha\mathbb E[y^2q]+\theta^\top G\theta\;\mathbb E[y\zeta q]^2,

averages over :math:`y=\sigma_*(\zeta)+` noise; theta is the target direction and g-hat the gradient.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onestep_lib._checks import check_nonnegative, check_positive
from onestep_lib.activations import Target
from onestep_lib.convergence import ConvergenceError

__all__ = ["LabelLaw", "SignedSpectrum", "label_law", "signed_spectrum"]


@dataclass(frozen=True)
class LabelLaw:
    """A quadrature for the joint law of the label y and the projection zeta = <beta_*, x>.

    Each array has one entry a node y: `mass` sums to 1, `first` and `second` hold mass times
    E[zeta | y] and mass times E[zeta^2 | y].
    """

    y: np.ndarray
    mass: np.ndarray
    first: np.ndarray
    second: np.ndarray


@dataclass(frozen=True)
class SignedSpectrum:
    """Spectral data of one gradient batch in the basis of H-hat; every array has shape (K,).

    Parameters
    ----------
    h, square : ndarray
        Eigenvalues of H-hat and their squares, averages over a bin.
    weights : ndarray
        Spectral weights, sum 1.
    vv, vt, tt : ndarray
        Weights of (v.e_k)^2, (v.e_k)(theta_p.e_k) and (theta_p.e_k)^2, v along the gradient and theta_p
        the part of the target direction across it: sums 1, 0 and 1.
    hd : ndarray
        e_k^T H e_k.
    """

    h: np.ndarray
    square: np.ndarray
    weights: np.ndarray
    vv: np.ndarray
    vt: np.ndarray
    tt: np.ndarray
    hd: np.ndarray


def label_law(target: Target, noise: float, points: int = 20_000) -> LabelLaw:
    r"""Return the law of (y, zeta), y = sigma_*(zeta) + noise eps, as a quadrature fine in y.

    Without noise the nodes follow zeta on a uniform grid; with noise the Gaussian kernel is added on a
    uniform grid in y, so that integrands with a pole near the real y axis stay resolved.
    """
    noise = float(check_nonnegative("noise", noise))
    zeta = np.linspace(-8.5, 8.5, points)
    mass = np.exp(-(zeta**2) / 2)
    mass /= mass.sum()
    clean = target(zeta)
    if noise == 0.0:
        return LabelLaw(clean, mass, mass * zeta, mass * zeta**2)
    keep = mass > 1e-15 * mass.max()
    zeta, mass, clean = zeta[keep], mass[keep], clean[keep]
    low, high = clean.min() - 8 * noise, clean.max() + 8 * noise
    spacing = max((high - low) / (4 * points), noise / 25)
    count = int(np.ceil((high - low) / spacing)) + 2
    y = low + spacing * np.arange(count)
    left = np.floor((clean - low) / spacing).astype(int)
    share = (clean - y[left]) / spacing
    reach = int(np.ceil(8 * noise / spacing))
    # Sharing a mass between two nodes adds spacing^2/6 to its variance on average.
    spread = noise**2 - spacing**2 / 6
    kernel = np.exp(-((spacing * np.arange(-reach, reach + 1)) ** 2) / (2 * spread))
    smooth = []
    for column in (mass, mass * zeta, mass * zeta**2):
        # Shared between two neighbours, so that the mean of y is exact.
        spikes = np.bincount(left, column * (1 - share), count)
        spikes += np.bincount(left + 1, column * share, count)
        smooth.append(np.convolve(spikes, kernel / kernel.sum(), mode="same"))
    total = smooth[0].sum()
    return LabelLaw(y, smooth[0] / total, smooth[1] / total, smooth[2] / total)


# The law of H-hat is read at three heights above the axis (relative to 0.15 + |h|), extrapolated to the
# axis, on a grid that is fine at 0; then neighbours are merged, keeping mass, mean and square. Lengths are in
# units of the standard deviation of the spectrum.
_SCALE = 0.15
_REACH = 30.0
_GRID = 961
_MERGE = 13
_MOMENTS = 0.02
_HEIGHTS = (4e-3, 2e-3, 1e-3)
_EXTRAPOLATE = (1 / 3, -2.0, 8 / 3)


def signed_spectrum(target: Target, noise: float, alpha: float) -> SignedSpectrum:
    r"""Return the spectral data in the basis of :math:`\hat H`, with hd = :math:`e_k^\top He_k`.

    The Stieltjes transforms are followed along the real axis, each point by Newton from its neighbour,
    with a check of the branch (Im m > 0). For n < d the atom of mass 1 - alpha at 0 is a node of its own.

    Parameters
    ----------
    target : Target
        Of mean zero.
    noise : float
        Standard deviation of the label noise.
    alpha : float
        n/d of the gradient batch.

    Returns
    -------
    SignedSpectrum

    Raises
    ------
    ConvergenceError
        If Newton's method stops, or the traces of H-hat, its square and H are off by 2 %.
    """
    alpha = float(check_positive("alpha", alpha))
    law = label_law(target, noise)
    keep = law.mass > 1e-12 * law.mass.max()
    law = LabelLaw(law.y[keep], law.mass[keep], law.first[keep], law.second[keep])
    power = target.power + noise**2
    unit = np.sqrt(power / alpha)
    scale, reach = _SCALE * unit, _REACH * unit + 3 * np.sqrt(power)
    h = scale * np.sinh(np.linspace(-1, 1, _GRID) * np.arcsinh(reach / scale))
    atom = _atom(target, noise, law, alpha, unit)
    density = np.zeros((5, h.size))
    for height, share in zip(_HEIGHTS, _EXTRAPOLATE, strict=True):
        x = -h - 1j * height * (scale + np.abs(h))
        traces = _continued_forms(law, alpha, x)
        columns = np.vstack([_directions(target, noise, alpha, *traces[:4]).T, traces[4]])
        density += share / np.pi * (columns - atom[:, None] / x).imag
    masses = density * np.gradient(h)
    nodes = np.add.reduceat(
        np.vstack([masses, masses[0] * h, masses[0] * h**2]), np.arange(0, _GRID, _MERGE), axis=1
    )
    nodes = np.hstack([np.append(atom, [0.0, 0.0])[:, None], nodes])[:, 0 if alpha < 1 else 1 :]
    # Outside the support the extrapolation leaves +-1e-9.
    w, vv, vt, tt, wd, wh, whh = nodes[:, (nodes[0] > 1e-8) & (nodes[4] >= 0)]
    spectrum = SignedSpectrum(wh / w, whh / w, w / w.sum(), vv / vv.sum(), vt, tt / tt.sum(), wd / w)
    _check_moments(spectrum, power, alpha)
    return spectrum


def _atom(target: Target, noise: float, law: LabelLaw, alpha: float, unit: float) -> np.ndarray:
    """The masses at 0 of the five columns, from x G(x) as x -> 0."""
    if alpha >= 1:
        return np.zeros(5)
    x = -1e-7j * unit
    forms = [np.atleast_1d(row) for row in _quadratic_forms(law, law.y, alpha, x, _descend(law, alpha, x))]
    return (np.append(_directions(target, noise, alpha, *forms[:4]), forms[4]) * x).real


def _check_moments(spectrum: SignedSpectrum, power: float, alpha: float) -> None:
    """Raise unless the spectrum has the traces of H-hat, H-hat^2 and H: a lost branch shows there."""
    w, unit = spectrum.weights, np.sqrt(power / alpha)
    errors = (w @ spectrum.h / unit, w @ spectrum.square / unit**2 - 1, w @ spectrum.hd / power - 1)
    worst = float(np.max(np.abs(errors)))
    if not worst < _MOMENTS:
        raise ConvergenceError("signed_spectrum (moments)", worst, {"power": power, "alpha": alpha})


def _continued_forms(law: LabelLaw, alpha: float, x: np.ndarray) -> np.ndarray:
    """`_quadratic_forms` for A = H-hat along a path x below the axis, shape (5, len(x))."""
    middle = x.size // 2
    forms = np.empty((5, x.size), dtype=np.complex128)
    centre = _descend(law, alpha, x[middle])
    for side in (range(middle, x.size), range(middle - 1, -1, -1)):
        m, last = centre, x[middle]
        for j in side:
            # Beside an atom at 0 it is x m that changes slowly.
            guess = m * last / x[j] if alpha < 1 else m
            new = _newton(law.y, law.mass, alpha, x[j], guess)
            # A jump means that Newton left the branch: come down from far below instead.
            if new.imag <= 0 or abs(new - guess) > 0.3 * abs(guess):
                new = _descend(law, alpha, x[j])
            forms[:, j] = _quadratic_forms(law, law.y, alpha, x[j], new)
            m, last = new, x[j]
    return forms


def _descend(law: LabelLaw, alpha: float, x: complex) -> complex:
    """m at x by continuation from far below the axis, where m = 1/x."""
    depths = np.geomspace(3e3 * (1 + abs(law.y[-1]) + abs(x)), -x.imag, 90)
    m = 1 / complex(x.real, -depths[0])
    for depth in depths:
        m = _newton(law.y, law.mass, alpha, complex(x.real, -depth), m)
    if m.imag <= 0:
        raise ConvergenceError("signed_spectrum", float(-m.imag), {"x": x, "alpha": alpha})
    return m


def _newton(D: np.ndarray, mass: np.ndarray, alpha: float, x: complex, start: complex) -> complex:
    """The root m of m (x + E[Dq]) = 1 next to `start`."""
    m = start
    for _ in range(100):
        q = 1 / (1 + D * (m / alpha))
        weighted = mass * D * q
        change = (m * (x + weighted.sum()) - 1) / (x + weighted @ q)
        # Below the axis (Im x < 0) the branch has Im m > 0; a full step may cross the cut, so shorten it.
        while np.iscomplexobj(m) and (m - change).imag <= 0 < m.imag:
            change /= 2
        m = m - change
        if abs(change) <= 1e-12 * abs(m):
            return m
    raise ConvergenceError("signed_spectrum", abs(change / m), {"x": x, "alpha": alpha})


def _quadratic_forms(
    law: LabelLaw, D: np.ndarray, alpha: float, x: complex, m: complex
) -> tuple[complex, ...]:
    """tr G/d, beta_* G beta_*, beta_* G g, g G g and tr HG/d at one x."""
    q = 1 / (1 + D * (m / alpha))
    power = complex(law.mass @ (law.y**2 * q))
    star = 1 / (x + complex(law.second @ (D * q)))
    overlap = complex(law.first @ (law.y * q))
    return m, star, star * overlap, m / alpha * power + star * overlap**2, m * power


def _directions(
    target: Target,
    noise: float,
    alpha: float,
    trace: np.ndarray,
    star: np.ndarray,
    cross: np.ndarray,
    gradient: np.ndarray,
) -> np.ndarray:
    """Columns tr G/d, v G v, v G theta_p and theta_p G theta_p."""
    norm = target.linear**2 + (target.power + noise**2) / alpha
    gamma = target.linear / np.sqrt(norm)
    vv, v_star = gradient / norm, cross / np.sqrt(norm)
    tt = (star - 2 * gamma * v_star + gamma**2 * vv) / (1 - gamma**2)
    vt = (v_star - gamma * vv) / np.sqrt(1 - gamma**2)
    return np.stack([trace, vv, vt, tt], axis=-1)
