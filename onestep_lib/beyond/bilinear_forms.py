r"""The bilinear forms of the proof: :math:`v_1^\top R_0v_2` with the resolvent of the features before a step.

Woodbury's identity makes the losses of F_l (:mod:`onestep_lib.small_step.spikes`) functions of finitely many
numbers :math:`v_1^\top R_0v_2`, :math:`R_0=(F_0F_0^\top+\lambda nI)^{-1}`, in which v_1 and v_2 are among

============== ========================================== ===========================
vector         what it is                                 order
============== ========================================== ===========================
"direction"    :math:`He_q(Xb/|b|)`                       q = 0, 1, ...
"gradient"     :math:`He_q(Xb)`, b with its own length    q = 0, 1, ...
"target"       :math:`He_q(X\beta_*)`                     q = 0, 1, ...
"readout"      :math:`N^{(k-1)/2}F_0\,a^{\circ k}`        k = 1, 2, ...
============== ========================================== ===========================

(Moniri et al., arXiv 2310.07891, on the training loss; the factor :math:`N^{(k-1)/2}`, ours, makes the limit
one that is not 0). Their limits, with the t_q of :mod:`onestep_lib.small_step.spikes` and rho the cosine of b
and :math:`\beta_*`:

.. math:: He_p(X\beta_*)^\top R_0He_q(X\beta_*)\to\delta_{pq}\,q!\,t_q,

.. math:: He_p(X\beta_*)^\top R_0He_q(Xb/|b|)\to\delta_{pq}\,q!\,\rho^q\,t_q,

.. math:: He_q^\top R_0F_0a^{\circ k}\to0\ (q\ge1),\qquad
          N^{(j+k)/2-1}(a^{\circ j})^\top F_0^\top R_0F_0a^{\circ k}\to\frac\tau{1+\tau}\,\mathbb Ez^{j+k},

:math:`z=\sqrt N\,a_j`; the second is the trace of :math:`F_0^\top R_0F_0` over N, times a moment. These hold
where :math:`F_0` has no part of rank one. The three constant parts it may have (the activation's mean, the
lengths of Gaussian rows and of Gaussian inputs) stand in the matrix

.. math:: P_0=\begin{pmatrix}c_0\sqrt N&w_r\\w_x&0\end{pmatrix},\qquad w=c_2\sqrt{2N/d}\text{ or }0,

.. math:: M_0=(1+\tau)I+km_1P_0^\top P_0,

whose rows are the vectors 1 and g of the samples and whose first column is the mean of the neurons. They
change what lies along these only:

.. math:: \mathbf 1^\top R_0\mathbf 1\to km_1-(km_1)^2[P_0M_0^{-1}P_0^\top]_{00},

.. math:: \tfrac1{\sqrt N}\mathbf 1^\top R_0F_0\mathbf 1\to km_1[P_0M_0^{-1}]_{00},\quad
          \tfrac1N\mathbf 1^\top F_0^\top R_0F_0\mathbf 1\to1-[M_0^{-1}]_{00}.

At finite n the forms of 1 with another vector through a constant part (:math:`He_2` with 1 where the
activation has a mean, :math:`F_0a^{\circ2}` with 1 for Gaussian rows and inputs) are off by about
:math:`n^{-1/2}/2` of the two vectors' own forms (observed, n = 200 to 800). Others are nearer, but for
:math:`He_3` with itself, which is 9 % low at n = 200 and at its limit, to 3 standard errors, from n = 400 on.

Functions
---------
bilinear_form   limit of one form
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial.hermite_e import herme2poly

from onestep_lib._checks import check_choice, check_count, shown
from onestep_lib._values import plain
from onestep_lib.no_step.gaussian_equivalence import Traces, resolvent_traces
from onestep_lib.settings import Setting
from onestep_lib.small_step.gradient import Spike, gradient_spike
from onestep_lib.small_step.spikes import (
    power_basis,
    readout_factor,
    require_spikes,
    sample_side,
)

__all__ = [
    "FORM_VECTORS",
    "bilinear_form",
]

FORM_VECTORS = ("direction", "gradient", "target", "readout")
"""The vectors of the forms, see the module's table."""

# 100! is a number, and so are its products with a penalty that theories take.
_HIGHEST = 100


@dataclass(frozen=True, eq=False)
class _Vector:
    """Coordinates: of a sample vector in the h_q, q = 0, 1, ...; of neurons in 1, z, ... made orthonormal."""

    kind: str
    coordinates: np.ndarray


def _vector(name: str, value: tuple[str, int], setting: Setting, spike: Spike) -> _Vector:
    if not isinstance(value, tuple) or len(value) != 2:
        raise TypeError(f"{name} must be a pair like ('direction', 2), got {shown(value)}")
    kind = check_choice(f"the kind of {name}", value[0], FORM_VECTORS)
    order = check_count(f"the order of {name}", value[1], int(kind == "readout"), _HIGHEST)
    if kind == "readout":
        return _Vector(kind, readout_factor(setting, order)[order])
    # He_q of a coordinate of length s: by powers of s and of a unit coordinate.
    length = np.sqrt(spike.power) if kind == "gradient" else 1.0
    powers = herme2poly(np.eye(order + 1)[order]) * length ** np.arange(order + 1)
    return _Vector("target" if kind == "target" else "direction", powers @ power_basis(order))


@dataclass(frozen=True, eq=False)
class _Constants:
    """The forms of 1 and of the neurons' mean, where :math:`F_0` has constant parts."""

    samples: np.ndarray
    mixed: np.ndarray
    neurons: np.ndarray


def _constants(setting: Setting, bulk: Traces) -> _Constants:
    sigma, t = setting.activation, setting.n / setting.N * bulk.m1
    wobble = sigma.c2 * np.sqrt(2 * setting.N / setting.d)
    rows, inputs = wobble * (setting.rows == "gaussian"), wobble * (setting.inputs == "gaussian")
    P = np.array([[sigma.c0 * np.sqrt(setting.N), rows], [inputs, 0.0]])
    inverse = np.linalg.inv((1 + bulk.tau)[..., None, None] * np.eye(2) + t[..., None, None] * (P.T @ P))
    right = inverse @ P.T
    return _Constants(
        t - t**2 * (P @ right)[..., 0, 0], t * np.swapaxes(right, -1, -2)[..., 0, 0], 1 - inverse[..., 0, 0]
    )


def bilinear_form(
    setting: Setting, first: tuple[str, int], second: tuple[str, int], spike: Spike | None = None
) -> float | np.ndarray:
    r"""Return the limit of :math:`v_1^\top(F_0F_0^\top+\lambda nI)^{-1}v_2`.

    Formulas in :mod:`onestep_lib.beyond.bilinear_forms`.

    Parameters
    ----------
    setting : Setting
        With ridge > 0, a centred or scaled network and one step on fresh data. The step sizes do not enter.
    first, second : (str, int)
        A vector of `FORM_VECTORS` and its order, at most 100: ``("target", 2)`` is :math:`He_2(X\beta_*)`.
    spike : Spike, optional
        :math:`|b|^2` and the alignment of one draw of b; by default their limits.

    Returns
    -------
    float or ndarray
        Of the shape of the penalties.

    Raises
    ------
    TypeError, ValueError
        For a setting outside these conditions, or a vector that there is not.
    ConvergenceError
        As in `onestep_lib.no_step.gaussian_equivalence.resolvent_traces`.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.beyond import bilinear_form
    >>> from onestep_lib.small_step import gradient_spike
    >>> s = Setting(n=1000, d=500, N=400)
    >>> one = bilinear_form(s, ("target", 1), ("target", 1))
    >>> print(f"{bilinear_form(s, ('direction', 1), ('target', 1)) / one:.4f}")  # the alignment
    0.8165
    >>> print(f"{gradient_spike(s).alignment:.4f}")
    0.8165
    """
    require_spikes(setting, stepped=True)
    spike = spike or gradient_spike(setting)
    v, w = (_vector(name, one, setting, spike) for name, one in (("first", first), ("second", second)))
    sigma = setting.activation
    bulk = resolvent_traces(setting.phi, setting.psi, setting.ridges, sigma.c1**2, sigma.nonlinear_power)
    constants = _constants(setting, bulk)
    size = min(v.coordinates.size, w.coordinates.size)
    if "readout" in (v.kind, w.kind) and v.kind != w.kind:
        return plain(v.coordinates[0] * w.coordinates[0] * constants.mixed)
    products = v.coordinates[:size] * w.coordinates[:size]
    if v.kind == "readout":
        return plain(products[0] * constants.neurons + products[1:].sum() * bulk.tau / (1 + bulk.tau))
    t, _ = sample_side(bulk, setting.n / setting.N, size - 1)
    t[..., 0] = constants.samples
    if v.kind != w.kind:
        products = products * spike.alignment ** np.arange(size)
    return plain(t[..., :size] @ products)
