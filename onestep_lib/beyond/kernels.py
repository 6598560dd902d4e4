r"""The network's own kernel at initialisation: what is left of the features of an infinitely wide network.

.. math:: K(x,x')=\mathbb E_w\,\sigma(w\cdot x)\,\sigma(w\cdot x'),\qquad FF^\top\approx NK .

With :math:`r=|x|/\sqrt d` and the cosine :math:`\rho` of x and x',

.. math:: K(x,x')=\sum_q a_q(r)\,a_q(r')\,\pi_q(\rho),\qquad a_q(r)=\mathbb E\,\sigma(r\zeta)\,p_q(\zeta):

for Gaussian rows :math:`\zeta\sim N(0,1)`, :math:`p_q=He_q/\sqrt{q!}`, :math:`\pi_q=\rho^q`; for rows on
the sphere :math:`\zeta/\sqrt d` is a coordinate of a uniform unit vector, the :math:`p_q` are its orthonormal
(Gegenbauer) polynomials and :math:`\pi_q(\rho)=p_q(\sqrt d\rho)/p_q(\sqrt d)` (Funk and Hecke). Both are
exact at every d. The sum stops at degree 24; what is left of it is below
:math:`|\rho|^{25}\,(K(x,x)K(x',x'))^{1/2}` and is refused where that could count.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from onestep_lib._checks import check_instance, check_matrix
from onestep_lib.convergence import ConvergenceError
from onestep_lib.quadrature import gauss_legendre, gaussian_quadrature
from onestep_lib.settings import Setting

_DEGREE = 24
# Of the mean of the diagonal.
_LEFT = 1e-3
_RANGE, _NODES = 14.0, 16
# Few rows at once fit into a processor's cache.
_ROWS = 32


def kernel_matrix(setting: Setting, X: np.ndarray, others: np.ndarray | None = None) -> np.ndarray:
    r"""Return K between inputs, shape (n, n), or from inputs to others, shape (n, m).

    Parameters
    ----------
    setting : Setting
        Its activation, d and rows matter; the rows are independent, and d >= 4 for rows on the sphere.
    X : ndarray, shape (n, d)
    others : ndarray, shape (m, d), optional

    Raises
    ------
    ValueError
        If a shape does not fit, an input is 0, or the rows are correlated.
    ConvergenceError
        If inputs that are nearly parallel and an activation with a kink need degrees beyond 24.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.beyond.kernels import kernel_matrix
    >>> X = np.array([[2.0, 2.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]])
    >>> kernel = kernel_matrix(Setting(n=2, d=4, N=30, activation="erf"), X)
    >>> print(f"{kernel[0, 1]:.4f} {2 / np.pi * np.arcsin(2 / np.sqrt(5 * 3)):.4f}")  # Williams (1996)
    0.3455 0.3455
    """
    check_instance("setting", setting, Setting)
    if setting.shared:
        raise ValueError(f"shared must be 0 for the kernel, got {setting.shared:.6g}")
    if setting.rows == "spherical" and setting.d < 4:
        raise ValueError(f"d must be at least 4 for the kernel of spherical rows, got {setting.d}")
    X = check_matrix("X", X, setting.d)
    left = _expansion(setting, "X", X)
    right = left
    if others is not None:
        others = check_matrix("others", others, setting.d)
        right = _expansion(setting, "others", others)
    (lengths, a, powers), (other_lengths, b, _) = left, right
    inner = X @ (X if others is None else others).T
    cosines = np.clip(inner / np.multiply.outer(lengths, other_lengths), -1, 1)
    _require_small_rest(setting, cosines, others is None, left, right)
    kernel = np.zeros_like(cosines)
    for start in range(0, len(X), _ROWS):
        rows = slice(start, start + _ROWS)
        for q, angular in enumerate(_angular(setting, cosines[rows])):
            kernel[rows] += np.multiply.outer(a[rows, q], b[:, q]) * angular
    if others is None:
        np.fill_diagonal(kernel, powers)
    return kernel


def _expansion(setting: Setting, name: str, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lengths of the inputs, their coefficients a_q, shape (n, degrees), and E sigma(w.x)^2."""
    lengths = np.linalg.norm(X, axis=1)
    if not lengths.all():
        raise ValueError(f"{name} must not hold an input of length 0")
    zeta, weights, basis = _basis(setting)
    values = setting.activation(np.multiply.outer(lengths / np.sqrt(setting.d), zeta))
    return lengths, (values * weights) @ basis.T, values**2 @ weights


def _basis(setting: Setting) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes and weights of zeta, and its orthonormal polynomials p_0, ..., p_24 there."""
    if setting.rows == "spherical":
        zeta, weights = _sphere_quadrature(setting.d, setting.activation.kinks)
    else:
        zeta, weights = gaussian_quadrature(setting.activation.kinks)
    # Orthonormal by construction on the nodes: three terms, by Stieltjes' procedure.
    basis = [np.ones_like(zeta)]
    before, size = np.zeros_like(zeta), 0.0
    for _ in range(_DEGREE):
        following = zeta * basis[-1] - size * before
        before, size = basis[-1], float(np.sqrt(weights @ following**2))
        basis.append(following / size)
    return zeta, weights, np.array(basis)


def _sphere_quadrature(d: int, kinks: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for sqrt(d) times a coordinate of a uniform unit vector, as sqrt(d) sin(theta)."""
    root = np.sqrt(d)
    # The density cos^(d-2) has the width 1/sqrt(d), and no weight beyond 14 of it.
    end = min(np.pi / 2, _RANGE / root)
    panels = np.linspace(-end, end, 2 * int(np.ceil(2 * end * root)) + 1)
    bends = [np.arcsin(kink / root) for kink in kinks if abs(kink) < root]
    edges = np.unique(np.concatenate([panels, [bend for bend in bends if abs(bend) < end]]))
    points, weights = gauss_legendre(_NODES)
    half = np.diff(edges)[:, None] / 2
    theta = ((edges[:-1] + edges[1:])[:, None] / 2 + half * points).ravel()
    mass = (half * weights).ravel() * np.cos(theta) ** (d - 2)
    return root * np.sin(theta), mass / mass.sum()


def _angular(setting: Setting, cosines: np.ndarray) -> Iterator[np.ndarray]:
    """The functions pi_q of the cosine, q = 0, ..., 24, one at a time."""
    before, current = np.zeros_like(cosines), np.ones_like(cosines)
    d = setting.d
    for q in range(_DEGREE + 1):
        yield current
        if setting.rows == "spherical":
            above = ((2 * q + d - 2) * cosines * current - q * before) / (q + d - 2)
        else:
            above = cosines * current
        before, current = current, above


def _require_small_rest(
    setting: Setting, cosines: np.ndarray, square: bool, *sides: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> None:
    """Raise where degrees beyond the last could count."""
    size = np.abs(cosines)
    if square:
        np.fill_diagonal(size, 0.0)
    rest = [np.sqrt(np.max(np.maximum(powers - np.sum(a**2, axis=1), 0.0))) for _, a, powers in sides]
    bound = float(np.max(size, initial=0.0)) ** (_DEGREE + 1) * rest[0] * rest[1]
    mean = float(np.mean(sides[0][2]))
    if bound > _LEFT * mean:
        raise ConvergenceError(
            "kernel_matrix", bound / mean, {"setting": setting}, "inputs nearly parallel: take a larger d"
        )
