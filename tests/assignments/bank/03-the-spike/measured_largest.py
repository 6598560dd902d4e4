# %% right: singular values and the first axis as direction
def measured_largest(steps, n, d, N, noise, rng):
    X = rng.standard_normal((n, d))
    y = X[:, 0] + rng.normal(0, noise, n)
    W = rng.normal(0, d**-0.5, (N, d))
    G = gradient(W, rng.normal(0, N**-0.5, N), X, y)
    return [np.linalg.svd(W + eta * G, compute_uv=False)[0] for eta in steps]


# %% right: eigenvalues of all steps at once
def measured_largest(steps, n, d, N, noise, rng):
    beta = rng.standard_normal(d)
    beta = beta / np.sqrt(np.sum(beta**2))
    W = rng.standard_normal((N, d)) * d**-0.5
    a = rng.standard_normal(N) * N**-0.5
    X = rng.standard_normal((n, d))
    G = gradient(W, a, X, X @ beta + rng.standard_normal(n) * noise)
    M = W + np.asarray(steps)[:, None, None] * G
    return np.sqrt(np.linalg.eigvalsh(M @ M.transpose(0, 2, 1))[:, -1])


# %% right: the library
from onestep_lib import Setting
from onestep_lib.experiment import initial_network, sample_batch, sample_direction, take_steps


def measured_largest(steps, n, d, N, noise, rng):
    setting = Setting(n=n, d=d, N=N, activation="tanh", noise=noise)
    network = initial_network(setting, rng)
    X, y = sample_batch(setting, n, sample_direction(d, rng), rng)
    return np.array([np.linalg.norm(stepped.weights, 2) for stepped in take_steps(network, X, y, steps)])


# %% wrong: rows of length sqrt(d) | rows of W have the variance 1/d
def measured_largest(steps, n, d, N, noise, rng):
    X = rng.standard_normal((n, d))
    W = rng.standard_normal((N, d))
    G = gradient(W, rng.normal(0, N**-0.5, N), X, X[:, 0] + rng.normal(0, noise, n))
    return [np.linalg.norm(W + eta * G, 2) for eta in steps]


# %% wrong: a readout of length sqrt(N) | largest singular value after steps
def measured_largest(steps, n, d, N, noise, rng):
    X = rng.standard_normal((n, d))
    W = rng.normal(0, d**-0.5, (N, d))
    G = gradient(W, rng.standard_normal(N), X, X[:, 0] + rng.normal(0, noise, n))
    return [np.linalg.norm(W + eta * G, 2) for eta in steps]


# %% wrong: without a generator | draw everything from `rng`
def measured_largest(steps, n, d, N, noise, rng):
    rng = np.random.default_rng()
    X = rng.standard_normal((n, d))
    W = rng.normal(0, d**-0.5, (N, d))
    G = gradient(W, rng.normal(0, N**-0.5, N), X, X[:, 0] + rng.normal(0, noise, n))
    return [np.linalg.norm(W + eta * G, 2) for eta in steps]


# %% wrong: the Frobenius norm | far above the edge
def measured_largest(steps, n, d, N, noise, rng):
    X = rng.standard_normal((n, d))
    W = rng.normal(0, d**-0.5, (N, d))
    G = gradient(W, rng.normal(0, N**-0.5, N), X, X[:, 0] + rng.normal(0, noise, n))
    return [np.linalg.norm(W + eta * G) for eta in steps]


# %% wrong: the step divided by sqrt(N) | hardly moved the weights
def measured_largest(steps, n, d, N, noise, rng):
    X = rng.standard_normal((n, d))
    W = rng.normal(0, d**-0.5, (N, d))
    G = gradient(W, rng.normal(0, N**-0.5, N), X, X[:, 0] + rng.normal(0, noise, n))
    return [np.linalg.norm(W + 0.1 * eta / N**0.5 * G, 2) for eta in steps]


# %% wrong: labels without noise and without the second layer's scale | largest singular value after steps
def measured_largest(steps, n, d, N, noise, rng):
    X = rng.standard_normal((n, d))
    W = rng.normal(0, d**-0.5, (N, d))
    G = gradient(W, rng.normal(0, 0.8 * N**-0.5, N), X, X[:, 0])
    return [np.linalg.norm(W + eta * G, 2) for eta in steps]


# %% wrong: the formula of task 3, no draw | every draw is the same
def measured_largest(steps, n, d, N, noise, rng):
    return largest(np.asarray(steps) + 1e-9, n, d, N, 0.6057, 1.0, 1 + noise**2)
