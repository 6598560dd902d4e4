# %% right: bisection
def limits(t, ratio, penalty, c1, nonlinear):
    C = (c1 * c1) * t + nonlinear * nonlinear
    low, high = np.log(1e-10), np.log(1e10)
    while high - low > 1e-13:
        middle = (low + high) / 2
        mu = np.exp(middle)
        if penalty / mu - ratio + np.mean(C / (C + mu)) > 0:
            low = middle
        else:
            high = middle
    return mu * ratio / penalty * np.mean(1 / (C + mu)), mu * ratio / penalty * np.mean(t / (C + mu))


# %% right: another function of scipy
from scipy.optimize import root_scalar


def limits(t, ratio, penalty, c1, nonlinear):
    C = c1**2 * t + nonlinear**2
    f = lambda q: q - ratio + np.mean(C * q / (C * q + penalty))  # q = penalty / mu, between 0 and N/n
    q = root_scalar(f, bracket=(1e-14, ratio), xtol=1e-15, rtol=1e-14).root
    return [ratio * np.mean(1 / (C * q + penalty)), ratio * np.mean(t / (C * q + penalty))]


# %% right: a fixed point, iterated
def limits(t, ratio, penalty, c1, nonlinear):
    C = c1**2 * t + nonlinear**2
    tau = 0.0
    for _ in range(20000):
        mu = penalty * (1 + tau) / ratio
        tau = (mu / penalty) * np.mean(C / (C + mu))
    mu = penalty * (1 + tau) / ratio
    return np.array([np.mean(1 / (C + mu)), np.mean(t / (C + mu))]) * mu * ratio / penalty


# %% wrong: c_{>1} not squared | has to be squared
def limits(t, ratio, penalty, c1, nonlinear):
    from scipy.optimize import brentq

    C = c1**2 * t + nonlinear
    mu = np.exp(
        brentq(lambda s: penalty / np.exp(s) - ratio + np.mean(C / (C + np.exp(s))), -30, 30, xtol=1e-13)
    )
    return mu * ratio / penalty * np.mean(1 / (C + mu)), mu * ratio / penalty * np.mean(t / (C + mu))


# %% wrong: c_1 not squared | c_1 has to be squared
def limits(t, ratio, penalty, c1, nonlinear):
    from scipy.optimize import brentq

    C = c1 * t + nonlinear**2
    mu = np.exp(
        brentq(lambda s: penalty / np.exp(s) - ratio + np.mean(C / (C + np.exp(s))), -30, 30, xtol=1e-13)
    )
    return mu * ratio / penalty * np.mean(1 / (C + mu)), mu * ratio / penalty * np.mean(t / (C + mu))


# %% wrong: without the factor N/n | which normalisation?
def limits(t, ratio, penalty, c1, nonlinear):
    from scipy.optimize import brentq

    C = c1**2 * t + nonlinear**2
    mu = np.exp(
        brentq(lambda s: penalty / np.exp(s) - ratio + np.mean(C / (C + np.exp(s))), -30, 30, xtol=1e-13)
    )
    return mu / penalty * np.mean(1 / (C + mu)), mu / penalty * np.mean(t / (C + mu))


# %% wrong: n/N for N/n | you used n/N
def limits(t, ratio, penalty, c1, nonlinear):
    from scipy.optimize import brentq

    ratio, C = 1 / ratio, c1**2 * t + nonlinear**2
    mu = np.exp(
        brentq(lambda s: penalty / np.exp(s) - ratio + np.mean(C / (C + np.exp(s))), -30, 30, xtol=1e-13)
    )
    return mu * ratio / penalty * np.mean(1 / (C + mu)), mu * ratio / penalty * np.mean(t / (C + mu))


# %% wrong: the means without mu | the factor mu N / (lambda n) is missing
def limits(t, ratio, penalty, c1, nonlinear):
    from scipy.optimize import brentq

    C = c1**2 * t + nonlinear**2
    mu = np.exp(
        brentq(lambda s: penalty / np.exp(s) - ratio + np.mean(C / (C + np.exp(s))), -30, 30, xtol=1e-13)
    )
    return np.mean(1 / (C + mu)), np.mean(t / (C + mu))


# %% wrong: stops after three rounds | limits of m_1 and m_2
def limits(t, ratio, penalty, c1, nonlinear):
    C, mu = c1**2 * t + nonlinear**2, penalty
    for _ in range(3):
        mu = penalty / ratio * (1 + mu / penalty * np.mean(C / (C + mu)))
    return mu * ratio / penalty * np.mean(1 / (C + mu)), mu * ratio / penalty * np.mean(t / (C + mu))


# %% wrong: the identity of the visible case | limits of m_1 and m_2
def limits(t, ratio, penalty, c1, nonlinear):
    return 1.0, 1.0
