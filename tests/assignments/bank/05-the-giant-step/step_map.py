# %% right: from the length of b
def step_map(step, n, d, N, c1, linear, square):
    length = np.hypot(linear, np.sqrt(square * d / n))
    return c1 * step * length / N**0.5, linear / length


# %% right: as an array
def step_map(step, n, d, N, c1, linear, square):
    B = linear * linear + square / (n / d)
    return np.array([np.sqrt(step**2 * c1**2 * B / N), np.sqrt(linear**2 / B)])


# %% right: the share of noise first
def step_map(step, n, d, N, c1, linear, square):
    gamma = (1 + d / n * square / linear**2) ** -0.5
    return step * c1 * linear / gamma / np.sqrt(N), gamma


# %% wrong: without 1/sqrt(N) | the 1/sqrt(N) of the readout is missing
def step_map(step, n, d, N, c1, linear, square):
    B = linear**2 + d / n * square
    return step * c1 * B**0.5, linear / B**0.5


# %% wrong: divided by N | not by N
def step_map(step, n, d, N, c1, linear, square):
    B = linear**2 + d / n * square
    return step * c1 * B**0.5 / N, linear / B**0.5


# %% wrong: B without its root | B stands under a root
def step_map(step, n, d, N, c1, linear, square):
    B = linear**2 + d / n * square
    return step * c1 * B / N**0.5, linear / B**0.5


# %% wrong: n/d | B has d/n, not n/d
def step_map(step, n, d, N, c1, linear, square):
    B = linear**2 + n / d * square
    return step * c1 * (B / N) ** 0.5, linear / B**0.5


# %% wrong: gamma squared | this is gamma squared
def step_map(step, n, d, N, c1, linear, square):
    B = linear**2 + d / n * square
    return step * c1 * (B / N) ** 0.5, linear**2 / B


# %% wrong: v without noise | v contains noise as well
def step_map(step, n, d, N, c1, linear, square):
    return step * c1 * linear / N**0.5, 1.0


# %% wrong: knows the visible case only | strength r at n > d
def step_map(step, n, d, N, c1, linear, square):
    return 2.0, 0.5
