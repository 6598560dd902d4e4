# %% right: in another order of draws
def draw_losses(n, d, N, noise, penalty, draws, rng):
    found = np.zeros(draws)
    for k in range(draws):
        W = rng.normal(scale=d**-0.5, size=(N, d))
        beta = rng.normal(size=d)
        beta = beta / np.sqrt(beta @ beta)
        X = rng.normal(size=(n + 200, d))
        y = X @ beta + rng.normal(scale=noise, size=n + 200)
        F = np.tanh(np.einsum("id,jd->ij", X, W))
        a = ridge(F[:n], y[:n], penalty)
        found[k] = np.square(y[n:] - F[n:] @ a).mean()
    return found


# %% right: the first axis as direction, which the symmetry allows
def draw_losses(n, d, N, noise, penalty, draws, rng):
    def one():
        W = rng.standard_normal((N, d)) / d**0.5
        X, Y = rng.standard_normal((n, d)), rng.standard_normal((200, d))
        a = ridge(np.tanh(X @ W.T), X[:, 0] + noise * rng.standard_normal(n), penalty)
        return np.mean((Y[:, 0] + noise * rng.standard_normal(200) - np.tanh(Y @ W.T) @ a) ** 2)

    return np.array([one() for _ in range(draws)])


# %% right: the noise of the new labels by its exact variance
def draw_losses(n, d, N, noise, penalty, draws, rng):
    found = []
    for child in rng.spawn(draws):
        beta = child.standard_normal(d)
        beta /= np.linalg.norm(beta)
        W = child.standard_normal((N, d)) / np.sqrt(d)
        X, X_new = child.standard_normal((n, d)), child.standard_normal((200, d))
        a = ridge(np.tanh(X @ W.T), X @ beta + noise * child.standard_normal(n), penalty)
        found.append(np.mean((X_new @ beta - np.tanh(X_new @ W.T) @ a) ** 2) + noise**2)
    return np.array(found)


# %% right: the library's batches and networks
from onestep_lib import Setting
from onestep_lib.experiment import (
    feature_matrix,
    initial_network,
    ridge_path,
    sample_batch,
    sample_direction,
)


def draw_losses(n, d, N, noise, penalty, draws, rng):
    setting = Setting(n=n, d=d, N=N, activation="tanh", noise=noise, ridge=penalty)
    found = []
    for _ in range(draws):
        beta, network = sample_direction(d, rng), initial_network(setting, rng)
        X, y = sample_batch(setting, n, beta, rng)
        X_new, y_new = sample_batch(setting, 200, beta, rng)
        a = ridge_path(feature_matrix(network.weights, X, network.activation), y, penalty).coefficients
        f = feature_matrix(network.weights, X_new, network.activation) @ np.ravel(a)
        found.append(np.mean((y_new - f) ** 2))
    return np.array(found)


# %% wrong: no noise on the new labels | the labels of the new inputs need their noise
def draw_losses(n, d, N, noise, penalty, draws, rng):
    found = []
    for _ in range(draws):
        W = rng.standard_normal((N, d)) / np.sqrt(d)
        X, X_new = rng.standard_normal((n, d)), rng.standard_normal((200, d))
        a = ridge(np.tanh(X @ W.T), X[:, 0] + noise * rng.standard_normal(n), penalty)
        found.append(np.mean((X_new[:, 0] - np.tanh(X_new @ W.T) @ a) ** 2))
    return np.array(found)


# %% wrong: the training loss | this is the training loss
def draw_losses(n, d, N, noise, penalty, draws, rng):
    found = []
    for _ in range(draws):
        W = rng.standard_normal((N, d)) / np.sqrt(d)
        X = rng.standard_normal((n, d))
        y = X[:, 0] + noise * rng.standard_normal(n)
        F = np.tanh(X @ W.T)
        found.append(np.mean((y - F @ ridge(F, y, penalty)) ** 2))
    return np.array(found)


# %% wrong: features over sqrt(N) | a factor 1/sqrt(N)
def draw_losses(n, d, N, noise, penalty, draws, rng):
    found = []
    for _ in range(draws):
        W = rng.standard_normal((N, d)) / np.sqrt(d)
        X = rng.standard_normal((n + 200, d))
        y = X[:, 0] + noise * rng.standard_normal(n + 200)
        F = np.tanh(X @ W.T) / np.sqrt(N)
        found.append(np.mean((y[n:] - F[n:] @ ridge(F[:n], y[:n], penalty)) ** 2))
    return np.array(found)


# %% wrong: rows of length sqrt(d) | your rows have length sqrt(d)
def draw_losses(n, d, N, noise, penalty, draws, rng):
    found = []
    for _ in range(draws):
        W = rng.standard_normal((N, d))
        X = rng.standard_normal((n + 200, d))
        y = X[:, 0] + noise * rng.standard_normal(n + 200)
        F = np.tanh(X @ W.T)
        found.append(np.mean((y[n:] - F[n:] @ ridge(F[:n], y[:n], penalty)) ** 2))
    return np.array(found)


# %% wrong: noise from a generator without a seed | draw everything from `rng`
def draw_losses(n, d, N, noise, penalty, draws, rng):
    found = []
    for _ in range(draws):
        W = rng.standard_normal((N, d)) / np.sqrt(d)
        X = rng.standard_normal((n + 200, d))
        y = X[:, 0] + noise * np.random.default_rng().standard_normal(n + 200)
        F = np.tanh(X @ W.T)
        found.append(np.mean((y[n:] - F[n:] @ ridge(F[:n], y[:n], penalty)) ** 2))
    return np.array(found)


# %% wrong: one draw, repeated | all draws are equal
def draw_losses(n, d, N, noise, penalty, draws, rng):
    return np.full(draws, 0.5)


# %% wrong: the mean in place of the draws | one loss for each draw
def draw_losses(n, d, N, noise, penalty, draws, rng):
    return 0.5


# %% wrong: knows the visible case only | mean test loss
def draw_losses(n, d, N, noise, penalty, draws, rng):
    return 0.75 + 0.1 * rng.standard_normal(draws) ** 2 / 3


# %% wrong: other weights for the new inputs | do F and a belong to the same W?
def draw_losses(n, d, N, noise, penalty, draws, rng):
    found = []
    for _ in range(draws):
        W, W_new = rng.standard_normal((2, N, d)) / np.sqrt(d)
        X, X_new = rng.standard_normal((n, d)), rng.standard_normal((200, d))
        a = ridge(np.tanh(X @ W.T), X[:, 0] + noise * rng.standard_normal(n), penalty)
        found.append(
            np.mean((X_new[:, 0] + noise * rng.standard_normal(200) - np.tanh(X_new @ W_new.T) @ a) ** 2)
        )
    return np.array(found)
