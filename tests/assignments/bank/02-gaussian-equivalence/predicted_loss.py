# %% right: a one-sided difference of small step
def predicted_loss(t, ratio, penalty, c1, nonlinear, linear_power, noise_power):
    h = 1e-6 * penalty
    a = np.array(limits(t, ratio, penalty, c1, nonlinear))
    b = np.array(limits(t, ratio, penalty + h, c1, nonlinear))
    return float(-((b - a) / h) @ [noise_power, linear_power] / a[0] ** 2 * ratio)


# %% right: the derivative on a logarithmic scale
def predicted_loss(t, ratio, penalty, c1, nonlinear, linear_power, noise_power):
    def objective(s):
        m1, m2 = limits(t, ratio, np.exp(s), c1, nonlinear)
        return linear_power * m2 + noise_power * m1

    s = np.log(penalty)
    slope = (objective(s + 1e-4) - objective(s - 1e-4)) / 2e-4 / penalty
    return -slope / (limits(t, ratio, penalty, c1, nonlinear)[0] ** 2 / ratio)


# %% right: implicit differentiation
def predicted_loss(t, ratio, penalty, c1, nonlinear, linear_power, noise_power):
    m1, m2 = limits(t, ratio, penalty, c1, nonlinear)
    C = c1**2 * t + nonlinear**2
    tau = np.mean([c1**2 * m2 + nonlinear**2 * m1]) / ratio
    mu = penalty * (1 + tau) / ratio
    top = 1 / mu
    dmu = top / (penalty / mu**2 + np.mean(C / (C + mu) ** 2))
    F = lambda w: (
        ratio
        / penalty
        * (
            dmu * np.mean(w / (C + mu))
            - mu * dmu * np.mean(w / (C + mu) ** 2)
            - mu / penalty * np.mean(w / (C + mu))
        )
    )
    return -(linear_power * F(t) + noise_power * F(np.ones_like(t))) / m1**2 * ratio


# %% wrong: the sign | the minus sign is missing
def predicted_loss(t, ratio, penalty, c1, nonlinear, linear_power, noise_power):
    h = 1e-4 * penalty
    a, up, down = (np.array(limits(t, ratio, penalty + s, c1, nonlinear)) for s in (0, h, -h))
    return float((up - down) / (2 * h) @ [noise_power, linear_power] / a[0] ** 2 * ratio)


# %% wrong: the objective | this is the objective
def predicted_loss(t, ratio, penalty, c1, nonlinear, linear_power, noise_power):
    m1, m2 = limits(t, ratio, penalty, c1, nonlinear)
    return penalty / ratio * (linear_power * m2 + noise_power * m1)


# %% wrong: without n/N | n/N stands in the denominator
def predicted_loss(t, ratio, penalty, c1, nonlinear, linear_power, noise_power):
    h = 1e-4 * penalty
    a, up, down = (np.array(limits(t, ratio, penalty + s, c1, nonlinear)) for s in (0, h, -h))
    return -float((up - down) / (2 * h) @ [noise_power, linear_power] / a[0] ** 2)


# %% wrong: N/n for n/N | divided by (N/n)^2
def predicted_loss(t, ratio, penalty, c1, nonlinear, linear_power, noise_power):
    h = 1e-4 * penalty
    a, up, down = (np.array(limits(t, ratio, penalty + s, c1, nonlinear)) for s in (0, h, -h))
    return -float((up - down) / (2 * h) @ [noise_power, linear_power] / a[0] ** 2 / ratio)


# %% wrong: m_1 and m_2 exchanged | are exchanged
def predicted_loss(t, ratio, penalty, c1, nonlinear, linear_power, noise_power):
    h = 1e-4 * penalty
    a, up, down = (np.array(limits(t, ratio, penalty + s, c1, nonlinear)) for s in (0, h, -h))
    return -float((up - down) / (2 * h) @ [linear_power, noise_power] / a[0] ** 2 * ratio)


# %% wrong: m_1 not squared | m_1 squared
def predicted_loss(t, ratio, penalty, c1, nonlinear, linear_power, noise_power):
    h = 1e-4 * penalty
    a, up, down = (np.array(limits(t, ratio, penalty + s, c1, nonlinear)) for s in (0, h, -h))
    return -float((up - down) / (2 * h) @ [noise_power, linear_power] / a[0] * ratio)


# %% wrong: a difference much too wide | test loss of noise alone
def predicted_loss(t, ratio, penalty, c1, nonlinear, linear_power, noise_power):
    h = 0.5 * penalty
    a, up, down = (np.array(limits(t, ratio, penalty + s, c1, nonlinear)) for s in (0, h, -h))
    return -float((up - down) / (2 * h) @ [noise_power, linear_power] / a[0] ** 2 * ratio)


# %% wrong: a constant | test loss at N/n
def predicted_loss(t, ratio, penalty, c1, nonlinear, linear_power, noise_power):
    return 4 / 3
