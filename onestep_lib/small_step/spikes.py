r"""Spikes in the features: what a step of size eta = n^alpha, alpha < 1/2, adds to random features.

With b the gradient's direction (:mod:`onestep_lib.small_step.gradient`), kappa = ``X b/|b|``, and powers
taken entrywise,

.. math:: F=F_l+o(\sqrt n),\qquad F_l=F_0+\sum_{k=1}^l(c_1\eta)^kc_k\,(Xb)^{\circ k}(a^{\circ k})^\top
          \quad\text{for }\tfrac{l-1}{2l}<\alpha<\tfrac l{2l+2}

in operator norm, for a **step of rank one**, a centred or scaled network and fresh X (Moniri et al., arXiv
2310.07891, theorem on the spikes; as printed in its authors' slides it covers the exact step). :math:`F_0`
has two more parts of rank one: its constant part, with right factor :math:`c_0+c_2(|w_j|^2-1)` (the second
for Gaussian rows), and for Gaussian inputs :math:`g_i=(|x_i|^2-d)/\sqrt{2d}` with right factor
:math:`c_2\sqrt{2/d}`.

**The exact step.** The rest of the gradient lengthens the rows (the widening q of
:mod:`onestep_lib.small_step.gradient`) in proportion to the spike. It acts like one more, independent
Gaussian in its direction, so that by a Hermite expansion the k-th spike is

.. math:: (c_1\eta|b|)^kc_k\;\mathbb E_\xi(\kappa+\sqrt q\,\xi)^{k}\;(a^{\circ k})^\top,\qquad
          \mathbb E_\xi(\kappa+\sqrt q\,\xi)^k=\sum_j\xi_{kj}(1+q)^{(k-j)/2}He_j(\kappa),

:math:`x^k=\sum_j\xi_{kj}He_j(x)`: the second has :math:`\kappa^2+q`. So for l >= 2 and :math:`c_2\ne0` the
exact step has one more term than F_l, whose norm over :math:`\sqrt n` is of order :math:`n^{2\alpha-1/2}` and
does not vanish (`spike_constant`):

.. math:: c_2q\,(\eta c_1)^2B\;\mathbf 1\,(a\circ a)^\top .

This is derived and measured, not proved, and not in the papers; we have not read the proof of the theorem.
The measurement is the projection on :math:`\mathbf 1(a\circ a)^\top` (`measured_spike_constant`). Rows that
are normalised again after the step lose the term (q = -1).
:func:`onestep_lib.small_step.gradient.exact_spike` gives q to the theories, ``widened=True`` to the feature
maps.

**One matrix holds them all.** In the basis :math:`h_q=He_q(\kappa)/\sqrt{q!}`, q = 0, ..., l, and g on the
side of the samples, and an orthonormal one on the side of the neurons, the parts of rank one are a small
matrix P (`spike_matrix`), and the rest of :math:`F_0` has (:mod:`onestep_lib.no_step.gaussian_equivalence`)

.. math:: \lim h_p^\top Rh_q=\delta_{pq}t_q,\quad t_1=km_2,\quad t_q=km_1\ (q\ne1,\text{ and for }g),\qquad

          M(\lambda)=(1+\tau)I+P^\top\operatorname{diag}(t)\,P .

**All spikes at once.** The powers are the expansion of one function. Neuron j holds the step
as :math:`s_j\kappa`, :math:`s_j=r\,a_j`, :math:`r=c_1\eta|b|`, beside what it had, :math:`\zeta\sim N(0,1)`,
and the widening, :math:`s_j\sqrt q\,\xi`; its mean over both is

.. math:: H(s,\kappa)=\mathbb E\,\sigma\big(\sqrt{1+s^2q}\,\zeta+s\kappa\big)
          =\sum_kc_ks^k\,\mathbb E_\xi(\kappa+\sqrt q\,\xi)^k

(:eq:`eq-spikes-mean`; the sum is the Taylor series in s, which for tanh or relu does not converge, but is
asymptotic). Its matrix in the orthonormal polynomials of kappa and of the readouts,

.. math:: P_{q\cdot}=\sqrt N\;\mathbb E_\kappa\big[h_q(\kappa)\,H(s_\cdot,\kappa)\big],

is P with every power k in it. What it still leaves out is
the change of the rest of a feature, :math:`\sigma-H`, of relative order :math:`s^2\sim\eta^2/N`: that needs
the giant step's bulk. Derived here and compared with simulation, not proved.

Functions
---------
spike_level          the l of a step size n^alpha
power_basis          the k-th spike's polynomial of kappa
spike_matrix         P
whole_spike_matrix   P with all powers
sample_side          t
spike_norms          operator norm of each spike over sqrt(n)
spike_constant       coefficient of 1 (a o a)^T that the exact step adds to F_2
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import factorial, factorial2

from onestep_lib._checks import check_count, check_instance, shown
from onestep_lib._values import plain
from onestep_lib.activations import Activation
from onestep_lib.hermite import MAX_ORDER, hermite, monomial_to_hermite
from onestep_lib.no_step.gaussian_equivalence import Traces
from onestep_lib.quadrature import evaluate, panel_rule
from onestep_lib.settings import Setting
from onestep_lib.small_step.gradient import Spike, exact_spike, gradient_spike

__all__ = [
    "power_basis",
    "spike_level",
    "spike_norms",
    "whole_spike_matrix",
]

ABSENT = 1e-12
# The gradient of a raw network depends on W_0.
SPIKED_OUTPUTS = ("centred", "scaled")
# Gauss-Hermite nodes of kappa and of a Gaussian readout; H is analytic in both.
_NODES = 48
# How far apart in s the knots are of the cubic spline through the coefficients of a realised readout.
_APART = 0.05
# The inner average: this many standard deviations, in panels of half a unit.
_REACH, _PANEL = 9.0, 0.5


def spike_level(exponent: float) -> int:
    r"""Return the number l of spikes that a step size n^alpha raises above the bulk.

    The smallest l >= 1 with alpha < l/(2l + 2) (Moniri et al., arXiv 2310.07891).

    Parameters
    ----------
    exponent : float
        alpha, 0 <= alpha < 1/2: at 1/2 every power counts (the giant step).

    Examples
    --------
    >>> from onestep_lib.small_step import spike_level
    >>> [spike_level(exponent) for exponent in (0, 0.2, 0.25, 0.3, 0.4)]
    [1, 1, 2, 2, 5]
    """
    alpha = exponent
    if not 0 <= alpha < 0.5:
        raise ValueError(f"exponent must lie in [0, 1/2), got {shown(exponent)}")
    level = int(2 * alpha / (1 - 2 * alpha)) + 1
    # The quotient may round below a whole number; at the boundary itself one more spike counts.
    return level if alpha * (2 * level + 2) < level else level + 1


def spike_coefficients(setting: Setting, level: int) -> np.ndarray:
    """Return :math:`c_0`, ..., c_l of the activation, rounding set to 0, shape (l + 1,)."""
    level = check_count("level", level, 1, MAX_ORDER)
    values = setting.activation.coefficients(level)
    values[np.abs(values) < ABSENT] = 0.0
    return values


def require_spikes(setting: Setting, stepped: bool = False) -> None:
    """Raise where the formulas of this module do not hold; `stepped` as in `Setting.require_theory`."""
    check_instance("setting", setting, Setting)
    setting.require_theory(stepped)
    setting.require_small_output()
    setting.require_centred()
    if stepped or np.any(setting.steps):
        setting.activation.require_slope()
    if setting.output not in SPIKED_OUTPUTS:
        raise ValueError(
            "output must be 'centred' or 'scaled' here: the gradient of a raw network depends on W_0"
        )


def power_basis(level: int, widening: float = 0.0) -> np.ndarray:
    r"""Return the coordinates of :math:`\mathbb E_\xi(\kappa+\sqrt q\,\xi)^k` in the :math:`h_j`.

    Row k, column j: :math:`\xi_{kj}(1+q)^{(k-j)/2}\sqrt{j!}`.

    Parameters
    ----------
    level : int
        The highest power l.
    widening : float
        q; 0 for the plain powers of kappa.

    Returns
    -------
    ndarray, shape (l + 1, l + 1)

    Examples
    --------
    >>> from onestep_lib.small_step import power_basis
    >>> power_basis(2)[2].round(4), power_basis(2, widening=0.5)[2].round(4)  # kappa^2 and kappa^2 + 1/2
    (array([1.    , 0.    , 1.4142]), array([1.5   , 0.    , 1.4142]))
    """
    orders = np.arange(level + 1)
    missing = np.maximum(orders[:, None] - orders, 0)
    lengthened = (1 + widening) ** (missing / 2)
    return monomial_to_hermite(level) * lengthened * np.sqrt(factorial(orders))


def readout_factor(setting: Setting, level: int, readout: np.ndarray | None = None) -> np.ndarray:
    r"""Return L with :math:`LL^\top` the moments :math:`\frac1N\sum_jz_j^{p+k}`, :math:`z=\sqrt N\,a`.

    Row k holds the coordinates of :math:`z^{\circ k}/\sqrt N` in an orthonormal basis: the Hermite
    polynomials for a Gaussian readout, and that of a QR factorisation for one of finitely many values (one
    column a value).

    Parameters
    ----------
    setting : Setting
    level : int
        The highest power l.
    readout : ndarray, shape (N,), optional
        A realised readout a; by default the law of the setting's.

    Returns
    -------
    ndarray, shape (l + 1, m)
    """
    law = _readout_law(setting, readout)
    if law is None:
        return power_basis(level)
    z, shares = law
    powers = np.sqrt(shares)[:, None] * np.vander(z, level + 1, increasing=True)
    return np.asarray(np.linalg.qr(powers, mode="r")).T


def _readout_law(setting: Setting, readout: np.ndarray | None) -> tuple[np.ndarray, np.ndarray] | None:
    """Values of sqrt(N) a_j and their shares, those of a realised readout or of a law; None if Gaussian."""
    if readout is not None:
        return np.sqrt(setting.N) * np.asarray(readout), np.full(setting.N, 1 / setting.N)
    return None if setting.vocabulary is None else setting.vocabulary.arrays


def spike_matrix(
    setting: Setting, level: int, spike: Spike | None = None, readout: np.ndarray | None = None
) -> np.ndarray:
    r"""Return the matrix P of the rank-one parts at every step size.

    With r = :math:`c_1\eta|b|`, the coordinates :math:`\chi_{kq}` of `power_basis` and L from
    `readout_factor`,

    .. math:: P_{q\cdot}=\sum_k\chi_{kq}\,c_kr^kN^{(1-k)/2}L_{k\cdot}\,,

    with a further column that holds :math:`c_2\sqrt{2N/d}` in row 0 (Gaussian rows), and a further row
    :math:`c_2\sqrt{2N/d}\,L_{0\cdot}` for g (Gaussian inputs); then rotated from the right, so that the
    columns are graded by size.

    Parameters
    ----------
    setting : Setting
    level : int
        The number of spikes l >= 1.
    spike : Spike, optional
        :math:`|b|^2` of one draw, and the widening; by default the limit for a step of rank one.
    readout : ndarray, shape (N,), optional
        A realised readout; by default the moments of its law. At N = 1000 they differ for l >= 2.

    Returns
    -------
    ndarray, shape steps.shape + (l + 2, at most l + 2)
        Rows q = 0, ..., l and g.

    Raises
    ------
    ValueError
        For a raw network, a target with a mean, or a step of an activation without derivative.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.small_step import spike_norms
    >>> from onestep_lib.small_step.spikes import spike_matrix
    >>> s = Setting(n=1000, d=500, N=400, step=3.0)
    >>> lengths = np.linalg.norm(spike_matrix(s, level=1), axis=1)  # of the rows 1, kappa and g
    >>> print(lengths.round(4), spike_norms(s, level=1).round(4))
    [0.    1.348 0.   ] [1.348]
    """
    require_spikes(setting)
    c, N = spike_coefficients(setting, level), setting.N
    spike = spike or gradient_spike(setting)
    factor = readout_factor(setting, level, readout)
    orders = np.arange(level + 1)
    r = c[1] * np.sqrt(spike.power) * setting.steps[..., None]
    sizes = c * np.sqrt(N) * (r / np.sqrt(N)) ** orders
    wobble = setting.activation.c2 * np.sqrt(2 * N / setting.d)
    # Rows 1, kappa, ..., kappa^l and g; columns: the orthonormal basis of the neurons' side.
    parts = np.zeros((*setting.steps.shape, level + 2, factor.shape[1] + 1))
    parts[..., :-1, :-1] = sizes[..., None] * factor
    parts[..., 0, -1] = wobble * (setting.rows == "gaussian")
    parts[..., -1, :-1] = wobble * factor[0] * (setting.inputs == "gaussian")
    ordered = graded(parts)
    hermite_side = power_basis(level, spike.widening)
    return np.concatenate([hermite_side.T @ ordered[..., :-1, :], ordered[..., -1:, :]], axis=-2)


def graded(parts: np.ndarray) -> np.ndarray:
    """The same rows in a basis where each, from the largest down, adds one column (Gram-Schmidt).

    Spikes differ by many orders of magnitude. In this basis their columns do, and a diagonal scaling makes
    M well conditioned; in a fixed basis the small spikes would drown in the rounding of the large ones.
    """
    norms = np.linalg.norm(parts, axis=-1)
    order = np.argsort(-norms, axis=-1, kind="stable")[..., None]
    triangular = np.asarray(np.linalg.qr(np.take_along_axis(parts, order, axis=-2).mT, mode="r"))
    graded = np.empty((*parts.shape[:-1], triangular.shape[-2]))
    np.put_along_axis(graded, order, triangular.mT, axis=-2)
    # A row that depends on larger ones (powers of signs) leaves rounding, not a column of its own.
    return np.where(np.abs(graded) > 1e-13 * norms[..., None], graded, 0.0)


def sample_side(resolvent: Traces, k: float, level: int) -> tuple[np.ndarray, np.ndarray]:
    """Return t_q, q = 0, ..., l and g, and their lambda-derivatives; shape (..., l + 2).

    Examples
    --------
    >>> from onestep_lib.no_step import resolvent_traces
    >>> from onestep_lib.small_step.spikes import sample_side
    >>> t, _ = sample_side(resolvent_traces(1, 1, 0.5, 0.5, 0.5), k=1, level=2)
    >>> t.round(3)  # k m_1, but k m_2 for kappa
    array([1.038, 0.818, 1.038, 1.038])
    """
    is_linear = np.arange(level + 2) == 1
    t = np.where(is_linear, resolvent.m2[..., None], resolvent.m1[..., None])
    dt = np.where(is_linear, resolvent.dm2[..., None], resolvent.dm1[..., None])
    return k * t, k * dt


def spike_norms(setting: Setting, level: int) -> np.ndarray:
    r"""Return the operator norm over sqrt(n) of the spikes k = 1, ..., l, shape steps.shape + (l,).

    :math:`|c_k|\,|r|^kN^{(1-k)/2}(2k-1)!!` for a Gaussian readout, of order
    :math:`n^{(\alpha-1/2)k+1/2}`, with :math:`\sqrt{(2k-1)!!\,\mathbb Ez^{2k}}` for (2k-1)!! in
    the last place for signs and vocabularies.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.small_step import spike_norms
    >>> one, two = spike_norms(Setting(n=1000, d=500, N=400, activation="softplus", step=[1, 2]), level=2)
    >>> (two / one).round(4)  # the k-th spike grows like eta^k
    array([2., 4.])
    """
    require_spikes(setting)
    c, orders = spike_coefficients(setting, level)[1:], np.arange(1, level + 1)
    r = np.abs(c[0]) * np.sqrt(gradient_spike(setting).power) * setting.steps[..., None]
    moment = np.sqrt(factorial2(2 * orders - 1))
    law = setting.vocabulary
    neurons = moment if law is None else np.sqrt([law.moment(2 * k) for k in range(1, level + 1)])
    return np.abs(c) * np.sqrt(setting.N) * (r / np.sqrt(setting.N)) ** orders * moment * neurons


def spike_constant(setting: Setting) -> float | np.ndarray:
    r"""Return :math:`c_2q(\eta c_1)^2B`, the limit of `measured_spike_constant`.

    Derived by the Hermite expansion of the module, with q from
    `onestep_lib.small_step.gradient.exact_spike`; of relative order :math:`\eta^2/N` are the constants of
    the fourth and higher spikes.

    Parameters
    ----------
    setting : Setting

    Returns
    -------
    float or ndarray
        Of the shape of the steps.

    Raises
    ------
    ValueError
        As in `onestep_lib.small_step.gradient.exact_spike`.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.small_step.spikes import spike_constant
    >>> s = Setting(n=1000, d=500, N=400, activation="relu", step=2.0)
    >>> print(f"{spike_constant(s) / s.activation.c2:.4f}")  # q (eta c_1)^2 B with q = 1/3, B = 3/2
    0.5000
    """
    spike, c = exact_spike(setting), setting.activation.coefficients(2)
    constant = c[2] * spike.widening * (setting.steps * c[1]) ** 2 * spike.power
    return plain(constant)


def whole_spike_matrix(
    setting: Setting, level: int, spike: Spike | None = None, readout: np.ndarray | None = None
) -> np.ndarray:
    r"""Return P with all powers of the step, to a degree of :math:`\kappa`.

    Parameters
    ----------
    setting : Setting
        With one step size.
    level : int
        The highest :math:`He_q(\kappa)` that is kept, at least 1.
    spike : Spike, optional
        :math:`|b|^2` of one draw, and the widening; by default the limit for a step of rank one.
    readout : ndarray, shape (N,), optional
        A realised readout; by default its law.

    Returns
    -------
    ndarray, shape (level + 2, level + 2)
        Rows q = 0, ..., level and g, in the columns of ``spike_matrix``.

    Raises
    ------
    ValueError
        For a raw network, a target with a mean, a path of steps, or an activation without derivative.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.small_step import whole_spike_matrix
    >>> from onestep_lib.small_step.spikes import spike_matrix
    >>> s = Setting(n=1000, d=500, N=400, activation="sin", step=8.0)
    >>> for P in (spike_matrix(s, 3), whole_spike_matrix(s, 3)):
    ...     print(np.linalg.norm(P, axis=1).round(2))  # 1, kappa, He_2, He_3 and g: an odd function
    [0.   3.15 0.   0.5  0.  ]
    [0.   3.19 0.   0.38 0.  ]
    """
    require_spikes(setting)
    level = check_count("level", level, 1, MAX_ORDER)
    if setting.steps.ndim:
        raise ValueError(f"step must be one number for all powers at once, got {shown(setting.step)}")
    spike = spike or gradient_spike(setting)
    z, shares = _readout_law(setting, readout) or _gaussian_rule()
    sigma = setting.activation
    unit = sigma.c1 * float(setting.steps) * np.sqrt(spike.power / setting.N)
    reach = np.max(np.abs(z))
    knots = 4 + int(unit * reach / _APART)
    if z.size > 2 * knots:
        # Imported where it is used: 4 % of the time of `import onestep_lib`.
        from scipy.interpolate import CubicSpline

        half = np.linspace(0, reach, knots)
        at = np.concatenate([-half[:0:-1], half])
        rows = CubicSpline(at, _coefficients(sigma, unit * at, spike.widening, level), axis=1)(z)
    else:
        rows = _coefficients(sigma, unit * z, spike.widening, level)
    wobble = sigma.c2 * np.sqrt(2 * setting.N / setting.d)
    parts = np.zeros((level + 2, z.size + 1))
    parts[:-1, :-1] = np.sqrt(setting.N * shares) * rows
    parts[-1, :-1] = wobble * np.sqrt(shares) * (setting.inputs == "gaussian")
    parts[0, -1] = wobble * (setting.rows == "gaussian")
    return graded(np.where(np.abs(parts) > 1e-13 * np.abs(parts).max(), parts, 0.0))


def _gaussian_rule() -> tuple[np.ndarray, np.ndarray]:
    z, weights = hermegauss(_NODES)
    return z, weights / weights.sum()


def _coefficients(sigma: Activation, s: np.ndarray, widening: float, level: int) -> np.ndarray:
    """The averages of h_q(kappa) H(s, kappa), shape (level + 1, len(s))."""
    kappa, weights = _gaussian_rule()
    basis = hermite(level, kappa) / np.sqrt(factorial(np.arange(level + 1)))[:, None]
    # kappa and -kappa have one law: at -s the odd coefficients change their sign, and no more.
    sizes, place = np.unique(np.abs(s), return_inverse=True)
    means = np.stack([_mean(sigma, value * kappa, np.sqrt(1 + value**2 * widening)) for value in sizes])
    signs = np.sign(s) ** (np.arange(level + 1)[:, None] % 2)
    return signs * ((basis * weights) @ means.T)[:, place]


def _mean(sigma: Activation, t: np.ndarray, scale: float) -> np.ndarray:
    """The averages of sigma(scale zeta + t), by panels that end at the kinks, shape of t."""
    ends = t.min() - _REACH * scale, t.max() + _REACH * scale
    edges = np.linspace(*ends, 2 + int((ends[1] - ends[0]) / _PANEL))
    edges = np.union1d(edges, [kink for kink in sigma.kinks if ends[0] < kink < ends[1]])
    x, weights = panel_rule(edges, 12)
    values = weights * evaluate(sigma.function, x, f"activation {shown(sigma.name)}")
    # In place: at a large step the array has millions of entries, and copies cost more than exponentials.
    density = x - t[:, None]
    density /= scale
    density *= density
    density /= -2
    np.exp(density, out=density)
    return density @ values / (np.sqrt(2 * np.pi) * scale)
