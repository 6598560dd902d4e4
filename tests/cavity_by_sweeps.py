"""The cavity equations of spiked features, solved the slow way: an independent route for the tests.

Trapezoid rule in kappa, plain sweeps of the fixed point, explicit loops over bins, and the second moments
by sweeping too. Nothing of onestep_lib's solver is used.
"""

import numpy as np


def simpson_means(sigma, u, kappa, scale):
    """mu_0, mu_1, m_2, mu_2^2 by the trapezoid rule in zeta; sigma must be smooth."""
    zeta = np.linspace(-10, 10, 1001)
    weights = np.exp(-(zeta**2) / 2)
    weights /= weights.sum()
    values = sigma(scale * zeta + u * kappa[:, None])
    mu0, mu1 = values @ weights, values @ (weights * zeta)
    m2 = values @ (weights * (zeta**2 - 1))
    rest = values - mu0[:, None] - mu1[:, None] * zeta
    return mu0, mu1, m2, rest**2 @ weights


def cavity_losses(
    sigma, spikes, fractions, labels, alpha, beta, penalty, *, scales=None, nu=0.0, inverse_d=0.0,
    bins=None, nodes=1601, sweeps=4000,
):  # fmt: skip
    """Train, test and the sum of N; labels(kappa) -> h0, h1, variance; bins = (w, vv, vt, tt, s[g, k])."""
    G = len(spikes)
    kappa = np.linspace(-9, 9, nodes)
    w = np.exp(-(kappa**2) / 2)
    w /= w.sum()
    scales = np.ones(G) if scales is None else scales
    mu0, mu1, m2, mu2 = (
        np.array(x)
        for x in zip(
            *[simpson_means(sigma, u, kappa, c) for u, c in zip(spikes, scales, strict=True)], strict=True
        )
    )
    h0, h1, variance = labels(kappa)
    pi, ab = np.array(fractions), alpha / beta
    one = np.ones(1)
    wk, vv, vt, tt, s = bins if bins is not None else (one, one, 0 * one, one, np.ones((G, 1)))
    psi = np.concatenate([mu0, kappa * mu1, np.sqrt(nu / 2) * m2])
    eye = np.eye(G)

    c, V = beta * pi / (penalty + ab), np.ones_like(kappa)
    for _ in range(sweeps):
        D = 1 / (1 + V)
        Lam = ab * (mu1 * (w * D)) @ mu1.T
        Om = penalty + ab * mu2 @ (w * D)
        C = [np.diag(c * s[:, k]) for k in range(wk.size)]
        J = [np.linalg.inv(eye + Ck @ Lam) for Ck in C]
        K = [Jk @ Ck for Jk, Ck in zip(J, C, strict=True)]
        R = sum(wk[k] * s[:, k] * np.diag(Lam @ J[k]) for k in range(wk.size))
        Gam = sum(wk[k] * K[k] for k in range(wk.size))
        c_new = beta * pi / (Om + R)
        V_new = (np.einsum("gk,gh,hk->k", mu1, Gam, mu1) + c_new @ mu2) / beta
        change = max(np.max(np.abs(c_new / c - 1)), np.max(np.abs(V_new - V) / (1 + V)))
        c, V = c_new, V_new
        if change < 1e-15:
            break
    D = 1 / (1 + V)

    A, (Kvv, Kvt, Ktt) = _mean_problem(psi, w * D * ab, c, Lam, K, (vv, vt, tt), inverse_d)
    m_hat = ab * mu1 @ (w * D * h1)
    pull = ab * psi @ (w * D * h0)
    pull[G : 2 * G] += np.linalg.solve(Kvv, Kvt @ m_hat)
    theta = np.linalg.lstsq(A, pull, rcond=1e-14)[0]
    M, S, T = np.split(theta, 3)
    F0 = theta @ psi
    tau = np.linalg.solve(Kvv, S - Kvt @ m_hat)
    m = Kvt.T @ tau + Ktt @ m_hat
    Bk = [
        vv[k] * np.outer(tau, tau)
        + vt[k] * (np.outer(tau, m_hat) + np.outer(m_hat, tau))
        + tt[k] * np.outer(m_hat, m_hat)
        for k in range(wk.size)
    ]  # fmt: skip
    Q, N = np.zeros((G, G)), np.ones(G)
    for _ in range(20 * sweeps):
        E = (h0 - F0) ** 2 + variance - 2 * h1 * (m @ mu1) + np.einsum("gk,gh,hk->k", mu1, Q, mu1) + N @ mu2
        Qh = ab * (mu1 * (w * D**2 * E)) @ mu1.T
        Nh = ab * mu2 @ (w * D**2 * E)
        Q_new = -np.outer(S, S)
        field = (T**2 + M**2 * inverse_d) / c**2
        for k in range(wk.size):
            Q_new += K[k] @ Bk[k] @ K[k]
            Q_new += wk[k] * J[k] @ (np.diag(s[:, k] * N) + C[k] @ Qh @ C[k] / beta) @ J[k].T
            inner = Qh / beta + Lam @ np.diag(s[:, k] * N) @ Lam
            field = field + s[:, k] * np.diag(J[k].T @ (Bk[k] + wk[k] * inner) @ J[k])
        N_new = c**2 / (beta**2 * pi) * (Nh + beta * field)
        change = max(np.max(np.abs(Q_new - Q)), np.max(np.abs(N_new - N))) / np.max(np.abs(N_new))
        Q, N = Q_new, N_new
        if change < 1e-15:
            break
    return w @ (D**2 * E), w @ E, N.sum()


def _mean_problem(psi, mass, c, Lam, K, forms, inverse_d):
    G = c.size
    Kvv, Kvt, Ktt = (sum(f[k] * K[k] for k in range(len(K))) for f in forms)
    P = np.zeros((3 * G, 3 * G))
    P[:G, :G] = np.diag(inverse_d / c)
    P[G : 2 * G, G : 2 * G] = np.linalg.inv(Kvv) - Lam
    P[2 * G :, 2 * G :] = np.diag(1 / c)
    return (psi * mass) @ psi.T + P, (Kvv, Kvt, Ktt)
