r"""The weights after two steps: where the bulk ends, and where the outliers of all parts of the steps stand.

A scaled network with an odd activation takes a step of size eta and a second one of size
:math:`\eta_2`, on its batch again or on a fresh one. With :math:`s=\eta/\sqrt N`, :math:`s_2=\eta_2/\sqrt N`,
:math:`\zeta_j=\sqrt N\,a_j`, and z, t, :math:`r_2` of :mod:`onestep_lib.beyond.second_step`, sample i
enters row j with the weight

.. math:: m_{ji}=[\text{same}]\,s\,\zeta_jy_i\sigma'(u)+s_2\,\zeta_jr_2\,\sigma'(z),\qquad
          W_2=W+\tfrac1n\,m\,X,

W the weights before the last batch came. Given its neuron's :math:`\zeta` and its sample's t and y, a weight
is a mean, two linear parts and noise that is white across neurons and samples:

.. math:: m=M+L\,u+K\,\pi+\nu,\qquad \pi_{ji}=\langle p_j,x_i\rangle\ \text{less sample i's own share},

:math:`p_j` the private part of the first gradient's row, over :math:`\zeta_j/\sqrt N`. (On a fresh batch
u and :math:`\pi` enter through their sum alone, and L is its slope.) The means are shared vectors
:math:`\mu_\zeta=\frac1nX^\top M` (and :math:`s\,\zeta c_1b` of a first step on another batch), the rest is
noise: rows with a covariance :math:`C_\zeta`, which depends on the neuron's readout. With
:math:`D_f=\frac1nX^\top\operatorname{diag}(f)X`, for the same batch

.. math:: d\,C_\zeta=(1+D_L)^2+\phi\,\big[D_{V}+D_KD_{yv}+D_{yv}D_K
          +\mathrm{Var}(\sigma')\,D_KD_{y^2}D_K\big],

V the variance of :math:`\nu-\phi Kye` and v its covariance with :math:`e=\sigma'(u)-c_1`; for a fresh one

.. math:: d\,C_\zeta=(1+D_L)\big(1+s^2\zeta^2\phi\,\mathrm{Var}(\sigma')\,D^{(1)}_{y^2}\big)(1+D_L)+\phi D_V.

**The bulk.** Leaving out a row gives :math:`R=(\mathcal K-z)^{-1}` for the average of
:math:`(W_2^\top W_2-z)^{-1}` without the means,

.. math:: \mathcal K=N\,\mathbb E_\zeta\frac{C_\zeta}{1+\delta_\zeta},\qquad
          \delta_\zeta=\operatorname{tr}C_\zeta R .

:math:`\mathcal K` is a polynomial in the D. With an auxiliary vector for every product it becomes linear in
:math:`x_ix_i^\top/n`: a matrix :math:`Q\otimes1+\frac1n\sum_iS_i\otimes x_ix_i^\top` of small blocks, whose
inverse has the block traces

.. math:: G=\big(Q+\mathbb E[S(1+\phi GS)^{-1}]\big)^{-1},\qquad
          \tfrac1n\,x_i^\top(\cdot)^{-1}x_i=A_i=\phi G(1+S_i\phi G)^{-1},

by leaving out a sample. R has the trace :math:`G_{11}`, and :math:`\delta` follows from G and the A.

**Outliers** are the z where :math:`\Gamma^{-1}+\mu R\mu^\top` is singular, :math:`\Gamma` diagonal with
N times the share of :math:`\zeta` over :math:`1+\delta_\zeta`; with the null vector v, the squared overlap
with :math:`\beta_*` is :math:`(v^\top\mu R\beta_*)^2` over
:math:`v^\top(\Gamma^{-1}+\mu R\mu^\top)'v`, a slope in z. The vectors :math:`\mu` are made of the samples
that are in R: given :math:`X\beta_*` and :math:`Xb`, X is these two columns and Gaussian across them and
across y (Bolthausen, Comm. Math. Phys. 325, 333, 2014), so that :math:`\mu R\mu^\top` is a matter of
averages over :math:`A_i`.

Neurons with a long readout have long rows and samples with a large label have a large weight: where labels
are unbounded, single ones stand out of the bulk, which then has no end in the limit. The averages over
samples stop where n of them have none, those over the readout at 4 standard deviations, which moves the
part along He_3 by 6 % (a given readout is not cut). So the formula is for bounded labels: for He_3 at n =
800 and a second step of 60 the first overlap is 0.137 here, 0.114 by :eq:`eq-second-outlier`, which
networks confirm. Derived at :eq:`eq-second-bulk`, not proved. Against networks
(tests/large_step/test_two_steps.py) the same batch is within the errors; on a fresh one the second outlier
of 92 networks with d = 400 and 800 lay 1.5 % below the formula, 2.7 standard errors: the cause is not
known.

Functions
---------
two_step_spectrum   edge, outliers and their overlaps
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import chdtri

from onestep_lib._checks import check_choice, check_nonnegative, check_number, check_vector, shown
from onestep_lib.activations import Activation
from onestep_lib.beyond.second_step import _checked, _gauss, _spaced
from onestep_lib.convergence import ConvergenceError
from onestep_lib.hermite import hermite
from onestep_lib.large_step.stepped_model import is_odd
from onestep_lib.schedules import BATCHES
from onestep_lib.settings import Setting
from onestep_lib.spiked_features.acceleration import anderson

__all__ = [
    "two_step_spectrum",
]

# Equally spaced nodes: for <beta_*, x>, <b, x> across it and the noise; for zeta, to _REACH deviations. A
# given readout gets the Gauss rule of its own numbers.
_SAMPLES = (32, 16, 8)
_NEURONS = 24
_OWN_NEURONS = 10
_REACH = 4.0
_U, _XI = 36, 6
# What the linear parts lose, root mean square, to be written as few products.
_DROPPED = 0.02
_TOLERANCE = 1e-10
_SWEEPS = 30
# Steps in log(-tr R) of the walk to the edge: the first, and the one that ends it.
_STRIDE, _LAST = 0.5, 4e-3
# Where it begins: the largest trace, and how often another factor exp(-2) is tried.
_NEAR, _TRIES = 1e-2, 12


State = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class TwoStepSpectrum:
    """The singular values of the weights after two steps that stand out of the bulk, the largest first.

    Parameters
    ----------
    edge : float
        The right end of the bulk, or of what single rows and samples push out of it.
    values : ndarray, shape (J,)
    target : ndarray, shape (J,)
        Squared overlaps of their right vectors with beta_*.
    readout : ndarray, shape (J, 2)
        Squared overlaps of their left vectors with the unit vectors along He_1 and He_3 of the readout.
    """

    edge: float
    values: np.ndarray
    target: np.ndarray
    readout: np.ndarray


def two_step_spectrum(
    setting: Setting, second: float, batch: str = "same", readout: ArrayLike | None = None
) -> TwoStepSpectrum:
    r"""Return the edge and the outliers of the weights after a step of the setting's size and a second one.

    The formulas are those of :mod:`onestep_lib.beyond.two_steps`, derived at :eq:`eq-second-bulk`.

    Parameters
    ----------
    setting : Setting
        As for `second_gradient`, with an odd activation that has a linear part. Measured for tanh and erf; a
        slope that grows without bound, as that of He_3, makes rows and samples that stand out by themselves.
    second : float
        The size :math:`\eta_2\ge0` of the second step.
    batch : {"same", "fresh"}
        The first step's batch again, or one of the same number of samples.
    readout : array_like, shape (N,), optional
        A realised readout; by default the law of the setting's. The strength of the part along
        :math:`He_3(\zeta)` is a sum of N numbers :math:`He_3(\zeta_j)^2`, whose relative standard
        deviation is :math:`\sqrt{92/N}`.

    Returns
    -------
    TwoStepSpectrum

    Raises
    ------
    TypeError, ValueError
        As in `second_gradient`; for an activation that is not odd or has c_1 = 0, or an argument that is not
        allowed.
    ConvergenceError
        If the equations have no solution far from the spectrum.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.large_step import two_step_spectrum
    >>> s = Setting(n=1600, d=800, N=800, output="scaled", target=np.sin, step=28)
    >>> one, two = (two_step_spectrum(s, size, batch="fresh") for size in (0, 85))
    >>> print(one.values.size, two.values.size, one.edge < two.edge)  # the part along He_3 comes out
    1 2 True
    """
    batch = check_choice("batch", batch, BATCHES)
    law = _law(setting, check_number("second", second, check_nonnegative), batch, readout)
    place, state = _beyond(law)
    edge, found = np.inf, []
    stride, below = _STRIDE, 0
    while stride > _LAST:
        ahead = _ahead(law, place + stride, state)
        if ahead is None or ahead[1] >= edge:
            stride /= 2
            continue
        negative = int(np.sum(np.linalg.eigvalsh(law.condition(*ahead)) < 0))
        found += [(place, state, place + stride, j) for j in range(below, negative)]
        place, below = place + stride, negative
        state, edge = ahead
    return _spectrum(law, edge, place, found)


class _Law:
    """The equations of one setting: G and delta as a `State`, at a place log(-tr R/d)."""

    def __init__(self, neurons: _Neurons, samples: _Samples, phi: float, N: int, d: int) -> None:
        self.neurons, self.samples, self.phi, self.N, self.ratio = neurons, samples, phi, N, N / d
        count = neurons.basis.shape[0]
        # Blocks: x, the products D_f x for f in the basis, and the multipliers that make them so.
        self.size, self.upper = 1 + 2 * count, 1 + count
        self.fixed = np.zeros((self.size, self.size))
        self.coupling = np.zeros((samples.y.size, self.size, self.size))
        for k in range(count):
            product, multiplier = 1 + k, self.upper + k
            self.fixed[product, multiplier] = self.fixed[multiplier, product] = -1
            self.coupling[:, 0, multiplier] = self.coupling[:, multiplier, 0] = neurons.basis[k]
        self.triangle = np.triu_indices(self.size)

    def matrices(self, delta: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """Q without z, and S of either batch: of the last, and of a first one that is another."""
        rows, y, up = self.neurons, self.samples.y, slice(0, self.upper)
        loads = self.ratio * rows.shares / (1 + delta)
        Q, S = self.fixed.copy(), self.coupling.copy()
        Q[up, up] += (rows.gains.T * loads) @ rows.gains
        S[:, 0, 0] += self.phi * (loads @ rows.own)
        if rows.first is None:
            crossed = self.phi * y[:, None] * ((loads[:, None] * rows.crossed).T @ rows.kept)
            S[:, 0, up] += crossed
            S[:, up, 0] += crossed
            through = self.phi * rows.slope_variance * (rows.kept.T * loads) @ rows.kept
            S[:, up, up] += y[:, None, None] ** 2 * through
            return Q, [S]
        S_1 = np.zeros_like(S)
        S_1[:, up, up] = y[:, None, None] ** 2 * (
            (rows.gains.T * (loads * self.phi * rows.first)) @ rows.gains
        )
        return Q, [S, S_1]

    def sweep(self, state: State, trace: float) -> tuple[State, float]:
        """One round of the equations, and the z at which R has this trace."""
        G, delta = state
        Q, batches = self.matrices(delta)
        weights, inverses = self.samples.weights, []
        for S in batches:
            A = self._inverse(G, S)
            Q = Q + np.tensordot(weights, S - S @ A @ S, 1)
            inverses.append(A)
        inner = Q[0, 1:] @ np.linalg.solve(Q[1:, 1:], Q[1:, 0]) if self.size > 1 else 0.0
        z = Q[0, 0] - inner - 1 / trace
        Q[0, 0] -= z
        G = np.linalg.inv(Q)
        return ((G + G.T) / 2, self._deltas(G, inverses)), float(z)

    def _inverse(self, G: np.ndarray, S: np.ndarray) -> np.ndarray:
        return self.phi * G @ np.linalg.inv(np.eye(self.size) + S @ (self.phi * G))

    def _deltas(self, G: np.ndarray, inverses: list[np.ndarray]) -> np.ndarray:
        rows, y, w, up = self.neurons, self.samples.y, self.samples.weights, slice(0, self.upper)
        A = inverses[0]
        delta = _squares(rows.gains, G[up, up]) + rows.own @ (w * A[:, 0, 0])
        if rows.first is None:
            delta += 2 * np.sum(rows.kept * (rows.crossed @ ((w * y)[:, None] * A[:, 0, up])), axis=1)
            mean = np.tensordot(w * y**2, A[:, up, up], 1)
            return delta + rows.slope_variance * _squares(rows.kept, mean)
        mean = np.tensordot(w * y**2, inverses[1][:, up, up], 1)
        return delta + rows.first * _squares(rows.gains, mean)

    def solve(self, place: float, start: State | None) -> tuple[State, float]:
        trace = -np.exp(place)
        if start is None:
            G = np.linalg.inv(self.fixed + np.diag([1 / trace] + [0.0] * (self.size - 1)))
            start = (G, np.full(self.neurons.shares.size, trace))

        def packed(state: State) -> np.ndarray:
            return np.concatenate([state[1], state[0][self.triangle]])

        def unpacked(x: np.ndarray) -> State:
            G, count = np.zeros((self.size, self.size)), self.neurons.shares.size
            G[self.triangle] = x[count:]
            return G + np.triu(G, 1).T, x[:count]

        first = packed(start)
        solution = anderson(
            lambda x: packed(self.sweep(unpacked(x), trace)[0]),
            first, np.ones(first.size), _TOLERANCE, iterations=_SWEEPS,
        )  # fmt: skip
        return self.sweep(unpacked(solution), trace)

    def holds(self, state: State) -> bool:
        """Whether no row and no sample of the averages has left the bulk."""
        G, delta = state
        one = np.eye(self.size)
        determinants = (np.linalg.det(one + S @ (self.phi * G)) for S in self.matrices(delta)[1])
        return bool(np.min(1 + delta) > 0 and all(np.min(each) > 0 for each in determinants))

    def condition(self, state: State, z: float) -> np.ndarray:
        """The matrix that is singular at an outlier, made positive far out."""
        root = np.sqrt(self.strengths(state))
        return np.eye(root.size) + root[:, None] * self.forms(state, z)[:-1, :-1] * root

    def strengths(self, state: State) -> np.ndarray:
        return self.N * self.neurons.shares / (1 + state[1])

    def forms(self, state: State, z: float) -> np.ndarray:
        r"""The quadratic forms of R with the means of all nodes of zeta and, last, :math:`\beta_*`."""
        G, delta = state
        rows, samples, w, size = self.neurons, self.samples, self.samples.weights, self.size
        Q, batches = self.matrices(delta)
        Q[0, 0] -= z
        count = rows.shares.size
        # Along beta_* and across it along b, each with all blocks; the last column is beta_*.
        plane = np.kron(np.eye(2), Q)
        vectors = np.zeros((2 * size, count + 1))
        vectors[[0, size], :count] = rows.shared.T
        vectors[0, count] = 1
        forms = np.zeros((count + 1, count + 1))
        for k, S in enumerate(batches):
            A = self._inverse(G, S)
            held = rows.first is None or k == 1
            ends = np.stack([samples.along, samples.across + (samples.returned if held else 0)])
            field = np.zeros((w.size, size, count + 1))
            if k == 0:
                field[:, 0, :count] = rows.mean.T
                vectors[[0, size], :count] += (ends * w) @ rows.mean.T
            plane += np.einsum("n,an,cn,nij->aicj", w, ends, ends, S, optimize=True).reshape(plane.shape)
            coupled = np.einsum("an,nij->niaj", ends, S).reshape(w.size, size, 2 * size)
            both = np.concatenate([coupled, field], axis=2)
            solved = A @ both
            inside = np.tensordot(both * w[:, None, None], solved, axes=([0, 1], [0, 1]))
            if held:
                # y was used for b: nothing is left along it.
                own = np.tensordot(w * samples.y**2, A, 1)
                side = np.tensordot(w * samples.y, solved, 1)
                inside -= side.T @ np.linalg.solve(own, side)
            plane -= inside[: 2 * size, : 2 * size]
            vectors -= inside[: 2 * size, 2 * size :]
            forms += inside[2 * size :, 2 * size :]
        return forms + vectors.T @ np.linalg.solve(plane, vectors)


def _squares(rows: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    return np.sum((rows @ matrix) * rows, axis=1)


@dataclass(frozen=True, eq=False)
class _Samples:
    """Nodes of the samples: <beta_*, x>, <b, x> across it without and (`returned`) with the own label, y."""

    along: np.ndarray
    across: np.ndarray
    returned: np.ndarray
    y: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True, eq=False)
class _Neurons:
    """Nodes of zeta > 0, and the weights of samples there: arrays (nodes, samples), or (nodes, blocks).

    `gains` and `kept` are 1 + D_L and D_K in the basis, after the 1; `first` is the variance of the private
    part of a first step on another batch.
    """

    zeta: np.ndarray
    shares: np.ndarray
    mean: np.ndarray
    shared: np.ndarray
    basis: np.ndarray
    gains: np.ndarray
    kept: np.ndarray
    own: np.ndarray
    crossed: np.ndarray
    first: np.ndarray | None
    slope_variance: float


def _law(setting: Setting, second: float, batch: str, readout: ArrayLike | None) -> _Law:
    target, power = _checked(setting)
    sigma, phi, N = setting.activation, setting.phi_0, setting.N
    if not is_odd(sigma):
        raise ValueError(f"activation must be odd here, got {shown(sigma.name)}")
    sigma.require_linear_part()
    zeta, shares = _zeta_nodes(readout, N)
    (along, across, noise), weights = _sample_nodes(setting.d / phi, setting.noise > 0)
    y = target(along) + setting.noise * noise
    spread = np.sqrt(phi * power)
    samples = _Samples(along, across, y * np.sqrt(phi / power), y, weights)
    t = target.linear * along + spread * across
    s, s_2, v_1 = float(setting.steps) / np.sqrt(N), second / np.sqrt(N), sigma.slope_variance
    private, same = np.sqrt(phi * v_1 * power), batch == "same"
    means = _inner_means(sigma, zeta, t, y if same else 0 * y, s, phi, private)
    residual = y - shares @ (zeta[:, None] * means.output)
    rate = s_2 * zeta[:, None] * residual
    mean, shared, first = rate * means.slope, np.zeros((zeta.size, 2)), None
    varied = means.square - means.slope**2
    if same:
        earlier = s * zeta[:, None] * y
        mean = mean + earlier * sigma.c1
        gain = rate * means.along_u
        kept = rate * means.along_xi / private if private else 0 * gain
        crossed = earlier * v_1 + rate * means.earlier
        own = earlier**2 * v_1 + 2 * earlier * rate * means.earlier + rate**2 * varied
        # The rest of the weight, less the sample's own share in what K multiplies.
        own = (
            own - gain**2 - (kept * private) ** 2 - 2 * phi * kept * y * crossed + (phi * kept * y) ** 2 * v_1
        )
        crossed = crossed - phi * kept * y * v_1
    else:
        length = 1 + (s * zeta * private) ** 2
        gain = rate * (means.along_u + (s * zeta * private)[:, None] * means.along_xi) / length[:, None]
        kept = crossed = 0 * gain
        own = rate**2 * varied - gain**2 * length[:, None]
        shared = np.multiply.outer(s * zeta * sigma.c1, [target.linear, spread])
        first = (s * zeta) ** 2 * v_1
    basis, gains, kept = _few_products(gain, kept, shares, weights)
    neurons = _Neurons(zeta, shares, mean, shared, basis, gains, kept, own, crossed, first, v_1)
    return _Law(neurons, samples, phi, N, setting.d)


def _sample_nodes(samples: float, noise: bool) -> tuple[np.ndarray, np.ndarray]:
    """Nodes inside the radius beyond which so many samples have less than half of one, of variance 1."""
    radius = np.sqrt(chdtri(3 if noise else 2, 1 / (2 * samples)))
    rules = [_spaced(count, radius) for count in _SAMPLES]
    if not noise:
        rules[2] = np.zeros(1), np.ones(1)
    points = np.stack([grid.ravel() for grid in np.meshgrid(*(rule[0] for rule in rules), indexing="ij")])
    weights = np.multiply.outer(np.multiply.outer(rules[0][1], rules[1][1]), rules[2][1]).ravel()
    inside = np.sum(points**2, axis=0) <= radius**2
    points, weights = points[:, inside], weights[inside] / weights[inside].sum()
    return points / np.sqrt(np.maximum(points**2 @ weights, np.finfo(float).tiny))[:, None], weights


def _zeta_nodes(readout: ArrayLike | None, N: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Nodes and shares of \|zeta\|, of which alone even functions are averaged."""
    if readout is None:
        nodes, mass = _spaced(_NEURONS, _REACH)
        return nodes[nodes > 0], 2 * mass[nodes > 0]
    square = N * check_vector("readout", readout, N) ** 2
    # Gauss's rule of N points of equal share, by Lanczos' recurrence, kept orthogonal.
    count = min(_OWN_NEURONS, np.unique(square).size)
    vectors, diagonal, beside = [np.full(N, N**-0.5)], [], []
    for _ in range(count):
        vector = square * vectors[-1]
        diagonal.append(vector @ vectors[-1])
        for _ in range(2):
            for other in vectors:
                vector = vector - (other @ vector) * other
        beside.append(np.linalg.norm(vector))
        vectors.append(vector / max(beside[-1], np.finfo(float).tiny))
    nodes, turned = np.linalg.eigh(np.diag(diagonal) + np.diag(beside[:-1], 1) + np.diag(beside[:-1], -1))
    return np.sqrt(np.maximum(nodes, 0)), turned[0] ** 2


@dataclass(frozen=True, eq=False)
class _Means:
    """Averages over u and xi of sigma(z), sigma'(z), its products with u, xi and e, and its square."""

    output: np.ndarray
    slope: np.ndarray
    along_u: np.ndarray
    along_xi: np.ndarray
    earlier: np.ndarray
    square: np.ndarray


def _inner_means(
    sigma: Activation,
    zeta: np.ndarray,
    t: np.ndarray,
    memory: np.ndarray,
    s: float,
    phi: float,
    private: float,
) -> _Means:
    slope = sigma.require_slope()
    (u, mass), (xi, mass_xi) = _spaced(_U), _gauss(_XI)
    u, xi = np.repeat(u, _XI), np.tile(xi, _U)
    weights = np.outer(mass, mass_xi).ravel()
    before = slope(u)
    columns = np.stack([weights, weights * u, weights * xi, weights * (before - sigma.c1)], axis=1)
    found = np.empty((6, zeta.size, t.size))
    for k, one in enumerate(zeta):
        z = u + s * one * (sigma.c1 * t[:, None] + phi * memory[:, None] * before + private * xi)
        steep = slope(z)
        found[0, k] = sigma(z) @ weights
        found[1:5, k] = (steep @ columns).T
        found[5, k] = steep**2 @ weights
    return _Means(*found)


def _few_products(
    gain: np.ndarray, kept: np.ndarray, shares: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Functions of the samples, and the linear parts as their combinations: the best few for both."""
    scale = np.sqrt(np.tile(shares, 2))[:, None]
    left, sizes, right = np.linalg.svd(
        np.concatenate([gain, kept]) * scale * np.sqrt(weights), full_matrices=False
    )
    lost = np.sqrt(np.cumsum(sizes[::-1] ** 2))[::-1]
    count = int(np.sum(lost > _DROPPED))
    combined = left[:, :count] * sizes[:count] / scale
    L, K = np.split(combined, 2)
    one = np.ones((shares.size, 1))
    return right[:count] / np.sqrt(weights), np.hstack([one, L]), np.hstack([0 * one, K])


def _ahead(law: _Law, place: float, start: State) -> tuple[State, float] | None:
    """The state there and its z, or None beyond the edge."""
    try:
        state, z = law.solve(place, start)
        # Beyond the edge z grows again.
        falls = law.solve(place - _LAST, state)[1] > z > 0
    except (ConvergenceError, np.linalg.LinAlgError):
        return None
    return (state, z) if falls and law.holds(state) else None


def _beyond(law: _Law) -> tuple[float, State]:
    """A place beyond every outlier, and beyond every sample where the equations have no solution."""
    for place in np.log(_NEAR) - 2.0 * np.arange(_TRIES):
        try:
            state, z = law.solve(place, None)
        except (ConvergenceError, np.linalg.LinAlgError):
            continue
        if law.holds(state) and np.linalg.eigvalsh(law.condition(state, z))[0] > 0:
            return float(place), state
    raise ConvergenceError("two_step_spectrum", np.inf, {"N": law.N}, "take smaller steps")


def _spectrum(
    law: _Law, edge: float, last: float, brackets: list[tuple[float, State, float, int]]
) -> TwoStepSpectrum:
    rows = law.neurons
    parts = hermite(3, rows.zeta)[[1, 3]]
    parts = parts * rows.shares / np.maximum(np.sqrt(parts**2 @ rows.shares), np.finfo(float).tiny)[:, None]
    values, target, readout = [], [], []
    for low, start, high, j in brackets:

        def at(place: float, start: State = start) -> tuple[State, float]:
            return law.solve(place, start)

        def ordered(place: float, at: Callable = at, j: int = j) -> float:
            return float(np.linalg.eigvalsh(law.condition(*at(place)))[j])

        place = brentq(ordered, low, high, xtol=1e-9)
        state, z = at(place)
        strengths, forms = law.strengths(state), law.forms(state, z)
        _, turned = np.linalg.eigh(law.condition(state, z))
        null = np.sqrt(strengths) * turned[:, j]
        # Too near the edge for a slope there, one side has to do.
        ahead = min(1e-3, (last - place) / 2)
        sides = [at(place + ahead) if ahead > 1e-4 else (state, z), at(place - 1e-3)]
        matrices = [np.diag(1 / law.strengths(one)) + law.forms(one, x)[:-1, :-1] for one, x in sides]
        slope = (null @ (matrices[0] - matrices[1]) @ null) / (sides[0][1] - sides[1][1])
        along = -null / strengths / np.sqrt(slope)
        values.append(np.sqrt(z))
        target.append((null @ forms[:-1, -1]) ** 2 / slope)
        readout.append((np.sqrt(law.N / z) * parts @ (along / (1 + state[1]))) ** 2)
    return TwoStepSpectrum(
        float(np.sqrt(edge)), np.array(values), np.array(target), np.array(readout).reshape(-1, 2)
    )
